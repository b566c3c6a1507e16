#!/usr/bin/env python3
"""What `tequio evaluate --per-class --errors N --json` is to say, by the definitions, of what `tequio predict` said.

    details_reference.py KIND PREDICTIONS DATA EVALUATION

KIND is classes, numbers or labels (several of yes or no). PREDICTIONS has a line of JSON an example, DATA is the
table (CSV) or the records (lines of JSON) that were predicted.
"""

import csv
import json
import math
import sys


def near(a, b):
    return abs(a - b) <= 1e-5 * max(1.0, abs(b))


def ratio(part, whole):
    return part / whole if whole else 0.0


def check_classes(told, pairs, classes, names):
    """`pairs`: of label and prediction, of all classes."""
    assert len(told) == len(classes)
    for one, c in zip(told, classes):
        same = sum(label == c == predicted for label, predicted in pairs)
        support, found = sum(label == c for label, _ in pairs), sum(predicted == c for _, predicted in pairs)
        precision, recall = ratio(same, found), ratio(same, support)
        assert one["support"] == support and one.get("word") == names.get(c)
        assert near(one["precision"], precision) and near(one["recall"], recall)
        assert near(one["f1"], ratio(2 * precision * recall, precision + recall))


def cross_entropy(line, label):
    return -math.log(line["probs"][label])


def log_loss(odds, yes):
    return math.log1p(math.exp(-abs(odds))) + max(odds, 0) - odds * yes


kind, predictions, data, evaluation = sys.argv[1:]
lines = [json.loads(line) for line in open(predictions)]
told = json.load(open(evaluation))
rows, at = [], []
with open(data) as f:
    if data.endswith(".csv"):
        reader = csv.DictReader(f)
        for row in reader:
            rows.append(row)
            at.append(reader.line_num)
    else:
        rows = [json.loads(line) for line in f]
        at = list(range(1, len(rows) + 1))
assert len(rows) == len(lines) == told["examples"]

if kind == "classes":
    words = [one["word"] for one in told["classes"]]
    pairs = [(row["color"], line["label"]) for row, line in zip(rows, lines)]
    check_classes(told["classes"], pairs, words, {w: w for w in words})
    losses = [cross_entropy(line, words.index(row["color"])) for row, line in zip(rows, lines)]
elif kind == "labels":
    pairs = [(i if yes else None, i if said else None) for row, line in zip(rows, lines)
             for i, (yes, said) in enumerate(zip(row["label"], line["label"]))]
    check_classes(told["classes"], pairs, list(range(len(rows[0]["label"]))), {})
    losses = [sum(log_loss(z, y) for z, y in zip(line["logits"], row["label"])) / len(row["label"])
              for row, line in zip(rows, lines)]
else:
    losses = [(line["prediction"][0] - float(row["y"])) ** 2 for row, line in zip(rows, lines)]

def softmax(row, b):
    powers = [math.exp(b * (x - max(row))) for x in row]
    return [p / sum(powers) for p in powers]


def calibration_error(probs, labels):
    bins = {}
    for p, label in zip(probs, labels):
        bins.setdefault(math.ceil(max(p) * 15), []).append((max(p), p.index(max(p)) == label))
    return sum(abs(sum(c for c, _ in b) - sum(right for _, right in b)) for b in bins.values()) / len(labels)


if "temperature" in told:
    t = told["temperature"]
    b = 1 / t["temperature"]
    if kind == "classes":
        logits, labels = [line["logits"] for line in lines], [words.index(row["color"]) for row in rows]
    else:
        logits = [[0, z] for line in lines for z in line["logits"]]
        labels = [y for row in rows for y in row["label"]]
    slope = sum(sum(p * x for p, x in zip(softmax(z, b), z)) - z[y] for z, y in zip(logits, labels)) / len(labels)
    assert abs(slope) < 1e-6, slope
    for end, factor in (("before", 1), ("after", b)):
        probs = [softmax(z, factor) for z in logits]
        assert near(t["loss_" + end], -sum(math.log(p[y]) for p, y in zip(probs, labels)) / len(labels))
        assert near(t["expected_calibration_error_" + end], calibration_error(probs, labels))

worst = sorted(losses, reverse=True)[: len(told["errors"])]
assert told["errors"] and near(sum(losses) / len(losses), told["loss"])
for one, loss in zip(told["errors"], worst):
    i = one["example"]
    assert near(one["loss"], loss) and near(losses[i], loss), (one, loss, losses[i])
    assert f"'{data}': line {at[i]}" == one["place"].split(" (")[0], (one, at[i])
    if kind == "classes":
        assert (one["label"], one["predicted"]) == (rows[i]["color"], lines[i]["label"])
    elif kind == "numbers":
        assert near(one["label"], float(rows[i]["y"])) and near(one["predicted"], lines[i]["prediction"][0])
