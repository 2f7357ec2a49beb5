#!/usr/bin/env bash
# How often `thirst compare --live` errs: it must not see a difference between equals, nor miss one that is there.
#
#   bash bench/compare.sh                                      40 + 40 comparisons, some 35 minutes
#   COMPARE_EQUAL=10 COMPARE_SLOWER=10 bash bench/compare.sh   a quarter of that
#
# Three servers of exactly known behaviour (`thirst null-server`): two answer after 2.00 ms, the third after 2.10 ms. First the
# two equals are compared, then the first with the third. Each comparison is ten pairs of runs of a second. Passes if at most
# 1 of 20 comparisons of equals says that anything differs by more than the threshold of 1 %, and at least 9 of 10 of the others
# find p50 slower. Nothing else should run meanwhile; nothing is pinned, as people do not pin either.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh
# shellcheck source=bench/lib.sh
. bench/lib.sh

equal=${COMPARE_EQUAL:-40}
slower=${COMPARE_SLOWER:-40}
pairs=${COMPARE_PAIRS:-10}
time=${COMPARE_TIME:-1s}
delay=${COMPARE_DELAY:-2ms}
more=${COMPARE_MORE:-2.1ms}
machine=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1 | tr -cs '[:alnum:]' '-' | sed 's/-*$//')
out=${BENCH_OUT:-bench/runs/$(date +%F)-$machine-$(nproc)-cores}
work=$(mktemp -d)
mkdir -p "$out"
trap 'stop_all; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

say "Building"
cargo build --locked --release -p thirst
thirst=$(realpath "$(target_dir)/release/thirst")

serve() { # NAME DELAY; leaves the URL in $url
    "$thirst" null-server --delay "$2" --body 1000 >"$work/$1" &
    pids+=("$!")
    for _ in $(seq 50); do
        url=$(cat "$work/$1")
        [[ -z $url ]] || return 0
        sleep 0.1
    done
    die "the server $1 does not start"
}
serve a "$delay" && a=$url
serve b "$delay" && b=$url
serve c "$more" && c=$url

compare() { # OTHER SEED; leaves the comparison in $work/comparison
    "$thirst" compare --live "$a" "$1" --pairs "$pairs" -d "$time" --warmup 200ms -c 4 -t 1 --seed "$2" -q \
        --json "$work/comparison"
}

# What is said of each metric, a line each: METRIC VERDICT RATIO.
verdicts() {
    sed 's/{"metric"/\n&/g' "$work/comparison" |
        sed -n 's/^{"metric":"\([a-z0-9_]*\)".*"ratio":\([0-9.]*\).*"verdict":{"is":"\([a-z_]*\)".*/\1 \3 \2/p'
}

flagged=0
for n in $(seq "$equal"); do
    compare "$b" "$n"
    found=$(verdicts | awk '$2 ~ /^(faster|slower|lower|higher)$/ { printf " %s %s %s", $1, $2, $3 }')
    [[ -z $found ]] || flagged=$((flagged + 1))
    echo "equals $n of $equal:${found:- nothing}; flagged $flagged so far"
done
found=0
for n in $(seq "$slower"); do
    compare "$c" "$n"
    p50=$(verdicts | awk '$1 == "p50_us" { print $2, $3 }')
    [[ $p50 != slower* ]] || found=$((found + 1))
    echo "slower $n of $slower: p50 $p50; found $found so far"
done

{
    echo "| Comparisons of $pairs pairs of runs of $time | | at stake |"
    echo "| --- | --- | --- |"
    echo "| equals, $delay each: something said to differ | $flagged of $equal | at most $((equal / 20)) |"
    echo "| $delay and $more: p50 found slower | $found of $slower | at least $((slower * 9 / 10)) |"
} | tee "$out/compare.md"
((flagged <= equal / 20 && found >= slower * 9 / 10)) || die "thirst compare --live errs too often"
