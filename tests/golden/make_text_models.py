"""AllenNLP's basic_classifier and simple_tagger as PyTorch computes them, in float32, without dropout.

    python make_text_models.py        writes data/text_models/

A file a model: its tensors under the names that they have here, a batch of texts of unlike lengths, the logits, the
loss and its gradients, end to end in the order of the tensors' names. Written from AllenNLP's own modules:
PytorchSeq2SeqWrapper and PytorchSeq2VecWrapper over torch.nn.LSTM, BagOfEmbeddingsEncoder, BertPooler, ClsPooler.
Needs torch, transformers, safetensors.
"""

import json
import pathlib

import torch
import torch.nn.functional as F
import transformers as hf
from safetensors.torch import save_file
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

FOLDER = pathlib.Path(__file__).parent / "data" / "text_models"
VOCABULARY, TOKENS, CLASSES, WIDTH, LENGTHS = 20, 7, 3, 6, [7, 3, 5]
ENCODER = dict(vocab_size=VOCABULARY, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=10,
               max_position_embeddings=12, initializer_range=0.3)


class Lstm(nn.Module):
    """States of all tokens, 0 behind a text's end, and those of its end in both directions."""

    def __init__(self, section, inputs):
        super().__init__()
        self._module = nn.LSTM(inputs, section["hidden_size"], section.get("num_layers", 1), batch_first=True,
                               bidirectional=section.get("bidirectional", False))
        self.width = section["hidden_size"] * (1 + self._module.bidirectional)

    def forward(self, x, mask):
        packed = pack_padded_sequence(x, mask.sum(1), batch_first=True, enforce_sorted=False)
        states, (last, _) = self._module(packed)
        states, _ = pad_packed_sequence(states, batch_first=True, total_length=x.shape[1])
        last = last[-2:] if self._module.bidirectional else last[-1:]
        return states, last.transpose(0, 1).flatten(1)


def bag(x, mask, averaged):
    total = (x * mask[..., None]).sum(1)
    return total / mask.sum(1, keepdim=True).clamp(min=1) if averaged else total


class Network(nn.Module):
    """What a section `model` describes."""

    def __init__(self, section):
        super().__init__()
        self.section, tagger = section, section["type"] == "simple_tagger"
        self.of_tokens = section.get("encoder" if tagger else "seq2seq_encoder", {"type": "pass_through"})
        self.of_text = None if tagger else section["seq2vec_encoder"]
        if section["network"] == "embedding":
            self.table = nn.Embedding(VOCABULARY, WIDTH)
            width = WIDTH
        else:
            make = {"bert": (hf.BertConfig, hf.BertModel), "roberta": (hf.RobertaConfig, hf.RobertaModel)}
            config, model = make[section["network"]]
            pools = self.of_text is not None and self.of_text["type"] == "bert_pooler"
            self.encoder = model(config(**ENCODER, attn_implementation="eager"), add_pooling_layer=pools)
            width = 8
        if self.of_tokens["type"] == "lstm":
            self.tokens = Lstm(self.of_tokens, width)
            width = self.tokens.width
        if self.of_text and self.of_text["type"] == "lstm":
            self.text = Lstm(self.of_text, width)
            width = self.text.width
        self.scores = nn.Linear(width, CLASSES)

    def forward(self, ids, mask):
        if self.section["network"] == "embedding":
            x = self.table(ids)
        else:
            out = self.encoder(input_ids=ids, attention_mask=mask)
            x = out.last_hidden_state
        if self.of_tokens["type"] == "lstm":
            x, _ = self.tokens(x, mask)
        if self.of_text is None:
            return self.scores(x)
        kind = self.of_text["type"]
        if kind == "bert_pooler":
            x = out.pooler_output
        elif kind == "cls_pooler":
            x = x[:, 0]
        elif kind == "lstm":
            _, x = self.text(x, mask)
        else:
            x = bag(x, mask, self.of_text.get("averaged", False))
        return self.scores(x)

    def names(self):
        """AllenNLP's names over a table, Hugging Face's over an encoder."""
        tagger, encoder = self.of_text is None, self.section["network"] != "embedding"
        mine = {"table.": ("" if tagger else "_") + "text_field_embedder.token_embedder_tokens.",
                "tokens.": "encoder." if tagger else "_seq2seq_encoder.", "text.": "_seq2vec_encoder.",
                "encoder.": self.section["network"] + ".",
                "scores.": "classifier." if encoder else
                           "tag_projection_layer._module." if tagger else "_classification_layer."}
        for name, parameter in self.named_parameters():
            beginning = next(k for k in mine if name.startswith(k))
            yield mine[beginning] + name.removeprefix(beginning), parameter


LSTM = {"type": "lstm", "hidden_size": 4}
DEEP = LSTM | {"num_layers": 2, "bidirectional": True}
WORDS = {"network": "embedding", "embedding_width": WIDTH, "vocabulary": VOCABULARY}
BERT = {"network": "bert", "width": 8, "num_layers": 1, "num_heads": 2, "feedforward": 10, "context": 12,
        "vocabulary": VOCABULARY, "hidden_dropout": 0.0}
ROBERTA = BERT | {"network": "roberta"}
MODELS = {
    "tagger_lstm": {"type": "simple_tagger", "encoder": DEEP | {"input_size": WIDTH}, **WORDS},
    "tagger_bert_lstm": {"type": "simple_tagger", "encoder": LSTM, **BERT},
    "classifier_bag": {"type": "basic_classifier", "seq2vec_encoder": {"type": "boe", "embedding_dim": WIDTH}, **WORDS},
    "classifier_mean": {"type": "basic_classifier", "seq2seq_encoder": LSTM,
                        "seq2vec_encoder": {"type": "bag_of_embeddings", "averaged": True}, **WORDS},
    "classifier_lstm": {"type": "basic_classifier", "seq2vec_encoder": DEEP, **WORDS},
    "classifier_bert": {"type": "basic_classifier", "seq2vec_encoder": {"type": "cls_pooler"}, **BERT},
    "classifier_roberta": {"type": "basic_classifier", "seq2vec_encoder": {"type": "bert_pooler"}, **ROBERTA},
}


def batch_of(section):
    mask = (torch.arange(TOKENS) < torch.tensor(LENGTHS)[:, None]).long()
    ids = torch.where(mask == 1, torch.randint(3, VOCABULARY, mask.shape), 1)
    label = torch.randint(CLASSES, mask.shape if section["type"] == "simple_tagger" else (len(LENGTHS),))
    if label.dim() == 2:
        label = torch.where(mask == 1, label, -100)
    return {"input_ids": ids, "attention_mask": mask, "label": label}


def write(name, section):
    torch.manual_seed(len(name))
    network = Network(section).eval()
    batch = batch_of(section)
    logits = network(batch["input_ids"], batch["attention_mask"])
    loss = F.cross_entropy(logits.flatten(0, -2), batch["label"].flatten())
    loss.backward()
    named = dict(network.names())
    path = FOLDER / f"{name}.safetensors"
    tensors = {f"batch.0.{k}": v for k, v in batch.items()} | {k: v.detach().clone() for k, v in named.items()}
    tensors |= {"logits": logits.detach().contiguous(), "loss": loss.detach(),
                "grads": torch.cat([named[k].grad.flatten() for k in sorted(named)])}
    section = section | {"pretrained": {"path": f"text_models/{name}.safetensors"}}
    save_file(tensors, path, metadata={"model": json.dumps(section), "classes": str(CLASSES)})
    path.chmod(0o644)
    print(f"{path.name}: loss {loss.item():.6f}, {len(named)} gradients")


if __name__ == "__main__":
    torch.set_num_threads(1)
    FOLDER.mkdir(parents=True, exist_ok=True)
    for model, described in MODELS.items():
        write(model, described)
