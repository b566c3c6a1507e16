"""The stages, in the order in which they tell most, and what each does."""
import dataclasses
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from typing import Callable

from gpu_check import machine
from gpu_check.state import PHASES, Failed, OutOfTime

SERVED = ["--workers", "1", "--ps", "1"]  # the shape of most jobs
SANITIZED = ("memcheck", "racecheck", "synccheck", "initcheck")
OWN_ALONE = {"TEQUIO_CUDA_GRAPHS": "0", "TEQUIO_CUDA_LIBRARIES": "none"}


@dataclasses.dataclass
class Stage:
    phase: str
    name: str
    seconds: float  # that it is expected to take, on an H200; nobody has measured it
    run: Callable   # of a Work: what comes out, a dict


@dataclasses.dataclass
class Job:
    params: str
    summary: dict
    metrics: dict
    said: str


def setting(name, otherwise):
    return os.environ.get(name) or otherwise


def last_line(text):
    return text.strip().rsplit("\n", 1)[-1]


def parsed(said):
    """The object among what a program printed."""
    return json.JSONDecoder().raw_decode(said[said.index("{"):])[0]


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


class Work:
    """A folder for what stages make, and programs that are run within their time."""

    def __init__(self, found, clock):
        self.machine, self.clock = found, clock
        self.steps = int(setting("STEPS", 100))
        self.samples = setting("SAMPLES", "20")
        self.limit = float(setting("LIMIT", 1200))
        self.complained, self.logged, self.configs = [], [], set()

    def __enter__(self):
        self.dir = tempfile.mkdtemp(prefix="tequio-gpu-")
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.dir, ignore_errors=True)

    def complain(self, text):
        self.complained.append(text)

    def complaints(self):
        told, self.complained = self.complained, []
        return told

    def log(self):
        lines, self.logged = self.logged, []
        return lines

    def keep(self, text):
        self.logged += text.split("\n")

    def run(self, command, env=None, tell=False):
        """What it prints, standard output and error together; Failed with the last line of that."""
        left = self.clock.left()
        limit = max(0.0, min(self.limit, left))
        with open(f"{self.dir}/said", "w+", encoding="utf-8", errors="replace") as said:
            with subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, start_new_session=True,
                                  env={**os.environ, **(env or {})}) as process:
                try:
                    code = process.wait(limit)
                except subprocess.TimeoutExpired:
                    code = None
                finally:
                    if process.poll() is None or code is None:
                        os.killpg(process.pid, signal.SIGKILL)
            said.seek(0)
            text = said.read()
        if code is None and left < self.limit:
            raise OutOfTime
        if code is None:
            text += f"\nit was ended after {self.limit:g} s\n"
        if code or code is None or tell:
            print("\n".join(text.strip().split("\n")[-20:]), file=sys.stderr, flush=True)
        if code != 0:
            self.keep(text)
            raise Failed(last_line(text) or f"it ended with {code}")
        return text

    def tequio(self, *arguments, env=None):
        return self.run([self.machine.tequio, *arguments], env)

    def data(self, example):
        """Where its data is, if that is in the archive."""
        if not self.machine.packed or "fashion-mnist" not in example:
            return {}
        images = f"{self.machine.packed}/t10k-images-idx3-ubyte.gz"
        return {"train_data_path": images, "validation_data_path": images}

    def train(self, example, devices, more, *flags, env=None):
        to = f"{self.dir}/job"
        over = {**self.data(example), "distributed.cuda_devices": devices, "trainer.precision": "f32", **more}
        try:
            said = self.tequio("train", example, "-s", to, "--force", "--progress", "none", *flags,
                               "-o", json.dumps(over), env=env)
        except Failed as e:
            raise Failed(f"{example} on {devices}: {json.dumps(more)} {' '.join(flags)}: {e}") from e
        summary = read_json(f"{to}/summary.json")
        return Job(summary["params_sha256"], summary, read_json(f"{to}/metrics.json"), said)

    def config(self, model, precision):
        """A network of bench/gpu.sh, with its data."""
        path = f"{self.dir}/{model}-{precision}.jsonnet"
        if path not in self.configs:
            self.run(["bench/gpu.sh", model], {"CONFIGS": self.dir, "OUT": "", "PRECISIONS": precision, "PEER": "none"})
            self.configs.add(path)
        return path

    def nearly(self, what, loss, on_cpu, share):
        if not (on_cpu > 0 and abs(loss - on_cpu) <= share * on_cpu):
            self.complain(f"{what}: the loss is {loss}, and {on_cpu} on the CPU in float32")


# --- what stages do

def test(name, command=(), env=None):
    def run(w):
        w.run([*command, f"{machine.BUILT}/tests/gpu/gpu_{name}_test"],
              {"GOLDEN_DATA": os.path.abspath("tests/golden/data"), **(env or {})})
    return run


def sanitized(tool, name, env):
    # libraries ask CUDA for what is not there, which is no error of anybody
    path = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    command = [path, "--tool", tool, "--report-api-errors", "no", "--error-exitcode", "1", "--target-processes", "all"]

    def run(w):
        if not os.path.exists(path):
            raise Failed("there is no compute-sanitizer in PATH")
        test(name, command, {"TEQUIO_CUDA_GRAPHS": "0", "TEQUIO_CUDA_GUARD": "1", **env})(w)
    return run


def gradients(model, precision):
    def run(w):
        said = w.tequio("bench", "gradients", w.config(model, precision), "--device", "cuda:0", "--json")
        return parsed(said)
    return run


def row(model, precision, rounds):
    def run(w):
        out = f"{w.dir}/row"
        w.run(["bench/gpu.sh", model], {"TEQUIO": w.machine.tequio, "OUT": out, "STEPS": w.samples,
                                        "PRECISIONS": precision, "ROUNDS": rounds}, tell=True)
        measured = read_json(out)
        return {"row": measured, "goals": list(goals(measured))}
    return run


def goals(measured):
    """What a GPU is to reach; missing one fails nothing."""
    what = f"{measured['model']}, {measured['precision']}"
    wanted = [("speed beside the peer", "of_peer", "at-least", 1),
              ("speed through a server", "of_alone", "at-least", 0.95),
              ("idle share of the GPU", "idle", "below", 0.03)]
    if what == "gpt2_124m, bf16":
        wanted.append(("MFU", "mfu", "at-least", 0.5))
    for text, key, how, limit in wanted:
        value = measured[key]
        met = value is not None and (value < limit if how == "below" else value >= limit)
        result = "not measured" if value is None else "pass" if met else "fail"
        told = "null" if value is None else value
        print(f"{what + ': ' + text:52} {told:>8}, {how} {limit}: {result}")
        yield {"goal": f"{what}: {text}", "value": value, how: limit, "result": result}


def devices(example):
    def run(w):
        said = w.tequio("bench", "devices", example, "-o", json.dumps(w.data(example)), "--samples", w.samples, "--json")
        return {"example": example, "report": parsed(said)}
    return run


AUGMENT = {"dataset_reader.augment": {"shift": 2, "flip": True, "random_erasing": {}, "mixup": {}}}


def augmentation(example):
    """Images that the GPU changes beside images that the host does: what steps take, and that weights are the same."""
    def run(w):
        told = {"example": example}
        for where, env in (("device", {}), ("host", {"TEQUIO_CUDA_AUGMENT": "0"})):
            over = {**w.data(example), **AUGMENT}
            said = w.tequio("bench", "devices", example, "--device", "cuda:0", "-o", json.dumps(over),
                            "--samples", w.samples, "--json", env=env)
            trained = w.train(example, [0], {**few(w.steps), **AUGMENT}, env=env)
            told[where] = {"report": parsed(said), "params_sha256": trained.params,
                           "examples_per_s_of_training": trained.summary["examples_per_s"]}
        if told["device"]["params_sha256"] != told["host"]["params_sha256"]:
            w.complain(f"{example}: other weights where the GPU changes images than where the host does")
        return told
    return run


def weights(model, precision):
    def run(w):
        steps, config = {"trainer.max_steps": 6, "trainer.precision": precision}, w.config(model, precision)
        ways = {"alone": [], "again": [], "served": SERVED}
        made = {way: w.train(config, [0], steps, *flags).params for way, flags in ways.items()}
        for way, params in made.items():
            if params != made["alone"]:
                w.complain(f"{model}, {precision}, {way}: other weights than alone")
        return made
    return run


def nodes(model, precision):
    def run(w):
        said = w.tequio("bench", "nodes", w.config(model, precision), "--device", "cuda:0", "--samples", w.samples, "--json")
        return {"nodes": parsed(said)}
    return run


def few(steps):
    return {"trainer.max_steps": steps, "validation_data_path": None, "trainer.validation_metric": "-loss"}


def job(example, metric, least, most):
    """To its end, twice; its beginning on the CPU too."""
    def run(w):
        a, b = (w.train(example, [0], {}, *SERVED) for _ in range(2))
        if a.params != b.params:
            w.complain(f"{example}: two runs, and other bits")
        reached = a.metrics.get(metric)
        if not (isinstance(reached, (int, float)) and least <= reached <= most):
            w.complain(f"{example}: {metric} is {reached}, and must be {least:g} to {most:g}")
        loss, on_cpu = (w.train(example, [device], few(w.steps), *SERVED).summary["training_loss"] for device in (0, -1))
        w.nearly(example, loss, on_cpu, 0.02)
        return {"example": example, "params_sha256": a.params, "again": b.params, metric: reached, "steps": w.steps,
                "loss": loss, "loss_on_cpu": on_cpu}
    return run


def halves(example):
    def run(w):
        on_cpu = w.train(example, [-1], few(w.steps), *SERVED).summary["training_loss"]
        told = {"example": example, "steps": w.steps, "loss_on_cpu": on_cpu}
        for precision in ("tf32", "bf16", "f16") if w.machine.chip >= 80 else ("f16",):
            more = {**few(w.steps), "trainer.precision": precision}
            a, b = (w.train(example, [0], more, *SERVED) for _ in range(2))
            if a.params != b.params:
                w.complain(f"{example}, {precision}: two runs, and other bits")
            told[precision] = a.summary["training_loss"]
            w.nearly(f"{example}, {precision}", told[precision], on_cpu, 0.03)
        # a scale of 2^30 overflows: some steps are skipped, and then it learns
        more = {**few(w.steps), "trainer.precision": "f16", "trainer.loss_scale_start": 1 << 30}
        told["skipped_steps"] = w.train(example, [0], more, *SERVED).summary["skipped_steps"]
        if not 1 <= told["skipped_steps"] < w.steps:
            w.complain(f"{example}, f16: {told['skipped_steps']} of {w.steps} steps were skipped")
        return told
    return run


def several(example):
    """Seven slots a step, which few numbers of GPUs divide."""
    def run(w):
        if w.machine.n_gpus == 1:
            print("several: there is one GPU, so there is nothing to compare")
            return {"gpus": 1}
        more = {**few((w.steps + 9) // 10), "trainer.batches_per_step": 7}
        reference, same = w.train(example, [0], more, *SERVED).params, []

        def compare(what, made):
            if made.params != reference:
                w.complain(f"{what}: other bits than one GPU")
            same.append(what)

        for n in range(2, w.machine.n_gpus + 1):
            every = list(range(n))
            for intra, env in (("nccl", {}), ("nccl", {"TEQUIO_CUDA_NCCL": "0"}), ("none", {})):
                made = w.train(example, every, {**more, "distributed.intra_host": intra}, *SERVED, env=env)
                way = re.search(r" INTRA_HOST .* on their devices, (by \w+)", made.said)
                compare(f"{n} GPUs, {way[1] if way else 'on the host'}", made)
            compare(f"{n} workers, 2 servers", w.train(example, every, more, "--workers", str(n), "--ps", "2"))
        return {"gpus": w.machine.n_gpus, "same_bits": same}
    return run


# --- which there are

def examples():
    least = 0.85 if os.path.isdir(f"{machine.BUILT}/fashion-mnist") else 0.9  # an archive has 10,000 images
    usual = f"""examples/fashion-mnist/cnn.jsonnet:validation_accuracy:{least}:1
                examples/tiny-shakespeare/small.jsonnet:validation_loss:0:2.3"""
    for one in setting("EXAMPLES", usual).split():
        file, metric, low, high = one.rsplit(":", 3)
        yield file, metric, float(low), float(high)


# Programs of tests/gpu, in their order, with the seconds that they are expected to take.
TESTS = {"lt_matmuls": 20, "op_value": 40, "attention_halves": 10, "bits": 30, "storage": 20, "step": 15,
         "precision": 20, "precision_conv": 25, "op_gradient": 60, "models": 60, "rounding": 20}


def stages_of_tests(lease):
    there = setting("TESTS", "").split() or machine.built_tests()
    tests = sorted(there, key=lambda name: list(TESTS).index(name) if name in TESTS else len(TESTS))
    for name in tests:
        yield Stage("tests", f"tests: {name}", TESTS.get(name, 60), test(name))
    for tool in SANITIZED:
        # races of libraries' kernels are their own; of a lease there is time for one test by each tool
        env = OWN_ALONE if tool == "racecheck" else {}
        names = [n for n in tests if n == "step"] if lease else tests if tool in SANITIZED[:2] else []
        for name in names:
            if name != "models":
                yield Stage("sanitizer", f"{tool}: {name}", 50, sanitized(tool, name, env))


def all_stages(lease, has_tests, chip=90):
    """First whether it is right at all, then what is least known; the rest; and what takes long."""
    models = setting("MODELS", "gpt2_124m bert_base_qa resnet50").split()
    half = "bf16" if chip >= 80 else "f16"
    precisions = setting("PRECISIONS", half if lease else "bf16 tf32 f32").split()
    rounds = setting("ROUNDS", "1" if lease else "3")
    tests = list(stages_of_tests(lease)) if has_tests else []
    smoke = [s for s in tests if s.name in ("tests: lt_matmuls", "tests: op_value", "tests: attention_halves")]
    shapes = models if setting("MODELS", "") else [*models, "bert_padded", "gqa_decoder"]
    table = smoke + [Stage("gradients", f"gradients: {m}", 35, gradients(m, half)) for m in shapes]
    table += [Stage("figures", f"figures: {m} {p}", 130, row(m, p, rounds)) for p in precisions for m in models]
    table += [Stage("weights", f"weights: {m}", 35, weights(m, half)) for m in models]
    table += [Stage("nodes", f"nodes: {m}", 20, nodes(m, half)) for m in models]
    table += [s for s in tests if s.phase == "tests" and s not in smoke]
    for file, metric, least, most in examples():
        table += [Stage("jobs", f"jobs: {file}", 45, job(file, metric, least, most)),
                  Stage("halves", f"halves: {file}", 45, halves(file)),
                  Stage("figures", f"figures: devices of {file}", 15, devices(file))]
    table.append(Stage("figures", f"figures: augmentation of {next(examples())[0]}", 30, augmentation(next(examples())[0])))
    table.append(Stage("several", "several", 5, several(next(examples())[0])))
    table += [s for s in tests if s.phase == "sanitizer"]
    pace = float(setting("PACE", 1))
    return [dataclasses.replace(s, seconds=s.seconds * pace) for s in table]


def choose(table, only, sanitizer):
    """Those of the words of --only, or all but what has to be asked for."""
    for word in only:
        if word not in PHASES and word not in [s.name for s in table]:
            print(f"gpu-check: there is no phase {word}", file=sys.stderr)
            sys.exit(2)
    if only:
        return [s for s in table if s.phase in only or s.name in only]
    return [s for s in table if sanitizer or s.phase != "sanitizer"]
