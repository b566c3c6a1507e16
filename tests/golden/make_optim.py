"""Golden vectors for the optimizers, by PyTorch in double precision.

    python make_optim.py > ../unit/optim/data/optim.json

Every number that goes in is exactly a float32, so what comes out is the formulas' true result,
against which the float32 kernels are compared. What PyTorch does not have is written out here, by the
paper or by the library that it is named after.
"""

import json

import numpy as np
import torch

STEPS, SHORT, N, RATE = 50, 10, 8, 0.01
TOLD = (1, 2, 5, 10, 20, 50)  # of a long case these steps


class Written(torch.optim.Optimizer):
    """One that is written out below; states are made of `slots`, with their first value."""
    slots = {}

    def __init__(self, params, foreach=None, **options):
        super().__init__(params, {**self.defaults_of(), **options})

    def step(self):
        for group in self.param_groups:
            for w in group["params"]:
                state = self.state[w]
                if not state:
                    state["step"] = 0
                    for name, first in self.slots.items():
                        state[name] = torch.full_like(w, group.get(first, 0.0) if first else 0.0)
                state["step"] += 1
                with torch.no_grad():
                    self.move(w, w.grad, state, group)


class HuggingFaceAdamW(Written):
    """transformers' AdamW, before it went to PyTorch's."""
    slots = {"exp_avg": None, "exp_avg_sq": None}

    def defaults_of(self):
        return {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0, "correct_bias": True}

    def move(self, w, g, s, o):
        beta1, beta2 = o["betas"]
        s["exp_avg"].mul_(beta1).add_(g, alpha=1.0 - beta1)
        s["exp_avg_sq"].mul_(beta2).addcmul_(g, g, value=1.0 - beta2)
        rate = o["lr"]
        if o["correct_bias"]:
            rate *= (1.0 - beta2 ** s["step"]) ** 0.5 / (1.0 - beta1 ** s["step"])
        w.addcdiv_(s["exp_avg"], s["exp_avg_sq"].sqrt().add_(o["eps"]), value=-rate)
        w.add_(w, alpha=-o["lr"] * o["weight_decay"])


class Lion(Written):
    """Chen et al., Symbolic Discovery of Optimization Algorithms, 2023, program 1."""
    slots = {"exp_avg": None}

    def defaults_of(self):
        return {"betas": (0.9, 0.99), "weight_decay": 0.0}

    def move(self, w, g, s, o):
        beta1, beta2 = o["betas"]
        along = torch.sign(beta1 * s["exp_avg"] + (1 - beta1) * g)
        w.sub_(o["lr"] * (along + o["weight_decay"] * w))
        s["exp_avg"].mul_(beta2).add_(g, alpha=1 - beta2)


class Ftrl(Written):
    """McMahan et al., Ad Click Prediction, 2013, algorithm 1, with TensorFlow's accumulator and l2."""
    slots = {"accumulator": "initial_accumulator_value", "linear": None}

    def defaults_of(self):
        return {"initial_accumulator_value": 0.1, "l1": 0.0, "l2": 0.0}

    def move(self, w, g, s, o):
        before = s["accumulator"].clone()
        s["accumulator"].add_(g * g)
        sigma = (s["accumulator"].sqrt() - before.sqrt()) / o["lr"]
        s["linear"].add_(g - sigma * w)
        z = s["linear"]
        moved = -(z - torch.sign(z) * o["l1"]) / (s["accumulator"].sqrt() / o["lr"] + 2 * o["l2"])
        w.copy_(torch.where(z.abs() <= o["l1"], torch.zeros_like(w), moved))


class Lars(Written):
    """You et al., Large Batch Training of Convolutional Networks, 2017, algorithm 1, with momentum as PyTorch's SGD has
    it, so that the rate is in no state."""
    slots = {"momentum": None}

    def defaults_of(self):
        return {"momentum": 0.9, "dampening": 0.0, "nesterov": False, "weight_decay": 0.0,
                "trust_coefficient": 0.001, "eps": 1e-8}

    def move(self, w, g, s, o):
        w_norm, g_norm, decay = w.norm(), g.norm(), o["weight_decay"]
        trust = 1.0
        if w_norm > 0 and g_norm > 0:
            trust = o["trust_coefficient"] * w_norm / (g_norm + decay * w_norm + o["eps"])
        d = trust * (g + decay * w)
        if s["step"] == 1:
            s["momentum"].copy_(d)
        else:
            s["momentum"].mul_(o["momentum"]).add_(d, alpha=1 - o["dampening"])
        w.sub_(o["lr"] * (d + o["momentum"] * s["momentum"] if o["nesterov"] else s["momentum"]))


class Lamb(Written):
    """You et al., Large Batch Optimization for Deep Learning, 2020, algorithm 2, with the identity as phi."""
    slots = {"exp_avg": None, "exp_avg_sq": None}

    def defaults_of(self):
        return {"betas": (0.9, 0.999), "eps": 1e-6, "weight_decay": 0.01}

    def move(self, w, g, s, o):
        beta1, beta2 = o["betas"]
        s["exp_avg"].mul_(beta1).add_(g, alpha=1 - beta1)
        s["exp_avg_sq"].mul_(beta2).addcmul_(g, g, value=1 - beta2)
        mean, square = s["exp_avg"] / (1 - beta1 ** s["step"]), s["exp_avg_sq"] / (1 - beta2 ** s["step"])
        r = mean / (square.sqrt() + o["eps"]) + o["weight_decay"] * w
        trust = w.norm() / r.norm() if w.norm() > 0 and r.norm() > 0 else 1.0
        w.sub_(o["lr"] * trust * r)


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

# likewise, over all steps
LONG = [
    ("adam", torch.optim.Adam, {}, {}),
    ("huggingface_adamw", HuggingFaceAdamW, {"weight_decay": 0.2}, {}),
    ("huggingface_adamw", HuggingFaceAdamW, {"eps": 0.01, "correct_bias": False}, {"scale": 0.5}),
    ("adadelta", torch.optim.Adadelta, {}, {}),
    ("adadelta", torch.optim.Adadelta, {"rho": 0.7, "eps": 0.001, "weight_decay": 0.1}, {}),
    ("adamax", torch.optim.Adamax, {}, {}),
    ("adamax", torch.optim.Adamax, {"betas": (0.7, 0.9), "weight_decay": 0.1}, {"clip_value": 0.5}),
    ("nadam", torch.optim.NAdam, {}, {}),
    ("nadam", torch.optim.NAdam, {"momentum_decay": 0.02, "weight_decay": 0.1}, {}),
    ("nadam", torch.optim.NAdam, {"weight_decay": 0.2, "decoupled_weight_decay": True}, {"scale": 0.5}),
    ("radam", torch.optim.RAdam, {}, {}),
    ("radam", torch.optim.RAdam, {"betas": (0.8, 0.9), "weight_decay": 0.1}, {}),
    ("radam", torch.optim.RAdam, {"weight_decay": 0.2, "decoupled_weight_decay": True}, {}),
    ("lion", Lion, {}, {}),
    ("lion", Lion, {"betas": (0.8, 0.95), "weight_decay": 0.2}, {"clip_value": 0.5}),
    ("ftrl", Ftrl, {}, {}),
    ("ftrl", Ftrl, {"initial_accumulator_value": 0.5, "l1": 0.5, "l2": 0.25}, {}),
    ("lars", Lars, {"trust_coefficient": 0.5}, {}),
    ("lars", Lars, {"trust_coefficient": 0.25, "weight_decay": 0.1, "nesterov": True}, {"clip_value": 2.0}),
    ("lars", Lars, {"trust_coefficient": 1.0, "momentum": 0.5, "dampening": 0.5, "eps": 0.1}, {"scale": 0.5}),
    ("lamb", Lamb, {}, {}),
    ("lamb", Lamb, {"betas": (0.8, 0.95), "eps": 0.01, "weight_decay": 0.2}, {"clip_value": 0.5}),
]

# our names of PyTorch's options and state vectors
OPTION = {"initial_accumulator_value": "initial_accumulator", "rho": "alpha",
          "decoupled_weight_decay": "is_decoupled", "correct_bias": "corrects_bias"}
SLOT = {"momentum_buffer": "momentum"}


def float32(values):
    return np.asarray(values, dtype=np.float32).astype(np.float64)


def our_options(options):
    ours = {OPTION.get(k, k): v for k, v in options.items() if k not in ("lr", "betas")}
    if "betas" in options:
        ours["beta1"], ours["beta2"] = options["betas"]
    keep = ("momentum", "dampening", "nesterov", "beta1", "beta2", "alpha", "centered", "eps",
            "weight_decay", "lr_decay", "initial_accumulator", "is_decoupled", "momentum_decay",
            "corrects_bias", "l1", "l2", "trust_coefficient")
    return {k: v for k, v in ours.items() if k in keep}


def run(kind, make, options, before, start, grads, told):
    """Weights after the steps of `told`, null after others."""
    rate = float(np.float32(RATE))
    weight = torch.tensor(start, requires_grad=True)
    optimizer = make([weight], lr=rate, foreach=False, **options)
    after = []
    for i, grad in enumerate(grads):
        g = torch.tensor(grad) * before.get("scale", 1.0)
        if "clip_value" in before:
            g = torch.clamp(g, -before["clip_value"], before["clip_value"])
        weight.grad = g
        optimizer.step()
        after.append(weight.detach().numpy().tolist() if i + 1 in told else None)
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
    cases = [shorten(run(*case, start, grads[:SHORT], range(1, SHORT + 1))) for case in CASES]
    cases += [shorten(run(*case, start, grads, TOLD)) for case in LONG]
    print('{"rate": %r, "start": %s, "grads": %s, "cases": [' %
          (RATE, json.dumps(start.tolist()), json.dumps(grads.tolist())))
    print(",\n".join(json.dumps(case) for case in cases))
    print("]}")


if __name__ == "__main__":
    main()
