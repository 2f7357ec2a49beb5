#!/usr/bin/env bash
# Shared by run.sh: ports, processes, CPU time, one sample. To be sourced, not run.

pids=()
stop_all() {
    local pid p
    for pid in ${pids[@]+"${pids[@]}"}; do
        # With all below it: what logs for a server is a program of its own.
        for p in $(tree "$pid"); do kill "$p" 2>/dev/null || true; done
    done
    for _ in $(seq 30); do
        kill -0 ${pids[@]+"${pids[@]}"} 2>/dev/null || break
        sleep 0.1
    done
    for pid in ${pids[@]+"${pids[@]}"}; do kill -9 "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
}

used_ports=" "
free_port() { # leaves it in $free_port
    while free_port=$((20000 + RANDOM % 10000)); do
        [[ $used_ports != *" $free_port "* ]] || continue
        (exec 3<>"/dev/tcp/127.0.0.1/$free_port") 2>/dev/null && continue
        used_ports+="$free_port "
        return
    done
}

await_port() { # PORT NAME
    for _ in $(seq 150); do
        (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return
        sleep 0.1
    done
    tail -n 20 "$work/$2/out.log" 2>/dev/null || true
    die "$2 does not listen on port $1"
}

launch() { # CORE NAME PROGRAM…; leaves the pid in $launched
    local core=$1 name=$2
    shift 2
    mkdir -p "$work/$name"
    taskset -c "$core" "$@" >"$work/$name/out.log" 2>&1 </dev/null &
    launched=$!
    pids+=("$launched")
}

# A process and all below it.
tree() {
    local child
    echo "$1"
    for child in $(pgrep -P "$1" || true); do tree "$child"; done
}

# CPU time of a process and all below it, in ticks.
ticks() {
    local total=0 part p
    for p in $(tree "$1"); do
        part=$(awk '{ sub(/^.*\) /, ""); print $12 + $13 }' "/proc/$p/stat" 2>/dev/null || echo 0)
        total=$((total + ${part:-0}))
    done
    echo "$total"
}

# Requests that the origin has answered, by its own count; asking counts as one.
origin_count() { curl -fsS "http://127.0.0.1:$origin/count" | awk 'NR == 3 { print $3 }'; }

write_lua() {
    cat >"$work/random.lua" <<'LUA'
-- Requests the paths of a list in random order.
local paths, formatted = {}, {}
init = function(args)
  math.randomseed(os.time())
  for line in io.lines(args[1]) do formatted[#formatted + 1] = wrk.format("GET", line) end
end
request = function() return formatted[math.random(#formatted)] end
LUA
    cat >"$work/pipeline.lua" <<'LUA'
init = function() local r = {} for i = 1, 16 do r[i] = wrk.format() end req = table.concat(r) end
request = function() return req end
LUA
}

# sample TEST SERVER LOAD URL [LIST]: one round of one server, as one line of JSON.
sample() {
    local test=$1 name=$2 load=$3 url=$4 list=${5:-} before after client_before client_after text requests asked=0 conns=64
    [[ $test == *-10m ]] && conns=16
    [[ -z ${through[$name]:-} ]] && asked=$(origin_count)
    before=$(ticks "${pid[$name]}")
    client_before=$(awk '{ print $16 + $17 }' /proc/$$/stat)
    case $load in
    wrk) text=$(taskset -c 1 wrk -t1 -c$conns -d "${seconds}s" --timeout 10s --latency "$url" 2>&1) ;;
    wrk-random) text=$(taskset -c 1 wrk -t1 -c$conns -d "${seconds}s" --timeout 10s --latency -s "$work/random.lua" "$url" -- "$list" 2>&1) ;;
    wrk-pipeline) text=$(taskset -c 1 wrk -t1 -c$conns -d "${seconds}s" --timeout 10s --latency -s "$work/pipeline.lua" "$url" 2>&1) ;;
    thirst) text=$(taskset -c 1 "$bin/thirst" run "$url" -t 1 -c $conns -d "${seconds}s" --quiet --json - 2>/dev/null || true) ;;
    esac
    after=$(ticks "${pid[$name]}")
    client_after=$(awk '{ print $16 + $17 }' /proc/$$/stat)
    if [[ $load == thirst ]]; then
        requests=$(grep -oE '"requests": *[0-9]+' <<<"$text" | head -n 1 | grep -oE '[0-9]+$')
    else
        requests=$(sed -nE 's/^ *([0-9]+) requests in .*/\1/p' <<<"$text")
        if grep -q 'Non-2xx' <<<"$text"; then die "$test $name: not all answers are good: $text"; fi
    fi
    [[ ${requests:-0} -gt 0 ]] || die "$test $name got no answers: $text"
    [[ -z ${through[$name]:-} ]] && asked=$(($(origin_count) - asked - 1))
    awk -v t="$test" -v n="$name" -v l="$load" -v r="$requests" -v s="$seconds" -v c="$((after - before))" \
        -v k="$((client_after - client_before))" -v hz="$(getconf CLK_TCK)" -v round="$round" -v asked="$asked" \
        -v p50="$(percentile 50 "$text")" -v p99="$(percentile 99 "$text")" 'BEGIN {
        printf "{\"test\":\"%s\",\"server\":\"%s\",\"load\":\"%s\",\"round\":%d,\"requests\":%d,\"per_s\":%.1f,\"server_us\":%.3f,\"client_us\":%.3f,\"p50_us\":%s,\"p99_us\":%s,\"origin\":%d}\n",
            t, n, l, round, r, r / s, c / hz * 1e6 / r, k / hz * 1e6 / r, p50, p99, asked }' | tee -a "$out/samples.jsonl"
}

# wrk's percentile in microseconds; 0 where it says none.
percentile() { # 50|99 TEXT
    awk -v want="$1%" '$1 == want { v = $2; u = 1; if (v ~ /ms$/) u = 1000; else if (v ~ /[0-9.]s$/) u = 1000000; printf "%.0f", (v + 0) * u; found = 1; exit }
        END { if (!found) print 0 }' <<<"$2"
}
