#!/usr/bin/env bash
# Draws docs/img/gain.svg from runs that `make demo` measured, for the README.
#
#   gain-svg.sh "where and when it was measured" RUN.json… > docs/img/gain.svg
set -euo pipefail

caption=$1
shift
# The first value of a name in a run's JSON: thirst writes the run's own fields before those of its parts.
field() { tr -d '\n' <"$1" | grep -oE "\"$2\": *(\"[^\"]*\"|[0-9.]+|true|false)" | head -n 1 | sed 's/^[^:]*: *//; s/"//g'; }

for run in "$@"; do
    printf '%s\t%s\t%s\n' "$(field "$run" label)" "$(field "$run" requests_per_s)" "$(field "$run" at_least)"
done | awk -F '\t' -v caption="$caption" '
    function escaped(text) { gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text); return text }
    function grouped(n,   text) {
        text = sprintf("%.0f", n)
        return n >= 1000 ? substr(text, 1, length(text) - 3) "," substr(text, length(text) - 2) : text
    }
    { label[NR] = $1; rate[NR] = $2; floor[NR] = $3 == "true" ? "at least " : ""; if ($2 > most) most = $2 }
    END {
        width = 760; left = 150; room = 390; row = 46; top = 58; high = top + NR * row + 40
        printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\"", width, high, width, high
        print " font-family=\"system-ui, sans-serif\" role=\"img\" aria-label=\"Requests per second, by run\">"
        print "<style>text{fill:#24292f} .dim{fill:#6e7781} .bar{fill:#c8791a} .base{fill:#8c959f}"
        print "@media (prefers-color-scheme:dark){text{fill:#e6edf3} .dim{fill:#8b949e} .bar{fill:#e3a04a} .base{fill:#6e7681}}</style>"
        print "<text x=\"16\" y=\"30\" font-size=\"17\" font-weight=\"600\">Photographs per second, a copyright line drawn on each</text>"
        for (n = 1; n <= NR; n++) {
            y = top + (n - 1) * row; bar = rate[n] / most * room; if (bar < 2) bar = 2
            printf "<text x=\"%d\" y=\"%d\" font-size=\"14\" text-anchor=\"end\">%s</text>\n", left - 12, y + 21, escaped(label[n])
            printf "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"30\" rx=\"3\"/>\n", n == 1 ? "base" : "bar", left, y, bar
            times = n == 1 ? "" : sprintf("   %.0f ×", rate[n] / rate[1])
            printf "<text x=\"%.1f\" y=\"%d\" font-size=\"14\">%s<tspan font-weight=\"600\">%s</tspan></text>\n", left + bar + 10, y + 21, floor[n] grouped(rate[n]), times
        }
        printf "<text class=\"dim\" x=\"16\" y=\"%d\" font-size=\"12\">%s</text>\n</svg>\n", high - 16, escaped(caption)
    }'
