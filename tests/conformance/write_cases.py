#!/usr/bin/env python3
"""ONNX's own cases, all that the package `onnx` has, as folders that conformance_test reads
(TEQUIO_ONNX_CASES): those of operators and of small models, which the package's code makes, and PyTorch's,
which lie in it.

    python3 tests/conformance/write_cases.py FOLDER        # needs onnx, numpy and pillow
"""
import os
import shutil
import sys

import onnx
from onnx import TensorProto, numpy_helper
from onnx.backend.test import loader
from onnx.backend.test.case.model import collect_testcases

STORED = ("pytorch-converted", "pytorch-operator")
TOLERANCE = (1e-3, 1e-7)  # what conformance_test compares to


def message(value, info):
    """A value of a case as the protobuf message of its type."""
    if isinstance(value, TensorProto):
        return value
    write = {"tensor_type": numpy_helper.from_array, "sequence_type": numpy_helper.from_list,
             "optional_type": numpy_helper.from_optional, "map_type": numpy_helper.from_dict}
    return write[info.type.WhichOneof("value")](value, info.name)


def write_case(case, folder):
    assert (case.rtol, case.atol) == TOLERANCE, case.name
    graph = case.model.graph
    os.makedirs(folder)
    with open(os.path.join(folder, "model.onnx"), "wb") as f:
        f.write(case.model.SerializeToString(deterministic=True))
    for i, data_set in enumerate(case.data_sets):
        os.makedirs(os.path.join(folder, f"test_data_set_{i}"))
        for kind, values, infos in zip(("input", "output"), data_set, (graph.input, graph.output)):
            for k, (value, info) in enumerate(zip(values, infos)):
                with open(os.path.join(folder, f"test_data_set_{i}", f"{kind}_{k}.pb"), "wb") as f:
                    f.write(message(value, info).SerializeToString(deterministic=True))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    made = [c for c in collect_testcases() if c.kind != "real"] + loader.load_model_tests(kind="node")
    for case in made:
        write_case(case, os.path.join(sys.argv[1], case.kind, case.name))
    for kind in STORED:
        shutil.copytree(os.path.join(loader.DATA_DIR, kind), os.path.join(sys.argv[1], kind))
    n = len(made) + sum(len(os.listdir(os.path.join(sys.argv[1], kind))) for kind in STORED)
    print(f"{n} cases of onnx {onnx.__version__}, through opset {onnx.defs.onnx_opset_version()}")


if __name__ == "__main__":
    main()
