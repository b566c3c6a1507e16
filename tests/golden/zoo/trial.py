"""One file, trained by the program and held against PyTorch."""

import json
import multiprocessing
import os
import re
import shutil
import subprocess

import numpy
import onnx
import onnxruntime
import torch
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator
from safetensors.torch import load_file, save_file

from exporters import quietly
from reference import OPTIMIZERS, STEPS, options_of

SECONDS = 300
GRAIN = 1e-3            # of the whole gradient's norm is added to each: some are rounding alone
HUGE_RATE = 2.0**20     # a step of plain SGD with it leaves the gradient, times the rate, for the weights


class Refused(Exception):
    """The program gave the file back, with the reason."""


def write_data(entry, path):
    batches = entry.batches()
    save_file({name: torch.cat([b[name] for b in batches]).contiguous() for name in batches[0]}, path)


def configuration(entry, path, optimizer, steps):
    label = list(entry.labels)
    model = {"type": "onnx", "path": path}
    if entry.own_loss:
        model |= {"loss": "output", "labels": label}
    else:
        model |= {"loss": entry.loss, "labels": label, "outputs": ["logits"]}
    classes = {"classes": entry.classes} if entry.classes else {}
    return {
        "train_data_path": "data.safetensors", "dataset_reader": {"type": "arrays", **classes},
        "model": model, "data_loader": {"batch_size": entry.batch, "shuffle": False},
        "trainer": {"num_epochs": -(-steps // 5), "max_steps": steps, "batches_per_step": 1,
                    "threads": 1, "save_summary_steps": 1, "optimizer": optimizer},
        "distributed": {"lanes": 1}}


def run(program, folder, name, config):
    """Trains in folder/name; losses of all steps."""
    job = folder / name
    shutil.rmtree(job, ignore_errors=True)
    (folder / f"{name}.jsonnet").write_text(json.dumps(config, indent=1))
    done = subprocess.run([program, "train", f"{name}.jsonnet", "-s", name, "--progress", "none"],
                          cwd=folder, capture_output=True, text=True, timeout=SECONDS,
                          env=os.environ | {"OMP_NUM_THREADS": "1"})
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if not re.search(r" info [A-Z_]+ ", line)]
        raise Refused(f"exit {done.returncode}: " + " | ".join(lines)[:2000])
    (folder / f"{name}.err").write_text(done.stderr)
    rows = [json.loads(line) for line in (job / "metrics.jsonl").read_text().splitlines()]
    return torch.tensor([row["loss"] for row in rows], dtype=torch.float64)


def find_names(network, file):
    """Of parameters and buffers: the initializer each is in. By its name; where the exporter gave
    another one, by its value, which no other has. (name, whether it lies transposed)"""
    held = {t.name: numpy_helper.to_array(t) for t in file.graph.initializer}
    by_value = {(v.shape, v.tobytes()): k for k, v in held.items()}
    ret = {}
    for name, value in network.state_dict(keep_vars=True).items():
        v = value.detach().numpy()
        turned = numpy.ascontiguousarray(v.T)
        if name in held:
            ret[name] = (name, False)
        elif (v.shape, v.tobytes()) in by_value:
            ret[name] = (by_value[v.shape, v.tobytes()], False)
        elif (turned.shape, turned.tobytes()) in by_value:
            ret[name] = (by_value[turned.shape, turned.tobytes()], True)
    return ret


def fetch(held, place):
    """A tensor of the file under PyTorch's layout, None if it is not among them."""
    if place is None or place[0] not in held:
        return None
    return held[place[0]].T if place[1] else held[place[0]]


def relative(few, many):
    return ((few - many).abs() / many.abs().clamp_min(1e-12)).max().item()


def compare_losses(losses, wanted):
    """Largest relative distances: to PyTorch in float32, to it in float64, and of PyTorch's own runs in
    float32 to that."""
    if len(losses) != STEPS or not torch.isfinite(losses).all():
        return {"float32": float("inf"), "losses": losses.tolist()}
    ret = {"float32": relative(losses, wanted["float32"]["losses"])}
    if "float64" in wanted:
        ret["float64"] = relative(losses, wanted["float64"]["losses"])
        ret["apart"] = max(relative(wanted[kind]["losses"], wanted["float64"]["losses"])
                           for kind in ("float32", "rounded"))
    return ret


def compare_gradients(first, moved, wanted, names):
    """The worst gradient, as a share of its norm, and whose; a weight that did not move has none."""
    grain = GRAIN * sum(v.double().norm() ** 2 for v in wanted.values()) ** 0.5
    worst, whose, still = 0.0, "", []
    for name, want in wanted.items():
        begin, end = (fetch(held, names.get(name)) for held in (first, moved))
        got = torch.zeros_like(want) if begin is None or end is None else \
            (begin.double() - end.double()) / HUGE_RATE
        apart = ((got - want).norm() / (want.double().norm() + grain)).item()
        if not got.any() and want.norm() > grain:
            still.append(name)
        if not apart <= worst:
            worst, whose = apart, name
    return {"worst": worst, "whose": whose, "still": still}


def gradients_apart(wanted):
    """The same for PyTorch's own gradients in float32, from those in float64."""
    many = wanted.get("float64", wanted["float32"])["grads"]
    grain = GRAIN * sum(v.double().norm() ** 2 for v in many.values()) ** 0.5
    return max(((wanted["float32"]["grads"][k] - v).norm() / (v.double().norm() + grain)).item()
               for k, v in many.items())


def compare_statistics(network, before, after, wanted, names, steps):
    """Running statistics of batch norm after so many steps, from those that the file began with."""
    worst = 0.0
    modules = dict(network.named_modules())
    for norm, calls in wanted.items():
        share = modules[norm].momentum
        for which, kind in enumerate(("running_mean", "running_var")):
            place = names.get(f"{norm}.{kind}")
            value, end = fetch(before, place), fetch(after, place)
            if end is None:
                return {"worst": float("inf"), "whose": f"{norm}.{kind}"}
            value = value.double()
            for call in calls[:len(calls) * steps // STEPS]:
                value = (1 - share) * value + share * call[which].double()
            worst = max(worst, ((end.double() - value).norm() / value.norm().clamp_min(1e-3)).item())
    return {"worst": worst}


def by_onnxruntime(path, fed, answer):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    inputs = {i.name for i in session.get_inputs()}
    numpy.save(answer, session.run(None, {k: v for k, v in fed.items() if k in inputs})[0])


def by_reference(path, fed, answer):
    session = ReferenceEvaluator(str(path))
    numpy.save(answer, session.run(None, {k: v for k, v in fed.items() if k in session.input_names})[0])


def apart(work, *given):
    """In a process of its own, quietly; its exit code."""
    child = multiprocessing.get_context("fork").Process(target=silently, args=(work, *given))
    child.start()
    child.join()
    return child.exitcode


def silently(work, *given):
    quietly()
    work(*given)


def outputs_of(path, fed):
    """The first output of the file and who says so: ONNX Runtime or, where it crashes, onnx.reference.
    Each in a process of its own."""
    answer, said = path.with_suffix(".npy"), ""
    for judge in (by_onnxruntime, by_reference):
        answer.unlink(missing_ok=True)
        code = apart(judge, path, fed, answer)
        if answer.exists():
            return numpy.load(answer), judge.__name__
        said += f"{judge.__name__} ends by {code}; "
    raise RuntimeError(said)


def is_refused_elsewhere(entry, path):
    """Whether ONNX Runtime does not run the exporter's file either."""
    fed, answer = entry.batches()[0], path.with_suffix(".npy")
    answer.unlink(missing_ok=True)
    apart(by_onnxruntime, path, {name: fed[name].numpy() for name in entry.fed()}, answer)
    return not answer.exists()


def exporter_is_off(entry, path):
    """The largest distance of what ONNX Runtime makes of the exporter's own file from PyTorch, over all
    batches, relative to the largest output."""
    network, worst = entry.network().train(), 0.0
    for batch in entry.batches():
        fed = {name: batch[name] for name in entry.fed()}
        with torch.no_grad():
            wanted = network(*fed.values())
        wanted = (wanted[0] if isinstance(wanted, (tuple, list)) else wanted).numpy()
        got, _ = outputs_of(path, {k: v.numpy() for k, v in fed.items()})
        worst = max(worst, float(numpy.abs(got - wanted).max() / numpy.abs(wanted).max()))
    return worst


def compare_export(entry, path, weights, names):
    """What ONNX Runtime makes of the file that came out, and PyTorch of the weights: largest distance
    of the outputs, relative to their largest value."""
    network = entry.network()
    state = network.state_dict()
    for name, place in names.items():
        value = fetch(weights, place)
        if value is not None:
            state[name].copy_(value)
    network.eval()
    batch = entry.batches()[0]
    fed = {name: batch[name] for name in entry.fed()}
    with torch.no_grad():
        wanted = network(*fed.values())
    wanted = (wanted[0] if isinstance(wanted, (tuple, list)) else wanted).numpy()
    got, judge = outputs_of(path, {k: v.numpy() for k, v in fed.items()})
    if got.shape != wanted.shape:
        return {"error": f"shape {list(got.shape)}, PyTorch's {list(wanted.shape)}"}
    return {"distance": float(numpy.abs(got - wanted).max() / numpy.abs(wanted).max()), "judge": judge}


def trial(entry, wanted, program, folder, model):
    """Of that file in the folder: a dictionary of all distances, or of the reason why there are none."""
    network, file = entry.network(), onnx.load(folder / model)
    names = find_names(network, file)
    first = {t.name: torch.from_numpy(numpy_helper.to_array(t).copy()) for t in file.graph.initializer}
    write_data(entry, folder / "data.safetensors")
    try:
        run(program, folder, "gradient",
            configuration(entry, model, {"type": "sgd", "lr": HUGE_RATE}, 1))
        ret = {"guessed": " GUESS " in (folder / "gradient.err").read_text(), "loss": {}}
        for optimizer in OPTIMIZERS:
            losses = run(program, folder, optimizer,
                         configuration(entry, model, options_of(entry, optimizer), STEPS))
            ret["loss"][optimizer] = compare_losses(losses, wanted[optimizer])
    except Refused as reason:
        return {"refused": str(reason), "elsewhere": is_refused_elsewhere(entry, folder / model)}
    except subprocess.TimeoutExpired:
        return {"refused": f"not done after {SECONDS} s", "elsewhere": False}
    moved = load_file(folder / "gradient" / "model.safetensors")
    trained = load_file(folder / "sgd" / "model.safetensors")
    ret["gradient"] = {kind: compare_gradients(first, moved, run["grads"], names)
                       for kind, run in wanted["sgd"].items() if kind.startswith("float")}
    ret["gradient apart"] = gradients_apart(wanted["sgd"])
    for which, after, steps in (("first statistics", moved, 1), ("statistics", trained, STEPS)):
        ret[which] = {kind: compare_statistics(network, first, after, run["statistics"], names, steps)
                      for kind, run in wanted["sgd"].items() if kind.startswith("float")}
    try:
        ret["export"] = compare_export(entry, folder / "sgd" / "model.onnx", trained, names)
    except Exception as error:    # the program's file, or ONNX Runtime
        ret["export"] = {"error": f"{type(error).__name__}: {error}"[:400]}
    return ret
