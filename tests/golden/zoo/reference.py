"""What PyTorch makes of a row: losses of ten steps by each optimizer, the gradient of the first, and
the statistics of batch norm, in float32 and in float64; and in float32 from weights that were rounded
otherwise, since float32 itself may be far from float64 where batch norm is over few values."""

import collections

import torch
from torch import nn

STEPS = 10

# name: section trainer.optimizer, the same in PyTorch
OPTIMIZERS = {
    "sgd": ({"type": "sgd", "lr": 1e-2, "momentum": 0.9, "weight_decay": 1e-4}, torch.optim.SGD),
    "adamw": ({"type": "adamw", "lr": 1e-3, "weight_decay": 0.01}, torch.optim.AdamW),
}


def options_of(entry, name):
    section, _ = OPTIMIZERS[name]
    return section | ({"lr": entry.rates[name]} if name in entry.rates else {})


def optimizer_of(entry, name, parameters):
    options = {k: v for k, v in options_of(entry, name).items() if k != "type"}
    return OPTIMIZERS[name][1](parameters, **options)


def watch_statistics(network):
    """For each batch norm the means and variances of its calls. The variances are the population's,
    as ONNX has them; PyTorch's own would be larger by n / (n - 1)."""
    seen = collections.defaultdict(list)

    def hook(name):
        def note(module, inputs):
            if module.training and module.track_running_stats:
                x = inputs[0].detach().transpose(0, 1).flatten(1)
                seen[name].append((x.mean(1), x.var(1, unbiased=False)))
        return note
    for name, module in network.named_modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.register_forward_pre_hook(hook(name))
    return seen


def round_otherwise(network):
    """Every weight by its last bit or so: how far that leads says how much rounding decides."""
    with torch.no_grad():
        for p in network.parameters():
            p.mul_(1 + 6e-8 * torch.randn_like(p).sign())


def train(entry, optimizer, dtype, disturb=False):
    network = entry.network().train().to(dtype)
    if disturb:
        round_otherwise(network)
    moves = optimizer_of(entry, optimizer, [p for p in network.parameters() if p.requires_grad])
    seen = watch_statistics(network)
    batches, losses, grads = entry.batches(), [], {}
    for i in range(STEPS):
        fields = {k: v.to(dtype) if v.is_floating_point() else v
                  for k, v in batches[i % len(batches)].items()}
        outputs = network(*(fields[name] for name in entry.fed()))
        loss = entry.losses_of(outputs, [fields[name] for name in entry.labels])
        moves.zero_grad()
        loss.backward()
        losses.append(loss.item())
        if i == 0:
            grads = {k: p.grad.clone() for k, p in network.named_parameters(remove_duplicate=False)
                     if p.grad is not None}
        moves.step()
    return {"losses": torch.tensor(losses, dtype=torch.float64), "grads": grads,
            "statistics": dict(seen)}


def reference(entry):
    """By optimizer and type; a type that PyTorch's own network cannot do is left out."""
    ret = {}
    for optimizer in OPTIMIZERS:
        ret[optimizer] = {"float32": train(entry, optimizer, torch.float32)}
        try:
            ret[optimizer]["float64"] = train(entry, optimizer, torch.float64)
            ret[optimizer]["rounded"] = train(entry, optimizer, torch.float32, disturb=True)
            del ret[optimizer]["rounded"]["grads"]
        except RuntimeError as error:
            ret[optimizer]["no float64"] = str(error)
    return ret
