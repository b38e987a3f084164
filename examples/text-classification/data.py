#!/usr/bin/env python3
"""Makes OUT/reviews.npz: short reviews, written by a grammar, as numbers of words. Needs NumPy.

    python3 data.py OUT

A review says one or two things. "not" and "never" turn a judgement round, and of "A but B" the writer means B. So single words do not tell whether a
review is good (1) or bad (0): the same words stand in reviews of both kinds. Row: 16 numbers of words, 0 behind the end. OUT/words.txt has the words.
"""
import os
import sys

import numpy as np

LENGTH = 16
THINGS = "film book meal hotel room staff music story ending view garden service breakfast city show actor plot beach".split()
GOOD = "good great lovely fresh funny warm clever bright charming superb".split()
BAD = "bad awful dull cold dirty slow noisy weak boring terrible".split()
VERY = ["", "", "very", "really", "so", "quite"]
NOT = ["not", "never"]
FRAMES = ["the {thing} was {judged}", "i found the {thing} {judged}", "their {thing} is {judged}", "we thought the {thing} {judged}"]


def clause(good, draw):
    """A sentence of this opinion; every second one says it by a negation."""
    negated = draw.random() < 0.5
    words = GOOD if good != negated else BAD
    judged = f"{draw.choice(NOT) if negated else draw.choice(VERY)} {draw.choice(words)}"
    return draw.choice(FRAMES).format(thing=draw.choice(THINGS), judged=judged)


def review(good, draw):
    if draw.random() < 0.3:
        return clause(good, draw)
    return f"{clause(not good, draw)} but {clause(good, draw)}" if draw.random() < 0.7 else f"{clause(good, draw)} and {clause(good, draw)}"


def samples(count, numbers, draw):
    labels = draw.integers(0, 2, count)
    rows = np.zeros((count, LENGTH), np.int64)
    for row, label in zip(rows, labels):
        words = [numbers[word] for word in review(bool(label), draw).split()]
        row[:len(words)] = words
    return rows, labels.astype(np.int64)


if __name__ == "__main__":
    out, draw = sys.argv[1], np.random.default_rng(1)
    os.makedirs(out, exist_ok=True)
    used = " ".join([*THINGS, *GOOD, *BAD, *VERY, *NOT, *FRAMES, "but and"]).replace("{thing}", "").replace("{judged}", "").split()
    words = ["", *sorted(set(used))]
    numbers = {word: at for at, word in enumerate(words)}
    with open(os.path.join(out, "words.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(words))
    arrays = {}
    for part, count in ("train", 4000), ("test", 1000):
        arrays[f"x_{part}"], arrays[f"y_{part}"] = samples(count, numbers, draw)
    np.savez(os.path.join(out, "reviews.npz"), **arrays)
    print(f"{len(words)} words; the first review: {' '.join(words[word] for word in arrays['x_train'][0] if word)}: {'good' if arrays['y_train'][0] else 'bad'}")
