"""Small tokenizers of the shapes that are met with, trained here, and texts that could break them.

For make_text.py, which writes golden data of them, and for tests/tokenizers/compare.py. Needs `tokenizers` 0.23.
"""

import base64
import pathlib
import random

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors,
                        trainers)

ROOT = pathlib.Path(__file__).resolve().parents[2]
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")

TEXTS = [
    "", " ", "a", "\n", "  two  blanks  ", "Hello, World!", "I'm sure they'll say it's what we've DON'T know.",
    "The Amazon rainforest (Portuguese: Floresta Amazônica) covers 5,500,000 km² — 2.1 million sq mi.",
    "naïve café Ångström déjà-vu Straße İstanbul ǅungla ﬁnal Ⅷ ½ ①②③",
    "cafe\u0301 A\u030a o\u0302\u0323 q\u0307\u0323 \u0301lead \u1e9b\u0323 \u0958 \u2126",
    "亚马逊雨林占地700万平方公里。東京タワーは333mです。", "한국어 텍스트 \u1112\u1161\u11ab\u1100\u1173\u11af",
    "ภาษาไทยไม่มีช่องว่าง กำลังทดสอบ", "اللغة العربية تُكتب من اليمين ٣٤٥", "हिन्दी में क्षेत्र १२३ ড়",
    "Ελληνικά ΣΊΣΥΦΟΣ Кириллица ЁЖ עברית", "👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 🇲🇽 ❤️",
    "tab\there\r\nnew line\n\n\nthree\u00a0hard\u2003em\u3000wide\u200bzero\u2028line",
    "control\x00\x01\x7f\u0085\ufeff\ufffd\u00ad\u200e end", "a\x0bb\x0cc\x1cd\x85e", "\ue000private \U000f0000 unassigned \u0378",
    "'s 'S 'll 'LL '\u017f ''re don't", "   leading", "trailing   ", "a\n \n b  \n\n  c\t\t", "1234567890 12,345.67",
    "word" * 40, "x" * 300, "[CLS] a [MASK] b[SEP]c <mask>  d  <mask> e", " special one special  two ",
    "UNBROKEN_snake_case camelCase http://example.com/?q=a&b=%20#x", "▁meta ▁▁space _", "<0x41> <0xE2> </w> ##ing",
    "\U00011938 \U0001e922 \U00010d50 \ua7cb \U00031350 \u08d4", "a" + "\u0300" * 30 + "\u0323" * 5,
]


MORE = {  # of one shape
    "xlm-roberta": [
        "\u00adbegins", "\ufeff\u200e both", "a\u00ad", "\ufb01\u00ad x", "\u333e\ufeff\ufeffy", "\u00ad", "\u2026\u00ad",
        "e\u0301 e\u0301\u0308 a\u0300 a\u0300\u0300 a\u0300\u0300\u0308 o\u0308 \u0308 \u0308\u0301 x\u0308\u0308\u0308", "e\u0308\u0301",
        "A\u030a\u0308 \u212b\u0301 \u2126\u0308 \u00bd\u0308", "one\r\ntwo\r\n\r\nthree\n\r", "\u1e9b\u0323 \u1e9b \u0958\u0308 \uac00\u11a8 \uac00\u0308",
        "\ufdfa and \ufdfa\u00ad\ufdfa", "\U0001f44d\U0001f44d\U0001f3fd \U0001f44d\u0308", "\u3392 \u2163\u2167 \uff21\uff22 x\u00b2",
        "\u0130stanbul \u0130\u0307", "\u2460\u00ad\u2460 \u2460\u0308", "tab\tand\u3000wide\u200bzero",
    ],
}


def corpus():
    lines = (ROOT / "LICENSE").read_text().splitlines() + TEXTS * 3  # what does not change
    return [line.replace("\0", "") for line in lines]  # a zero byte in a vocabulary is refused


def random_texts(n, seed=1):
    """Code points from everywhere, more of them from where something is to be broken."""
    draw = random.Random(seed)
    ranges = [(0x20, 0x7E), (0x20, 0x7E), (0, 0x2FF), (0x300, 0x36F), (0x370, 0x1FFF), (0x2000, 0x206F),
              (0x3000, 0xD7FF), (0x1100, 0x11FF), (0xF900, 0xFFFF), (0x10000, 0x1FFFF), (0, 0x10FFFF)]
    out = []
    for _ in range(n):
        text = ""
        while len(text) < draw.randint(1, 40):
            low, high = draw.choice(ranges)
            code = draw.randint(low, high)
            text += "" if 0xD800 <= code < 0xE000 else chr(code)
            text += draw.choice(["", "", "", " ", "\u0301", "e"])
        out.append(text)
    return out


def train(tokenizer, trainer):
    tokenizer.train_from_iterator(corpus(), trainer)
    return tokenizer


def bert(lower):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=lower)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    train(t, trainers.WordPieceTrainer(vocab_size=400, show_progress=False, limit_alphabet=120,
                                       special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return t


def byte_level(trainer_tokens, **options):
    return trainers.BpeTrainer(vocab_size=450, show_progress=False, special_tokens=trainer_tokens,
                               initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), **options)


def gpt2():
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    t.decoder = decoders.ByteLevel()
    return train(t, byte_level(["<|endoftext|>"]))


def roberta():
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    t.decoder = decoders.ByteLevel()
    train(t, byte_level(["<s>", "<pad>", "</s>", "<unk>"]))
    t.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return t


def llama3(pattern=LLAMA3):
    t = Tokenizer(models.BPE(ignore_merges=True))
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    train(t, byte_level(["<|begin_of_text|>"]))
    t.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=True),
        processors.TemplateProcessing(single="<|begin_of_text|> $A", pair="<|begin_of_text|> $A <|begin_of_text|>:1 $B:1",
                                      special_tokens=[("<|begin_of_text|>", 0)])])
    return t


def qwen2():
    t = llama3(QWEN2)
    t.normalizer = normalizers.NFC()
    return t


def llama2():
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                   decoders.Strip(" ", 1, 0)])
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{i:02X}>" for i in range(256))]
    t.pre_tokenizer = pre_tokenizers.Metaspace(split=True)  # while it is trained
    train(t, trainers.BpeTrainer(vocab_size=700, show_progress=False, limit_alphabet=90, special_tokens=tokens))
    t.pre_tokenizer = None
    t.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1",
                                                     special_tokens=[("<s>", 1)])
    return t


def t5():
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.decoder = decoders.Metaspace()
    train(t, trainers.UnigramTrainer(vocab_size=400, show_progress=False, unk_token="<unk>",
                                     special_tokens=["<pad>", "</s>", "<unk>"]))
    t.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B:1 </s>:1",
                                                     special_tokens=[("</s>", 1)])
    return t


def xlm_roberta():
    t = Tokenizer(models.Unigram())
    charsmap = pathlib.Path(__file__).with_name("charsmap.txt").read_text()
    t.normalizer = normalizers.Sequence([normalizers.Precompiled(base64.b64decode(charsmap)),
                                         normalizers.Replace(Regex(" {2,}"), " ")])
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.decoder = decoders.Metaspace()
    train(t, trainers.UnigramTrainer(vocab_size=300, show_progress=False, unk_token="<unk>",
                                     special_tokens=["<s>", "<pad>", "</s>", "<unk>"]))
    t.post_processor = processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> </s>:1 $B:1 </s>:1",
                                                     special_tokens=[("<s>", 0), ("</s>", 2)])
    return t


def unigram():
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.Strip(), normalizers.NFKD(), normalizers.StripAccents(),
                                         normalizers.Lowercase()])
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="first"),
        pre_tokenizers.Digits(individual_digits=True)])
    t.decoder = decoders.Metaspace(prepend_scheme="first")
    return train(t, trainers.UnigramTrainer(vocab_size=300, show_progress=False, unk_token="<unk>",
                                            special_tokens=["<unk>"]))


def word_level():
    t = Tokenizer(models.WordLevel(unk_token="<unk>"))
    t.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.Lowercase()])
    t.pre_tokenizer = pre_tokenizers.Whitespace()
    return train(t, trainers.WordLevelTrainer(vocab_size=300, show_progress=False, special_tokens=["<unk>"]))


def bpe():
    """The old kind, with a mark at the end of a word, and added tokens with every option."""
    t = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    t.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.Digits()])
    t.decoder = decoders.BPEDecoder()
    train(t, trainers.BpeTrainer(vocab_size=400, show_progress=False, limit_alphabet=150, end_of_word_suffix="</w>",
                                 special_tokens=["<unk>"]))
    t.add_tokens([AddedToken("Special", single_word=True), AddedToken("one", lstrip=True, rstrip=True),
                  AddedToken("<mask>", normalized=False, rstrip=True), AddedToken("É", normalized=True)])
    return t


def split(behavior, invert=False):
    t = Tokenizer(models.WordLevel({"<unk>": 0}, unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.Split(Regex(r"\s+|[0-9]{2}|[A-Z]\w*"), behavior, invert)
    return t


SHAPES = {
    "bert": lambda: bert(True), "bert-cased": lambda: bert(False), "gpt2": gpt2, "roberta": roberta,
    "llama3": llama3, "qwen2": qwen2, "llama2": llama2, "t5": t5, "xlm-roberta": xlm_roberta, "unigram": unigram, "word-level": word_level,
    "bpe": bpe,
    "split-next": lambda: split("merged_with_next"), "split-previous": lambda: split("merged_with_previous"),
    "split-removed": lambda: split("removed"), "split-inverted": lambda: split("removed", True),
    "split-contiguous": lambda: split("contiguous"),
}


def bytes_before(text):
    """Of each place of a text, its end too: the bytes in front of it."""
    at = [0]
    for char in text or "":
        at.append(at[-1] + len(char.encode()))
    return at


def window(encoding, places, is_plain):
    """As tests/tools/tokenize_lines.c prints it."""
    sequences = [-1 if s is None else s for s in encoding.sequence_ids]
    if is_plain:  # without a post-processor they are lost in all windows but the first
        sequences = [-1 if s else t for s, t in zip(encoding.special_tokens_mask, encoding.type_ids)]
    spans = encoding.offsets
    in_bytes = [places[max(sequence, 0)][i] for sequence, span in zip(sequences, spans) for i in span]
    return {
        "ids": encoding.ids, "type_ids": encoding.type_ids,
        "words": [-1 if w is None else w for w in encoding.word_ids], "sequences": sequences,
        "special": encoding.special_tokens_mask, "attention": encoding.attention_mask, "bytes": in_bytes,
        "characters": [i for span in spans for i in span],
    }


def answer(tokenizer, text, pair=None):
    encoding = tokenizer.encode(text, pair)
    places = [bytes_before(text), bytes_before(pair)]
    return {
        "windows": [window(e, places, tokenizer.post_processor is None) for e in [encoding, *encoding.overflowing]],
        "decoded": tokenizer.decode(encoding.ids, skip_special_tokens=False),
        "skipped": tokenizer.decode(encoding.ids, skip_special_tokens=True),
    }
