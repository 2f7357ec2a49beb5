# samovar, with its default settings but for one worker and what the name says.
start_samovar() { # NAME
    local log='access = "off"' hot='' origin_line="origin = \"http://127.0.0.1:$origin\"" rules=''
    case $1 in
    *-engine) hot='hot = false' ;;
    *-log) log="access = \"$work/$1/access.log\"" ;;
    *-proxy) rules='[[site.rule]]
path = "/**"
store = "never"' ;;
    *-php) origin_line="fastcgi = \"unix:$work/php/fpm.sock\"
root = \"$work/php\"" rules='[[site.rule]]
path = "/**"
store = "never"' ;;
    *-files-off) origin_line="root = \"$files\"" rules='[[site.rule]]
path = "/**"
store = "never"' ;;
    *-files-on) origin_line="root = \"$files\"" ;;
    esac
    cat >"$work/$1/samovar.toml" <<TOML
config = 1
[log]
$log
[[site]]
name = "bench"
default = true
listen = ["127.0.0.1:${port[$1]}", "https://127.0.0.1:${tls_port[$1]}"]
certificate = "$work/cert.pem"
certificate_key = "$work/key.pem"
$origin_line
$hot
$rules
TOML
    launch 0 "$1" "$bin/samovar" serve --config "$work/$1/samovar.toml" --admin off --workers 1
}
