#!/usr/bin/env bash
# `make bench`: hands over to bench/run.sh, which knows the scenarios and the rivals.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

need_cargo
bash scripts/need.sh cc curl
[[ -f bench/run.sh ]] || die "There is no bench/run.sh, so there is nothing to measure."
exec bash bench/run.sh "$@"
