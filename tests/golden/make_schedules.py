"""Golden rates of learning-rate schedules, by PyTorch and transformers.

    python make_schedules.py > ../unit/optim/data/schedules.json

Where AllenNLP has a curve of its own, its formula is written out here. Rates are those that each step is made with.
"""

import json
import math
import random

import torch
import transformers

RATE, STEPS, EPOCH = 0.25, 60, 6  # 10 epochs


def torch_rates(make, by_epoch):
    weight = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=RATE, momentum=0.9)
    schedule, rates = make(optimizer), []
    for step in range(STEPS):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        if not by_epoch or (step + 1) % EPOCH == 0:
            schedule.step()
    return rates


def allennlp_polynomial(power, warmup, end):
    def rate(s):
        if s < warmup:
            return RATE * s / warmup
        return (RATE - end) * ((STEPS - s) / (STEPS - warmup)) ** power + end
    return [rate(s) for s in range(STEPS)]


def allennlp_cosine(t_initial, t_mul, eta_min, eta_mul):
    rates, restart, length, n = [], 0, t_initial, 0
    for epoch in range(STEPS // EPOCH):
        counter = epoch - restart
        if epoch and counter % length == 0:
            n, counter, restart = n + 1, 0, epoch
        length = int(t_initial * t_mul ** n)
        base = RATE * eta_mul ** n
        rates += [eta_min + (base - eta_min) / 2 * (math.cos(math.pi * (counter % length) / length) + 1)] * EPOCH
    return rates


def allennlp_noam(size, warmup, factor):
    return [factor * size ** -0.5 * min(max(s, 1) ** -0.5, max(s, 1) * warmup ** -1.5) for s in range(STEPS)]


def allennlp_triangle(epochs, frozen):
    """frozen: epochs in which not all groups move."""
    def rate(s):
        if s < frozen * EPOCH:
            n, at = EPOCH, s % EPOCH
        else:
            n, at = (epochs - frozen) * EPOCH, s - frozen * EPOCH
        cut = int(n * 0.1)
        p = at / cut if at < cut else 1 - (at - cut) / (n - cut)
        return RATE * (1 + p * 31) / 32
    return [rate(s) for s in range(STEPS)]


T, H = torch.optim.lr_scheduler, transformers
CASES = [
    ("step", {"step_size": 7, "gamma": 0.5}, torch_rates(lambda o: T.StepLR(o, 7, 0.5), False)),
    ("step", {"step_size": 3, "gamma": 0.5, "unit_steps": EPOCH}, torch_rates(lambda o: T.StepLR(o, 3, 0.5), True)),
    ("multi_step", {"milestones": [2, 5, 9], "gamma": 0.3, "unit_steps": EPOCH},
     torch_rates(lambda o: T.MultiStepLR(o, [2, 5, 9], 0.3), True)),
    ("exponential", {"gamma": 0.9, "unit_steps": EPOCH}, torch_rates(lambda o: T.ExponentialLR(o, 0.9), True)),
    ("exponential", {"gamma": 0.97}, torch_rates(lambda o: T.ExponentialLR(o, 0.97), False)),
    ("cosine", {"minimum": 0.01}, torch_rates(lambda o: T.CosineAnnealingLR(o, STEPS, 0.01), False)),
    ("cosine", {"first_cycle": 2, "cycle_factor": 1.5, "minimum": 0.02, "base_factor": 0.8, "unit_steps": EPOCH},
     allennlp_cosine(2, 1.5, 0.02, 0.8)),
    ("cosine", {"first_cycle": 3, "cycle_factor": 1, "base_factor": 1, "unit_steps": EPOCH}, allennlp_cosine(3, 1, 0, 1)),
    ("one_cycle", {"cut_fraction": 0.3, "start_ratio": 25, "end_ratio": 1e4},
     torch_rates(lambda o: T.OneCycleLR(o, RATE, total_steps=STEPS), False)),
    ("one_cycle", {"cut_fraction": 0.15, "start_ratio": 10, "end_ratio": 100},
     torch_rates(lambda o: T.OneCycleLR(o, RATE, total_steps=STEPS, pct_start=0.15, div_factor=10,
                                        final_div_factor=100), False)),
    ("constant_with_warmup", {"warmup_steps": 8}, torch_rates(lambda o: H.get_constant_schedule_with_warmup(o, 8), False)),
    ("linear_with_warmup", {"warmup_steps": 8, "power": 1},
     torch_rates(lambda o: H.get_linear_schedule_with_warmup(o, 8, STEPS), False)),
    ("polynomial_decay", {"warmup_steps": 8, "power": 2, "minimum": 0.01},
     torch_rates(lambda o: H.get_polynomial_decay_schedule_with_warmup(o, 8, STEPS, 0.01, 2), False)),
    ("polynomial_decay", {"power": 0.5, "minimum": 0.01}, allennlp_polynomial(0.5, 0, 0.01)),
    ("cosine_with_warmup", {"warmup_steps": 8, "cycles": 0.5},
     torch_rates(lambda o: H.get_cosine_schedule_with_warmup(o, 8, STEPS), False)),
    ("cosine_with_warmup", {"warmup_steps": 0, "cycles": 1.5},
     torch_rates(lambda o: H.get_cosine_schedule_with_warmup(o, 0, STEPS, 1.5), False)),
    ("cosine_hard_restarts_with_warmup", {"warmup_steps": 8, "cycles": 3},
     torch_rates(lambda o: H.get_cosine_with_hard_restarts_schedule_with_warmup(o, 8, STEPS, 3), False)),
    ("noam", {"warmup_steps": 12, "model_size": 64, "factor": 2}, allennlp_noam(64, 12, 2)),
    ("slanted_triangular", {"cut_fraction": 0.1, "ratio": 32, "unit_steps": EPOCH}, allennlp_triangle(10, 0)),
    ("slanted_triangular", {"cut_fraction": 0.1, "ratio": 32, "frozen_units": 2, "unit_steps": EPOCH},
     allennlp_triangle(10, 2)),
]


def plateau(seed, **options):
    """Rates behind each of 40 values of a metric, by ReduceLROnPlateau."""
    draw = random.Random(seed)
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=RATE)
    schedule, rates = T.ReduceLROnPlateau(optimizer, **options), []
    sign = -1 if options["mode"] == "max" else 1
    values = [round(sign / (1 + 0.2 * i) + draw.uniform(-0.1, 0.1), 6) for i in range(40)]
    values[11] = None  # not finite
    for value in values:
        schedule.step(math.nan if value is None else value)
        rates.append(optimizer.param_groups[0]["lr"])
    return {"options": options, "values": values, "rates": [float(f"{r:.10g}") for r in rates]}


PLATEAUS = [
    plateau(1, mode="min", patience=1, factor=0.5),
    plateau(2, mode="max", patience=2, factor=0.3, cooldown=3),
    plateau(3, mode="min", patience=0, factor=0.5, min_lr=0.01, threshold=0.02, threshold_mode="abs"),
    plateau(4, mode="max", patience=0, factor=0.9, threshold=0.01, eps=0.015),
    plateau(5, mode="max", patience=1, factor=0.1, threshold=0.05, threshold_mode="abs", cooldown=1, min_lr=1e-4),
]


def sequence(*parts):
    """Rates of schedules one after the other, of which each begins at the rate that the one before ended with."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=RATE)
    group, rates = optimizer.param_groups[0], []
    for epochs, _, _, by_epoch, make in parts:
        group["initial_lr"] = group["lr"]
        schedule = make(optimizer, epochs * EPOCH)
        for step in range(epochs * EPOCH):
            rates.append(group["lr"])
            optimizer.step()
            if (not by_epoch or (step + 1) % EPOCH == 0) and step + 1 < epochs * EPOCH:
                schedule.step()
    rates += [group["lr"]] * 9
    return {"schedules": [{"epochs": epochs, "kind": kind, "options": options} for epochs, kind, options, _, _ in parts],
            "rates": [float(f"{r:.10g}") for r in rates]}


SEQUENCES = [
    sequence((2, "linear_with_warmup", {"warmup_steps": 5}, False,
              lambda o, n: H.get_linear_schedule_with_warmup(o, 5, n)),
             (3, "exponential", {"gamma": 0.8}, True, lambda o, n: T.ExponentialLR(o, 0.8)),
             (1, "constant", {}, True, lambda o, n: T.ConstantLR(o, 1))),
    sequence((3, "multi_step", {"milestones": [1, 2], "gamma": 0.5}, True, lambda o, n: T.MultiStepLR(o, [1, 2], 0.5)),
             (4, "cosine", {"minimum": 0.001}, False, lambda o, n: T.CosineAnnealingLR(o, n, 0.001))),
]


def main():
    print('{"base": %r, "total_steps": %d, "epoch_steps": %d, "cases": [' % (RATE, STEPS, EPOCH))
    print(",\n".join(json.dumps({"kind": kind, "options": options, "rates": [float(f"{r:.10g}") for r in rates]})
                     for kind, options, rates in CASES))
    print('], "plateaus": [')
    print(",\n".join(map(json.dumps, PLATEAUS)))
    print('], "sequences": [')
    print(",\n".join(map(json.dumps, SEQUENCES)))
    print("]}")


if __name__ == "__main__":
    main()
