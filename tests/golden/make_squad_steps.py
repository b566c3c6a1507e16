"""The first steps of TransformerQA in PyTorch: losses that those of the model transformer_qa are held against.

    python make_squad_steps.py                       writes data/squad/: a small BERT, also in AllenNLP's names, its tokenizer,
                                                     questions, losses
    python make_squad_steps.py MODEL DATA OUT [OPTION=VALUE...]
                                                     losses of another model on other questions; writes OUT.safetensors,
                                                     the weights to begin with, and prints the losses
Options: steps, batch, lr, limit (examples in their order). Needs torch 2, transformers, tokenizers 0.23.

Batches are the examples in their order, padded to the longest a batch has; f32, no dropout, AdamW without decay.
The loss is AllenNLP's: masked logits, the mean of both cross entropies.
"""

import importlib.util
import json
import pathlib
import sys

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from transformers import BertConfig, BertForQuestionAnswering, BertModel

HERE = pathlib.Path(__file__).resolve().parent


def module(name):
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def batch_of(examples):
    longest = max(len(e["ids"]) for e in examples)
    rows = {"ids": [], "types": [], "attention": [], "allowed": [], "answer": []}
    for e in examples:
        rest = longest - len(e["ids"])
        first, last = e["context"]
        rows["ids"].append(e["ids"] + [0] * rest)
        rows["types"].append(e["types"] + [0] * rest)
        rows["attention"].append([1] * len(e["ids"]) + [0] * rest)
        rows["allowed"].append([i == 0 or first <= i <= last for i in range(longest)])
        rows["answer"].append(e["answer"])
    return {key: torch.tensor(value) for key, value in rows.items()}


def loss_of(model, b):
    out = model(input_ids=b["ids"], token_type_ids=b["types"], attention_mask=b["attention"])
    lowest = torch.finfo(torch.float32).min
    loss = 0
    for logits, answer in ((out.start_logits, b["answer"][:, 0]), (out.end_logits, b["answer"][:, 1])):
        loss = loss + torch.nn.functional.cross_entropy(logits.masked_fill(~b["allowed"], lowest), answer)
    return loss / 2


def losses(model, examples, steps, batch, lr):
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0)
    found = []
    for step in range(steps):
        chosen = [examples[i % len(examples)] for i in range(step * batch, (step + 1) * batch)]
        loss = loss_of(model, batch_of(chosen))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(float(loss))
    return found


def without_dropout(config):
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
    return config


def weights_of(model):
    return {name: value.contiguous() for name, value in model.state_dict().items() if "position_ids" not in name}


def allennlp_names(model):
    """As AllenNLP's TransformerQA has them, which keeps the network alone, its pooler too, and the head beside it."""
    embedder = "_text_field_embedder.token_embedder_tokens.transformer_model."
    named = {embedder + name: value for name, value in BertModel(model.config).state_dict().items()}
    named |= {embedder + name: value for name, value in model.bert.state_dict().items()}
    named[embedder + "embeddings.position_ids"] = torch.arange(model.config.max_position_embeddings)[None]
    return named | {"_linear_layer." + name: value for name, value in model.qa_outputs.state_dict().items()}


def small():
    reader, shapes = module("make_squad_reader"), module("text_shapes")
    folder = HERE / "data" / "squad"
    folder.mkdir(exist_ok=True)
    tokenizer = shapes.bert(True)
    tokenizer.save(str(folder / "tokenizer.json"))
    torch.manual_seed(0)
    config = BertConfig(vocab_size=tokenizer.get_vocab_size(), hidden_size=16, num_hidden_layers=2,
                        num_attention_heads=2, intermediate_size=32, max_position_embeddings=64)
    model = BertForQuestionAnswering(without_dropout(config))
    for p in model.parameters():
        p.data = p.data + 0.1 * torch.randn_like(p)
    save_file(weights_of(model), folder / "model.safetensors")
    torch.save(allennlp_names(model), folder / "weights.th")
    data = reader.FILE
    examples = list(reader.Reader(tokenizer, 64, 16, 20, skip=True).examples(data))
    (folder / "questions.json").write_text(json.dumps(data) + "\n")
    found = losses(model.train(), examples, 20, 4, 1e-3)
    (folder / "losses.json").write_text(json.dumps({"examples": len(examples), "losses": found}, indent=1) + "\n")


def other(folder, data, out, steps=20, batch=8, lr=2e-5, limit=1000):
    reader = module("make_squad_reader")
    tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")
    torch.manual_seed(0)
    config = without_dropout(BertConfig.from_pretrained(folder))
    model = BertForQuestionAnswering(config)
    model.bert.load_state_dict(BertModel.from_pretrained(folder, config=config).state_dict(), strict=False)
    save_file(weights_of(model), f"{out}.safetensors")
    with open(data) as file:
        examples = []
        for example in reader.Reader(tokenizer, skip=True).examples(json.load(file)):
            examples.append(example)
            if len(examples) == limit:
                break
    print(json.dumps({"examples": len(examples), "losses": losses(model.train(), examples, steps, batch, lr)}))


if __name__ == "__main__":
    if len(sys.argv) > 3:
        options = dict(o.split("=") for o in sys.argv[4:])
        other(*sys.argv[1:4], **{key: float(value) if key == "lr" else int(value) for key, value in options.items()})
    else:
        small()
