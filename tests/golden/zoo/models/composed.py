"""Networks with a loss of their own, which the file holds: several outputs, several views."""

import dataclasses

import torch
import torch.nn.functional as F
from torch import nn

from entry import Entry, coins, integers, normal

from .small import CALM, mlp


class Views(nn.Module):
    """One encoder over several inputs: its batch norm is called once for each."""

    def __init__(self, n, norm=True):
        super().__init__()
        self.n = n
        self.first, self.norm = nn.Linear(10, 12), nn.BatchNorm1d(12) if norm else nn.Identity()
        self.last = nn.Linear(12, 6)

    def forward(self, *views):
        return tuple(self.last(F.relu(self.norm(self.first(v)))) for v in views)


class Two(Views):
    def forward(self, a, b):
        return super().forward(a, b)


class Three(Views):
    def forward(self, anchor, near, far):
        return super().forward(anchor, near, far)


def contrastive(z, same):
    apart = (z[0] - z[1]).square().sum(1)
    return (same * apart + (1 - same) * F.relu(1 - (apart + 1e-6).sqrt()).square()).mean()


def nt_xent(z):
    """SimCLR's: of all other views in the batch, the one of the same example."""
    both = F.normalize(torch.cat(z), dim=1)
    n = z[0].shape[0]
    scores = both @ both.T / 0.5 - 1e9 * torch.eye(2 * n, dtype=both.dtype)
    return F.cross_entropy(scores, torch.cat([torch.arange(n) + n, torch.arange(n)]))


class Vae(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode, self.decode = mlp(12, 16, 8), mlp(4, 16, 12)

    def forward(self, x, noise):
        mean, log_var = self.encode(x).chunk(2, -1)
        return self.decode(mean + noise * (log_var / 2).exp()), mean, log_var


def elbo(outputs, wanted):
    y, mean, log_var = outputs
    return F.mse_loss(y, wanted) - 0.5 * (1 + log_var - mean.square() - log_var.exp()).mean()


class RealNvp(nn.Module):
    def __init__(self):
        super().__init__()
        self.nets = nn.ModuleList(mlp(3, 12, 6, act=nn.Tanh) for _ in range(3))

    def forward(self, x):
        a, b = x.chunk(2, -1)
        volume = 0
        for net in self.nets:
            shift, scale = net(a).chunk(2, -1)
            scale = torch.tanh(scale)
            a, b, volume = b * scale.exp() + shift, a, volume + scale.sum(-1)
        return torch.cat([a, b], -1), volume


def likelihood(outputs):
    z, volume = outputs
    return (0.5 * z.square().sum(-1) - volume).mean()


class Quantiles(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = mlp(6, 16, 3)
        self.register_buffer("levels", torch.tensor([0.1, 0.5, 0.9]))

    def forward(self, x):
        return self.net(x), self.levels


def pinball(outputs, label):
    y, levels = outputs
    off = label - y
    return torch.maximum(levels * off, (levels - 1) * off).mean()


class Tasks(nn.Module):
    """A class and a number, weighed by uncertainties that are learned."""

    def __init__(self):
        super().__init__()
        self.trunk, self.of_class, self.of_number = mlp(8, 16, 12), nn.Linear(12, 4), nn.Linear(12, 1)
        self.log_vars = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        h = F.relu(self.trunk(x))
        return self.of_class(h), self.of_number(h), self.log_vars


def uncertain(outputs, kind, number):
    classes, value, s = outputs
    return (-s[0]).exp() * F.cross_entropy(classes, kind) + s[0] + \
        (-s[1]).exp() * F.mse_loss(value, number) + s[1]


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = mlp(8, 16, 5)

    def forward(self, x):
        return self.net(x)


def classes(loss):
    return Entry(Classifier, {"x": normal(8)}, {"label": integers(5)}, loss)


def focal(logits, label):
    log_p = F.log_softmax(logits, -1).gather(1, label[:, None]).squeeze(1)
    return -((1 - log_p.exp()) ** 2 * log_p).mean()


def dice(logits, mask):
    p = logits.sigmoid()
    return 1 - (2 * (p * mask).sum() + 1) / (p.sum() + mask.sum() + 1)


class Segment(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.PReLU(6), nn.Conv2d(6, 1, 1))

    def forward(self, image):
        return self.net(image)


class PolicyValue(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk, self.policy, self.value = mlp(6, 16, 12, act=nn.Tanh), nn.Linear(12, 4), nn.Linear(12, 1)

    def forward(self, state):
        h = torch.tanh(self.trunk(state))
        return self.policy(h), self.value(h)


def ppo(outputs, action, old, advantage, reward):
    logits, value = outputs
    log_p = F.log_softmax(logits, -1)
    ratio = (log_p.gather(1, action[:, None]).squeeze(1) - old).exp()
    gain = torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)
    entropy = -(log_p.exp() * log_p).sum(-1).mean()
    return -gain.mean() + 0.5 * F.smooth_l1_loss(value.squeeze(1), reward) - 0.01 * entropy


PAIR = {"a": normal(10), "b": normal(10)}

ZOO = {
    "siamese": Entry(lambda: Two(2), PAIR, {"same": coins()}, contrastive, batch=8, rates=CALM),
    "simclr": Entry(lambda: Two(2), PAIR, {}, nt_xent, batch=8, rates=CALM),
    "triplet": Entry(lambda: Three(3, norm=False), {"anchor": normal(10), "near": normal(10),
                                                    "far": normal(10)}, {},
                     lambda z: F.triplet_margin_loss(*z), batch=8),
    "vae": Entry(Vae, {"x": normal(12), "noise": normal(4)}, {"wanted": normal(12)}, elbo),
    "real_nvp": Entry(RealNvp, {"x": normal(6)}, {}, likelihood),
    "quantiles": Entry(Quantiles, {"x": normal(6)}, {"label": normal(1)}, pinball),
    "multi_task": Entry(Tasks, {"x": normal(8)}, {"kind": integers(4), "number": normal(1)}, uncertain),
    "focal": classes(focal),
    "label_smoothing": dataclasses.replace(
        classes(lambda y, label: F.cross_entropy(y, label, label_smoothing=0.1)),
        written={"dynamo": (classes(F.cross_entropy), "The file has no label_smoothing: the exporter "
                            "leaves it out. Held against PyTorch without.")}),
    "dice": Entry(Segment, {"image": normal(1, 12, 12)}, {"mask": coins(1, 12, 12)}, dice),
    "ppo": Entry(PolicyValue, {"state": normal(6)},
                 {"action": integers(4), "old": lambda n: -1.4 + 0.1 * normal()(n),
                  "advantage": normal(), "reward": normal()}, ppo, batch=8),
}
