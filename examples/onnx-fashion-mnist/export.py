#!/usr/bin/env python3
"""A small residual network of PyTorch as model.onnx, to be trained by train.jsonnet.

    python3 export.py        # needs torch and onnx
"""
import os

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(x + self.bn2(self.conv2(y)))


class Net(nn.Module):
    def __init__(self, channels=8, classes=10):
        super().__init__()
        self.stem = nn.Conv2d(1, channels, 3, stride=2, padding=1)
        self.block1 = Block(channels)
        self.block2 = Block(channels)
        self.drop = nn.Dropout(0.1)
        self.fc = nn.Linear(channels * 7 * 7, classes)

    def forward(self, image):
        x = self.block1(torch.relu(self.stem(image)))
        x = self.block2(torch.max_pool2d(x, 2))
        return self.fc(self.drop(x.flatten(1)))


torch.manual_seed(0)
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "model.onnx")
torch.onnx.export(
    Net().train(), (torch.randn(2, 1, 28, 28),), path, dynamo=False, opset_version=17,
    training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False,
    input_names=["image"], output_names=["logits"],
    dynamic_axes={"image": {0: "N"}, "logits": {0: "N"}})
