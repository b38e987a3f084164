#!/usr/bin/env python3
"""Makes OUT/drawn.f32 and OUT/later.f32: drawings of two symbols that a user made up, 5 of each to learn from and 50 of each to test. Needs NumPy.

    python3 data.py OUT

A file holds float32 numbers: the 24 x 24 pixels of a drawing, then 1, 0 or 0, 1 for its symbol. OUT/later_drawings.f32 has the drawings to test alone, and
OUT/later_symbols.npy their symbols.
"""
import os
import sys

import numpy as np

from drawings import drawings, symbol

TRAIN, TEST = 5, 50

if __name__ == "__main__":
    out, draw = sys.argv[1], np.random.default_rng(7)
    os.makedirs(out, exist_ok=True)
    symbols = [symbol(draw), symbol(draw)]
    for name, each in (("drawn.f32", TRAIN), ("later.f32", TEST)):
        pictures, labels = drawings(symbols, each, draw)
        np.concatenate([pictures.reshape(len(pictures), -1), np.eye(2, dtype="<f4")[labels]], 1).tofile(os.path.join(out, name))
    pictures.tofile(os.path.join(out, "later_drawings.f32"))
    np.save(os.path.join(out, "later_symbols.npy"), labels)
