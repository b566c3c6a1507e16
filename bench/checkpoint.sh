#!/bin/bash
# What a checkpoint costs the training: a model of 25 million parameters (100 MB) with Adam (its
# shard has 300 MB), the times of the ten steps around each cut against the median step.
#
#   bench/checkpoint.sh [ROUNDS [CUTS [THREADS]]]     2 rounds of 4 cuts, 1 thread
#
# TEQUIO=path of the program, build/release/tequio; TOOLS=where make_idx is, the tests of that build;
# SHAPE="--workers 1 --ps 1" measures a cluster in place of one process. Prints JSON. A step's time is
# wall_s of metrics.jsonl less that of the step before; the ten steps are the one before the cut's
# version, the one that ends there, and the eight after it. Each is compared with the median of the
# steps near its cut, 24 on either side but for these ten: the machine's speed changes from minute to
# minute. excess is the sum of the ten places' medians over all cuts but each round's first; wanted is
# at most 5 ms + 1 % of a step. ten_others is the same half way between two cuts: so exact are the figures.
set -euo pipefail
export LC_ALL=C

rounds=${1:-2} cuts=${2:-4} threads=${3:-1}
every=48
. "$(dirname "$0")/training.sh"

# one epoch: what comes at the end of one stays out of the figures
prepare $((every * (cuts + 1))) $((every * cuts + every / 2)) \
    "save_checkpoints_steps: $every, keep_checkpoint_max: 1,"

for ((round = 0; round < rounds; round++)); do
    measure "$tequio" | sed "s/^/$round /"
done | awk -v every="$every" -v cuts="$cuts" -v rounds="$rounds" -v threads="$threads" \
    -f "$here/bench/stats.awk" -f <(cat <<'AWK'
    $2 > 1 { took[$1, $2] = 1000 * ($3 - wall) }
    { wall = $3; last = $2 }
    # the median of the steps near `at`, less those of the ten that begin at `from`
    function near(r, at, from,    s) {
        forget("near")
        for (s = at - every / 2; s < at + every / 2; s++)
            if ((r, s) in took && (s < from || s >= from + 10))
                keep("near", took[r, s])
        return median("near")
    }
    function ten(name, r, at, from,    i, usual, sum) {
        usual = near(r, at, from)
        keep("step", usual)
        for (i = 0; i < 10; i++) {
            sum += took[r, from + i] - usual
            keep(name i, took[r, from + i] - usual)
        }
        keep(name, sum)
    }
    function places(name,    i, text) {
        total = 0
        for (i = 0; i < 10; i++) {
            text = text sprintf("%s%.1f", i ? ", " : "", median(name i))
            total += median(name i)
        }
        return "[" text "]"
    }
    END {
        for (r = 0; r < rounds; r++)
            for (c = 1; c <= cuts; c++) {
                ten(c == 1 ? "first" : "cut", r, c * every, c * every - 1)
                ten("other", r, c * every - every / 2, c * every - every / 2 - 5)
            }
        step = median("step")
        printf "{\n  \"cuts\": %d,\n  \"threads\": %d,\n  \"step_ms\": %.1f,\n", rounds * (cuts - 1), threads, step
        printf "  \"wanted_ms\": %.1f,\n", 5 + step / 100
        text = places("cut")
        printf "  \"excess_ms\": %.1f,\n  \"by_step_ms\": %s,\n", total, text
        printf "  \"median_of_sums_ms\": %.1f,\n", median("cut")
        printf "  \"first_cuts_ms\": %s,\n", list("first", 1)
        text = places("other")
        printf "  \"ten_others_excess_ms\": %.1f,\n  \"ten_others_by_step_ms\": %s,\n", total, text
        printf "  \"ten_others_median_of_sums_ms\": %.1f\n}\n", median("other")
    }
AWK
)
