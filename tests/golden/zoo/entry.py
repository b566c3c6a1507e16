"""What a row of the zoo is: a network, the fields of its data, its loss."""

import dataclasses
from typing import Callable

import torch
import torch.nn.functional as F
from torch import nn
from torchvision.ops import StochasticDepth

BATCHES, SEED = 5, 1


@dataclasses.dataclass
class Entry:
    make: Callable                    # () -> a module over the inputs, in their order
    inputs: dict                      # field: batch size -> tensor
    labels: dict = dataclasses.field(default_factory=dict)
    loss: object = "cross_entropy"    # model.loss, or a function of outputs and labels for the file
    batch: int = 4
    rates: dict = dataclasses.field(default_factory=dict)
    classes: int = 0                  # of the labels, if not the highest + 1
    written: dict = dataclasses.field(default_factory=dict)
    # exporter: (the row that its file holds in place of this one, what it does not write)

    @property
    def own_loss(self):
        return callable(self.loss)

    def network(self):
        """The module that is exported and trained; fresh, the same each time."""
        torch.manual_seed(SEED)
        net = self.make()
        silence(net)
        disturb(net)
        return WithLoss(net, len(self.inputs), self.loss) if self.own_loss else net

    def batches(self):
        torch.manual_seed(SEED + 1)
        return [{name: draw(self.batch) for name, draw in (self.inputs | self.labels).items()}
                for _ in range(BATCHES)]

    def fed(self):
        """The fields that the exported file reads."""
        return list(self.inputs | self.labels) if self.own_loss else list(self.inputs)

    def losses_of(self, outputs, labels):
        return outputs[1] if self.own_loss else LOSSES[self.loss](outputs, *labels)


class WithLoss(nn.Module):
    """A network whose outputs are its own first output and its loss."""

    def __init__(self, net, n_inputs, loss):
        super().__init__()
        self.net, self.n_inputs, self.loss = net, n_inputs, loss

    def forward(self, *fields):
        outputs = self.net(*fields[:self.n_inputs])
        first = outputs[0] if isinstance(outputs, (tuple, list)) else outputs
        return first, self.loss(outputs, *fields[self.n_inputs:])


def silence(net):
    """No dropout: its masks are each library's own."""
    for module in net.modules():
        if isinstance(module, (nn.modules.dropout._DropoutNd, StochasticDepth)):
            module.p = 0.0
        elif isinstance(module, nn.MultiheadAttention):
            module.dropout = 0.0


def disturb(net):
    """Fresh networks have many equal weights (biases of zero); one taken for another would not show."""
    with torch.no_grad():
        for p in net.parameters():
            if p.is_floating_point():
                p.add_(0.03 * torch.randn_like(p))


def cross_entropy(logits, label):
    """As model.loss has it: classes on the last axis, or on the second as in PyTorch."""
    if logits.shape[:-1] == label.shape:
        return F.cross_entropy(logits.flatten(0, -2), label.flatten())
    return F.cross_entropy(logits, label)


LOSSES = {
    "cross_entropy": cross_entropy,
    "mean_squared_error": lambda y, label: F.mse_loss(y.reshape(label.shape), label),
    "binary_cross_entropy":
        lambda y, label: F.binary_cross_entropy_with_logits(y.reshape(label.shape), label),
}


# --- fields ---

def normal(*shape):
    return lambda batch: torch.randn(batch, *shape)


def uniform(*shape):
    return lambda batch: torch.rand(batch, *shape)


def integers(high, *shape, low=0):
    return lambda batch: torch.randint(low, high, (batch, *shape))


def coins(*shape):
    return lambda batch: torch.randint(2, (batch, *shape)).float()


def padding(length):
    """1 where there is a token; every row has at least half of them."""
    def draw(batch):
        lengths = torch.randint(length // 2, length + 1, (batch, 1))
        return (torch.arange(length) < lengths).long()
    return draw
