#!/bin/bash
# How fast real networks train on a GPU: as one process, and through one worker and one parameter server,
# in rounds that alternate, beside a peer. Absolute times drift, ratios hold. `bench devices` adds how idle the
# GPU is, and the rate of large products, which the model's FLOPs, trained alone, are held against (MFU).
#
#   bench/gpu.sh [MODEL...]     gpt2_124m (1024 tokens), resnet50 (224 x 224), bert_base_qa (384 tokens); and
#                               gqa_decoder (1024 tokens, four heads of queries to one of keys) and bert_padded (with
#                               a mask), which no peer has
#
#   PEER     a command that trains the same on the GPU: it is called with --device cuda --compile, --model,
#            --dtype, --batch, --steps and --optimizer, and its last line is JSON with "step_ms".
#            Unset: bench/peer/torch_step.py, if python3 has a PyTorch that sees a GPU; "none": no peer
#   ROUNDS   3    STEPS 20, timed, of each training    PRECISIONS "bf16 tf32 f32"    K 1, batches a step
#   SMALL    networks of toy size, to try the script; without a GPU with DEVICE=-1
#   LIMIT    1200, seconds that a training or a peer may take
#   CONFIGS  a folder: MODEL-PRECISION.jsonnet and its data are written there, and nothing is measured
#   TEQUIO   path of the program, build/release/tequio
#
# All trainings of a row must end with the same weights, alone and served, or it has failed.
#
# Prints a table; a JSON object of each row goes to the file OUT, if that is set. A row that fails is told, and
# the next one is measured; a peer that fails is done without. Needs python3.
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "$0")/.." && pwd)
tequio=${TEQUIO:-$here/build/release/tequio}
steps=${STEPS:-20} k=${K:-1}
limited=(timeout -k 10 "${LIMIT:-1200}")
dir=$(mktemp -d "${TMPDIR:-/tmp}/tequio-gpu-XXXXXX")
trap 'rm -rf "$dir"' EXIT
models=("$@")
[ $# -gt 0 ] || models=(gpt2_124m resnet50 bert_base_qa)
out=${OUT:-/dev/null}
: >"$out"
peer=${PEER:-}
if [ -z "$peer" ] && python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
    peer="python3 $here/bench/peer/torch_step.py"
fi
[ "$peer" != none ] || peer=''

# describe MODEL: sets batch, optimizer, network and, as make_arrays.py and make_decoder.py want them, fields and,
# of a network that is an ONNX file, decoder
describe() {
    local side=224 length words=50257 small=''
    [ -z "${SMALL:-}" ] || { side=32 words=70 small=', width: 32, num_layers: 2, num_heads: 2'; }
    optimizer='{ type: "adamw", lr: 1e-4 }' decoder=''
    case $1 in
    gpt2_124m)
        length=${SMALL:+16} batch=16
        fields="input_ids:I64:${length:-1024}:$words label:I64:${length:-1024}:$words"
        network="{ type: 'transformer_lm', dropout: 0, vocabulary: $words$small }"
        ;;
    bert_base_qa | bert_padded)
        length=${SMALL:+16} batch=32
        fields="input_ids:I64:${length:-384}:28996 label:I64:2:${length:-384}"
        [ "$1" = bert_base_qa ] || fields="attention_mask:I64:${length:-384}:2 $fields"
        network="{ type: 'bert', dropout: 0, vocabulary: 28996, loss: 'span'$small }"
        ;;
    resnet50)
        batch=128
        fields="image:F32:3,$side,$side label:I64::1000"
        network="{ type: 'resnet50'${SMALL:+, width: 8} }"
        optimizer='{ type: "sgd", lr: 0.01, momentum: 0.9 }'
        ;;
    gqa_decoder)
        length=${SMALL:+16} length=${length:-1024} batch=8
        [ -n "$small" ] && decoder="$length $words 4 2 2" || decoder="$length 8192 16 4 4"
        words=$(cut -d ' ' -f 2 <<<"$decoder")
        fields="input_ids:I64:$length:$words label:I64:$length:$words"
        network="{ type: 'onnx', path: '${CONFIGS:-$dir}/$1.onnx' }"
        ;;
    *) echo "gpu.sh: no model '$1'" >&2 && exit 2 ;;
    esac
    [ -z "${SMALL:-}" ] || batch=2
}

# configure PRECISION: $config
configure() {
    local classes=${fields##*:}
    cat >"$config" <<END
{
    dataset_reader: { type: 'arrays', classes: $classes },
    train_data_path: '$data',
    model: $network,
    data_loader: { batch_size: $batch },
    trainer: {
        precision: '$1',
        num_epochs: 1000000,
        max_steps: $((2 * steps)),
        batches_per_step: $k,
        save_summary_steps: 1,
        save_checkpoints_secs: null,
        optimizer: $optimizer,
    },
    distributed: { cuda_devices: [${DEVICE:-0}] },
}
END
}

median() {
    sort -g | awk '{ x[NR] = $1 } END { print NR % 2 ? x[(NR + 1) / 2] : (x[NR / 2] + x[NR / 2 + 1]) / 2 }'
}

# train SHAPE...: the milliseconds of a batch, a median over the later half of the steps
train() {
    "${limited[@]}" "$tequio" train "$config" -s "$dir/job" --force --progress none "$@" \
        >"$dir/log" 2>&1 || { tail -20 "$dir/log" >&2 && exit 1; }
    sed -n 's/^ *"params_sha256": *"\([^"]*\)".*/\1/p' "$dir/job/summary.json" >>"$dir/weights"
    sed -n 's/.*"step": *\([0-9]*\).*"wall_s": *\([0-9.e-]*\).*/\1 \2/p' "$dir/job/metrics.jsonl" |
        awk -v from="$steps" -v k="$k" '$1 > from { print ($2 - last) / k * 1e3 } { last = $2 }' | median
}

# ask_peer MODEL PRECISION: a line for $dir/peer; $dir/said
ask_peer() {
    # shellcheck disable=SC2086  # a command with its arguments
    "${limited[@]}" $peer --device cuda --compile --model "$1" --dtype "$2" --batch "$batch" --steps "$steps" \
        --optimizer "$(sed 's/.*type: "\([a-z]*\)".*/\1/' <<<"$optimizer")" ${SMALL:+--small} >"$dir/said" ||
        { echo "gpu.sh: $1, $2: the peer failed, and is done without" >&2 && return; }
    tail -1 "$dir/said" | sed -n 's/.*"step_ms": *\([0-9.e+-]*\).*/\1/p' >>"$dir/peer"
}

# look_at_device: $dir/report
look_at_device() {
    local name=cuda:${DEVICE:-0}
    [ "${DEVICE:-0}" -ge 0 ] || name=cpu
    "${limited[@]}" "$tequio" bench devices "$config" --device "$name" --samples "$steps" --json >"$dir/report"
}

reported() { # reported KEY: a number, or null
    sed -n "s/^ *\"$1\": *\([^,]*\),*$/\1/p" "$dir/report" | head -1
}

ratio() {
    awk -v a="$1" -v b="$2" 'BEGIN { if (a + 0 > 0 && b + 0 > 0) printf "%.3f", a / b; else printf "null" }'
}

# measure MODEL PRECISION
measure() {
    local same flops large idle alone served theirs=null name=null rate mfu of_peer of_alone
    configure "$2"
    look_at_device
    flops=$(reported flops_per_example) large=$(reported matmul_flops_per_s) idle=$(reported idle)
    rm -f "$dir/differ"
    : >"$dir/alone" && : >"$dir/served" && : >"$dir/peer" && : >"$dir/said" && : >"$dir/weights"
    for _ in $(seq "${ROUNDS:-3}"); do
        train >>"$dir/alone"
        train --workers 1 --ps 1 >>"$dir/served"
        [ -z "$peer" ] || ask_peer "$1" "$2"
    done
    same=$([ "$(sort -u "$dir/weights" | wc -l)" = 1 ] && echo true || echo false)
    [ "$same" = true ] || { echo "gpu.sh: $1, $2: other weights the second time or through a server" >&2 && touch "$dir/differ"; }
    alone=$(median <"$dir/alone") served=$(median <"$dir/served")
    [ ! -s "$dir/peer" ] || theirs=$(median <"$dir/peer")
    name=$(sed -n 's/.*"peer": *\("[^"]*"\).*/\1/p' "$dir/said" | tail -1 | grep . || echo null)
    rate=$(awk -v n="$batch" -v ms="$alone" 'BEGIN { printf "%.1f", n / ms * 1e3 }')
    mfu=$(awk -v a="$flops" -v n="$rate" -v b="$large" 'BEGIN { if (b + 0 > 0) printf "%.4f", a * n / b; else print "null" }')
    of_peer=$(ratio "$theirs" "$alone") of_alone=$(ratio "$alone" "$served")
    printf '%-13s %-5s %6s %12s %10.2f %10.2f %10s %8s %8s %7.7s %7s\n' "$1" "$2" "$batch" \
        "$rate" "$alone" "$served" "$theirs" "$of_peer" "$of_alone" "$idle" "$mfu"
    cat >>"$out" <<END
{"model": "$1", "precision": "$2", "batch": $batch, "batches_per_step": $k, \
"flops_per_example": $flops, "matmul_flops_per_s": $large, "examples_per_s": $rate, "step_ms": $alone, \
"step_ms_through_a_server": $served, "peer": $name, "step_ms_of_peer": $theirs, "of_peer": $of_peer, \
"of_alone": $of_alone, "idle": $idle, "mfu": $mfu, "same_weights": $same}
END
}

[ -n "${CONFIGS:-}" ] || printf '%-13s %-5s %6s %12s %10s %10s %10s %8s %8s %7s %7s\n' model type batch examples/s alone_ms \
    served_ms peer_ms of_peer of_alone idle MFU
failed=0
for model in "${models[@]}"; do
    describe "$model"
    data=${CONFIGS:-$dir}/$model.safetensors
    # shellcheck disable=SC2086  # a word a field
    [ -e "$data" ] || python3 "$here/tests/tools/make_arrays.py" "$data" $((2 * batch)) $fields
    # shellcheck disable=SC2086
    [ -z "$decoder" ] || python3 "$here/tests/tools/make_decoder.py" "${CONFIGS:-$dir}/$model.onnx" $decoder
    for precision in ${PRECISIONS:-bf16 tf32 f32}; do
        config=${CONFIGS:-$dir}/$model-$precision.jsonnet
        [ -z "${CONFIGS:-}" ] || { configure "$precision" && continue; }
        set +e
        (set -e; measure "$model" "$precision")
        [ $? = 0 ] && [ ! -e "$dir/differ" ] || { echo "gpu.sh: $model, $precision: failed" >&2 && failed=1; }
        set -e
    done
done
exit $failed
