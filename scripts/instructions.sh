#!/usr/bin/env bash
# Counts the instructions that the server spends on one hot answer, in user mode, and compares them with the accepted
# figure: exact where time is not, so that a loss of two in a hundred is seen in the commit that makes it.
#
#   instructions.sh            fails above the bound, or 2 % above the accepted figure of the same compiler and C library
#   instructions.sh accept     writes down what is counted as the accepted figure
#
# One connection asks for a file of 1 KiB again and again, under valgrind's callgrind.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

# What a hot answer may cost whatever the compiler.
bound=6000
accepted_file=bench/instructions.txt
requests=3000

need_cargo
bash scripts/need.sh cc curl valgrind
# What is counted is built as it is shipped. What asks is not counted: the tests' own build of it will do.
cargo build --locked --release -p samovar
cargo build --locked -p thirst
bin=$(realpath "$(target_dir)/release")
thirst=$(realpath "$(target_dir)/debug/thirst")
work=$(mktemp -d)
pids=()
trap 'kill ${pids[@]+"${pids[@]}"} 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$work"' EXIT

# The address that a server writes down when it is ready.
address_of() { # NAME
    for _ in $(seq 300); do
        grep -oE '127\.0\.0\.1:[0-9]+' "$work/$1.ready" 2>/dev/null | head -n 1 | grep . && return
        sleep 0.2
    done
    tail -n 20 "$work/$1.log" >&2
    die "$1 did not come up"
}

# valgrind does not know openat2, by which files are opened; so they lie with another server, the origin.
mkdir "$work/files"
head -c 1024 /dev/zero | tr '\0' x >"$work/files/1k"
"$bin/samovar" serve "$work/files" --listen 127.0.0.1:0 --admin off --ready-file "$work/origin.ready" >"$work/origin.log" 2>&1 &
pids+=($!)
printf 'config = 1\n[[site]]\nname = "counted"\ndefault = true\norigin = "http://%s"\nfor = "1h"\n' "$(address_of origin)" \
    >"$work/samovar.toml"
valgrind --tool=callgrind --instr-atstart=no --callgrind-out-file="$work/out" \
    "$bin/samovar" serve --config "$work/samovar.toml" --listen 127.0.0.1:0 --admin off --workers 1 --access-log off \
    --ready-file "$work/counted.ready" >"$work/counted.log" 2>&1 &
pid=$!
pids+=("$pid")
url=$(address_of counted)
url=http://$url/1k

"$thirst" run "$url" -n 200 -c 1 -t 1 -q
curl -fsS -o /dev/null -D - "$url" | grep -q 'detail=fresh-hot' || die "the answer is not hot"
callgrind_control --instr=on "$pid" >/dev/null 2>&1
"$thirst" run "$url" -n "$requests" -c 1 -t 1 -q
callgrind_control --instr=off "$pid" >/dev/null 2>&1
callgrind_control --dump "$pid" >/dev/null 2>&1
total=$(cat "$work"/out* | awk '/^(totals|summary):/ && $2 > most { most = $2 } END { print most + 0 }')
[[ $total -gt 0 ]] || die "callgrind counted nothing"
each=$((total / requests))
# What else the figure depends on: the compiler, the library that copies memory, and what it copies with.
compiler=rustc-$(rustc --version | cut -d' ' -f2)-$(uname -m)-libc-$(ldd --version 2>&1 | grep -oE '[0-9]+\.[0-9]+$' | head -n 1)
compiler+=$(grep -qw avx2 /proc/cpuinfo && echo -avx2 || true)

if [[ ${1:-} == accept ]]; then
    echo "$compiler $each" >"$accepted_file"
    note "accepted: $each instructions per hot answer with $compiler"
    exit 0
fi
read -r known figure <"$accepted_file"
note "$each instructions per hot answer with $compiler; accepted: $figure with $known; the bound is $bound"
[[ $each -le $bound ]] || die "A hot answer takes $each instructions, more than $bound."
if [[ $compiler == "$known" && $((each * 100)) -gt $((figure * 102)) ]]; then
    die "A hot answer takes $each instructions, more than 2 % above the accepted $figure.
If that is wanted, say why in the commit, and: bash scripts/instructions.sh accept"
fi
