"""Small networks written out here: each stands for a kind that people train."""

import dataclasses
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrizations
from torchvision.ops import DeformConv2d, roi_align

from entry import Entry, coins, integers, normal, uniform

CLASSES = 4
LABEL = {"label": integers(CLASSES)}
CALM = {"sgd": 1e-3, "adamw": 1e-4}


def mlp(*widths, act=nn.ReLU):
    layers = [m for i, o in zip(widths, widths[1:]) for m in (nn.Linear(i, o), act())]
    return nn.Sequential(*layers[:-1])


# --- sequences ---

class Recurrent(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.tokens, self.rnn = nn.Embedding(30, 6), kind(6, 8, batch_first=True, **options)
        self.head = nn.Linear(16 if options.get("bidirectional") else 8, CLASSES)

    def forward(self, ids):
        return self.head(self.rnn(self.tokens(ids))[0].mean(1))


class Seq2Seq(nn.Module):
    """Bahdanau's: a decoder that looks at all states of the encoder."""

    def __init__(self):
        super().__init__()
        self.source, self.target = nn.Embedding(20, 8), nn.Embedding(20, 8)
        self.encoder = nn.GRU(8, 12, batch_first=True)
        self.decoder = nn.GRU(8, 12, batch_first=True)
        self.query, self.key, self.energy = nn.Linear(12, 8), nn.Linear(12, 8), nn.Linear(8, 1)
        self.head = nn.Linear(24, 20)

    def forward(self, source, target):
        states, last = self.encoder(self.source(source))
        out, _ = self.decoder(self.target(target), last)
        scores = self.energy(torch.tanh(self.query(out)[:, :, None] + self.key(states)[:, None]))
        seen = scores.squeeze(-1).softmax(-1) @ states
        return self.head(torch.cat([out, seen], -1))


class CausalConv(nn.Conv1d):
    def forward(self, x):
        return super().forward(F.pad(x, (self.dilation[0] * (self.kernel_size[0] - 1), 0)))


class Tcn(nn.Module):
    def __init__(self):
        super().__init__()
        norm = parametrizations.weight_norm
        self.a, self.b = norm(CausalConv(3, 8, 3)), norm(CausalConv(8, 8, 3, dilation=2))
        self.skip, self.head = nn.Conv1d(3, 8, 1), nn.Linear(8, 1)

    def forward(self, x):
        y = F.relu(self.b(F.relu(self.a(x)))) + self.skip(x)
        return self.head(y[:, :, -1])


class WaveNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = CausalConv(1, 8, 2)
        self.gates = nn.ModuleList(CausalConv(8, 16, 2, dilation=1 << i) for i in range(3))
        self.skips = nn.ModuleList(nn.Conv1d(8, 8, 1) for _ in range(3))
        self.head = nn.Conv1d(8, 10, 1)

    def forward(self, x):
        x, total = self.first(x), 0
        for gate, skip in zip(self.gates, self.skips):
            a, b = gate(x).chunk(2, 1)
            y = skip(torch.tanh(a) * torch.sigmoid(b))
            x, total = x + y, total + y
        return self.head(F.relu(total))


class Encoder(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.tokens, self.place = nn.Embedding(30, 12), nn.Parameter(torch.randn(1, 9, 12))
        layer = nn.TransformerEncoderLayer(12, 3, 24, batch_first=True, **options)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(12, CLASSES)

    def forward(self, ids):
        return self.head(self.layers(self.tokens(ids) + self.place).mean(1))


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(30, 12)
        self.net = nn.Transformer(12, 3, 1, 1, 24, batch_first=True)
        self.head = nn.Linear(12, 30)

    def forward(self, source, target):
        n = target.shape[1]
        later = torch.full((n, n), float("-inf")).triu(1)
        return self.head(self.net(self.tokens(source), self.tokens(target), tgt_mask=later))


class Perceiver(nn.Module):
    """Few learned rows look at many."""

    def __init__(self):
        super().__init__()
        self.latents = nn.Parameter(torch.randn(4, 12))
        self.look, self.think = (nn.MultiheadAttention(12, 2, batch_first=True) for _ in range(2))
        self.embed, self.norm, self.head = nn.Linear(5, 12), nn.LayerNorm(12), nn.Linear(12, CLASSES)

    def forward(self, x):
        x, z = self.embed(x), self.latents.expand(x.shape[0], -1, -1)
        z = z + self.look(z, x, x, need_weights=False)[0]
        z = z + self.think(z, z, z, need_weights=False)[0]
        return self.head(self.norm(z).mean(1))


class Hopfield(nn.Module):
    """Attention pooling over stored patterns, with a learned sharpness."""

    def __init__(self):
        super().__init__()
        self.stored, self.beta = nn.Parameter(torch.randn(6, 8)), nn.Parameter(torch.tensor(0.7))
        self.query, self.head = nn.Linear(10, 8), nn.Linear(8, CLASSES)

    def forward(self, x):
        scores = self.beta * self.query(x) @ self.stored.T
        return self.head(scores.softmax(-1) @ self.stored)


# --- images ---

class UNet(nn.Module):
    def __init__(self, up):
        super().__init__()
        block = lambda i, o: nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(2, o), nn.SiLU())
        self.down1, self.down2, self.middle = block(1, 8), block(8, 12), block(12, 12)
        self.up2 = nn.ConvTranspose2d(12, 12, 2, 2) if up == "learned" else \
            nn.Upsample(scale_factor=2, mode=up, align_corners=False)
        self.join, self.head = block(24, 8), nn.Conv2d(8, 3, 1)

    def forward(self, image):
        a = self.down2(self.down1(image))
        b = self.up2(self.middle(F.max_pool2d(a, 2)))
        return self.head(self.join(torch.cat([a, b], 1)))


class SuperResolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(1, 12, 5, padding=2), nn.Conv2d(12, 4, 3, padding=1)

    def forward(self, image):
        return F.pixel_shuffle(self.b(torch.tanh(self.a(image))), 2) + \
            F.interpolate(image, scale_factor=2, mode="bicubic", align_corners=False)


class SpatialTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.place, self.net = mlp(100, 12, 6), mlp(100, 16, CLASSES)
        self.place[-1].bias.data.copy_(torch.tensor([1.0, 0, 0, 0, 1, 0]))

    def forward(self, image):
        theta = self.place(image.flatten(1)).reshape(-1, 2, 3)
        grid = F.affine_grid(theta, [image.shape[0], 1, 10, 10], align_corners=False)
        return self.net(F.grid_sample(image, grid, align_corners=False).flatten(1))


class Deformable(nn.Module):
    def __init__(self):
        super().__init__()
        self.offset, self.conv = nn.Conv2d(2, 18, 3, padding=1), DeformConv2d(2, 6, 3, padding=1)
        self.head = nn.Linear(6, CLASSES)

    def forward(self, image):
        return self.head(self.conv(image, 0.3 * self.offset(image)).relu().mean((2, 3)))


class Regions(nn.Module):
    """A head over regions of a feature map, as detectors of two stages have it."""

    def __init__(self):
        super().__init__()
        self.conv, self.head = nn.Conv2d(1, 6, 3, padding=1), nn.Linear(6 * 9, CLASSES)

    def forward(self, image, boxes):
        return self.head(roi_align(self.conv(image).relu(), boxes, (3, 3), 0.5, 2, True).flatten(1))


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 12, 4, 4)
        self.norms = nn.ModuleList(nn.LayerNorm(12) for _ in range(2))
        self.over, self.along = mlp(16, 24, 16, act=nn.GELU), mlp(12, 24, 12, act=nn.GELU)
        self.head = nn.Linear(12, CLASSES)

    def forward(self, image):
        x = self.patches(image).flatten(2).transpose(1, 2)
        x = x + self.over(self.norms[0](x).transpose(1, 2)).transpose(1, 2)
        x = x + self.along(self.norms[1](x))
        return self.head(x.mean(1))


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.ConvTranspose2d(6, 12, 4, 1, 0, bias=False), nn.BatchNorm2d(12), nn.ReLU(),
            nn.ConvTranspose2d(12, 8, 4, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU(),
            nn.ConvTranspose2d(8, 1, 4, 2, 1), nn.Tanh())

    def forward(self, z):
        return self.net(z[:, :, None, None])


def discriminator():
    norm = parametrizations.spectral_norm
    return nn.Sequential(norm(nn.Conv2d(1, 8, 4, 2, 1)), nn.LeakyReLU(0.2),
                         norm(nn.Conv2d(8, 12, 4, 2, 1)), nn.InstanceNorm2d(12, affine=True),
                         nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(12 * 16, 1))


class Written(nn.Module):
    """Spectral norm as the exporter writes it: from vectors that stay, one step of the power iteration,
    through which the gradient goes."""

    def __init__(self, norm):
        super().__init__()
        self.register_buffer("v", norm._v.clone())

    def forward(self, weight):
        m = weight.flatten(1)
        u = F.normalize(m @ self.v, dim=0)
        v = F.normalize(m.T @ u, dim=0)
        return weight / (u @ m @ v)


def written_discriminator():
    net = discriminator()
    for module in list(net.modules()):
        if isinstance(module, nn.utils.parametrize.ParametrizationList):
            module[0] = Written(module[0])
    return net


def critic(make):
    return Entry(make, {"image": normal(1, 16, 16)}, {"label": coins(1)}, "binary_cross_entropy")


class WeightNorm(nn.Module):
    def __init__(self):
        super().__init__()
        norm = parametrizations.weight_norm
        self.a, self.b, self.c = norm(nn.Conv2d(1, 6, 3)), norm(nn.Linear(6, 12)), nn.Linear(12, CLASSES)

    def forward(self, image):
        return self.c(F.selu(self.b(F.elu(self.a(image)).amax((2, 3)))))


# --- numbers and tables ---

class Sine(nn.Module):
    def __init__(self, i, o, omega=30.0):
        super().__init__()
        self.linear, self.omega = nn.Linear(i, o), omega
        nn.init.uniform_(self.linear.weight, -math.sqrt(6 / i) / omega, math.sqrt(6 / i) / omega)

    def forward(self, x):
        return torch.sin(self.omega * self.linear(x))


class Nerf(nn.Module):
    """Encoded places, a skip, density and colour along a ray, composed as volumes are."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.out = mlp(3 * 9, 24, 24), nn.Linear(24 + 27, 24), nn.Linear(24, 4)

    def forward(self, points):
        waves = [f(points * (1 << k)) for k in range(4) for f in (torch.sin, torch.cos)]
        x = torch.cat([points, *waves], -1)
        y = self.out(F.relu(self.b(torch.cat([F.relu(self.a(x)), x], -1))))
        alpha = 1 - torch.exp(-F.softplus(y[..., 3]) * 0.2)
        clear = torch.cumsum(torch.log(1 - alpha + 1e-6), -1) - torch.log(1 - alpha + 1e-6)
        return ((alpha * clear.exp())[..., None] * y[..., :3].sigmoid()).sum(1)


class DeepFm(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.factors = nn.Embedding(40, 1), nn.Embedding(40, 6)
        self.bias, self.deep = nn.Parameter(torch.zeros(1)), mlp(5 * 6, 16, 1)
        self.register_buffer("begin", torch.tensor([0, 8, 16, 24, 32]))

    def forward(self, categorical):
        at = categorical + self.begin
        v = self.factors(at)
        pairs = 0.5 * (v.sum(1).square() - v.square().sum(1)).sum(1, keepdim=True)
        return self.linear(at).sum(1) + pairs + self.deep(v.flatten(1)) + self.bias


class Kan(nn.Module):
    """Kolmogorov-Arnold: a learned curve a connection, of radial bumps."""

    def __init__(self, *widths):
        super().__init__()
        self.curves = nn.ParameterList(0.3 * torch.randn(i * 6, o) for i, o in zip(widths, widths[1:]))
        self.bases = nn.ModuleList(nn.Linear(i, o) for i, o in zip(widths, widths[1:]))
        self.register_buffer("grid", torch.linspace(-2, 2, 6))

    def forward(self, x):
        for curve, base in zip(self.curves, self.bases):
            bumps = torch.exp(-((x[..., None] - self.grid) / 0.8) ** 2).flatten(-2)
            x = base(F.silu(x)) + bumps @ curve
        return x


class Lora(nn.Module):
    """A frozen layer and a learned one of low rank beside it."""

    def __init__(self, i, o):
        super().__init__()
        self.base = nn.Linear(i, o).requires_grad_(False)
        self.down, self.up = nn.Linear(i, 2, bias=False), nn.Linear(2, o, bias=False)

    def forward(self, x):
        return self.base(x) + 2.0 * self.up(self.down(x))


class Experts(nn.Module):
    """Two of four experts for each row, weighed; the others count nothing."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(10, 4)
        self.experts = nn.ModuleList(mlp(10, 12, CLASSES) for _ in range(4))

    def forward(self, x):
        top, which = self.gate(x).topk(2, -1)
        weights = torch.zeros_like(self.gate(x)).scatter(-1, which, top.softmax(-1))
        return sum(weights[:, i:i + 1] * e(x) for i, e in enumerate(self.experts))


class GraphNet(nn.Module):
    """Messages along edges, summed where they arrive."""

    def __init__(self):
        super().__init__()
        self.message, self.update = mlp(12, 16, 8), nn.GRUCell(8, 6)
        self.head = nn.Linear(6, CLASSES)

    def forward(self, nodes, source, target):
        for _ in range(2):
            pick = lambda at: nodes.gather(1, at[..., None].expand(-1, -1, 6))
            sent = self.message(torch.cat([pick(source), pick(target)], -1))
            got = torch.zeros(nodes.shape[0], nodes.shape[1], 8, dtype=nodes.dtype).scatter_add(
                1, target[..., None].expand(-1, -1, 8), sent)
            nodes = self.update(got.flatten(0, 1), nodes.flatten(0, 1)).reshape(nodes.shape)
        return self.head(nodes.mean(1))


class Bags(nn.Module):
    def __init__(self, mode):
        super().__init__()
        self.bag, self.head = nn.EmbeddingBag(30, 8, mode=mode), nn.Linear(8, CLASSES)

    def forward(self, ids):
        return self.head(self.bag(ids))


class NeuralOde(nn.Module):
    """Runge and Kutta's fourth order, four steps, unrolled."""

    def __init__(self):
        super().__init__()
        self.field, self.head = mlp(6, 12, 6, act=nn.Tanh), nn.Linear(6, CLASSES)

    def forward(self, x):
        h = 0.25
        for _ in range(4):
            k1 = self.field(x)
            k2 = self.field(x + h / 2 * k1)
            k3 = self.field(x + h / 2 * k2)
            k4 = self.field(x + h * k3)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return self.head(x)


ZOO = {
    "mlp": Entry(lambda: mlp(10, 16, 12, CLASSES), {"x": normal(10)}, LABEL),
    "mlp_bn": Entry(lambda: nn.Sequential(nn.Linear(10, 8), nn.BatchNorm1d(8), nn.ReLU(),
                                          nn.Linear(8, CLASSES)), {"x": normal(10)}, LABEL, batch=8),
    "autoencoder": Entry(lambda: mlp(12, 8, 3, 8, 12, act=nn.Sigmoid), {"x": normal(12)},
                         {"label": normal(12)}, "mean_squared_error"),
    "rnn": Entry(lambda: Recurrent(nn.RNN), {"ids": integers(30, 7)}, LABEL),
    "lstm": Entry(lambda: Recurrent(nn.LSTM, num_layers=2, bidirectional=True),
                  {"ids": integers(30, 7)}, LABEL),
    "gru": Entry(lambda: Recurrent(nn.GRU, bidirectional=True), {"ids": integers(30, 7)}, LABEL),
    "seq2seq": Entry(Seq2Seq, {"source": integers(20, 7), "target": integers(20, 5)},
                     {"label": integers(20, 5)}, classes=20),
    "tcn": Entry(Tcn, {"x": normal(3, 12)}, {"label": normal(1)}, "mean_squared_error"),
    "wavenet": Entry(WaveNet, {"x": normal(1, 16)}, {"label": integers(10, 16)}, classes=10),
    "transformer_encoder": Entry(lambda: Encoder(activation="gelu"), {"ids": integers(30, 9)}, LABEL),
    "transformer_prenorm": Entry(lambda: Encoder(norm_first=True), {"ids": integers(30, 9)}, LABEL),
    "transformer": Entry(Translator, {"source": integers(30, 8), "target": integers(30, 6)},
                         {"label": integers(30, 6)}, classes=30),
    "perceiver": Entry(Perceiver, {"x": normal(11, 5)}, LABEL),
    "hopfield": Entry(Hopfield, {"x": normal(10)}, LABEL),
    "unet_bilinear": Entry(lambda: UNet("bilinear"), {"image": normal(1, 16, 16)},
                           {"label": integers(3, 16, 16)}),
    "unet_learned": Entry(lambda: UNet("learned"), {"image": normal(1, 16, 16)},
                          {"label": integers(3, 16, 16)}),
    "super_resolution": Entry(SuperResolution, {"image": normal(1, 8, 8)},
                              {"label": normal(1, 16, 16)}, "mean_squared_error"),
    "stn": Entry(SpatialTransformer, {"image": normal(1, 10, 10)}, LABEL),
    "deformable": Entry(Deformable, {"image": normal(2, 8, 8)}, LABEL),
    "mixer": Entry(Mixer, {"image": normal(3, 16, 16)}, LABEL),
    "generator": Entry(Generator, {"z": normal(6)}, {"label": uniform(1, 16, 16)},
                       "mean_squared_error", batch=8, rates=CALM),
    "discriminator": dataclasses.replace(
        critic(discriminator),
        written={"dynamo": (critic(written_discriminator),
                            "The exporter leaves out that spectral norm's vectors move, and that their "
                            "iteration has no gradient. Held against PyTorch without both.")}),
    "weight_norm": Entry(WeightNorm, {"image": normal(1, 8, 8)}, LABEL),
    "siren": Entry(lambda: nn.Sequential(Sine(2, 24), Sine(24, 24), nn.Linear(24, 1)),
                   {"x": uniform(2)}, {"label": normal(1)}, "mean_squared_error", batch=16,
                   rates={"sgd": 1e-4, "adamw": 1e-4}),
    "nerf": Entry(Nerf, {"points": normal(8, 3)}, {"label": uniform(3)}, "mean_squared_error"),
    "deepfm": Entry(DeepFm, {"categorical": integers(8, 5)}, {"label": coins(1)},
                    "binary_cross_entropy", batch=16),
    "kan": Entry(lambda: Kan(5, 6, 3), {"x": normal(5)}, {"label": normal(3)}, "mean_squared_error"),
    "lora": Entry(lambda: nn.Sequential(Lora(10, 12), nn.Tanh(), Lora(12, CLASSES)), {"x": normal(10)},
                  LABEL),
    "experts": Entry(Experts, {"x": normal(10)}, LABEL, batch=8),
    "graph_net": Entry(GraphNet, {"nodes": normal(5, 6), "source": integers(5, 9),
                                  "target": integers(5, 9)}, LABEL),
    "bags_sum": Entry(lambda: Bags("sum"), {"ids": integers(30, 6)}, LABEL),
    "bags_mean": Entry(lambda: Bags("mean"), {"ids": integers(30, 6)}, LABEL),
    "neural_ode": Entry(NeuralOde, {"x": normal(6)}, LABEL),
}
