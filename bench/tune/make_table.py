#!/usr/bin/env python3
"""Makes tests/unit/tune/data/cnn.csv: 500 trainings of a small network on little of Fashion-MNIST, with every
combination of four hyper-parameters, and the best validation loss of each; nothing where the training failed.
Samplers are compared on it by tests/unit/tune/regret_test.c and bench/tune/optuna_regret.py.

    bench/tune/make_table.py build/release/tequio TABLE.csv

Rows that are in the file already are not made again, so it may be stopped at any time. One CPU is enough.
"""
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

CONFIG = """
local dir = '/usr/share/datasets/fashion-mnist/';
{
  dataset_reader: { type: 'idx', mean: 0.2860, std: 0.3530, classes: 10, limit: 2000 },
  validation_dataset_reader: { type: 'idx', mean: 0.2860, std: 0.3530, classes: 10, limit: 1000 },
  train_data_path: dir + 'train-images-idx3-ubyte.gz',
  validation_data_path: dir + 't10k-images-idx3-ubyte.gz',
  validation_data_loader: { batch_size: 250 },
  model: { type: 'cnn', channels: [8, 16], hidden: [32] },
  data_loader: { batch_size: 64 },
  trainer: { num_epochs: 4, threads: 1, batches_per_step: 1, optimizer: { type: 'adam', lr: 0.001 } },
  distributed: { lanes: 1 },
}
"""
SPACE = {
    "trainer.optimizer.lr": [1e-4, 2.8e-4, 7.7e-4, 2.2e-3, 6e-3, 0.017, 0.046, 0.13, 0.36, 1],
    "data_loader.batch_size": [8, 16, 32, 64, 128],
    "model.dropout": [0, 0.1, 0.2, 0.35, 0.5],
    "trainer.optimizer.type": ["adam", "sgd"],
}


def train(tequio, folder, values):
    job = folder / "job"
    command = [tequio, "train", folder / "config.jsonnet", "-s", job, "--force", "--progress", "none"]
    with open(folder / "log", "w") as log:
        code = subprocess.run(command + ["-o", json.dumps(values)], stdout=log, stderr=log).returncode
    if code == 1:  # a number that is not finite
        return ""
    if code:
        sys.exit((folder / "log").read_text())
    return json.loads((job / "metrics.json").read_text())["best_validation_loss"]


def main():
    tequio, path = sys.argv[1], pathlib.Path(sys.argv[2])
    head = ",".join(SPACE) + ",loss"
    lines = path.read_text().splitlines() if path.exists() else []
    if lines and lines[0] != head:
        sys.exit(f"{path} begins otherwise than with {head}")
    there = {line.rpartition(",")[0] for line in lines[1:]}
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as name, open(path, "a") as table:
        folder = pathlib.Path(name)
        (folder / "config.jsonnet").write_text(CONFIG)
        if not lines:
            table.write(head + "\n")
        for point in itertools.product(*SPACE.values()):
            row = ",".join(map(str, point))
            if row not in there:
                table.write(f"{row},{train(tequio, folder, dict(zip(SPACE, point)))}\n")
                table.flush()


main()
