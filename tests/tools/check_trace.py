#!/usr/bin/env python3
"""Whether a profile (JOB_DIR/profile/trace-A-B.json) holds what it should, of a job on this machine.

  check_trace.py FILE --steps A:B --slots K --lanes TASK=N... --servers TASK... [--missing TASK...]
      [--devices [--nodes FILE [--fewer]]]

Every slot of every step of the window is there once, steps are those of the window alone, events of a thread contain
each other or do not meet, nodes lie within their slots, each task says how far its clock may be off, and that holds:
tasks of one machine have one clock. With --devices lanes have these: each slot is once on the lane's device, within the
lane's own; its nodes are those of every slot, in one order, one after the other. --nodes: they are those of that other
profile, which is of a CPU, or, with --fewer, some of them. Prints what is wrong, and ends with 1.
"""
import argparse
import collections
import json
import sys


def main():
    p = argparse.ArgumentParser()
    p.add_argument("file")
    p.add_argument("--steps", required=True)
    p.add_argument("--slots", type=int, required=True)
    p.add_argument("--lanes", nargs="*", default=[])
    p.add_argument("--servers", nargs="*", default=[])
    p.add_argument("--missing", nargs="*", default=[])
    p.add_argument("--devices", action="store_true")
    p.add_argument("--nodes")
    p.add_argument("--fewer", action="store_true")
    a = p.parse_args()
    begin, end = map(int, a.steps.split(":"))
    with open(a.file, encoding="utf-8") as f:
        trace = json.load(f)
    about, events = trace["otherData"], trace["traceEvents"]
    wrong = []

    def check(holds, text):
        if not holds:
            wrong.append(text)

    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    threads = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    spans = [e for e in events if e["ph"] == "X"]
    check((about["schema"], about["begin"], about["end"]) == (1, begin, end), f"it is of {about}")
    check(sorted(m["task"] for m in about["missing"]) == sorted(a.missing), f"missing: {about['missing']}")
    lanes = dict(word.split("=") for word in a.lanes)
    expected = {"master.0", *lanes, *a.servers}
    check(set(names.values()) == expected, f"tasks {sorted(names.values())}, not {sorted(expected)}")
    for t in about["tasks"]:
        check(t["clock_error_us"] >= 0, f"{t['task']} does not know the master's clock")
        check(abs(t["clock_offset_us"]) <= t["clock_error_us"] < 1e6, f"clocks of one machine: {t}")
        check(t["left_out"] == 0, f"left out: {t}")

    kinds = collections.Counter((names[e["pid"]], e["args"]["kind"]) for e in spans)
    for task, n in lanes.items():
        for i in range(int(n)):
            check((task, f"lane {i}") in {(names[p], t) for (p, _), t in threads.items()}, f"no lane {i} of {task}")
        for kind in ("SLOT", "DEVICE_NODE" if a.devices else "NODE", "SENT", "RECEIVED", "BATCH_MADE"):
            check(kinds[task, kind] > 0, f"{task} has no {kind}")
        for kind in ("NODE",) if a.devices else ("DEVICE_SLOT", "DEVICE_NODE"):
            check(kinds[task, kind] == 0, f"{task} has {kind}")
    for task in a.servers:
        for kind in ("UPDATE", "RECEIVED", "SENT"):
            check(kinds[task, kind] > 0, f"{task} has no {kind}")
    check(sum(n for (_, kind), n in kinds.items() if kind == "STEP_DONE") == end - begin, "not all steps are done")

    steps = {e["args"]["step"] for e in spans if "step" in e["args"]}
    check(steps == set(range(begin, end)), f"steps {sorted(steps)}")
    if not a.missing:
        slots = collections.Counter((e["args"]["step"], e["args"]["slot"]) for e in spans if e["args"]["kind"] == "SLOT")
        wanted = {(s, k): 1 for s in range(begin, end) for k in range(a.slots)}
        check(slots == wanted, f"slots: {[s for s in slots | wanted if slots[s] != wanted.get(s)]}")

    by_thread = collections.defaultdict(list)
    for e in spans:
        by_thread[e["pid"], e["tid"]].append(e)
    for thread, list_of in by_thread.items():
        open_until = []
        for e in sorted(list_of, key=lambda e: (e["ts"], -e["dur"])):
            while open_until and open_until[-1] <= e["ts"] + 1e-3:
                open_until.pop()
            if open_until:
                check(e["ts"] + e["dur"] <= open_until[-1] + 2e-3, f"{e} crosses another of {threads[thread]}")
            open_until.append(e["ts"] + e["dur"])

    if a.devices:
        check_device_slots(spans, threads, check)
    check_nodes(spans, "DEVICE_" if a.devices else "", check, not a.missing)
    if a.nodes:
        check_names(spans, a.nodes, a.fewer, check)
    arrows = collections.Counter((e["ph"], e["id"]) for e in events if e["ph"] in "sf")
    if not a.missing:
        check(arrows and all(arrows["f" if ph == "s" else "s", id] for ph, id in arrows), "an arrow has one end only")
    for text in wrong[:20]:
        print(text)
    sys.exit(1 if wrong else 0)


def check_device_slots(spans, threads, check):
    """A lane's device computes a slot while the lane does, as precisely as is told, with the same nodes every time."""
    def of(kind):
        return {(e["pid"], threads[e["pid"], e["tid"]].removesuffix(" device"), e["args"]["step"], e["args"]["slot"]): e
                for e in spans if e["args"]["kind"] == kind}
    slots, on_device = of("SLOT"), of("DEVICE_SLOT")
    check(slots.keys() == on_device.keys(), f"slots of devices: {slots.keys() ^ on_device.keys()}")
    sequences = set()
    for key, d in on_device.items():
        s, error = slots[key], d["args"]["error_ns"] * 1e-3
        check(threads[d["pid"], d["tid"]] == key[1] + " device", f"{d} is in another row")
        check(s["ts"] - error - 2 <= d["ts"] and d["ts"] + d["dur"] <= s["ts"] + s["dur"] + error + 2,
              f"{d} is not within {s}")
        nodes = sorted((n for n in spans if n["args"]["kind"] == "DEVICE_NODE" and n["tid"] == d["tid"]
                        and n["pid"] == d["pid"] and d["ts"] <= n["ts"] <= d["ts"] + d["dur"]), key=lambda n: n["ts"])
        sequences.add(tuple(n["name"] for n in nodes))
        for before, after in zip(nodes, nodes[1:]):
            check(before["ts"] + before["dur"] <= after["ts"] + 2e-3, f"{after} overlaps {before}")
            check(before["args"]["node"] < after["args"]["node"], f"{after} is not behind {before}")
    check(len(sequences) == 1, f"slots have other nodes: {sequences}")


def check_names(spans, other, fewer, check):
    def names(of, kind):
        return {e["name"] for e in of if e["ph"] == "X" and e["args"]["kind"] == kind}
    with open(other, encoding="utf-8") as f:
        theirs = names(json.load(f)["traceEvents"], "NODE")
    ours = names(spans, "DEVICE_NODE")
    check(ours < theirs if fewer else ours == theirs, f"nodes: {ours ^ theirs}")


def check_nodes(spans, where, check, undisturbed):
    """Nodes of a slot took no longer than it did; only of a slot that a lane had to drop there are nodes alone."""
    slots = [e for e in spans if e["args"]["kind"] == where + "SLOT"]
    nodes = [e for e in spans if e["args"]["kind"] == where + "NODE"]
    total = 0
    for s in slots:
        inside = [n["dur"] for n in nodes if (n["pid"], n["tid"]) == (s["pid"], s["tid"])
                  and s["ts"] <= n["ts"] and n["ts"] + n["dur"] <= s["ts"] + s["dur"] + 2e-3]
        check(inside, f"no nodes in {s}")
        check(sum(inside) <= s["dur"] + 0.1, f"nodes took longer than {s}")
        total += len(inside)
    check(total == len(nodes) or not undisturbed, f"{len(nodes) - total} nodes lie in no slot")


main()
