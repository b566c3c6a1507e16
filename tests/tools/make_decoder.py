"""A decoder whose queries share keys (grouped queries), as an ONNX file: make_decoder.py FILE TOKENS VOCABULARY
HEADS GROUPS LAYERS. Heads have 64 numbers. It reads input_ids [N, TOKENS] and makes logits [N, TOKENS, VOCABULARY].

Written by hand, for machines without the package onnx; the numbers of fields are those of onnx.proto.
"""

import random
import struct
import sys

HEAD = 64
FLOAT, INT64 = 1, 7


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    """A number, or anything else as bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def weight(name, *shape):
    count, scale = 1, shape[0] ** -0.5
    for n in shape:
        count *= n
    drawn = [random.gauss(0, scale) for _ in range(min(count, 1 << 16))]
    data = struct.pack(f"<{len(drawn)}f", *drawn) * (count // len(drawn) + 1)
    return b"".join(field(1, n) for n in shape) + field(2, FLOAT) + field(8, name) + field(9, data[: 4 * count])


def node(kind, inputs, output, **attributes):
    made = b"".join(field(1, name) for name in inputs) + field(2, output) + field(3, output) + field(4, kind)
    for name, value in attributes.items():
        made += field(5, field(1, name) + field(3, value) + field(20, 2))
    return made


def value(name, kind, *shape):
    dims = b"".join(field(1, field(2, n) if isinstance(n, str) else field(1, n)) for n in shape)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, dims)))


def main():
    path, (tokens, words, heads, groups, layers) = sys.argv[1], map(int, sys.argv[2:7])
    width = heads * HEAD
    random.seed(7)
    weights, nodes = [], []

    def linear(x, name, *shape):
        weights.append(weight(f"{name}.weight", *shape))
        nodes.append(node("MatMul", [x, f"{name}.weight"], name))
        return name

    weights.append(weight("embedding", words, width))
    nodes.append(node("Gather", ["embedding", "input_ids"], "embedded"))
    x = "embedded"
    for i in range(layers):
        qkv = [linear(x, f"{part}.{i}", width, n * HEAD) for part, n in zip("qkv", (heads, groups, groups))]
        nodes.append(node("Attention", qkv, f"attention.{i}", is_causal=1, q_num_heads=heads, kv_num_heads=groups))
        y = linear(f"attention.{i}", f"out.{i}", width, width)
        nodes.append(node("Add", [x, y], f"layer.{i}"))
        x = f"layer.{i}"
    linear(x, "logits", width, words)
    graph = b"".join(field(1, n) for n in nodes) + field(2, "decoder") + b"".join(field(5, w) for w in weights)
    graph += field(11, value("input_ids", INT64, "N", tokens)) + field(12, value("logits", FLOAT, "N", tokens, words))
    with open(path, "wb") as file:
        file.write(field(1, 9) + field(7, graph) + field(8, field(1, "") + field(2, 23)))


main()
