"""Golden vectors for the optimizers that look at rows and columns, in double precision.

    python make_matrix_optim.py > ../unit/optim/data/matrix_optim.json

Adafactor is transformers'; Muon is written out by torch.optim.Muon's documentation, which computes in bfloat16 what is
double here. Every number that goes in is exactly a float32. Needs torch, transformers, numpy.
"""

import json

import numpy as np
import torch
from transformers.optimization import Adafactor

from make_optim import float32, shorten

STEPS, TOLD = 50, (1, 2, 5, 10, 20, 50)


class Muon(torch.optim.Optimizer):
    """Jordan et al. 2024, with decoupled decay; a vector by AdamW."""

    def __init__(self, params, lr, **options):
        super().__init__(params, {"lr": lr, "momentum": 0.95, "nesterov": True, "weight_decay": 0.1, "ns_steps": 5,
                                  "adjust_lr": "original", **options})

    @staticmethod
    def orthogonal(x, steps):
        turned = x.shape[0] > x.shape[1]
        x = x.T if turned else x
        x = x / max(x.norm().item(), 1e-7)
        for _ in range(steps):
            square = x @ x.T
            x = 3.4445 * x + (-4.7750 * square + 2.0315 * square @ square) @ x
        return x.T if turned else x

    def step(self):
        for o in self.param_groups:
            for w in o["params"]:
                m = self.state[w].setdefault("exp_avg", torch.zeros_like(w))
                with torch.no_grad():
                    m.mul_(o["momentum"]).add_(w.grad, alpha=1 - o["momentum"])
                    d = w.grad.lerp(m, o["momentum"]) if o["nesterov"] else m
                    d = self.orthogonal(d.flatten(1), o["ns_steps"]).reshape(w.shape)
                    rows, columns = w.shape[0], w[0].numel()
                    share = 0.2 * max(rows, columns) ** 0.5 if o["adjust_lr"] == "match_rms_adamw" \
                        else max(1, rows / columns) ** 0.5
                    w.mul_(1 - o["lr"] * o["weight_decay"]).sub_(d, alpha=o["lr"] * share)


RELATIVE = {"lr": None}
FIXED = {"lr": 0.01, "relative_step": False, "scale_parameter": False}
# kind, class, shape, options
CASES = [
    ("adafactor", Adafactor, (6, 5), RELATIVE),
    ("adafactor", Adafactor, (30,), RELATIVE),
    ("adafactor", Adafactor, (2, 5, 3), {**RELATIVE, "warmup_init": True, "weight_decay": 0.1}),
    ("adafactor", Adafactor, (30, 1), {**FIXED, "weight_decay": 0.2}),
    ("adafactor", Adafactor, (5, 6), {**FIXED, "scale_parameter": True, "beta1": 0.9, "decay_rate": -0.5}),
    ("adafactor", Adafactor, (10, 3), {**FIXED, "clip_threshold": 0.5, "beta1": 0.5}),
    ("muon", Muon, (5, 6), {"lr": 0.01}),
    ("muon", Muon, (10, 3), {"lr": 0.01, "nesterov": False, "momentum": 0.8, "weight_decay": 0.0}),
    ("muon", Muon, (3, 5, 2), {"lr": 0.01, "adjust_lr": "match_rms_adamw", "ns_steps": 3}),
]


def our_options(kind, options):
    if kind == "adafactor":
        o = {"lr": 1.0, "relative_step": True, "scale_parameter": True, "warmup_init": False, "weight_decay": 0.0,
             "decay_rate": -0.8, "clip_threshold": 1.0, "beta1": 0.0, "eps": 1e-30, "eps_scale": 1e-3, **options}
        return {**o, "lr": o["lr"] or 1.0}
    return {"momentum": 0.95, "nesterov": True, "weight_decay": 0.1, "ns_steps": 5, "adjust_lr": "original", **options}


def run(kind, make, shape, options, start, grads):
    if options.get("lr"):
        options = {**options, "lr": float(np.float32(options["lr"]))}
    weight = torch.tensor(start).reshape(shape).requires_grad_()
    optimizer, after = make([weight], **options), []
    for i, grad in enumerate(grads):
        weight.grad = torch.tensor(grad).reshape(shape)
        optimizer.step()
        after.append(weight.detach().flatten().tolist() if i + 1 in TOLD else None)
    state = {k: v.flatten().tolist() for k, v in optimizer.state[weight].items() if torch.is_tensor(v) and v.dim() > 0}
    return {"kind": kind, "shape": list(shape), "options": our_options(kind, options), "weights": after, "state": state}


def main():
    random = np.random.default_rng(2)
    start = float32(random.normal(0, 1, 30))
    grads = float32(random.normal(0, 1, (STEPS, 30)) * np.logspace(-2, 1, 30))
    cases = [shorten(run(*case, start, grads)) for case in CASES]
    print('{"start": %s, "grads": %s, "cases": [' % (json.dumps(start.tolist()), json.dumps(grads.tolist())))
    print(",\n".join(json.dumps(case) for case in cases))
    print("]}")


if __name__ == "__main__":
    main()
