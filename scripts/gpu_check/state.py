"""What has been done, on disk after every stage, and the walk through stages within a call's time."""
import json
import os
import re
import sys
import time

FILE = "gpu-state.json"
RETURN = 10            # seconds that ending a program and writing take
LOG_LINES = 200        # of a stage that failed
LOG_MOST = 4 << 20     # bytes of all
PHASES = ("tests", "gradients", "figures", "weights", "nodes", "jobs", "halves", "several", "sanitizer")


class Clock:
    """How much of a call is left; without a limit, all of the time."""

    def __init__(self, limit, now=time.monotonic):
        self.now, self.limit, self.begin = now, limit, now()

    def left(self):
        return float("inf") if self.limit is None else self.limit - RETURN - (self.now() - self.begin)


class Failed(Exception):
    """A stage is wrong in a way that ends it."""


class OutOfTime(Exception):
    """A stage was ended because the call is over."""


class State:
    """Stages by name: phase, seconds, failed (what is wrong), result, log; or, if it was ended, cut (seconds)."""

    def __init__(self, machine, lease, name):
        self.machine = machine
        self.name = re.sub("[^a-z0-9._-]", "-", (name or machine.gpu).lower())
        self.folder = os.environ.get("OUT", ".") if lease else os.environ.get("RESULTS", "docs/benchmarks")
        self.path = f"{self.folder}/{FILE}" if lease else f"build/gpu-check/{machine.commit}, {machine.gpu}.json"
        self.stages = self.read(lease or self.path)
        os.makedirs(self.folder, exist_ok=True)
        os.makedirs(os.path.dirname(self.path) or ".", exist_ok=True)

    def read(self, path):
        try:
            with open(path, encoding="utf-8") as file:
                there = json.load(file)
        except FileNotFoundError:
            return {}
        if (there["commit"], there["gpu"]) == (self.machine.commit, self.machine.gpu):
            return there["stages"]
        print(f"{path} is of {there['commit']} on {there['gpu']}: everything is done anew")
        return {}

    def put(self, path, text):
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(f"{path}.new", path)

    def write(self):
        kept = {"commit": self.machine.commit, "gpu": self.machine.gpu, "stages": self.stages}
        self.put(self.path, json.dumps(kept, indent=1))
        self.put(f"{self.folder}/gpu-{self.name}.json", json.dumps(self.report(), indent=2) + "\n")
        log = "".join(f"--- {name}\n{s['log']}" for name, s in self.stages.items() if s.get("log"))
        if log:
            self.put(f"{self.folder}/gpu-{self.name}.log", log[:LOG_MOST])

    def report(self):
        m = self.machine
        told = {"gpu": m.gpu, "driver": m.driver, "program": m.version, "commit": m.commit}
        for phase in PHASES:
            its = {n: s for n, s in self.stages.items() if s["phase"] == phase and "cut" not in s}
            if not its:
                continue
            failed = [text for s in its.values() for text in s["failed"]]
            told[phase] = {"passed": not failed, "seconds": round(sum(s["seconds"] for s in its.values()), 1),
                           "failed": failed,
                           "stages": {n: {"seconds": s["seconds"], **s["result"]} for n, s in its.items()}}
        return {**told, "libraries": m.libraries}

    def is_done(self, name):
        return name in self.stages and "cut" not in self.stages[name]

    def expected(self, stage, clock):
        """One that was ended gets twice what it had, if a call has that."""
        had = self.stages.get(stage.name, {}).get("cut", 0)
        return min(max(stage.seconds, 2 * had), clock.limit - 2 * RETURN) if clock.limit else stage.seconds


def carry_out(stage, work, state, clock):
    began, before = clock.now(), state.stages.get(stage.name, {})
    failed, result, log = [], {}, []
    print(f"--- {stage.name}", flush=True)
    try:
        result = stage.run(work) or {}
    except Failed as e:
        failed.append(str(e))
    except OutOfTime:
        had = clock.now() - began
        if "cut" not in before:
            state.stages[stage.name] = {"phase": stage.phase, "cut": round(had, 1), "result": {}, "failed": []}
            print(f"{stage.name}: ended after {had:.0f} s, since the call is over")
            return
        failed.append(f"{stage.name}: it was ended twice, after {before['cut']:.0f} and {had:.0f} s")
    failed, log = work.complaints() + failed, work.log()
    for text in failed:
        print(f"FAILED: {text}", file=sys.stderr, flush=True)
    state.stages[stage.name] = {"phase": stage.phase, "seconds": round(clock.now() - began, 1), "failed": failed,
                                "result": result, "log": "\n".join(log[-LOG_LINES:]) + "\n" if failed else ""}


def tell_rest(stages, state, clock):
    """The stages of a lease: what came of each, or that it is left."""
    left = [s for s in stages if not state.is_done(s.name)]
    for s in stages:
        done = state.stages[s.name] if state.is_done(s.name) else None
        word = "left" if not done else "FAILED" if done["failed"] else "passed"
        took = f", took {done['seconds']:.0f} s" if done else ""
        print(f"{word:7} {s.name}: {state.expected(s, clock):.0f} s expected{took}")
    if left:
        print(f"left: {len(left)} stages of about {sum(state.expected(s, clock) for s in left):.0f} s; "
              f"call again with {FILE}")
    return left


def go_through(stages, work, state, clock, again):
    """Those that fit into what is left of the call, in their order; what was ended once behind the others."""
    names = [s.name for s in stages]
    for s in sorted(stages, key=lambda s: "cut" in state.stages.get(s.name, {})):
        if not again and state.is_done(s.name):
            continue
        if state.expected(s, clock) <= clock.left():
            carry_out(s, work, state, clock)
            state.write()
    state.write()
    left = tell_rest(stages, state, clock) if clock.limit else []
    print(f"written: {state.folder}/gpu-{state.name}.json")
    if left:
        return 75
    return 1 if any(state.stages[n]["failed"] for n in names if state.is_done(n)) else 0
