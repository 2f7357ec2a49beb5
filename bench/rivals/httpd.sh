# Apache httpd: mod_cache with mod_cache_disk, as behind the map tiles.
start_httpd() { # NAME
    local log='' binary modules module
    [[ $1 == *-log ]] && log="LogFormat \"%h %l %u %t \\\"%r\\\" %>s %b\" common
CustomLog $work/$1/access.log common"
    binary=$(command -v apache2 || command -v httpd)
    modules=$(compgen -G '/usr/lib/apache2/modules' || compgen -G '/usr/lib64/httpd/modules' || compgen -G '/usr/lib/httpd/modules')
    mkdir -p "$work/$1/cache"
    {
        for module in mpm_event authz_core cache cache_disk proxy proxy_http headers log_config ssl socache_shmcb unixd; do
            [[ -e $modules/mod_$module.so ]] && echo "LoadModule ${module}_module $modules/mod_$module.so"
        done
        cat <<CONF
ServerRoot $work/$1
ServerName localhost
User $web_user
Group $(id -gn "$web_user")
PidFile $work/$1/httpd.pid
ErrorLog $work/$1/error.log
LogLevel error
$log
Listen 127.0.0.1:${port[$1]}
Listen 127.0.0.1:${tls_port[$1]}
StartServers 1
ServerLimit 1
ThreadLimit 300
ThreadsPerChild 300
MaxRequestWorkers 300
MinSpareThreads 1
MaxSpareThreads 300
KeepAlive On
MaxKeepAliveRequests 0
KeepAliveTimeout 300
EnableSendfile On
ProxyPass "/" "http://127.0.0.1:$origin/"
CacheEnable disk /
CacheRoot $work/$1/cache
CacheDirLevels 2
CacheDirLength 1
CacheMaxFileSize 20000000
CacheLock On
CacheLockPath $work/$1/lock
<VirtualHost 127.0.0.1:${tls_port[$1]}>
 SSLEngine on
 SSLCertificateFile $work/cert.pem
 SSLCertificateKeyFile $work/key.pem
</VirtualHost>
CONF
    } >"$work/$1/httpd.conf"
    chown -R "$web_user" "$work/$1"
    launch 0 "$1" "$binary" -DFOREGROUND -d "$work/$1" -f "$work/$1/httpd.conf"
}
