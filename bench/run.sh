#!/usr/bin/env bash
# Measures samovar beside nginx and beside the least that any server could do, in one interleaved run.
#
#   BENCH_ROUNDS=9 BENCH_SECONDS=3 make bench
#
# Every server runs with one worker on core 0, the load comes from core 1; the order of the servers rotates from
# round to round, so that a slow spell of the machine hits all alike. The figure to trust is the server's CPU time
# per request, and its ratio to the limit's within the same round; requests per second depend on the machine's
# mood. Raw data and tables go to bench/runs/DATE-MACHINE/.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

rounds=${BENCH_ROUNDS:-9}
seconds=${BENCH_SECONDS:-3}
[[ $(nproc) -ge 2 ]] || die "Two cores are needed: one for the server, one for the load."
bash scripts/need.sh cc curl nginx wrk

machine=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1 | tr -cs '[:alnum:]' '-' | sed 's/-*$//')
out=bench/runs/$(date +%F)-$machine-$(nproc)-cores
work=$(mktemp -d)
mkdir -p "$out"

say "Building"
cargo build --locked --release -p samovar -p thirst
bin=$(realpath "$(target_dir)/release")
cc -O2 -o "$work/limit-epoll" bench/limit/limit-epoll.c

pids=()
cleanup() {
    for pid in ${pids[@]+"${pids[@]}"}; do kill "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

free_port() {
    local port
    while port=$((20000 + RANDOM % 20000)); do
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port" && return; }
    done
}
await_port() {
    for _ in $(seq 100); do
        (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return
        sleep 0.1
    done
    die "nothing listens on port $1"
}

# The origin of all: files of nginx, told to live for a day.
mkdir -p "$work/files"
head -c 1024 /dev/zero | tr '\0' x >"$work/files/1k"
head -c 102400 /dev/zero | tr '\0' x >"$work/files/100k"
chmod -R a+rX "$work"
origin=$(free_port)
nginx_conf() { # NAME, what stands in http
    mkdir -p "$work/$1"
    cat >"$work/$1.conf" <<CONF
daemon off; user root; worker_processes 1; pid $work/$1/pid; error_log $work/$1/error.log;
worker_rlimit_nofile 20000;
events { worker_connections 4096; }
http {
  access_log off; sendfile on; tcp_nopush on; tcp_nodelay on; default_type text/plain;
  keepalive_requests 1000000000; keepalive_timeout 300s; server_tokens off;
  client_body_temp_path $work/$1/b; proxy_temp_path $work/$1/p; fastcgi_temp_path $work/$1/f;
  uwsgi_temp_path $work/$1/u; scgi_temp_path $work/$1/s;
  open_file_cache max=15000 inactive=10m; open_file_cache_valid 10m;
  $2
}
CONF
}
launch() { # CORE PROGRAM…; leaves the pid in $launched
    local core=$1
    shift
    taskset -c "$core" "$@" >"$work/log" 2>&1 &
    launched=$!
    pids+=("$launched")
}

nginx_conf origin "server { listen 127.0.0.1:$origin; location / { root $work/files; add_header Cache-Control max-age=86400; } }"
launch 1 nginx -e "$work/origin/error.log" -c "$work/origin.conf"
await_port "$origin"

declare -A port pid
names=(limit samovar-hot samovar-engine nginx)
for name in "${names[@]}"; do port[$name]=$(free_port); done

nginx_conf nginx "proxy_cache_path $work/nginx/cache levels=1:2 keys_zone=c:16m max_size=1g inactive=1d use_temp_path=off;
  upstream o { server 127.0.0.1:$origin; keepalive 16; }
  server { listen 127.0.0.1:${port[nginx]} backlog=4096;
    location / { proxy_pass http://o; proxy_http_version 1.1; proxy_set_header Connection \"\"; proxy_cache c; proxy_cache_lock on; } }"
launch 0 nginx -e "$work/nginx/error.log" -c "$work/nginx.conf"
pid[nginx]=$launched
for name in samovar-hot samovar-engine; do
    hot=true
    [[ $name == samovar-hot ]] || hot=false
    cat >"$work/$name.toml" <<TOML
config = 1
[log]
access = "off"
[[site]]
name = "bench"
default = true
origin = "http://127.0.0.1:$origin"
hot = $hot
TOML
    launch 0 "$bin/samovar" serve --config "$work/$name.toml" --listen "127.0.0.1:${port[$name]}" --admin off --workers 1
    pid[$name]=$launched
done
for name in nginx samovar-hot samovar-engine; do
    await_port "${port[$name]}"
    for _ in 1 2 3 4; do
        for size in 1k 100k; do curl -fsS -o /dev/null "http://127.0.0.1:${port[$name]}/$size"; done
    done
done
curl -fsS -o /dev/null -D - "http://127.0.0.1:${port[samovar-hot]}/1k" | grep -q 'detail=fresh-hot' || die "samovar-hot is not hot"
curl -fsS -o /dev/null -D - "http://127.0.0.1:${port[samovar-engine]}/1k" | grep -q 'detail=fresh' || die "samovar-engine does not hit"

# CPU time of a process and its children, in ticks.
ticks() {
    local total=0 part p
    for p in "$1" $(pgrep -P "$1" || true); do
        part=$(awk '{ sub(/^.*\) /, ""); print $12 + $13 }' "/proc/$p/stat" 2>/dev/null || echo 0)
        total=$((total + part))
    done
    echo "$total"
}
hertz=$(getconf CLK_TCK)
cat >"$work/pipeline.lua" <<'LUA'
init = function() local r = {} for i = 1, 16 do r[i] = wrk.format() end req = table.concat(r) end
request = function() return req end
LUA

# sample TEST NAME SIZE LOAD…: one round of one server, as one line of JSON.
sample() {
    local test=$1 name=$2 size=$3 load=$4 path=/$3
    if [[ $name == limit ]]; then
        path=/
        launch 0 "$work/limit-epoll" "${port[limit]}" $((size == 1 ? 1024 : 102400))
        pid[limit]=$launched
        await_port "${port[limit]}"
    else
        path=/${size}k
    fi
    local url="http://127.0.0.1:${port[$name]}$path" before after client_before client_after text requests
    before=$(ticks "${pid[$name]}")
    client_before=$(awk '{ print $16 + $17 }' /proc/$$/stat)
    case $load in
    wrk) text=$(taskset -c 1 wrk -t1 -c64 -d "${seconds}s" --latency "$url") ;;
    wrk-pipeline) text=$(taskset -c 1 wrk -t1 -c64 -d "${seconds}s" --latency -s "$work/pipeline.lua" "$url") ;;
    thirst) text=$(taskset -c 1 "$bin/thirst" run "$url" -t 1 -c 64 -d "${seconds}s" --quiet --json - 2>/dev/null || true) ;;
    esac
    after=$(ticks "${pid[$name]}")
    client_after=$(awk '{ print $16 + $17 }' /proc/$$/stat)
    if [[ $load == thirst ]]; then
        requests=$(grep -oE '"requests": *[0-9]+' <<<"$text" | head -n 1 | grep -oE '[0-9]+$')
    else
        requests=$(sed -nE 's/^ *([0-9]+) requests in .*/\1/p' <<<"$text")
    fi
    [[ $requests -gt 0 ]] || die "$test $name got no answers: $text"
    if [[ $name == limit ]]; then
        kill "${pid[limit]}" && wait "${pid[limit]}" 2>/dev/null || true
        port[limit]=$(free_port)
    fi
    awk -v t="$test" -v n="$name" -v l="$load" -v r="$requests" -v s="$seconds" -v c="$((after - before))" \
        -v k="$((client_after - client_before))" -v hz="$hertz" -v round="$round" 'BEGIN {
        printf "{\"test\":\"%s\",\"server\":\"%s\",\"load\":\"%s\",\"round\":%d,\"requests\":%d,\"per_s\":%.0f,\"server_us\":%.3f,\"client_us\":%.3f}\n",
            t, n, l, round, r, r / s, c / hz * 1e6 / r, k / hz * 1e6 / r }' | tee -a "$out/samples.jsonl"
}

: >"$out/samples.jsonl"
for round in $(seq "$rounds"); do
    say "Round $round of $rounds"
    for ((i = 0; i < ${#names[@]}; i++)); do
        name=${names[(i + round) % ${#names[@]}]}
        sample one-1k "$name" 1 wrk
        sample one-100k "$name" 100 wrk
        # nginx with tcp_nopush waits 40 ms over loopback when pipelined: that figure would say nothing.
        [[ $name == nginx ]] || sample pipe16-1k "$name" 1 wrk-pipeline
    done
    for load in wrk thirst; do sample generator-1k limit 1 "$load"; done
done

{
    echo "samovar $(git rev-parse --short HEAD), $(date +%F), $machine, $(nproc) cores, Linux $(uname -r)"
    echo "$(nginx -v 2>&1), $(wrk -v 2>&1 | head -n 1), $(rustc --version)"
    echo "$rounds rounds of $seconds s; server on core 0, load on core 1; access logs off; tcp_nopush on in nginx"
} >"$out/machine.txt"
awk -f bench/table.awk "$out/samples.jsonl" | tee "$out/table.md"
note "raw data: $out/samples.jsonl"
