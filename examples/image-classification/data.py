#!/usr/bin/env python3
"""Makes OUT/clothes.npz: 6,000 training and 1,000 test images of Fashion-MNIST, from Debian's package dataset-fashion-mnist. Needs NumPy.

    python3 data.py OUT
"""
import gzip
import os
import sys

import numpy as np

FOLDER = "/usr/share/datasets/fashion-mnist"


def read(name, header):
    """The bytes of an IDX file behind its header."""
    with gzip.open(os.path.join(FOLDER, name + "-ubyte.gz")) as file:
        return np.frombuffer(file.read(), np.uint8, offset=header)


if __name__ == "__main__":
    out, arrays = sys.argv[1], {}
    os.makedirs(out, exist_ok=True)
    for part, name, count in ("train", "train", 6000), ("test", "t10k", 1000):
        arrays[f"x_{part}"] = read(f"{name}-images-idx3", 16).reshape(-1, 1, 28, 28)[:count]
        arrays[f"y_{part}"] = read(f"{name}-labels-idx1", 8)[:count].astype(np.int64)
    np.savez(os.path.join(out, "clothes.npz"), **arrays)
