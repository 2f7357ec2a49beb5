# Medians over the rounds, and of the ratios to the limit of the same round with the lowest and highest of them.
function field(name) { return match($0, "\"" name "\":\"?[^,\"}]+") ? substr($0, RSTART + length(name) + 3 + (substr($0, RSTART + length(name) + 3, 1) == "\""), RLENGTH - length(name) - 3 - (substr($0, RSTART + length(name) + 3, 1) == "\"")) : "" }
function median(list, n,    i, j, t) {
    for (i = 2; i <= n; i++) { t = list[i]; for (j = i - 1; j > 0 && list[j] > t; j--) list[j + 1] = list[j]; list[j + 1] = t }
    low = list[1]; high = list[n]
    return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}
{
    key = field("test") "|" field("server") "|" field("load")
    if (!(key in count)) order[++keys] = key
    k = ++count[key]
    us[key, k] = field("server_us"); client[key, k] = field("client_us"); rps[key, k] = field("per_s"); round[key, k] = field("round")
    p50[key, k] = field("p50_us"); p99[key, k] = field("p99_us"); asked[key] += field("origin"); requests[key] += field("requests")
    at[key, field("round")] = field("server_us"); both[key, field("round")] = field("server_us") + field("client_us")
}
function column(array, key,    i) { delete list; for (i = 1; i <= count[key]; i++) list[i] = array[key, i] + 0; return median(list, count[key]) }
function ratio(array, key, base,    i, n) {
    delete list; n = 0
    for (i = 1; i <= count[key]; i++) if (array[base, round[key, i]] > 0) list[++n] = array[key, round[key, i]] / array[base, round[key, i]]
    return n ? median(list, n) : 0
}
# What was not measured, and what nothing came of, is left empty.
function told(array, key,    value) { value = column(array, key); return value > 0 ? sprintf("%d", value) : "" }
function span(array, key, base,    r) { r = ratio(array, key, base); return r ? sprintf("%.2f (%.2f..%.2f)", r, low, high) : "" }
END {
    print "| test | server | server µs/request | ratio to the limit (lowest..highest) | server + load µs | its ratio | requests/s | p50 µs | p99 µs | not from its cache |"
    print "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for (i = 1; i <= keys; i++) {
        key = order[i]; split(key, part, "|")
        base = part[1] "|limit|" part[3]
        printf "| %s | %s | %.2f | %s | %.2f | %s | %d | %s | %s | %s |\n", part[1], part[2] (part[3] == "thirst" ? " (load: thirst)" : ""), column(us, key), span(at, key, base),
            column(us, key) + column(client, key), span(both, key, base), column(rps, key), told(p50, key), told(p99, key), (asked[key] > 0 ? sprintf("%.4f %%", 100 * asked[key] / requests[key]) : "")
    }
}
