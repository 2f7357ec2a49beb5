# One test as bars: CPU time per request, medians over the rounds.
#
#   awk -v test=one-1k -f bench/plot.awk samples.jsonl
function field(name) { return match($0, "\"" name "\":\"?[^,\"}]+") ? substr($0, RSTART + length(name) + 3 + (substr($0, RSTART + length(name) + 3, 1) == "\""), RLENGTH - length(name) - 3 - (substr($0, RSTART + length(name) + 3, 1) == "\"")) : "" }
field("test") == test { name = field("server"); if (!(name in n)) order[++servers] = name; us[name, ++n[name]] = field("server_us") + 0 }
function median(name,    i, j, t, list) {
    for (i = 1; i <= n[name]; i++) { t = us[name, i]; for (j = i - 1; j > 0 && list[j] > t; j--) list[j + 1] = list[j]; list[j + 1] = t }
    return n[name] % 2 ? list[(n[name] + 1) / 2] : (list[n[name] / 2] + list[n[name] / 2 + 1]) / 2
}
END {
    for (i = 1; i <= servers; i++) value[order[i]] = median(order[i])
    for (i = 2; i <= servers; i++) { t = order[i]; for (j = i - 1; j > 0 && value[order[j]] > value[t]; j--) order[j + 1] = order[j]; order[j + 1] = t }
    most = value[order[servers]]
    height = 30 * servers + 46
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 640 %d\" font-family=\"system-ui, sans-serif\" font-size=\"13\">\n", height
    print "<style>text{fill:#24292f}.b{fill:#8c959f}.o{fill:#bf5b17}@media(prefers-color-scheme:dark){text{fill:#e6edf3}.b{fill:#6e7681}.o{fill:#f0883e}}</style>"
    printf "<text x=\"8\" y=\"20\" font-weight=\"600\">%s</text>\n", (title == "" ? test ": CPU per request, microseconds" : title)
    for (i = 1; i <= servers; i++) {
        y = 30 * i + 6; w = most > 0 ? 420 * value[order[i]] / most : 0
        printf "<text x=\"140\" y=\"%d\" text-anchor=\"end\">%s</text><rect class=\"%s\" x=\"148\" y=\"%d\" width=\"%.1f\" height=\"20\" rx=\"3\"/><text x=\"%.1f\" y=\"%d\">%.2f</text>\n", y + 15, order[i], order[i] ~ /^samovar/ ? "o" : "b", y, w, 154 + w, y + 15, value[order[i]]
    }
    print "</svg>"
}
