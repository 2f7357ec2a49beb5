#!/usr/bin/env bash
# Measurements of the kind that people publish, each with one command and from its own files in examples/measurements:
#
#   measure.sh images     a handler that draws on photographs, and the rule that makes it fast (files of WCAT 5)
#   measure.sh files      1,000 files of 1 KB, 1,000 of 100 KB, 100 of 10 MB: cached and not, with CPU
#   measure.sh gallery    a static page, a PHP gallery, and two tiers of cache before it (files of WCAT 6.3)
#   measure.sh letters    pictures lettered by PHP with GD, some 242 KB each: made anew, in memory, hot
#   measure.sh service    a slow service under more and more requests per second, until it does not keep up
#   measure.sh tiles      map tiles under 1 to 125 clients: without a cache, with one, and with clients that keep tiles
#
# Everything starts on free ports and nothing is left running. Reports stay in target/measure/. What is on this machine's
# cores is shared by server and load: the ratios say more than the numbers.
#   PROGRAMS=FOLDER        use the programs there instead of building them
#   SHORT=1                seconds instead of minutes, to see that it works
#   RAMP=1..125:+5@10s     another ramp, of service and tiles
set -Eeuo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

what=${1:-}
[[ $what =~ ^(images|files|gallery|letters|service|tiles)$ ]] || {
    sed -n '2,15s/^# \{0,1\}//p' "$0"
    [[ -z $what || $what == -h || $what == --help ]] && exit 0
    die "there is no measurement \`$what\`"
}
here=examples/measurements/$what
out=${WALK_OUT:-$(target_dir)/measure/$what}
bin=${PROGRAMS:-$(target_dir)/${PROFILE:-release}}
# shellcheck source=scripts/walk.sh
. scripts/walk.sh

start_handler() {
    "$bin/copyright-images" --listen 127.0.0.1:0 --pictures 12 >"$out/handler.log" 2>&1 &
    handler_pid=$!
    pids+=("$handler_pid")
    await "$handler_pid" "the handler" grep -q '^listening' "$out/handler.log"
    handler=$(sed -n 's/^listening *//p' "$out/handler.log")
}

bash scripts/need.sh curl
programs samovar thirst copyright-images
fresh_out

images() {
    chapter "A handler that draws a copyright line on a photograph, for every request anew, and Samovar before it"
    start_handler
    start_samovar plain --origin "$handler"
    # shellcheck disable=SC2154 # set by start_samovar
    local site=$site_plain admin=$admin_plain short=()
    [[ -z ${SHORT:-} ]] || short=(-w 1s -u 3s -f 1s)
    # In two shells, as it was: the controller waits for its client.
    both() {
        # A log of each run's own: the last one's says where the last controller waited.
        local log=$out/wcctl-$1.log
        run "$bin/thirst" wcctl -c "$here/config.cfg" -s "$here/script.cfg" -d "$here/distribution.cfg" \
            -a "$(authority "$site")" "${short[@]}" -label "$1 the rule" -json "$out/$1.json" -listen 127.0.0.1:0 2>"$log" >"$out/$1.txt" &
        local controller=$!
        pids+=("$controller")
        await "$controller" "the controller" grep -q '^waiting at' "$log"
        local port
        port=$(grep -oE '^waiting at 127.0.0.1:[0-9]+' "$log" | grep -oE '[0-9]+$')
        "$bin/thirst" wcclient localhost -p "$port"
        wait "$controller" || [[ $? == 3 ]]
        sed -n '/^####/,$p' "$out/$1.txt"
    }
    chapter "Before: no rule"
    both before
    chapter "One rule: pictures are kept for 10 s, one per language"
    run "$bin/samovar" rule add --admin "$admin" extension=.jpg for=10s \
        'vary_headers=[{ name = "Accept-Language", languages = ["en","de","es"] }]'
    both after
    chapter "Side by side"
    run "$bin/thirst" report "$out"/{before,after}.json --html "$out/report.html"
}

files() {
    local seconds=20 scale=1
    [[ -z ${SHORT:-} ]] || { seconds=2 && scale=10; }
    chapter "Files of three sizes"
    local set
    for set in "$((1000 / scale))x1KB" "$((1000 / scale))x100KB" "$((100 / scale))x10MB"; do
        run "$bin/thirst" content "$out/files/$set" "$set" --list "$out/$set.txt" -q
    done
    chapter "Two servers: one that keeps nothing, one that does"
    printf 'config = 1\n[[site]]\ndefault = true\nfiles = "%s"\ncache = false\n' "$(realpath "$out/files")" >"$out/off.toml"
    printf 'config = 1\n[[site]]\ndefault = true\nfiles = "%s"\n' "$(realpath "$out/files")" >"$out/on.toml"
    start_samovar off --config "$out/off.toml"
    start_samovar on --config "$out/on.toml"
    local reports=()
    for set in "$out"/*x*.txt; do
        local name
        name=$(basename "$set" .txt)
        sed -i "s|^|/$name|" "$set"
        chapter "$name: without and with"
        local which
        for which in off on; do
            local site="site_$which"
            "$bin/thirst" run "${!site}" --urls "$set" -c 64 -d "${seconds}s" --warmup 2s --pick random \
                --label "$name, cache $which" --json "$out/$name-$which.json" -q || [[ $? == 3 ]]
            reports+=("$out/$name-$which.json")
        done
        "$bin/thirst" report "$out/$name"-{off,on}.json
    done
    run "$bin/thirst" report "${reports[@]}" --html "$out/report.html" -q
}

gallery() {
    bash scripts/need.sh php-fpm
    chapter "A gallery in PHP, behind php-fpm"
    local root=$out/site
    mkdir -p "$root"
    cp "$here/index.php" "$root/"
    printf '<!doctype html><title>start</title><h1>It works</h1>%s\n' "$(printf ' %.0s' {1..600})" >"$root/start.htm"
    head -c 20000 /dev/urandom >"$root/welcome.png"
    start_php "$root"
    start_samovar gallery --config "$out/samovar.toml"
    # shellcheck disable=SC2154 # set by start_samovar
    local site=$site_gallery admin=$admin_gallery short=() reports=()
    [[ -z ${SHORT:-} ]] || short=(-w 1 -u 3 -n 1 -v 1)
    once() { # NAME SCENARIO
        run "$bin/thirst" wcat.wsf -terminate -run -clients localhost -t "$here/$2" -f "$here/settings.ubr" \
            -s "$(authority "$site")" -singleip -x -o "$out/$1.xml" "${short[@]}" -k "$1" -json "$out/$1.json" >"$out/$1.txt" || [[ $? == 3 ]]
        grep -E '^ +(Requests per second|Verdict)|^Total 200 OK' "$out/$1.txt"
        reports+=("$out/$1.json")
    }
    chapter "1. A static page"
    once static home.ubr
    reports=()
    chapter "2. The gallery, every page made anew"
    once anew gallery.ubr
    # Requests whose clients have left still wait at php-fpm, which knows of nobody leaving; the next run must not wait for them.
    curl -s -o /dev/null --max-time 300 "$site/index.php?Qwd=." || true
    chapter "3. Its pages kept by their four parameters, in memory"
    run "$bin/samovar" rule add --admin "$admin" extension=.php for=60s \
        'vary_query={ keep = ["Qwd","Qif","Qiv","Qis"] }' hot=false
    once memory gallery.ubr
    chapter "4. The same, hot"
    local rule
    rule=$("$bin/samovar" rule list --admin "$admin" | grep -oE '\br[0-9]+\b' | head -n 1)
    run "$bin/samovar" rule set --admin "$admin" "$rule" hot=true
    once hot gallery.ubr
    chapter "What is in the cache, and the four side by side"
    reports+=("$out/static.json")
    run "$bin/samovar" cache list --admin "$admin" | sed -n 1,8p
    run "$bin/thirst" report "${reports[@]}" --html "$out/report.html"
}

letters() {
    local seconds=20 clients=16 each=()
    [[ -z ${SHORT:-} ]] || seconds=2
    bash scripts/need.sh php-fpm php-gd
    start_gallery
    # shellcheck disable=SC2154 # set by start_gallery
    local site=$site_gallery admin=$admin_gallery
    for picture in "$out"/site/site/pictures/landscapes/*.jpg; do
        each+=("$site/lettered.php?Qwd=./landscapes&Qif=$(basename "$picture")")
    done
    printf '%s\n' "${each[@]#"$site"}" >"$out/urls.txt"
    once() { # NAME LABEL
        # shellcheck disable=SC2154 # set by start_samovar and start_gallery
        any_verdict run "$bin/thirst" run "$site" --urls "$out/urls.txt" -c "$clients" -d "${seconds}s" --warmup 2s \
            -H 'Accept-Language: de' --server-pid "samovar=$pid_gallery" --server-pid "php-fpm=$fpm_pid" \
            --label "$2" --json "$out/$1.json" >"$out/$1.txt"
        grep -E '^ +(Requests per second|Verdict)' "$out/$1.txt"
    }
    local rule=('id=lettered' 'path=/lettered.php' 'until_changed=true' 'globs=["site/pictures/**","lib/*.php"]'
        'vary_query={ keep = ["Qwd","Qif"] }' 'vary_headers=[{ name = "Accept-Language", languages = ["en","de","es"] }]'
        'only_status=[200]')
    chapter "Every picture lettered anew, for every request"
    run "$bin/samovar" rule remove --admin "$admin" lettered >/dev/null
    run "$bin/samovar" rule remove --admin "$admin" pages >/dev/null
    once 1-anew "lettered anew"
    curl -sS -o /dev/null --max-time 120 "${each[0]}" || true
    chapter "Kept in memory, a picture for each language"
    run "$bin/samovar" rule add --admin "$admin" "${rule[@]}" hot=false >/dev/null
    once 2-memory "in memory"
    chapter "The same, hot"
    run "$bin/samovar" rule set --admin "$admin" lettered hot=true >/dev/null
    once 3-hot "hot"
    chapter "Side by side"
    run "$bin/samovar" cache list --admin "$admin" | sed -n 1,5p
    run "$bin/thirst" report "$out"/{1-anew,2-memory,3-hot}.json --html "$out/report.html"
    awk -v cost_anew="$(number "$out/1-anew.json" server_us_per_request)" -v cost_hot="$(number "$out/3-hot.json" server_us_per_request)" \
        -v anew="$(number "$out/1-anew.json" requests_per_s)" -v hot="$(number "$out/3-hot.json" requests_per_s)" \
        -v bytes="$(wc -c < <(curl -fsS -H 'Accept-Language: de' "${each[0]}"))" \
        'BEGIN { printf "\nHot: %.0f times as many a second, at 1/%.0f of the CPU each; a picture weighs some %.0f KB. (Bar: 200 times, 242 KB.)\n", hot / anew, cost_anew / cost_hot, bytes / 1000 }'
}

service() {
    local ramp=${RAMP:-5..200/s:+5@30s}
    [[ -z ${SHORT:-} ]] || ramp=10..60/s:+10@2s
    chapter "A slow service, asked more and more often, whether it answers or not"
    start_handler
    run "$bin/thirst" run "$handler" --urls "$here/requests.txt" --pick weights --compressed --ramp "$ramp" \
        --until 'p99>2s' --until 'errors>1%' --label 'the service alone' --json "$out/alone.json" || [[ $? == 3 ]]
    chapter "With Samovar before it, and one rule"
    start_samovar service --origin "$handler"
    # shellcheck disable=SC2154 # set by start_samovar
    run "$bin/samovar" rule add --admin "$admin_service" path='/pictures/**' for=10s
    # shellcheck disable=SC2154 # set by start_samovar
    run "$bin/thirst" run "$site_service" --urls "$here/requests.txt" --pick weights --compressed --ramp "$ramp" \
        --until 'p99>2s' --until 'errors>1%' --label 'with one rule' --json "$out/cached.json" || [[ $? == 3 ]]
    run "$bin/thirst" report "$out"/{alone,cached}.json --html "$out/report.html"
}

tiles() {
    local levels=6 ramp=${RAMP:-1..125:+5@5m}
    [[ -z ${SHORT:-} ]] || { levels=4 && ramp=1..41:+10@2s; }
    bash scripts/need.sh php-fpm
    chapter "A map in $levels levels, behind a script that works for each ETag"
    run "$bin/thirst" content "$out/map" "tiles:$levels" --list "$out/paths.txt" -q
    cp "$here/tile.php" "$out/map/"
    sed 's|^|/tile.php?etags=1\&t=|' "$out/paths.txt" >"$out/with-etags.txt"
    sed 's|^|/tile.php?t=|' "$out/paths.txt" >"$out/without-etags.txt"
    start_php "$out/map"
    start_samovar origin --config "$out/samovar.toml"
    # shellcheck disable=SC2154 # set by start_samovar
    start_samovar cache --origin "$site_origin"
    # shellcheck disable=SC2154 # set by start_samovar
    run "$bin/samovar" rule add --admin "$admin_cache" path='/tile.php' for=1h
    one() { # NAME SITE LIST FLAG…
        local name=$1 site=$2 list=$3
        shift 3
        run "$bin/thirst" run "$site" --urls "$out/$list.txt" --pick random --ramp "$ramp" --label "$name" \
            --json "$out/${name// /-}.json" -q "$@" || [[ $? == 3 ]]
    }
    chapter "1. Clients that keep tiles, and a server that works to compare their ETags"
    one 'etags on' "$site_origin" with-etags --browser-cache
    chapter "2. The same server without ETags"
    one 'etags off' "$site_origin" without-etags
    chapter "3. With a cache before it"
    # shellcheck disable=SC2154 # set by start_samovar
    one 'with a cache' "$site_cache" without-etags
    run "$bin/thirst" report "$out"/{etags-on,etags-off,with-a-cache}.json --html "$out/report.html"
}

"$what"
say "Done: $(realpath "$out/report.html")"
