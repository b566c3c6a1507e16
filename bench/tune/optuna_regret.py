#!/usr/bin/env python3
"""How far Optuna's TPE is from the least value after 50 trials: the median of so many seeds, as
`unit_tune_regret_test SEEDS` prints it of our samplers, on the same functions and the same table of trainings.

    python3 -m venv /tmp/optuna && /tmp/optuna/bin/pip install optuna
    /tmp/optuna/bin/python bench/tune/optuna_regret.py 30
"""
import csv
import math
import pathlib
import statistics
import sys

import optuna

ALPHA = [1.0, 1.2, 3.0, 3.2]
A = [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
P = [
    [0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886],
    [0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991],
    [0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650],
    [0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381],
]


def branin(x, y):
    a = y - 5.1 / (4 * math.pi**2) * x * x + 5 / math.pi * x - 6
    return a * a + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


def hartmann6(*x):
    inner = [sum(A[i][k] * (x[k] - P[i][k]) ** 2 for k in range(6)) for i in range(4)]
    return -sum(ALPHA[i] * math.exp(-inner[i]) for i in range(4))


def rosenbrock(x, y):
    return 100 * (y - x * x) ** 2 + (1 - x) ** 2


FUNCTIONS = [
    ("branin", branin, 0.397887357729739, [(-5, 10), (0, 15)]),
    ("hartmann6", hartmann6, -3.32236801141551, [(0, 1)] * 6),
    ("rosenbrock", rosenbrock, 0, [(-5, 10)] * 2),
]


def cnn_table():
    """The values of each column, in their order, and the loss of each row; None where the training failed."""
    path = pathlib.Path(__file__).parents[2] / "tests/unit/tune/data/cnn.csv"
    rows = list(csv.reader(path.open()))[1:]
    columns = [list(dict.fromkeys(column)) for column in zip(*rows)][:-1]
    return columns, {tuple(row[:-1]): float(row[-1]) if row[-1] else None for row in rows}


def cnn_regret(seed):
    columns, losses = cnn_table()

    def value(trial):  # numbers by their places, which are even on their scales; kinds as words
        places = [trial.suggest_int(f"x{i}", 0, len(column) - 1) for i, column in enumerate(columns[:-1])]
        kind = trial.suggest_categorical("kind", columns[-1])
        loss = losses[(*(column[place] for column, place in zip(columns, places)), kind)]
        return math.nan if loss is None else loss  # a trial that failed

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    study.optimize(value, n_trials=50)
    return study.best_value - min(loss for loss in losses.values() if loss is not None)


def regret(value, least, bounds, seed):
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    study.optimize(
        lambda t: value(*[t.suggest_float(f"x{i}", low, high) for i, (low, high) in enumerate(bounds)]), n_trials=50
    )
    return study.best_value - least


def main():
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    seeds = range(int(sys.argv[1]))
    for name, value, least, bounds in FUNCTIONS:
        regrets = [regret(value, least, bounds, seed) for seed in seeds]
        print(f"{name:<10}  optuna's TPE  {statistics.median(regrets):.4g}", flush=True)
    regrets = [cnn_regret(seed) for seed in seeds]
    found = sum(regret <= 0 for regret in regrets)
    print(f"{'cnn':<10}  optuna's TPE  {statistics.median(regrets):.4g}  the least by {found}", flush=True)


main()
