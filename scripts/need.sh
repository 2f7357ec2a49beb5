#!/usr/bin/env bash
# Installs what is missing with the system's package manager, saying what and why.
#
#   need.sh TOOL…      with TOOL among: cc c++ curl h2o haproxy httpd make nginx node npm openssl php-fpm php-gd python3 trafficserver
#                      valgrind varnish wrk
#
# Nothing is done, and nothing printed, where all is there already.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

here() {
    case $1 in
    php-fpm) [[ -n $(compgen -G '/usr/sbin/php-fpm*' || compgen -G '/usr/bin/php-fpm*' || command -v php-fpm) ]] && command -v php >/dev/null ;;
    php-gd) command -v php >/dev/null && php -m 2>/dev/null | grep -ix gd >/dev/null ;;
    httpd) command -v apache2 >/dev/null || command -v httpd >/dev/null ;;
    trafficserver) command -v traffic_server >/dev/null ;;
    varnish) command -v varnishd >/dev/null ;;
    *) command -v "$1" >/dev/null ;;
    esac
}

why() {
    case $1 in
    cc) echo "Rust links with it, and the memory allocator and the cryptography are compiled with it" ;;
    c++) echo "libFuzzer is compiled with it" ;;
    nginx | httpd) echo "the tests ask it as an origin, and measurements stand beside it" ;;
    wrk | varnish | h2o | haproxy | trafficserver) echo "the measurements stand beside it" ;;
    curl) echo "the tests and the demo ask with it, as users do" ;;
    make) echo "it runs the targets of the Makefile" ;;
    openssl) echo "the TLS tests hold a connection with it, and it makes certificates for a try" ;;
    valgrind) echo "it counts the instructions of a hot answer" ;;
    node | npm) echo "the public HTTP cache suite is written for it, and the tests ask it as an origin" ;;
    python3) echo "tests talk to its HTTP and TLS, as an origin and as a server under load, and read reports with it" ;;
    php-fpm) echo "the FastCGI tests talk to a real PHP" ;;
    php-gd) echo "the gallery draws its thumbnails with it" ;;
    *) echo "it is needed" ;;
    esac
}

manager() {
    local candidate
    for candidate in apt-get dnf apk pacman; do
        command -v "$candidate" >/dev/null && echo "$candidate" && return
    done
    echo none
}

# The packages that bring a tool, by package manager.
packages() {
    case $1/$2 in
    apt-get/cc) echo gcc libc6-dev ;;
    apk/cc) echo gcc musl-dev ;;
    */cc) echo gcc ;;
    apt-get/c++ | apk/c++) echo g++ ;;
    dnf/c++) echo gcc-c++ ;;
    */c++) echo gcc ;;
    apt-get/node | dnf/node | apk/node | pacman/node) echo nodejs ;;
    apt-get/php-fpm | dnf/php-fpm) echo php-fpm php-cli ;;
    apk/php-fpm) echo php83-fpm php83-cli ;;
    pacman/php-fpm) echo php-fpm php ;;
    apt-get/php-gd | dnf/php-gd | pacman/php-gd) echo php-gd ;;
    apk/php-gd) echo php83-gd ;;
    apt-get/httpd) echo apache2 ;;
    pacman/httpd) echo apache ;;
    */*) echo "$2" ;;
    esac
}

# Runs as root, directly or through sudo.
as_root() {
    if [[ $(id -u) == 0 ]]; then "$@"; else sudo -- "$@"; fi
}

# Debian starts a service when its package arrives. Not wanted here: the tests start their own on free ports.
without_services() {
    local policy=/usr/sbin/policy-rc.d
    if [[ -e $policy ]]; then
        "$@"
        return
    fi
    note "(services that these packages bring are kept from starting: $policy, removed again afterwards)"
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
    as_root chmod 755 "$policy"
    local status=0
    "$@" || status=$?
    as_root rm -f "$policy"
    return "$status"
}

install() {
    case $1 in
    apt-get)
        as_root apt-get update -qq
        without_services as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq -o Dpkg::Use-Pty=0 --no-install-recommends "${@:2}"
        ;;
    dnf) as_root dnf install -y "${@:2}" ;;
    apk) as_root apk add "${@:2}" ;;
    pacman) as_root pacman -Sy --noconfirm --needed "${@:2}" ;;
    esac
}

missing=()
for tool in "$@"; do
    here "$tool" || missing+=("$tool")
done
[[ ${#missing[@]} == 0 ]] && exit 0

manager=$(manager)
wanted=()
say "Missing on this machine"
for tool in "${missing[@]}"; do
    printf '  %-8s %s\n' "$tool" "$(why "$tool")"
    read -ra names <<<"$(packages "$manager" "$tool")"
    wanted+=("${names[@]}")
done

if [[ $manager == none ]]; then
    die "No package manager known here (apt-get, dnf, apk, pacman). Please install: ${missing[*]}"
fi
if [[ $(id -u) != 0 ]] && ! command -v sudo >/dev/null; then
    die "Installing needs root, and there is no sudo. As root: $manager install ${wanted[*]}"
fi
note "installing with $manager: ${wanted[*]}"
install "$manager" "${wanted[@]}" </dev/null || die "$manager could not install them. Please install by hand: ${wanted[*]}"

for tool in "${missing[@]}"; do
    here "$tool" || die "$tool is still missing after installing ${wanted[*]}. Please install it by hand."
done
