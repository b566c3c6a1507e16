"""Networks for images of make_models.py: torchvision's, made narrow, and the usual U-Net with the names of
milesial's Pytorch-UNet. No dropout, no stochastic depth."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torchvision.models.convnext import CNBlockConfig, ConvNeXt
from torchvision.models.densenet import DenseNet  # noqa: F401
from torchvision.models.efficientnet import EfficientNet, _efficientnet_conf
from torchvision.models.mobilenetv3 import MobileNetV3, _mobilenet_v3_conf
from torchvision.models.regnet import BlockParams, RegNet
from torchvision.models.segmentation.lraspp import LRASPP, _lraspp_mobilenetv3
from torchvision.models.swin_transformer import SwinTransformer


def mobilenet(arch, width, classes, **more):
    blocks, last = _mobilenet_v3_conf(arch, width_mult=width, **more)
    return MobileNetV3(blocks, last, num_classes=classes, dropout=0)


def efficientnet(width, depth, classes):
    blocks, last = _efficientnet_conf("efficientnet_b0", width_mult=width, depth_mult=depth)
    return EfficientNet(blocks, 0, 0, num_classes=classes, last_channel=last)


def regnet(depth, w_0, w_a, w_m, group_width, se_ratio, classes):
    params = BlockParams.from_init_params(depth, w_0, w_a, w_m, group_width, se_ratio=se_ratio)
    return RegNet(params, num_classes=classes)


def convnext(width, depths, layer_scale, classes):
    widths = [width << i for i in range(4)]
    blocks = [CNBlockConfig(w, n, d) for w, n, d in zip(widths, [*widths[1:], None], depths)]
    return ConvNeXt(blocks, 0, layer_scale, num_classes=classes)


def swin(width, depths, heads, window, classes):
    return SwinTransformer([4, 4], width, depths, heads, [window, window], stochastic_depth_prob=0,
                           num_classes=classes)


def lraspp(width, classes):
    """Scores alone, of a network that torchvision gives a dictionary for."""
    whole = _lraspp_mobilenetv3(mobilenet("mobilenet_v3_large", width, classes, dilated=True), classes)
    forward = whole.forward
    whole.forward = lambda image: forward(image)["out"]
    return whole


class DoubleConv(nn.Module):
    def __init__(self, channels, filters, between=None):
        super().__init__()
        layer = lambda i, o: [nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU()]
        between = between or filters
        self.double_conv = nn.Sequential(*layer(channels, between), *layer(between, filters))

    def forward(self, x):
        return self.double_conv(x)


class Down(nn.Module):
    def __init__(self, channels, filters):
        super().__init__()
        self.maxpool_conv = nn.Sequential(nn.MaxPool2d(2), DoubleConv(channels, filters))

    def forward(self, x):
        return self.maxpool_conv(x)


class Up(nn.Module):
    def __init__(self, channels, filters, bilinear):
        super().__init__()
        self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True) if bilinear else \
            nn.ConvTranspose2d(channels, channels // 2, 2, stride=2)
        self.conv = DoubleConv(channels, filters, channels // 2 if bilinear else None)

    def forward(self, below, skip):
        x = self.up(below)
        rows, columns = skip.shape[2] - x.shape[2], skip.shape[3] - x.shape[3]
        x = F.pad(x, [columns // 2, columns - columns // 2, rows // 2, rows - rows // 2])
        return self.conv(torch.cat([skip, x], 1))


class UNet(nn.Module):
    def __init__(self, width, classes, bilinear):
        super().__init__()
        less = 2 if bilinear else 1
        self.inc = DoubleConv(3, width)
        for k in range(4):
            self.add_module(f"down{k + 1}", Down(width << k, (width << k + 1) // (less if k == 3 else 1)))
        for k in range(4):
            channels = width << 4 - k
            self.add_module(f"up{k + 1}", Up(channels, channels // 2 // (less if k < 3 else 1), bilinear))
        self.outc = nn.ModuleDict({"conv": nn.Conv2d(width, classes, 1)})

    def forward(self, image):
        skips = [self.inc(image)]
        for k in range(4):
            skips.append(getattr(self, f"down{k + 1}")(skips[-1]))
        x = skips.pop()
        for k in range(4):
            x = getattr(self, f"up{k + 1}")(x, skips.pop())
        return self.outc["conv"](x)
