"""CIFAR-10 as folders of JPEGs, a folder a class.

    python3 prepare.py SOURCE FOLDER

makes FOLDER/train/CLASS/00000.jpg and FOLDER/test. SOURCE is the binary version of
https://www.cs.toronto.edu/~kriz/cifar.html: cifar-10-binary.tar.gz, or the folder in it. A part will do as well:

    python3 prepare.py FOLDER --train records.bin.gz --test others.bin

Records are a byte, the label, and 3072 of pixels. Needs Pillow (python3-pil).
"""

import argparse
import gzip
import pathlib
import sys
import tarfile

SIDE, PLANE = 32, 1024
RECORD = 1 + 3 * PLANE
CLASSES = "airplane automobile bird cat deer dog frog horse ship truck".split()


def inflated(data):
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def part_of(name):
    name = pathlib.PurePath(name).name
    if name.startswith("data_batch_") and name.endswith(".bin"):
        return "train"
    return "test" if name == "test_batch.bin" else None


def sources(arguments):
    """What each part is made of: pairs of a part and bytes of records."""
    if arguments.train or arguments.test:
        for part, paths in (("train", arguments.train), ("test", arguments.test)):
            yield from ((part, inflated(path.read_bytes())) for path in paths)
    elif arguments.source.is_dir():
        for path in sorted(arguments.source.iterdir()):
            if part_of(path.name):
                yield part_of(path.name), path.read_bytes()
    else:
        with tarfile.open(arguments.source) as archive:
            for member in sorted(archive.getmembers(), key=lambda m: m.name):
                if part_of(member.name):
                    yield part_of(member.name), archive.extractfile(member).read()


def write(records, folder, first):
    from PIL import Image
    if len(records) % RECORD:
        sys.exit(f"{len(records)} bytes are no multiple of {RECORD}: this is no CIFAR-10 in its binary form")
    for i in range(len(records) // RECORD):
        record = records[i * RECORD:(i + 1) * RECORD]
        if record[0] >= len(CLASSES):
            sys.exit(f"record {i}: its label is {record[0]}; labels are 0 to {len(CLASSES) - 1}")
        planes = [Image.frombytes("L", (SIDE, SIDE), record[1 + c * PLANE:1 + (c + 1) * PLANE]) for c in range(3)]
        Image.merge("RGB", planes).save(folder / CLASSES[record[0]] / f"{first + i:05}.jpg", quality=95)
    return first + len(records) // RECORD


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=pathlib.Path, nargs="?", help="cifar-10-binary.tar.gz, or the folder in it")
    parser.add_argument("folder", type=pathlib.Path, help="where the pictures go")
    parser.add_argument("--train", type=pathlib.Path, nargs="+", default=[], help="files of records")
    parser.add_argument("--test", type=pathlib.Path, nargs="+", default=[], help="files of records")
    arguments = parser.parse_args()
    if not arguments.source and not (arguments.train and arguments.test):
        parser.error("SOURCE, or both --train and --test, say what the pictures are made of")
    done = {"train": 0, "test": 0}
    for part in done:
        for name in CLASSES:
            (arguments.folder / part / name).mkdir(parents=True, exist_ok=True)
    for part, records in sources(arguments):
        done[part] = write(records, arguments.folder / part, done[part])
    if not all(done.values()):
        sys.exit(f"{done['train']} pictures to train and {done['test']} to test: there should be both")
    print(f"{arguments.folder}: {done['train']} pictures in train, {done['test']} in test")


main()
