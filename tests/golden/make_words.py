"""Words and lower case as Python's definitions give them: make_words.py > tests/unit/text/data/words.json

AllenNLP's tokenizers of words are str.split(), list() and a pattern, and its indexers lower by str.lower(). The cases
are lines that could go wrong, and strings of random code points which both Python's Unicode and an older one have.
"""

import json
import random
import re
import sys
import unicodedata

PATTERN = re.compile(r"[^\W\d_]+|\d+|\S")
LINES = [
    "", " ", "a", "The movie's  end:\tgood, 10/10!\n", "snake_case __x__ a1b22c", "½ cup x² Ⅷ 四 ٣٤ 1٣",
    "\x1c\x1d\x1e\x1fa\x85b\xa0c\u1680d\u2003e\u2028f\u202fg\u3000h\u200bi\ufeffj", "ΟΔΟΣ Σ ΑΣ. ΑΣΑ Α'Σ ΣΑ ΑΣ\u0301", "İstanbul IŞIK ﬀ ǅ ẞ Ω",
    "Ünïcödé e\u0301a naïve", "日本語 テキスト ไทย हिन्दी", "👩‍👩‍👧 ok 😀😀", "ªº ⓐⒶ ⅰⅠ ͅ ʰ", "a\u00adb Σ\u00adΑ ΑΣ\u00ad",
]
RANGES = [(1, 0x250)] * 4 + [(0x370, 0x590)] * 3 + [(0x590, 0x1100), (0x1100, 0x2000), (0x2000, 0x2c00), (0x2c00, 0x3400),
                                                   (0xa000, 0xd800), (0xf900, 0x10000), (0x10000, 0x11000), (0x1d400, 0x1d800)]


def assigned(code):
    return unicodedata.category(chr(code)) not in ("Cn", "Cs", "Co") and unicodedata.ucd_3_2_0.category(chr(code)) != "Cn"


def random_line(rng):
    codes = []
    while len(codes) < 24:
        code = rng.choice((32, 0x3a3, rng.randrange(*rng.choice(RANGES)), rng.randrange(*rng.choice(RANGES))))
        if assigned(code):
            codes.append(code)
    return "".join(map(chr, codes))


def case(text):
    return {"text": text, "whitespace": text.split(), "letters_digits": PATTERN.findall(text), "character": list(text),
            "lower": text.lower()}


def main():
    rng = random.Random(22)
    cases = [case(text) for text in LINES + [random_line(rng) for _ in range(120)]]
    json.dump({"cases": cases}, sys.stdout, ensure_ascii=True, indent=None, separators=(",", ":"))
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
