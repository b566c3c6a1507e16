#!/usr/bin/env python3
"""Compares us with Hugging Face's `tokenizers`, on everything that there is about a text's tokens.

    compare.py TOKENIZE_LINES [--data PATH]... [--require] [--random N] [--only NAME,...] [TOKENIZER...]

TOKENIZE_LINES is the program of tests/tools. Tokenizers are those of tests/golden/text_shapes.py, and files and
folders that are named; --only takes some of them, by name. Texts are those of text_shapes.py, N random ones, Unicode's
files of tests where Debian's package unicode-data is, and the paragraphs and questions of each --data, a file of
SQuAD's form (.json, .json.gz), or a folder of such files and folders. Texts that are not there are named, and are a
failure with --require. Prints the texts that were compared, and the first differences; exits with 1 if there is any.
"""

import array
import argparse
import bz2
import functools
import glob
import gzip
import itertools
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "golden"))

import text_shapes
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

NORMALIZATION = "/usr/share/unicode/NormalizationTest.txt.bz2"
BREAKS = "/usr/share/unicode/auxiliary/*BreakTest.txt"
BATCH = 256
STRATEGIES = ["longest_first", "only_first", "only_second"]


def normalization_texts():
    out = []
    for path in glob.glob(NORMALIZATION):
        for line in bz2.open(path, "rt"):
            fields = line.split("#")[0].split(";")
            if len(fields) == 6:
                out += ["".join(chr(int(c, 16)) for c in field.split()) for field in fields[:5]]
    return list(dict.fromkeys(out))


def break_texts():
    out = []
    for path in glob.glob(BREAKS):
        for line in open(path):
            codes = [int(c, 16) for c in line.split("#")[0].split() if c not in "÷×"]
            out.append("".join(chr(c) for c in codes if not 0xD800 <= c < 0xE000))
    return list(dict.fromkeys(out))


def corpora(path):
    """Files of SQuAD's form: the path, or those of a folder."""
    path = pathlib.Path(path)
    found = sorted(p for p in path.rglob("*") if p.name.endswith((".json", ".json.gz"))) if path.is_dir() else [path]
    opened = ((p, json.load(gzip.open(p, "rt") if p.suffix == ".gz" else open(p))) for p in found)
    return [(p.name.split(".json")[0], tree["data"]) for p, tree in opened if isinstance(tree, dict) and "data" in tree]


def questions(articles):
    """Paragraphs, and questions with their paragraph."""
    paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
    pairs = [{"text": qa["question"], "pair": p["context"]} for p in paragraphs for qa in p["qas"]]
    return [{"text": p["context"]} for p in paragraphs], pairs


def all_texts(options):
    """Sets of lines, by what they are; some may be empty."""
    known = [{"text": t} for t in text_shapes.TEXTS]
    known += [{"text": a, "pair": b} for a, b in zip(text_shapes.TEXTS, reversed(text_shapes.TEXTS))]
    sets = {"known texts": known, "random texts": [{"text": t} for t in text_shapes.random_texts(options.random)],
            "Unicode's normalization tests": [{"text": t} for t in normalization_texts()],
            "Unicode's break tests": [{"text": t} for t in break_texts()]}
    found = [corpus for path in options.data for corpus in corpora(path)]
    for name, articles in found or [("--data", [])]:
        sets[f"{name} paragraphs"], sets[f"{name} questions"] = questions(articles)
    return sets


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
        t.post_processor = processors.BertProcessing(*((token, t.token_to_id(token)) for token in ("[SEP]", "[CLS]")))
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


def ours_packed(program, path, lines):
    """What `packed` makes of each line, by one process of ours that is read while it works."""
    with tempfile.TemporaryFile() as given:
        given.write("".join(json.dumps(line) + "\n" for line in lines).encode())
        given.seek(0)
        with subprocess.Popen([program, path, "--packed"], stdin=given, stdout=subprocess.PIPE) as process:
            for _ in lines:
                head = process.stdout.read(4)
                if len(head) < 4:
                    sys.exit(f"{program} {path} --packed: ends too early")
                yield process.stdout.read(struct.unpack("=I", head)[0])


@functools.lru_cache(maxsize=64)
def places_in(text):
    return text_shapes.bytes_before(text)


def packed(tokenizer, line, encoding):
    places, is_plain = [places_in(line["text"]), places_in(line.get("pair"))], tokenizer.post_processor is None
    windows = [text_shapes.window(e, places, is_plain) for e in [encoding, *encoding.overflowing]]
    numbers = itertools.chain.from_iterable(itertools.chain([len(w["ids"])], *w.values()) for w in windows)
    return array.array("i", numbers).tobytes() + tokenizer.decode(encoding.ids, skip_special_tokens=False).encode()


def theirs_packed(tokenizer, lines):
    """The same of the package's; nothing of a text that it fails at."""
    for i in range(0, len(lines), BATCH):
        some = lines[i : i + BATCH]
        try:
            encodings = tokenizer.encode_batch([(x["text"], x["pair"]) if "pair" in x else x["text"] for x in some])
        except BaseException:  # pylint: disable=broad-except  # what Rust panics with is no Exception
            yield from (b"" for _ in some)
            continue
        yield from (packed(tokenizer, line, e) for line, e in zip(some, encodings))


def that_differ(program, path, tokenizer, lines):
    """The lines that do not come out the same, or fail, and the tokens of those that do."""
    differ, tokens = [], 0
    for line, a, b in zip(lines, ours_packed(program, path, lines), theirs_packed(tokenizer, lines)):
        if a != b or not a:
            differ.append(line)
        else:
            tokens += struct.unpack_from("=i", a)[0]
    return differ, tokens


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


def compare_each(program, name, path, tokenizer, lines, what, truncation=()):
    """How many lines differ, with a word about the first; and the tokens."""
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
    return differ, tokens


def compare(program, name, path, tokenizer, lines, what):
    suspects, tokens = that_differ(program, path, tokenizer, lines)
    differ, more = compare_each(program, name, path, tokenizer, suspects, what)
    print(f"{name}, {what}: {len(lines)} texts, {tokens + more} tokens, {differ} differ", flush=True)
    return differ


def compare_windows(program, name, path, tokenizer, lines, truncation):
    tokenizer.enable_truncation(truncation[0], stride=truncation[1], strategy=STRATEGIES[truncation[2]],
                                direction=["right", "left"][truncation[3]])
    differ, tokens = compare_each(program, name, path, tokenizer, lines, f"windows {truncation}", truncation)
    tokenizer.no_truncation()
    print(f"{name}, windows {truncation}: {len(lines)} texts, {tokens} tokens, {differ} differ", flush=True)
    return differ


def chosen(options, folder):
    """(name, path, maker) of each tokenizer."""
    cases = [(path, path, lambda path=path: of_files(path)) for path in options.tokenizers]
    cases += [(name, f"{folder}/{name}.json", make) for name, make in text_shapes.SHAPES.items()]
    only = options.only.split(",") if options.only else [name for name, _, _ in cases]
    unknown = set(only) - {name for name, _, _ in cases}
    if unknown:
        sys.exit(f"--only: no tokenizer {', '.join(sorted(unknown))}; there are {', '.join(c[0] for c in cases)}")
    return [next(c for c in cases if c[0] == name) for name in only]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("program")
    arguments.add_argument("--data", action="append", default=[])
    arguments.add_argument("--require", action="store_true")
    arguments.add_argument("--random", type=int, default=10000)
    arguments.add_argument("--only", default="")
    arguments.add_argument("tokenizers", nargs="*")
    options = arguments.parse_intermixed_args()
    sets = all_texts(options)
    missing = [what for what, lines in sets.items() if not lines]
    for what in missing:
        print(f"not there, so not compared: {what}", flush=True)
    if options.require and missing:
        return 1
    known, differ = sets["known texts"], 0
    with tempfile.TemporaryDirectory() as folder:
        for name, path, make in chosen(options, folder):
            tokenizer = make()
            if path.startswith(folder):
                tokenizer.save(path)
            own = {"texts of its own": [{"text": t} for t in text_shapes.MORE.get(name, [])]}
            for what, lines in (sets | own).items():
                if lines:
                    differ += compare(options.program, name, path, tokenizer, lines, what)
            for truncation in ((16, 4, 0, 0), (16, 4, 1, 0), (32, 4, 2, 0), (16, 4, 0, 1)):
                lines = [line for line in known if "pair" in line] if truncation[2] == 2 else known
                differ += compare_windows(options.program, name, path, tokenizer, lines, truncation)
    print(f"{differ} differences")
    return differ > 0


if __name__ == "__main__":
    sys.exit(main())
