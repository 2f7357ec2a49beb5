# Varnish: everything in memory, one pool of threads.
start_varnish() { # NAME
    printf 'vcl 4.1;\nbackend default { .host = "127.0.0.1"; .port = "%s"; }\n' "$origin" >"$work/$1/default.vcl"
    launch 0 "$1" varnishd -F -j none -n "$work/$1/w" -a "127.0.0.1:${port[$1]}" -f "$work/$1/default.vcl" \
        -p thread_pools=1 -p thread_pool_min=300 -p thread_pool_max=1000 -s malloc,3000M
}
