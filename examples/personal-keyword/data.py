#!/usr/bin/env python3
"""Makes the sounds: OUT/stock.f32 with 14 words of many voices, and OUT/mine.f32 and OUT/later.f32 with two own words and others. Needs NumPy.

    python3 data.py OUT

Nobody spoke them; ../keyword-spotting/data.py says how they come about. A file holds float32 numbers: a spectrogram of 32 moments and 16 bands, then 1 for its class
and 0 for the others. A word is two syllables of four; the stock has 14 words and noise, and not
the two own ones. The third class of these is words of the stock and noise.
"""
import importlib.util
import os
import sys

import numpy as np

spec = importlib.util.spec_from_file_location("sounds", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "keyword-spotting", "data.py"))
sounds = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sounds)

MOVES = [(700, 1500), (1500, 700), (800, 800), (1700, 1700)]  # of the formant in a syllable
WORDS = {f"{one}{other}": [MOVES[one], MOVES[other]] for one in range(4) for other in range(4)}
MINE = ["03", "21"]
OTHERS = [*(word for word in WORDS if word not in MINE), "noise"]
STOCK, TRAIN, TEST = 2250, 8, 50


def spectrograms(words, draw):
    pictures = np.stack([sounds.spectrogram(sounds.voice(word, draw)) for word in words])
    return (pictures.reshape(len(words), -1) - 128.0) / 48


def write(path, words, classes, draw):
    labels = np.eye(max(classes) + 1)[classes]
    np.concatenate([spectrograms(words, draw), labels], 1).astype("<f4").tofile(path)


def own(each):
    """So many of either own word, and as many others."""
    others = [OTHERS[at * 7 % len(OTHERS)] for at in range(each)]
    return [*[MINE[0]] * each, *[MINE[1]] * each, *others], np.repeat([0, 1, 2], each)


if __name__ == "__main__":
    out, draw = sys.argv[1], np.random.default_rng(21)
    os.makedirs(out, exist_ok=True)
    sounds.WORDS = WORDS
    kinds = np.arange(STOCK) % len(OTHERS)
    write(os.path.join(out, "stock.f32"), [OTHERS[kind] for kind in kinds], kinds, draw)
    write(os.path.join(out, "mine.f32"), *own(TRAIN), draw)
    write(os.path.join(out, "later.f32"), *own(TEST), draw)
