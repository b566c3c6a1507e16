"""Golden runs of models, by PyTorch on the CPU in float32.

    python make_models.py                   writes data/<model>.safetensors

Each file holds the section `model` that builds the same network here, its first weights, five batches
for ten steps, the gradients of the first step and, for each optimizer, the losses of all steps.
Needs torch, torchvision, safetensors. No dropout.
"""

import json
import pathlib

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

from torch_models import BertQa, Dlrm, Gpt2, Mlp, NarrowR2Plus1D, NarrowResNet, WideDeep

STEPS, BATCHES = 10, 5    # each batch is used twice

# name, rate, section trainer.optimizer, the same in PyTorch
OPTIMIZERS = [
    ("sgd", 1e-2, {"type": "sgd", "momentum": 0.9, "weight_decay": 1e-4},
     lambda p, lr: torch.optim.SGD(p, lr=lr, momentum=0.9, weight_decay=1e-4)),
    ("adamw", 1e-3, {"type": "adamw", "weight_decay": 0.01},
     lambda p, lr: torch.optim.AdamW(p, lr=lr, weight_decay=0.01)),
]

# In networks this narrow a channel may be all but dead, and its norm multiplies rounding: with most
# seeds PyTorch in float32 and PyTorch in float64 part ways within ten steps. With these they do not.
RATES = {"r2plus1d_18": {"sgd": 1e-4, "adamw": 1e-4}}
SEEDS = {"resnet18": 2, "r2plus1d_18": 6}


def images(shape, classes, batch):
    return lambda: {"image": torch.randn(batch, *shape),
                    "label": torch.randint(classes, (batch,))}


def text(vocabulary, tokens, batch):
    """The label of each token is the next one; the last has none."""
    def draw():
        ids = torch.randint(vocabulary, (batch, tokens))
        label = torch.cat([ids[:, 1:], torch.full((batch, 1), -100)], 1)
        return {"input_ids": ids, "label": label}
    return draw


def questions(vocabulary, tokens, batch):
    def draw():
        length = torch.randint(tokens // 2, tokens + 1, (batch, 1))
        place = torch.arange(tokens)
        span = torch.stack([torch.randint(tokens // 2, (batch,)) for _ in range(2)], 1)
        return {"input_ids": torch.randint(vocabulary, (batch, tokens)),
                "token_type_ids": (place > length // 2).long(),
                "attention_mask": place < length,
                "label": span.sort(1).values}
    return draw


def table(numbers, sizes, batch):
    def draw():
        columns = [torch.randint(n, (batch,)) for n in sizes]
        return {"numeric": torch.randn(batch, numbers), "categorical": torch.stack(columns, 1),
                "label": torch.randint(2, (batch,)).float()}
    return draw


def span_loss(logits, label):
    return (F.cross_entropy(logits[..., 0], label[:, 0]) +
            F.cross_entropy(logits[..., 1], label[:, 1])) / 2


def token_loss(logits, label):
    return F.cross_entropy(logits.flatten(0, 1), label.flatten())


def click_loss(logits, label):
    return F.binary_cross_entropy_with_logits(logits.flatten(), label)


SIZES = [11, 7, 30, 5]
CASES = {
    "mlp": ({"type": "mlp", "hidden": [48, 32]}, 10,
            lambda: Mlp(100, [48, 32], 10), images((1, 10, 10), 10, 8), F.cross_entropy),
    "resnet18": ({"type": "resnet18", "width": 4}, 10,
                 lambda: NarrowResNet(4, 10), images((3, 33, 33), 10, 8), F.cross_entropy),
    "r2plus1d_18": ({"type": "r2plus1d_18", "width": 3, "stem_width": 3}, 10,
                    lambda: NarrowR2Plus1D(3, 3, 10), images((3, 4, 20, 20), 10, 8),
                    F.cross_entropy),
    "bert_qa": ({"type": "bert", "vocabulary": 100, "context": 24, "width": 24, "num_layers": 2,
                 "num_heads": 3, "dropout": 0}, 0,
                lambda: BertQa(100, 24, 24, 2, 3), questions(100, 20, 4), span_loss),
    "gpt2": ({"type": "transformer_lm", "context": 20, "width": 24, "num_layers": 2,
              "num_heads": 3, "dropout": 0}, 65,
             lambda: Gpt2(65, 20, 24, 2, 3), text(65, 16, 4), token_loss),
    "wide_deep": ({"type": "wide_deep", "categories": SIZES, "width": 4, "hidden": [24, 12]}, 0,
                  lambda: WideDeep(6, SIZES, 4, [24, 12]), table(6, SIZES, 16), click_loss),
    "dlrm": ({"type": "dlrm", "categories": SIZES, "bottom": [16, 8], "top": [24, 12]}, 0,
             lambda: Dlrm(6, SIZES, [16, 8], [24, 12]), table(6, SIZES, 16), click_loss),
}


def step(model, loss_of, batch):
    fields = {k: v for k, v in batch.items() if k != "label"}
    loss = loss_of(model(*fields.values()), batch["label"])
    model.zero_grad()
    loss.backward()
    return loss


def run(name, section, classes, make, draw, loss_of):
    torch.manual_seed(SEEDS.get(name, 1))
    model = make()
    for layer in model.modules():
        if isinstance(layer, (torch.nn.Conv2d, torch.nn.Conv3d)):    # as torchvision does
            torch.nn.init.kaiming_normal_(layer.weight, mode="fan_out")
    first = {k: v.clone() for k, v in model.state_dict().items()
             if not k.endswith("num_batches_tracked")}
    batches = [draw() for _ in range(BATCHES)]
    tensors = {f"param.{k}": v for k, v in first.items()}
    for i, batch in enumerate(batches):
        tensors.update({f"batch.{i}.{k}": v.contiguous() for k, v in batch.items()})
    config = {"model": section, "classes": classes}
    for which, rate, options, make_optimizer in OPTIMIZERS:
        rate = RATES.get(name, {}).get(which, rate)
        config[which] = {**options, "lr": rate}
        model.load_state_dict(first, strict=False)
        optimizer = make_optimizer(model.parameters(), rate)
        losses = []
        for i in range(STEPS):
            losses.append(step(model, loss_of, batches[i % BATCHES]).item())
            if i == 0:
                tensors.update({f"grad.{k}": p.grad.clone()
                                for k, p in model.named_parameters()})
            optimizer.step()
        tensors[f"loss.{which}"] = torch.tensor(losses)
    path = pathlib.Path(__file__).parent / "data" / f"{name}.safetensors"
    save_file(tensors, path, metadata={k: json.dumps(v) for k, v in config.items()})
    print(name, path.stat().st_size, losses[0], losses[-1])


if __name__ == "__main__":
    torch.set_num_threads(1)
    for name, case in CASES.items():
        run(name, *case)
