"""torchvision's networks, made narrow."""

import contextlib
import functools
import inspect

from torch import nn
from torchvision import models as tv

from entry import Entry, integers, normal

CLASSES = 5
CALM = {"sgd": 1e-3, "adamw": 1e-4}    # batch norm over few values multiplies rounding


def pictures(make, side, batch=8, rates=CALM):
    return Entry(make, {"image": normal(3, side, side)}, {"label": integers(CLASSES)}, batch=batch,
                 rates=rates)


def videos(make):
    return Entry(make, {"video": normal(3, 4, 16, 16)}, {"label": integers(CLASSES)}, batch=8, rates=CALM)


@contextlib.contextmanager
def narrowed(by):
    """Layers that are made in here have so many times fewer channels; few stay as they are."""
    def shrink(n):
        return n // by if n >= 16 else n
    kinds = {nn.modules.conv._ConvNd: ("in_channels", "out_channels", "groups"),
             nn.modules.batchnorm._NormBase: ("num_features",),
             nn.Linear: ("in_features", "out_features")}
    before = {kind: kind.__init__ for kind in kinds}

    def shrunk(kind, names):
        signature = inspect.signature(before[kind])

        def init(self, *given, **named):
            bound = signature.bind(self, *given, **named)
            for name in names:
                if name in bound.arguments:
                    bound.arguments[name] = shrink(bound.arguments[name])
            before[kind](*bound.args, **bound.kwargs)
        return init
    for kind, names in kinds.items():
        kind.__init__ = shrunk(kind, names)
    try:
        yield
    finally:
        for kind, init in before.items():
            kind.__init__ = init


def narrow(by, make, **options):
    def built():
        with narrowed(by):
            return make(num_classes=CLASSES, **options)
    return built


def resnet(block, **options):
    return narrow(8, tv.ResNet, block=block, layers=[1, 1, 1, 1], **options)


def named(name, by=1, **options):
    return narrow(by, getattr(tv, name), **options)


class Pick(nn.Module):
    """One of the outputs of a network that gives a dictionary."""

    def __init__(self, net, key):
        super().__init__()
        self.net, self.key = net, key

    def forward(self, image):
        return self.net(image)[self.key]


def segmentation(name, **options):
    make = narrow(8, getattr(tv.segmentation, name), weights=None, weights_backbone=None, **options)
    return Entry(lambda: Pick(make(), "out"),
        {"image": normal(3, 32, 32)}, {"label": integers(CLASSES, 32, 32)}, batch=4, rates=CALM)


def narrow_regnet():
    params = tv.regnet.BlockParams.from_init_params(depth=4, w_0=8, w_a=8.0, w_m=2.0, group_width=4,
                                                    se_ratio=0.25)
    return tv.RegNet(params, num_classes=CLASSES, stem_width=8)


def narrow_efficientnet():
    conf = functools.partial(tv.efficientnet.MBConvConfig, width_mult=1.0, depth_mult=1.0)
    settings = [conf(1, 3, 1, 8, 8, 1), conf(4, 3, 2, 8, 12, 2), conf(4, 5, 2, 12, 16, 1)]
    return tv.EfficientNet(settings, dropout=0.0, stochastic_depth_prob=0.0, num_classes=CLASSES,
                           last_channel=24)


def narrow_efficientnet_v2():
    fused, conf = tv.efficientnet.FusedMBConvConfig, tv.efficientnet.MBConvConfig
    settings = [fused(1, 3, 1, 8, 8, 1), fused(4, 3, 2, 8, 16, 1), conf(4, 3, 2, 16, 24, 1)]
    return tv.EfficientNet(settings, dropout=0.0, stochastic_depth_prob=0.0, num_classes=CLASSES,
                           last_channel=24)


def narrow_convnext():
    block = tv.convnext.CNBlockConfig
    return tv.ConvNeXt([block(8, 12, 1), block(12, None, 1)], num_classes=CLASSES)


def narrow_maxvit():
    return tv.MaxVit(input_size=(32, 32), stem_channels=8, partition_size=2, block_channels=[8, 12],
                     block_layers=[1, 1], head_dim=4, stochastic_depth_prob=0.0, num_classes=CLASSES)


def narrow_swin(block):
    make = tv.swin_transformer.SwinTransformer
    merge = tv.swin_transformer.PatchMergingV2 if "V2" in block.__name__ else \
        tv.swin_transformer.PatchMerging
    return lambda: make(patch_size=[2, 2], embed_dim=8, depths=[2, 2], num_heads=[2, 2],
                        window_size=[4, 4], num_classes=CLASSES, block=block, downsample_layer=merge)


def narrow_video_resnet(conv):
    r = tv.video.resnet
    return narrow(8, r.VideoResNet, block=r.BasicBlock, conv_makers=[conv] * 4, layers=[1, 1, 1, 1],
                  stem=r.BasicStem)


ZOO = {
    "alexnet": pictures(named("alexnet", 8), 224, batch=2),
    "vgg": pictures(named("vgg11_bn", 8), 32),
    "resnet": pictures(resnet(tv.resnet.BasicBlock), 33),
    "resnext": pictures(resnet(tv.resnet.Bottleneck, groups=4, width_per_group=32), 33),
    "wide_resnet": pictures(resnet(tv.resnet.Bottleneck, width_per_group=16), 33),
    "resnet_dilated": pictures(resnet(tv.resnet.Bottleneck, width_per_group=8,
                                      replace_stride_with_dilation=[False, True, True]), 33),
    "densenet": pictures(lambda: tv.DenseNet(8, (2, 2, 2), 8, bn_size=2, num_classes=CLASSES), 32),
    "squeezenet": pictures(named("squeezenet1_1", 4), 33),
    "mobilenet_v2": pictures(named("mobilenet_v2", width_mult=0.25), 32),
    "mobilenet_v3": pictures(named("mobilenet_v3_small", width_mult=0.25), 32),
    "shufflenet": pictures(lambda: tv.ShuffleNetV2([2, 2, 2], [8, 16, 24, 32, 48],
                                                   num_classes=CLASSES), 32),
    "efficientnet": pictures(narrow_efficientnet, 32),
    "efficientnet_v2": pictures(narrow_efficientnet_v2, 32),
    "mnasnet": pictures(named("mnasnet0_5", 2), 32),
    "regnet": pictures(narrow_regnet, 32),
    "googlenet": pictures(named("googlenet", 8, aux_logits=False, init_weights=True), 33),
    "inception": pictures(named("inception_v3", 16, aux_logits=False, init_weights=True), 75, batch=4),
    "maxvit": pictures(narrow_maxvit, 32),
    "swin": pictures(narrow_swin(tv.swin_transformer.SwinTransformerBlock), 16, batch=4),
    "swin_v2": pictures(narrow_swin(tv.swin_transformer.SwinTransformerBlockV2), 16),
    "convnext": pictures(narrow_convnext, 32),
    "vit": pictures(lambda: tv.VisionTransformer(16, 4, 2, 3, 24, 48, num_classes=CLASSES), 16),
    "deeplabv3": segmentation("deeplabv3_mobilenet_v3_large"),
    "fcn": segmentation("fcn_resnet50"),
    "lraspp": segmentation("lraspp_mobilenet_v3_large"),
    "r3d": videos(narrow_video_resnet(tv.video.resnet.Conv3DSimple)),
    "mc3": videos(narrow_video_resnet(tv.video.resnet.Conv3DNoTemporal)),
    "r2plus1d": videos(narrow_video_resnet(tv.video.resnet.Conv2Plus1D)),
}
