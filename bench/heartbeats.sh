#!/bin/bash
# What it costs a master that many workers live: processor time of a master at run while stubs, which
# compute nothing, send it a heartbeat a second each.
#
#   bench/heartbeats.sh [WORKERS [SECONDS]]     512 workers, 5 seconds
#
# TEQUIO=path of the program, build/release/tequio; TOOLS=where stub_workers and free_ports are, the
# tests of that build. Prints JSON: cpu_percent is of one core.
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "$0")/.." && pwd)
tequio=${TEQUIO:-$here/build/release/tequio}
tools=${TOOLS:-$(dirname "$tequio")/tests}
workers=${1:-512} seconds=${2:-5}
dir=$(mktemp -d)
trap 'kill -KILL $(jobs -p) 2>/dev/null || true; wait 2>/dev/null; rm -rf "$dir"' EXIT

cat >"$dir/config.jsonnet" <<'CONFIG'
{
    train_data_path: "none",
    model: { type: "mlp" },
    data_loader: { batch_size: 16 },
    trainer: { batches_per_step: 4 },
    distributed: { master_trains: false, security: "off" },
}
CONFIG

mapfile -t port < <("$tools/free_ports" 2)
list=$(for ((i = 1; i <= workers; i++)); do printf '%s"127.0.0.1:%d"' "${comma:-}" "$i" && comma=,; done)
cluster="{\"chief\": [\"127.0.0.1:${port[0]}\"], \"worker\": [$list], \"ps\": [\"127.0.0.1:${port[1]}\"]}"

task() {
    TF_CONFIG="{\"cluster\": $cluster, \"task\": {\"type\": \"$1\", \"index\": 0}}" \
        exec "$tequio" train "$dir/config.jsonnet" --job-dir "$dir/job" --progress none >"$dir/$1.log" 2>&1
}

# Ticks of the processor so far.
ticks() {
    sed 's/.*) //' "/proc/$master/stat" | awk '{ print $12 + $13 }'
}

task ps &
task chief &
master=$!
"$tools/stub_workers" "$dir/config.jsonnet" "127.0.0.1:${port[0]}" "$workers" "$seconds" >"$dir/stubs" &
stubs=$!
until grep -q running "$dir/stubs"; do
    if ! kill -0 "$stubs" || ! kill -0 "$master"; then
        cat "$dir/chief.log" >&2
        exit 1
    fi
    sleep 0.1
done
before=$(ticks)
wait "$stubs"
after=$(ticks)
awk -v ticks="$((after - before))" -v hz="$(getconf CLK_TCK)" -v seconds="$seconds" \
    -v workers="$workers" -v stubs="$(tail -n 1 "$dir/stubs")" 'BEGIN {
    match(stubs, /"answered": [0-9]+/)
    printf "{\n  \"workers\": %d,\n  \"seconds\": %d,\n", workers, seconds
    printf "  \"answered\": %d,\n", substr(stubs, RSTART + 12, RLENGTH - 12)
    printf "  \"cpu_percent\": %.1f\n}\n", 100 * ticks / hz / seconds
}'
