"""Golden data of tests/unit/text: small tokenizers, and what `tokenizers` makes of texts.

    python make_text.py        writes ../unit/text/data/*.json     (tokenizers 0.23)

Each file has a tokenizer.json under "tokenizer", and "cases": the texts of text_shapes.py and some random ones,
alone and in pairs, a few of them truncated, with every window. Of a window what is as usual is left out, and
offsets in bytes, which follow from those in characters.
"""

import json
import pathlib

import text_shapes

DATA = pathlib.Path(__file__).resolve().parent.parent / "unit" / "text" / "data"
TRUNCATIONS = [(16, 4, "longest_first", "right"), (16, 2, "longest_first", "left"), (48, 4, "only_first", "right"),
               (48, 8, "only_second", "right")]
PADDINGS = [{"length": 24, "direction": "left", "pad_id": 1, "pad_token": "<pad>"}, {"pad_to_multiple_of": 8}]


def cases(tokenizer, more):
    texts = text_shapes.TEXTS + text_shapes.random_texts(8, seed=2)
    for text in texts + more:
        yield {"text": text}
    for text, pair in list(zip(texts, reversed(texts)))[::6]:
        yield {"text": text, "pair": pair}
    for truncation in TRUNCATIONS:
        length, stride, strategy, direction = truncation
        tokenizer.enable_truncation(length, stride=stride, strategy=strategy, direction=direction)
        texts = [text_shapes.TEXTS[5], text_shapes.TEXTS[7]]
        if strategy == "only_first":
            texts.reverse()
        yield {"text": texts[0], "pair": texts[1], "truncation": truncation}
        if strategy != "only_second":
            yield {"text": text_shapes.TEXTS[7], "truncation": truncation}
    tokenizer.no_truncation()
    for padding in PADDINGS:
        tokenizer.enable_padding(**padding)
        yield {"text": text_shapes.TEXTS[5], "padding": padding}
    tokenizer.no_padding()


def compact(window):
    usual = {"type_ids": 0, "sequences": 0, "special": 0, "attention": 1}
    return {key: values for key, values in window.items()
            if key != "bytes" and any(v != usual.get(key) for v in values)}


def main():
    DATA.mkdir(exist_ok=True)
    for name, make in text_shapes.SHAPES.items():
        tokenizer = make()
        lines = []
        for case in cases(tokenizer, text_shapes.MORE.get(name, [])):
            answer = text_shapes.answer(tokenizer, case["text"], case.get("pair"))
            answer["windows"] = [compact(window) for window in answer["windows"]]
            lines.append(json.dumps({**case, **answer}, separators=(",", ":")))
        whole = json.dumps(json.loads(tokenizer.to_str()), separators=(",", ":"))
        (DATA / f"{name}.json").write_text('{"tokenizer":%s,\n"cases":[\n%s\n]}\n' % (whole, ",\n".join(lines)))


if __name__ == "__main__":
    main()
