# Apache Traffic Server: the RAM cache large enough for everything, so that hits come from memory.
start_trafficserver() { # NAME
    local d=$work/$1
    local log=0
    mkdir -p "$d/etc" "$d/run" "$d/log" "$d/cache"
    if [[ $1 == *-log ]]; then
        log=3
        cat >"$d/etc/logging.yaml" <<'CONF'
logging:
  formats:
    - name: common
      format: '%<chi> - %<caun> [%<cqtn>] "%<cqtx>" %<pssc> %<pscl>'
  logs:
    - filename: access
      format: common
CONF
    fi
    cat >"$d/etc/records.config" <<CONF
CONFIG proxy.config.exec_thread.autoconfig INT 0
CONFIG proxy.config.exec_thread.limit INT 1
CONFIG proxy.config.exec_thread.affinity INT 0
CONFIG proxy.config.accept_threads INT 0
CONFIG proxy.config.task_threads INT 1
CONFIG proxy.config.cache.threads_per_disk INT 1
CONFIG proxy.config.http.server_ports STRING ${port[$1]}:ip-in=127.0.0.1 ${tls_port[$1]}:ip-in=127.0.0.1:ssl
CONFIG proxy.config.http.insert_response_via_str INT 0
CONFIG proxy.config.http.cache.http INT 1
CONFIG proxy.config.http.cache.required_headers INT 2
CONFIG proxy.config.cache.ram_cache.size INT 3145728000
CONFIG proxy.config.cache.ram_cache_cutoff INT 16777216
CONFIG proxy.config.cache.ram_cache.use_seen_filter INT 0
CONFIG proxy.config.cache.min_average_object_size INT 8000
CONFIG proxy.config.log.logging_enabled INT $log
CONFIG proxy.config.url_remap.remap_required INT 1
CONFIG proxy.config.reverse_proxy.enabled INT 1
CONFIG proxy.config.ssl.server.cert.path STRING $work
CONFIG proxy.config.ssl.server.private_key.path STRING $work
CONFIG proxy.config.http.wait_for_cache INT 2
CONFIG proxy.config.admin.user_id STRING $ats_user
CONF
    echo "map / http://127.0.0.1:$origin/" >"$d/etc/remap.config"
    echo "dest_ip=* ssl_cert_name=cert.pem ssl_key_name=key.pem" >"$d/etc/ssl_multicert.config"
    echo "$d/cache 3000M" >"$d/etc/storage.config"
    printf 'ip_allow:\n  - apply: in\n    ip_addrs: 0/0\n    action: allow\n    methods: ALL\n' >"$d/etc/ip_allow.yaml"
    : >"$d/etc/plugin.config"
    cat >"$d/runroot.yaml" <<CONF
prefix: $d
exec_prefix: /usr
bindir: /usr/bin
sbindir: /usr/sbin
sysconfdir: $d/etc
datadir: $d/cache
libexecdir: /usr/lib/trafficserver/modules
localstatedir: $d/run
runtimedir: $d/run
logdir: $d/log
cachedir: $d/cache
CONF
    chown -R "$ats_user" "$d"
    launch 0 "$1" traffic_server "--run-root=$d/runroot.yaml"
}
