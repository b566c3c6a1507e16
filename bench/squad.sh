#!/bin/bash
# How many of SQuAD's examples are trained on in a second, by examples/squad/train.jsonnet: batches of about equally
# long ones, against the same padded to 384 tokens, and, where PYTHON has torch and transformers, beside PyTorch, which
# takes the same batches, padded to the longest of each. Sides take turns; each round has other batches.
#
#   python3 examples/squad/fetch.py; bench/squad.sh
#
#   PYTHON   a Python with torch, transformers and tokenizers. Unset: no peer
#   ROUNDS   3    STEPS 6 (of 32 examples; the first is not counted)    THREADS 2
#   TEQUIO   path of the program, build/release/tequio
#
# Prints examples/s of each side and round, and medians of the rounds' ratios.
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "$0")/.." && pwd)
tequio=${TEQUIO:-$here/build/release/tequio}
threads=${THREADS:-2} steps=${STEPS:-6} rounds=${ROUNDS:-3}
dir=$(mktemp -d -p "${TMPDIR:-/tmp}")
trap 'rm -rf "$dir"' EXIT
cd "$here"

# ours SEED SAMPLER: examples/s of the steps behind the first
ours() {
    cat >"$dir/config.jsonnet" <<CONFIG
(import "$here/examples/squad/train.jsonnet") + {
    random_seed: $1,
    validation_data_path: null,
    data_loader+: { batch_sampler: $2 },
    trainer+: {
        num_epochs: 1, max_steps: $steps, threads: $threads, save_summary_steps: 1, save_checkpoints_secs: null,
        validation_metric: "-loss",
    },
    distributed: { lanes: 1 },
}
CONFIG
    "$tequio" train "$dir/config.jsonnet" -s "$dir/job" -f --progress none >"$dir/log" 2>&1 ||
        { tail "$dir/log" >&2 && exit 1; }
    sed -n 's/.*"examples":\([0-9]*\).*"wall_s":\([0-9.e-]*\).*/\1 \2/p' "$dir/job/metrics.jsonl" |
        awk 'NR == 1 { n = $1; t = $2 } END { printf "%.2f\n", ($1 - n) / ($2 - t) }'
}

peer() {
    OMP_NUM_THREADS=$threads "$PYTHON" tests/golden/make_squad_training.py train "$dir/begin" \
        "$here/examples/squad/train.json" "$1" "$dir/learned" "steps=$steps" 2>"$dir/log" |
        sed -n 's/.*"examples_per_s": \([0-9.]*\).*/\1/p'
}

[ -z "${PYTHON:-}" ] ||
    "$PYTHON" tests/golden/make_squad_training.py begin examples/squad/minilm 1 "$dir/begin" >"$dir/log" 2>&1
for round in $(seq "$rounds"); do
    printf 'bucket %s\n' "$(ours "$round" '{ type: "bucket" }')"
    printf 'padded %s\n' "$(ours "$round" null)"
    [ -z "${PYTHON:-}" ] || printf 'peer %s\n' "$(peer "$round")"
done | tee /dev/stderr | awk -f "$here/bench/stats.awk" -f <(cat <<'AWK'
    { keep($1, $2); rate[$1] = $2 }
    $1 == "padded" { keep("bucket over padded", rate["bucket"] / $2) }
    $1 == "peer" { keep("bucket over peer", rate["bucket"] / $2) }
    END {
        for (name in n)
            printf "%s: median %.2f of %s\n", name, median(name), list(name, 2)
    }
AWK
    ) -
