# nginx: proxy_cache; tcp_nopush joins head and body into one segment, which is faster with small bodies.
# (Over loopback it waits 40 ms on pipelined answers and large bodies: `plain` is the same without.)
nginx_head() { # NAME NOPUSH
    cat <<CONF
daemon off; user root; worker_processes 1; pid $work/$1/pid; error_log $work/$1/error.log;
worker_rlimit_nofile 20000;
events { worker_connections 4096; }
http {
  access_log ${3:-off}; sendfile on; tcp_nopush $2; tcp_nodelay on; default_type application/octet-stream;
  keepalive_requests 1000000000; keepalive_timeout 300s; server_tokens off;
  client_body_temp_path $work/$1/b; proxy_temp_path $work/$1/p; fastcgi_temp_path $work/$1/f;
  uwsgi_temp_path $work/$1/u; scgi_temp_path $work/$1/s;
  open_file_cache max=15000 inactive=10m; open_file_cache_valid 10m;
  ssl_certificate $work/cert.pem; ssl_certificate_key $work/key.pem; ssl_protocols TLSv1.2 TLSv1.3;
CONF
}

start_nginx() { # NAME
    local name=$1 nopush=on log=off what
    case $name in
    *-plain) nopush=off ;;
    *-log) log=$work/$name/access.log ;;
    esac
    case $name in
    nginx-proxy) what='proxy_pass http://o; proxy_http_version 1.1; proxy_set_header Connection "";' ;;
    nginx-php) what="include /etc/nginx/fastcgi_params; fastcgi_param SCRIPT_FILENAME $work/php/hello.php; fastcgi_pass php; fastcgi_keep_conn on;" ;;
    *) what='proxy_pass http://o; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_cache c; proxy_cache_lock on;' ;;
    esac
    {
        nginx_head "$name" "$nopush" "$log"
        cat <<CONF
  proxy_cache_path $work/$name/cache levels=1:2 keys_zone=c:64m max_size=20g inactive=1d use_temp_path=off;
  upstream o { server 127.0.0.1:$origin; keepalive 64; }
  upstream php { server unix:$work/php/$name.sock; keepalive 8; }
  server { listen 127.0.0.1:${port[$name]} backlog=4096; listen 127.0.0.1:${tls_port[$name]} ssl backlog=4096;
    location / { $what } }
}
CONF
    } >"$work/$name/nginx.conf"
    launch 0 "$name" nginx -e "$work/$name/error.log" -c "$work/$name/nginx.conf"
}
