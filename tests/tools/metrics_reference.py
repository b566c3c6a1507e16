#!/usr/bin/env python3
"""Metrics by their definitions, in plain Python, of what `tequio predict` said; compared with what
`tequio evaluate` printed.

    metrics_reference.py KIND PREDICTIONS LABELS EVALUATION

KIND is classes, two, numbers or rows. PREDICTIONS has a line of JSON an example, LABELS one line an example: a
class from 0, a number, or a row of words. Every figure of EVALUATION that KIND knows is compared, and at least
one must be there.
"""

import json
import math
import struct
import sys
from collections import Counter


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def mean(values):
    values = list(values)
    return math.fsum(values) / len(values)


def ratio(part, whole):
    return part / whole if whole else 0.0


def prf(same, predicted, labels):
    p, r = ratio(same, predicted), ratio(same, labels)
    return p, r, ratio(2 * p * r, p + r)


def argmax(row):
    return row.index(max(row))


def log_softmax(row):
    top = max(row)
    norm = math.log(math.fsum(math.exp(x - top) for x in row))
    return [x - top - norm for x in row]


def classes(lines, labels):
    logits, labels = [line["logits"] for line in lines], [int(label) for label in labels]
    n, predicted = len(logits[0]), [argmax(row) for row in logits]
    matrix = [[sum(t == a and p == b for t, p in zip(labels, predicted)) for b in range(n)] for a in range(n)]
    each = [prf(matrix[c][c], sum(row[c] for row in matrix), sum(matrix[c])) for c in range(n)]
    logs = [log_softmax(row) for row in logits]
    return {
        "categorical_accuracy": mean(t == p for t, p in zip(labels, predicted)),
        "top2": mean(sum(x > row[t] for x in row) < 2 for t, row in zip(labels, logits)),
        "f1_precision": each[1][0], "f1_recall": each[1][1], "f1": each[1][2],
        "fbeta_precision": mean(s[0] for s in each), "fbeta_recall": mean(s[1] for s in each),
        "fbeta": mean(s[2] for s in each),
        "each_precision": [s[0] for s in each], "each_recall": [s[1] for s in each], "each": [s[2] for s in each],
        "confusion_matrix": matrix,
        "entropy": mean(-math.fsum(math.exp(x) * x for x in row) for row in logs),
        "perplexity": math.exp(-mean(row[t] for t, row in zip(labels, logs))),
    }


def two(lines, labels):
    labels = [int(label) for label in labels]
    scores = [f32(line["logits"][1] - line["logits"][0]) for line in lines]
    yes = [s for s, t in zip(scores, labels) if t]
    no = [s for s, t in zip(scores, labels) if not t]
    precision = {s: ratio(sum(y >= s for y in yes), sum(x >= s for x in scores)) for s in set(yes)}
    chances = [1 / (1 + math.exp(line["logits"][0] - line["logits"][1])) for line in lines]
    curve = [[sum(t == of and (100 * c >= k) == found for c, t in zip(chances, labels)) for k in range(101)]
             for of, found in ((1, True), (0, True), (0, False), (1, False))]
    return {"pr_curve": curve, "auc": sum((y > x) + 0.5 * (y == x) for y in yes for x in no) / (len(yes) * len(no)),
            "average_precision": mean(precision[s] for s in yes)}


def ranks(values):
    return [sum(y < x for y in values) + (sum(y == x for y in values) + 1) / 2 for x in values]


def covariance(x, y):
    a, b = mean(x), mean(y)
    return math.fsum((p - a) * (q - b) for p, q in zip(x, y)) / (len(x) - 1)


def correlation(x, y):
    return covariance(x, y) / math.sqrt(covariance(x, x) * covariance(y, y))


def numbers(lines, labels):
    x, y = [line["prediction"] for line in lines], [f32(float(label)) for label in labels]
    x = [f32(v[0] if isinstance(v, list) else v) for v in x]
    return {"covariance": covariance(x, y), "pearson_correlation": correlation(x, y),
            "spearman_correlation": correlation(ranks(x), ranks(y)),
            "mean_absolute_error": mean(abs(p - q) for p, q in zip(x, y)),
            "mean_squared_error": mean((p - q) ** 2 for p, q in zip(x, y))}


def ngrams(row, n):
    return Counter(tuple(row[i:i + n]) for i in range(len(row) - n + 1))


def spans(row):
    """Of tags that are B, I and O alone."""
    row = row + ["O"]
    starts = [i for i, tag in enumerate(row) if tag == "B" or (tag == "I" and (i == 0 or row[i - 1] == "O"))]
    return {(s, next(i for i in range(s + 1, len(row)) if row[i] != "I")) for s in starts}


def common(a, b):
    before = [0] * (len(b) + 1)
    for x in a:
        now = [0]
        for k, y in enumerate(b):
            now.append(before[k] + 1 if x == y else max(before[k + 1], now[k]))
        before = now
    return before[-1]


def rows(lines, labels):
    predicted, labels = [line["label"] for line in lines], [list(label) for label in labels]
    pairs = list(zip(predicted, labels))
    figures = {"sequence_accuracy": mean(p == t for p, t in pairs), "boolean_accuracy": mean(p == t for p, t in pairs)}
    logs = 0.0
    for n in range(1, 5):
        counts = [(ngrams(p, n), ngrams(t, n)) for p, t in pairs]
        same = [sum((a & b).values()) for a, b in counts]
        total = sum(len(p) - n + 1 for p in predicted)
        logs += 0.25 * (math.log(sum(same) + 1e-13) - math.log(total + 1e-13))
        scores = [prf(s, sum(a.values()), sum(b.values())) for s, (a, b) in zip(same, counts)]
        for i, name in enumerate(("precision", "recall", "f1")):
            figures[f"rouge_{n}_{name}"] = mean(s[i] for s in scores)
    figures["bleu"] = math.exp(logs)
    figures["rouge_l_f1"] = mean(prf(common(p, t), len(p), len(t))[2] for p, t in pairs)
    found = [(spans(p), spans(t)) for p, t in pairs]
    counts = [sum(len(x) for x in side) for side in ([p & t for p, t in found], [p for p, _ in found],
                                                     [t for _, t in found])]
    figures.update(zip(("span_f1_precision", "span_f1_recall", "span_f1"), prf(*counts)))
    return figures


def same(a, b):
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    return abs(a - b) <= 1e-9 * max(1.0, abs(b))


def main(kind, predictions, labels, evaluation):
    with open(predictions) as p, open(labels) as t, open(evaluation) as e:
        want = globals()[kind]([json.loads(line) for line in p], t.read().splitlines())
        have = json.load(e)
    wrong = [f"{k}: {have[k]}, not {want[k]}" for k in want if k in have and not same(have[k], want[k])]
    compared = [k for k in want if k in have]
    print("\n".join(wrong) if wrong else "equal: " + " ".join(compared))
    return 1 if wrong or not compared else 0


sys.exit(main(*sys.argv[1:]))
