#!/usr/bin/env bash
# A slow service under load, and the limits that bind one after the other: the service's own, Samovar's towards it, and
# then, with one rule, none. docs/slow-service.md tells the story.
#
# Starts everything on free ports and leaves nothing running. Reports stay in target/slow-service/.
#   SHORT=1          seconds instead of minutes, and fewer clients, to see that it works
#   PROGRAMS=FOLDER  use the programs there instead of building them
#   WALK_OUT=FOLDER  where reports go
set -Eeuo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh
out=${WALK_OUT:-$(target_dir)/slow-service}
bin=${PROGRAMS:-$(target_dir)/${PROFILE:-release}}
# shellcheck source=scripts/walk.sh
. scripts/walk.sh

bash scripts/need.sh curl
programs samovar thirst slow-service
fresh_out
here=examples/slow-service
# Each level for 12 s, of which some are for getting there: an answer takes two.
clients=4000 ramp=1000..4000:+1000@12s few=100..500:+100@8s rates=100,250,500@8s seconds=12 warmup=5
[[ -z ${SHORT:-} ]] || { clients=1500 ramp=750..1500:+750@4s few=200..400:+200@4s rates=250,500@2s seconds=4 warmup=2; }
# The system counts sockets as files; half of a pair for each request that is under way.
ulimit -n "$(ulimit -Hn)" 2>/dev/null || true

# start_service NAME FLAG…: service_NAME and service_pid_NAME.
start_service() {
    local name=$1
    shift
    "$bin/slow-service" --keys "$out/keys.txt" "$@" >"$out/service-$name.log" 2>&1 &
    pids+=("$!")
    printf -v "service_pid_$name" '%s' "$!"
    await "$!" "the service" grep -q '^listening' "$out/service-$name.log"
    printf -v "service_$name" '%s' "$(sed -n 's/^listening *//p' "$out/service-$name.log")"
}
# ask NAME LABEL SERVER COUNTERS FILE FLAG…: one run, with the counters of one page.
ask() {
    local name=$1 label=$2 server=$3 counters=$4 file=$5 names=()
    shift 5
    if [[ $counters == */counters ]]; then
        names=(--counter slow_service_concurrent --counter slow_service_queue)
    else
        names=(--counter samovar_upstream_requests_busy --counter samovar_upstream_requests_waiting --counter samovar_connections)
    fi
    any_verdict run "$bin/thirst" run "$here/walk/$file" -s "$(authority "$server")" "$@" \
        --warmup "${warmup}s" --cooldown 0s --counters "$counters" "${names[@]}" --label "$label" --json "$out/$name.json" >"$out/$name.txt"
    sed -n '/^  Requests per second/,/^  Verdict/p; /^  clients /,/^  No knee\|^$/p; /^  asked/,/^$/p; /^  Status/p; /^  Errors/p; /^  Counters/,/^$/p' "$out/$name.txt"
}

cp "$here/keys.txt" "$out/keys.txt"
chapter "1. The service alone: how many at once, and how many quick ones a second?"
start_service large --concurrent 5000
# shellcheck disable=SC2154 # set by start_service
ask 1-long "alone, long" "$service_large" "$service_large/counters" long.ubr --ramp "$ramp"
ask 1-quick "alone, quick" "$service_large" "$service_large/counters" quick.ubr --steps "$rates"

chapter "2. A service that bears 250: the processor has nothing to do, and yet it goes no faster"
start_service small --concurrent 250 --queue 5000
# shellcheck disable=SC2154 # set by start_service
ask 2-small "bears 250" "$service_small" "$service_small/counters" long.ubr --ramp "$few"

chapter "3. Samovar before the large one, nothing set: which limit binds now?"
sed "s|http://127.0.0.1:8090|$service_large|" "$here/samovar.toml" >"$out/samovar.toml"
run "$bin/samovar" check --config "$out/samovar.toml"
start_samovar catalogue --config "$out/samovar.toml"
# shellcheck disable=SC2154 # set by start_samovar
site=$site_catalogue admin=$admin_catalogue
# Clients that are refused come back after a second, as Retry-After asks.
(
    sleep $((warmup + seconds / 2))
    "$bin/samovar" limits --admin "$admin" >"$out/limits.txt"
) &
looking=$!
ask 3-default "Samovar, nothing set" "$site" "$admin/metrics" long.ubr -c "$clients" -d "${seconds}s" --think 1s
wait "$looking"
printf '%s$ samovar limits%s      (meanwhile)\n' "$bold" "$plain"
grep -E '^LIMIT|limits.connections_max|upstream' "$out/limits.txt"

chapter "4. max_connections = 5000, and the same again"
sed -i 's|^members = .*|&\nmax_connections = 5000|' "$out/samovar.toml"
run "$bin/samovar" reload --admin "$admin"
ask 4-long "Samovar, 5,000" "$site" "$admin/metrics" long.ubr --ramp "$ramp"
ask 4-quick "Samovar, quick" "$site" "$admin/metrics" quick.ubr --steps "$rates"

chapter "5. One rule: kept for 10 s, for each key its own"
run "$bin/samovar" rule add --admin "$admin" id=catalogue path=/catalogue for=10s 'vary_query={ keep = ["delay","items"] }' \
    'vary_headers=["X-Api-Key"]' 'only_status=[200]'
ask 5-cached "one rule, quick" "$site" "$admin/metrics" quick.ubr -c 64 -d "${seconds}s"
run "$bin/samovar" cache list --admin "$admin"

chapter "6. A key is taken out of the file, under load"
key() { curl -sS -o /dev/null -w '%{http_code}' -H "X-Api-Key: $1" "$service_large/catalogue?delay=0ms&items=1"; }
printf 'new-key 10 Somebody new\ndemo-key 1000 Whoever reads this page\n' >"$out/keys.next"
mv "$out/keys.next" "$out/keys.txt"
for _ in $(seq 100); do
    [[ $(key new-key) == 200 ]] && break
    sleep 0.05
done
echo "new-key $(key new-key), partner-key $(key partner-key), demo-key $(key demo-key)"
[[ "$(key new-key) $(key partner-key)" == "200 401" ]] || die "the keys were not read again"

chapter "Side by side"
run "$bin/thirst" report "$out"/{2-small,1-long,3-default,4-long,1-quick,4-quick,5-cached}.json --html "$out/report.html"
say "Done: $out/report.html"
