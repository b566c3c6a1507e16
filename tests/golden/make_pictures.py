"""Golden pictures: files of every kind that is read, and what torchvision and Pillow make of them.

    python make_pictures.py ../unit/data/data/pictures

With torchvision 0.29 and Pillow 12.2 (13.0 has rows first where that is less work, and then single pixels differ by
1). cases.txt has a line a case: the file, how many channels are asked for, height,
width, the shorter side before the crop (0: stretch), and whether EXIF's orientation counts; expected.bin has the pixels
of all cases, [channels][height][width] each, in that order.
"""

import pathlib
import sys

import numpy
import torch
from PIL import Image, ImageOps
from torchvision import transforms
from torchvision.transforms import InterpolationMode, autoaugment, functional

OUT = pathlib.Path(sys.argv[1])


def photo(width, height, seed):
    """Slopes, edges and noise."""
    random = numpy.random.default_rng(seed)
    y, x = numpy.mgrid[0:height, 0:width].astype(float)
    planes = [127 + 90 * numpy.sin(x / (7 + c) + seed) * numpy.cos(y / (11 - c)) for c in range(3)]
    pixels = numpy.stack(planes, -1)
    pixels[height // 3: height // 2, width // 4: width // 2] = (230, 20, 60)
    pixels += random.normal(0, 6, pixels.shape)
    return Image.fromarray(pixels.clip(0, 255).astype(numpy.uint8))


def write_files():
    jpeg, exif = {"quality": 85}, Image.Exif()
    photo(97, 61, 1).save(OUT / "colour.jpg", **jpeg)
    photo(50, 83, 2).save(OUT / "progressive.jpg", progressive=True, subsampling=0, **jpeg)
    photo(64, 48, 3).convert("L").save(OUT / "grey.jpg", **jpeg)
    photo(40, 56, 4).convert("CMYK").save(OUT / "cmyk.jpg", **jpeg)
    for orientation in range(2, 9):
        exif[0x0112] = orientation
        photo(29, 20, 5).save(OUT / f"turned{orientation}.jpg", exif=exif, **jpeg)
    colour = photo(45, 33, 6)
    colour.save(OUT / "colour.png")
    colour.convert("L").save(OUT / "grey.png")
    colour.convert("1").save(OUT / "bits.png")
    colour.convert("P", palette=Image.Palette.ADAPTIVE, colors=16).save(OUT / "palette.png")
    alpha = colour.copy()
    alpha.putalpha(colour.convert("L"))
    alpha.save(OUT / "alpha.png")
    alpha.convert("LA").save(OUT / "grey_alpha.png")
    sixteen = numpy.random.default_rng(7).integers(0, 65536, (31, 37)).astype(numpy.uint16)
    Image.fromarray(sixteen).save(OUT / "sixteen.png")


def as_read(name, turns):
    picture = Image.open(OUT / name)
    if picture.mode.startswith("I;16"):     # Pillow's own conversion cuts off what is above 255
        return Image.fromarray(((numpy.array(picture).astype(numpy.int64) + 128) // 257).astype(numpy.uint8))
    return ImageOps.exif_transpose(picture) if turns else picture


def expected(name, channels, height, width, resize, turns):
    picture = as_read(name, turns).convert("RGB" if channels == 3 else "L")
    steps = [transforms.Resize(resize), transforms.CenterCrop((height, width))] if resize else [
        transforms.Resize((height, width), InterpolationMode.BILINEAR)]
    pixels = numpy.array(transforms.Compose(steps)(picture))
    return pixels.transpose(2, 0, 1) if channels == 3 else pixels[None]


CASES = [
    ("colour.jpg", 3, 24, 24, 24, 0), ("colour.jpg", 3, 24, 24, 27, 0), ("colour.jpg", 1, 16, 16, 21, 0),
    ("colour.jpg", 3, 20, 31, 0, 0), ("colour.jpg", 3, 61, 97, 0, 0), ("colour.jpg", 3, 61, 61, 61, 0),
    ("colour.jpg", 3, 80, 80, 90, 0), ("colour.jpg", 3, 3, 2, 0, 0), ("colour.jpg", 3, 1, 1, 1, 0),
    ("progressive.jpg", 3, 24, 24, 25, 0), ("progressive.jpg", 3, 83, 20, 0, 0),
    ("grey.jpg", 1, 24, 24, 32, 0), ("grey.jpg", 3, 24, 24, 32, 0), ("cmyk.jpg", 3, 32, 32, 36, 0),
    *[(f"turned{n}.jpg", 3, 16, 16, 18, 1) for n in range(2, 9)],
    ("turned6.jpg", 3, 12, 14, 0, 1), ("turned6.jpg", 3, 12, 14, 0, 0),
    *[(f"{name}.png", channels, 20, 20, 22, 0) for name in
      ("colour", "grey", "bits", "palette", "alpha", "grey_alpha", "sixteen") for channels in (3, 1)],
    ("colour.png", 3, 33, 45, 0, 0), ("colour.png", 3, 70, 19, 0, 0),
]

OUT.mkdir(parents=True, exist_ok=True)
write_files()
with open(OUT / "cases.txt", "w") as lines, open(OUT / "expected.bin", "wb") as pixels:
    for case in CASES:
        lines.write(" ".join(str(x) for x in case) + "\n")
        pixels.write(expected(*case).tobytes())

# --- what augmentation makes of colour.png and grey.png, given its parameters: changes.txt and changes.bin

# of the erased box: the place whose draws it is, left, top, width, height
OPERATIONS = {
    "ShearX": (0.09, -0.3, 0.99), "ShearY": (-0.09, 0.3, -0.99), "TranslateX": (6.8, -13.5, 32), "TranslateY": (-6.8, 13.5),
    "Rotate": (9, -9, 30, 90, -135, 4.5), "Brightness": (0.27, -0.9), "Color": (0.27, -0.9), "Contrast": (0.27, -0.9),
    "Sharpness": (0.27, -0.9, 0.99), "Posterize": (8, 7, 4, 2), "Solarize": (178.5, 255, 0, 76.5), "AutoContrast": (0,),
    "Equalize": (0,), "Identity": (0,),
}
CHANGES = [
    ("crop", 3, 5, 20, 31, 16), ("crop", 0, 0, 33, 45, 24), ("crop", 10, 12, 7, 5, 24), ("crop", 30, 40, 3, 5, 8),
    *[(name, factor) for name in ("brightness", "contrast", "saturation") for factor in (0.0, 0.3, 0.75, 1.0, 1.4, 3.0)],
    *[("hue", factor) for factor in (-0.5, -0.3, -0.05, 0.0, 0.1, 0.25, 0.5)],
    *[("window", top, left, 4, fill) for top, left, fill in ((0, 0, 0), (8, 3, 0), (4, 4, 77), (1, 8, 200))],
    ("flip",), ("erase", 0, 15, 8, 12, 9),
    *[("operation", name, magnitude, 0) for name, magnitudes in OPERATIONS.items() for magnitude in magnitudes],
    ("operation", "Rotate", 30, 128), ("operation", "ShearX", 0.3, 128), ("operation", "TranslateY", 5, 128),
]


def operated(picture, name, magnitude, fill):
    return autoaugment._apply_op(picture, name, float(magnitude), InterpolationMode.NEAREST, [fill] if fill else None)


def changed(picture, name, *values):
    if name == "crop":
        top, left, height, width, size = values
        return functional.resized_crop(picture, top, left, height, width, [size, size], InterpolationMode.BILINEAR)
    if name == "window":
        top, left, padding, fill = values
        return functional.crop(functional.pad(picture, [padding], fill), top, left, picture.height, picture.width)
    if name == "flip":
        return functional.hflip(picture)
    if name == "erase":
        left, top, width, height = values[1:]
        pixels = torch.from_numpy(numpy.array(picture).transpose(2, 0, 1).copy())
        return functional.erase(pixels, top, left, height, width, torch.tensor(0)).numpy().transpose(1, 2, 0)
    if name == "operation":
        return operated(picture, *values)
    return getattr(functional, f"adjust_{name}")(picture, *values)


with open(OUT / "changes.txt", "w") as lines, open(OUT / "changes.bin", "wb") as pixels:
    for change in CHANGES:
        lines.write(" ".join(str(x) for x in change) + "\n")
        pixels.write(numpy.array(changed(Image.open(OUT / "colour.png"), *change)).transpose(2, 0, 1).tobytes())
    for change in [change for change in CHANGES if change[0] == "operation"]:
        lines.write(" ".join(["grey", *(str(x) for x in change)]) + "\n")
        pixels.write(numpy.array(changed(Image.open(OUT / "grey.png"), *change)).tobytes())

# --- the numbers that pixels become: normalized.bin, float32 [3][height][width] of colour.png

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
normalize = transforms.Compose([transforms.ToTensor(), transforms.Normalize(MEAN, STD)])
(OUT / "normalized.bin").write_bytes(normalize(Image.open(OUT / "colour.png")).numpy().tobytes())

# --- the magnitudes of the policies: of which of them, width, height, operation by its place, bin, magnitude, has a sign

with open(OUT / "magnitudes.txt", "w") as lines:
    for name, width, height, bins in (("rand", 45, 33, 31), ("wide", 45, 33, 31), ("rand", 28, 28, 11), ("wide", 28, 28, 10)):
        spaces = {"rand": lambda: autoaugment.RandAugment()._augmentation_space(bins, (height, width)),
                  "wide": lambda: autoaugment.TrivialAugmentWide()._augmentation_space(bins)}[name]()
        for place, (magnitudes, signed) in enumerate(spaces.values()):
            for number in range(0, bins, 3 if bins > 20 else 1):
                value = float(magnitudes[number]) if magnitudes.ndim else 0.0
                lines.write(f"{name} {bins} {width} {height} {place} {number} {value!r} {int(signed)}\n")
