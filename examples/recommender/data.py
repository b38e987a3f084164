#!/usr/bin/env python3
"""Makes OUT/ratings.npz: ratings from 1 to 5 that 600 users gave to 400 films. Needs NumPy.

    python3 data.py OUT

Every user has a taste and every film a character, four numbers each. A rating is how well the two agree, how kind the user is, how good the film
is, and chance. Nobody sees these numbers: users and films are but numbers in the file. A user rates some 40 films of 400. Rows: user, item,
and the rating as y.
"""
import os
import sys

import numpy as np

USERS, ITEMS, TRAIN, TEST = 600, 400, 24000, 2000

if __name__ == "__main__":
    out, draw = sys.argv[1], np.random.default_rng(1)
    os.makedirs(out, exist_ok=True)
    taste, character = draw.normal(0, 1, (USERS, 4)), draw.normal(0, 1, (ITEMS, 4))
    kind, quality = draw.normal(0, 0.3, USERS), draw.normal(0, 0.4, ITEMS)
    pairs = draw.choice(USERS * ITEMS, TRAIN + TEST, replace=False)  # each pair once: no rating of the test set was learned
    user, item = pairs // ITEMS, pairs % ITEMS
    ratings = 3 + 0.5 * (taste[user] * character[item]).sum(1) + kind[user] + quality[item] + draw.normal(0, 0.2, len(pairs))
    ratings = np.clip(ratings, 1, 5).astype(np.float32)[:, None]
    arrays = {}
    for part, rows in ("train", slice(0, TRAIN)), ("test", slice(TRAIN, None)):
        arrays[f"user_{part}"], arrays[f"item_{part}"], arrays[f"y_{part}"] = user[rows], item[rows], ratings[rows]
    np.savez(os.path.join(out, "ratings.npz"), **arrays)
    mean = arrays["y_train"].mean()
    print(f"always guessing the mean, {mean:.2f}, is wrong by {np.abs(arrays['y_test'] - mean).mean():.3f} stars")
