#!/usr/bin/env python3
"""How many pictures a second torchvision's ImageFolder gives through PyTorch's DataLoader, as ImageNet's recipe reads
them: RandomResizedCrop(224), RandomHorizontalFlip, ToTensor, Normalize. Nothing is computed with them.

The last line is JSON; examples_per_s is of one epoch by workers that have already read another one.

    python3 bench/peer/torch_images.py FOLDER --workers 2 --batch 32
    python3 bench/peer/torch_images.py FOLDER --make 256      makes such pictures there, in two classes
"""
import argparse
import json
import os
import sys
import time

try:
    import numpy as np
    import torch
    from PIL import Image
    from torchvision import datasets, transforms
except ImportError as error:
    sys.exit(f"torch_images.py: {error}: python3 -m pip install torch torchvision numpy pillow")


def make(folder, n):
    """JPEGs of about ImageNet's sizes, in pixels and in bytes: soft shapes under the grain of a camera."""
    rng = np.random.default_rng(1)
    for i in range(n):
        width, height = (500, 375) if i % 3 else (375, 500)
        rough = Image.fromarray(rng.integers(0, 256, (24, 24, 3), dtype=np.uint8))
        soft = np.asarray(rough.resize((width, height), Image.BICUBIC), dtype=np.float32)
        grain = rng.normal(0, 9, (height, width, 1)).astype(np.float32)
        pixels = np.clip(soft + grain, 0, 255).astype(np.uint8)
        place = os.path.join(folder, "ab"[i % 2])
        os.makedirs(place, exist_ok=True)
        Image.fromarray(pixels).save(os.path.join(place, f"{i:05}.jpg"), quality=90)


def epoch(loader):
    n = 0
    for images, _ in loader:
        n += len(images)
    return n


def measure(folder, workers, batch):
    torch.set_num_threads(1)
    changes = transforms.Compose([
        transforms.RandomResizedCrop(224),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
    ])
    data = datasets.ImageFolder(folder, changes)
    loader = torch.utils.data.DataLoader(data, batch_size=batch, shuffle=True, num_workers=workers,
                                         persistent_workers=workers > 0)
    epoch(loader)
    begin = time.perf_counter()
    n = epoch(loader)
    seconds = time.perf_counter() - begin
    print(json.dumps({"examples_per_s": n / seconds, "workers": workers, "torch": torch.__version__}))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("folder")
    p.add_argument("--make", type=int)
    p.add_argument("--workers", type=int, default=2)
    p.add_argument("--batch", type=int, default=32)
    a = p.parse_args()
    if a.make:
        make(a.folder, a.make)
    else:
        measure(a.folder, a.workers, a.batch)


main()
