#!/bin/bash
# What a step costs in less memory: one lane trains CONFIG without trainer.memory and with each BUDGET, in turns.
#
#   bench/memory.sh CONFIG ROUNDS STEPS BUDGET...     TEQUIO=path of the program, build/release/tequio
#
# Prints a line of JSON each: the budget, the lane's memory as --dry-run tells it, and the median of a step's processor time,
# in milliseconds: that of a run of STEPS + 2 steps less that of one of 2, by STEPS. Processor time, because it holds
# on a machine that others use too. Ends with an error if weights differ.
set -euo pipefail
export LC_ALL=C
TIMEFORMAT='%U %S'

here=$(cd "$(dirname "$0")/.." && pwd)
tequio=${TEQUIO:-$here/build/release/tequio}
config=$1 rounds=$2 steps=$3
shift 3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# overrides STEPS BUDGET
overrides() { printf '{"trainer.max_steps": %d, "trainer.memory": %s, "distributed.cuda_devices": [-1]}' "$1" "$2"; }

# seconds STEPS BUDGET: of processors
seconds() {
    { time "$tequio" train "$config" -s "$dir/job" -f -o "$(overrides "$1" "$2")" >"$dir/out" 2>&1; } 2>&1 |
        awk '{ print $1 + $2 }'
    grep -h '"params_sha256"' "$dir/job/summary.json" >>"$dir/weights.$1"
}

for ((round = 0; round < rounds; round++)); do
    for budget in null "$@"; do
        few=$(seconds 2 "$budget") many=$(seconds $((steps + 2)) "$budget")
        awk -v a="$few" -v b="$many" -v n="$steps" 'BEGIN { print 1000 * (b - a) / n }' >>"$dir/ms.${budget//\"/}"
    done
done
[ "$(sort -u "$dir/weights.2" | wc -l)" -eq 1 ] && [ "$(sort -u "$dir/weights.$((steps + 2))" | wc -l)" -eq 1 ] ||
    { echo "weights differ" >&2 && exit 1; }
for budget in null "$@"; do
    "$tequio" train "$config" --dry-run -o "$(overrides 1 "$budget")" >"$dir/out"
    printf '{"budget": %s, "memory": "%s", "step_ms": %s}\n' "$budget" "$(sed -n 's/^  total  *//p' "$dir/out")" \
        "$(sort -n "$dir/ms.${budget//\"/}" | awk '{ x[NR] = $1 } END { print (x[int((NR + 1) / 2)] + x[int(NR / 2) + 1]) / 2 }')"
done
