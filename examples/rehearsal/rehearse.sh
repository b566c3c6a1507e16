#!/bin/sh
# Failures on purpose: one small job undisturbed, and the same job while a worker, a server and the
# master are killed, connections are slow and messages get lost. The weights are the same, bit by
# bit.
#
#   examples/rehearsal/rehearse.sh [CONFIG [DIR]]
set -eu
config=${1:-examples/fashion-mnist/mlp.jsonnet}
runs=${2:-runs/rehearsal}
tequio=${TEQUIO:-tequio}
short='{"trainer.num_epochs": 2, "trainer.save_checkpoints_steps": 20, "dataset_reader.limit": 6400}'

"$tequio" train "$config" -s "$runs/undisturbed" --force -o "$short"

# faults CLAUSES: the same job on five processes, with these faults
faults() {
    "$tequio" train "$config" -s "$runs/disturbed" --force -o "$short" --workers 2 --ps 2 --fault "$1"
    for run in undisturbed disturbed; do
        grep params_sha256 "$runs/$run/summary.json"
    done | uniq | wc -l | grep -qx 1 || {
        echo "other weights after: $1" >&2
        exit 1
    }
    echo "the same weights after: $1"
}

faults 'kill=worker.1@push:10'
faults 'kill=ps.0@pull:20'
faults 'kill=master.0@report:30'
faults 'seed=7,drop=worker.0:5%,delay=ps.1:5ms'
