"""Exact match and F1 of SQuAD's official script, written out here."""

import re
import string
from collections import Counter


def normalize(text):
    text = "".join(c for c in text.lower() if c not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def f1(a, b):
    a, b = normalize(a).split(), normalize(b).split()
    same = (Counter(a) & Counter(b)).total()
    if not a or not b:
        return float(a == b)
    return 2 * same / (len(a) + len(b))
