#!/usr/bin/env python3
"""Plays a cluster: runs the pods of a manifest on this machine, each in a network of its own.

    kubernetes_fake.py --program TEQUIO --logs DIR [OPTION...] MANIFEST...

  --kill POD@TEXT    SIGKILL to that pod, once its log holds the text; --drain likewise, SIGTERM
  --workers-only     a TFJob as others write it, without Chief: worker 0 gets its pod
  --dynamic          with spec.enableDynamicWorker

What the training operator and Kubernetes' controller of Jobs do is written down here anew, from their
sources: names and TF_CONFIG, who is started again and with which exit codes, when a job has ended and who
is told to leave then. A pod that is started again has another address, and its name leads nowhere until
its readiness probe has passed; probes go on. Everything beneath this process dies with it.

Needs root in namespaces for mounts, processes and the network. Source: training-operator v1.9
(pkg/controller.v1), kubernetes v1.29 (pkg/controller/job).
"""
import argparse
import itertools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

import yaml

TICK_S, PROBE_S = 0.02, 0.5
BRIDGE = "br-tequio"
numbers = itertools.count(2)


def ip(*words):
    subprocess.run(["ip", *words], check=True)


class Pod:
    """A replica, from life to life."""

    def __init__(self, cluster, name, host, template, annotations, config):
        self.cluster, self.name, self.host = cluster, name, host
        self.spec, self.annotations, self.config = template["spec"], annotations, config
        (self.container,) = self.spec["containers"]
        self.log = os.path.join(cluster.options.logs, name + ".log")
        self.lives, self.process, self.address, self.is_ready = 0, None, None, False
        self.probed, self.told = 0, None

    def environment(self):
        env = {"PATH": self.cluster.options.programs + ":" + os.environ["PATH"], "OMP_WAIT_POLICY": "passive",
               "CUDA_VISIBLE_DEVICES": ""}
        for e in self.container.get("env", []) + self.config:
            source = e.get("valueFrom", {})
            if "secretKeyRef" in source:
                value = self.cluster.secrets[source["secretKeyRef"]["name"]][source["secretKeyRef"]["key"]]
            elif "fieldRef" in source:
                value = self.annotations[re.match(r"metadata.annotations\['(.*)'\]$",
                                                  source["fieldRef"]["fieldPath"]).group(1)]
            else:
                value = re.sub(r"\$\((\w+)\)", lambda m: env.get(m.group(1), m.group(0)), e["value"])
            env[e["name"]] = value
        return env

    def mounts(self):
        """Shell commands that put the volumes in place."""
        volumes = {v["name"]: v for v in self.spec.get("volumes", [])}
        for m in self.container.get("volumeMounts", []):
            v, path = volumes[m["name"]], m["mountPath"]
            if "emptyDir" in v:
                continue
            if "configMap" in v:
                source = self.cluster.folder("config", v["configMap"]["name"])
            else:
                source = self.cluster.folder("claim", v["persistentVolumeClaim"]["claimName"])
            source = os.path.join(source, m.get("subPath", ""))
            os.makedirs(source, exist_ok=True)
            yield f"mkdir -p '{path}' && mount --bind '{source}' '{path}' || exit 125"

    def start(self):
        """A new network and a new address; the commands wait until it is laid."""
        self.lives += 1
        number = next(numbers)
        self.address = f"10.93.{number >> 8}.{number & 255}"
        self.is_ready, self.told, self.probed = False, None, 0
        ours, theirs = socket.socketpair()
        script = "\n".join(["echo >&0; read go", *self.mounts(), "ip link set lo up",
                            f"ip addr add {self.address}/16 dev eth0", "ip link set eth0 up",
                            'exec "$@" </dev/null'])
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                ["unshare", "--mount", "--net", "sh", "-c", script, "sh",
                 *self.container["command"], *self.container["args"]],
                stdin=theirs, stdout=log, stderr=log, env=self.environment(), cwd="/")
        theirs.close()
        ours.recv(1)
        ip("link", "add", f"v{number}", "type", "veth", "peer", "name", "eth0", "netns", str(self.process.pid))
        ip("link", "set", f"v{number}", "master", BRIDGE, "up")
        ours.send(b"\n")
        ours.close()
        if "readinessProbe" not in self.container:
            self.is_ready = True

    def probe(self):
        if "readinessProbe" not in self.container or time.monotonic() - self.probed < (PROBE_S if self.is_ready else 0):
            return
        self.probed = time.monotonic()
        (port,) = self.container["ports"]
        assert self.container["readinessProbe"]["tcpSocket"]["port"] == port["name"]
        try:
            socket.create_connection((self.address, port["containerPort"]), 0.2).close()
            self.is_ready = True
        except OSError:
            self.is_ready = False

    def says(self, text):
        with open(self.log, "rb") as f:
            return text.encode() in f.read()

    def tell(self, number):
        if self.process and self.process.poll() is None and self.told != number:
            self.told = number
            self.process.send_signal(number)

    def ended(self):
        """Its exit code, once; None as long as it runs, or if it was seen before."""
        if not self.process or self.process.poll() is None:
            return None
        code, self.process, self.is_ready = self.process.returncode, None, False
        return code if code >= 0 else 128 - code


class Cluster:
    def __init__(self, options, objects):
        self.options, self.objects, self.pods = options, objects, []
        self.secrets = {o["metadata"]["name"]: o["stringData"] for o in objects if o["kind"] == "Secret"}
        for o in objects:
            for name, text in o.get("data", {}).items() if o["kind"] == "ConfigMap" else ():
                with open(os.path.join(self.folder("config", o["metadata"]["name"]), name), "w",
                          encoding="utf-8") as f:
                    f.write(text)
        ip("link", "add", BRIDGE, "type", "bridge")
        ip("addr", "add", "10.93.0.1/16", "dev", BRIDGE)
        ip("link", "set", BRIDGE, "up")

    def folder(self, kind, name):
        path = os.path.join(self.options.logs, kind, name)
        os.makedirs(path, exist_ok=True)
        return path

    def write_names(self, shows_unready):
        lines = ["127.0.0.1 localhost"] + [f"{p.address} {p.host}" for p in self.pods
                                           if p.process and (p.is_ready or shows_unready)]
        text = "\n".join(lines) + "\n"
        with open("/etc/hosts", "r+", encoding="utf-8") as f:
            if f.read() != text:
                f.seek(0)
                f.write(text)
                f.truncate()

    def harm(self):
        """Does what was asked for, once each."""
        for wish, number in ((self.options.kill, signal.SIGKILL), (self.options.drain, signal.SIGTERM)):
            name, _, text = (wish or "@").partition("@")
            for p in self.pods:
                if p.name == name and p.lives == 1 and p.process and p.says(text):
                    p.tell(number)

    def stop(self):
        """SIGTERM to all, SIGKILL after their grace."""
        limit = time.monotonic() + max(p.spec["terminationGracePeriodSeconds"] for p in self.pods)
        while any(p.process for p in self.pods):
            for p in self.pods:
                p.tell(signal.SIGKILL if time.monotonic() > limit else signal.SIGTERM)
                p.ended()
            time.sleep(TICK_S)

    def play(self, judge, shows_unready):
        """Until judge(pod, code) says how it all ended; None: it goes on."""
        for p in self.pods:
            p.start()
        end = None
        while end is None:
            for p in self.pods:
                p.probe()
            self.write_names(shows_unready)
            self.harm()
            for p in self.pods:
                code = p.ended()
                if code is not None:
                    print(f"{p.name}: exit {code}", flush=True)
                    end = judge(p, code) if end is None else end
            time.sleep(TICK_S)
        self.stop()
        return end


# --- the training operator ---

def tf_config(job, role, index, dynamic):
    replicas = job["spec"]["tfReplicaSpecs"]
    space = job["metadata"].get("namespace", "default")
    cluster = {r.lower(): [f"{job['metadata']['name']}-{r.lower()}-{i}.{space}.svc:2222"
                           for i in range(replicas[r]["replicas"])] for r in replicas}
    task = {"type": role.lower(), "index": index}
    if dynamic and role == "PS":
        return {"cluster": {"worker": {}, "ps": [cluster["ps"][index]]}, "task": task}
    if dynamic and role == "Worker":
        return {"cluster": {"worker": {str(index): cluster["worker"][index]}, "ps": cluster["ps"]}, "task": task}
    return {"cluster": cluster, "task": task, "environment": "cloud"}


def without_chief(job):
    replicas = job["spec"]["tfReplicaSpecs"]
    chief = replicas.pop("Chief")
    replicas["Worker"]["replicas"] += 1
    replicas["Worker"]["template"] = chief["template"]


def play_tfjob(cluster, job, options):
    replicas, name = job["spec"]["tfReplicaSpecs"], job["metadata"]["name"]
    if options.workers_only:
        without_chief(job)
    is_distributed = sum(r["replicas"] for r in replicas.values()) != 1
    for role, replica in replicas.items():
        for i in range(replica["replicas"]):
            pod, text = f"{name}-{role.lower()}-{i}", json.dumps(tf_config(job, role, i, options.dynamic))
            cluster.pods.append(Pod(cluster, pod, pod + "." + job["metadata"].get("namespace", "default") + ".svc",
                                    replica["template"], {},
                                    [{"name": "TF_CONFIG", "value": text}] if is_distributed else []))
    primary = "worker" if options.workers_only else next(r for r in replicas if r in ("Chief", "Master")).lower()

    def judge(pod, code):
        if code >= 128:
            pod.start() # the policy ExitCode
            print(f"{pod.name}: started again at {pod.address}", flush=True)
            return None
        if code:
            return f"failed: {pod.name}: exit {code}"
        return "succeeded" if pod.name == f"{name}-{primary}-0" else None

    return cluster.play(judge, shows_unready=False)


# --- the controller of Jobs ---

def play_jobs(cluster, jobs):
    failed, done = {}, set()
    service = {o["metadata"]["name"]: o for o in cluster.objects if o["kind"] == "Service"}
    for job in jobs:
        for i in range(job["spec"]["completions"]):
            pod, spec = f"{job['metadata']['name']}-{i}", job["spec"]["template"]["spec"]
            p = Pod(cluster, pod, f"{pod}.{spec['subdomain']}", job["spec"]["template"],
                    {"batch.kubernetes.io/job-completion-index": str(i)}, [])
            p.job = job
            cluster.pods.append(p)

    def judge(pod, code):
        spec = pod.job["spec"]
        if code == 0:
            done.add(pod.name)
            return "succeeded" if len(done) == len(cluster.pods) else None
        for rule in spec["podFailurePolicy"]["rules"]:
            if code in rule.get("onExitCodes", {}).get("values", []):
                assert rule["action"] == "FailJob" and rule["onExitCodes"]["operator"] == "In"
                return f"failed: {pod.name}: exit {code}"
        failed[pod.name] = failed.get(pod.name, 0) + 1
        if failed[pod.name] > spec["backoffLimitPerIndex"]:
            return f"failed: {pod.name}: too often"
        pod.start()
        print(f"{pod.name}: started again at {pod.address}", flush=True)
        return None

    return cluster.play(judge, shows_unready=all(s["spec"]["publishNotReadyAddresses"] for s in service.values()))


def main():
    parser = argparse.ArgumentParser()
    for name in ("program", "logs", "kill", "drain"):
        parser.add_argument("--" + name)
    parser.add_argument("--workers-only", action="store_true")
    parser.add_argument("--dynamic", action="store_true")
    parser.add_argument("manifest", nargs="+")
    options = parser.parse_args()
    options.programs = os.path.join(options.logs, "image")
    os.makedirs(options.programs)
    os.symlink(options.program, os.path.join(options.programs, "tequio"))
    objects = []
    for path in options.manifest:
        with open(path, encoding="utf-8") as f:
            objects += list(yaml.safe_load_all(f))
    cluster = Cluster(options, objects)
    jobs = [o for o in objects if o["kind"] == "Job"]
    tfjobs = [o for o in objects if o["kind"] == "TFJob"]
    end = play_jobs(cluster, jobs) if jobs else play_tfjob(cluster, tfjobs[0], options)
    ip("link", "del", BRIDGE)
    print(end)
    sys.exit(0 if end == "succeeded" else 1)


main()
