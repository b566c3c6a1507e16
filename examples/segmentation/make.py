"""Images to try segmentation with: a disc and a square on noise, and of which of them each pixel is.

    python3 make.py FOLDER [IMAGES]

makes FOLDER/train.safetensors and FOLDER/validation.safetensors, by default of 200 and 50 images, with the fields
image, float32 [3, 32, 32], and label, int64 [32, 32]: 0 background, 1 disc, 2 square, -100 where the
two meet, which does not count. Always the same ones.
"""

import json
import pathlib
import random
import struct
import sys

SIZE = 32


def shapes(rng):
    """Is pixel x, y of the disc? Of the square?"""
    middle = lambda: (rng.uniform(7, SIZE - 7), rng.uniform(7, SIZE - 7))
    (a, b), (c, d), r = middle(), middle(), rng.uniform(3, 7)
    return (lambda x, y: (x - a) ** 2 + (y - b) ** 2 < r * r,
            lambda x, y: max(abs(x - c), abs(y - d)) < 0.9 * r)


def example(rng):
    disc, square = shapes(rng)
    colours = [[rng.gauss(1.5 * (channel + 1 == c), 0.3) for channel in range(3)] for c in range(3)]
    label = [[0] * SIZE for _ in range(SIZE)]
    for y in range(SIZE):
        for x in range(SIZE):
            of = disc(x, y), square(x, y)
            label[y][x] = -100 if all(of) else 1 if of[0] else 2 if of[1] else 0
    pixel = lambda channel, c: colours[max(c, 0)][channel] + rng.gauss(0, 0.7)
    image = [pixel(channel, c) for channel in range(3) for row in label for c in row]
    return image, [c for row in label for c in row]


def write(path, count, rng):
    examples = [example(rng) for _ in range(count)]
    image = b"".join(struct.pack(f"<{len(e[0])}f", *e[0]) for e in examples)
    label = b"".join(struct.pack(f"<{len(e[1])}q", *e[1]) for e in examples)
    ends = len(image), len(image) + len(label)
    head = json.dumps({
        "image": {"dtype": "F32", "shape": [count, 3, SIZE, SIZE], "data_offsets": [0, ends[0]]},
        "label": {"dtype": "I64", "shape": [count, SIZE, SIZE], "data_offsets": list(ends)},
    }).encode()
    head += b" " * (-len(head) % 8)
    path.write_bytes(struct.pack("<Q", len(head)) + head + image + label)


if __name__ == "__main__":
    folder, count = pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 200
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(1)
    write(folder / "train.safetensors", count, rng)
    write(folder / "validation.safetensors", count // 4, rng)
