"""The networks of make_models.py, in PyTorch: torchvision's where it has them, made narrow; the
others written out with the names of their originals (transformers, the authors' DLRM)."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torchvision.models.resnet import BasicBlock, Bottleneck, ResNet
from torchvision.models.video.resnet import BasicBlock as VideoBlock
from torchvision.models.video.resnet import Conv2Plus1D, VideoResNet
from torchvision.models.vision_transformer import VisionTransformer


class Mlp(nn.Module):
    def __init__(self, inputs, hidden, classes):
        super().__init__()
        widths = [inputs, *hidden, classes]
        self.n = len(widths) - 1
        for i in range(self.n):
            setattr(self, f"fc{i + 1}", nn.Linear(widths[i], widths[i + 1]))

    def forward(self, image):
        x = image.flatten(1)
        for i in range(1, self.n):
            x = F.relu(getattr(self, f"fc{i}")(x))
        return getattr(self, f"fc{self.n}")(x)


class Cnn(nn.Module):
    def __init__(self, channels, hidden, side, classes):
        super().__init__()
        widths = [3, *channels]
        self.k = len(channels)
        for i in range(self.k):
            setattr(self, f"conv{i + 1}", nn.Conv2d(widths[i], widths[i + 1], 3, padding=1))
        self.head = [Mlp(channels[-1] * (side >> self.k) ** 2, hidden, classes)]
        for name, child in self.head[0].named_children():
            self.add_module(name, child)

    def features(self, image):
        x = image
        for i in range(1, self.k + 1):
            x = F.max_pool2d(F.relu(getattr(self, f"conv{i}")(x)), 2)
        return x

    def forward(self, image):
        return self.head[0](self.features(image))


class FrameCnn(Cnn):
    """The cnn of every frame, its mean over all places, then over the frames."""

    def __init__(self, channels, hidden, classes):
        super().__init__(channels, hidden, 1 << len(channels), classes)

    def forward(self, video):
        x = F.adaptive_avg_pool2d(self.features(video.flatten(0, 1)), 1)
        return self.head[0](x.flatten(1).unflatten(0, video.shape[:2]).mean(1))


class Residual(nn.Sequential):
    """Its input, projected, and the output of its layers."""

    def forward(self, x):
        layers = [layer for name, layer in self.named_children() if name != "projection"]
        y = x
        for layer in layers:
            y = layer(y)
        return y + self.projection(x)


class Layers(nn.Sequential):
    """The layers of the case `sequential`."""

    def __init__(self, classes):
        inner = dict(conv1=nn.Conv2d(6, 8, 3, stride=2, padding=1, groups=2, bias=False),
                     batch_norm1=nn.BatchNorm2d(8), gelu1=nn.GELU(), conv2=nn.Conv2d(8, 8, 1),
                     projection=nn.Conv2d(6, 8, 1, stride=2, bias=False))
        residual = Residual()
        for name, layer in inner.items():
            residual.add_module(name, layer)
        layers = dict(conv1=nn.Conv2d(3, 6, 5, padding=2), tanh1=nn.Tanh(),
                      max_pool1=nn.MaxPool2d(3, 2, 1), residual1=residual, relu1=nn.ReLU(),
                      average_pool1=nn.AvgPool2d(2), flatten1=nn.Flatten(),
                      linear1=nn.Linear(8 * 16, 24), sigmoid1=nn.Sigmoid(),
                      linear2=nn.Linear(24, classes))
        super().__init__()
        for name, layer in layers.items():
            self.add_module(name, layer)


class NarrowResNet(ResNet):
    def __init__(self, block, blocks, width, classes, small=False):
        nn.Module.__init__(self)
        self._norm_layer = nn.BatchNorm2d
        self.inplanes, self.dilation, self.groups, self.base_width = width, 1, 1, 64
        self.conv1 = nn.Conv2d(3, width, 3, padding=1, bias=False) if small else \
            nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU()
        self.maxpool = nn.Identity() if small else nn.MaxPool2d(3, stride=2, padding=1)
        for s in range(4):
            layer = self._make_layer(block, width << s, blocks[s], stride=1 if s == 0 else 2)
            setattr(self, f"layer{s + 1}", layer)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(8 * width * block.expansion, classes)


def resnet18(width, classes):
    return NarrowResNet(BasicBlock, [2, 2, 2, 2], width, classes)


def resnet34(width, classes):
    return NarrowResNet(BasicBlock, [3, 4, 6, 3], width, classes, small=True)


def resnet50(width, classes):
    return NarrowResNet(Bottleneck, [3, 4, 6, 3], width, classes)


class NarrowR2Plus1D(VideoResNet):
    def __init__(self, width, stem_width, classes):
        nn.Module.__init__(self)
        self.inplanes = width
        self.stem = nn.Sequential(
            nn.Conv3d(3, stem_width, (1, 7, 7), stride=(1, 2, 2), padding=(0, 3, 3), bias=False),
            nn.BatchNorm3d(stem_width), nn.ReLU(),
            nn.Conv3d(stem_width, width, (3, 1, 1), padding=(1, 0, 0), bias=False),
            nn.BatchNorm3d(width), nn.ReLU())
        for s in range(4):
            layer = self._make_layer(VideoBlock, Conv2Plus1D, width << s, 2,
                                     stride=1 if s == 0 else 2)
            setattr(self, f"layer{s + 1}", layer)
        self.avgpool = nn.AdaptiveAvgPool3d((1, 1, 1))
        self.fc = nn.Linear(8 * width, classes)


def attend(q, k, v, heads, mask):
    """softmax(q k^T / sqrt(d) + mask) v, [batch, tokens, width]"""
    split = lambda x: x.unflatten(-1, (heads, -1)).transpose(1, 2)
    q, k, v = split(q), split(k), split(v)
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    scores = scores.masked_fill(~mask, float("-inf"))
    return (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)


class Conv1D(nn.Module):
    """transformers.pytorch_utils.Conv1D: the weight lies [in, out]"""

    def __init__(self, outputs, inputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inputs, outputs) * 0.02)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        return x @ self.weight + self.bias


class Adapter(nn.Module):
    """PEFT's formula beside a linear layer: y + (x A) B alpha / rank; a Conv1D's lie as its weight does."""

    def __init__(self, layer, rank, alpha):
        super().__init__()
        self.scale, self.is_conv1d = alpha / rank, isinstance(layer, Conv1D)
        inputs, outputs = layer.weight.shape if self.is_conv1d else layer.weight.shape[::-1]
        bare = lambda *size: nn.ParameterDict({"weight": nn.Parameter(torch.randn(size) * 0.2)})
        turn = 1 if self.is_conv1d else -1
        self.lora_A, self.lora_B = bare(*(inputs, rank)[::turn]), bare(*(rank, outputs)[::turn])
        self.weight, self.bias = layer.weight, layer.bias

    def forward(self, x):
        a, b = self.lora_A["weight"], self.lora_B["weight"]
        a, b = (a, b) if self.is_conv1d else (a.T, b.T)
        y = x @ self.weight + self.bias if self.is_conv1d else F.linear(x, self.weight, self.bias)
        return y + x @ a @ b * self.scale


def lora(model, layers, rank, alpha, saved):
    """The model with adapters, which alone move, but for what begins with one of `saved`."""
    for name in layers:
        owner, _, last = name.rpartition(".")
        owner = model.get_submodule(owner)
        new = Adapter(owner.get_submodule(last), rank, alpha)
        owner.add_module(last, new)
    for name, p in model.named_parameters():
        p.requires_grad = "lora_" in name or any(name.startswith(s) for s in saved)
    return model


class Gpt2Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = nn.ModuleDict({"c_attn": Conv1D(3 * width, width),
                                   "c_proj": Conv1D(width, width)})
        self.mlp = nn.ModuleDict({"c_fc": Conv1D(4 * width, width),
                                  "c_proj": Conv1D(width, 4 * width)})

    def forward(self, x):
        tokens = x.shape[1]
        causal = torch.ones(tokens, tokens, dtype=torch.bool).tril()
        q, k, v = self.attn["c_attn"](self.ln_1(x)).chunk(3, -1)
        x = x + self.attn["c_proj"](attend(q, k, v, self.heads, causal))
        h = F.gelu(self.mlp["c_fc"](self.ln_2(x)), approximate="tanh")
        return x + self.mlp["c_proj"](h)


class Gpt2(nn.Module):
    def __init__(self, vocabulary, context, width, layers, heads):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        nn.init.normal_(self.wte.weight, std=0.02)
        nn.init.normal_(self.wpe.weight, std=0.02)
        self.h = nn.ModuleList(Gpt2Block(width, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)

    def forward(self, input_ids):
        x = self.wte(input_ids) + self.wpe.weight[: input_ids.shape[1]]
        for block in self.h:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T


def vit(side, patch, width, layers, heads, classes):
    """The head is drawn: behind torchvision's, of zeros, all gradients are zero."""
    model = VisionTransformer(side, patch, layers, heads, width, 4 * width, num_classes=classes)
    nn.init.normal_(model.heads.head.weight, std=0.1)
    return model


class BertLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        norm = lambda: nn.LayerNorm(width, eps=1e-12)
        self.attention = nn.ModuleDict({
            "self": nn.ModuleDict({k: nn.Linear(width, width) for k in ("query", "key", "value")}),
            "output": nn.ModuleDict({"dense": nn.Linear(width, width), "LayerNorm": norm()})})
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(width, 4 * width)})
        self.output = nn.ModuleDict({"dense": nn.Linear(4 * width, width), "LayerNorm": norm()})

    def forward(self, x, mask):
        own, out = self.attention["self"], self.attention["output"]
        y = attend(own["query"](x), own["key"](x), own["value"](x), self.heads, mask)
        x = out["LayerNorm"](out["dense"](y) + x)
        y = F.gelu(self.intermediate["dense"](x))
        return self.output["LayerNorm"](self.output["dense"](y) + x)


class BertQa(nn.Module):
    def __init__(self, vocabulary, context, width, layers, heads):
        super().__init__()
        self.bert = nn.ModuleDict({
            "embeddings": nn.ModuleDict({
                "word_embeddings": nn.Embedding(vocabulary, width),
                "position_embeddings": nn.Embedding(context, width),
                "token_type_embeddings": nn.Embedding(2, width),
                "LayerNorm": nn.LayerNorm(width, eps=1e-12)}),
            "encoder": nn.ModuleDict({
                "layer": nn.ModuleList(BertLayer(width, heads) for _ in range(layers))})})
        self.qa_outputs = nn.Linear(width, 2)
        for name, p in self.named_parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.1)

    def forward(self, input_ids, token_type_ids, attention_mask):
        e = self.bert["embeddings"]
        x = (e["word_embeddings"](input_ids) + e["token_type_embeddings"](token_type_ids) +
             e["position_embeddings"].weight[: input_ids.shape[1]])
        x = e["LayerNorm"](x)
        for layer in self.bert["encoder"]["layer"]:
            x = layer(x, attention_mask[:, None, None, :])
        return self.qa_outputs(x)


class WideDeep(nn.Module):
    def __init__(self, numbers, sizes, width, hidden):
        super().__init__()
        self.wide = nn.ModuleDict({"tables": nn.ModuleList(nn.Embedding(n, 1) for n in sizes)})
        self.wide.register_parameter("bias", nn.Parameter(torch.zeros(1)))
        self.deep = nn.ModuleDict({"tables": nn.ModuleList(nn.Embedding(n, width)
                                                           for n in sizes)})
        self.mlp = [Mlp(width * len(sizes) + numbers, hidden, 1)]
        for name, child in self.mlp[0].named_children():
            self.add_module(name, child)

    def forward(self, numeric, categorical):
        columns = categorical.unbind(1)
        x = [t(c) for t, c in zip(self.deep["tables"], columns)] + [numeric]
        wide = sum(t(c) for t, c in zip(self.wide["tables"], columns)) + self.wide.bias
        return self.mlp[0](torch.cat(x, 1)) + wide


class Dlrm(nn.Module):
    def __init__(self, numbers, sizes, bottom, top):
        super().__init__()
        tower = lambda widths: [layer for i, o in zip(widths, widths[1:])
                                for layer in (nn.Linear(i, o), nn.ReLU())]
        vectors = len(sizes) + 1
        self.bot_l = nn.Sequential(*tower([numbers, *bottom]))
        self.emb_l = nn.ModuleList(nn.Embedding(n, bottom[-1]) for n in sizes)
        self.top_l = nn.Sequential(
            *tower([bottom[-1] + vectors * (vectors - 1) // 2, *top, 1])[:-1])

    def forward(self, numeric, categorical):
        x = self.bot_l(numeric)
        v = torch.stack([x] + [t(c) for t, c in zip(self.emb_l, categorical.unbind(1))], 1)
        pairs = [(i, j) for i in range(v.shape[1]) for j in range(i)]
        i, j = (torch.tensor(x) for x in zip(*pairs))
        return self.top_l(torch.cat([x, (v @ v.transpose(1, 2))[:, i, j]], 1))
