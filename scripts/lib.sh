#!/usr/bin/env bash
# Shared by the scripts beside it: saying what happens, checking the toolchain. To be sourced, not run.

if [[ -t 1 && -z ${NO_COLOR:-} ]]; then
    bold=$'\e[1m' dim=$'\e[2m' red=$'\e[31m' plain=$'\e[0m'
else
    bold='' dim='' red='' plain=''
fi

say() { printf '\n%s== %s%s\n' "$bold" "$*" "$plain"; }
note() { printf '%s%s%s\n' "$dim" "$*" "$plain"; }
die() {
    printf '\n%s%s%s\n' "$red" "$*" "$plain" >&2
    exit 1
}

# Says what comes next, and remembers it in $step for the case that it fails.
chapter() {
    step=$*
    say "$*"
}
# Shows a command as a user would type it (programs of $bin without their folder), then runs it.
run() {
    local word shown=''
    for word in "$@"; do
        [[ $word =~ ^[A-Za-z0-9_./:=,@%+-]+$ ]] || word="'$word'"
        shown+=" ${word#"${bin:+$bin/}"}"
    done
    printf '%s$%s%s\n' "$bold" "$shown" "$plain"
    "$@"
}
# Waits up to 30 s for a command to succeed while a process lives.
await() {
    local pid=$1 name=$2
    shift 2
    for _ in $(seq 300); do
        "$@" >/dev/null 2>&1 && return
        kill -0 "$pid" 2>/dev/null || die "$name ended before it was ready"
        sleep 0.1
    done
    die "$name was not ready within 30 s"
}

# The oldest toolchain that builds this, from the one place that says so.
rust_wanted() { sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml; }

# Stops with advice unless cargo is there and new enough.
need_cargo() {
    local wanted have
    wanted=$(rust_wanted)
    if ! command -v cargo >/dev/null && [[ -x ${CARGO_HOME:-$HOME/.cargo}/bin/cargo ]]; then
        PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
    fi
    if ! command -v cargo >/dev/null; then
        die "cargo was not found. Samovar needs a Rust toolchain, $wanted or newer:
  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh
then open a new shell and try again."
    fi
    have=$(cargo --version | sed 's/^cargo \([0-9.]*\).*/\1/')
    if [[ $(printf '%s\n%s\n' "$wanted" "$have" | sort -V | head -n 1) != "$wanted" ]]; then
        die "cargo $have is too old: Samovar needs $wanted or newer.
  rustup update stable          (or, where Rust came from the system's packages, see https://rustup.rs)"
    fi
}

# rustfmt and clippy come with most toolchains, not with all.
need_components() {
    local part
    for part in rustfmt clippy; do
        local command="cargo-${part/rustfmt/fmt}"
        cargo "${command#cargo-}" --version >/dev/null 2>&1 && continue
        if command -v rustup >/dev/null; then
            note "installing $part with rustup, to check form and lints"
            rustup component add "$part" </dev/null && continue
        fi
        die "$part is missing and could not be installed. With rustup: rustup component add $part"
    done
}

# Where cargo puts what it builds.
target_dir() { printf '%s' "${CARGO_TARGET_DIR:-target}"; }

# build_programs PROFILE PACKAGE…: compiles them, saying how far it is. On a terminal cargo draws its own bar; elsewhere
# there is a line every ten seconds, since a first build takes minutes and silence looks like a hang.
build_programs() {
    local profile=$1 package flags=() total
    for package in "${@:2}"; do flags+=(-p "$package"); done
    note "cargo build --profile $profile ${flags[*]}"
    if [[ -t 2 ]]; then
        cargo build --locked --profile "$profile" "${flags[@]}"
        return
    fi
    total=$(cargo tree --locked "${flags[@]}" --edges normal,build --prefix none --format '{p}' | awk '{ print $1, $2 }' | sort -u | wc -l)
    cargo build --verbose --locked --profile "$profile" "${flags[@]}" 2>&1 | build_progress "$total"
    return "${PIPESTATUS[0]}"
}

# Turns cargo's lines into a line every ten seconds; what is no progress (warnings, errors) passes.
build_progress() { # PACKAGES IN ALL
    local total=$1 line name='' built=0 began=$SECONDS shown=$SECONDS status
    while true; do
        status=0
        IFS= read -r -t 5 line || status=$?
        case $status/$line in
        0/*Compiling\ *) name=${line##*Compiling } built=$((built + 1)) ;;
        # Only --verbose names what need not be compiled again.
        0/*Fresh\ *) built=$((built + 1)) ;;
        0/*Running\ * | 0/*Dirty\ * | 0/*Downloading\ * | 0/*Downloaded\ * | 0/*Locking\ * | 0/*Updating\ * | 0/*Blocking\ *) ;;
        0/*) printf '%s\n' "$line" ;;
        *) [[ $status -gt 128 ]] || break ;;
        esac
        if [[ -n $name && $((SECONDS - shown)) -ge 10 ]]; then
            shown=$SECONDS
            printf '  %3d s: %d of %d packages begun, now %s\n' "$((SECONDS - began))" "$built" "$total" "${name%% (*}"
        fi
    done
}
