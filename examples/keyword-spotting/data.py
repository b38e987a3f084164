#!/usr/bin/env python3
"""Makes DATA/keywords.npz: spoken commands that nobody spoke, as spectrograms.

    python3 data.py DATA

A word is a voice (a pitch and its harmonics) whose loud band, the formant, moves up or down from syllable to syllable. Pitch, speed, moment
and noise are drawn for every sample, so no two are alike. The fifth class is noise alone. Needs NumPy.
"""
import os
import sys

import numpy as np

RATE, SECONDS, FRAMES, BANDS = 8000, 1.0, 32, 16
# Of each word the formant in Hz at the beginning and end of its two syllables. All words have the same sounds: their order tells.
WORDS = {"start": [(700, 1500), (1500, 700)], "stop": [(1500, 700), (700, 1500)], "left": [(700, 1500), (700, 1500)], "right": [(1500, 700), (1500, 700)]}
NAMES = [*WORDS, "noise"]


def voice(word, draw):
    """One second of sound: the word somewhere in it."""
    sound = np.zeros(int(RATE * SECONDS))
    pitch, at = draw.uniform(90, 250), int(RATE * draw.uniform(0.1, 0.35))
    shift, tempo = draw.uniform(0.8, 1.25), draw.uniform(0.8, 1.2)
    for begin, end in WORDS.get(word, []):
        length = int(RATE * 0.2 * tempo)
        time = np.arange(length) / RATE
        formant = shift * np.linspace(begin, end, length)
        tones = np.arange(1, int(3500 / pitch))[:, None] * pitch * (1 + 0.05 * np.sin(3 * time))
        loud = np.exp(-((tones - formant) / 250) ** 2)
        sound[at:at + length] += (loud * np.sin(2 * np.pi * np.cumsum(tones, 1) / RATE)).sum(0) * np.hanning(length)
        at += length
    return sound / max(1e-9, np.abs(sound).max()) + draw.normal(0, draw.uniform(0.02, 0.2), len(sound))


def spectrogram(sound):
    """[FRAMES, BANDS] bytes: how loud 16 bands of the ear's scale are, in decibels."""
    step = len(sound) // FRAMES
    frames = np.stack([sound[at:at + 2 * step] for at in range(0, len(sound) - 2 * step + 1, step)] + [np.r_[sound[-step:], np.zeros(step)]])
    power = np.abs(np.fft.rfft(frames * np.hanning(2 * step), axis=1)) ** 2
    mel = np.linspace(0, 2595 * np.log10(1 + RATE / 2 / 700), BANDS + 1)
    edges = np.round(700 * (10 ** (mel / 2595) - 1) / (RATE / 2) * (power.shape[1] - 1)).astype(int)
    bands = np.stack([power[:, low:max(low + 1, high)].mean(1) for low, high in zip(edges, edges[1:])], 1)
    return np.clip(10 * np.log10(bands + 1e-6) * 4 + 128, 0, 255).astype(np.uint8)


def samples(count, draw):
    labels = np.arange(count) % len(NAMES)
    draw.shuffle(labels)
    return np.stack([spectrogram(voice(NAMES[label], draw)) for label in labels])[:, None], labels.astype(np.int64)


if __name__ == "__main__":
    folder, draw = sys.argv[1], np.random.default_rng(1)
    os.makedirs(folder, exist_ok=True)
    arrays = {}
    for part, count in ("train", 512), ("test", 128):
        arrays[f"x_{part}"], arrays[f"y_{part}"] = samples(count, draw)
    np.savez(os.path.join(folder, "keywords.npz"), **arrays)
