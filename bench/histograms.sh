#!/bin/bash
# What histograms of weights and gradients cost the training: a model of 25 million parameters with
# Adam, the four steps around each order against the median step.
#
#   bench/histograms.sh [ROUNDS [ORDERS [THREADS]]]     2 rounds of 4 orders, 1 thread
#
# TEQUIO=path of the program, build/release/tequio; OTHER=another one, which takes turns with it;
# TOOLS=where make_idx is, the tests of that build; SHAPE="--workers 1 --ps 1" measures a cluster in
# place of one process. Prints a line of JSON a program. A step's time is wall_s of metrics.jsonl less
# that of the step before; the four are the one before the version at which histograms are gathered,
# the one that ends there, and the two after it.
set -euo pipefail
export LC_ALL=C

rounds=${1:-2} orders=${2:-4} threads=${3:-1}
every=16
. "$(dirname "$0")/training.sh"

prepare $((every * (orders + 1))) $((every * orders + every / 2)) "save_histogram_steps: $every,"

for ((round = 0; round < rounds; round++)); do
    for program in "$tequio" ${OTHER:+"$OTHER"}; do
        measure "$program" | sed "s|^|$round |" >>"$dir/$(echo "$program" | tr / _).steps"
    done
done
for program in "$tequio" ${OTHER:+"$OTHER"}; do
    awk -v every="$every" -v orders="$orders" -v program="$program" -f "$here/bench/stats.awk" \
        -f <(cat <<'AWK'
    $2 > 1 { took[$1, $2] = 1000 * ($3 - wall) }
    { wall = $3; rounds = $1 + 1; last = $2 }
    function four(r, from) {
        return took[r, from] + took[r, from + 1] + took[r, from + 2] + took[r, from + 3]
    }
    END {
        for (r = 0; r < rounds; r++)
            for (s = 4; s < last; s++)
                if ((s + 1) % every >= 4)
                    keep("step", took[r, s])
        for (r = 0; r < rounds; r++)
            for (o = 1; o <= orders; o++) {
                keep("order", four(r, o * every - 1) - 4 * median("step"))
                keep("quiet", four(r, o * every - 7) - 4 * median("step"))
            }
        printf "{\"program\": \"%s\", \"step_ms\": %.1f, ", program, median("step")
        printf "\"excess_ms\": %.1f, \"orders_ms\": %s, ", median("order"), list("order", 1)
        printf "\"four_others_ms\": %.1f, \"others_ms\": %s}\n", median("quiet"), list("quiet", 1)
    }
AWK
        ) "$dir/$(echo "$program" | tr / _).steps"
done
