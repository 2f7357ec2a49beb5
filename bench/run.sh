#!/usr/bin/env bash
# Measures samovar beside the servers people use, and beside the least that any server could do, in one interleaved run.
#
#   make bench                                      all of it: nine rounds, about half an hour
#   BENCH_ROUNDS=3 BENCH_SECONDS=1 make bench       quicker, and rougher
#   BENCH_TESTS='one-1k|tls' BENCH_SERVERS='limit|samovar.*' make bench       some of it (regular expressions)
#
# Every server runs with one worker on core 0, the load comes from core 1; the order of the servers rotates from
# round to round, so that a slow spell of the machine hits all alike. The figure to trust is the server's CPU time
# per request, and its ratio to the limit's within the same round; requests per second depend on the machine's
# mood. That a server answered from its cache is seen by the origin's count, which stands in the raw data.
# Raw data, tables and a plot go to bench/runs/DATE-MACHINE/.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh
# shellcheck source=bench/lib.sh
. bench/lib.sh
for rival in bench/rivals/*.sh; do
    # shellcheck source=/dev/null
    . "$rival"
done

rounds=${BENCH_ROUNDS:-9}
seconds=${BENCH_SECONDS:-2}
only_tests=${BENCH_TESTS:-.*}
only_servers=${BENCH_SERVERS:-.*}
[[ $(nproc) -ge 2 ]] || die "Two cores are needed: one for the server, one for the load."
bash scripts/need.sh cc curl openssl nginx wrk php-fpm varnish h2o haproxy httpd trafficserver

machine=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1 | tr -cs '[:alnum:]' '-' | sed 's/-*$//')
# A part of it does not take the place of the whole.
part=''
[[ $only_tests$only_servers == '.*.*' ]] || part=-part
out=${BENCH_OUT:-bench/runs/$(date +%F)-$machine-$(nproc)-cores$part}
work=$(mktemp -d)
chmod 755 "$work"
mkdir -p "$out"
trap 'stop_all; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
ulimit -n 20000 2>/dev/null || true

say "Building"
cargo build --locked --release -p samovar -p thirst
bin=$(realpath "$(target_dir)/release")
cc -O2 -o "$work/limit-epoll" bench/limit/limit-epoll.c

# A test by name: its servers, the load, the path or the list of paths, and whether it is over TLS.
all_caches="limit samovar samovar-engine nginx varnish h2o haproxy trafficserver httpd"
# nginx with tcp_nopush waits for delayed acknowledgements over loopback here.
plain_caches=${all_caches/nginx/nginx-plain}
tls_caches="samovar samovar-engine nginx h2o haproxy trafficserver httpd"
tests=(
    "one-1k|$all_caches|wrk|/1000x1KiB/0500.bin|http"
    "rand-1k|$all_caches|wrk-random|1000x1KiB|http"
    "pipe16-1k|$plain_caches|wrk-pipeline|/1000x1KiB/0500.bin|http"
    "rand-100k|$plain_caches|wrk-random|1000x100KiB|http"
    "rand-10m|$plain_caches|wrk-random|100x10MiB|http"
    "tls-1k|$tls_caches|wrk|/1000x1KiB/0500.bin|https"
    "log-1k|samovar-log nginx-log varnish-log h2o-log haproxy-log trafficserver-log httpd-log|wrk|/1000x1KiB/0500.bin|http"
    "proxy-1k|samovar-proxy nginx-proxy haproxy-proxy|wrk|/1000x1KiB/0500.bin|http"
    "php-hello|samovar-php nginx-php|wrk|/hello.php|http"
    "files-1k|samovar-off samovar-on|wrk-random|1000x1KiB|http"
    "files-100k|samovar-off samovar-on|wrk-random|1000x100KiB|http"
    "files-10m|samovar-off samovar-on|wrk-random|100x10MiB|http"
)
chosen=()
names=()
for entry in "${tests[@]}"; do
    IFS='|' read -r test servers load what scheme <<<"$entry"
    [[ $test =~ ^($only_tests)$ ]] || continue
    some=''
    for name in $servers; do
        [[ $name =~ ^($only_servers)$ ]] || continue
        some+=" $name"
        [[ " ${names[*]} " == *" $name "* ]] || names+=("$name")
    done
    [[ -n $some ]] && chosen+=("$test|$some|$load|$what|$scheme")
done
[[ ${#chosen[@]} -gt 0 ]] || die "No test is called $only_tests with servers $only_servers."

say "Content"
files=$work/files
"$bin/thirst" content "$files" 1000x1KiB 1000x100KiB 100x10MiB
for set in 1000x1KiB 1000x100KiB 100x10MiB; do (cd "$files" && find "$set" -type f | sed 's|^|/|' | sort) >"$work/$set.list"; done
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null
chmod 644 "$work/key.pem"
write_lua
web_user=$(id -un www-data 2>/dev/null || id -un apache 2>/dev/null || echo nobody)
ats_user=$(id -un trafficserver 2>/dev/null || id -un ats 2>/dev/null || echo nobody)

declare -A port tls_port pid through
free_port
origin=$free_port
mkdir -p "$work/origin"
{
    nginx_head origin off
    echo "server { listen 127.0.0.1:$origin backlog=4096; location = /count { stub_status; }
      location / { root $files; add_header Cache-Control max-age=86400; } } }"
} >"$work/origin/nginx.conf"
launch 1 origin nginx -e "$work/origin/error.log" -c "$work/origin/nginx.conf"
await_port "$origin" origin

# A pool of PHP for each server: idle connections of one would hold the processes of another.
start_php() { # NAME
    mkdir -p "$work/php"
    echo '<?php echo "hello";' >"$work/php/hello.php"
    printf '[global]\ndaemonize = no\nerror_log = %s/php/%s.log\n[www]\nuser = %s\nlisten = %s/php/%s.sock\nlisten.mode = 0666\npm = static\npm.max_children = 8\n' \
        "$work" "$1" "$web_user" "$work" "$1" >"$work/php/$1.conf"
    local fpm
    fpm=$(compgen -G '/usr/sbin/php-fpm*' | head -n 1 || command -v php-fpm)
    launch 1 "php-$1" "$fpm" -F -R -y "$work/php/$1.conf"
}

say "Servers"
for name in "${names[@]}"; do
    [[ $name == limit ]] && continue
    free_port
    port[$name]=$free_port
    free_port
    tls_port[$name]=$free_port
    mkdir -p "$work/$name"
    case $name in
    *-proxy | *-php | samovar-off | samovar-on) through[$name]=1 ;;
    esac
    [[ $name == *-php ]] && start_php "$name"
    "start_${name%%-*}" "$name"
    pid[$name]=$launched
    await_port "${port[$name]}" "$name"
    note "$name"
done

# Several passes: some keep an answer at its second request only, some write it down a little later.
say "Filling the caches"
warm() { # NAME PATHS…
    local name=$1 times
    for times in 1 2 3 4; do
        "$bin/thirst" run "http://127.0.0.1:${port[$name]}" --urls "$2" -n "$(wc -l <"$2")" -c 8 -t 1 --timeout 60s -q || die "$name does not answer well"
    done
    note "$name: $(basename "$2" .list)"
}
declare -A filled
for entry in "${chosen[@]}"; do
    IFS='|' read -r test servers load what scheme <<<"$entry"
    list=$work/1000x1KiB.list
    [[ $load == wrk-random ]] && list=$work/$what.list
    for name in $servers; do
        case $name in
        limit | *-proxy | *-php | samovar-off) continue ;;
        esac
        [[ -n ${filled[$name $list]:-} ]] && continue
        filled[$name $list]=1
        warm "$name" "$list"
    done
done

run_limit() { # SIZE_BYTES
    free_port
    port[limit]=$free_port
    launch 0 limit "$work/limit-epoll" "$free_port" "$1"
    pid[limit]=$launched
    await_port "$free_port" limit
}

: >"$out/samples.jsonl"
for round in $(seq "$rounds"); do
    say "Round $round of $rounds"
    for entry in "${chosen[@]}"; do
        IFS='|' read -r test servers load what scheme <<<"$entry"
        read -ra servers <<<"$servers"
        for ((i = 0; i < ${#servers[@]}; i++)); do
            name=${servers[(i + round) % ${#servers[@]}]}
            if [[ $name == limit ]]; then
                case $test in
                *-10m) run_limit 10485760 ;;
                *-100k) run_limit 102400 ;;
                *) run_limit 1024 ;;
                esac
            fi
            at=${port[$name]}
            [[ $scheme == https ]] && at=${tls_port[$name]}
            if [[ $load == wrk-random ]]; then
                sample "$test" "$name" "$load" "$scheme://127.0.0.1:$at" "$work/$what.list"
            else
                sample "$test" "$name" "$load" "$scheme://127.0.0.1:$at$what"
            fi
            [[ $test$name == one-1klimit ]] && sample generator-1k limit thirst "http://127.0.0.1:$at/"
            if [[ $name == limit ]]; then
                kill "${pid[limit]}" && wait "${pid[limit]}" 2>/dev/null || true
            fi
        done
    done
done

{
    echo "samovar $(git rev-parse --short HEAD), profile release (optimised as one program), $(date +%F), $machine, $(nproc) cores, Linux $(uname -r)"
    echo "$rounds rounds of $seconds s; one worker on core 0, load on core 1; access logs off but in log-1k"
    nginx -v 2>&1
    varnishd -V 2>&1 | head -n 1
    h2o -v | head -n 1
    haproxy -v | head -n 1
    "$(command -v apache2 || command -v httpd)" -v | head -n 1
    traffic_server --version 2>&1 | head -n 1 || true
    php -v | head -n 1
    wrk -v 2>&1 | head -n 1 || true
    rustc --version
} >"$out/machine.txt"
awk -f bench/table.awk "$out/samples.jsonl" | tee "$out/table.md"
if grep -q '"test":"one-1k"' "$out/samples.jsonl"; then
    awk -v test=one-1k -v title="CPU per answer of 1 KiB, microseconds" -f bench/plot.awk "$out/samples.jsonl" >"$out/one-1k.svg"
fi
note "raw data, table and plot: $out"
