#!/usr/bin/env python3
"""Compares us with Hugging Face's `tokenizers`, on everything that there is about a text's tokens.

    compare.py TOKENIZE_LINES [--data DIR] [--random N] [--only WORD] [TOKENIZER...]

TOKENIZE_LINES is the program of tests/tools. Tokenizers are those of tests/golden/text_shapes.py, and files and
folders that are named. Texts are those of text_shapes.py, N random ones, Unicode's NormalizationTest.txt where
Debian's package unicode-data is, and with --data the paragraphs and questions of squad/*.json.gz and xquad/*.json
below DIR. Prints the texts that were compared, and the first differences; exits with 1 if there is any.
"""

import argparse
import bz2
import glob
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "golden"))

import text_shapes
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

NORMALIZATION = "/usr/share/unicode/NormalizationTest.txt.bz2"
BREAKS = "/usr/share/unicode/auxiliary/*BreakTest.txt"
STRATEGIES = ["longest_first", "only_first", "only_second"]


def normalization_texts():
    out = []
    for path in glob.glob(NORMALIZATION):
        for line in bz2.open(path, "rt"):
            fields = line.split("#")[0].split(";")
            if len(fields) == 6:
                out += ["".join(chr(int(c, 16)) for c in field.split()) for field in fields[:5]]
    for path in glob.glob(BREAKS):
        for line in open(path):
            codes = [int(c, 16) for c in line.split("#")[0].split() if c not in "÷×"]
            out.append("".join(chr(c) for c in codes if not 0xD800 <= c < 0xE000))
    return list(dict.fromkeys(out))


def questions(data):
    """(question, paragraph), and paragraphs."""
    pairs, paragraphs = [], []
    for path in sorted(glob.glob(f"{data}/squad/*.json.gz") + glob.glob(f"{data}/xquad/*.json")):
        opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path)
        for article in json.load(opened)["data"]:
            for paragraph in article["paragraphs"]:
                paragraphs.append({"text": paragraph["context"]})
                pairs += [{"text": qa["question"], "pair": paragraph["context"]} for qa in paragraph["qas"]]
    return paragraphs, pairs


def of_files(path):
    """The package's tokenizer of a path: a tokenizer.json, BERT's vocab.txt, or GPT-2's two files."""
    path = pathlib.Path(path)
    if path.is_dir():
        path = next(path / n for n in ("tokenizer.json", "vocab.txt", "encoder.json") if (path / n).exists())
    if path.name == "vocab.txt":
        t = Tokenizer(models.WordPiece.from_file(str(path), unk_token="[UNK]"))
        t.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
        t.normalizer = normalizers.BertNormalizer()
        t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        t.post_processor = processors.BertProcessing(("[SEP]", t.token_to_id("[SEP]")), ("[CLS]", t.token_to_id("[CLS]")))
        t.decoder = decoders.WordPiece()
        return t
    if path.name == "encoder.json":
        t = Tokenizer(models.BPE.from_file(str(path), str(path.parent / "vocab.bpe")))
        t.add_special_tokens(["<|endoftext|>"])
        t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        t.post_processor = processors.ByteLevel(trim_offsets=False)
        t.decoder = decoders.ByteLevel()
        return t
    return Tokenizer.from_file(str(path))


def ours(program, path, lines, truncation):
    text = "".join(json.dumps(line) + "\n" for line in lines)
    out = subprocess.run([program, path, *map(str, truncation)], input=text, capture_output=True, text=True)
    answers = [json.loads(line) for line in out.stdout.split("\n") if line]
    if out.returncode or len(answers) != len(lines):
        sys.exit(f"{program} {path}: code {out.returncode}, {len(answers)} of {len(lines)} lines: {out.stderr}")
    return answers


def first_difference(a, b):
    if "error" in b:
        return f"error: {b['error']}"
    if len(a["windows"]) != len(b["windows"]):
        return f"{len(b['windows'])} windows, not {len(a['windows'])}"
    for i, (x, y) in enumerate(zip(a["windows"], b["windows"])):
        for key in x:
            if x[key] != y[key]:
                return f"window {i}: {key}: {y[key]}, not {x[key]}"
    return next((f"{key}: {b[key]!r}, not {a[key]!r}" for key in ("decoded", "skipped") if a[key] != b[key]), None)


def compare(program, name, path, tokenizer, lines, what, truncation=()):
    if truncation:
        tokenizer.enable_truncation(truncation[0], stride=truncation[1], strategy=STRATEGIES[truncation[2]],
                                    direction=["right", "left"][truncation[3]])
    differ = tokens = 0
    for line, answer in zip(lines, ours(program, path, lines, truncation)):
        try:
            theirs = text_shapes.answer(tokenizer, line["text"], line.get("pair"))
        except BaseException as failure:  # pylint: disable=broad-except  # what Rust panics with is no Exception
            differ += "error" not in answer
            if "error" not in answer:
                print(f"  {name}, {what}: {line!r}: they fail: {failure}")
            continue
        tokens += len(theirs["windows"][0]["ids"])
        difference = first_difference(theirs, answer)
        if difference:
            differ += 1
            if differ <= 3:
                print(f"  {name}, {what}: {line!r}:\n    {difference[:600]}")
    print(f"{name}, {what}: {len(lines)} texts, {tokens} tokens, {differ} differ", flush=True)
    return differ


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("program")
    arguments.add_argument("--data")
    arguments.add_argument("--random", type=int, default=10000)
    arguments.add_argument("--only", default="")
    arguments.add_argument("tokenizers", nargs="*")
    options = arguments.parse_intermixed_args()
    paragraphs, pairs = questions(options.data) if options.data else ([], [])
    known = [{"text": t} for t in text_shapes.TEXTS]
    known += [{"text": a, "pair": b} for a, b in zip(text_shapes.TEXTS, reversed(text_shapes.TEXTS))]
    sets = {"known texts": known, "random texts": [{"text": t} for t in text_shapes.random_texts(options.random)],
            "Unicode's tests": [{"text": t} for t in normalization_texts()], "paragraphs": paragraphs,
            "questions": pairs}
    differ = 0
    with tempfile.TemporaryDirectory() as folder:
        cases = [(path, path, lambda path=path: of_files(path)) for path in options.tokenizers]
        cases += [(name, f"{folder}/{name}.json", make) for name, make in text_shapes.SHAPES.items()]
        for name, path, make in cases:
            if options.only not in name:
                continue
            tokenizer = make()
            if path.startswith(folder):
                tokenizer.save(path)
            sets["texts of its own"] = [{"text": t} for t in text_shapes.MORE.get(name, [])]
            for what, lines in sets.items():
                if lines:
                    differ += compare(options.program, name, path, tokenizer, lines, what)
            for truncation in ((16, 4, 0, 0), (16, 4, 1, 0), (32, 4, 2, 0), (16, 4, 0, 1)):
                lines = [line for line in known if "pair" in line] if truncation[2] == 2 else known
                differ += compare(options.program, name, path, tokenizer, lines, f"windows {truncation}", truncation)
            tokenizer.no_truncation()
    print(f"{differ} differences")
    return differ > 0


if __name__ == "__main__":
    sys.exit(main())
