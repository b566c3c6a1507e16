"""PyTorch's exports of the networks of make_models.py, in training mode, by both exporters.

    python make_exports.py [model...]       writes data/<model>-{torchscript,dynamo}.onnx

Their weights stay in the files that make_models.py has made, of which the initializers name the
places. Needs what make_models.py does, onnx, onnxscript.
"""

import json
import pathlib
import sys

import onnx
import torch

import make_models

DATA = pathlib.Path(__file__).parent / "data"
TRAINING = torch.onnx.TrainingMode.TRAINING


def by_torchscript(model, inputs, path):
    torch.onnx.export(model, tuple(inputs.values()), path, dynamo=False, opset_version=17,
                      training=TRAINING, do_constant_folding=False, input_names=list(inputs),
                      output_names=["logits"], dynamic_axes={k: {0: "N"} for k in inputs})


def by_dynamo(model, inputs, path):
    program = torch.onnx.export(
        model, tuple(inputs.values()), dynamo=True, optimize=False, training=TRAINING,
        input_names=list(inputs), output_names=["logits"],
        dynamic_shapes=tuple({0: torch.export.Dim("N")} for _ in inputs))
    program.save(path, external_data=False)


def place_weights(model, weights):
    """Initializers that have the bytes of a tensor of that file become external data there."""
    data = weights.read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    places = json.loads(data[8:begin])
    for t in model.graph.initializer:
        first, last = places.get(f"param.{t.name}", {}).get("data_offsets", (0, 0))
        if first == last or data[begin + first:begin + last] != t.raw_data:
            continue
        t.ClearField("raw_data")
        t.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", weights.name), ("offset", begin + first),
                           ("length", last - first)):
            t.external_data.add(key=key, value=str(value))


def strip(model):
    """Notes for people make up most of such small files."""
    for node in model.graph.node:
        node.ClearField("doc_string")
        del node.metadata_props[:]
    del model.graph.value_info[:]
    del model.graph.metadata_props[:]


def export(name):
    _, _, make, draw, _ = make_models.CASES[name]
    for exporter, write in {"torchscript": by_torchscript, "dynamo": by_dynamo}.items():
        network, _, batches = make_models.begin(name, make, draw)
        inputs = {k: v for k, v in batches[0].items() if k != "label"}
        path = DATA / f"{name}-{exporter}.onnx"
        write(network.train(), inputs, str(path))
        model = onnx.load(path)
        place_weights(model, DATA / f"{name}.safetensors")
        strip(model)
        onnx.save(model, path)
        onnx.checker.check_model(path)
        print(path, path.stat().st_size)


if __name__ == "__main__":
    for name in sys.argv[1:] or make_models.CASES:
        export(name)
