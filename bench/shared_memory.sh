#!/bin/bash
# What shared memory saves a job whose tasks are on one host: a server and WORKERS workers, with
# `distributed.shared_memory` auto and off, and one process with as many lanes, training the same steps of
# an mlp of two layers of HIDDEN features to the same bits.
#
#   bench/shared_memory.sh [ROUNDS [STEPS]]   5 rounds of 30 steps; TEQUIO=path of the program
#
#   WORKERS 2    HIDDEN 4096, which is 80 MB of weights    BATCHES 4, in a step    BATCH 64, its size
#
# Prints JSON: examples/s of all three from their summaries, and their ratios. Rounds alternate, so that
# the ratios hold where times drift.
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "$0")/.." && pwd)
tequio=${TEQUIO:-$here/build/release/tequio}
rounds=${1:-5} steps=${2:-30} workers=${WORKERS:-2} hidden=${HIDDEN:-4096}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# The value of a key of a summary, without quotes.
value() {
    sed -n "s/^ *\"$2\": *\"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}$/\1/p" "$dir/$1/summary.json"
}

# One run: NAME, how it shares, its lanes, flags; prints "NAME examples/s sha256".
train() {
    local name=$1 shared=$2 lanes=$3
    shift 3
    timeout -k 5 300 "$tequio" train "$here/examples/fashion-mnist/mlp.jsonnet" -s "$dir/$name" -f \
        --progress none "$@" -o "{
            model: {type: 'mlp', hidden: [$hidden, $hidden]},
            data_loader: {batch_size: ${BATCH:-64}}, validation_data_path: null,
            trainer: {max_steps: $steps, num_epochs: 1000, batches_per_step: ${BATCHES:-4},
                       optimizer: {type: 'sgd', lr: 0.01}},
            distributed: {lanes: $lanes, shared_memory: '$shared'}}" >"$dir/$name.log" 2>&1
    echo "$name $(value "$name" examples_per_s) $(value "$name" params_sha256)"
}

for ((round = 0; round < rounds; round++)); do
    train process auto "$workers"
    train off off 1 --workers "$workers" --ps 1
    train auto auto 1 --workers "$workers" --ps 1
done | awk -v steps="$steps" -f "$here/bench/stats.awk" -f <(cat <<'END'
    { keep($1, $2); sums[$3] }
    END {
        for (i = 1; i <= n["auto"]; i++) {
            keep("gain", at["auto", i] / at["off", i])
            keep("off_ratio", at["off", i] / at["process", i])
            keep("auto_ratio", at["auto", i] / at["process", i])
        }
        for (sum in sums)
            n_sums++
        printf "{\n  \"rounds\": %d,\n  \"steps\": %d,\n", n["auto"], steps
        printf "  \"process_examples_per_s\": %.1f,\n", median("process")
        printf "  \"off_over_process\": %.3f,\n", median("off_ratio")
        printf "  \"auto_over_process\": %.3f,\n", median("auto_ratio")
        printf "  \"auto_over_off\": %.3f,\n", median("gain")
        printf "  \"auto_over_off_by_round\": %s,\n", list("gain", 3)
        printf "  \"same_bits\": %s\n}\n", n_sums == 1 ? "true" : "false"
    }
END
)
