#!/usr/bin/env bash
# Everything CI runs, on this machine: format, lints, all tests. `test.sh lint` stops after the lints.
#
# Every step runs even if one before it failed, so that one look tells all. The last line counts.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

need_cargo
need_components
if [[ ${1:-} == lint ]]; then
    bash scripts/need.sh cc || exit 1
else
    bash scripts/need.sh cc curl nginx openssl php-fpm php-gd python3 node npm valgrind || exit 1
    # One test sets its figures beside those of thirst; not every system packages it.
    bash scripts/need.sh wrk || note "without wrk, one test has no judge"
fi

failed_steps=()
# Runs one step, shows what it prints, remembers whether it failed.
step() {
    local name=$1 start=$SECONDS
    shift
    say "$name"
    note "$*"
    if "$@"; then
        note "$name: fine, $((SECONDS - start)) s"
    else
        printf '%s%s failed%s\n' "$red" "$name" "$plain"
        failed_steps+=("$name")
    fi
}

# Without a terminal cargo's lines are all there is to see; keep them plain.
export CARGO_TERM_COLOR=${CARGO_TERM_COLOR:-$([[ -t 1 ]] && echo always || echo never)}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Properties draw from a fixed seed here, so that a verdict belongs to the commit and not to luck; `make test-all` draws
# anew each time, many more, and prints the seed of what fails.
export PROPTEST_RNG_SEED=${PROPTEST_RNG_SEED:-20261121}

tests() {
    # --no-fail-fast: all failures in one run.
    cargo test --locked --workspace --no-fail-fast 2>&1 | tee "$log"
    return "${PIPESTATUS[0]}"
}

step "Format" cargo fmt --all --check
step "Lints" cargo clippy --locked --workspace --all-targets --keep-going -- -D warnings
if [[ ${1:-} != lint ]]; then
    # End-to-end tests start these; the same profile as the tests, so that nothing is compiled twice.
    step "Programs" cargo build --locked --workspace --bins
    step "Tests" tests
    step "Instructions of a hot answer" bash scripts/instructions.sh
    step "Work of parsers and look-ups" bash scripts/field-work.sh
fi

# Colours may stand before "test result".
read -r passed failed < <(sed 's/\x1b\[[0-9;]*m//g' "$log" | awk '/^test result:/ { p += $4; f += $6 } END { print p + 0, f + 0 }')
# A step that failed without a failing test (form, lints, a build) counts as one.
for name in ${failed_steps[@]+"${failed_steps[@]}"}; do
    [[ $name == Tests && $failed -gt 0 ]] || failed=$((failed + 1))
done

say "Result"
[[ ${#failed_steps[@]} == 0 ]] || printf '%sfailed: %s%s\n' "$red" "$(printf '%s, ' "${failed_steps[@]}" | sed 's/, $//')" "$plain"
if [[ ${1:-} != lint && $passed == 0 && $failed == 0 ]]; then
    failed=1
    echo "no test ran at all"
fi
printf '%s passed, %s failed\n' "$passed" "$failed"
[[ $failed == 0 ]]
