"""AllenNLP's basic_classifier, simple_tagger and biaffine_parser as PyTorch computes them, in float32, without dropout.

    python make_text_models.py        writes data/text_models/ and data/allennlp_{tagger,classifier,parser}/

A file a model: its tensors under the names that they have here, a batch of texts of unlike lengths, the logits, the
loss and its gradients, end to end in the order of the tensors' names. Written from AllenNLP's own modules:
PytorchSeq2SeqWrapper and PytorchSeq2VecWrapper over torch.nn.LSTM, GRU and RNN, BagOfEmbeddingsEncoder, CnnEncoder,
BertPooler, ClsPooler, FeedForward, PretrainedTransformerMismatchedEmbedder, BilinearMatrixAttention, and from the
loss of BiaffineDependencyParser.
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


class Recurrent(nn.Module):
    """States of all tokens, 0 behind a text's end, and those of its end in both directions."""

    def __init__(self, section, inputs):
        super().__init__()
        cell = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}[section["type"]]
        self._module = cell(inputs, section["hidden_size"], section.get("num_layers", 1), batch_first=True,
                            bidirectional=section.get("bidirectional", False))
        self.width = section["hidden_size"] * (1 + self._module.bidirectional)

    def forward(self, x, mask):
        packed = pack_padded_sequence(x, mask.sum(1), batch_first=True, enforce_sorted=False)
        states, last = self._module(packed)
        last = last[0] if isinstance(last, tuple) else last
        states, _ = pad_packed_sequence(states, batch_first=True, total_length=x.shape[1])
        last = last[-2:] if self._module.bidirectional else last[-1:]
        return states, last.transpose(0, 1).flatten(1)


def bag(x, mask, averaged):
    total = (x * mask[..., None]).sum(1)
    return total / mask.sum(1, keepdim=True).clamp(min=1) if averaged else total


class Cnn(nn.Module):
    """AllenNLP's CnnEncoder: the largest of what a filter gives where it sees tokens of the text alone, else 0."""

    def __init__(self, section, inputs):
        super().__init__()
        self.activation = getattr(torch, section.get("conv_layer_activation", "relu"))
        for i, size in enumerate(section["ngram_filter_sizes"]):
            setattr(self, f"conv_layer_{i}", nn.Conv1d(inputs, section["num_filters"], size))
        self.sizes, self.width = section["ngram_filter_sizes"], section["num_filters"] * len(section["ngram_filter_sizes"])
        if "output_dim" in section:
            self.projection_layer, self.width = nn.Linear(self.width, section["output_dim"]), section["output_dim"]

    def forward(self, x, mask):
        lowest, found = torch.finfo(x.dtype).min, []
        columns = (x * mask[..., None]).transpose(1, 2)
        for i, size in enumerate(self.sizes):
            rows = self.activation(getattr(self, f"conv_layer_{i}")(columns))
            beyond = torch.arange(rows.shape[2]) >= mask.sum(1, keepdim=True) - size + 1
            found.append((rows + beyond[:, None] * lowest).max(dim=2)[0])
        found = torch.cat(found, dim=1)
        found = torch.where(found <= lowest / 2, 0.0, found)
        return found if not hasattr(self, "projection_layer") else self.projection_layer(found)


class Feedforward(nn.Module):
    def __init__(self, section, inputs):
        super().__init__()
        widths, n = section["hidden_dims"], section["num_layers"]
        widths = widths if isinstance(widths, list) else [widths] * n
        self.activations = section["activations"] if isinstance(section["activations"], list) else [section["activations"]] * n
        self._linear_layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip([inputs] + widths, widths))
        self.width = widths[-1]

    def forward(self, x):
        for layer, activation in zip(self._linear_layers, self.activations):
            x = layer(x) if activation == "linear" else getattr(torch, activation)(layer(x))
        return x


def words_of(x, word_ids, mode):
    """Rows of words, their mask, and for each token the word whose row it has (0: none)."""
    mask = (torch.arange(x.shape[1]) < word_ids.amax(1, keepdim=True)).long()
    rows = []
    for row, ids in zip(x, word_ids):
        each = [row[ids == i + 1] for i in range(x.shape[1])]
        rows.append(torch.stack([e[0] if len(e) and mode == "first" else e.sum(0) / max(len(e), 1) for e in each]))
    return torch.stack(rows), mask


def tokens_of(x, word_ids):
    return torch.stack([F.pad(row, (0, 0, 1, 0))[ids] for row, ids in zip(x, word_ids)])


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
        if self.of_tokens["type"] in RECURRENT:
            self.tokens = Recurrent(self.of_tokens, width)
            width = self.tokens.width
        if self.of_text and self.of_text["type"] in RECURRENT | {"cnn"}:
            self.text = (Cnn if self.of_text["type"] == "cnn" else Recurrent)(self.of_text, width)
            width = self.text.width
        if "feedforward_layers" in section:
            self.feedforward = Feedforward(section["feedforward_layers"], width)
            width = self.feedforward.width
        self.scores = nn.Linear(width, CLASSES)

    def forward(self, ids, mask, word_ids=None):
        out = None
        if self.section["network"] == "embedding":
            x = self.table(ids)
        else:
            out = self.encoder(input_ids=ids, attention_mask=mask)
            x = out.last_hidden_state
        if word_ids is not None:
            x, mask = words_of(x, word_ids, self.section.get("sub_token_mode", "avg"))
        if self.of_tokens["type"] in RECURRENT:
            x, _ = self.tokens(x, mask)
        if word_ids is not None:
            x = tokens_of(x, word_ids)
        return self.scores(self.behind(x if self.of_text is None else self.text_of(x, mask, out)))

    def behind(self, x):
        return self.feedforward(x) if "feedforward_layers" in self.section else x

    def text_of(self, x, mask, out):
        kind = self.of_text["type"]
        if kind == "bert_pooler":
            x = out.pooler_output
        elif kind == "cls_pooler":
            x = x[:, 0]
        elif kind == "cnn":
            x = self.text(x, mask)
        elif kind in RECURRENT:
            _, x = self.text(x, mask)
        else:
            x = bag(x, mask, self.of_text.get("averaged", False))
        return x

    def names(self):
        """AllenNLP's names over a table, Hugging Face's over an encoder."""
        tagger, encoder = self.of_text is None, self.section["network"] != "embedding"
        mine = {"table.": ("" if tagger else "_") + "text_field_embedder.token_embedder_tokens.",
                "tokens.": "encoder." if tagger else "_seq2seq_encoder.", "text.": "_seq2vec_encoder.",
                "feedforward.": "feedforward." if tagger else "_feedforward.",
                "encoder.": self.section["network"] + ".",
                "scores.": "classifier." if encoder else
                           "tag_projection_layer._module." if tagger else "_classification_layer."}
        for name, parameter in self.named_parameters():
            beginning = next(k for k in mine if name.startswith(k))
            yield mine[beginning] + name.removeprefix(beginning), parameter


class Parser(nn.Module):
    """AllenNLP's biaffine_parser: arcs [texts, words, 1 + words], and of given heads the tags [texts, words, tags]."""

    def __init__(self, section):
        super().__init__()
        self.table = nn.Embedding(VOCABULARY, WIDTH)
        self.encoder = Recurrent(section["encoder"], WIDTH)
        arc, tag = section["arc_representation_dim"], section["tag_representation_dim"]
        self._head_sentinel = nn.Parameter(torch.randn(1, 1, self.encoder.width))
        for name, width in (("head_arc", arc), ("child_arc", arc), ("head_tag", tag), ("child_tag", tag)):
            feedforward = nn.Module()
            feedforward._linear_layers = nn.ModuleList([nn.Linear(self.encoder.width, width)])
            setattr(self, f"{name}_feedforward", feedforward)
        self.arc_attention = nn.Module()
        self.arc_attention._weight_matrix = nn.Parameter(nn.init.xavier_uniform_(torch.empty(arc + 1, arc + 1)))
        self.arc_attention._bias = nn.Parameter(torch.full((1,), 0.25))
        self.tag_bilinear = nn.Bilinear(tag, tag, CLASSES)

    def forward(self, ids, mask):
        states, _ = self.encoder(self.table(ids), mask)
        rows = torch.cat([self._head_sentinel.expand(len(ids), 1, -1), states], 1)
        self.of = {name.removesuffix("_feedforward"): F.elu(layers._linear_layers[0](rows))
                   for name, layers in self.named_children() if name.endswith("_feedforward")}
        ones = rows.new_ones(rows.shape[:2] + (1,))
        arc, child = (torch.cat([self.of[name], ones], -1) for name in ("head_arc", "child_arc"))
        arcs = arc @ self.arc_attention._weight_matrix @ child.transpose(1, 2) + self.arc_attention._bias
        return (arcs + (F.pad(mask, (1, 0), value=1) - 1)[:, None] * 1e8)[:, 1:]

    def tags(self, heads):
        """As _get_head_tags: of the head that each word has."""
        head = self.of["head_tag"][torch.arange(len(heads))[:, None], heads]
        return self.tag_bilinear(head.contiguous(), self.of["child_tag"][:, 1:].contiguous())

    def names(self):
        mine = {"table.": "text_field_embedder.token_embedder_tokens."}
        for name, parameter in self.named_parameters():
            beginning = next((k for k in mine if name.startswith(k)), "")
            yield mine.get(beginning, "") + name.removeprefix(beginning), parameter


def write_parser(name, section):
    torch.manual_seed(len(name))
    network = Parser(section).eval()
    mask = (torch.arange(TOKENS) < torch.tensor(LENGTHS)[:, None]).long()
    ids = torch.where(mask == 1, torch.randint(3, VOCABULARY, mask.shape), 0)
    places = torch.arange(1, TOKENS + 1)
    heads = torch.cat([torch.randint(n + 1, (1, TOKENS)) for n in LENGTHS])
    heads = torch.where(heads == places, 0, heads)  # no word is its own head
    tags = torch.randint(CLASSES, mask.shape)
    arcs = network(ids, mask)
    all_tags = torch.stack([network.tags(torch.full_like(heads, head)) for head in range(TOKENS + 1)], 2)
    each = F.log_softmax(arcs, 2).gather(2, heads[..., None])[..., 0] + \
        F.log_softmax(network.tags(heads), 2).gather(2, tags[..., None])[..., 0]
    loss = -(each * mask).sum() / mask.sum()
    loss.backward()
    label = {"head_indices": torch.where(mask == 1, heads, -100), "head_tags": torch.where(mask == 1, tags, -100)}
    batch = {"input_ids": ids, "attention_mask": mask} | label
    save(name, section, batch, dict(network.names()), {"logits": arcs, "tag_logits": all_tags}, loss)


RECURRENT = {"lstm", "gru", "rnn"}
LSTM = {"type": "lstm", "hidden_size": 4}
GRU = LSTM | {"type": "gru"}
CNN = {"type": "cnn", "num_filters": 3, "ngram_filter_sizes": [2, 4]}
LAYERS = {"num_layers": 2, "hidden_dims": [5, 4], "activations": ["relu", "linear"], "dropout": 0.0}
DEEP = LSTM | {"num_layers": 2, "bidirectional": True}
WORDS = {"network": "embedding", "embedding_width": WIDTH, "vocabulary": VOCABULARY}
BERT = {"network": "bert", "width": 8, "num_layers": 1, "num_heads": 2, "feedforward": 10, "context": 12,
        "vocabulary": VOCABULARY, "hidden_dropout": 0.0}
ROBERTA = BERT | {"network": "roberta"}
MODELS = {
    "tagger_lstm": {"type": "simple_tagger", "encoder": DEEP | {"input_size": WIDTH}, **WORDS},
    "tagger_bert_lstm": {"type": "simple_tagger", "encoder": LSTM, **BERT},
    "tagger_words": {"type": "simple_tagger", "encoder": {"type": "pass_through", "input_dim": 8}, **BERT},
    "tagger_words_lstm": {"type": "simple_tagger", "encoder": LSTM, "sub_token_mode": "avg", **BERT},
    "tagger_words_first": {"type": "simple_tagger", "encoder": GRU, "sub_token_mode": "first", **BERT},
    "tagger_gru": {"type": "simple_tagger", "encoder": DEEP | {"type": "gru"}, "feedforward_layers": LAYERS, **WORDS},
    "classifier_gru": {"type": "basic_classifier", "seq2vec_encoder": DEEP | {"type": "gru"}, **WORDS},
    "classifier_rnn": {"type": "basic_classifier", "seq2seq_encoder": GRU, "seq2vec_encoder": LSTM | {"type": "rnn"},
                       **WORDS},
    "classifier_cnn": {"type": "basic_classifier", "seq2vec_encoder": CNN | {"output_dim": 5}, **WORDS},
    "classifier_cnn_tanh": {"type": "basic_classifier", "feedforward_layers": LAYERS | {"activations": "tanh", "hidden_dims": 5},
                            "seq2vec_encoder": CNN | {"conv_layer_activation": "tanh"}, **WORDS},
    "classifier_bag": {"type": "basic_classifier", "seq2vec_encoder": {"type": "boe", "embedding_dim": WIDTH}, **WORDS},
    "classifier_mean": {"type": "basic_classifier", "seq2seq_encoder": LSTM,
                        "seq2vec_encoder": {"type": "bag_of_embeddings", "averaged": True}, **WORDS},
    "classifier_lstm": {"type": "basic_classifier", "seq2vec_encoder": DEEP, **WORDS},
    "classifier_bert": {"type": "basic_classifier", "seq2vec_encoder": {"type": "cls_pooler"}, **BERT},
    "classifier_roberta": {"type": "basic_classifier", "seq2vec_encoder": {"type": "bert_pooler"}, **ROBERTA},
}


PARSER = {"type": "biaffine_parser", "encoder": LSTM | {"bidirectional": True}, "arc_representation_dim": 5,
          "tag_representation_dim": 4, **WORDS}

# Of the texts of 7, 3 and 5 tokens, with a special token around each.
WORD_IDS = torch.tensor([[0, 1, 1, 1, 2, 2, 0], [0, 1, 0, 0, 0, 0, 0], [0, 1, 2, 3, 0, 0, 0]])


def has_words(name):
    return name.startswith("tagger_words")


def batch_of(name, section):
    mask = (torch.arange(TOKENS) < torch.tensor(LENGTHS)[:, None]).long()
    ids = torch.where(mask == 1, torch.randint(3, VOCABULARY, mask.shape), 1)
    label = torch.randint(CLASSES, mask.shape if section["type"] == "simple_tagger" else (len(LENGTHS),))
    batch = {"input_ids": ids, "attention_mask": mask}
    if has_words(name):
        batch["word_ids"] = WORD_IDS
        mask = (WORD_IDS > F.pad(WORD_IDS, (1, 0))[:, :-1]).long()
    if label.dim() == 2:
        label = torch.where(mask == 1, label, -100)
    return batch | {"label": label}


def write(name, section):
    torch.manual_seed(len(name))
    network = Network(section).eval()
    batch = batch_of(name, section)
    logits = network(batch["input_ids"], batch["attention_mask"], batch.get("word_ids"))
    loss = F.cross_entropy(logits.flatten(0, -2), batch["label"].flatten())
    loss.backward()
    save(name, section, batch, dict(network.names()), {"logits": logits}, loss)


def save(name, section, batch, named, outputs, loss):
    path = FOLDER / f"{name}.safetensors"
    tensors = {f"batch.0.{k}": v for k, v in batch.items()} | {k: v.detach().clone() for k, v in named.items()}
    tensors |= {k: v.detach().contiguous() for k, v in outputs.items()}
    tensors |= {"loss": loss.detach(),
                "grads": torch.cat([named[k].grad.flatten() for k in sorted(named)])}
    section = section | {"pretrained": {"path": f"text_models/{name}.safetensors"}}
    save_file(tensors, path, metadata={"model": json.dumps(section), "classes": str(CLASSES)})
    path.chmod(0o644)
    print(f"{path.name}: loss {loss.item():.6f}, {len(named)} gradients")


# --- models as AllenNLP leaves them in an archive: weights.th, and the words and tags that have its numbers

TAGS = ["O", "B-PER", "I-PER"]
SENTENCES = ["Ana lives in Puebla".split(), "Juan and Ana Ruiz left".split(), ["Nobody", "lives"]]
KNOWN = ["ana", "in", "juan", "left", "lives", "ruiz"]  # the others are unknown


def number_of(word):
    return KNOWN.index(word.lower()) + 2 if word.lower() in KNOWN else 1


def write_archive(name, network, seed=7, **namespaces):
    """The folder of an archive, with weights that are drawn."""
    torch.manual_seed(seed)
    network.table = nn.Embedding(len(KNOWN) + 2, WIDTH)
    for parameter in network.parameters():
        nn.init.normal_(parameter)
    folder = FOLDER.parent / name
    (folder / "vocabulary").mkdir(parents=True, exist_ok=True)
    torch.save({name: value.detach() for name, value in network.names()}, folder / "weights.th")
    namespaces |= {"tokens": ["@@UNKNOWN@@"] + KNOWN, "non_padded_namespaces": ["*labels", "*tags"]}
    for namespace, words in namespaces.items():
        (folder / "vocabulary" / f"{namespace}.txt").write_text("\n".join(words))
    return folder


def rows_of(words):
    ids = torch.tensor([[number_of(w) for w in words]])
    return ids, torch.ones_like(ids)


def write_tagger():
    network = Network({"type": "simple_tagger", "encoder": DEEP, **WORDS}).eval()
    folder = write_archive("allennlp_tagger", network, labels=TAGS)
    tags, lines = [], []
    for words in SENTENCES:
        best = network(*rows_of(words))[0].argmax(1)
        tags.append([TAGS[i] for i in best])
        lines += [f"{word} NN O {tag}" for word, tag in zip(words, tags[-1])] + [""]
    (folder / "sentences.conll").write_text("\n".join(lines) + "\n")
    print("allennlp_tagger:", tags)


def write_classifier():
    kinds = ["song", "letter", "report"]
    bag_of_words = {"type": "bag_of_embeddings", "averaged": True}
    network = Network({"type": "basic_classifier", "seq2vec_encoder": bag_of_words, **WORDS}).eval()
    folder = write_archive("allennlp_classifier", network, labels=kinds)
    texts = SENTENCES + [s[::-1] for s in SENTENCES] + [SENTENCES[0] + SENTENCES[1]]
    best = [kinds[network(*rows_of(words))[0].argmax()] for words in texts]
    lines = [json.dumps({"text": " ".join(words), "label": label}) for words, label in zip(texts, best)]
    (folder / "texts.jsonl").write_text("\n".join(lines) + "\n")
    print("allennlp_classifier:", best)


def write_parser_archive():
    tags = ["dep", "root", "punct"]
    network = Parser(PARSER).eval()
    folder = write_archive("allennlp_parser", network, seed=8, head_tags=tags, pos=["@@UNKNOWN@@", "X"])
    lines = []
    for words in SENTENCES:
        arcs = network(*rows_of(words))
        itself = torch.eye(len(words) + 1, dtype=torch.bool)[1:]
        heads = arcs.masked_fill(itself, -torch.inf).argmax(2)
        best = network.tags(heads)[0].argmax(1)
        lines += ["\t".join([str(i), word, "_", "X", "_", "_", str(head.item()), tags[tag], "_", "_"])
                  for i, (word, head, tag) in enumerate(zip(words, heads[0], best), 1)] + [""]
    (folder / "sentences.conllu").write_text("\n".join(lines) + "\n")
    print("allennlp_parser:", *lines, sep="\n")


if __name__ == "__main__":
    torch.set_num_threads(1)
    write_tagger()
    write_classifier()
    write_parser_archive()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for model, described in MODELS.items():
        write(model, described)
    write_parser("parser", PARSER)
