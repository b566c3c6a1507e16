"""Random examples as a safetensors file: make_arrays.py FILE COUNT NAME:TYPE:DIMS[:BELOW]...

TYPE is F32 (normal numbers), I64 (0 .. BELOW-1), BOOL (true, then false); DIMS are those of an
example: "3,8,8", or empty.
"""

import json
import random
import struct
import sys

path, count = sys.argv[1], int(sys.argv[2])
random.seed(7)
header, body = {}, b""
for spec in sys.argv[3:]:
    name, kind, dims, below = (spec + "::").split(":")[:4]
    shape = [count] + [int(d) for d in dims.split(",") if d]
    total = 1
    for d in shape:
        total *= d
    if kind == "F32":
        # drawn 2^20 at a time, which come again behind them
        drawn = struct.pack(f"<{min(total, 1 << 20)}f", *(random.gauss(0, 1) for _ in range(min(total, 1 << 20))))
        data = (drawn * (4 * total // len(drawn) + 1))[: 4 * total] if total else b""
    elif kind == "I64":
        data = struct.pack(f"<{total}q", *(random.randrange(int(below)) for _ in range(total)))
    else:
        each = total // count
        data = bytes(i % each < each - i // each % each for i in range(total))
    header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
    body += data
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open(path, "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + body)
