#!/usr/bin/env python3
"""Makes two sets of images out of Fashion-MNIST (Debian's package dataset-fashion-mnist). Needs NumPy.

    python3 data.py OUT

OUT/known.npz  six kinds of clothing, 4,000 images: what the backbone learns from
OUT/new.npz    the four other kinds, 200 images to learn from and 1,000 to test
"""
import gzip
import os
import sys

import numpy as np

FOLDER = "/usr/share/datasets/fashion-mnist"
KNOWN, NEW = [0, 2, 4, 5, 6, 8], [1, 3, 7, 9]  # shirts, pullovers, coats, sandals, bags; trousers, dresses, sneakers, boots


def read(name, header):
    """The bytes of an IDX file behind its header."""
    with gzip.open(os.path.join(FOLDER, name + "-ubyte.gz")) as file:
        return np.frombuffer(file.read(), np.uint8, offset=header)


def images_of(part, kinds, count):
    """The first `count` images of these kinds, and their classes from 0."""
    labels = read(f"{part}-labels-idx1", 8)
    chosen = np.flatnonzero(np.isin(labels, kinds))[:count]
    return read(f"{part}-images-idx3", 16).reshape(-1, 1, 28, 28)[chosen], np.searchsorted(kinds, labels[chosen])


if __name__ == "__main__":
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    for name, kinds, train, test in ("known", KNOWN, 4000, 1000), ("new", NEW, 200, 1000):
        x_train, y_train = images_of("train", kinds, train)
        x_test, y_test = images_of("t10k", kinds, test)
        np.savez(os.path.join(out, name + ".npz"), x_train=x_train, y_train=y_train, x_test=x_test, y_test=y_test)
