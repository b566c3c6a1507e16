"""Golden vectors for the dynamic loss scale, by PyTorch's GradScaler.

    python make_loss_scale.py > ../unit/common/data/loss_scale.json

Each case is a course of steps, "." with a finite gradient and "x" without; beside each step stands
the scale that it was made with, as an exponent of two, and how many good steps came before it. Last
come those after it all, and whether the optimizer moved in each step.
"""

import json
import math
import random

import torch

CASES = [(16, 3, "...x..x......xxx...."), (16, 1, ".....xx.xxx..."), (4, 2, "xxxx...x.....x")]
random.seed(1)
for window in (2, 5, 7):
    CASES.append((40, window, "".join(random.choice("....x") for _ in range(120))))


def course(start, window, steps):
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**start, growth_interval=window)
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    states, moved = [], []
    for step in steps + ".":
        factor = float("inf") if step == "x" else 1.0
        before = weight.item()
        loss = scaler.scale((weight * factor).sum())
        states.append([int(math.log2(scaler.get_scale())), scaler._get_growth_tracker()])
        optimizer.zero_grad()
        loss.backward()
        scaler.step(optimizer)
        scaler.update()
        moved.append(weight.item() != before)
    return {"start": start, "window": window, "steps": steps, "states": states,
            "moved": moved[:-1]}


print(json.dumps([course(*c) for c in CASES]))
