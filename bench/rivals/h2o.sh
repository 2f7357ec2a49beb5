# h2o has no HTTP cache: it serves the files.
start_h2o() { # NAME
    local log=''
    [[ $1 == *-log ]] && log="access-log: $work/$1/access.log"
    cat >"$work/$1/h2o.conf" <<CONF
num-threads: 1
user: root
pid-file: $work/$1/pid
max-connections: 4096
http1-request-timeout: 300
listen: {port: ${port[$1]}, host: 127.0.0.1}
listen: {port: ${tls_port[$1]}, host: 127.0.0.1, ssl: {certificate-file: $work/cert.pem, key-file: $work/key.pem}}
$log
hosts:
  default:
    paths:
      "/":
        file.dir: $files
        header.set: "cache-control: max-age=86400"
CONF
    launch 0 "$1" h2o -c "$work/$1/h2o.conf"
}
