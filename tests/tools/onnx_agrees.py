"""Does ONNX Runtime say what `tequio predict --with-inputs` says? onnx_agrees.py (MODEL.onnx LINES)...

Checks each file by ONNX's own checker, runs it over the inputs of all lines at once, and compares
every output to 1e-4. Exit code 77 where a package is missing.
"""

import json
import sys

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

KINDS = {"tensor(float)": np.float32, "tensor(bool)": np.bool_, "tensor(int64)": np.int64, "tensor(int32)": np.int32}


def check(path, lines):
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    meta = {entry.key: entry.value for entry in model.metadata_props}
    assert model.producer_name == "tequio" and meta["tequio_version"], "producer or version is missing"
    assert int(meta["step"]) > 0, "the step is missing"
    examples = [json.loads(line) for line in open(lines)]
    session = onnxruntime.InferenceSession(path)
    feed = {
        given.name: np.array([e["inputs"][given.name] for e in examples], KINDS[given.type])
        for given in session.get_inputs()
    }
    names = [output.name for output in session.get_outputs()]
    for name, theirs in zip(names, session.run(names, feed)):
        ours = np.array([e[name] for e in examples])
        assert theirs.shape == ours.shape, f"{name}: {theirs.shape}, not {ours.shape}"
        apart = np.abs(theirs - ours).max()
        print(f"{path}: {name}: {apart:.2e} apart, up to {np.abs(ours).max():.3f}")
        assert apart <= 1e-4 * max(1.0, np.abs(ours).max()), f"{path}: {name} is {apart} apart"


for pair in zip(sys.argv[1::2], sys.argv[2::2]):
    check(*pair)
