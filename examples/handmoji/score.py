#!/usr/bin/env python3
"""Says how many of the predictions in OUT/probabilities.npy are right, as OUT/score.json: it exits 1 below 95 of 100. Needs NumPy.

    python3 score.py OUT
"""
import json
import os
import sys

import numpy as np

LEAST = 0.95

if __name__ == "__main__":
    out = sys.argv[1]
    probabilities, symbols = (np.load(os.path.join(out, name)) for name in ("probabilities.npy", "later_symbols.npy"))
    accuracy = float((probabilities.reshape(len(symbols), -1).argmax(1) == symbols).mean())
    with open(os.path.join(out, "score.json"), "w", encoding="utf-8") as file:
        json.dump({"accuracy": accuracy}, file)
    print(f"right of {len(symbols)} drawings {accuracy:.3f}, >= {LEAST} asked for: {'good' if accuracy >= LEAST else 'MISSED'}")
    sys.exit(accuracy < LEAST)
