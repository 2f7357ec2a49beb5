#!/usr/bin/env bash
# Plants faults in the rooms that decide (policy, cache), one after the other, and sees whether their tests notice.
#
#   mutants.sh [FILE…]      all files of the two crates if none is named
#
# What no test notices must stand in docs/mutants.md with the reason why it is no fault; else this fails. A whole run takes
# about an hour on two cores; `mutants.sh crates/policy/src/age.rs` takes seconds.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

need_cargo
if ! cargo mutants --version >/dev/null 2>&1; then
    say "Missing on this machine"
    note "cargo-mutants plants the faults; installing it with cargo (a few minutes)"
    cargo install --locked cargo-mutants
fi

out=$(target_dir)/mutants
mkdir -p "$out"
files=()
for file in "$@"; do files+=(-f "$file"); done
# An empty name would be taken for a folder.
[[ -n ${CARGO_TARGET_DIR:-} ]] || unset CARGO_TARGET_DIR

survivors=$out/survivors.txt
: >"$survivors"
plant() {
    local package=$1
    shift
    say "Faults in $package"
    # 2: some were missed, 3: some took too long; both are looked at below.
    local status=0
    cargo mutants --package "$package" --profile mutants --jobs 1 --no-shuffle --timeout 120 \
        --output "$out/$package" ${files[@]+"${files[@]}"} "$@" || status=$?
    [[ $status == 0 || $status == 2 || $status == 3 ]] || die "cargo mutants stopped with status $status"
    cat "$out/$package/mutants.out/missed.txt" >>"$survivors"
}
plant samovar-policy
# The simulation, short: it meets each kind of event a hundred times a second.
SAMOVAR_SIM_STEPS=300000 plant samovar-cache

# Lines move; the file, the fault and its function name a survivor.
say "Survivors"
unexplained=0
while IFS= read -r line; do
    name=$(sed -E 's/^([^:]+):[0-9]+:[0-9]+: /\1: /' <<<"$line")
    if ! grep -qF -- "\`$name\`" docs/mutants.md; then
        echo "not explained: $line"
        unexplained=$((unexplained + 1))
    fi
done <"$survivors"
note "$(wc -l <"$survivors") faults survived, $unexplained of them without a reason in docs/mutants.md"
[[ $unexplained == 0 ]]
