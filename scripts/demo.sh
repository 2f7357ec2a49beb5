#!/usr/bin/env bash
# The story in two minutes: a slow handler, one rule, hundreds of times faster, and the reason why.
#
# Starts everything on free ports and leaves nothing running, unless KEEP=1. The report stays in target/demo/.
#   DEMO_SECONDS=4     how long each of the three runs measures
#   PROFILE=release    programs optimised as a whole, as published figures want them; `quick` builds sooner
set -Eeuo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

seconds=${DEMO_SECONDS:-4}
connections=20
out=$(target_dir)/demo
profile=${PROFILE:-quick}
bin=$(target_dir)/$profile
pids=()

cleanup() {
    local status=$?
    trap - EXIT ERR INT TERM
    if [[ ${KEEP:-} == 1 && $status == 0 ]]; then
        say "Still running, as KEEP=1 asked"
        echo "  site    $site"
        echo "  admin   $admin"
        echo "  stop    kill ${pids[*]}"
        return
    fi
    for pid in ${pids[@]+"${pids[@]}"}; do kill "$pid" 2>/dev/null || true; done
    for pid in ${pids[@]+"${pids[@]}"}; do wait "$pid" 2>/dev/null || true; done
    if [[ $status != 0 ]]; then
        for log in "$out"/handler.log "$out"/samovar.log; do
            [[ ! -s $log ]] || { echo "--- the end of $log" && tail -n 5 "$log"; } >&2
        done
        printf '%sThe demo stopped at: %s (status %s)%s\n' "$red" "$step" "$status" "$plain" >&2
    fi
    exit "$status"
}
step="getting ready"
trap cleanup EXIT
trap 'exit 130' INT TERM
trap 'printf "%sfailed: %s%s\n" "$red" "$BASH_COMMAND" "$plain" >&2' ERR

# A number of a run's JSON: the first of this name.
number() { grep -oE "\"$2\": *[0-9.]+" "$1" | head -n 1 | grep -oE '[0-9.]+$'; }

need_cargo
bash scripts/need.sh cc curl
mkdir -p "$out"
rm -f "$out"/*

chapter "Building three programs: samovar, thirst, and a handler that draws (minutes, the first time)"
note "Then, in about a minute: how fast is the handler? How fast with one rule? How fast when hot? Is the picture right, and why
is it a hit?"
build_programs "$profile" samovar thirst copyright-images

began=$SECONDS
chapter "A handler that draws a copyright line on a photograph, for every request anew"
"$bin/copyright-images" --listen 127.0.0.1:0 --pictures 12 >"$out/handler.log" 2>&1 &
handler_pid=$!
pids+=("$handler_pid")
await "$handler_pid" "the handler" grep -q '^listening' "$out/handler.log"
cat "$out/handler.log"
handler=$(sed -n 's/^listening *//p' "$out/handler.log")

chapter "Samovar in front of it, without any rule"
"$bin/samovar" serve --origin "$handler" --listen 127.0.0.1:0 --admin 127.0.0.1:0 --access-log "$out/access.log" \
    --ready-file "$out/ready.json" >"$out/samovar.log" 2>&1 &
samovar_pid=$!
pids+=("$samovar_pid")
await "$samovar_pid" "samovar" test -s "$out/ready.json"
site=$(grep -oE '"listen": *\[ *"[^"]+"' "$out/ready.json" | grep -oE 'http://[^"]+')
admin=$(grep -oE '"admin": *"[^"]+"' "$out/ready.json" | grep -oE '(http|unix):[^"]+')
echo "site   $site"
echo "admin  $admin"

german='Accept-Language: de'
mapfile -t pictures < <(curl -fsS "$site/pictures/" | grep -oE 'href="[^"]+\.jpg"' | cut -d '"' -f 2)
[[ ${#pictures[@]} -ge 12 ]] || die "the handler lists ${#pictures[@]} pictures, 12 were expected"
urls=("${pictures[@]/#/$site/pictures/}")

# measure FILE LABEL: one run over all pictures, checked.
measure() {
    note "thirst run (${#urls[@]} pictures) -c $connections -d ${seconds}s --warmup 1s -H '$german' --label '$2'"
    "$bin/thirst" run "${urls[@]}" -c "$connections" -d "${seconds}s" --warmup 1s -H "$german" --label "$2" \
        --server-pid "samovar=$samovar_pid" --server-pid "handler=$handler_pid" --json "$out/$1.json" >"$out/$1.txt" 2>&1 ||
        { cat "$out/$1.txt" >&2 && return 1; }
    local rate failed
    rate=$(number "$out/$1.json" requests_per_s)
    failed=$(tr -d ' \n' <"$out/$1.json" | grep -oE '"errors":\{"requests":[0-9]+' | grep -oE '[0-9]+$')
    [[ ${rate%.*} -gt 0 ]] || die "the run got no answers; see $out/$1.txt"
    [[ $failed == 0 ]] || die "$failed requests failed; see $out/$1.txt"
    printf '%.0f requests per second\n' "$rate"
}

chapter "1. How fast is the handler?"
measure 1-no-rule 'no rule'

chapter "2. One rule, added while it runs: keep each picture for 10 s, one per language"
run "$bin/samovar" rule add --admin "$admin" extension=.jpg for=10s \
    'vary_headers=[{ name = "Accept-Language", languages = ["en","de","es"] }]' hot=false
measure 2-memory 'one rule, memory'

chapter "3. The same rule, hot: complete answers, sent below the HTTP engine"
rule=$("$bin/samovar" rule list --admin "$admin" | grep -oE '\br[0-9]+\b' | head -n 1)
run "$bin/samovar" rule set --admin "$admin" "$rule" hot=true
measure 3-hot 'one rule, hot'

chapter "Side by side"
run "$bin/thirst" report "$out"/{1-no-rule,2-memory,3-hot}.json --html "$out/report.html"
grep -hE '^ *(SUSPECT|INVALID) ' "$out"/*.txt | sort -u || true

chapter "Was it the right picture? Cached and freshly drawn, byte for byte, in each language"
for language in de es en; do
    field="Accept-Language: $language"
    curl -fsS -H "$field" "$site/pictures/sea-1.jpg" -o "$out/cached-$language.jpg"
    curl -fsS -H "$field" "$handler/pictures/sea-1.jpg" -o "$out/drawn-$language.jpg"
    cmp "$out/cached-$language.jpg" "$out/drawn-$language.jpg"
    echo "$language  $(wc -c <"$out/cached-$language.jpg") bytes, the same"
done
if cmp -s "$out/cached-de.jpg" "$out/cached-es.jpg"; then die "German and Spanish readers got the same picture"; fi
rm -f "$out"/drawn-*.jpg

chapter "Why is this one a hit?"
for _ in 1 2 3; do curl -fsS -H "$german" "$site/pictures/sea-1.jpg" -o /dev/null; done
run "$bin/samovar" explain --admin "$admin" "$site/pictures/sea-1.jpg" -H "$german"

chapter "Why is this page never cached?"
curl -fsS "$site/account" -o /dev/null
run "$bin/samovar" explain --admin "$admin" "$site/account"

chapter "Why is this one not hot yet? (asked for once, in a language nobody else wants)"
curl -fsS -H 'Accept-Language: es' "$site/pictures/lake-2.jpg" -o /dev/null
run "$bin/samovar" explain --admin "$admin" "$site/pictures/lake-2.jpg" -H 'Accept-Language: es'

chapter "What is in the cache now?"
run "$bin/samovar" cache list --admin "$admin" | sed -n 1,16p

step="the end"
gain=$(awk -v before="$(number "$out/1-no-rule.json" requests_per_s)" -v after="$(number "$out/3-hot.json" requests_per_s)" \
    'BEGIN { printf "%.0f", after / before }')
grep -qE '"at_least": *true' "$out/3-hot.json" && at_least='at least ' || at_least=''
say "One rule: $at_least$gain times as many requests per second"
[[ $gain -ge 30 ]] || die "That is less than the 30 times this demo promises; see $out/*.txt"
echo "The report, with the runs on one plot: $(realpath "$out/report.html")"
note "$((SECONDS - began)) s after the build"
