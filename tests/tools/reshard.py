"""A safetensors file under other names, in shards with an index as transformers writes them.

    reshard.py FILE FOLDER SHARDS [--rename PATTERN TO]... [--drop PATTERN] [--extra NAME]

Needs no packages.
"""
import json
import pathlib
import re
import sys


def read(path):
    data = pathlib.Path(path).read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:begin])
    header.pop("__metadata__", None)
    return {name: (t["dtype"], t["shape"], data[begin + t["data_offsets"][0]:][
        :t["data_offsets"][1] - t["data_offsets"][0]]) for name, t in header.items()}


def write(path, tensors):
    header, at = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text +
                     b"".join(data for _, _, data in tensors.values()))


file, folder, count, *options = sys.argv[1:]
tensors = read(file)
while options:
    option = options.pop(0)
    if option == "--rename":
        pattern, to = options.pop(0), options.pop(0)
        tensors = {re.sub(pattern, to, name): t for name, t in tensors.items()}
    elif option == "--drop":
        pattern = options.pop(0)
        tensors = {name: t for name, t in tensors.items() if not re.search(pattern, name)}
    elif option == "--extra":
        tensors[options.pop(0)] = ("F32", [2], bytes(8))
folder = pathlib.Path(folder)
folder.mkdir(parents=True, exist_ok=True)
names, count, places = sorted(tensors), int(count), {}
for k in range(count):
    shard = f"model-{k + 1:05}-of-{count:05}.safetensors"
    write(folder / shard, {name: tensors[name] for name in names[k::count]})
    places.update({name: shard for name in names[k::count]})
index = {"metadata": {"total_size": sum(len(data) for _, _, data in tensors.values())},
         "weight_map": places}
(folder / "model.safetensors.index.json").write_text(json.dumps(index))
