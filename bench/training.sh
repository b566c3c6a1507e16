# What bench/checkpoint.sh and bench/histograms.sh share: a model of 25 million parameters with Adam,
# trained a few steps, and when each of them ended. Source it; $threads is set before, TEQUIO, TOOLS and
# SHAPE are as those scripts say.
# shellcheck disable=SC2154  # threads
here=$(cd "$(dirname "$0")/.." && pwd)
tequio=${TEQUIO:-$here/build/release/tequio}
tools=${TOOLS:-$(dirname "$tequio")/tests}
dir=$(mktemp -d -p "${TMPDIR:-/tmp}")
trap 'rm -rf "$dir"' EXIT

# prepare BATCHES STEPS KEYS: so much data, so many steps, and what else the trainer is told
prepare() {
    "$tools/make_idx" "$dir/train" $((64 * $1)) 7 28
    cat >"$dir/config.jsonnet" <<CONFIG
{
    dataset_reader: { type: "idx" },
    train_data_path: "$dir/train/images-idx3-ubyte",
    model: { type: "mlp", hidden: [4600, 4600] },
    data_loader: { batch_size: 64 },
    trainer: {
        num_epochs: 1000,
        max_steps: $2,
        threads: $threads,
        save_summary_steps: 1,
        save_checkpoints_secs: null,
        optimizer: { type: "adam", lr: 0.001 },
        $3
    },
    distributed: { lanes: 1 },
}
CONFIG
}

# measure PROGRAM: a run; prints a line "STEP WALL_S" for each step
measure() {
    # shellcheck disable=SC2086  # words
    timeout -k 5 600 "$1" train "$dir/config.jsonnet" -s "$dir/job" -f --progress none \
        ${SHAPE:-} >"$dir/log" 2>&1 || { tail "$dir/log" >&2 && exit 1; }
    sed -n 's/.*"step": *\([0-9]*\).*"wall_s": *\([0-9.e-]*\).*/\1 \2/p' "$dir/job/metrics.jsonl"
}
