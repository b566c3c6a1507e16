"""Pictures to try with: a folder a class, of discs, rings and squares in any colour, size and place, as PNG.

    python3 make.py FOLDER [PICTURES]

makes FOLDER/train and FOLDER/validation, by default of 240 and 60 pictures a class. Always the same ones.
"""

import math
import pathlib
import random
import struct
import sys
import zlib

CLASSES = {
    "disc": lambda x, y, r: math.hypot(x, y) < r,
    "ring": lambda x, y, r: 0.6 * r < math.hypot(x, y) < r,
    "square": lambda x, y, r: max(abs(x), abs(y)) < 0.85 * r,
}


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(width, height, pixel):
    """A file of 8 bits a channel; `pixel(x, y)` gives red, green and blue."""
    rows = b"".join(b"\0" + bytes(v for x in range(width) for v in pixel(x, y)) for y in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def picture(inside):
    width, height = random.randint(40, 64), random.randint(40, 64)
    r = random.uniform(9, 15)
    at = random.uniform(width / 2 - 5, width / 2 + 5), random.uniform(height / 2 - 5, height / 2 + 5)
    paper, ink = ([random.randint(0, 100) + light for _ in range(3)] for light in random.choice([(0, 150), (150, 0)]))

    def pixel(x, y):
        base = ink if inside(x - at[0], y - at[1], r) else paper
        return [min(255, max(0, v + random.randint(-12, 12))) for v in base]

    return png(width, height, pixel)


def main():
    folder, n = pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 240
    random.seed(1)
    for part, count in (("train", n), ("validation", n // 4)):
        for name, inside in CLASSES.items():
            (folder / part / name).mkdir(parents=True, exist_ok=True)
            for i in range(count):
                (folder / part / name / f"{i:04}.png").write_bytes(picture(inside))


main()
