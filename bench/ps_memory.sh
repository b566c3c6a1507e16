#!/bin/bash
# The private memory of a parameter server against the budget that --dry-run prints for it: when it
# is ready, and in the middle of a run while its workers are held still.
#
#   bench/ps_memory.sh [HIDDEN]    width of the mlp's two hidden layers, 2048; TEQUIO=path
#
# Prints JSON. Private memory is Private_Clean + Private_Dirty of /proc/PID/smaps_rollup.
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "$0")/.." && pwd)
tequio=${TEQUIO:-$here/build/release/tequio}
hidden=${1:-2048}
dir=$(mktemp -d)
launcher=
trap '[ -z "$launcher" ] || kill -KILL "$launcher" 2>/dev/null || true; wait 2>/dev/null; rm -rf "$dir"' EXIT

config=$here/examples/fashion-mnist/mlp.jsonnet
overrides="{\"model\": {\"hidden\": [$hidden, $hidden]}, \"validation_data_path\": null,
            \"trainer\": {\"num_epochs\": 1000}}"

# The process of one task, by what the launcher wrote into its environment.
pid_of() {
    local pid
    for pid in $(pgrep -P "$launcher"); do
        if tr '\0' '\n' <"/proc/$pid/environ" | grep -q "^TF_CONFIG=.*\"index\":$2,\"type\":\"$1\""; then
            echo "$pid"
            return
        fi
    done
}

private_bytes() {
    awk '/^Private_(Clean|Dirty):/ { kb += $2 } END { print kb * 1024 }' "/proc/$1/smaps_rollup"
}

await() {
    timeout 60 sed "/ info $1 /q" <(tail -n +1 -f "$dir/log" --pid="$launcher") >/dev/null
}

budget=$("$tequio" train "$config" --dry-run --json --workers 2 --ps 1 -s "$dir/unused" \
    -o "$overrides" | sed -n 's/.*"idle_memory": *\([0-9]*\).*/\1/p' | head -n 1)

"$tequio" train "$config" -s "$dir/job" --workers 2 --ps 1 --progress none -o "$overrides" \
    >"$dir/log" 2>&1 &
launcher=$!

await READY
ps=$(pid_of ps 0)
ready=$(private_bytes "$ps")
await FIRST_STEP
for i in 0 1; do
    kill -STOP "$(pid_of worker "$i")"
done
sleep 1 # what was under way arrives
idle=$(private_bytes "$ps")

awk -v hidden="$hidden" -v budget="$budget" -v ready="$ready" -v idle="$idle" 'BEGIN {
    printf "{\n  \"hidden\": %d,\n  \"budget_bytes\": %d,\n", hidden, budget
    printf "  \"ready_private_bytes\": %d,\n  \"idle_private_bytes\": %d,\n", ready, idle
    printf "  \"ready_over_budget_mb\": %.1f,\n", (ready - budget) / 1e6
    printf "  \"idle_over_budget_mb\": %.1f\n}\n", (idle - budget) / 1e6
}'
