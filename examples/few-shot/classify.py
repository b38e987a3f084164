#!/usr/bin/env python3
"""Tells symbols by the features of a network that stays as it is, in two ways, as OUT/score.json: it exits 1 where one is right too seldom. Needs NumPy.

    python3 classify.py OUT

SimpleShot: features less the mean of the known ones, divided by their length; a drawing is of the symbol whose mean is nearest, of 1 known drawing of each and of 5.
KNN: of the symbol of the nearest known drawing.
"""
import json
import os
import sys

import numpy as np

LEAST = {"simple_shot_1": 0.9, "simple_shot_5": 0.95, "knn": 0.95}


def normalized(features, centre):
    moved = features - centre
    return moved / np.linalg.norm(moved, axis=1, keepdims=True)


def nearest(features, to):
    return ((features[:, None] - to) ** 2).sum(-1).argmin(1)


def simple_shot(known, symbols, new, shots):
    kinds = np.unique(symbols)
    shown = np.concatenate([known[symbols == kind][:shots] for kind in kinds])
    centre = shown.mean(0)
    means = normalized(shown, centre).reshape(len(kinds), shots, -1).mean(1)
    return kinds[nearest(normalized(new, centre), means)]


if __name__ == "__main__":
    out = sys.argv[1]
    known, new = (np.load(os.path.join(out, name)) for name in ("known_features.npy", "new_features.npy"))
    symbols, truth = (np.load(os.path.join(out, name)) for name in ("known.npy", "new.npy"))
    known, new = known.reshape(len(symbols), -1), new.reshape(len(truth), -1)
    found = {"simple_shot_1": simple_shot(known, symbols, new, 1), "simple_shot_5": simple_shot(known, symbols, new, 5), "knn": symbols[nearest(new, known)]}
    score = {name: float((guess == truth).mean()) for name, guess in found.items()}
    with open(os.path.join(out, "score.json"), "w", encoding="utf-8") as file:
        json.dump(score, file)
    for name, accuracy in score.items():
        print(f"{name}: right of {len(truth)} drawings {accuracy:.3f}, >= {LEAST[name]} asked for: {'good' if accuracy >= LEAST[name] else 'MISSED'}")
    sys.exit(any(accuracy < LEAST[name] for name, accuracy in score.items()))
