# haproxy: its small cache in memory.
start_haproxy() { # NAME
    local use='filter cache c
  http-request cache-use c
  http-response cache-store c'
    [[ $1 == haproxy-proxy ]] && use=''
    local log='' logs=''
    [[ $1 == *-log ]] && log='log stdout format raw local0' logs='log global
  option httplog'
    cat "$work/cert.pem" "$work/key.pem" >"$work/$1/both.pem"
    cat >"$work/$1/haproxy.cfg" <<CONF
global
  maxconn 4000
  nbthread 1
  $log
defaults
  mode http
  $logs
  timeout connect 5s
  timeout client 5m
  timeout server 1m
cache c
  total-max-size 3000
  max-object-size 11000000
  max-age 86400
frontend fe
  bind 127.0.0.1:${port[$1]}
  bind 127.0.0.1:${tls_port[$1]} ssl crt $work/$1/both.pem alpn http/1.1
  $use
  default_backend be
backend be
  server s1 127.0.0.1:$origin
CONF
    launch 0 "$1" haproxy -db -f "$work/$1/haproxy.cfg"
}
