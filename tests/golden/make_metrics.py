"""Golden values of metrics: by scikit-learn and SciPy where they have one, and else by the formulas of
AllenNLP's metrics, written out here in plain Python.

    pip install numpy==2.1.3 scipy==1.14.1 scikit-learn==1.5.2
    python make_metrics.py > ../unit/metric/data/metrics.json

Scores are multiples of 1/8, so that there are ties, or any float32.
"""

import json
import math
from collections import Counter

import numpy as np
from scipy import optimize, special, stats
from sklearn import metrics as sk

rng = np.random.default_rng(20)


def plain(x):
    """What JSON can say: NaN is null."""
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, (list, tuple, np.ndarray)):
        return [plain(v) for v in x]
    if isinstance(x, (float, np.floating)):
        return None if math.isnan(x) else float(x)
    return int(x) if isinstance(x, np.integer) else x


def case(name, source, **metrics):
    return {"name": name, **source, "metrics": list(metrics.values())}


def metric(kind, figures, **options):
    return {"kind": kind, "options": options, "figures": figures}


# --- classes ---

def prf(truth, predicted, **how):
    p, r, f, support = sk.precision_recall_fscore_support(truth, predicted, zero_division=0, **how)
    return (p, r, f) if support is None else (p, r, f, support)


def named(name, prf_of):
    return dict(zip((name + "_precision", name + "_recall", name, name + "_support"), prf_of))


def worst(losses, labels, predicted, name="worst", n=7):
    """Rows of number, loss, label and prediction, largest loss first; NaN does not count."""
    order = [i for i in np.argsort(-losses, kind="stable") if not math.isnan(losses[i])][:n]
    return metric("worst_examples", {name: [[int(i), losses[i], float(labels[i]), float(predicted[i])] for i in order]},
                  top_k=n, name=name)


def calibration_error(confidence, right, bins):
    """Guo et al. 2017: bins of equal width, each with its upper end."""
    bin_of = np.ceil(confidence * bins).astype(int) - 1
    return sum(abs(right[bin_of == k].mean() - confidence[bin_of == k].mean()) * np.mean(bin_of == k)
               for k in set(bin_of))


def calibration(logits, labels, bins):
    """Of scores of classes [n, classes]."""
    p = special.softmax(logits.astype(np.float64), axis=-1)
    return calibration_error(p.max(-1), p.argmax(-1) == labels, bins)


def temperature(logits, labels):
    """Of the least mean cross entropy: where its derivative by 1/T is 0."""
    z, rows = logits.astype(np.longdouble), np.arange(len(labels))

    def loss(b):
        x = b * z
        top = x.max(-1, keepdims=True)
        return float((np.log(np.exp(x - top).sum(-1)) + top[:, 0] - x[rows, labels]).mean())

    def slope(b):
        e = np.exp(b * z - (b * z).max(-1, keepdims=True))
        return float(((e * z).sum(-1) / e.sum(-1) - z[rows, labels]).mean())

    if not (slope(0.01) < 0 < slope(100.0)):
        b = math.nan
    else:
        b = optimize.brentq(slope, 0.01, 100.0, xtol=1e-15, rtol=1e-15)
    after = (math.nan, math.nan) if math.isnan(b) else (loss(b), calibration(b * logits.astype(np.float64), labels, 15))
    return metric("temperature", {"fitted": 1 / b, "fitted_loss_before": loss(1.0), "fitted_loss_after": after[0],
                                  "fitted_error_before": calibration(logits, labels, 15),
                                  "fitted_error_after": after[1]}, name="fitted")


def calibrations(logits, labels):
    name = "expected_calibration_error"
    return [metric(name, {name: calibration(logits, labels, 15)}),
            metric(name, {"ece10": calibration(logits, labels, 10)}, name="ece10", bins=10),
            temperature(logits, labels)]


def tie_break(scores, labels):
    top = scores.max(-1, keepdims=True)
    ties = scores == top
    return float(np.mean(ties[np.arange(len(labels)), labels] / ties.sum(-1)))


def softmax_metrics(scores, labels):
    logs = scores.astype(np.float64) - special.logsumexp(scores.astype(np.float64), axis=-1, keepdims=True)
    entropy = stats.entropy(np.exp(logs), axis=-1).mean()
    return float(entropy), float(np.exp(-logs[np.arange(len(labels)), labels].mean()))


def of_classes(name, n, classes, quantum, ignored=0):
    scores = rng.standard_normal((n, classes)).astype(np.float32)
    if quantum:
        scores = (np.round(scores / quantum) * quantum).astype(np.float32)
    labels = rng.integers(0, classes, n)
    scores[np.arange(n), labels] += np.float32(0.5)
    labels[:ignored] = -100
    source = {"input": "classes", "examples": n, "labels": 1, "classes": classes, "scores": scores.ravel(),
              "label": labels.tolist(), "ignore_index": -100}
    s, y = scores[ignored:], labels[ignored:]
    predicted = s.argmax(-1)
    every, some = list(range(classes)), [2, 0]
    order = np.argsort(-s, axis=-1, kind="stable")
    entropy, perplexity = softmax_metrics(s, y)
    metrics = [
        metric("categorical_accuracy", {"categorical_accuracy": sk.accuracy_score(y, predicted)}),
        metric("categorical_accuracy", {"top2": np.mean([t in o[:2] for t, o in zip(y, order)])}, top_k=2, name="top2"),
        metric("categorical_accuracy", {"ties": tie_break(s, y)}, tie_break=True, name="ties"),
        metric("boolean_accuracy", {"boolean_accuracy": sk.accuracy_score(y, predicted)}),
        metric("accuracy", {"accuracy": sk.accuracy_score(y, predicted)}),
        metric("f1", named("f1", [x[0] for x in prf(y, predicted, labels=[1], average=None)[:3]]), positive_label=1),
        metric("fbeta", named("each", prf(y, predicted, labels=every, average=None, beta=2.0)), beta=2.0, name="each"),
        metric("fbeta", named("some", prf(y, predicted, labels=some, average=None)), labels=some, name="some"),
        metric("confusion_matrix", {"confusion_matrix": sk.confusion_matrix(y, predicted, labels=every)}),
        metric("entropy", {"entropy": entropy}),
        metric("perplexity", {"perplexity": perplexity}),
    ]
    logs = special.log_softmax(s.astype(np.float64), axis=-1)[np.arange(len(y)), y]
    losses = np.concatenate([np.full(ignored, np.nan), -logs])
    metrics.append(worst(losses, labels, scores.argmax(-1)))
    metrics += calibrations(s, y)
    for average in ("micro", "macro", "weighted"):
        metrics.append(metric("fbeta", named(average, prf(y, predicted, labels=every, average=average, beta=0.5)),
                              beta=0.5, average=average, name=average))
    metrics.append(metric("fbeta", named("micro_some", prf(y, predicted, labels=some, average="micro")),
                          labels=some, average="micro", name="micro_some"))
    return {"name": name, **source, "metrics": metrics}


def pr_curve(chances, labels):
    """By thresholds k/100: true positives, false positives, true negatives, false negatives."""
    rows = [[np.sum((labels == truth) & ((100 * chances >= k) == found)) for k in range(101)]
            for truth, found in ((1, True), (0, True), (0, False), (1, False))]
    return metric("pr_curve", {"pr_curve": np.array(rows)}, positive_label=1)


def of_two_classes(n):
    scores = (np.round(rng.standard_normal((n, 2)) * 4) / 8).astype(np.float32)
    labels = rng.integers(0, 2, n)
    margin = scores[:, 1] - scores[:, 0]
    return {"name": "two classes", "input": "classes", "examples": n, "labels": 1, "classes": 2,
            "scores": scores.ravel(), "label": labels.tolist(), "metrics": [
                metric("auc", {"auc": sk.roc_auc_score(labels, margin)}, positive_label=1),
                metric("auc", {"auc0": sk.roc_auc_score(1 - labels, -margin)}, positive_label=0, name="auc0"),
                metric("average_precision", {"average_precision": sk.average_precision_score(labels, margin)},
                       positive_label=1),
                pr_curve(special.expit(margin.astype(float)), labels)]}


# --- a yes or a no ---

def of_yes_no(name, n, quantum, only=None):
    scores = rng.standard_normal(n).astype(np.float32)
    scores = (np.round(scores / quantum) * quantum).astype(np.float32) if quantum else scores
    labels = rng.integers(0, 2, n) if only is None else np.full(n, only)
    predicted = (scores > 0).astype(int)
    one = len(set(labels)) < 2
    auc = math.nan if one else sk.roc_auc_score(labels, scores)
    ap = sk.average_precision_score(labels, scores) if labels.any() else math.nan
    return {"name": name, "input": "yes_no", "odds": True, "examples": n, "labels": 1, "scores": scores,
            "target": labels.astype(float), "metrics": [
                metric("auc", {"auc": auc}, positive_label=1),
                metric("average_precision", {"average_precision": ap}, positive_label=1),
                pr_curve(special.expit(scores.astype(float)), labels),
                metric("boolean_accuracy", {"boolean_accuracy": sk.accuracy_score(labels, predicted)}),
                metric("accuracy", {"accuracy": sk.accuracy_score(labels, predicted)}),
                *calibrations(np.stack([0 * scores, scores], -1), labels),
                worst(np.logaddexp(0, scores.astype(float)) - labels * scores.astype(float), labels, predicted),
                metric("f1", named("f1", [x[0] for x in prf(labels, predicted, labels=[1], average=None)[:3]]),
                       positive_label=1),
                metric("confusion_matrix",
                       {"confusion_matrix": sk.confusion_matrix(labels, predicted, labels=[0, 1])})]}


def of_many_labels(n, k, threshold):
    chances = rng.random((n, k)).astype(np.float32)
    labels = (rng.random((n, k)) < 0.4).astype(int)
    predicted = (chances >= threshold).astype(int)
    metrics = [metric("fbeta_multi_label", named(a, prf(labels, predicted, average=a)), average=a, name=a,
                      threshold=threshold) for a in ("micro", "macro", "weighted")]
    metrics.append(metric("fbeta_multi_label", named("each", prf(labels, predicted, average=None, beta=2.0)),
                          beta=2.0, threshold=threshold, name="each"))
    metrics.append(metric("accuracy", {"accuracy": sk.accuracy_score(labels.ravel(), chances.ravel() > 0.5)}))
    c = chances.astype(float)
    losses = -(special.xlogy(labels, c) + special.xlog1py(1 - labels, -c)).mean(-1)
    metrics.append(worst(losses, np.zeros(n), np.zeros(n)))
    return {"name": "many labels", "input": "yes_no", "odds": False, "examples": n, "labels": k,
            "scores": chances.ravel(), "target": labels.ravel().astype(float), "metrics": metrics}


# --- numbers ---

def of_numbers(name, n, shift, quantum):
    x = (rng.standard_normal(n) + shift).astype(np.float32)
    y = (0.7 * x + rng.standard_normal(n)).astype(np.float32)
    if quantum:
        x, y = (np.round(x / quantum) * quantum).astype(np.float32), (np.round(y / quantum) * quantum).astype(np.float32)
    a, b = x.astype(np.longdouble), y.astype(np.longdouble)
    return {"name": name, "input": "numbers", "examples": n, "labels": 1, "scores": x, "target": y, "metrics": [
        metric("covariance", {"covariance": np.sum((a - a.mean()) * (b - b.mean())) / (n - 1)}),
        metric("pearson_correlation", {"pearson_correlation": stats.pearsonr(x.astype(float), y.astype(float)).statistic}),
        metric("spearman_correlation", {"spearman_correlation": stats.spearmanr(x, y).statistic}),
        worst((x.astype(float) - y.astype(float)) ** 2, y, x),
        metric("mean_absolute_error", {"mean_absolute_error": np.mean(np.abs(a - b))}),
        metric("mean_squared_error", {"mean_squared_error": np.mean((a - b) ** 2)})]}


# --- rows of tokens ---

def ngrams(row, n, exclude):
    return Counter(tuple(row[i:i + n]) for i in range(len(row) - n + 1) if not set(row[i:i + n]) & exclude)


def bleu(predicted, labels, weights, exclude):
    logs = 0.0
    for n, weight in enumerate(weights, 1):
        pairs = [(ngrams(p, n, exclude), ngrams(r, n, exclude)) for p, r in zip(predicted, labels)]
        matches = sum((p & r).total() for p, r in pairs)
        logs += weight * (math.log(matches + 1e-13) - math.log(sum(p.total() for p, _ in pairs) + 1e-13))
    lengths = [sum(t not in exclude for row in rows for t in row) for rows in (predicted, labels)]
    penalty = 1.0 if lengths[0] > lengths[1] else math.exp(1 - lengths[1] / lengths[0])
    return penalty * math.exp(logs)


def subsequence(a, b):
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a)):
        for k in range(len(b)):
            table[i + 1][k + 1] = table[i][k] + 1 if a[i] == b[k] else max(table[i][k + 1], table[i + 1][k])
    return table[-1][-1]


def f_of(r, p):
    return 2 * r * p / (r + p) if r + p else 0.0


def rouge(predicted, labels, size, exclude):
    sums = Counter()
    for p, r in zip(predicted, labels):
        for n in range(1, size + 1):
            a, b = ngrams(p, n, exclude), ngrams(r, n, exclude)
            same = (a & b).total()
            recall, precision = (same / b.total(), same / a.total()) if same else (0.0, 0.0)
            sums[f"rouge_{n}_recall"] += recall
            sums[f"rouge_{n}_precision"] += precision
            sums[f"rouge_{n}_f1"] += f_of(recall, precision)
        a, b = [t for t in p if t not in exclude], [t for t in r if t not in exclude]
        same = subsequence(a, b)
        sums["rouge_l_f1"] += f_of(same / len(b), same / len(a)) if same else 0.0
    return {k: v / len(labels) for k, v in sums.items()}


def unigram_recall(predicted, labels):
    shares = []
    for p, r in zip(predicted, labels):
        words = [t for t in r if t != 0]
        shares.append(sum(t in p for t in words) / len(words) if words else 0.0)
    return sum(shares) / len(shares)


def of_tokens(name, n, length, longer):
    labels = rng.integers(0, 7, (n, length)).tolist()
    predicted = [[t if rng.random() < 0.6 else int(rng.integers(0, 7)) for t in row] +
                 rng.integers(0, 7, longer).tolist() for row in labels]
    predicted[0] = labels[0] + predicted[0][length:]
    weights = [0.5, 0.3, 0.2]
    metrics = [
        metric("bleu", {"bleu": bleu(predicted, labels, [0.25] * 4, set())}),
        metric("bleu", {"short": bleu(predicted, labels, weights, {0, 1})}, ngram_weights=weights, exclude=[0, 1],
               name="short"),
        metric("rouge", rouge(predicted, labels, 2, set())),
        metric("rouge", {"three" + k[5:]: v for k, v in rouge(predicted, labels, 3, {0}).items()}, ngram_size=3,
               exclude=[0], name="three"),
    ]
    if not longer:
        metrics += [metric("unigram_recall", {"unigram_recall": unigram_recall(predicted, labels)}),
                    metric("sequence_accuracy",
                           {"sequence_accuracy": np.mean([p == r for p, r in zip(predicted, labels)])})]
    return {"name": name, "input": "tokens", "examples": n, "labels": length, "classes": 7,
            "predicted": sum(predicted, []), "n_predicted": length + longer if longer else 0,
            "label": sum(labels, []), "metrics": metrics}


# --- spans ---

def begins(encoding, before, tag):
    """Does a span begin at a tag that is not O?"""
    letter, label = tag[0], tag[2:]
    if encoding == "BMES":
        return letter in "BS" or before[0] not in "BM" or before[2:] != label
    return letter == "B" or before == "O" or before[2:] != label


def spans(encoding, row):
    if encoding == "BIOUL":
        found, text = set(), "".join(t[0] for t in row)
        for first in range(len(row)):
            last = first
            if text[first] == "B":
                last = first + 1
                while last < len(row) and text[last] == "I":
                    last += 1
                if last == len(row) or text[last] != "L":
                    continue
            elif text[first] != "U":
                continue
            found.add((row[last][2:], first, last))
        return found
    starts = [i for i, t in enumerate(row) if t != "O" and begins(encoding, row[i - 1] if i else "O", t)]
    found = set()
    for s in starts:
        e = s
        while e + 1 < len(row) and row[e + 1] != "O" and e + 1 not in starts:
            e += 1
        found.add((row[s][2:], s, e))
    return found


def of_spans(encoding, letters, n, length):
    tags = ["O"] + [f"{letter}-{label}" for label in ("PER", "LOC", "V") for letter in letters]
    labels = rng.integers(0, len(tags), (n, length))
    predicted = np.where(rng.random((n, length)) < 0.75, labels, rng.integers(0, len(tags), (n, length)))
    mask = np.array([[i < length - e % 3 for i in range(length)] for e in range(n)])
    counts = {}
    for p, r, m in zip(predicted, labels, mask):
        found, wanted = ({s for s in spans(encoding, ["O" if tags[t][2:] == "V" else tags[t] for t in row[m]])}
                         for row in (p, r))
        for label in ("PER", "LOC"):
            of = [{s for s in side if s[0] == label} for side in (found, wanted)]
            c = counts.setdefault(label, [0, 0, 0])
            c[0], c[1], c[2] = c[0] + len(of[0] & of[1]), c[1] + len(of[0]), c[2] + len(of[1])
    counts[""] = [sum(c) for c in zip(*counts.values())]
    figures, allennlp = {}, {}
    for label, (same, found, wanted) in counts.items():
        end, word = "-" + label if label else "", "-" + (label or "overall")
        p, r = same / found, same / wanted
        figures.update({"span_f1_precision" + end: p, "span_f1_recall" + end: r, "span_f1" + end: f_of(r, p)})
        allennlp.update({"precision" + word: p, "recall" + word: r, "f1-measure" + word: f_of(r, p)})
    return {"name": encoding, "input": "tokens", "examples": n, "labels": length, "classes": len(tags),
            "predicted": predicted.ravel(), "label": labels.ravel(), "mask": mask.ravel().astype(int), "metrics": [
                metric("span_f1", figures, encoding=encoding, tags=tags, ignore_classes=["V"]),
                metric("span_based_f1", allennlp, encoding=encoding, tags=tags, ignore_classes=["V"])]}


# --- arcs ---

def of_arcs(n, length):
    shape = (n, length)
    heads, tags = rng.integers(0, length, shape), rng.integers(0, 4, shape)
    my_heads = np.where(rng.random(shape) < 0.85, heads, 0)
    my_tags = np.where(rng.random(shape) < 0.9, tags, 3)
    mask = np.array([[i < length - e % 4 for i in range(length)] for e in range(n)])
    words = mask & (tags != 2)
    head, arc = (my_heads == heads), (my_heads == heads) & (my_tags == tags)
    figures = {"UAS": head[words].mean(), "LAS": arc[words].mean(),
               "UEM": (head | ~words).all(-1).mean(),
               "LEM": (arc | ~words).all(-1).mean()}
    return {"name": "arcs", "input": "arcs", "examples": n, "labels": length, "classes": 4, "predicted": my_heads.ravel(),
            "label": heads.ravel(), "predicted_tags": my_tags.ravel(), "tags": tags.ravel(),
            "mask": mask.ravel().astype(int), "metrics": [metric("attachment_scores", figures, ignore_classes=["c"])]}


print(json.dumps(plain([
    of_classes("classes", 80, 5, 0.0),
    of_classes("classes with ties", 80, 5, 0.125, ignored=7),
    of_two_classes(60),
    of_yes_no("yes or no", 70, 0.0),
    of_yes_no("yes or no with ties", 70, 0.25),
    of_yes_no("yes alone", 20, 0.25, only=1),
    of_yes_no("no alone", 20, 0.25, only=0),
    of_many_labels(40, 4, 0.625),
    of_numbers("numbers", 90, 0.0, 0.0),
    of_numbers("numbers far from 0", 90, 1e5, 0.0),
    of_numbers("numbers with ties", 90, 0.0, 0.5),
    of_tokens("tokens", 20, 9, 0),
    of_tokens("longer predictions", 20, 9, 4),
    of_spans("BIO", "BI", 20, 12),
    of_spans("IOB1", "BI", 20, 12),
    of_spans("BIOUL", "BILU", 20, 12),
    of_spans("BMES", "BMES", 20, 12),
    of_arcs(15, 8),
]), separators=(",", ":")))
