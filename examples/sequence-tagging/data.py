#!/usr/bin/env python3
"""Makes OUT/messages.npz: messages to a calendar, with a tag for every word. Needs NumPy.

    python3 data.py OUT

Tags: 0 other, 1 person, 2 place, 3 date, 4 hour. Many words may be more than one of them: Paris and Jordan are people and places, May and
April are people and months, ten is an hour and a number. One name of five is written "?", as a name that nobody knows. What stands before and
behind a word decides. Row: 14 numbers of words; behind the end the word is 0 and the tag -1, which counts nowhere. OUT/words.txt has the words.
"""
import os
import sys

import numpy as np

LENGTH = 14
TAGS = ["other", "person", "place", "date", "hour"]
EITHER = "paris jordan florence austin sydney".split()  # a person or a place
WORDS = {
    "person": "anna ben carla david eva may april june".split() + EITHER,
    "place": "berlin oslo lima office school".split() + EITHER,
    "date": "monday friday may april june tomorrow today".split(),
    "hour": "ten nine two noon four".split(),
    "count": "ten nine two four".split(),
}
# A message is an opening and up to three parts in any order. Words in braces are drawn from the lists above; all others are as they stand.
OPENINGS = ["meet {person}", "call {person} and {person}", "{person} waits", "book {count} rooms", "remind {person}", "fly to {place}", "{place} is far"]
PARTS = ["in {place}", "in {date}", "near {place}", "on {date}", "before {date}", "before {hour}", "at {hour}", "at {place}", "with {person}",
         "for {person}", "for {count} days"]


def message(draw):
    """Words and tags."""
    parts = draw.choice(PARTS, draw.integers(1, 4), replace=False)
    words, tags = [], []
    for word in " ".join([draw.choice(OPENINGS), *parts]).split():
        kind = word.strip("{}")
        drawn = draw.choice(WORDS[kind]) if word.startswith("{") else word
        words.append("?" if kind in TAGS and draw.random() < 0.2 else drawn)
        tags.append(TAGS.index(kind) if kind in TAGS else 0)
    return words, tags


def samples(count, numbers, draw):
    rows, labels = np.zeros((count, LENGTH), np.int64), np.full((count, LENGTH), -1, np.int64)
    for row, label in zip(rows, labels):
        words, tags = message(draw)
        row[:len(words)], label[:len(tags)] = [numbers[word] for word in words], tags
    return rows, labels


if __name__ == "__main__":
    out, draw = sys.argv[1], np.random.default_rng(1)
    os.makedirs(out, exist_ok=True)
    fixed = {word for part in OPENINGS + PARTS for word in part.split() if not word.startswith("{")}
    words = ["", "?", *sorted(fixed.union(*WORDS.values()))]
    numbers = {word: at for at, word in enumerate(words)}
    with open(os.path.join(out, "words.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(words))
    arrays = {}
    for part, count in ("train", 1000), ("test", 500):
        arrays[f"x_{part}"], arrays[f"y_{part}"] = samples(count, numbers, draw)
    np.savez(os.path.join(out, "messages.npz"), **arrays)
    print(f"{len(words)} words; the first message:", *(f"{words[word]}/{TAGS[tag]}" for word, tag in zip(arrays["x_train"][0], arrays["y_train"][0]) if tag >= 0))
