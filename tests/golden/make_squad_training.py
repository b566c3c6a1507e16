"""A fine-tuning of TransformerQA in PyTorch, which examples/squad/train.jsonnet is held against: its data, batches,
schedule and optimizer, an independent loop, and SQuAD's exact match and F1 of what was learned.

    python make_squad_training.py begin MODEL SEED OUT                   a head is drawn: what both begin with
    python make_squad_training.py train MODEL DATA SEED OUT [OPTION=VALUE...]     prints the losses of all steps
    python make_squad_training.py judge MODEL DATA                       prints exact match and F1

MODEL and OUT are Hugging Face's folders. Options: epochs (1), steps (all), limit (examples that are read), dropout (0;
else as the model's config.json says). Needs torch 2, transformers, tokenizers 0.23.

Losses without dropout are those of `tequio train`. With dropout, which every program draws in its own way, EM and F1 are
comparable over several seeds.
"""

import functools
import json
import shutil
import sys
import time

import torch
from tokenizers import Tokenizer
from transformers import BertConfig, BertForQuestionAnswering

from make_squad_reader import Reader
from make_squad_steps import batch_of, loss_of, without_dropout
from squad_batches import batches_of_epoch
from squad_score import f1, normalize

BATCH_SIZE, BATCHES_PER_STEP = 8, 4
LR, EPS, BETAS, CUT_FRACTION, RATIO, CLIP = 1e-4, 1e-8, (0.9, 0.999), 0.1, 32, 1.0
JUDGED_AT_ONCE = 16


# --- examples

class Windows(Reader):
    """Examples that remember what they were made of; a context is tokenized once."""

    tokens_of_context = functools.lru_cache(4)(Reader.tokens_of_context)

    def instance(self, question, window, span, context):
        return super().instance(question, window, span, context) | {"window": window, "text": context}


def examples_of(folder, path, skip, limit=None):
    reader, found = Windows(Tokenizer.from_file(f"{folder}/tokenizer.json"), skip=skip), []
    with open(path) as file:
        for article in json.load(file)["data"]:
            for paragraph in article["paragraphs"]:
                for qa in paragraph["qas"]:
                    right = [a["text"] for a in qa["answers"]]
                    for e in reader.instances(qa["question"], qa["answers"], paragraph["context"]):
                        found.append(e | {"id": qa["id"], "right": right})
                        if len(found) == limit:
                            return found
    return found


# --- training

def rate_at(step, steps):
    """Slanted triangular (Howard and Ruder 2018), as AllenNLP has it."""
    cut = int(steps * CUT_FRACTION)
    p = step / cut if step < cut else 1 - (step - cut) / (steps - cut)
    return LR * (1 + p * (RATIO - 1)) / RATIO


class AdamW(torch.optim.Optimizer):
    """transformers' own AdamW, without decay: epsilon is added before the bias is corrected."""

    def __init__(self, parameters):
        super().__init__(parameters, {"lr": LR})

    @torch.no_grad()
    def step(self):
        for p in self.param_groups[0]["params"]:
            s = self.state[p]
            if not s:
                s.update(step=0, mean=torch.zeros_like(p), square=torch.zeros_like(p))
            s["step"] += 1
            s["mean"].mul_(BETAS[0]).add_(p.grad, alpha=1 - BETAS[0])
            s["square"].mul_(BETAS[1]).addcmul_(p.grad, p.grad, value=1 - BETAS[1])
            corrected = (1 - BETAS[1] ** s["step"]) ** 0.5 / (1 - BETAS[0] ** s["step"])
            p.addcdiv_(s["mean"], s["square"].sqrt().add_(EPS), value=-self.param_groups[0]["lr"] * corrected)


def one_step(model, optimizer, batches, rate):
    total, loss = sum(len(b) for b in batches), 0.0
    optimizer.zero_grad()
    for b in batches:
        part = loss_of(model, batch_of(b)) * (len(b) / total)
        part.backward()
        loss += float(part.detach())
    torch.nn.utils.clip_grad_value_(model.parameters(), CLIP)
    optimizer.param_groups[0]["lr"] = rate
    optimizer.step()
    return loss


def train(model, examples, seed, epochs, most):
    lengths = [len(e["ids"]) for e in examples]
    steps = []
    for epoch in range(epochs):
        batches = batches_of_epoch(lengths, BATCH_SIZE, seed, epoch)
        steps += [batches[i:i + BATCHES_PER_STEP] for i in range(0, len(batches), BATCHES_PER_STEP)]
    steps = steps[:most]
    optimizer, losses, ends = AdamW(model.parameters()), [], []
    for i, step in enumerate(steps):
        batches = [[examples[k] for k in b] for b in step]
        losses.append(one_step(model.train(), optimizer, batches, rate_at(i, len(steps))))
        ends.append(time.monotonic())
        if i % 20 == 0:
            print(f"step {i} of {len(steps)}: loss {losses[-1]:.4f}", file=sys.stderr, flush=True)
    behind_first = sum(len(b) for step in steps[1:] for b in step)
    return {"losses": losses, "examples_per_s": behind_first / (ends[-1] - ends[0]) if behind_first else None}


# --- judging

def best_span(starts, ends):
    """The first and last position, first <= last, with the highest sum of scores; and the sum."""
    sums = torch.triu(starts[:, None] + ends[None, :]) + torch.tril(torch.full((len(starts),) * 2, -torch.inf), -1)
    at = int(sums.argmax())
    return at // len(starts), at % len(starts), float(sums.flatten()[at])


def answer_of(e, starts, ends):
    """What the window answers, "" at [CLS], and its score."""
    first, last = e["context"]
    where = [0, *range(first, last + 1)]
    i, k, score = best_span(starts[where], ends[where])
    return ("" if i == 0 else Reader.text(e["window"], i - 1, k - 1, e["text"])), score


@torch.no_grad()
def judge(model, examples):
    """Exact match and F1 of the official script, percent; of a question's windows that with the highest score counts."""
    best = {}
    by_length = sorted(range(len(examples)), key=lambda i: len(examples[i]["ids"]))
    for at in range(0, len(by_length), JUDGED_AT_ONCE):
        chosen = [examples[i] for i in by_length[at:at + JUDGED_AT_ONCE]]
        b = batch_of(chosen)
        out = model.eval()(input_ids=b["ids"], token_type_ids=b["types"], attention_mask=b["attention"])
        for row, e in enumerate(chosen):
            text, score = answer_of(e, out.start_logits[row], out.end_logits[row])
            if e["id"] not in best or score > best[e["id"]][1]:
                best[e["id"]] = text, score, e["right"]
    exact = sum(max(normalize(text) == normalize(r) for r in right) for text, _, right in best.values())
    overlap = sum(max(f1(text, r) for r in right) for text, _, right in best.values())
    return {"questions": len(best), "squad_em": exact / len(best), "squad_f1": overlap / len(best)}


# --- commands

def save(model, folder, out):
    model.save_pretrained(out)
    shutil.copy(f"{folder}/tokenizer.json", out)


def begin(folder, seed, out):
    torch.manual_seed(int(seed))
    save(BertForQuestionAnswering.from_pretrained(folder), folder, out)


def fine_tune(folder, data, seed, out, epochs="1", steps=None, limit=None, dropout=None):
    config = BertConfig.from_pretrained(folder)
    config = without_dropout(config) if dropout == "0" else config
    model = BertForQuestionAnswering.from_pretrained(folder, config=config)
    examples = examples_of(folder, data, skip=True, limit=limit and int(limit))
    torch.manual_seed(int(seed))
    found = train(model, examples, int(seed), int(epochs), steps and int(steps))
    save(model, folder, out)
    return {"examples": len(examples)} | found


def examine(folder, data):
    return judge(BertForQuestionAnswering.from_pretrained(folder), examples_of(folder, data, skip=False))


if __name__ == "__main__":
    arguments = [a for a in sys.argv[2:] if "=" not in a]
    options = dict(a.split("=") for a in sys.argv[2:] if "=" in a)
    print(json.dumps({"begin": begin, "train": fine_tune, "judge": examine}[sys.argv[1]](*arguments, **options)))
