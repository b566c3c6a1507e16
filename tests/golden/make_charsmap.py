"""A small table of SentencePiece's, as its own program compiles it: tests/golden/charsmap.txt, in base64.

    python make_charsmap.py        (sentencepiece 0.2)

Few replacements, of every shape that could go wrong: texts that become nothing, more or fewer characters; entries of
several characters that are one cluster, and of a mark alone, which is an entry within clusters too.
"""

import base64
import pathlib
import tempfile
import textwrap

import sentencepiece
from sentencepiece import sentencepiece_model_pb2

RULES = {
    "\t": " ", "\n": " ", "\r": " ", "\u00a0": " ", "\u3000": " ", "\u200b": " ", "\u00ad": "", "\ufeff": "", "\u200e": "",
    "\ufb01": "fi", "\u00bd": "1\u20442", "\u00b2": "2", "\u2460": "1", "\u2163": "IV", "\u2167": "VIII", "\u2026": "...",
    "\u3392": "MHz", "\u333e": "\u30dc\u30eb\u30c8", "\uff21": "A", "\u212b": "\u00c5", "\u2126": "\u03a9",
    "\u0130": "i\u0307", "\u0308": '"', "e\u0301": "\u00e9", "A\u030a": "\u00c5", "a\u0300\u0300": "\u00e0",
    "\u1e9b\u0323": "\u1e69", "\u0958": "\u0915\u093c", "\uac00": "\u1100\u1161", "\U0001f44d": ":+1:",
    "\ufdfa": "\u0635\u0644\u0649 \u0627\u0644\u0644\u0647 \u0639\u0644\u064a\u0647 \u0648\u0633\u0644\u0645",
}


def codes(text):
    return " ".join(f"{ord(c):04X}" for c in text)


def main():
    with tempfile.TemporaryDirectory() as folder:
        rules, text = pathlib.Path(folder, "rules.tsv"), pathlib.Path(folder, "text.txt")
        rules.write_text("".join(f"{codes(a)}\t{codes(b)}\n" for a, b in RULES.items()))
        text.write_text("".join(f"line {i} of a text\n" for i in range(200)))  # a model is trained beside the table
        sentencepiece.SentencePieceTrainer.train(input=str(text), model_prefix=f"{folder}/m", vocab_size=40,
                                                 hard_vocab_limit=False, minloglevel=2, normalization_rule_tsv=str(rules))
        model = sentencepiece_model_pb2.ModelProto()
        model.ParseFromString(pathlib.Path(folder, "m.model").read_bytes())
    table = base64.b64encode(model.normalizer_spec.precompiled_charsmap).decode()
    pathlib.Path(__file__).with_name("charsmap.txt").write_text("\n".join(textwrap.wrap(table, 110)) + "\n")


if __name__ == "__main__":
    main()
