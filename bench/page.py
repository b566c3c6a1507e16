#!/usr/bin/env python3
"""What it costs a job that it is looked at: processor time and time of a training process, with a page to which somebody
listens, and its own figures, which somebody scrapes every second, against neither. Runs take turns, the first of a round
too; ratios are of a round.

    bench/page.py [ROUNDS [STEPS]]      6 rounds of 250 steps

TEQUIO=path of the program, build/release/tequio; TOOLS=where make_idx is, the tests of that build. Prints a line of JSON:
medians, and the ratios of all rounds. Processor time is the process's own, all threads; that of the thread which serves
figures is told by itself, which other work of the machine does not blur, and so is the page's, a process beside it. live.json is written in both: nobody can do without.
"""
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
TEQUIO = os.environ.get("TEQUIO", HERE + "/build/release/tequio")
TOOLS = os.environ.get("TOOLS", os.path.dirname(TEQUIO) + "/tests")
CONFIG = """{
    dataset_reader: { type: "idx" }, train_data_path: "%s/images-idx3-ubyte",
    model: { type: "mlp", hidden: [1000, 1000] }, data_loader: { batch_size: 128 },
    trainer: { num_epochs: 100000, max_steps: %d, threads: 1, save_checkpoints_secs: null },
    distributed: { lanes: 1 },
}"""


def opener():
    return urllib.request.build_opener(urllib.request.ProxyHandler({}))


def listen(page, counts):
    """As the page does: what changes is told, and what files have grown by is asked for."""
    at = 0
    try:
        for line in opener().open(page + "api/events", timeout=60):
            counts["events"] += line.startswith(b"event: ")
            if not line.startswith(b"data: ") or b'"files"' not in line[:20]:
                continue
            told = json.load(opener().open(f"{page}api/run/0/lines?file=metrics&from={at}", timeout=60))
            at = told["next"]
    except OSError:
        pass            # the job has ended


def scrape(metrics, counts, over):
    while not over.wait(1):
        try:
            counts["scrapes"] += bool(opener().open(metrics, timeout=60).read())
        except OSError:
            return


def follow(job, counts):
    page = metrics = None
    over, threads = threading.Event(), []
    for line in job.stderr:
        page = page or re.search(r"^page: (http\S+)", line)
        metrics = metrics or re.search(r" METRICS (http\S+)", line)
        if page and metrics and not threads:
            threads = [threading.Thread(target=listen, args=(page[1], counts), daemon=True),
                       threading.Thread(target=scrape, args=(metrics[1], counts, over), daemon=True)]
            for thread in threads:
                thread.start()
    over.set()


def watch(pid, ret, over):
    """The processor time of the thread that serves figures, as it grows: libmicrohttpd names it."""
    while not over.wait(0.2):
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/comm") as name, open(f"/proc/{pid}/task/{task}/schedstat") as ran:
                    if name.read().startswith("MHD"):
                        ret["http"] = int(ran.read().split()[0]) / 1e9
        except OSError:
            pass        # a thread, or the job, has ended


def seconds(pid):
    """Of a process that has ended and was not waited for: its own, and its children's."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    ticks = [int(n) / os.sysconf("SC_CLK_TCK") for n in fields[11:15]]
    return ticks[0] + ticks[1], ticks[2] + ticks[3]


def train(folder, flags, counts):
    began = time.monotonic()
    job = subprocess.Popen([TEQUIO, "train", folder + "/config.jsonnet", "-s", folder + "/job", "-f", "--progress", "none",
                            *flags], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    reader, served, over = threading.Thread(target=follow, args=(job, counts)), {"http": 0.0}, threading.Event()
    reader.start()
    threading.Thread(target=watch, args=(job.pid, served, over), daemon=True).start()
    os.waitid(os.P_PID, job.pid, os.WEXITED | os.WNOWAIT)
    wall, (own, page) = time.monotonic() - began, seconds(job.pid)
    over.set()
    if job.wait():
        sys.exit(f"it ended with {job.returncode}")
    reader.join()
    with open(folder + "/job/summary.json") as file:
        return {"wall": wall, "own": own, "page": page, "http": served["http"], "sha": json.load(file)["params_sha256"]}


def main(rounds=6, steps=250):
    ratios, all_runs, counts = {"own": [], "wall": []}, {"without": [], "with": []}, {"events": 0, "scrapes": 0}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([TOOLS + "/make_idx", folder, "6400", "10", "28"], check=True)
        with open(folder + "/config.jsonnet", "w") as file:
            file.write(CONFIG % (folder, int(steps)))
        for i in range(int(rounds)):
            runs = {}
            for how in ("without", "with") if i % 2 == 0 else ("with", "without"):
                runs[how] = train(folder, ["--page=0", "--metrics=127.0.0.1:0"] if how == "with" else [], counts)
                all_runs[how].append(runs[how])
            for key, list_of in ratios.items():
                list_of.append(runs["with"][key] / runs["without"][key])
    if len({run["sha"] for runs in all_runs.values() for run in runs}) != 1:
        sys.exit("the weights are not the same")
    median = lambda how, key: round(statistics.median(run[key] for run in all_runs[how]), 3)
    print(json.dumps({
        "cpu_s": [median("without", "own"), median("with", "own")], "wall_s": [median("without", "wall"),
                                                                              median("with", "wall")],
        "page_cpu_s": median("with", "page"), "http_thread_cpu_s": round(statistics.median(
            run["http"] for run in all_runs["with"]), 4), **counts,
        "cpu_ratio": round(statistics.median(ratios["own"]), 4), "cpu_ratios": [round(x, 4) for x in ratios["own"]],
        "wall_ratio": round(statistics.median(ratios["wall"]), 4), "wall_ratios": [round(x, 4) for x in ratios["wall"]],
    }))


main(*sys.argv[1:])
