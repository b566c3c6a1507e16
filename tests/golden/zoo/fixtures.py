"""Some rows as files of the test suite, for models_test.c: data/zoo_NAME.onnx, whose weights lie in
data/zoo_NAME.safetensors, beside batches, PyTorch's losses and gradients (make_models.py tells of the
form)."""

import json
import pathlib

import onnx
import torch
from onnx import numpy_helper
from safetensors.torch import save_file

from reference import OPTIMIZERS, options_of
from trial import configuration, find_names

DATA = pathlib.Path(__file__).parents[1] / "data"
ROWS = {    # row: whose file
    "bags_mean": "torchscript",     # a loop
    "deberta_v2": "dynamo",         # integers: sign and absolute value of distances
    "experts": "dynamo",            # the best two, scattered
    "graph_net": "dynamo",          # messages gathered along edges and summed where they arrive
    "hopfield": "torchscript",      # a learned scalar
    "lora": "dynamo",               # parameters that PyTorch does not move
    "mamba": "dynamo",
    "modernbert": "torchscript",    # rows of a mask that see nothing, and NaN in a branch not taken
    "stn": "dynamo",                # an image sampled on a learned grid
    "swin": "dynamo",               # a learned mask
}
KIND = "InputSpec.kind"


def strip(file):
    """Notes for people make up most of such small files."""
    for node in file.graph.node:
        node.ClearField("doc_string")
        del node.metadata_props[:]
    kept = [v for v in file.graph.value_info if any(KIND in p.key for p in v.metadata_props)]
    for value in kept:
        props = [p for p in value.metadata_props if KIND in p.key]
        del value.metadata_props[:]
        value.metadata_props.extend(props)
    del file.graph.value_info[:]
    file.graph.value_info.extend(kept)


def place_weights(file, path):
    """Initializers that are in the file of tensors lie there alone."""
    data = path.read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    places = json.loads(data[8:begin])
    for t in file.graph.initializer:
        if f"param.{t.name}" not in places:
            continue
        first, last = places[f"param.{t.name}"]["data_offsets"]
        for field in ("raw_data", "float_data"):
            t.ClearField(field)
        t.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", path.name), ("offset", begin + first), ("length", last - first)):
            t.external_data.add(key=key, value=str(value))


def seen_classes(entry):
    return 1 + max(batch["label"].max().item() for batch in entry.batches())


def write(name, entry, folder, exporter):
    """From the exporter's file, with a note where it has one, and PyTorch's runs."""
    noted = folder / exporter / "noted.onnx"
    file = onnx.load(noted if noted.exists() else folder / exporter / "model.onnx")
    wanted, network = torch.load(folder / "reference.pt", weights_only=False), entry.network()
    names = find_names(network, file)
    held = {t.name: torch.from_numpy(numpy_helper.to_array(t).copy()) for t in file.graph.initializer
            if t.data_type == onnx.TensorProto.FLOAT}
    held |= {place: p.detach().clone() for k, p in network.named_parameters()
             if (place := names[k][0]) not in held}
    tensors = {f"param.{k}": v for k, v in held.items()}
    grads = wanted["sgd"]["float32"]["grads"]
    for k, p in network.named_parameters():
        place, turned = names[k]
        gradient = grads.get(k, torch.zeros_like(p)).detach()
        tensors[f"grad.{place}"] = gradient.T.contiguous() if turned else gradient
    for i, batch in enumerate(entry.batches()):
        tensors |= {f"batch.{i}.{k}": v for k, v in batch.items()}
    for optimizer in OPTIMIZERS:
        tensors[f"loss.{optimizer}"] = wanted[optimizer]["float32"]["losses"].float()
    config = configuration(entry, f"zoo_{name}.onnx", {}, 1)
    notes = {"model": config["model"], "classes": entry.classes or seen_classes(entry)}
    notes |= {optimizer: options_of(entry, optimizer) for optimizer in OPTIMIZERS}
    path = DATA / f"zoo_{name}.safetensors"
    save_file(tensors, path, metadata={k: json.dumps(v) for k, v in notes.items()})
    strip(file)
    place_weights(file, path)
    onnx.save(file, DATA / f"zoo_{name}.onnx")
    path.chmod(0o644)
    print(name, path.stat().st_size, (DATA / f"zoo_{name}.onnx").stat().st_size)
