#!/usr/bin/env python3
"""Whether a profile (JOB_DIR/profile/trace-A-B.json) holds what it should, of a job on this machine.

  check_trace.py FILE --steps A:B --slots K --lanes TASK=N... --servers TASK... [--missing TASK...]

Every slot of every step of the window is there once, steps are those of the window alone, events of a thread contain
each other or do not meet, nodes lie within their slots, each task says how far its clock may be off, and that holds:
tasks of one machine have one clock. Prints what is wrong, and ends with 1.
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
        for kind in ("SLOT", "NODE", "SENT", "RECEIVED", "BATCH_MADE"):
            check(kinds[task, kind] > 0, f"{task} has no {kind}")
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

    check_nodes(spans, check, not a.missing)
    arrows = collections.Counter((e["ph"], e["id"]) for e in events if e["ph"] in "sf")
    if not a.missing:
        check(arrows and all(arrows["f" if ph == "s" else "s", id] for ph, id in arrows), "an arrow has one end only")
    for text in wrong[:20]:
        print(text)
    sys.exit(1 if wrong else 0)


def check_nodes(spans, check, undisturbed):
    """Nodes of a slot took no longer than it did; only of a slot that a lane had to drop there are nodes alone."""
    slots = [e for e in spans if e["args"]["kind"] == "SLOT"]
    nodes = [e for e in spans if e["args"]["kind"] == "NODE"]
    total = 0
    for s in slots:
        inside = [n["dur"] for n in nodes if (n["pid"], n["tid"]) == (s["pid"], s["tid"])
                  and s["ts"] <= n["ts"] and n["ts"] + n["dur"] <= s["ts"] + s["dur"] + 2e-3]
        check(inside, f"no nodes in {s}")
        check(sum(inside) <= s["dur"] + 0.1, f"nodes took longer than {s}")
        total += len(inside)
    check(total == len(nodes) or not undisturbed, f"{len(nodes) - total} nodes lie in no slot")


main()
