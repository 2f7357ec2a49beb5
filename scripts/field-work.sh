#!/usr/bin/env bash
# Counts the instructions that each parser and look-up spends on the worst that a stranger can send it, at so many bytes
# and at twice as many. Fails where twice the bytes take much more than twice the work, or one byte takes too much.
# `field-work.sh all` shows every count.
#
# Under valgrind's callgrind, so that neither the machine nor what else runs on it matters.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

# Twice, and something for what grows with the logarithm (sorting).
most_hundredths=230
# Instructions for a byte. The dearest takes some 3,300 in a build without any optimisation, a few hundred in a release.
per_byte=4000
# Of a path in a site that guards, where every reading of it is held against every rule: the number of readings is bounded,
# and the work is that of all of them. To be brought down, not up.
per_byte_of_readings=20000

need_cargo
bash scripts/need.sh cc valgrind
cargo build --locked --quiet -p samovar --example field_work
program=$(realpath "$(target_dir)/debug/examples/field_work")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
valgrind --quiet --tool=callgrind --callgrind-out-file="$work/out" --dump-before='field_work::mark*' "$program" >"$work/names"
# What is counted is written down, and begun anew, at two marks: a text is made before the first, and read before the second.
cases=$(wc -l <"$work/names")
for ((number = 1; number <= cases; number++)); do
    awk '/^(totals|summary):/ && $2 > most { most = $2 } END { print most + 0 }' "$work/out.$((2 * number))"
done >"$work/counts"
paste -d' ' "$work/names" "$work/counts" | awk -v most="$most_hundredths" -v per_byte="$per_byte" \
    -v per_byte_of_readings="$per_byte_of_readings" -v all="${1:-}" '
    NR % 2 == 1 { bytes = $2; count = $3; next }
    {
        # What takes next to nothing may take twice of that.
        ratio = int(100 * $3 / (count > 20000 ? count : 20000))
        each = int($3 / $2)
        may = $1 ~ /^path\/guarded/ ? per_byte_of_readings : per_byte
        bad = ratio > most || each > may || $3 == 0
        failed += bad
        if (bad || all != "")
            printf "%-30s %d bytes: %d, %d bytes: %d; %d.%02d times, %d a byte%s\n", $1, bytes, count, $2, $3,
                ratio / 100, ratio % 100, each, bad ? "   TOO MUCH" : ""
        if (each > worst) { worst = each; name = $1 }
    }
    END {
        printf "%d parsers and look-ups, %d too dear; the dearest is %s with %d instructions a byte\n", NR / 2, failed, name, worst
        exit failed > 0 || NR == 0
    }'
