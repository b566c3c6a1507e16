#!/usr/bin/env python3
"""How long a cluster stands still when a task dies, freezes, hangs or is cut off, or the disk is full.

A master, two workers, two servers and an evaluator train Fashion-MNIST, each in a network namespace of its own;
who leaves with a code from 128 on is started again at once, and so is, after a kill, whoever a task says to hang.
As root: it makes namespaces, and mounts a small file system for the job dir.

    bench/recovery.py [ROUNDS]         3 rounds; TEQUIO=path of the program, build/release/tequio

A step is seen when its line is in metrics.jsonl; while the disk is full these wait in memory, so there the master's
own times in them are taken. Of everything that is done, the longest time between two steps is told, from the moment
it is done until RUN_ON seconds after it is undone, replayed steps included. Prints JSON: medians and all, in ms.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent.parent
TEQUIO = os.environ.get("TEQUIO", str(HERE / "build/release/tequio"))
HEARTBEAT_TIMEOUT, HANG_TIMEOUT, FREEZE, PARTITION, FULL, RUN_ON = 2, 4, 1, 3, 3, 1.5
TASKS = {"chief.0": "10.79.0.1", "worker.0": "10.79.0.2", "worker.1": "10.79.0.3",
         "ps.0": "10.79.0.4", "ps.1": "10.79.0.5", "evaluator.0": "10.79.0.6"}
LOOK = 0.002

CONFIG = """(import '%s/examples/fashion-mnist/mlp.jsonnet') + {
    model+: { hidden: [300, 300] },
    trainer+: { num_epochs: 100000, batches_per_step: 2, save_summary_steps: 1, save_checkpoints_steps: 100,
                keep_checkpoint_max: 2 },
    distributed: { lanes: 1, master_trains: false, security: 'off', ps_replicas: %d, heartbeat_timeout: %d,
                   hang_timeout: %d, wait_warning: 1, start_timeout: 30 },
}
"""


def run(*words):
    subprocess.run(words, check=True)


class Network:
    """A bridge, and a namespace for each task."""

    def __init__(self):
        self.name = "tqr%d" % os.getpid()
        run("ip", "netns", "add", self.name)
        run("ip", "-n", self.name, "link", "add", "hub", "type", "bridge")
        run("ip", "-n", self.name, "link", "set", "hub", "up")
        for task, address in TASKS.items():
            space = self.of(task)
            run("ip", "netns", "add", space)
            run("ip", "-n", self.name, "link", "add", task, "type", "veth", "peer", "name", "eth0", "netns", space)
            run("ip", "-n", self.name, "link", "set", task, "master", "hub", "up")
            run("ip", "-n", space, "address", "add", address + "/24", "dev", "eth0")
            run("ip", "-n", space, "link", "set", "eth0", "up")
            run("ip", "-n", space, "link", "set", "lo", "up")

    def of(self, task):
        return self.name + task

    def cut(self, task):
        run("ip", "-n", self.name, "link", "set", task, "down")

    def heal(self, task):
        run("ip", "-n", self.name, "link", "set", task, "up")

    def end(self):
        for name in [self.of(task) for task in TASKS] + [self.name]:
            subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL, check=False)


class Cluster:
    """The tasks, what starts them again, and the times at which steps were seen."""

    def __init__(self, dir, network, replicas):
        self.dir, self.network = dir, network
        self.config = dir / "config.jsonnet"
        self.config.write_text(CONFIG % (HERE, replicas, HEARTBEAT_TIMEOUT, HANG_TIMEOUT))
        self.disk = dir / "disk"
        self.disk.mkdir()
        run("mount", "-t", "tmpfs", "-o", "size=64m", "tequio-recovery", str(self.disk))
        self.lines = self.disk / "job/metrics.jsonl"
        self.steps, self.seen = [], 0
        self.logs = {task: open(dir / (task + ".log"), "ab") for task in TASKS}
        self.heard = {task: 0 for task in TASKS}
        self.processes = {task: self.start(task) for task in TASKS}

    def start(self, task):
        of = {}
        for name, address in TASKS.items():
            of.setdefault(name.split(".")[0], []).append(address + ":4000")
        of.pop("evaluator")
        type, index = task.split(".")
        tf_config = {"cluster": of, "task": {"type": type, "index": int(index)}}
        return subprocess.Popen(
            ["ip", "netns", "exec", self.network.of(task), TEQUIO, "train", str(self.config),
             "--job-dir", str(self.disk / "job"), "--progress", "none"],
            env={**os.environ, "TF_CONFIG": json.dumps(tf_config)}, stdout=self.logs[task], stderr=self.logs[task])

    def look(self):
        """What has happened since the last look: who left is started again, who hangs is killed, steps are noted."""
        for task, process in self.processes.items():
            code = process.poll()
            if code is None:
                continue
            if 0 <= code < 128:
                sys.exit("%s left with %d: %s" % (task, code, self.log_of(task)[-2000:]))
            self.processes[task] = self.start(task)
        for name in self.who_hangs():
            self.processes[name].kill()
        self.see_steps()

    def log_of(self, task):
        return (self.dir / (task + ".log")).read_text(errors="replace")

    def who_hangs(self):
        for task in TASKS:
            size = os.stat(self.dir / (task + ".log")).st_size
            if size > self.heard[task]:
                with open(self.dir / (task + ".log"), "rb") as log:
                    log.seek(self.heard[task])
                    new = log.read(size - self.heard[task]).decode(errors="replace")
                self.heard[task] = size
                for name in re.findall(r" HUNG task=(\S+)", new):
                    yield name.replace("master", "chief")

    def see_steps(self):
        try:
            size = os.stat(self.lines).st_size
        except FileNotFoundError:
            return
        if size != self.seen:
            self.seen = size
            self.steps.append(time.monotonic())

    def go_on(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.look()
            time.sleep(LOOK)

    def stand_still(self, since, seconds):
        """ms between the two steps that are farthest apart, within these seconds from now and since that moment"""
        self.go_on(seconds)
        while self.steps[-1] < since or time.monotonic() - self.steps[-1] > 0.5:
            self.go_on(0.5)
            if time.monotonic() - since > 60:
                sys.exit("no step for a minute; the master: " + self.log_of("chief.0")[-3000:])
        before = max(t for t in self.steps if t <= since)
        times = [t for t in self.steps if t >= before]
        return 1000 * max(b - a for a, b in zip(times, times[1:]))

    def lines_so_far(self):
        return self.lines.read_text().splitlines()

    def end(self):
        for process in self.processes.values():
            process.kill()
            process.wait()
        run("umount", "-l", str(self.disk))


def kill(cluster, task):
    cluster.processes[task].kill()
    return RUN_ON


def freeze(cluster, task):
    cluster.processes[task].send_signal(signal.SIGSTOP)
    cluster.go_on(FREEZE)
    cluster.processes[task].send_signal(signal.SIGCONT)
    return RUN_ON


def hang(cluster, task):
    stopped = cluster.processes[task]
    stopped.send_signal(signal.SIGSTOP)
    cluster.go_on(HANG_TIMEOUT + 3)
    stopped.send_signal(signal.SIGCONT)
    return RUN_ON


def partition(cluster, task):
    cluster.network.cut(task)
    cluster.go_on(PARTITION)
    cluster.network.heal(task)
    return RUN_ON + HEARTBEAT_TIMEOUT


def full_disk(cluster, _):
    filler = cluster.disk / "filler"
    subprocess.run(["dd", "if=/dev/zero", "of=" + str(filler), "bs=4096"], stderr=subprocess.DEVNULL, check=False)
    cluster.go_on(FULL)
    filler.unlink()
    return RUN_ON


MISHAPS = {"kill": kill, "freeze": freeze, "hang": hang, "partition": partition}
VICTIMS = {0: ["worker.1", "ps.1", "chief.0", "evaluator.0"], 1: ["ps.1"]}


def nothing(cluster, _):
    return HANG_TIMEOUT


def measure(cluster, name, mishap, victim, found):
    cluster.go_on(RUN_ON)
    since, n_lines = time.monotonic(), len(cluster.lines_so_far())
    stood_still = cluster.stand_still(since, mishap(cluster, victim))
    if mishap is full_disk:
        at = [json.loads(line)["wall_s"] for line in cluster.lines_so_far()[n_lines - 1:]]
        stood_still = 1000 * max(b - a for a, b in zip(at, at[1:]))
    found.setdefault(name, []).append(stood_still)
    print("%-40s %8.0f ms" % (name, found[name][-1]), file=sys.stderr)


def one_round(replicas, found):
    dir = pathlib.Path(tempfile.mkdtemp())
    network = Network()
    cluster = None
    try:
        cluster = Cluster(dir, network, replicas)
        while len(cluster.steps) < 50:
            cluster.go_on(0.5)
        if not replicas:
            measure(cluster, "nothing", nothing, None, found)
            measure(cluster, "disk: full", full_disk, None, found)
        for victim in VICTIMS[replicas]:
            for word, mishap in MISHAPS.items():
                role = victim.split(".")[0].replace("chief", "master") + (" with a standby" if replicas else "")
                measure(cluster, "%s: %s" % (role, word), mishap, victim, found)
    finally:
        if cluster:
            cluster.end()
        network.end()
        if os.environ.get("KEEP"):
            print("kept", dir, file=sys.stderr)
        else:
            shutil.rmtree(dir)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    found = {}
    for _ in range(rounds):
        for replicas in VICTIMS:
            one_round(replicas, found)
    print(json.dumps({
        "rounds": rounds, "heartbeat_timeout_s": HEARTBEAT_TIMEOUT, "hang_timeout_s": HANG_TIMEOUT,
        "freeze_s": FREEZE, "partition_s": PARTITION, "full_s": FULL,
        "stands_still_ms": {name: {"median": round(statistics.median(all)), "all": [round(ms) for ms in all]}
                            for name, all in found.items()},
    }))


if __name__ == "__main__":
    main()
