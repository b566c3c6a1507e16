#!/usr/bin/env python3
"""What the flight recorder costs a job: its events a step, what one costs, and jobs with and without it in turns.

A local cluster of two workers and two servers trains Fashion-MNIST's CNN. Once, how many events its processes note is
read from what they write on SIGUSR1; then jobs with and without a recorder (TEQUIO_EVENTS=off) run in turns: their
processor time, all processes together, and their time a step.

    bench/events.py [ROUNDS]           3 rounds; TEQUIO=path of the program, build/release/tequio, and
                                       EVENT_COST=path of its measure, build/release/tests/event_cost

Prints JSON. The share is that of events a step, at the price of a message, of a step's processor time.
"""
import json
import os
import pathlib
import resource
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent.parent
TEQUIO = os.environ.get("TEQUIO", str(HERE / "build/release/tequio"))
EVENT_COST = os.environ.get("EVENT_COST", str(HERE / "build/release/tests/event_cost"))
CONFIG = "(import '%s/examples/fashion-mnist/cnn.jsonnet') + { trainer+: { num_epochs: 1 } }\n" % HERE
# as recording_head begins (src/common/live/recording.h)
HEAD = struct.Struct("<8s6I8i5qQ")


def noted(path):
    """How many events the process has noted by then."""
    fields = HEAD.unpack_from(path.read_bytes())
    assert fields[0] == b"TQEVENTS"
    return fields[-1]


def ask(folder, pid):
    """The events of all tasks so far, by asking the launcher, and the step of the moment."""
    events = folder / "job/log/events"
    os.kill(pid, signal.SIGUSR1)
    until = time.time() + 30
    while len(list(events.glob("*.bin"))) < 5 and time.time() < until:
        time.sleep(0.05)
    live = json.loads((folder / "job/metrics.jsonl").read_text().splitlines()[-1])
    return sum(noted(p) for p in events.glob("*.bin")), live["step"]


def job(folder, keeps_events, counts=False):
    shutil.rmtree(folder / "job", ignore_errors=True)
    (folder / "config.jsonnet").write_text(CONFIG)
    env = dict(os.environ, CUDA_VISIBLE_DEVICES="", **({} if keeps_events else {"TEQUIO_EVENTS": "off"}))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    p = subprocess.Popen([TEQUIO, "train", "config.jsonnet", "-s", "job", "--workers", "2", "--ps", "2", "--progress",
                          "none"], cwd=folder, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    events, step = 0, 0
    if counts:
        lines = folder / "job/metrics.jsonl"
        while p.poll() is None and not (lines.exists() and lines.read_text().count("\n") >= 6):
            time.sleep(0.05)
        events, step = ask(folder, p.pid)
    assert p.wait() == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    summary = json.loads((folder / "job/summary.json").read_text())
    steps = summary["steps"]
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu_ms": 1000 * cpu / steps, "wall_ms": 1000 * summary["wall_s"] / steps,
            "events": events / step if step else 0}


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    cost = json.loads(subprocess.run([EVENT_COST], check=True, capture_output=True, text=True).stdout)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tequio-events-"))
    try:
        events = job(folder, True, counts=True)["events"]
        jobs = {False: [], True: []}
        for i in range(2 * rounds):
            keeps_events = i % 4 in (1, 2)
            jobs[keeps_events].append(job(folder, keeps_events))
    finally:
        shutil.rmtree(folder)
    def median(keeps_events, key):
        return round(statistics.median(one[key] for one in jobs[keeps_events]), 3)

    print(json.dumps({
        "cost": cost, "events_a_step": round(events, 1),
        "cpu_ms_a_step": {"off": median(False, "cpu_ms"), "on": median(True, "cpu_ms")},
        "wall_ms_a_step": {"off": median(False, "wall_ms"), "on": median(True, "wall_ms")},
        "percent_of_a_step": round(100 * events * cost["message_ns"] * 1e-6 / median(False, "cpu_ms"), 4),
        "all": {"off": jobs[False], "on": jobs[True]},
    }, indent=2))


main()
