#!/usr/bin/env bash
# Fuzzes every target of fuzz/ for FUZZ_SECONDS each (60), on the stable toolchain, with nothing to install but a C++
# compiler for libFuzzer.
#
#   fuzz.sh [TARGET…]      all targets if none is named
#
# No sanitizer: the code is safe Rust, what there is to find are panics, endless loops and hunger for memory. What is
# found lies in fuzz/artifacts/TARGET/; copy it into fuzz/corpus/TARGET/ with the fix, and the tests replay it.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

need_cargo
bash scripts/need.sh cc c++
[[ -f fuzz/Cargo.toml ]] || die "There is no fuzz/Cargo.toml, so there is nothing to fuzz."
mapfile -t targets < <(printf '%s\n' "$@" | grep . || sed -n 's/^name = "\(.*\)"/\1/p' fuzz/Cargo.toml | grep -v -- -fuzz)
host=$(rustc -vV | sed -n 's/^host: //p')
build=$(target_dir)/fuzz

say "Building the targets with coverage"
# The flags cargo-fuzz gives, less the sanitizer; --target keeps them away from build scripts.
passes="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
passes+=" -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table"
passes+=" -Cllvm-args=-sanitizer-coverage-trace-compares"
RUSTFLAGS="--cfg fuzzing $passes -Ccodegen-units=1 -Cdebug-assertions -Coverflow-checks" \
    cargo build --release --manifest-path fuzz/Cargo.toml --target "$host" --target-dir "$build"

for target in "${targets[@]}"; do
    say "$target, ${FUZZ_SECONDS:=60} s"
    mkdir -p "$build/found/$target" "fuzz/corpus/$target" "fuzz/artifacts/$target"
    # New inputs go to the first folder, under target/; the corpus in fuzz/ grows only by hand.
    "$build/$host/release/$target" "$build/found/$target" "fuzz/corpus/$target" \
        -max_total_time="$FUZZ_SECONDS" -timeout=10 -rss_limit_mb=2048 \
        -artifact_prefix="fuzz/artifacts/$target/" -print_final_stats=1 -verbosity=0 2>&1 |
        grep -vE '^".*# Uses:|^######'
done
note "nothing found"
