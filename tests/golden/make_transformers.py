"""Folders of Hugging Face's transformers, and what transformers computes with them, in float32.

    python make_transformers.py [NETWORK...]       writes data/transformers/, of these networks or of all

A folder a network: config.json and weights as save_pretrained writes them, the network with all
of its heads, drawn at random. Beside it <network>_<head>.safetensors: a batch, the logits, the loss and its
gradients, end to end in the order of the tensors' names; without dropout. Texts that are filled up are not
asked for answers, since transformers keeps the row of the token that fills up from moving.
Needs torch, transformers, safetensors.
"""

import json
import pathlib
import sys
from collections import OrderedDict

import torch
import torch.nn.functional as F
import transformers as hf
from safetensors.torch import save_file

FOLDER = pathlib.Path(__file__).parent / "data" / "transformers"
VOCABULARY, TOKENS, BATCH, CLASSES = 20, 8, 3, 3
SIZES = dict(vocab_size=VOCABULARY, initializer_range=0.3, num_labels=CLASSES)
BERT = dict(hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=10,
            max_position_embeddings=12)

GROUPED = dict(hidden_size=8, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=10,
               max_position_embeddings=12)

NETWORKS = {
    "bert": hf.BertConfig(**SIZES, **BERT),
    "roberta": hf.RobertaConfig(**SIZES, **BERT, layer_norm_eps=1e-5),
    "distilbert": hf.DistilBertConfig(**SIZES, dim=8, n_layers=2, n_heads=2, hidden_dim=10,
                                      max_position_embeddings=12),
    "electra": hf.ElectraConfig(**SIZES, **BERT, embedding_size=4),
    "albert": hf.AlbertConfig(**SIZES, **BERT, embedding_size=4),
    "gpt2": hf.GPT2Config(**SIZES, n_embd=8, n_layer=2, n_head=2, n_positions=12, n_inner=10),
    "llama": hf.LlamaConfig(**SIZES, **GROUPED, head_dim=6, attention_bias=True, mlp_bias=True,
                            rope_parameters={"rope_type": "llama3", "rope_theta": 3.0, "factor": 4.0,
                                             "low_freq_factor": 1.0, "high_freq_factor": 1.5,
                                             "original_max_position_embeddings": 11}),
    "mistral": hf.MistralConfig(**SIZES, **GROUPED, sliding_window=None, tie_word_embeddings=True,
                                rope_parameters={"rope_type": "linear", "rope_theta": 100.0, "factor": 2.0}),
    "qwen2": hf.Qwen2Config(**SIZES, **GROUPED, hidden_act="gelu"),
}
DECODERS = {"gpt2", "llama", "mistral", "qwen2"}
OLD = {"distilbert"}    # their weights are a pytorch_model.bin
HEADS = {"qa": hf.AutoModelForQuestionAnswering, "tokens": hf.AutoModelForTokenClassification,
         "sequence": hf.AutoModelForSequenceClassification}


def heads_of(network):
    return {"lm": hf.AutoModelForCausalLM} if network in DECODERS else HEADS


def settings(head, config):
    """The answers' head gives two scores a token."""
    mine = type(config)(**config.to_dict())
    mine.num_labels = 2 if head == "qa" else CLASSES
    return mine


def write_folder(network, config):
    """The tensors of all heads, of which each class takes its own."""
    tensors = {}
    for head, make in heads_of(network).items():
        torch.manual_seed(len(network) + len(head))
        model = make.from_config(settings(head, config))
        for parameter in model.parameters():
            parameter.data += 0.1 * torch.randn_like(parameter)
        tied = {"lm_head.weight"} if config.tie_word_embeddings else set()
        kept = {k: v for k, v in model.state_dict().items() if k not in tensors and k not in tied}
        tensors.update({k: v.clone() for k, v in kept.items()})
    folder = FOLDER / network
    folder.mkdir(parents=True, exist_ok=True)
    config.save_pretrained(folder)
    if network in OLD:
        tensors = OrderedDict(tensors)
        tensors._metadata = model.state_dict()._metadata
        torch.save(tensors, folder / "pytorch_model.bin")
    else:
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def batch_of(network, head):
    ids = torch.randint(3, VOCABULARY, (BATCH, TOKENS))
    length = torch.tensor([TOKENS, TOKENS - 3, TOKENS - 1])[:, None]
    mask = (torch.arange(TOKENS) < length).long()
    batch = {"input_ids": ids, "attention_mask": mask}
    if network not in DECODERS | {"distilbert"}:
        batch["token_type_ids"] = (torch.arange(TOKENS) > 4).long().expand(BATCH, -1).contiguous()
    if head in ("tokens", "sequence"):
        fill = NETWORKS[network].pad_token_id
        batch["input_ids"] = torch.where(mask == 1, ids, fill)
    if head == "lm":
        del batch["attention_mask"]
        batch["label"] = torch.cat([ids[:, 1:], torch.full((BATCH, 1), -100)], 1)
    elif head == "qa":
        batch["label"] = torch.randint(TOKENS - 3, (BATCH, 2)).sort(1).values
    elif head == "tokens":
        batch["label"] = torch.where(mask == 1, torch.randint(CLASSES, (BATCH, TOKENS)), -100)
    else:
        batch["label"] = torch.randint(CLASSES, (BATCH,))
    return batch


def logits_of(model, head, batch):
    out = model(**{k: v for k, v in batch.items() if k != "label"})
    return torch.stack([out.start_logits, out.end_logits], -1) if head == "qa" else out.logits


def loss_of(head, logits, label):
    if head == "qa":
        return sum(F.cross_entropy(logits[..., i], label[:, i]) for i in range(2)) / 2
    return F.cross_entropy(logits.flatten(0, -2), label.flatten())


def write_run(network, head, make, config):
    torch.manual_seed(7)
    model = make.from_pretrained(FOLDER / network, config=settings(head, config),
                                 attn_implementation="eager", dtype=torch.float32).eval()
    batch = batch_of(network, head)
    logits = logits_of(model, head, batch)
    loss = loss_of(head, logits, batch["label"])
    loss.backward()
    grads = {k.removeprefix("transformer."): p.grad for k, p in model.named_parameters()}
    section = {"type": "transformer_lm" if head == "lm" else network, "dropout": 0.0,
               "attention_dropout": 0.0, "transformer_model_name": f"transformers/{network}"}
    if head != "lm":
        section |= {"head": head, "head_dropout": 0.0, "loss": "span" if head == "qa" else "cross_entropy"}
    tensors = {f"batch.0.{k}": v for k, v in batch.items()}
    tensors |= {"logits": logits.detach().contiguous(), "loss": loss.detach(),
                "grads": torch.cat([grads[k].flatten() for k in sorted(grads)])}
    path = FOLDER / f"{network}_{head}.safetensors"
    classes = VOCABULARY if head == "lm" else TOKENS if head == "qa" else CLASSES
    save_file(tensors, path, metadata={"model": json.dumps(section), "classes": str(classes)})
    print(f"{path.name}: loss {loss.item():.6f}, {len(grads)} gradients")


if __name__ == "__main__":
    torch.set_num_threads(1)
    for name, config in NETWORKS.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        write_folder(name, config)
        for head, make in heads_of(name).items():
            write_run(name, head, make, config)
