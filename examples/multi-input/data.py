#!/usr/bin/env python3
"""Makes OUT/train.f32 and OUT/test.f32: a machine's vibration, how it is set, and whether something is wrong with it. Needs NumPy.

    python3 data.py OUT

A file holds float32 numbers: for each sample 32 of the vibration, 3 of the setting, then 1, 0 (fine) or 0, 1 (wrong). Each setting has a frequency of its own, and a
machine that hums another one is broken: neither input tells it alone.
"""
import os
import sys

import numpy as np

TRAIN, TEST, MOMENTS, SETTINGS = 3000, 1000, 32, 3

if __name__ == "__main__":
    out, draw = sys.argv[1], np.random.default_rng(5)
    os.makedirs(out, exist_ok=True)
    count = TRAIN + TEST
    setting, hums, wrong = draw.integers(0, SETTINGS, count), draw.integers(0, SETTINGS, count), draw.random(count) < 0.5
    hums = np.where(wrong, (setting + 1 + hums % (SETTINGS - 1)) % SETTINGS, setting)
    cycles = np.array([2, 4, 7])[hums] * draw.uniform(0.9, 1.1, count)
    time = np.arange(MOMENTS) / MOMENTS
    waves = np.sin(2 * np.pi * (cycles[:, None] * time + draw.random((count, 1)))) * draw.uniform(0.7, 1.3, (count, 1))
    waves += draw.normal(0, 0.7, waves.shape)
    rows = np.concatenate([waves, np.eye(SETTINGS)[setting], np.eye(2)[wrong.astype(int)]], 1).astype("<f4")
    rows[:TRAIN].tofile(os.path.join(out, "train.f32"))
    rows[TRAIN:].tofile(os.path.join(out, "test.f32"))
