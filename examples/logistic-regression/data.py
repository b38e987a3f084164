#!/usr/bin/env python3
"""Makes OUT/points_train.f32 and OUT/points_test.f32: points with eight coordinates, and 0 or 1 for the class of each. Needs NumPy.

    python3 data.py OUT

A plane parts the classes; chance moves some points to the wrong side of it.
"""
import os
import sys

import numpy as np

TRAIN, TEST, WIDTH = 4000, 1000, 8

if __name__ == "__main__":
    out, draw = sys.argv[1], np.random.default_rng(3)
    os.makedirs(out, exist_ok=True)
    points, plane = draw.normal(0, 1, (TRAIN + TEST, WIDTH)), draw.normal(0, 1, WIDTH)
    label = points @ plane + draw.normal(0, 0.3, len(points)) > 0
    rows = np.concatenate([points, label[:, None]], 1).astype("<f4")
    rows[:TRAIN].tofile(os.path.join(out, "points_train.f32"))
    rows[TRAIN:].tofile(os.path.join(out, "points_test.f32"))
