# Helpers for the system tests; source it first:  . "$(dirname "$0")/support.sh"
#
# TEQUIO, MAKE_IDX and SOURCE_DIR come from CTest. Every test works in a folder of its own, $dir,
# which is removed at its end; nothing outlives it.
set -eu

# jobs that name no device compute on the CPU, on machines with GPUs too
export CUDA_VISIBLE_DEVICES=

dir=$(mktemp -d "${TMPDIR:-/tmp}/tequio-system-XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 143' TERM INT
limit=${TEST_LIMIT:-120}

fail() {
    echo "FAILED: $*" >&2
    for file in "$dir/out" "$dir/err"; do
        [ -s "$file" ] && { echo "--- $(basename "$file")" && tail -n 40 "$file"; } >&2
    done
    exit 1
}

# run COMMAND...: its exit code in $code, what it printed in $dir/out and $dir/err
run() {
    code=0
    timeout -k 5 "$limit" "$@" >"$dir/out" 2>"$dir/err" || code=$?
    [ "$code" -ne 124 ] || fail "'$*' did not end within $limit s"
}

# expect CODE COMMAND...
expect() {
    wanted=$1
    shift
    run "$@"
    [ "$code" -eq "$wanted" ] || fail "'$*' ended with $code, not $wanted"
}

# says FILE TEXT: $dir/FILE holds TEXT, word by word
says() {
    grep -qF -- "$2" "$dir/$1" || fail "'$1' does not say: $2"
}

says_not() {
    ! grep -qF -- "$2" "$dir/$1" || fail "'$1' says: $2"
}

# refuses CODE TEXT COMMAND...: exactly one message, and this one
refuses() {
    wanted=$1 text=$2
    shift 2
    expect "$wanted" "$@"
    says err "tequio: $text"
    [ "$(grep -c '^tequio: ' "$dir/err")" -eq 1 ] || fail "more than one message"
}

# json FILE KEY: the value of a top-level or nested key that stands in FILE once
json() {
    sed -n "s/^ *\"$2\": *\"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" "$1" | head -n 1
}

# agrees (MODEL.onnx LINES)...: ONNX Runtime says of each file what predict --with-inputs said
agrees() {
    run python3 "$SOURCE_DIR/tests/tools/onnx_agrees.py" "$@"
    [ "$code" -eq 77 ] || [ "$code" -eq 0 ] || fail "ONNX Runtime does not agree"
    cat "$dir/out"
    [ "$code" -eq 0 ] || echo "no Python package onnxruntime here: that it agrees is left out"
}

# job_agrees JOB DATA: likewise of a job's model.onnx
job_agrees() {
    expect 0 "$TEQUIO" predict "$1" --data "$2" --limit 16 --with-inputs -o "$dir/lines"
    agrees "$1/model.onnx" "$dir/lines"
}

# weights_of SHAPE...: trains $dir/config.jsonnet from scratch and sets $sha
weights_of() {
    expect 0 "$TEQUIO" train "$dir/config.jsonnet" -s "$dir/job" --force --progress none "$@"
    sha=$(json "$dir/job/summary.json" params_sha256)
    [ "${#sha}" -eq 64 ] || fail "no params_sha256 in summary.json"
}

# weights_after_a_kill STEP SHAPE...: likewise, but one worker and one server begin, are killed once
# the checkpoint of that step (nine digits) is there, and others go on from it
weights_after_a_kill() {
    step=$1
    shift
    rm -rf "$dir/job"
    start "$TEQUIO" train "$dir/config.jsonnet" -s "$dir/job" --workers 1 --ps 1 \
        --fault delay=worker.0:20ms # or it may end before we look
    looks=1000
    until [ -e "$dir/job/checkpoints/step-$step/manifest.json" ]; do
        kill -0 "$pid" 2>/dev/null && [ "$looks" -gt 0 ] || fail "no checkpoint of step $step"
        looks=$((looks - 1))
        sleep 0.02
    done
    kill -KILL "$pid"
    ends 137
    expect 0 "$TEQUIO" train "$dir/config.jsonnet" -s "$dir/job" --recover "$@"
    sha=$(json "$dir/job/summary.json" params_sha256)
}

# no_task_left: no process works for a job in $dir any more
no_task_left() {
    for words in $(grep -lzF -- "$dir/" /proc/[0-9]*/cmdline 2>/dev/null); do
        if tr '\0' ' ' 2>/dev/null <"$words" | grep -qF -- "--job-dir $dir/"; then
            fail "left behind: $(tr '\0' ' ' <"$words")"
        fi
    done
}

# make_data [EXAMPLES]: data and a configuration that learns it in seconds, $dir/config.jsonnet
make_data() {
    "$MAKE_IDX" "$dir/train" "${1:-256}"
    "$MAKE_IDX" "$dir/validation" 64 8
    write_config "$dir/train/images-idx3-ubyte" "$dir/validation/images-idx3-ubyte"
}

# take_fashion_mnist EXAMPLES: the same of its first ones. Ends the test with 77 where it is not there.
take_fashion_mnist() {
    images=/usr/share/datasets/fashion-mnist
    [ -d $images ] || { echo "Fashion-MNIST is not here (Debian: dataset-fashion-mnist)" && exit 77; }
    write_config $images/train-images-idx3-ubyte.gz $images/t10k-images-idx3-ubyte.gz "classes: 10, limit: $1"
}

# write_config TRAIN VALIDATION [FIELDS]: $dir/config.jsonnet, whose reader has those fields too
write_config() {
    cat >"$dir/config.jsonnet" <<END
{
    dataset_reader: { type: "idx", ${3:-} },
    train_data_path: "$1",
    validation_data_path: "$2",
    model: { type: "mlp", hidden: [16] },
    data_loader: { batch_size: 16 },
    trainer: {
        num_epochs: 2,
        batches_per_step: 4,
        optimizer: { type: "adam", lr: 0.01 },
    },
}
END
}

# start COMMAND...: in the background, as $pid; ends with the test at the latest
start() {
    : >"$dir/err" # now, not when the process comes to it: nobody may await an older one's words
    "$@" >"$dir/out" 2>"$dir/err" &
    pid=$!
    trap 'kill -KILL $pid 2>/dev/null || :; rm -rf "$dir"' EXIT
}

# await TEXT: until $dir/err of what was started says it
await() {
    looks=$((limit * 10))
    until grep -qF -- "$1" "$dir/err"; do
        kill -0 "$pid" 2>/dev/null || fail "it ended before it said: $1"
        looks=$((looks - 1))
        [ "$looks" -gt 0 ] || fail "it did not say within $limit s: $1"
        sleep 0.1
    done
}

# ends CODE: what was started ends with that
ends() {
    code=0
    wait "$pid" || code=$?
    [ "$code" -eq "$1" ] || fail "it ended with $code, not $1"
}
