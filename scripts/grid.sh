#!/usr/bin/env bash
# The smuggling grid: every payload, through Samovar, to nine real origins; its table goes to docs/smuggling-grid.md.
#
#   grid.sh            plays it
#   grid.sh prepare    only brings what it needs, and prints the Python interpreter that has the servers
#
# gunicorn, uvicorn, aiohttp and waitress are installed with pip into a folder of their own below target/, nowhere else.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

servers=(gunicorn uvicorn aiohttp waitress)
venv=$(realpath -m "$(target_dir)")/grid-venv

prepare() {
    bash scripts/need.sh nginx httpd node php-fpm python3
    if [[ ! -x $venv/bin/python ]]; then
        note "a Python environment in $venv, for ${servers[*]}"
        rm -rf "$venv"
        python3 -m venv "$venv" || die "Python's venv is missing. On Debian and Ubuntu: apt-get install python3-venv"
    fi
    if ! "$venv/bin/python" -c "import ${servers[0]}$(printf ', %s' "${servers[@]:1}")" 2>/dev/null; then
        note "installing with pip into $venv: ${servers[*]}"
        "$venv/bin/pip" install --quiet --disable-pip-version-check "${servers[@]}" ||
            die "pip could not install them. The grid needs: ${servers[*]}"
    fi
}

if [[ ${1:-} == prepare ]]; then
    prepare >&2
    printf '%s\n' "$venv/bin/python"
    exit
fi

need_cargo
prepare
say "The smuggling grid: minutes"
cargo build --locked --release -p samovar
SAMOVAR_GRID_PYTHON="$venv/bin/python" SAMOVAR_WRITE_DOCS=1 \
    cargo test --locked --release -p samovar-tests --test smuggling -- --include-ignored --nocapture
note "written: docs/smuggling-grid.md"
