#!/usr/bin/env bash
# Shared by the scripts that start servers and measure them: ending what was started, showing what is run, waiting until a
# server is ready. To be sourced, not run, after lib.sh and once `out` (where files go) and `bin` (the programs) are set.

pids=()
step="getting ready"

cleanup() {
    local status=$?
    trap - EXIT ERR INT TERM
    for pid in ${pids[@]+"${pids[@]}"}; do kill "$pid" 2>/dev/null || true; done
    for pid in ${pids[@]+"${pids[@]}"}; do wait "$pid" 2>/dev/null || true; done
    [[ $status == 0 ]] || printf '%sstopped at: %s (status %s); see %s%s\n' "$red" "$step" "$status" "$out" "$plain" >&2
    exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# start_samovar NAME ARGUMENT…: site_NAME and admin_NAME are where it is.
start_samovar() {
    local name=$1 log=$out/samovar-$1.log ready=$out/ready-$1.json
    shift
    rm -f "$ready"
    "$bin/samovar" serve "$@" --listen 127.0.0.1:0 --admin 127.0.0.1:0 --access-log off --ready-file "$ready" >"$log" 2>&1 &
    pids+=("$!")
    await "$!" samovar test -s "$ready"
    printf -v "site_$name" '%s' "$(grep -oE '"listen": *\[ *"[^"]+"' "$ready" | grep -oE 'http://[^"]+')"
    printf -v "admin_$name" '%s' "$(grep -oE '"admin": *"[^"]+"' "$ready" | grep -oE '(http|unix):[^"]+')"
    printf -v "pid_$name" '%s' "$!"
}
# The php-fpm of this machine.
php_fpm() { compgen -G '/usr/sbin/php-fpm*' | head -n 1 || compgen -G '/usr/bin/php-fpm*' | head -n 1 || command -v php-fpm; }
# As root php-fpm wants to be told that its children are root's, too.
as_root_too() { [[ $(id -u) != 0 ]] || echo -R; }
# start_php FOLDER: php-fpm, and a configuration of Samovar that runs the scripts in the folder by it.
start_php() {
    local fpm socket
    fpm=$(php_fpm)
    socket=$(realpath "$out")/fpm.sock
    printf '[global]\nerror_log = %s/fpm.log\ndaemonize = no\n[www]\nlisten = %s\npm = static\npm.max_children = 8\n' \
        "$(realpath "$out")" "$socket" >"$out/fpm.conf"
    # shellcheck disable=SC2046 # no word where it is not root
    "$fpm" -F $(as_root_too) -y "$out/fpm.conf" >/dev/null 2>&1 &
    pids+=("$!")
    await "$!" php-fpm test -S "$socket"
    printf 'config = 1\n[[site]]\ndefault = true\nfiles = "%s"\nhandlers = [{ extension = ".php", fastcgi = "unix:%s" }]\n' \
        "$(realpath "$1")" "$socket" >"$out/samovar.toml"
}
# The host and port of a URL.
authority() { sed -E 's|^http://([^/]+).*|\1|' <<<"$1"; }
# thirst says SUSPECT and INVALID by its report; a walk goes on.
any_verdict() { "$@" || [[ $? == 3 ]]; }
# A number of a run's JSON: the first of this name.
number() { grep -oE "\"$2\": *[0-9.]+" "$1" | head -n 1 | grep -oE '[0-9.]+$'; }
# The programs: those in the folder PROGRAMS, or newly built ones.
programs() {
    [[ -z ${PROGRAMS:-} ]] || return 0
    need_cargo
    bash scripts/need.sh cc
    chapter "Building, optimised as one program: figures are published from it (several minutes the first time)"
    build_programs "${PROFILE:-release}" "$@"
}
# `out` as an absolute path, there and empty.
fresh_out() {
    mkdir -p "$out"
    out=$(realpath "$out")
    rm -rf "${out:?}"/*
}
# start_gallery: examples/gallery with pictures, php-fpm behind it and Samovar before it, on free ports.
start_gallery() {
    local socket=$out/fpm.sock
    chapter "The gallery, with pictures that a program paints"
    cp -r examples/gallery "$out/site"
    rm -rf "$out/site/site/pictures"
    mkdir -p "$out/site/run"
    run "$bin/copyright-images" --pictures 12 --write "$out/site/site/pictures/landscapes"
    chapter "php-fpm behind it, Samovar before it"
    # A socket of its own, so that a gallery that runs already is not in the way.
    sed -i "s|^listen = .*|listen = $socket|; /^listen.allowed_clients/d" "$out/site/php-fpm.conf"
    sed -i "s|^fastcgi = \"[^\"]*\"|fastcgi = \"unix:$socket\"|" "$out/site/samovar.toml"
    # shellcheck disable=SC2046 # no word where it is not root
    "$(php_fpm)" -F $(as_root_too) -p "$out/site" -y "$out/site/php-fpm.conf" >/dev/null 2>&1 &
    fpm_pid=$!
    pids+=("$fpm_pid")
    await "$fpm_pid" php-fpm test -S "$socket"
    run "$bin/samovar" check --config "$out/site/samovar.toml"
    start_samovar gallery --config "$out/site/samovar.toml"
}
