"""The zoo: networks that no test names, exported by both of PyTorch's exporters, trained by the
program and held against PyTorch.

    python tests/golden/zoo PROGRAM FOLDER [--redo] [--table] [--fixtures] [name...]

FOLDER keeps the files, PyTorch's runs and results: what is there is not done again, but for the program's
part with --redo. --table writes the table of docs/MODELS.md from all results in there, --fixtures the files of
models_test.c.
Needs torch, torchvision, transformers, onnx, onnxscript, onnxruntime, safetensors.
"""

import argparse
import gc
import json
import os
import pathlib
import time

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

import exporters
import fixtures
import models
import table
from reference import reference
from trial import exporter_is_off, trial


def cached(path, make):
    if not path.exists():
        torch.save(make(), path)
    return torch.load(path, weights_only=False)


def file_of(entry, exporter, folder):
    """How the file was exported, and why not if it was not."""
    note = folder / "exported.json"
    if not note.exists():
        folder.mkdir(parents=True, exist_ok=True)
        note.write_text(json.dumps(exporters.export(entry, exporter, folder / "model.onnx")))
    return json.loads(note.read_text())


def hold(name, exporter, program, folder):
    """Against PyTorch: the exporter's file as it is or, where that differs and does not say what moves,
    with a note of that in it."""
    entry, place = models.ZOO[name], folder / name / exporter
    way, reason = file_of(entry, exporter, place)
    if way is None:
        return {"no file": reason}
    twin, note = entry.written.get(exporter, (entry, ""))
    path = folder / name / ("reference.pt" if twin is entry else f"{exporter}.pt")
    wanted = cached(path, lambda: reference(twin))
    common = {"batch": way, "fixed because": reason, "note": note, "noted": False}
    plain = common | trial(twin, wanted, program, place, "model.onnx")
    network = entry.network()
    unsaid = plain.get("guessed") or not all(p.requires_grad for p in network.parameters())
    if "refused" in plain or not table.faults(plain):
        return plain
    if not unsaid:
        return plain | {"off": exporter_is_off(twin, place / "model.onnx")}
    exporters.note_moves(network, place / "model.onnx", place / "noted.onnx")
    noted = trial(twin, wanted, program, place, "noted.onnx")
    return common | noted | {"noted": True, "plain": table.faults(plain)}


def visit(name, exporter, given):
    path, begin = given.folder / name / exporter / "result.json", time.time()
    if path.exists() and not given.redo:
        return
    try:
        result = hold(name, exporter, given.program, given.folder)
    except Exception as error:    # a row that is wrong: told, and tried again next time
        print(f"{name}/{exporter}: BROKEN {type(error).__name__}: {error}"[:600], flush=True)
        return
    path.write_text(json.dumps(result, indent=1))
    print(f"{name}/{exporter}: {table.line(result)}  ({time.time() - begin:.0f} s)", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="zoo", description=__doc__.split("\n")[0])
    parser.add_argument("program", type=lambda x: str(pathlib.Path(x).resolve()))
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--redo", action="store_true", help="run the program again")
    parser.add_argument("--table", action="store_true", help="write the table of docs/MODELS.md")
    parser.add_argument("--fixtures", action="store_true", help="write the files of models_test.c")
    parser.add_argument("names", nargs="*")
    given = parser.parse_intermixed_args()
    torch.set_num_threads(1)
    for name in given.names or models.ZOO:
        for exporter in exporters.EXPORTERS:
            visit(name, exporter, given)
        gc.collect()
    if given.fixtures:
        for name, exporter in fixtures.ROWS.items():
            fixtures.write(name, models.ZOO[name], given.folder / name, exporter)
    if given.table:
        table.write(given.folder)


if __name__ == "__main__":
    main()
