#!/usr/bin/env python3
"""Exports of PyTorch as fixtures, in tests/golden/onnx: a convolutional network with batch norm and
dropout, and a transformer, each by both exporters, in training mode; one as for inference.

    python3 tests/golden/make_onnx.py        # needs torch, onnx, onnxscript
"""
import os

import onnx
import torch
from torch import nn

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


def export(model, name, dynamo, train=True):
    path = os.path.join(OUT, name + ".onnx")
    image = torch.randn(2, 1, SIZE, SIZE)
    mode = torch.onnx.TrainingMode
    shared = dict(input_names=["image"], output_names=["logits"],
                  training=mode.TRAINING if train else mode.EVAL)
    model.train(train)
    if dynamo:
        program = torch.onnx.export(
            model, (image,), dynamo=True, optimize=False,
            dynamic_shapes={"image": {0: torch.export.Dim("N")}}, **shared)
        program.save(path, external_data=False)
    else:
        torch.onnx.export(model, (image,), path, dynamo=False, opset_version=17 if train else 14,
                          do_constant_folding=not train, dynamic_axes={"image": {0: "N"}},
                          **shared)
    strip(path)
    onnx.checker.check_model(path)
    print(name, os.path.getsize(path))


torch.manual_seed(1)
os.makedirs(OUT, exist_ok=True)
cnn, transformer = Cnn(), Transformer()
for dynamo in (False, True):
    exporter = "dynamo" if dynamo else "torchscript"
    export(cnn, f"cnn-{exporter}", dynamo)
    export(transformer, f"transformer-{exporter}", dynamo)
export(transformer, "transformer-inference", False, train=False)
