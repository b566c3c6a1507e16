"""Golden vectors for the optimizers, by PyTorch in double precision.

    python make_optim.py > ../unit/optim/data/optim.json

Every number that goes in is exactly a float32, so what comes out is the formulas' true result,
against which the float32 kernels are compared.
"""

import json

import numpy as np
import torch

STEPS, N, RATE = 10, 8, 0.01

# name, class, options as PyTorch names them, what is done to the gradient first
CASES = [
    ("sgd", torch.optim.SGD, {}, {}),
    ("sgd", torch.optim.SGD, {"weight_decay": 0.1}, {}),
    ("sgd", torch.optim.SGD, {}, {"scale": 0.25, "clip_value": 0.125}),
    ("sgd", torch.optim.SGD, {"momentum": 0.9}, {}),
    ("sgd", torch.optim.SGD, {"momentum": 0.9, "dampening": 0.3}, {}),
    ("sgd", torch.optim.SGD, {"momentum": 0.8, "nesterov": True}, {}),
    ("sgd", torch.optim.SGD, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.05},
     {"clip_value": 0.5}),
    ("adam", torch.optim.Adam, {}, {}),
    ("adam", torch.optim.Adam, {"weight_decay": 0.1}, {}),
    ("adam", torch.optim.Adam, {"betas": (0.7, 0.95), "eps": 0.01}, {"scale": 0.5}),
    ("adamw", torch.optim.AdamW, {"weight_decay": 0.0}, {}),
    ("adamw", torch.optim.AdamW, {"weight_decay": 0.2}, {}),
    ("adagrad", torch.optim.Adagrad, {}, {}),
    ("adagrad", torch.optim.Adagrad, {"lr_decay": 0.1, "weight_decay": 0.1}, {}),
    ("adagrad", torch.optim.Adagrad, {"initial_accumulator_value": 0.5, "eps": 0.001}, {}),
    ("rmsprop", torch.optim.RMSprop, {}, {}),
    ("rmsprop", torch.optim.RMSprop, {"alpha": 0.9, "weight_decay": 0.1}, {}),
    ("rmsprop", torch.optim.RMSprop, {"momentum": 0.9}, {}),
    ("rmsprop", torch.optim.RMSprop, {"centered": True}, {}),
    ("rmsprop", torch.optim.RMSprop, {"centered": True, "momentum": 0.5, "eps": 0.001}, {}),
]

# our names of PyTorch's options and state vectors
OPTION = {"initial_accumulator_value": "initial_accumulator"}
SLOT = {"momentum_buffer": "momentum"}


def float32(values):
    return np.asarray(values, dtype=np.float32).astype(np.float64)


def our_options(options):
    ours = {OPTION.get(k, k): v for k, v in options.items() if k not in ("lr", "betas")}
    if "betas" in options:
        ours["beta1"], ours["beta2"] = options["betas"]
    keep = ("momentum", "dampening", "nesterov", "beta1", "beta2", "alpha", "centered", "eps",
            "weight_decay", "lr_decay", "initial_accumulator")
    return {k: v for k, v in ours.items() if k in keep}


def run(kind, make, options, before, start, grads):
    rate = float(np.float32(RATE))
    weight = torch.tensor(start, requires_grad=True)
    optimizer = make([weight], lr=rate, foreach=False, **options)
    after = []
    for grad in grads:
        g = torch.tensor(grad) * before.get("scale", 1.0)
        if "clip_value" in before:
            g = torch.clamp(g, -before["clip_value"], before["clip_value"])
        weight.grad = g
        optimizer.step()
        after.append(weight.detach().numpy().tolist())
    state = {SLOT.get(k, k): v.numpy().tolist() for k, v in optimizer.state[weight].items()
             if torch.is_tensor(v) and v.numel() == N}
    return {"kind": kind, "options": our_options(optimizer.defaults), "before": before,
            "weights": after, "state": state}


def shorten(x):
    """Twelve digits: far below float32's rounding, and a small file."""
    if isinstance(x, bool) or isinstance(x, str):
        return x
    if isinstance(x, float):
        return float(f"{x:.12g}")
    if isinstance(x, dict):
        return {k: shorten(v) for k, v in x.items()}
    if isinstance(x, list):
        return [shorten(v) for v in x]
    return x


def main():
    random = np.random.default_rng(1)
    start = float32(random.uniform(0.5, 1.5, N) * np.where(np.arange(N) % 2, 1, -1))
    grads = float32(random.normal(0, 1, (STEPS, N)) * np.logspace(-3, 1, N))
    cases = [shorten(run(*case, start, grads)) for case in CASES]
    print('{"rate": %r, "start": %s, "grads": %s, "cases": [' %
          (RATE, json.dumps(start.tolist()), json.dumps(grads.tolist())))
    print(",\n".join(json.dumps(case) for case in cases))
    print("]}")


if __name__ == "__main__":
    main()
