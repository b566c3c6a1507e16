#!/bin/bash
# How soon a local cluster trains: from the launch of the launcher to the log lines of its master,
# for a master, two workers, two servers and an evaluator, each a process, on the real data.
#
#   bench/startup.sh [ROUNDS]        5 rounds; TEQUIO=path of the program, build/release/tequio
#
# Prints JSON: medians over the rounds, and the times of each. A line is timed when it is read.
set -euo pipefail
export LC_ALL=C # EPOCHREALTIME with a point

here=$(cd "$(dirname "$0")/.." && pwd)
tequio=${TEQUIO:-$here/build/release/tequio}
rounds=${1:-5}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# One round: "HELLO <s>", "READY <s>", "RUN <s>" and "FIRST_STEP <s>", each at its first line.
launch() {
    local begin=$EPOCHREALTIME line mark
    local -A seen=()
    timeout -k 5 120 "$tequio" train "$here/examples/fashion-mnist/cnn.jsonnet" -s "$dir/job" -f \
        --workers 2 --ps 2 --evaluators 1 --progress none \
        -o '{"trainer": {"max_steps": 1}}' 2>&1 >"$dir/result" |
        while read -r line; do
            for mark in HELLO READY RUN FIRST_STEP; do
                [[ $line == *" info $mark "* && -z ${seen[$mark]:-} ]] || continue
                seen[$mark]=1
                echo "$mark $EPOCHREALTIME $begin"
            done
        done
}

for ((round = 0; round < rounds; round++)); do
    launch
done | awk -v cpus="$(nproc)" -f "$here/bench/stats.awk" -f <(cat <<'END'
    { keep($1, $2 - $3) }
    END {
        if (!n["FIRST_STEP"]) {
            print "no round came to its first step" > "/dev/stderr"
            exit 1
        }
        printf "{\n  \"processes\": 6,\n  \"cpus\": %d,\n  \"rounds\": %d,\n", cpus, n["FIRST_STEP"]
        printf "  \"launch_to_first_step_s\": %.3f,\n", median("FIRST_STEP")
        printf "  \"launch_to_hello_s\": %.3f,\n", median("HELLO")
        printf "  \"launch_to_ready_s\": %.3f,\n", median("READY")
        printf "  \"launch_to_run_s\": %.3f,\n", median("RUN")
        printf "  \"first_steps_s\": %s\n}\n", list("FIRST_STEP", 3)
    }
END
)
