# Medians over the rounds, and of the ratios to the limit of the same round.
function field(name,    m) { return match($0, "\"" name "\":\"?[^,\"}]+") ? substr($0, RSTART + length(name) + 3 + (substr($0, RSTART + length(name) + 3, 1) == "\""), RLENGTH - length(name) - 3 - (substr($0, RSTART + length(name) + 3, 1) == "\"")) : "" }
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
    at[key, field("round")] = field("server_us"); client_at[key, field("round")] = field("client_us")
}
function column(array, key,    i) { delete list; for (i = 1; i <= count[key]; i++) list[i] = array[key, i] + 0; return median(list, count[key]) }
function ratio(array, key, base,    i, n) {
    delete list; n = 0
    for (i = 1; i <= count[key]; i++) if (array[base, round[key, i]] > 0) list[++n] = array[key, round[key, i]] / array[base, round[key, i]]
    return n ? median(list, n) : 0
}
END {
    print "| test | server | load | server µs/request | ratio to the limit (lowest..highest) | load µs/request | requests/s |"
    print "|---|---|---|---:|---:|---:|---:|"
    for (i = 1; i <= keys; i++) {
        key = order[i]; split(key, part, "|")
        r = ratio(at, key, part[1] "|limit|" part[3]); span = sprintf("%.2f (%.2f..%.2f)", r, low, high)
        printf "| %s | %s | %s | %.2f | %s | %.2f | %d |\n", part[1], part[2], part[3], column(us, key), span, column(client, key), column(rps, key)
    }
}
