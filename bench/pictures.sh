#!/bin/bash
# How fast pictures are read: the reader of image_folder against torchvision's ImageFolder and PyTorch's DataLoader, over
# the same JPEGs, by as many threads as it has workers. Sides take turns, because absolute times drift with the machine
# and ratios hold.
#
#   bench/pictures.sh
#
#   PYTHON   python3   one that has torch, torchvision, numpy and pillow
#   THREADS  "1 2"     ROUNDS 5    PICTURES 512    BATCH 32
#   TEQUIO   path of the program, build/release/tequio
#
# Prints a line a round, and the medians of the ratios. How busy the machine is stands in front: what else waits for its
# processors.
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "$0")/.." && pwd)
tequio=${TEQUIO:-$here/build/release/tequio}
python=${PYTHON:-python3}
threads=${THREADS:-1 2} rounds=${ROUNDS:-5} pictures=${PICTURES:-512} batch=${BATCH:-32}
dir=$(mktemp -d /tmp/tequio-pictures-XXXXXX)
trap 'rm -rf "$dir"' EXIT

mkdir "$dir/data"
"$python" "$here/bench/peer/torch_images.py" "$dir/data" --make "$pictures"
cat >"$dir/config.jsonnet" <<END
{
  dataset_reader: {
    type: 'image_folder', size: 224,
    mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225],
    augment: { random_resized_crop: {}, flip: true },
  },
  train_data_path: '$dir/data',
  model: { type: 'mlp', hidden: [8] }, // bench data tries it too
  data_loader: { batch_size: $batch },
}
END

ours() { # ours THREADS
    "$tequio" bench data "$dir/config.jsonnet" --json --rounds 1 --threads "$1" \
        --samples $((pictures / batch / $1)) 2>"$dir/log" |
        sed -n 's/^ *"examples_per_s": \([0-9.]*\),*$/\1/p' | head -1
}

theirs() { # theirs WORKERS
    "$python" "$here/bench/peer/torch_images.py" "$dir/data" --workers "$1" --batch "$batch" |
        sed -n 's/.*"examples_per_s": \([0-9.]*\).*/\1/p'
}

echo "$(nproc) processors; load $(cut -d' ' -f1-3 /proc/loadavg); $(du -sh "$dir/data" | cut -f1) in $pictures pictures"
printf '%7s %7s %10s %10s %7s\n' threads round tequio torch ratio
for n in $threads; do
    : >"$dir/ratios"
    for round in $(seq "$rounds"); do
        a=$(ours "$n") b=$(theirs "$n")
        awk -v n="$n" -v r="$round" -v a="$a" -v b="$b" -v out="$dir/ratios" 'BEGIN {
            printf "%7d %7d %10.0f %10.0f %7.2f\n", n, r, a, b, a / b; print a / b >out }'
        cat "$dir/ratios" >>"$dir/all"
    done
    tail -n "$rounds" "$dir/all" | sort -n |
        awk -v n="$n" '{ v[NR] = $1 } END { printf "%7d  median of the ratios %.2f (%.2f to %.2f)\n", n,
            v[int((NR + 1) / 2)], v[1], v[NR] }'
done
echo "load $(cut -d' ' -f1-3 /proc/loadavg)"
