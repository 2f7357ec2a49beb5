#!/usr/bin/env bash
# The slow rest of `make test-all`: tests marked slow, many more cases for every property, optimised; then fuzzing.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

need_cargo
PROPTEST_RNG_SEED=${PROPTEST_RNG_SEED:-$(od -An -N6 -tu8 /dev/urandom | tr -d ' ')}
export PROPTEST_RNG_SEED
say "Properties drawn from PROPTEST_RNG_SEED=$PROPTEST_RNG_SEED, with ${PROPTEST_CASES:=5000} cases each, and the tests marked slow"
export PROPTEST_CASES
cargo build --locked --release --workspace --bins
cargo test --locked --release --workspace --no-fail-fast -- --include-ignored
bash scripts/fuzz.sh
