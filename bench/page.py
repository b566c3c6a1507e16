#!/usr/bin/env python3
"""What it costs a job that it is looked at: while one job trains, its page is open and its own figures are scraped every
second, or neither, in windows that take turns, the first of a pair too. Ratios are of a pair, open over closed.

    bench/page.py [MINUTES [PAIR [browser]]]    10 minutes, pairs of 10 seconds

Somebody listens and asks as the page does; with the word `browser` it is Chromium, headless, that has the page open, and
takes processor time of this machine for itself. The job is an mlp of 1.8 million weights in one process, one thread.
TEQUIO=path of the program, build/release/tequio; TOOLS=where make_idx is, the tests of that build.

Prints a line of JSON: medians of the ratios of time and of processor time a step, with their quartiles; the shares of a
core that the page's process took, and the job's thread that serves figures; and memory in MB after the first pair and at
the end, of the job, of the page's process, and of the scripts of the open page.
"""
import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(HERE + "/tests/tools")
from browser import Browser  # noqa: E402

TEQUIO = os.environ.get("TEQUIO", HERE + "/build/release/tequio")
TOOLS = os.environ.get("TOOLS", os.path.dirname(TEQUIO) + "/tests")
CONFIG = """{
    dataset_reader: { type: "idx" }, train_data_path: "%s/images-idx3-ubyte",
    model: { type: "mlp", hidden: [1000, 1000] }, data_loader: { batch_size: 128 },
    trainer: { num_epochs: 100000, threads: 1, save_checkpoints_secs: null },
    distributed: { lanes: 1 },
}"""
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def fetch(address):
    return OPENER.open(address, timeout=60)


class Listener:
    """Who is told what changes, and asks for what files have grown by."""

    def __init__(self, address):
        self.address, self.stream = address, None

    def show(self):
        self.stream = fetch(self.address + "api/events")
        threading.Thread(target=self.listen, args=(self.stream,), daemon=True).start()

    def listen(self, stream):
        at = 0
        try:
            for line in stream:
                if line.startswith(b"data: ") and b'"files"' in line[:20]:
                    at = json.load(fetch(f"{self.address}api/run/0/lines?file=metrics&from={at}"))["next"]
        except (OSError, ValueError, AttributeError):
            pass        # it was closed

    def hide(self):
        self.stream.close()

    def heap(self):
        return None

    def close(self):
        pass


class Viewer:
    """The page in a browser."""

    def __init__(self, address, folder):
        self.address, self.browser = address, Browser(folder)
        self.page = self.browser.open("about:blank", 1440, 900)

    def show(self):
        self.page.ask("Page.navigate", url=self.address)
        self.page.until("document.body && Number(document.body.dataset.looks) > 1 && byId('how').textContent === 'live'")

    def hide(self):
        self.page.ask("Page.navigate", url="about:blank")

    def heap(self):
        self.page.ask("HeapProfiler.collectGarbage")
        return round(self.page.ask("Runtime.getHeapUsage")["usedSize"] / 1e6, 2)

    def close(self):
        self.browser.__exit__()


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def processor_s(pid):
    """Of a process, all threads, those that have ended too (clock_getcpuclockid's clock)."""
    return time.clock_gettime((~pid << 3) | 2)


def http_thread_s(pid):
    """Of the thread that serves figures: libmicrohttpd names it."""
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/comm") as name, open(f"/proc/{pid}/task/{task}/schedstat") as ran:
                if name.read().startswith("MHD"):
                    return int(ran.read().split()[0]) / 1e9
        except OSError:
            pass        # a thread that has ended
    return 0.0


def memory_mb(pid):
    with open(f"/proc/{pid}/status") as file:
        return round(int(re.search(r"VmRSS:\s+(\d+)", file.read())[1]) / 1000, 1)


class Job:
    def __init__(self, folder):
        subprocess.run([TOOLS + "/make_idx", folder, "6400", "10", "28"], check=True)
        with open(folder + "/config.jsonnet", "w") as file:
            file.write(CONFIG % folder)
        self.process = subprocess.Popen(
            [TEQUIO, "train", folder + "/config.jsonnet", "-s", folder + "/job", "--progress", "none", "--page=0",
             "--metrics=127.0.0.1:0"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.pid, self.page, self.metrics = self.process.pid, None, None

    def begin(self):
        while not (self.page and self.metrics):
            line = self.process.stderr.readline()
            if not line or line.startswith("page: it"):
                sys.exit(f"the job or its page ended: {line}")
            self.page = self.page or next(iter(re.findall(r"^page: (http\S+)", line)), None)
            self.metrics = self.metrics or next(iter(re.findall(r" METRICS (http\S+)", line)), None)
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        self.server, = children(self.pid)

    def steps(self):
        return int(re.search(r"^tequio_worker_slots_total\S* (\d+)", fetch(self.metrics).read().decode(), re.M)[1])

    def now(self):
        return {"wall": time.monotonic(), "steps": self.steps(), "own": processor_s(self.pid),
                "page": processor_s(self.server), "http": http_thread_s(self.pid)}


def window(job, seconds, is_open):
    """What grew in it by how much."""
    before = job.now()
    while time.monotonic() < before["wall"] + seconds:
        time.sleep(1)
        if is_open:
            fetch(job.metrics).read()
    after = job.now()
    return {key: after[key] - before[key] for key in before}


def pair(job, viewer, seconds, opens_first):
    """Opening and closing are not part of either window."""
    told = {}
    for is_open in (True, False) if opens_first else (False, True):
        if is_open:
            viewer.show()
        time.sleep(0.5)
        told[is_open] = window(job, seconds / 2, is_open)
        if is_open:
            told["heap"] = viewer.heap()
            viewer.hide()
    return told


def spread(ratios):
    low, middle, high = statistics.quantiles(ratios, n=4)
    return {"median": round(middle, 4), "quartiles": [round(low, 4), round(high, 4)]}


def measure(job, viewer, seconds, pair_s):
    pair(job, viewer, pair_s, True)     # what is made once
    pairs, memory, end = [], [], time.monotonic() + seconds
    while time.monotonic() < end or len(pairs) < 2:
        pairs.append(pair(job, viewer, pair_s, len(pairs) % 2 == 0))
        memory.append([memory_mb(job.pid), memory_mb(job.server), pairs[-1]["heap"]])
    ratio = lambda of: spread([of(p[True]) / of(p[False]) for p in pairs])
    share = lambda key: round(sum(p[True][key] for p in pairs) / sum(p[True]["wall"] for p in pairs), 6)
    return {"pairs": len(pairs), "steps": sum(p[True]["steps"] + p[False]["steps"] for p in pairs),
            "wall_of_a_step": ratio(lambda w: w["wall"] / w["steps"]),
            "processor_of_a_step": ratio(lambda w: w["own"] / w["steps"]),
            "page_process_share": share("page"), "http_thread_share": share("http"),
            "memory_mb": dict(zip(("job", "page", "scripts"), zip(memory[0], memory[-1]))),
            "memory_mb_most": [max(m[0] for m in memory), max(m[1] for m in memory)]}


def main(minutes=10, pair_s=10, by="listener"):
    with tempfile.TemporaryDirectory() as folder:
        job = Job(folder)
        try:
            job.begin()
            with contextlib.closing(Viewer(job.page, folder + "/browser") if by == "browser" else
                                    Listener(job.page)) as viewer:
                print(json.dumps({"by": by, **measure(job, viewer, 60 * float(minutes), float(pair_s))}))
        finally:
            job.process.terminate()
            job.process.wait()


main(*sys.argv[1:])
