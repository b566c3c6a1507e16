"""SQuAD's official exact match and F1 of what `tequio predict` says, question by question.

    python3 squad_official.py QUESTIONS.json LINES EVALUATION.json

The definitions of the official scripts (evaluate-v1.1.py, evaluate-v2.0.py), written out here; EVALUATION is what
`tequio evaluate` printed, whose squad_em and squad_f1 they must agree with.
"""

import json
import re
import string
import sys
from collections import Counter


def words(text):
    text = "".join(c for c in text.lower() if c not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", text).split()


def f1(a, b):
    if not a or not b:
        return float(a == b)
    return 2 * (Counter(a) & Counter(b)).total() / (len(a) + len(b))


with open(sys.argv[1]) as file:
    gold = {q["id"]: [a["text"] for a in q["answers"]] or [""]
            for d in json.load(file)["data"] for p in d["paragraphs"] for q in p["qas"]}
with open(sys.argv[2]) as file:
    said = {line["id"]: line["best_span_str"] for line in map(json.loads, file)}
with open(sys.argv[3]) as file:
    evaluation = json.load(file)
assert said.keys() == gold.keys(), "other questions"
em = sum(max(words(said[i]) == words(a) for a in gold[i]) for i in gold) / len(gold)
best = sum(max(f1(words(said[i]), words(a)) for a in gold[i]) for i in gold) / len(gold)
print(f"squad_em {em:.6f} squad_f1 {best:.6f}")
assert abs(em - evaluation["squad_em"]) < 1e-12 and abs(best - evaluation["squad_f1"]) < 1e-12
