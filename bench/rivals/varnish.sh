# Varnish: everything in memory, one pool of threads.
start_varnish() { # NAME
    printf 'vcl 4.1;\nbackend default { .host = "127.0.0.1"; .port = "%s"; }\n' "$origin" >"$work/$1/default.vcl"
    # Its log is written by a program of its own, which counts with it.
    local log=''
    [[ $1 == *-log ]] && log="varnishncsa -t off -n '$work/$1/w' -w '$work/$1/access.log' &"
    launch 0 "$1" bash -c "$log exec \"\$0\" \"\$@\"" varnishd -F -j none -n "$work/$1/w" -a "127.0.0.1:${port[$1]}" -f "$work/$1/default.vcl" \
        -p thread_pools=1 -p thread_pool_min=300 -p thread_pool_max=1000 -s malloc,3000M
}
