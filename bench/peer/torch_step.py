#!/usr/bin/env python3
"""What PyTorch needs for a training step of networks that `tequio bench step` and bench/gpu.sh measure.

The same networks and losses as Tequio's, without dropout, on one batch of random data that stays on the
device: nothing is read. PyTorch as one would use it for speed: --compile, fused optimizers, its own flash
attention, images with their channels last, and a vocabulary that is rounded up where the products gain by it.
The last line is JSON; step_ms is the median over blocks of steps, and nobody waits for the device within one.

    python3 bench/peer/torch_step.py --model gpt2_124m --device cuda --dtype bf16 --batch 16 --compile
"""
import argparse
import json
import statistics
import sys
import time

try:
    import torch
    import torch.nn as nn
    import torch.nn.functional as F
except ImportError:
    sys.exit("torch_step.py: needs PyTorch: python3 -m pip install torch")

BLOCKS = 3


class Attention(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        rows = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = rows.permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """GPT-2's, with norms in front and GELU by tanh; or BERT's, with norms behind and the exact GELU."""

    def __init__(self, width, heads, is_gpt):
        super().__init__()
        self.is_gpt = is_gpt
        epsilon = 1e-5 if is_gpt else 1e-12
        self.norm_1, self.norm_2 = (nn.LayerNorm(width, epsilon) for _ in range(2))
        self.attention = Attention(width, heads, is_gpt)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def feed(self, x):
        return self.narrow(F.gelu(self.wide(x), approximate="tanh" if self.is_gpt else "none"))

    def forward(self, x):
        if self.is_gpt:
            x = x + self.attention(self.norm_1(x))
            return x + self.feed(self.norm_2(x))
        x = self.norm_1(x + self.attention(x))
        return self.norm_2(x + self.feed(x))


class Gpt(nn.Module):
    """A language model that names words by their embedding."""

    def __init__(self, words, length, width, layers, heads):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads, True) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, ids, label):
        x = self.words(ids) + self.places.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        scores = F.linear(self.norm(x), self.words.weight)
        return F.cross_entropy(scores.flatten(0, 1), label.flatten())


class Bert(nn.Module):
    """An encoder that says where an answer begins and ends."""

    def __init__(self, words, places, width, layers, heads):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(places, width)
        self.types = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, 1e-12)
        self.blocks = nn.ModuleList(Block(width, heads, False) for _ in range(layers))
        self.head = nn.Linear(width, 2)

    def forward(self, ids, label):
        x = self.words(ids) + self.places.weight[: ids.shape[1]] + self.types.weight[0]
        x = self.norm(x)
        for block in self.blocks:
            x = block(x)
        first, last = self.head(x).unbind(-1)
        return (F.cross_entropy(first, label[:, 0]) + F.cross_entropy(last, label[:, 1])) / 2


class Bottleneck(nn.Module):
    """1x1, 3x3 (with the stride) and 1x1, beside a shortcut."""

    def __init__(self, inner, outer, width, stride):
        super().__init__()
        sizes = [(inner, width, 1, 1), (width, width, 3, stride), (width, outer, 1, 1)]
        self.convs = nn.ModuleList(nn.Conv2d(a, b, k, s, k // 2, bias=False) for a, b, k, s in sizes)
        self.norms = nn.ModuleList(nn.BatchNorm2d(b) for _, b, _, _ in sizes)
        self.shortcut = None
        if stride != 1 or inner != outer:
            self.shortcut = nn.Sequential(nn.Conv2d(inner, outer, 1, stride, bias=False),
                                          nn.BatchNorm2d(outer))

    def forward(self, x):
        y = F.relu(self.norms[0](self.convs[0](x)))
        y = F.relu(self.norms[1](self.convs[1](y)))
        y = self.norms[2](self.convs[2](y))
        return F.relu(y + (self.shortcut(x) if self.shortcut else x))


class ResNet50(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width)
        blocks, inner = [], width
        for stage, n in enumerate([3, 4, 6, 3]):
            for i in range(n):
                own = width << stage
                blocks.append(Bottleneck(inner, 4 * own, own, 2 if stage and not i else 1))
                inner = 4 * own
        self.blocks, self.head = nn.Sequential(*blocks), nn.Linear(inner, classes)

    def forward(self, image, label):
        x = F.max_pool2d(F.relu(self.norm(self.conv(image))), 3, 2, 1)
        return F.cross_entropy(self.head(self.blocks(x).mean((2, 3))), label)


def ids_below(words, *shape):
    return torch.randint(0, words, shape)


def gpt2_124m(batch, small):
    words, length = (70, 16) if small else (50257, 1024)
    rounded = words if small else 50304  # a multiple of 64; nobody names the others
    sizes = (32, 2, 2) if small else (768, 12, 12)
    return (Gpt(rounded, length, *sizes), (ids_below(words, batch, length), ids_below(words, batch, length)))


def bert_base_qa(batch, small):
    words, length = 28996, 16 if small else 384
    sizes = (32, 2, 2) if small else (768, 12, 12)
    return Bert(words, 512, *sizes), (ids_below(words, batch, length), ids_below(length, batch, 2))


def resnet50(batch, small):
    width, side = (8, 32) if small else (64, 224)
    image = torch.randn(batch, 3, side, side).to(memory_format=torch.channels_last)
    return (ResNet50(width, 1000).to(memory_format=torch.channels_last), (image, ids_below(1000, batch)))


class Doubled(nn.Sequential):
    """Two 3x3 convolutions, as U-Net has them everywhere."""

    def __init__(self, inner, outer):
        layers = []
        for a in (inner, outer):
            layers += [nn.Conv2d(a, outer, 3, 1, 1, bias=False), nn.BatchNorm2d(outer), nn.ReLU(True)]
        super().__init__(*layers)


class UNet(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        sizes = [width << i for i in range(5)]
        self.down = nn.ModuleList(Doubled(a, b) for a, b in zip([3, *sizes], sizes))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * a, a, 2, 2) for a in sizes[:-1])
        self.beside = nn.ModuleList(Doubled(2 * a, a) for a in sizes[:-1])
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, image):
        x, levels = self.down[0](image), []
        for down in self.down[1:]:
            levels.append(x)
            x = down(F.max_pool2d(x, 2))
        for i in reversed(range(4)):
            x = self.beside[i](torch.cat([levels[i], self.up[i](x)], 1))
        return self.head(x)


class WithLoss(nn.Module):
    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, image, label):
        return F.cross_entropy(self.network(image), label)


def without_regularising(network):
    """Dropout and stochastic depth away, which cost something with a share of 0 too."""
    for parent in list(network.modules()):
        for name, child in parent.named_children():
            if isinstance(child, nn.Dropout) or type(child).__name__ == "StochasticDepth":
                setattr(parent, name, nn.Identity())
    return network


def of_torchvision(name):
    def build(batch, small):
        import torchvision
        network = without_regularising(getattr(torchvision.models, name)())
        side = 64 if small else 224
        image = torch.randn(batch, 3, side, side).to(memory_format=torch.channels_last)
        return WithLoss(network).to(memory_format=torch.channels_last), (image, ids_below(1000, batch))
    return build


def unet(batch, small):
    width, side = (4, 32) if small else (64, 128)
    image = torch.randn(batch, 3, side, side).to(memory_format=torch.channels_last)
    return (WithLoss(UNet(width, 21)).to(memory_format=torch.channels_last),
            (image, ids_below(21, batch, side, side)))


MODELS = {"gpt2_124m": (gpt2_124m, 16), "bert_base_qa": (bert_base_qa, 32), "resnet50": (resnet50, 128),
          "unet": (unet, 2)}
MODELS.update({name: (of_torchvision(name), batch) for name, batch in (
    ("mobilenet_v3_large", 16), ("efficientnet_b0", 8), ("regnet_y_400mf", 16), ("densenet121", 4),
    ("convnext_tiny", 4), ("swin_t", 4))})


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", choices=MODELS, required=True)
    p.add_argument("--batch", type=int, help="examples of a step; the model's own, 16 of GPT-2")
    p.add_argument("--dtype", choices=["f32", "tf32", "bf16"], default="f32", help="of products; bf16: autocast")
    p.add_argument("--optimizer", choices=["sgd", "adamw"], default="adamw")
    p.add_argument("--device", default="cpu")
    p.add_argument("--threads", type=int, help="of the CPU")
    p.add_argument("--compile", action="store_true")
    p.add_argument("--steps", type=int, default=20, help="that are timed, in 3 blocks")
    p.add_argument("--warmup", type=int, default=5)
    p.add_argument("--small", action="store_true", help="networks of toy size, to try this program")
    return p.parse_args()


def set_precision(dtype):
    torch.set_float32_matmul_precision("highest" if dtype == "f32" else "high")
    torch.backends.cudnn.allow_tf32 = dtype != "f32"
    torch.backends.cudnn.benchmark = True


def optimizer_of(a, parameters):
    fused = a.device.startswith("cuda")
    if a.optimizer == "sgd":
        return torch.optim.SGD(parameters, 0.01, momentum=0.9, fused=fused)
    return torch.optim.AdamW(parameters, 1e-4, fused=fused)


def block_ms(step, n, wait):
    """Of a step, by the clock and of all cores."""
    wait()
    begin, begin_cpu = time.perf_counter(), time.process_time()
    for _ in range(n):
        step()
    wait()
    return (time.perf_counter() - begin) / n * 1e3, (time.process_time() - begin_cpu) / n * 1e3


def main():
    a = arguments()
    build, usual = MODELS[a.model]
    batch = a.batch or usual
    if a.threads:
        torch.set_num_threads(a.threads)
    torch.manual_seed(0)
    set_precision(a.dtype)
    model, data = build(batch, a.small)
    model, data = model.to(a.device).train(), [x.to(a.device) for x in data]
    optimizer = optimizer_of(a, model.parameters())
    loss_of = torch.compile(model) if a.compile else model
    kind = a.device.split(":")[0]

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(kind, torch.bfloat16, enabled=a.dtype == "bf16"):
            loss = loss_of(*data)
        loss.backward()
        optimizer.step()

    wait = torch.cuda.synchronize if kind == "cuda" else lambda: None
    for _ in range(a.warmup):
        step()
    times = [block_ms(step, max(1, a.steps // BLOCKS), wait) for _ in range(BLOCKS)]
    ms, cpu_ms = (statistics.median(side) for side in zip(*times))
    print(json.dumps({
        "peer": "PyTorch " + torch.__version__, "model": a.model, "batch": batch, "dtype": a.dtype,
        "device": torch.cuda.get_device_name() if kind == "cuda" else a.device, "compile": a.compile,
        "parameters": sum(p.numel() for p in model.parameters()), "step_ms": round(ms, 3),
        "best_ms": round(min(times)[0], 3), "cpu_ms": round(cpu_ms, 3), "examples_per_s": round(batch / ms * 1e3, 3)}))


if __name__ == "__main__":
    main()
