#!/usr/bin/env bash
# What a hit costs as the cache grows, and as a second core joins in.
#
#   bash bench/scale.sh                              a thousand to a million answers, some five minutes
#   SCALE_ENTRIES="1000 10000000" bash bench/scale.sh    other sizes; a million and more want SCALE_MEMORY and patience
#
# Answers have small bodies and are asked for at random, one worker on core 0, the load on core 1; "engine" is the memory
# tier (`hot = false`), "hot" the hot tier, which holds 100,000 a core. The second core: the same offered rate, each request
# by itself (`limit/pace.c`), with one worker and with two. Figures are the server's CPU time per answer, medians of
# interleaved rounds. The table goes to standard output and to bench/runs/DATE-MACHINE/scale.md.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh
# shellcheck source=bench/lib.sh
. bench/lib.sh

sizes=${SCALE_ENTRIES:-1000 10000 100000 1000000}
rounds=${SCALE_ROUNDS:-5}
seconds=${SCALE_SECONDS:-2}
memory=${SCALE_MEMORY:-12 GiB}
rate=${SCALE_RATE:-5000}
[[ $(nproc) -ge 2 ]] || die "Two cores are needed: one for the server, one for the load."
bash scripts/need.sh cc curl nginx wrk
machine=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1 | tr -cs '[:alnum:]' '-' | sed 's/-*$//')
out=${BENCH_OUT:-bench/runs/$(date +%F)-$machine-$(nproc)-cores}
work=$(mktemp -d)
mkdir -p "$out"
trap 'stop_all; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
ulimit -n 20000 2>/dev/null || true

say "Building"
cargo build --locked --release -p samovar
bin=$(realpath "$(target_dir)/release")
cc -O2 -o "$work/pace" bench/limit/pace.c

free_port
origin=$free_port
mkdir -p "$work/origin"
cat >"$work/origin/nginx.conf" <<CONF
daemon off;
worker_processes 1;
pid $work/origin/pid;
error_log $work/origin/error.log;
events { worker_connections 4096; }
http {
    access_log off;
    keepalive_requests 1000000000;
    client_body_temp_path $work/origin/b; proxy_temp_path $work/origin/p; fastcgi_temp_path $work/origin/f;
    uwsgi_temp_path $work/origin/u; scgi_temp_path $work/origin/s;
    server {
        listen 127.0.0.1:$origin backlog=4096;
        location / {
            default_type text/plain;
            add_header Cache-Control max-age=86400;
            return 200 "a small answer, one hundred bytes of it: ......................................................!";
        }
    }
}
CONF
launch 1 origin nginx -e "$work/origin/error.log" -c "$work/origin/nginx.conf"
await_port "$origin" origin

cat >"$work/each.lua" <<'LUA'
-- Every path once, in turn, and then again.
local n, last = 0, 0
init = function(args) n, last = tonumber(args[1]), tonumber(args[2]) end
request = function()
  n = n < last and n + 1 or 1
  return wrk.format("GET", "/e" .. n)
end
LUA
cat >"$work/some.lua" <<'LUA'
-- Paths at random.
local last = 0
init = function(args)
  math.randomseed(os.time())
  last = tonumber(args[1])
end
request = function() return wrk.format("GET", "/e" .. math.random(last)) end
LUA

declare -A pid port
start() { # NAME CORES WORKERS SETTING
    free_port
    port[$1]=$free_port
    mkdir -p "$work/$1"
    cat >"$work/$1/samovar.toml" <<TOML
config = 1
[server]
listen = ["127.0.0.1:${port[$1]}"]
[memory]
size = "$memory"
[log]
access = "off"
[hot]
idle = "1h"
[[site]]
name = "scale"
default = true
origin = "http://127.0.0.1:$origin"
$4
TOML
    launch "$2" "$1" "$bin/samovar" serve --config "$work/$1/samovar.toml" --admin off --workers "$3"
    pid[$1]=$launched
    await_port "${port[$1]}" "$1"
}

load() { # CORE SECONDS NAME SCRIPT ARGS…: answers given
    local core=$1 for=$2 name=$3 script=$4
    shift 4
    taskset -c "$core" wrk -t1 -c64 -d "${for}s" --timeout 20s -s "$script" "http://127.0.0.1:${port[$name]}" -- "$@" |
        sed -nE 's/^ *([0-9]+) requests in .*/\1/p'
}

fill() { # NAME FROM TO
    local at=$2 got
    while ((at < $3)); do
        got=$(load 1 5 "$1" "$work/each.lua" "$at" "$3")
        at=$((at + got))
    done
    # Clients overtake each other: once more, what is there already is quick.
    load 1 2 "$1" "$work/each.lua" 0 "$3" >/dev/null
}

cost() { # NAME CORE SCRIPT ARGS…: µs per answer
    local name=$1 core=$2 script=$3 before after got
    shift 3
    before=$(ticks "${pid[$name]}")
    got=$(load "$core" "$seconds" "$name" "$script" "$@")
    after=$(ticks "${pid[$name]}")
    awk -v c="$((after - before))" -v hz="$(getconf CLK_TCK)" -v r="$got" 'BEGIN { printf "%.2f\n", c / hz * 1e6 / r }'
}

paced() { # NAME: µs per answer at a steady rate
    local before after got
    before=$(ticks "${pid[$1]}")
    got=$(taskset -c 0,1 "$work/pace" "${port[$1]}" "$rate" "$((seconds * 3))" 64 1000)
    after=$(ticks "${pid[$1]}")
    awk -v c="$((after - before))" -v hz="$(getconf CLK_TCK)" -v r="$got" 'BEGIN { printf "%.2f\n", c / hz * 1e6 / r }'
}

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
rss() { awk '/^VmRSS/ { printf "%.0f", $2 / 1024 }' "/proc/${pid[$1]}/status"; }

{
    echo "samovar $(git rev-parse --short HEAD), $(date +%F), $rounds rounds of $seconds s; bodies of 100 bytes, default settings but \`hot = false\` for the engine"
    echo
    echo "| answers stored | engine, µs | hot, µs | resident, MiB |"
    echo "| ---: | ---: | ---: | ---: |"
} >"$out/scale.md"
start engine 0 1 "hot = false"
start hot 0 1 ""
filled=0
for size in $sizes; do
    say "$size answers"
    fill engine "$filled" "$size"
    : >"$work/engine.us"
    : >"$work/hot.us"
    if ((size <= 100000)); then
        fill hot "$filled" "$size"
        load 1 5 hot "$work/some.lua" "$size" >/dev/null
    fi
    filled=$size
    for _ in $(seq "$rounds"); do
        cost engine 1 "$work/some.lua" "$size" >>"$work/engine.us"
        ((size > 100000)) || cost hot 1 "$work/some.lua" "$size" >>"$work/hot.us"
    done
    echo "| $size | $(median <"$work/engine.us") | $([[ -s $work/hot.us ]] && median <"$work/hot.us" || echo –) | $(rss engine) |" |
        tee -a "$out/scale.md"
done
stop_all
pids=()

say "One worker and two"
launch 1 origin nginx -e "$work/origin/error.log" -c "$work/origin/nginx.conf"
await_port "$origin" origin
{
    echo
    echo "| $rate requests a second | one worker, µs | two workers, µs |"
    echo "| --- | ---: | ---: |"
} | tee -a "$out/scale.md"
for kind in engine hot; do
    setting=$([[ $kind == engine ]] && echo 'hot = false' || true)
    start "$kind-1" 0,1 1 "$setting"
    start "$kind-2" 0,1 2 "$setting"
    for workers in 1 2; do
        fill "$kind-$workers" 0 1000
        load 0,1 3 "$kind-$workers" "$work/some.lua" 1000 >/dev/null
        : >"$work/$workers.us"
    done
    for _ in $(seq "$rounds"); do
        for workers in 1 2; do
            paced "$kind-$workers" >>"$work/$workers.us"
        done
    done
    echo "| $kind | $(median <"$work/1.us") | $(median <"$work/2.us") |" | tee -a "$out/scale.md"
done
