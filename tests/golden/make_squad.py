"""Golden values of SQuAD's exact match and F1: the official script's definitions (squad_score.py).

    python make_squad.py > ../unit/metric/data/squad.json     # needs no packages
    python make_squad.py dev-v1.1.json.gz                     # every answer of it against the next one
"""

import gzip
import json
import random
import sys

from squad_score import f1, normalize


def score(prediction, answers):
    answers = answers or [""]
    return {"prediction": prediction, "answers": answers, "normal": normalize(prediction),
            "exact": max(normalize(prediction) == normalize(a) for a in answers),
            "f1": max(f1(prediction, a) for a in answers)}


by_hand = [
    ("", []), ("", ["the"]), ("The", ["a"]), ("the cat", ["cat"]), ("A.B.C.", ["abc"]), ("an-other", ["another"]),
    ("theatre an", ["Theatre"]), ("  two\twords\n", ["two words"]), ("ÉCOLE Ünïcode", ["école ünïcode"]),
    ("a\u2019b the\u2014end", ["\u2019b \u2014end"]), ("the\u00a0end", ["end"]), ("a\u0301 b", ["b"]),
    ("İstanbul", ["istanbul"]), ("x\u001cy", ["x y"]), ("the the the", [""]), ("50% of $3", ["50 of 3", "50"]),
    ("東京 the 大阪", ["東京 大阪"]), ("a b c d", ["b c d e", "x"]), ("b b b", ["b"]), ("no", ["yes"]), ("a1 1a _a_", ["a1 1a"]),
    ("½ a ²", ["½ ²"]), ("ǅ Straße", ["ǆ straße"]),
]

if len(sys.argv) > 1:
    with gzip.open(sys.argv[1]) as file:
        texts = [a["text"] for d in json.load(file)["data"] for p in d["paragraphs"] for q in p["qas"] for a in q["answers"]]
    cases = [score(a, [b]) for a, b in zip(texts, texts[1:])]
else:
    random.seed(20)
    words = "the a an The cat Cat dog, d.o.g É é 1 2 - !".split()
    row = lambda: " ".join(random.choices(words, k=random.randint(0, 6)))  # noqa: E731
    cases = [score(*case) for case in by_hand] + [score(row(), [row() for _ in range(3)]) for _ in range(60)]
print(json.dumps(cases, separators=(",", ":")))
