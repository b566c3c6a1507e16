#!/bin/bash
# What a checkpoint costs the training: a model of 25 million parameters (100 MB) with Adam (its
# shard has 300 MB), the times of the ten steps around each cut against the median step.
#
#   bench/checkpoint.sh [ROUNDS [CUTS [THREADS]]]     2 rounds of 4 cuts, 1 thread
#
# TEQUIO=path of the program, build/release/tequio; TOOLS=where make_idx is, the tests of that build;
# SHAPE="--workers 1 --ps 1" measures a cluster in place of one process. Prints JSON. A step's time is
# wall_s of metrics.jsonl less that of the step before; the ten steps are the one before the cut's
# version, the one that ends there, and the eight after it; the median is over all others. Wanted is
# an excess of at most 5 ms + 1 % of a step; ten_others is that of ten steps far from any cut, which
# says how exact the figures can be.
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
    function ten(r, from,    s, sum) {
        for (s = from; s < from + 10; s++)
            sum += took[r, s]
        return sum
    }
    END {
        for (r = 0; r < rounds; r++) {
            for (s = 4; s <= last - every / 2; s++)
                if ((s + 1) % every >= 10 || s + 1 < every)
                    keep("step", took[r, s])
        }
        step = median("step")
        for (r = 0; r < rounds; r++)
            for (c = 1; c <= cuts; c++) {
                keep(c == 1 ? "first" : "later", ten(r, c * every - 1) - 10 * step)
                keep("quiet", ten(r, c * every - 12) - 10 * step)
            }
        printf "{\n  \"rounds\": %d,\n  \"threads\": %d,\n  \"step_ms\": %.1f,\n", rounds, threads, step
        printf "  \"wanted_ms\": %.1f,\n", 5 + step / 100
        printf "  \"first_cut_excess_ms\": %s,\n", list("first", 1)
        printf "  \"later_cut_excess_ms\": %.1f,\n", median("later")
        printf "  \"later_cuts_ms\": %s,\n", list("later", 1)
        printf "  \"ten_others_excess_ms\": %.1f,\n", median("quiet")
        printf "  \"ten_others_ms\": %s\n}\n", list("quiet", 1)
    }
AWK
)
