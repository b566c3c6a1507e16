#!/bin/bash
# How long one training step takes, for every network of `bench step`, in float32 and bfloat16, on 1
# thread and on 2; beside a peer where one is named. Rounds alternate with the peer's, because
# absolute times drift with the machine and ratios hold.
#
#   bench/step.sh [MODEL...]     all of them
#
#   PEER     a command that measures the same: it is called with --model, --threads and --dtype, and
#            its last line is JSON with "step_ms" and "examples_per_s". Unset: no peer
#   ROUNDS   5    STEPS 5    THREADS "1 2"    PRECISIONS "f32 bf16"
#   TEQUIO   path of the program, build/release/tequio
#
# Prints a table; the JSON of each row goes to the file OUT, if that is set.
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "$0")/.." && pwd)
tequio=${TEQUIO:-$here/build/release/tequio}
out=${OUT:-/dev/null}
models=("$@")
[ $# -gt 0 ] ||
    models=(mlp cnn resnet18_cifar resnet50 bert_tiny_qa bert_base_qa gpt_char)
: >"$out"

number() { # number JSON KEY: the first of that name, or -
    sed -n "s/^ *\"$2\": \([0-9.e+-]*\),*$/\1/p" <<<"$1" | head -1 | grep . || echo -
}

ratio() { # ratio A B FORMAT
    awk -v a="$1" -v b="$2" -v f="$3" 'BEGIN { if (a > 0 && b > 0) printf f, a / b; else printf "-" }'
}

printf '%-15s %-5s %2s %10s %8s %7s %8s %10s %7s %8s\n' model type T examples/s GFLOP/s of_peak \
    MB peer_ex/s ratio of_its_MB
for model in "${models[@]}"; do
    for precision in ${PRECISIONS:-f32 bf16}; do
        for threads in ${THREADS:-1 2}; do
            peer=()
            [ -z "${PEER:-}" ] ||
                peer=(--peer "$PEER --model $model --threads $threads --dtype $precision")
            json=$("$tequio" bench step --json --model "$model" --precision "$precision" \
                --threads "$threads" --steps "${STEPS:-5}" --rounds "${ROUNDS:-5}" "${peer[@]}")
            echo "$json" >>"$out"
            theirs=$(sed -n '/"peer": {/,/}/p' <<<"$json")
            mb=$(number "$json" peak_mb)
            printf '%-15s %-5s %2s %10.1f %8.0f %7.2f %8.0f %10s %7s %8s\n' "$model" "$precision" \
                "$threads" "$(number "$json" examples_per_s)" "$(number "$json" gflops)" \
                "$(number "$json" of_peak)" "$mb" "$(number "$theirs" examples_per_s)" \
                "$(ratio "$(number "$json" ratio)" 1 %.2f)" \
                "$(ratio "$mb" "$(number "$theirs" peak_mb)" %.2f)"
        done
    done
done
