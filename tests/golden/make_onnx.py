#!/usr/bin/env python3
"""Exports of PyTorch as fixtures, in tests/golden/onnx: a convolutional network with batch norm and
dropout, and a transformer, each by both exporters, in training mode; one as for inference. And runs by
PyTorch, in tests/golden/data (make_models.py), of networks whose files need care: a table of tokens that
is the last layer too, equal weights that the exporter merged, a norm that is called twice, a loss inside, and nothing else. One logit without an axis. And functions, which these exporters inline.

    python3 tests/golden/make_onnx.py        # needs torch, torchvision, onnx, onnxscript, safetensors
"""
import os

import numpy
import onnx
import torch
import torch.nn.functional as F
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from make_models import run, text, token_loss

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "onnx")
SIZE, CLASSES = 12, 10


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(6)
        self.conv2 = nn.Conv2d(6, 8, 3, padding=1)
        self.drop = nn.Dropout(0.2)
        self.fc = nn.Linear(8 * 3 * 3, CLASSES)

    def forward(self, image):
        x = torch.max_pool2d(torch.relu(self.bn1(self.conv1(image))), 2)
        x = torch.max_pool2d(torch.relu(self.conv2(x)), 2)
        return self.fc(self.drop(x.view(x.size(0), -1)))


class Transformer(nn.Module):
    """Rows of the image as tokens."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(SIZE, 16)
        self.position = nn.Parameter(torch.randn(1, SIZE, 16) * 0.02)
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, 0.1, "gelu", batch_first=True)
        self.norm = nn.LayerNorm(16)
        self.fc = nn.Linear(16, CLASSES)

    def forward(self, image):
        x = self.layer(self.embed(image.squeeze(1)) + self.position)
        return self.fc(self.norm(x).mean(1))


class Tied(nn.Module):
    """A language model for sequences of any length; its table of tokens is the last layer too."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(13, 12)
        self.layer = nn.TransformerEncoderLayer(12, 3, 24, 0.0, "gelu", batch_first=True)
        self.head = nn.Linear(12, 13, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, input_ids):
        return self.head(self.layer(self.tokens(input_ids)))


class Merged(nn.Module):
    """Norms and biases of a fresh network are equal: exporters for inference keep one of each."""

    def __init__(self):
        super().__init__()
        self.fc1, self.ln1 = nn.Linear(10, 8), nn.LayerNorm(8)
        self.fc2, self.ln2 = nn.Linear(8, 8), nn.LayerNorm(8)
        self.fc3 = nn.Linear(8, 4)
        for layer in (self.fc1, self.fc2):
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        x = torch.tanh(self.ln1(self.fc1(x)))
        return self.fc3(torch.tanh(self.ln2(self.fc2(x))))


class PopulationNorm(nn.BatchNorm1d):
    """Its running variance follows the population's, as ONNX defines it."""

    def forward(self, x):
        with torch.no_grad():
            self.running_mean.lerp_(x.mean(0), self.momentum)
            self.running_var.lerp_(x.var(0, unbiased=False), self.momentum)
        return F.batch_norm(x, None, None, self.weight, self.bias, True, 0.0, self.eps)


class Siamese(nn.Module):
    """One network over two inputs: its norm is called twice in a batch."""

    def __init__(self, norm=PopulationNorm):
        super().__init__()
        self.fc, self.bn, self.head = nn.Linear(10, 8), norm(8, momentum=0.2), nn.Linear(8, 4)

    def embed(self, x):
        return torch.tanh(self.bn(self.fc(x)))

    def forward(self, left, right):
        return self.head(self.embed(left) - self.embed(right))


class OwnLoss(nn.Module):
    """Cross entropy and a price on large scores, which no name of a loss says."""

    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(10, 8), nn.Linear(8, 4)

    def forward(self, x, label=None):
        scores = self.fc2(torch.tanh(self.fc1(x)))
        return scores if label is None else (scores, self.loss(scores, label))

    @staticmethod
    def loss(scores, label):
        return F.cross_entropy(scores, label) + 0.1 * scores.square().mean()


class OnlyLoss(OwnLoss):
    def forward(self, x, label=None):
        scores = super().forward(x)
        return scores if label is None else self.loss(scores, label)


def strip(path):
    """Notes for people make up most of such a small file."""
    model = onnx.load(path)
    for node in model.graph.node:
        node.ClearField("doc_string")
        del node.metadata_props[:]
    kept = "pkg.torch.export.graph_signature.InputSpec.kind"
    for value in model.graph.value_info:
        props = [p for p in value.metadata_props if p.key == kept]
        del value.metadata_props[:]
        value.metadata_props.extend(props)
    del model.graph.metadata_props[:]
    onnx.save(model, path)


def export(model, name, dynamo, train=True, inputs=None, **names):
    path = os.path.join(OUT, name + ".onnx")
    inputs = inputs or {"image": (torch.randn(2, 1, SIZE, SIZE), {0: "N"})}
    mode = torch.onnx.TrainingMode
    shared = dict(input_names=list(inputs), output_names=["logits"],
                  training=mode.TRAINING if train else mode.EVAL) | names
    model.train(train)
    values = tuple(value for value, _ in inputs.values())
    axes = {name: symbols for name, (_, symbols) in inputs.items()}
    if dynamo:
        sizes = {name: {axis: torch.export.Dim(symbol) for axis, symbol in symbols.items()}
                 for name, symbols in axes.items()}
        program = torch.onnx.export(model, values, dynamo=True, optimize=False, dynamic_shapes=sizes,
                                    **shared)
        program.save(path, external_data=False)
    else:
        torch.onnx.export(model, values, path, dynamo=False, opset_version=17 if train else 14,
                          do_constant_folding=not train, dynamic_axes=axes, **shared)
    strip(path)
    onnx.checker.check_model(path)
    print(name, os.path.getsize(path))


def functions():
    """A function that calls another one, with batch norm, dropout and an attribute of the caller's."""
    node, opset, domain = helper.make_node, helper.make_opsetid, "pkg.local"
    weights = ["scale", "bias", "mean", "var", "ratio", "mode"]
    leaky = node("LeakyRelu", ["n"], ["r"])
    slope = leaky.attribute.add(name="alpha", ref_attr_name="slope")
    slope.type = onnx.AttributeProto.FLOAT
    block = helper.make_function(domain, "Block", ["u", *weights], ["z"], [
        node("BatchNormalization", ["u", *weights[:4]], ["n", "m", "v"], training_mode=1), leaky,
        node("Dropout", ["r", "ratio", "mode"], ["z"])], [opset("", 17)], ["slope"])
    net = helper.make_function(domain, "Net", ["x", "w", *weights], ["y"], [
        node("Flatten", ["x"], ["f"]), node("MatMul", ["f", "w"], ["h"]),
        node("Block", ["h", *weights], ["y"], domain=domain, slope=0.2)],
        [opset("", 17), opset(domain, 1)])
    random = numpy.random.default_rng(1)
    tensors = {
        "fc1.weight": 0.1 * random.standard_normal((SIZE * SIZE, 5)), "scale": numpy.ones(5),
        "bias": numpy.zeros(5), "mean": numpy.zeros(5), "var": numpy.ones(5), "ratio": 0.3,
        "fc2.weight": random.standard_normal((CLASSES, 5)), "fc2.bias": numpy.zeros(CLASSES)}
    kept = [numpy_helper.from_array(numpy.array(t, numpy.float32), n) for n, t in tensors.items()]
    kept.append(numpy_helper.from_array(numpy.array(True), "mode"))
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 1, SIZE, SIZE])
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", CLASSES])
    graph = helper.make_graph([
        node("Net", ["image", "fc1.weight", *weights], ["y"], domain=domain, name="net"),
        node("Gemm", ["y", "fc2.weight", "fc2.bias"], ["logits"], name="head", transB=1)],
        "main", [image], [logits], kept)
    model = helper.make_model(graph, opset_imports=[opset("", 17), opset(domain, 1)],
                              functions=[block, net], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, os.path.join(OUT, "functions.onnx"))


def not_finite():
    """0 / 0 in forward; and in backward, of the square root at 0."""
    node = helper.make_node
    for name, more in {"forward": [node("Div", ["zero", "zero"], ["bad"], name="/Div")],
                       "backward": [node("Sqrt", ["zero"], ["root"], name="/Sqrt"),
                                    node("Mul", ["root", "zero"], ["bad"], name="/Mul")]}.items():
        weight = 0.01 * numpy.random.default_rng(1).standard_normal((CLASSES, SIZE * SIZE))
        image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 1, SIZE, SIZE])
        logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", CLASSES])
        nodes = [node("Flatten", ["image"], ["flat"], name="/Flatten"),
                 node("Gemm", ["flat", "fc.weight"], ["h"], name="/fc/Gemm", transB=1),
                 node("Sub", ["h", "h"], ["zero"], name="/Sub"), *more,
                 node("Add", ["h", "bad"], ["logits"], name="/Add")]
        graph = helper.make_graph(nodes, "main", [image], [logits], [
            numpy_helper.from_array(weight.astype(numpy.float32), "fc.weight")])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
                  os.path.join(OUT, f"nan-{name}.onnx"))


def one_logit():
    """One number an example, without an axis of its own."""
    node = helper.make_node
    numeric = helper.make_tensor_value_info("numeric", TensorProto.FLOAT, ["N", 1])
    score = helper.make_tensor_value_info("score", TensorProto.FLOAT, ["N"])
    kept = [numpy_helper.from_array(numpy.array([[1.5]], numpy.float32), "fc.weight"),
            numpy_helper.from_array(numpy.array([0.25], numpy.float32), "fc.bias"),
            numpy_helper.from_array(numpy.array([1], numpy.int64), "axis")]
    graph = helper.make_graph([node("Gemm", ["numeric", "fc.weight", "fc.bias"], ["h"], name="/Gemm"),
                               node("Squeeze", ["h", "axis"], ["score"], name="/Squeeze")], "main", [numeric], [score],
                              kept)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              os.path.join(OUT, "one-logit.onnx"))


def vectors(batch):
    return lambda: {"x": torch.randn(batch, 10), "label": torch.randint(4, (batch,))}


def pairs(batch):
    return lambda: {"left": torch.randn(batch, 10), "right": 1 + torch.randn(batch, 10),
                    "label": torch.randint(4, (batch,))}


def golden(name, classes, make, draw, loss_of, with_states=False, **section):
    path = f"../onnx/{name}.onnx"
    run("onnx_" + name.replace("-", "_"), {"type": "onnx", "path": path, **section}, classes, make,
        draw, loss_of, with_states)


torch.manual_seed(1)
os.makedirs(OUT, exist_ok=True)
cnn, transformer = Cnn(), Transformer()
for dynamo in (False, True):
    exporter = "dynamo" if dynamo else "torchscript"
    export(cnn, f"cnn-{exporter}", dynamo)
    export(transformer, f"transformer-{exporter}", dynamo)
export(transformer, "transformer-inference", False, train=False)

functions()
not_finite()
one_logit()
torch.set_num_threads(1)
x = {"x": (torch.randn(2, 10), {0: "N"})}
for dynamo in (False, True):
    exporter = "dynamo" if dynamo else "torchscript"
    seen = 7 if dynamo else 9    # the older one writes the length it saw into nn.MultiheadAttention
    ids = {"input_ids": (torch.randint(13, (2, seen)), {0: "N", 1: "S"})}
    export(Tied(), f"tied-{exporter}", dynamo, inputs=ids)
    golden(f"tied-{exporter}", 13, Tied, text(13, 9, 4), token_loss, dims={"S": 9})
    export(OwnLoss(), f"own-loss-{exporter}", dynamo,
           inputs=x | {"label": (torch.randint(4, (2,)), {0: "N"})}, output_names=["logits", "loss"])
    golden(f"own-loss-{exporter}", 4, OwnLoss, vectors(8), OwnLoss.loss, loss="output")
    export(OnlyLoss(), f"only-loss-{exporter}", dynamo,
           inputs=x | {"label": (torch.randint(4, (2,)), {0: "N"})}, output_names=["total"])
    golden(f"only-loss-{exporter}", 4, OnlyLoss, vectors(8), OwnLoss.loss, loss="output")
    export(Siamese(nn.BatchNorm1d), f"siamese-{exporter}", dynamo,
           inputs={side: (torch.randn(2, 10), {0: "N"}) for side in ("left", "right")})
    golden(f"siamese-{exporter}", 4, Siamese, pairs(8), F.cross_entropy, with_states=True)
export(Merged(), "merged", False, train=False, inputs=x)
golden("merged", 4, Merged, vectors(8), F.cross_entropy)
