"""Golden runs of models, by PyTorch on the CPU in float32.

    python make_models.py [model...]        writes data/<model>.safetensors

Each file holds the section `model` that builds the same network here, its first weights, five batches
for ten steps (fifty of SAM), the gradients of the first step and, for each optimizer, the losses of all steps. Of
images only the shape: both sides know a formula (`noise`). No dropout.

Networks as narrow as these multiply rounding: a channel may be all but dead, and its norm makes much of
it. With most seeds PyTorch in float32 and PyTorch in float64 part ways within ten steps; SEEDS and RATES
are such that they do not, which the last two numbers of each line tell.
Needs torch, torchvision, safetensors, numpy.
"""

import itertools
import json
import pathlib
import sys

import numpy
import torch
import torch.nn as nn
import torch.nn.functional as F
from safetensors.torch import save_file
from torchvision.models.resnet import BasicBlock, Bottleneck
from torchvision.models.video.resnet import BasicBlock as VideoBlock
from torchvision.ops import sigmoid_focal_loss

import image_models
from torch_models import (BertQa, Cnn, Dlrm, FrameCnn, Gpt2, Layers, Mlp, NarrowR2Plus1D, WideDeep,
                          lora, resnet18, resnet34, resnet50, vit)

STEPS, BATCHES = 10, 5    # each batch is used twice

# name, rate, section trainer.optimizer, the same in PyTorch
OPTIMIZERS = [
    ("sgd", 1e-2, {"type": "sgd", "momentum": 0.9, "weight_decay": 1e-4},
     lambda p, lr: torch.optim.SGD(p, lr=lr, momentum=0.9, weight_decay=1e-4)),
    ("adamw", 1e-3, {"type": "adamw", "weight_decay": 0.01},
     lambda p, lr: torch.optim.AdamW(p, lr=lr, weight_decay=0.01)),
]

RATES = {name: {"sgd": 1e-3, "adamw": 1e-4}
         for name in ("resnet34", "resnet50", "r2plus1d_18", "efficientnet_b0", "densenet121",
                      "lraspp_mobilenet_v3_large")}
RATES.update({name: {"sgd": 5e-2, "adamw": 5e-3} for name in ("sam", "sam_adaptive")})
SEEDS = {"resnet34": 4, "densenet121": 2}

# section trainer.sam
SAM = {"sam": {"rho": 0.3, "adaptive": False}, "sam_adaptive": {"rho": 0.7, "adaptive": True}}
SAM_STEPS = 50


def noise(batch, shape):
    """Element i of batch b is rng_mix(b, i) (common/base/rng.h), as a number in [-2, 2)."""
    u64 = numpy.uint64
    x = u64(batch) + u64(0x9E3779B97F4A7C15) * numpy.arange(1, numpy.prod(shape) + 1, dtype=u64)
    x = (x ^ (x >> u64(30))) * u64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> u64(27))) * u64(0x94D049BB133111EB)
    x = (x ^ (x >> u64(31))) >> u64(40)
    x = (x.astype(numpy.float32) - 2.0**23) * 2.0**-22
    return torch.from_numpy(x.astype(numpy.float32)).reshape(shape)


def images(shape, classes, batch):
    numbers = itertools.count()
    return lambda: {"image": noise(next(numbers), (batch, *shape)),
                    "label": torch.randint(classes, (batch,))}


def with_label(draw, label):
    """The same images with other labels."""
    return lambda: {**draw(), "label": label()}


def pixels(shape, classes, batch):
    """A label for each pixel; 255 has none."""
    def labels():
        label = torch.randint(classes, (batch, *shape[1:]))
        return label.masked_fill(torch.rand(label.shape) < 0.2, 255)
    return with_label(images(shape, classes, batch), labels)


def text(vocabulary, tokens, batch):
    """The label of each token is the next one; the last has none."""
    def draw():
        ids = torch.randint(vocabulary, (batch, tokens))
        label = torch.cat([ids[:, 1:], torch.full((batch, 1), -100)], 1)
        return {"input_ids": ids, "label": label}
    return draw


def questions(vocabulary, tokens, batch):
    def draw():
        length = torch.randint(tokens // 2, tokens + 1, (batch, 1))
        place = torch.arange(tokens)
        span = torch.stack([torch.randint(tokens // 2, (batch,)) for _ in range(2)], 1)
        return {"input_ids": torch.randint(vocabulary, (batch, tokens)),
                "token_type_ids": (place > length // 2).long(),
                "attention_mask": place < length,
                "label": span.sort(1).values}
    return draw


def table(numbers, sizes, batch):
    def draw():
        columns = [torch.randint(n, (batch,)) for n in sizes]
        return {"numeric": torch.randn(batch, numbers), "categorical": torch.stack(columns, 1),
                "label": torch.randint(2, (batch,)).float()}
    return draw


def span_loss(logits, label):
    return (F.cross_entropy(logits[..., 0], label[:, 0]) +
            F.cross_entropy(logits[..., 1], label[:, 1])) / 2


def token_loss(logits, label):
    return F.cross_entropy(logits.flatten(0, 1), label.flatten())


def pixel_loss(logits, label):
    return F.cross_entropy(logits, label, ignore_index=255)


def smoothed_loss(logits, label):
    weight = torch.tensor(WEIGHTS, dtype=logits.dtype)
    return F.cross_entropy(logits, label, weight=weight, label_smoothing=0.2, ignore_index=3)


def weighed(draw):
    """The same batches with a weight for each example, the first of which does not count."""
    def with_weights():
        fields = draw()
        weight = 2 * torch.rand(len(fields["label"]))
        weight[0] = 0
        return {**fields, "weight": weight}
    return with_weights


def mean_by(loss, weight):
    """Of losses [batch, d...] by the weights of examples."""
    weight = weight.reshape(-1, *[1] * (loss.dim() - 1)).expand_as(loss)
    return (weight * loss).sum() / weight.sum()


def focal_loss(logits, label, weight):
    """Lin et al. 2017, with weights of classes as alpha; label 3 does not count."""
    of_class = torch.tensor(WEIGHTS, dtype=logits.dtype)[label]
    cross = F.cross_entropy(logits, label, reduction="none")
    each = (1 - torch.exp(-cross)) ** 2.5 * cross
    return mean_by(each, weight * of_class * (label != 3))


def binary_focal_loss(logits, label, weight):
    return mean_by(sigmoid_focal_loss(logits, label, alpha=0.25, gamma=2, reduction="none"), weight)


def soft_loss(logits, label):
    weight = torch.tensor(WEIGHTS, dtype=logits.dtype)
    return F.cross_entropy(logits, label, weight=weight, label_smoothing=0.1)


TEACHER = "distilled_teacher.safetensors"
TEACHERS_LAYERS = [{"type": "conv", "filters": 4, "kernel": 3}, "batch_norm", "relu", "flatten",
                   {"type": "linear", "features": 5}]


class Teacher(nn.Module):
    """In evaluation mode; its weights lie in a file of their own."""
    def __init__(self):
        super().__init__()
        self.conv1, self.batch_norm1 = nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.linear1 = nn.Linear(64, 5)
        self.batch_norm1.running_mean.uniform_(-1, 1)
        self.batch_norm1.running_var.uniform_(0.5, 2)
        self.eval().requires_grad_(False)
        tensors = {k: v.clone() for k, v in self.state_dict().items() if v.is_floating_point()}
        save_file(tensors, pathlib.Path(__file__).parent / "data" / TEACHER)

    def forward(self, x):
        return self.linear1(F.relu(self.batch_norm1(self.conv1(x))).flatten(1))


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.batch_norm1 = nn.Conv2d(1, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4)
        self.linear1 = nn.Linear(16, 5)

    def forward(self, x):
        return self.linear1(F.max_pool2d(F.relu(self.batch_norm1(self.conv1(x))), 2).flatten(1))


class Distilled(Mlp):
    """A model beside its teacher, which is none of its modules."""
    def __init__(self):
        super().__init__(16, [8], 5)
        self.teachers = [Teacher()]

    def forward(self, x):
        return super().forward(x), self.teachers[0].to(x.dtype)(x)


def distilled_loss(logits, label):
    model, teacher = (F.log_softmax(x / 3, 1) for x in logits)
    soft = F.kl_div(model, teacher, log_target=True, reduction="batchmean")
    return 0.3 * F.cross_entropy(logits[0], label, label_smoothing=0.1) + 0.7 * 9 * soft


def soft_pixels_loss(logits, label, weight):
    return mean_by(F.cross_entropy(logits, label.movedim(-1, 1), reduction="none"), weight)


def weighed_token_loss(logits, label, weight):
    each = F.cross_entropy(logits.flatten(0, 1), label.flatten(), reduction="none", label_smoothing=0.2)
    counts = weight[:, None] * (label != -100)
    return (each.reshape(label.shape) * weight[:, None]).sum() / counts.sum()


def numbers_loss(prediction, label, weight):
    return mean_by((prediction - label) ** 2, weight)


def click_loss(logits, label):
    return F.binary_cross_entropy_with_logits(logits.flatten(), label)


class Pixels(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(2, classes, 3, padding=1)

    def forward(self, x):
        return self.conv1(x)


WEIGHTS = [1, 0.25, 3, 0.5, 2]
SIZES = [11, 7, 30, 5]
LAYERS = [
    {"type": "conv", "filters": 6, "kernel": 5}, "tanh",
    {"type": "max_pool", "kernel": 3, "stride": 2, "padding": 1},
    {"type": "residual", "layers": [
        {"type": "conv", "filters": 8, "kernel": 3, "stride": 2, "groups": 2, "bias": False},
        "batch_norm", "gelu", {"type": "conv", "filters": 8, "kernel": 1}]},
    "relu", "average_pool", "flatten", {"type": "linear", "features": 24}, "sigmoid",
    {"type": "linear", "features": 10}]

# name: section `model`, classes, network, batches, loss
CASES = {
    "mlp": ({"type": "mlp", "hidden": [48, 32]}, 10,
            lambda: Mlp(100, [48, 32], 10), images((1, 10, 10), 10, 8), F.cross_entropy),
    "smoothing": ({"type": "mlp", "hidden": [8], "label_smoothing": 0.2, "class_weights": WEIGHTS,
                   "ignore_index": 3}, 5, lambda: Mlp(16, [8], 5), images((1, 4, 4), 5, 8), smoothed_loss),
    "focal": ({"type": "mlp", "hidden": [8], "focal_gamma": 2.5, "class_weights": WEIGHTS, "ignore_index": 3,
               "sample_weights": "weight"}, 5, lambda: Mlp(16, [8], 5), weighed(images((1, 4, 4), 5, 8)), focal_loss),
    "focal_binary": ({"type": "mlp", "hidden": [8], "loss": "binary_cross_entropy", "focal_gamma": 2,
                      "focal_alpha": 0.25, "sample_weights": "weight"}, 0, lambda: Mlp(16, [8], 3),
                     weighed(with_label(images((1, 4, 4), 5, 8), lambda: torch.randint(2, (8, 3)).float())),
                     binary_focal_loss),
    "soft_labels": ({"type": "mlp", "hidden": [8], "label_smoothing": 0.1, "class_weights": WEIGHTS}, 0,
                    lambda: Mlp(16, [8], 5),
                    with_label(images((1, 4, 4), 5, 8), lambda: torch.rand(8, 5).softmax(1)), soft_loss),
    "distilled": ({"type": "mlp", "hidden": [8], "label_smoothing": 0.1, "distillation": {
        "teacher": {"type": "sequential", "layers": TEACHERS_LAYERS, "pretrained": {"path": TEACHER}},
        "temperature": 3, "alpha": 0.7}}, 5, Distilled, images((1, 4, 4), 5, 8), distilled_loss),
    "soft_pixels": ({"type": "sequential", "layers": [{"type": "conv", "filters": 3, "kernel": 3}],
                     "sample_weights": "weight"}, 0, lambda: Pixels(3),
                    weighed(with_label(images((2, 5, 4), 5, 4), lambda: torch.rand(4, 5, 4, 3).softmax(-1))),
                    soft_pixels_loss),
    "weighed_tokens": ({"type": "transformer_lm", "context": 8, "width": 8, "num_layers": 1, "num_heads": 2,
                        "dropout": 0, "label_smoothing": 0.2, "sample_weights": "weight"}, 11,
                       lambda: Gpt2(11, 8, 8, 1, 2), weighed(text(11, 6, 4)), weighed_token_loss),
    "weighed_numbers": ({"type": "mlp", "hidden": [8], "loss": "mean_squared_error", "sample_weights": "weight"}, 0,
                        lambda: Mlp(16, [8], 2),
                        weighed(with_label(images((1, 4, 4), 5, 8), lambda: torch.randn(8, 2))), numbers_loss),
    "lora": ({"type": "mlp", "hidden": [12, 9],
              "lora": {"patterns": ["fc[12]"], "rank": 3, "alpha": 6, "modules_to_save": ["fc3", "fc1.bias"]}}, 5,
             lambda: lora(Mlp(16, [12, 9], 5), ["fc1", "fc2"], 3, 6, ["fc3", "fc1.bias"]),
             images((1, 4, 4), 5, 8), F.cross_entropy),
    "lora_gpt2": ({"type": "transformer_lm", "context": 8, "width": 8, "num_layers": 1, "num_heads": 2, "dropout": 0,
                   "lora": {"patterns": ["c_attn", "mlp.c_proj"], "rank": 2, "alpha": 3}}, 11,
                  lambda: lora(Gpt2(11, 8, 8, 1, 2), ["h.0.attn.c_attn", "h.0.mlp.c_proj"], 2, 3, []),
                  text(11, 6, 4), token_loss),
    "sam": ({"type": "sequential", "layers": [{"type": "conv", "filters": 4, "kernel": 3, "bias": False}, "batch_norm",
                                              "relu", {"type": "max_pool", "kernel": 2}, "flatten",
                                              {"type": "linear", "features": 5}]}, 5,
            Normed, images((1, 4, 4), 5, 8), F.cross_entropy),
    "sam_adaptive": ({"type": "mlp", "hidden": [12, 9],
                      "lora": {"patterns": ["fc[12]"], "rank": 3, "alpha": 6, "modules_to_save": ["fc3"]}}, 5,
                     lambda: lora(Mlp(16, [12, 9], 5), ["fc1", "fc2"], 3, 6, ["fc3"]),
                     images((1, 4, 4), 5, 8), F.cross_entropy),
    "cnn": ({"type": "cnn", "channels": [6, 8], "hidden": [24]}, 10,
            lambda: Cnn([6, 8], [24], 12, 10), images((3, 12, 12), 10, 8), F.cross_entropy),
    "sequential": ({"type": "sequential", "layers": LAYERS}, 10,
                   lambda: Layers(10), images((3, 32, 32), 10, 8), F.cross_entropy),
    "resnet18": ({"type": "resnet18", "width": 4}, 10,
                 lambda: resnet18(4, 10), images((3, 33, 33), 10, 8), F.cross_entropy),
    "resnet34": ({"type": "resnet34", "width": 3, "stem": "cifar"}, 10,
                 lambda: resnet34(3, 10), images((3, 16, 16), 10, 8), F.cross_entropy),
    "resnet50": ({"type": "resnet50", "width": 3}, 10,
                 lambda: resnet50(3, 10), images((3, 65, 65), 10, 8), F.cross_entropy),
    "r2plus1d_18": ({"type": "r2plus1d_18", "width": 3, "stem_width": 3}, 10,
                    lambda: NarrowR2Plus1D(3, 3, 10), images((3, 4, 20, 20), 10, 8),
                    F.cross_entropy),
    "frame_cnn": ({"type": "frame_cnn", "channels": [6, 8], "hidden": [24]}, 10,
                  lambda: FrameCnn([6, 8], [24], 10), images((3, 3, 12, 12), 10, 4),
                  F.cross_entropy),
    "vit": ({"type": "vit", "patch": 8, "width": 24, "num_layers": 2, "num_heads": 3,
             "dropout": 0}, 10,
            lambda: vit(24, 8, 24, 2, 3, 10), images((3, 24, 24), 10, 8), F.cross_entropy),
    "mobilenet_v3_small": ({"type": "mobilenet_v3_small", "width_mult": 0.1, "dropout": 0}, 10,
                           lambda: image_models.mobilenet("mobilenet_v3_small", 0.1, 10),
                           images((3, 40, 40), 10, 8), F.cross_entropy),
    "efficientnet_b0": ({"type": "efficientnet_b0", "width_mult": 0.1, "depth_mult": 0.3, "dropout": 0,
                         "stochastic_depth_prob": 0}, 10,
                        lambda: image_models.efficientnet(0.1, 0.3, 10), images((3, 40, 40), 10, 8),
                        F.cross_entropy),
    "regnet_y_400mf": ({"type": "regnet_y_400mf", "depth": 6, "w_0": 8, "w_a": 4, "w_m": 2, "group_width": 4}, 10,
                       lambda: image_models.regnet(6, 8, 4, 2, 4, 0.25, 10), images((3, 40, 40), 10, 8),
                       F.cross_entropy),
    "densenet121": ({"type": "densenet121", "growth_rate": 4, "block_config": [2, 3, 2, 1],
                     "num_init_features": 8, "bn_size": 2}, 10,
                    lambda: image_models.DenseNet(4, (2, 3, 2, 1), 8, 2, num_classes=10),
                    images((3, 40, 40), 10, 8), F.cross_entropy),
    "convnext_tiny": ({"type": "convnext_tiny", "width": 6, "depths": [1, 1, 2, 1], "layer_scale": 0.5,
                       "stochastic_depth_prob": 0}, 10,
                      lambda: image_models.convnext(6, [1, 1, 2, 1], 0.5, 10), images((3, 40, 40), 10, 8),
                      F.cross_entropy),
    "swin_t": ({"type": "swin_t", "width": 6, "depths": [2, 2, 1, 1], "num_heads": [1, 2, 2, 4], "window": 3,
                "stochastic_depth_prob": 0}, 10,
               lambda: image_models.swin(6, [2, 2, 1, 1], [1, 2, 2, 4], 3, 10), images((3, 28, 24), 10, 4),
               F.cross_entropy),
    "unet": ({"type": "unet", "width": 2, "ignore_index": 255}, 3, lambda: image_models.UNet(2, 3, False),
             pixels((3, 33, 35), 3, 2), pixel_loss),
    "unet_bilinear": ({"type": "unet", "width": 2, "bilinear": True, "ignore_index": 255}, 3,
                      lambda: image_models.UNet(2, 3, True), pixels((3, 33, 35), 3, 2), pixel_loss),
    "lraspp_mobilenet_v3_large": ({"type": "lraspp_mobilenet_v3_large", "width_mult": 0.1, "ignore_index": 255}, 3,
                                  lambda: image_models.lraspp(0.1, 3), pixels((3, 33, 35), 3, 2), pixel_loss),
    "bert_qa": ({"type": "bert", "vocabulary": 100, "context": 24, "width": 24, "num_layers": 2,
                 "num_heads": 3, "dropout": 0}, 0,
                lambda: BertQa(100, 24, 24, 2, 3), questions(100, 20, 4), span_loss),
    "gpt2": ({"type": "transformer_lm", "context": 20, "width": 24, "num_layers": 2,
              "num_heads": 3, "dropout": 0}, 65,
             lambda: Gpt2(65, 20, 24, 2, 3), text(65, 16, 4), token_loss),
    "wide_deep": ({"type": "wide_deep", "categories": SIZES, "width": 4, "hidden": [24, 12]}, 0,
                  lambda: WideDeep(6, SIZES, 4, [24, 12]), table(6, SIZES, 16), click_loss),
    "dlrm": ({"type": "dlrm", "categories": SIZES, "bottom": [16, 8], "top": [24, 12]}, 0,
             lambda: Dlrm(6, SIZES, [16, 8], [24, 12]), table(6, SIZES, 16), click_loss),
}


def without_statistics(model):
    """Norms that move their running statistics no further; the momentum that each had."""
    norms = [m for m in model.modules() if isinstance(m, nn.BatchNorm2d)]
    had = [m.momentum for m in norms]
    for m in norms:
        m.momentum = 0
    return list(zip(norms, had))


def sharpen(model, loss_again, rho, adaptive):
    """SAM (Foret et al. 2021, equations 2 and 3; Kwon et al. 2021): gradients become those at weights beside."""
    moving = [p for p in model.parameters() if p.grad is not None]
    with torch.no_grad():
        size = [p.abs() if adaptive else torch.ones_like(p) for p in moving]
        norm = torch.stack([(t * p.grad).norm() for t, p in zip(size, moving)]).norm()
        first = [p.clone() for p in moving]
        for t, p in zip(size, moving):
            p.add_(rho * t ** 2 * p.grad / (norm + 1e-12))
    model.zero_grad()
    norms = without_statistics(model)
    loss_again().backward()
    for m, momentum in norms:
        m.momentum = momentum
    with torch.no_grad():
        for w, p in zip(first, moving):
            p.copy_(w)


def train(make_optimizer, rate, model, first, batches, loss_of, dtype, sam=None):
    """Losses of all steps; gradients of the first one, and what it left of running statistics."""
    model.to(dtype).load_state_dict(first, strict=False)
    optimizer, losses, grads, states = make_optimizer(model.parameters(), rate), [], {}, {}
    for i in range(SAM_STEPS if sam else STEPS):
        fields = {k: v.to(dtype) if v.is_floating_point() else v
                  for k, v in batches[i % BATCHES].items()}
        targets = [fields.pop(name) for name in ("label", "weight") if name in fields]
        loss = loss_of(model(*fields.values()), *targets)
        optimizer.zero_grad()
        loss.backward()
        losses.append(loss.item())
        if sam:
            sharpen(model, lambda: loss_of(model(*fields.values()), *targets), **sam)
        grads = grads or {k: p.grad.clone()
                          for k, p in model.named_parameters(remove_duplicate=False) if p.requires_grad}
        states = states or {k: v.clone() for k, v in model.named_buffers() if v.is_floating_point()}
        optimizer.step()
    return torch.tensor(losses, dtype=dtype), grads, states


def apart(few, many):
    """The worst of all gradients, as a share of its norm; GRAIN as in models_test.c."""
    grain = 1e-6 * sum(v.norm() ** 2 for v in many.values()) ** 0.5
    return max(((few[k] - v).norm() / (v.norm() + grain)).item() for k, v in many.items())


def draw_weights(model):
    """Convolutions as torchvision does; norms so that few channels die, and that branches add less
    than what they are added to."""
    for name, layer in model.named_modules():
        if isinstance(layer, (nn.Conv2d, nn.Conv3d)):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out")
        elif isinstance(layer, (nn.BatchNorm2d, nn.BatchNorm3d)):
            nn.init.uniform_(layer.weight, 0.5, 1.5)
            nn.init.uniform_(layer.bias, 0.0, 1.0)
    for layer in model.modules():
        if isinstance(layer, (BasicBlock, Bottleneck, VideoBlock)):
            last = getattr(layer, "bn3", None) or getattr(layer, "bn2", None) or layer.conv2[1]
            with torch.no_grad():
                last.weight.mul_(0.3)


def begin(name, make, draw):
    torch.manual_seed(SEEDS.get(name, 1))
    model = make()
    draw_weights(model)
    first = {k: v.clone() for k, v in model.state_dict().items()
             if v.is_floating_point()}
    return model, first, [draw() for _ in range(BATCHES)]


def run(name, section, classes, make, draw, loss_of, with_states=False):
    """With states: of norms that take the population's variance, as ONNX and we do."""
    model, first, batches = begin(name, make, draw)
    tensors = {f"param.{k}": v for k, v in first.items()}
    config = {"model": section, "classes": classes}
    if name in SAM:
        config["sam"] = SAM[name]
    for i, batch in enumerate(batches):
        tensors.update({f"batch.{i}.{k}": v.contiguous() for k, v in batch.items()
                        if k != "image"})
        if "image" in batch:
            config["image"] = list(batch["image"].shape)
    worst = [0.0, 0.0]
    for which, rate, options, make_optimizer in OPTIMIZERS:
        rate = RATES.get(name, {}).get(which, rate)
        config[which] = {**options, "lr": rate}
        given = (make_optimizer, rate, model, first, batches, loss_of)
        losses, grads, states = train(*given, torch.float32, SAM.get(name))
        true_losses, true_grads, _ = train(*given, torch.float64, SAM.get(name))
        tensors[f"loss.{which}"] = losses
        tensors.update({f"grad.{k}": v for k, v in grads.items()})
        tensors.update({f"state.{k}": v for k, v in states.items()
                        if with_states or name in SAM and "mean" in k})
        worst[0] = max(worst[0], (losses / true_losses - 1).abs().max().item())
        worst[1] = apart(grads, true_grads)
    path = pathlib.Path(__file__).parent / "data" / f"{name}.safetensors"
    save_file(tensors, path, metadata={k: json.dumps(v) for k, v in config.items()})
    print(f"{name} {path.stat().st_size} bytes, losses {losses[0]:.4f} to {losses[-1]:.4f}, "
          f"float64's {worst[0]:.1e} apart, gradients {worst[1]:.1e}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    for name in sys.argv[1:] or CASES:
        run(name, *CASES[name])
