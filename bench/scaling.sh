#!/bin/bash
# What a cluster costs: two workers and a server, three processes beside the master, against one
# process with two lanes, on the same two cores, training the same steps to the same bits.
#
#   bench/scaling.sh [ROUNDS [STEPS]]   3 rounds of 300 steps; TEQUIO=path of the program
#
# Prints JSON: the examples/s of both from their summaries, and of the processor time each spent
# the part that the other needs too. Rounds alternate, so that the ratios hold where times drift.
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "$0")/.." && pwd)
tequio=${TEQUIO:-$here/build/release/tequio}
rounds=${1:-3}
steps=${2:-300}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# The value of a key of a summary, without quotes.
value() {
    sed -n "s/^ *\"$2\": *\"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}$/\1/p" "$dir/$1/summary.json"
}

# One run: NAME, then flags; prints "NAME examples/s cpu-seconds sha256".
train() {
    local name=$1 cpu
    shift
    TIMEFORMAT='%U %S'
    cpu=$({ time taskset -c 0,1 timeout -k 5 300 "$tequio" train \
        "$here/examples/fashion-mnist/cnn.jsonnet" -s "$dir/$name" -f --progress none "$@" \
        -o "{\"trainer\": {\"max_steps\": $steps, \"num_epochs\": 1000},
             \"validation_data_path\": null, \"distributed\": {\"lanes\": $lanes}}" \
        >"$dir/$name.log" 2>&1; } 2>&1)
    echo "$name $(value "$name" examples_per_s) $cpu $(value "$name" params_sha256)"
}

for ((round = 0; round < rounds; round++)); do
    lanes=2 train process
    lanes=1 train cluster --workers 2 --ps 1
done | awk -v steps="$steps" -f "$here/bench/stats.awk" -f <(cat <<'END'
    { keep($1, $2); keep($1 "_cpu", $3 + $4); sums[$5] }
    END {
        for (i = 1; i <= n["cluster"]; i++)
            keep("ratio", at["cluster", i] / at["process", i])
        for (sum in sums)
            n_sums++
        printf "{\n  \"rounds\": %d,\n  \"steps\": %d,\n", n["cluster"], steps
        printf "  \"process_examples_per_s\": %.1f,\n", median("process")
        printf "  \"cluster_examples_per_s\": %.1f,\n", median("cluster")
        printf "  \"ratio\": %.3f,\n", median("cluster") / median("process")
        printf "  \"ratio_by_round\": %s,\n", list("ratio", 3)
        printf "  \"process_cpu_s\": %.2f,\n", median("process_cpu")
        printf "  \"cluster_cpu_s\": %.2f,\n", median("cluster_cpu")
        printf "  \"same_bits\": %s\n}\n", n_sums == 1 ? "true" : "false"
    }
END
)
