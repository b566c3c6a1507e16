#!/usr/bin/env python3
"""How fast we make tokens beside Hugging Face's `tokenizers`, on one thread.

    bench/text_speed.py TOKENIZE_LINES LINES TOKENIZER [ROUNDS]

TOKENIZE_LINES is the program of tests/tools, LINES a file of {"text": ...} lines, TOKENIZER a tokenizer.json. The two
take turns; the least processor time of each counts, for on a busy machine the longer one waits more often. Both give ids
and offsets of every text. Ours begins each round with nothing kept from the one before, theirs keeps its cache of words.
"""

import json
import os
import subprocess
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"

from tokenizers import Tokenizer  # noqa: E402  # reads what was set above


def main():
    program, lines, path = sys.argv[1:4]
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 5
    texts = [json.loads(line)["text"] for line in open(lines)]
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    tokenizer = Tokenizer.from_file(path)
    best = {"tequio": float("inf"), "tokenizers": float("inf")}
    for _ in range(rounds):
        out = subprocess.run([program, path, "--time", "1"], stdin=open(lines), capture_output=True, text=True, check=True)
        best["tequio"] = min(best["tequio"], float(out.stdout.split()[0]))
        begin = time.process_time()
        tokens = sum(len(tokenizer.encode(text).ids) for text in texts)
        best["tokenizers"] = min(best["tokenizers"], time.process_time() - begin)
        if tokens != int(out.stdout.split()[1]):
            sys.exit(f"{tokens} tokens, and {out.stdout.split()[1]} of ours")
    for name, seconds in best.items():
        print(f"{name:10}  {seconds:.3f} s  {megabytes / seconds:6.1f} MB/s")
    print(f"{best['tokenizers'] / best['tequio']:.1f} times as fast, on {megabytes:.1f} MB, {tokens} tokens")


if __name__ == "__main__":
    main()
