#!/bin/bash
# What one slow link costs a cluster: a server and two workers, each in a network namespace of its own,
# one of them behind a token bucket (tc tbf) in both directions; against two workers on equal links and
# against the fast worker alone. As root.
#
#   bench/slow_link.sh [ROUNDS [STEPS]]     5 rounds of 100 steps
#
# RATE=8mbit of the slow link; BATCHES=2 of a step; CASES=which; TEQUIO=path of the program. Prints JSON:
# steps/s of whole runs, those in which the lanes are not known yet included, and of their last halves.
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "$0")/.." && pwd)
tequio=${TEQUIO:-$here/build/release/tequio}
rounds=${1:-5}
steps=${2:-100}
rate=${RATE:-8mbit}
batches=${BATCHES:-2}
cases=${CASES:-alone equal slow slow_rebalanced}
dir=$(mktemp -d)
net=tqb$$

# What an earlier case left is gone before the next one begins.
end_case() {
    kill -KILL $(jobs -p) 2>/dev/null || true
    wait 2>/dev/null || true
    for host in m p w0 w1; do ip netns del "$net$host" 2>/dev/null || true; done
    ip netns del "$net" 2>/dev/null || true
}
trap 'end_case; rm -rf "$dir"' EXIT

address() {
    case $1 in m) echo 10.78.0.1 ;; p) echo 10.78.0.2 ;; w?) echo "10.78.0.$((3 + ${1#w}))" ;; esac
}

make_hosts() {
    ip netns add "$net"
    ip -n "$net" link add hub type bridge
    ip -n "$net" link set hub up
    for host in m p w0 w1; do
        ip netns add "$net$host"
        ip -n "$net" link add "to$host" type veth peer name eth0 netns "$net$host"
        ip -n "$net" link set "to$host" master hub up
        ip -n "$net$host" address add "$(address "$host")/24" dev eth0
        ip -n "$net$host" link set eth0 up
        ip -n "$net$host" link set lo up
    done
}

slow_link() {
    for end in "$net to$1" "$net$1 eth0"; do
        ip netns exec "${end% *}" tc qdisc add dev "${end#* }" root tbf rate "$rate" burst 32kbit latency 400ms
    done
}

cat >"$dir/config.jsonnet" <<CONFIG
(import '$here/examples/fashion-mnist/mlp.jsonnet') + {
    validation_data_path: null,
    model+: { hidden: [300, 300] },
    trainer+: { max_steps: $steps, num_epochs: 1000, batches_per_step: $batches, save_summary_steps: 5 },
    distributed: { lanes: 1, master_trains: false, security: 'off' },
}
CONFIG

task() {
    ip netns exec "$net$1" env \
        TF_CONFIG="{\"cluster\": $cluster, \"task\": {\"type\": \"$2\", \"index\": $3}}" \
        "$tequio" train "$dir/config.jsonnet" --job-dir "$dir/job" --progress none \
        -o "{\"distributed.rebalance\": $rebalance}" >"$dir/$2.$3.log" 2>&1 &
}

# One run: NAME of the case; prints "NAME steps/s steps/s-of-the-last-half sha256".
train() {
    local workers=2 worker list=
    rebalance=false
    rm -rf "$dir/job"
    make_hosts
    case $1 in
    alone) workers=1 ;;
    slow) slow_link w1 ;;
    slow_rebalanced) slow_link w1 && rebalance=true ;;
    equal_rebalanced) rebalance=true ;;
    esac
    for ((worker = 0; worker < workers; worker++)); do
        list="$list${list:+, }\"$(address "w$worker"):4000\""
    done
    cluster="{\"chief\": [\"10.78.0.1:4000\"], \"worker\": [$list], \"ps\": [\"10.78.0.2:4000\"]}"
    task p ps 0
    for ((worker = 0; worker < workers; worker++)); do task "w$worker" worker "$worker"; done
    task m chief 0
    wait $! || { tail -n 5 "$dir"/*.log >&2 && exit 1; }
    cp "$dir/chief.0.log" "${LOGS:-$dir}/$1.log"
    python3 - "$dir/job" "$1" <<'END'
import json, sys
job, name = sys.argv[1:]
summary = json.load(open(job + '/summary.json'))
lines = [json.loads(line) for line in open(job + '/metrics.jsonl')]
steps, end = summary['steps'], summary['wall_s']
half = min((l for l in lines if 'wall_s' in l), key=lambda l: abs(l['step'] - steps / 2))
print(name, steps / end, (steps - half['step']) / (end - half['wall_s']), summary['params_sha256'])
END
    end_case
}

for ((round = 0; round < rounds; round++)); do
    for one in $cases; do train "$one"; done
done | tee /dev/stderr | awk -v steps="$steps" -v rate="$rate" -f "$here/bench/stats.awk" -f <(cat <<'END'
    { keep($1, $2); keep($1 "_last_half", $3); sums[$4]; cases[$1] }
    END {
        for (sum in sums)
            n_sums++
        printf "{\n  \"steps\": %d,\n  \"rate\": \"%s\",\n", steps, rate
        for (name in cases) {
            printf "  \"%s_steps_per_s\": %.3f,\n  \"%s_all\": %s,\n", name, median(name), name, list(name, 3)
            printf "  \"%s_last_half\": %.3f,\n", name, median(name "_last_half")
        }
        printf "  \"same_bits\": %s\n}\n", n_sums == 1 ? "true" : "false"
    }
END
)
