# samovar, with its default settings but for one worker and what the name says.
start_samovar() { # NAME
    local log='"off"' source="origin = \"http://127.0.0.1:$origin\"" policy=''
    case $1 in
    *-engine) policy='hot = false' ;;
    *-log) log="\"$work/$1/access.log\"" ;;
    *-proxy) policy='never = true' ;;
    *-php)
        policy='never = true'
        source="files = \"$work/php\"
index = [\"hello.php\"]
handlers = [{ extension = [\".php\"], fastcgi = \"unix:$work/php/$1.sock\" }]"
        ;;
    *-off)
        policy='never = true'
        source="files = \"$files\""
        ;;
    *-on) source="files = \"$files\"" ;;
    esac
    cat >"$work/$1/samovar.toml" <<TOML
config = 1
[server]
listen = ["127.0.0.1:${port[$1]}", "https://127.0.0.1:${tls_port[$1]}"]
[log]
access = $log
[[site]]
name = "bench"
default = true
certificate = "$work/cert.pem"
certificate_key = "$work/key.pem"
$source
$policy
TOML
    launch 0 "$1" "$bin/samovar" serve --config "$work/$1/samovar.toml" --admin off --workers 1
}
