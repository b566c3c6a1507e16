"""Golden examples of the reader transformer_squad: AllenNLP's rules, written out here over `tokenizers` (0.23).

    python make_squad_reader.py > ../unit/data/data/squad.json
    python make_squad_reader.py dev-v1.1.json tokenizer.json > all.json     # and then
    unit_data_squad_reader_test all.json

Rules are those of allennlp_models.rc.dataset_readers.transformer_squad and of TransformerQA's spans, of 2.10.
"""

import json
import pathlib
import random
import sys

from tokenizers import Tokenizer

TEXT_DATA = pathlib.Path(__file__).resolve().parent.parent / "unit" / "text" / "data"


class Token:
    def __init__(self, encoding, i):
        self.id, (begin, end), self.text = encoding.ids[i], encoding.offsets[i], encoding.tokens[i]
        self.idx = begin if begin < end else None

    @property
    def end(self):
        for mark in ("##", "Ġ", "▁"):
            if self.text.startswith(mark):
                return self.idx + len(self.text) - len(mark)
        return self.idx + len(self.text)


class Reader:
    def __init__(self, tokenizer, length_limit=384, stride=128, max_query_length=64, skip=False):
        self.tokenizer, self.length_limit, self.stride = tokenizer, length_limit, stride
        self.max_query_length, self.skip = max_query_length, skip
        tokenizer.no_truncation()
        tokenizer.no_padding()
        pair = tokenizer.encode("a", "a")
        marks = [(i, t, s) for i, t, s in zip(pair.ids, pair.type_ids, pair.sequence_ids)]
        first = [k for k, m in enumerate(marks) if m[2] == 0]
        second = [k for k, m in enumerate(marks) if m[2] == 1]
        self.start, self.middle, self.end = marks[:first[0]], marks[first[-1] + 1:second[0]], marks[second[-1] + 1:]
        self.types = marks[first[0]][1], marks[second[0]][1]

    def tokens(self, text):
        encoding = self.tokenizer.encode(text, add_special_tokens=False)
        return [Token(encoding, i) for i in range(len(encoding.ids))]

    def tokens_of_slice(self, context, begin, end):
        if begin == 0:
            return self.tokens(context[:end])
        tokens = self.tokens("a " + context[begin:end])[1:]
        for t in tokens:
            if t.idx is not None:
                t.idx += begin - 2
        return tokens

    def tokens_of_context(self, context):
        tokens, begin = [], 0
        for i, c in enumerate(context):
            if c.isspace():
                tokens += self.tokens_of_slice(context, begin, i)
                begin = i + 1
        return tokens + self.tokens_of_slice(context, begin, len(context))

    @staticmethod
    def answer_tokens(tokens, begin, end):
        n, first = len(tokens), 0
        while first < n and (tokens[first].idx is None or tokens[first].idx < begin):
            first += 1
        before = tokens[first - 1] if first > 0 else None
        if (before and before.idx is not None and before.end > begin) or (
                tokens[first].idx is not None and tokens[first].idx > begin):
            first -= 1
        assert first >= 0
        last = first
        while last < n and (tokens[last].idx is None or tokens[last].end < end):
            last += 1
        if last == n:
            assert begin < tokens[-1].end and end - 8 < tokens[-1].end
            last -= 1
        return first, last

    def instances(self, question, answers, context):
        tokens = self.tokens_of_context(context)
        answer = (-1, -1)
        if answers:
            begin = answers[0]["answer_start"]
            answer = self.answer_tokens(tokens, begin, begin + len(answers[0]["text"]))
        asked = self.tokens(question)[:self.max_query_length]
        space = self.length_limit - len(asked) - len(self.start) - len(self.middle) - len(self.end)
        begin = 0
        while True:
            window = tokens[begin:][:space]
            span = [a - begin for a in answer]
            if any(i < 0 or i >= len(window) for i in span):
                span = None
            if not self.skip or span:
                yield self.instance(asked, window, span, context)
            begin += space
            if begin >= len(tokens):
                break
            begin -= self.stride

    def instance(self, question, window, span, context):
        ids = [m[0] for m in self.start] + [t.id for t in question] + [m[0] for m in self.middle]
        types = [m[1] for m in self.start] + [self.types[0]] * len(question) + [m[1] for m in self.middle]
        first = len(ids)
        ids += [t.id for t in window] + [m[0] for m in self.end]
        types += [self.types[1]] * len(window) + [m[1] for m in self.end]
        i = draw.randrange(len(window))
        k = draw.randrange(i, min(i + 6, len(window)))
        return {"ids": ids, "types": types, "context": [first, first + len(window) - 1],
                "answer": [first + i for i in span] if span else [0, 0],
                "shown": [first + i, first + k], "text": self.text(window, i, k, context)}

    @staticmethod
    def text(window, i, k, context):
        while i >= 0 and window[i].idx is None:
            i -= 1
        while k < len(window) and window[k].idx is None:
            k += 1
        return context[window[i].idx if i >= 0 else 0:window[k].end if k < len(window) else len(context)]

    def examples(self, data):
        for article in data["data"]:
            for paragraph in article["paragraphs"]:
                for qa in paragraph["qas"]:
                    yield from self.instances(qa["question"], qa["answers"], paragraph["context"])


def paragraph(context, *questions):
    qas = []
    for question, *answers in questions:
        found = [{"text": text, "answer_start": context.index(text)} for text in answers]
        qas.append({"id": f"q{len(qas)}-{len(context)}", "question": question, "answers": found,
                    **({} if answers else {"is_impossible": True, "plausible_answers": found})})
    return {"context": context, "qas": qas}


LONG = ("The village of Santa María Yaviche lies  in the Sierra Norte; its people give tequio, unpaid work for all,\n"
        "some forty days a year. A road was built so in 1974, a school in 1981–1983, and the water tank (of 60 m³)\n"
        "in the dry months of 1990. Who is away pays a stand-in, or the assembly's fine. ")
FILE = {"version": "v2.0", "data": [
    {"title": "Tequio", "paragraphs": [
        paragraph(LONG + LONG.replace("19", "18"), ("What do the people give?", "tequio, unpaid work", "tequio"),
                  ("How large is the tank, which was made in the months that have no rain and stands on a hill above "
                   "the houses where the road ends?", "60 m³"), ("When was the school built?", "1981", "1981–1983"),
                  ("Who was the first mayor?",), ("What was built from 1881 to 1883?", "school in 1881–1883")),
        paragraph("İstanbul’s café\u00a0costs 5,000₺.\u001cNaïve\u3000東京 \u2028end", ("What costs it?", "5,000₺"),
                  ("Which city?", "İstanbul"), ("How?", "Naïve"), ("And?", "東京"), ("Last?", "end")),
    ]},
    {"paragraphs": [paragraph("word" * 40 + " and 😀 emoji", ("Which?", "emoji"), ("What?", "and 😀"))], "title": ""},
]}
OPTIONS = [{}, {"length_limit": 64, "stride": 16, "max_query_length": 20},
           {"length_limit": 96, "stride": 0, "max_query_length": 12, "skip": True}]

draw = random.Random(384)


def main():
    if len(sys.argv) > 1:
        with open(sys.argv[1]) as file:
            examples = list(Reader(Tokenizer.from_file(sys.argv[2])).examples(json.load(file)))
        sets = [{"path": sys.argv[1], "tokenizer_path": sys.argv[2], "options": {}, "examples": examples}]
    else:
        sets = []
        for name in ("bert-cased", "roberta"):
            tokenizer = json.dumps(json.loads((TEXT_DATA / f"{name}.json").read_text())["tokenizer"])
            for options in OPTIONS:
                reader = Reader(Tokenizer.from_str(tokenizer), **options)
                sets.append({"tokenizer": name, "options": options, "examples": list(reader.examples(FILE))})
    print(json.dumps({"file": FILE, "sets": sets}, separators=(",", ":")))


if __name__ == "__main__":
    main()
