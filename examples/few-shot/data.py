#!/usr/bin/env python3
"""Makes OUT/known.f32 and OUT/new.f32: drawings of 5 symbols that no network has seen, 5 of each that are known and 40 of each to tell. Needs NumPy.

    python3 data.py OUT

A file holds the 24 x 24 float32 pixels of each drawing; OUT/known.npy and OUT/new.npy have the symbols' numbers. The drawings are those of ../handmoji.
"""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "handmoji"))
from drawings import drawings, symbol  # noqa: E402

SYMBOLS, KNOWN, NEW = 5, 5, 40

if __name__ == "__main__":
    out, draw = sys.argv[1], np.random.default_rng(11)
    os.makedirs(out, exist_ok=True)
    symbols = [symbol(draw) for _ in range(SYMBOLS)]
    for name, each in (("known", KNOWN), ("new", NEW)):
        pictures, labels = drawings(symbols, each, draw)
        pictures.tofile(os.path.join(out, name + ".f32"))
        np.save(os.path.join(out, name + ".npy"), labels)
