#!/usr/bin/env python3
"""MLflow's server as far as a tracker needs it, with the limits of MLflow's manual.

    mlflow_stub.py FOLDER [PORT]

Listens on PORT, or on one that is free, and writes it into FOLDER/port. What it knows is kept in FOLDER/state.json, from
which one that is started again goes on. FOLDER/mode says what it does with a request: "ok", "error" (500, after it has
done what was asked: an answer that was lost), "lost" (so with evaluations only), "once" (takes one call with metrics, and
no other) or "silent" (none for a minute).
"""
import http.server
import json
import os
import re
import sys
import threading
import time
from urllib.parse import parse_qs, urlparse

folder = sys.argv[1]
path_of_state = os.path.join(folder, "state.json")
lock = threading.Lock()
has_taken = False       # metrics, in the mode "once"
state = {"experiments": {"Default": "0"}, "runs": {}, "who": []}
if os.path.exists(path_of_state):
    with open(path_of_state) as file:
        state = json.load(file)


class Refusal(Exception):
    def __init__(self, code, word, text):
        super().__init__(text)
        self.code, self.word = code, word


def need(holds, text):
    if not holds:
        raise Refusal(400, "INVALID_PARAMETER_VALUE", text)


def check_name(name):
    need(0 < len(name) <= 250 and re.fullmatch(r"[\w\-./: ]+", name) and os.path.normpath(name) == name
         and not name.startswith(("/", "..")), f"a bad name: {name!r}")


def view(run_id):
    run = state["runs"][run_id]
    return {"run": {"info": {"run_id": run_id, "experiment_id": run["experiment"], "status": run["status"],
                             "start_time": run["start"], "artifact_uri": f"mlflow-artifacts:/{run['experiment']}/{run_id}/a"}}}


def get_run(query):
    found = view(query["run_id"][0])
    points = {k: max(p) for k, p in state["runs"][query["run_id"][0]]["metrics"].items()}
    found["run"]["data"] = {"metrics": [{"key": k, "step": str(p[0]), "timestamp": p[1], "value": p[2]}
                                        for k, p in points.items()]}
    return found


def get_experiment(query):
    name = query["experiment_name"][0]
    if name not in state["experiments"]:
        raise Refusal(404, "RESOURCE_DOES_NOT_EXIST", f"no experiment {name}")
    return {"experiment": {"experiment_id": state["experiments"][name], "lifecycle_stage": "active"}}


def make_experiment(body):
    name = body["name"]
    if name in state["experiments"]:
        raise Refusal(400, "RESOURCE_ALREADY_EXISTS", f"there is an experiment {name}")
    state["experiments"][name] = str(len(state["experiments"]))
    return {"experiment_id": state["experiments"][name]}


def make_run(body):
    run_id = "%032x" % (len(state["runs"]) + 1)
    state["runs"][run_id] = {"experiment": body["experiment_id"], "name": body["run_name"], "status": "RUNNING",
                             "start": body["start_time"], "tags": {t["key"]: t["value"] for t in body["tags"]},
                             "params": {}, "metrics": {}, "files": {}, "told": {}}
    return view(run_id)


def search(body):
    key, value = re.fullmatch(r"tags\.`(.*)` = '(.*)'", body["filter"]).groups()
    return {"runs": [view(i)["run"] for i, r in state["runs"].items()
                     if r["experiment"] in body["experiment_ids"] and r["tags"].get(key) == value]}


def log_batch(body):
    run = state["runs"][body["run_id"]]
    metrics, params = body.get("metrics", []), body.get("params", [])
    need(len(metrics) <= 1000 and len(params) <= 100 and len(metrics) + len(params) <= 1000, "too much for one call")
    for p in params:
        check_name(p["key"])
        need(len(p["value"]) <= 500, f"a long value: {p['key']}")
        need(run["params"].get(p["key"], p["value"]) == p["value"], f"another value: {p['key']}")
        run["params"][p["key"]] = p["value"]
    for m in metrics:
        check_name(m["key"])
        run["told"][m["key"]] = run["told"].get(m["key"], 0) + 1
        points = run["metrics"].setdefault(m["key"], [])
        point = [m["step"], m["timestamp"], m["value"]]
        if point not in points:     # as MLflow's data base does
            points.append(point)
    return {}


def update(body):
    state["runs"][body["run_id"]]["status"] = body["status"]
    return {}


calls = {"experiments/create": make_experiment, "runs/create": make_run, "runs/search": search,
         "runs/log-batch": log_batch, "runs/update": update}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do(self, mode):
        global has_taken
        url, body = urlparse(self.path), self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.is_evaluation = b"validation_loss" in body
        has_taken = has_taken and mode == "once"
        if mode == "once" and b'"metrics"' in body:
            if has_taken:
                raise Refusal(500, "INTERNAL_ERROR", "it takes no more")
            has_taken = True
        need(len(body) <= 1 << 20 or self.command == "PUT", "more than a MiB")
        who = self.headers.get("Authorization") or ""
        if who not in state["who"]:
            state["who"].append(who)
        if self.command == "PUT":
            _, run_id, _, name = url.path.removeprefix("/api/2.0/mlflow-artifacts/artifacts/").split("/")
            state["runs"][run_id]["files"][name] = len(body)
            return {}
        what = url.path.removeprefix("/api/2.0/mlflow/")
        if what == "runs/get":
            return get_run(parse_qs(url.query))
        if what == "experiments/get-by-name":
            return get_experiment(parse_qs(url.query))
        return calls[what](json.loads(body))

    def answer(self):
        with open(os.path.join(folder, "mode")) as file:
            mode = file.read().strip()
        if mode == "silent":
            time.sleep(60)
            return
        try:
            with lock:
                code, said = 200, self.do(mode)
                with open(path_of_state + ".new", "w") as file:
                    json.dump(state, file)
                os.rename(path_of_state + ".new", path_of_state)
        except Refusal as why:
            code, said = why.code, {"error_code": why.word, "message": str(why)}
        if mode == "error" or (mode == "lost" and self.is_evaluation):
            code, said = 500, {"error_code": "INTERNAL_ERROR", "message": "it is out of order"}
        text = json.dumps(said).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = answer


class Server(http.server.ThreadingHTTPServer):
    allow_reuse_address = daemon_threads = True


server = Server(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 0), Handler)
with open(os.path.join(folder, "port.new"), "w") as file:
    file.write(str(server.server_port))
os.rename(os.path.join(folder, "port.new"), os.path.join(folder, "port"))
server.serve_forever()
