#!/usr/bin/env bash
# Fuzzes every target for FUZZ_SECONDS each (60), on the stable toolchain, without sanitizers.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

need_cargo
bash scripts/need.sh cc
[[ -f fuzz/Cargo.toml ]] || die "There is no fuzz/Cargo.toml, so there is nothing to fuzz."
cargo fuzz --version >/dev/null 2>&1 || die "cargo-fuzz is missing. It is a tool of its own:
  cargo install cargo-fuzz --locked"
seconds=${FUZZ_SECONDS:-60}
for target in $(cargo fuzz list); do
    say "$target, $seconds s"
    # The code is safe Rust: what there is to find are panics and endless loops, which need no sanitizer.
    cargo fuzz run --sanitizer none "$target" -- -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048
done
