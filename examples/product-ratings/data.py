#!/usr/bin/env python3
"""Makes OUT/ratings_train.f32 and OUT/ratings_test.f32: ratings from 1 to 5 that 200 users gave to 150 products. Needs NumPy.

    python3 data.py OUT

A file holds float32 numbers, three for each rating: user, product, rating. A rating is how well the taste of the user and the character of the
product agree, how kind the user is, how good the product is, and chance.
"""
import os
import sys

import numpy as np

USERS, PRODUCTS, TRAIN, TEST = 200, 150, 16000, 1600

if __name__ == "__main__":
    out, draw = sys.argv[1], np.random.default_rng(2)
    os.makedirs(out, exist_ok=True)
    taste, character = draw.normal(0, 1, (USERS, 2)), draw.normal(0, 1, (PRODUCTS, 2))
    kind, quality = draw.normal(0, 0.4, USERS), draw.normal(0, 0.5, PRODUCTS)
    pairs = draw.choice(USERS * PRODUCTS, TRAIN + TEST, replace=False)  # each pair once: no rating of the test set was learned
    user, product = pairs // PRODUCTS, pairs % PRODUCTS
    rating = 3 + 0.5 * (taste[user] * character[product]).sum(1) + kind[user] + quality[product] + draw.normal(0, 0.2, len(pairs))
    rows = np.stack([user, product, np.clip(rating, 1, 5)], 1).astype("<f4")
    rows[:TRAIN].tofile(os.path.join(out, "ratings_train.f32"))
    rows[TRAIN:].tofile(os.path.join(out, "ratings_test.f32"))
    mean = rows[:TRAIN, 2].mean()
    print(f"always guessing the mean, {mean:.2f}, is wrong by {np.abs(rows[TRAIN:, 2] - mean).mean():.3f} stars")
