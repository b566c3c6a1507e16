#!/usr/bin/env python3
"""Whether manifests are what a cluster takes.

    kubernetes_check.py SCHEMA MANIFEST...

Every document must have the form of the schema. What a schema cannot say, and the API server or the
training operator's webhook refuses, is looked for by hand. Ends with 77 where Python lacks a package.
"""
import json
import sys

try:
    import jsonschema
    import yaml
except ImportError as e:
    sys.exit(print(e) or 77)

KINDS = {
    ("v1", "ConfigMap"): "V1ConfigMap",
    ("v1", "PersistentVolumeClaim"): "V1PersistentVolumeClaim",
    ("v1", "Secret"): "V1Secret",
    ("v1", "Service"): "V1Service",
    ("batch/v1", "Job"): "V1Job",
    ("kubeflow.org/v1", "TFJob"): "KubeflowOrgV1TFJob",
}


def pods_of(objects):
    """(name of the longest pod, its template)"""
    for o in objects:
        name, spec = o["metadata"]["name"], o["spec"] if "spec" in o else {}
        for role, replica in spec.get("tfReplicaSpecs", {}).items():
            yield f"{name}-{role.lower()}-{replica['replicas'] - 1}", replica["template"]
        if o["kind"] == "Job":
            yield f"{name}-{spec['completions'] - 1}", spec["template"]


def check_pod(name, template, objects):
    assert len(name) <= 63, f"{name}: longer than a label of DNS"
    spec = template["spec"]
    (container,) = spec["containers"]
    assert container["name"] == "tensorflow", "the operator looks for that container"
    assert container["ports"][0] == {"name": "tfjob-port", "containerPort": 2222}, container["ports"]
    ports = {p["name"]: p["containerPort"] for p in container["ports"]}
    assert len(ports) == len(set(ports.values())) == len(container["ports"]), "two ports of one name or number"
    for probe in (container.get(kind) for kind in ("readinessProbe", "livenessProbe")):
        for how, wanted in (("tcpSocket", "tfjob-port"), ("httpGet", "metrics")):
            assert not probe or how not in probe or probe[how]["port"] == wanted, "a probe of another port"
            assert not probe or how not in probe or wanted in ports, "a probe of a port that the pod has not"

    names = {kind: {o["metadata"]["name"] for o in objects if o["kind"] == kind}
             for kind in ("ConfigMap", "Secret", "PersistentVolumeClaim")}
    volumes = {v["name"]: v for v in spec["volumes"]}
    assert len(volumes) == len(spec["volumes"]), "two volumes of one name"
    paths = [m["mountPath"] for m in container["volumeMounts"]]
    assert len(set(paths)) == len(paths), "two volumes at one place"
    assert {m["name"] for m in container["volumeMounts"]} == set(volumes), "volumes and mounts differ"
    for v in volumes.values():
        assert v.get("configMap", {"name": None})["name"] in names["ConfigMap"] | {None}, v
    for e in container.get("env", []):
        key = e.get("valueFrom", {}).get("secretKeyRef")
        assert not key or not names["Secret"] or key["name"] in names["Secret"], e
    own = {f"{v['persistentVolumeClaim']['claimName']}" for v in volumes.values() if v["name"] == "job"}
    assert own <= names["PersistentVolumeClaim"], f"no claim {own}"


def check_job(job):
    spec = job["spec"]
    assert spec["template"]["spec"]["restartPolicy"] == "Never", "a podFailurePolicy wants Never"
    assert spec["completions"] == spec["parallelism"], "all tasks run at once"
    assert spec["maxFailedIndexes"] <= spec["completions"]
    for rule in spec["podFailurePolicy"]["rules"]:
        values = rule.get("onExitCodes", {}).get("values", [1])
        assert values == sorted(set(values)) and 0 not in values and len(values) <= 255, values


def check_tfjob(job):
    replicas = job["spec"]["tfReplicaSpecs"]
    primaries = [replicas[name]["replicas"] for name in ("Chief", "Master") if name in replicas]
    assert primaries == [1], "one Chief or Master"
    for replica in replicas.values():
        assert "restartPolicy" not in replica["template"]["spec"], "the operator overrides it"


def check(path, definitions):
    with open(path, encoding="utf-8") as f:
        objects = [o for o in yaml.safe_load_all(f)]
    for o in objects:
        kind = KINDS[o["apiVersion"], o["kind"]]
        jsonschema.validate(o, {"definitions": definitions, "$ref": f"#/definitions/{kind}"})
    for name, template in pods_of(objects):
        check_pod(name, template, objects)
    for o in objects:
        if o["kind"] in ("Job", "TFJob"):
            (check_job if o["kind"] == "Job" else check_tfjob)(o)


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        definitions = json.load(f)["definitions"]
    for path in sys.argv[2:]:
        try:
            check(path, definitions)
        except jsonschema.ValidationError as e:
            sys.exit(f"{path}: {'.'.join(map(str, e.absolute_path))}: {e.message}")
        except (AssertionError, KeyError) as e:
            sys.exit(f"{path}: {e}")


main()
