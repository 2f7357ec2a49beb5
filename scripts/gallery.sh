#!/usr/bin/env bash
# The gallery's four steps: a static page; its pages made anew; kept in memory by four variables of the query; hot. Then
# what is in the memory, and what a new picture does to it. docs/gallery.md tells the story.
#
# Starts php-fpm and Samovar on free ports and leaves nothing running. Reports stay in target/gallery/.
#   SHORT=1          seconds instead of minutes, to see that it works
#   PROGRAMS=FOLDER  use the programs there instead of building them
#   WALK_OUT=FOLDER  where reports go
set -Eeuo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh
out=${WALK_OUT:-$(target_dir)/gallery}
bin=${PROGRAMS:-$(target_dir)/${PROFILE:-release}}
# shellcheck source=scripts/walk.sh
. scripts/walk.sh

bash scripts/need.sh curl php-fpm php-gd
programs samovar thirst copyright-images
fresh_out

start_gallery
# shellcheck disable=SC2154 # set by start_gallery
site=$site_gallery admin=$admin_gallery
short=()
[[ -z ${SHORT:-} ]] || short=(-w 1 -u 2 -n 1 -v 10)
once() { # NAME SCENARIO
    any_verdict run "$bin/thirst" wcat.wsf -terminate -run -clients localhost -t "examples/gallery/walk/$2" \
        -f examples/gallery/walk/settings.ubr -s "$(authority "$site")" -singleip -x -o "$out/$1.xml" "${short[@]}" \
        -label "$3" -json "$out/$1.json" >"$out/$1.txt"
    grep -E '^ +(Requests per second|Verdict)|^Total 200 OK' "$out/$1.txt"
}

chapter "1. A static page"
once 1-static static.ubr "a static page"

chapter "2. The gallery, every page made anew"
run "$bin/samovar" rule remove --admin "$admin" pages
once 2-anew gallery.ubr "made anew"
# What clients that have left had asked for may still be at work in php-fpm; the next run must not wait for it.
curl -sS -o /dev/null --max-time 120 "$site/index.php?Qwd=." || true

chapter "3. Its pages kept by their four variables, in memory"
run "$bin/samovar" rule add --admin "$admin" id=pages extension=.php until_changed=true \
    'globs=["site/pictures/**","lib/*.php"]' 'vary_query={ keep = ["Qwd","Qif","Qiv","Qis"] }' 'only_status=[200]' hot=false
once 3-memory gallery.ubr "in memory"

chapter "4. The same, hot"
run "$bin/samovar" rule set --admin "$admin" pages hot=true
once 4-hot gallery.ubr "hot"

chapter "What is in the memory? (The question of 2008.)"
run "$bin/samovar" cache list --admin "$admin" | tee "$out/list.txt"

chapter "A picture is added: the pages that list it are made anew, at once, and nobody had to say so"
page="$site/index.php?Qwd=./landscapes&Qiv=none&Qis=M"
curl -fsS "$page" -o "$out/before.html"
cp "$out"/site/site/pictures/landscapes/sea-{1,9}.jpg
for _ in $(seq 100); do
    curl -fsS "$page" -o "$out/after.html"
    ! grep -q sea-9.jpg "$out/after.html" || break
    sleep 0.05
done
if grep -q sea-9.jpg "$out/before.html" || ! grep -q sea-9.jpg "$out/after.html"; then die "the page does not follow its pictures"; fi
diff "$out/before.html" "$out/after.html" || true

chapter "Side by side"
run "$bin/thirst" report "$out"/{2-anew,3-memory,4-hot,1-static}.json --html "$out/report.html"
say "Done: $out/report.html"
