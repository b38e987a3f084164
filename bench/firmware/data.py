"""Samples of the firmware's benchmark, as folders of x_train.npy, y_train.npy, x_test.npy, y_test.npy, or reasons why there are none."""
import glob
import gzip
import os
import struct
import subprocess

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FASHION = "/usr/share/datasets/fashion-mnist"
PACKAGE = "python3-sklearn"
DIGITS = "./usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz"


class Absent(RuntimeError):
    pass


def save(folder, **arrays):
    os.makedirs(folder, exist_ok=True)
    for name, array in arrays.items():
        np.save(os.path.join(folder, name + ".npy"), array)
    return folder


# ---- digits ----

def fetch_digits():
    """The one file of Debian's package, which is downloaded and unpacked, not installed."""
    place = os.path.join(ROOT, "build", "digits")
    path = os.path.join(place, "digits.csv.gz")
    if os.path.exists(path):
        return path
    os.makedirs(place, exist_ok=True)
    print(f"     the UCI digits: apt-get download {PACKAGE}, one file of it unpacked into {os.path.relpath(place, ROOT)}", flush=True)
    done = subprocess.run(["apt-get", "download", PACKAGE], cwd=place, capture_output=True, text=True)
    packages = glob.glob(os.path.join(place, f"{PACKAGE}_*.deb"))
    if done.returncode != 0 or not packages:
        raise Absent(f"apt-get download {PACKAGE} failed: {(done.stderr.strip().splitlines() or ['no package'])[-1]}")
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", packages[0]], stdout=subprocess.PIPE) as tar:
        made = subprocess.run(["tar", "-xO", DIGITS], stdin=tar.stdout, capture_output=True)
    if made.returncode != 0:
        raise Absent(f"{PACKAGE} has no {DIGITS}")
    with open(path, "wb") as file:
        file.write(made.stdout)
    for package in packages:
        os.remove(package)
    return path


def digits(folder):
    """Every fifth digit is held out."""
    with gzip.open(fetch_digits(), "rt") as file:
        rows = np.array([[float(cell) for cell in line.split(",")] for line in file]).astype(np.uint8)
    held_out = np.arange(len(rows)) % 5 == 4
    draw = np.random.default_rng(0)
    train, test = draw.permutation(rows[~held_out]), rows[held_out]
    return save(folder, x_train=train[:, :64], y_train=train[:, 64], x_test=test[:, :64], y_test=test[:, 64])


# ---- images ----

def idx(name):
    path = os.path.join(FASHION, name + ".gz")
    if not os.path.exists(path):
        raise Absent(f"{FASHION} is not there: apt-get install dataset-fashion-mnist")
    with gzip.open(path) as file:
        data = file.read()
    rank = data[3]
    return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(struct.unpack(f">{rank}I", data[4:4 + 4 * rank]))


def of_classes(classes, counts):
    """(x_train, y_train, x_test, y_test) of these classes, numbered anew; counts: of a class, in training and test; None: all."""
    made = []
    for split, count in zip(("train", "t10k"), counts):
        images, labels = idx(f"{split}-images-idx3-ubyte"), idx(f"{split}-labels-idx1-ubyte")
        chosen = np.sort(np.concatenate([np.flatnonzero(labels == each)[:count] for each in classes]))
        made += [images[chosen][:, None], np.searchsorted(classes, labels[chosen]).astype(np.uint8)]
    return dict(zip(("x_train", "y_train", "x_test", "y_test"), made))


def fashion(folder):
    idx("train-labels-idx1-ubyte")
    return FASHION


def eight_classes(folder):
    return save(folder, **of_classes(range(8), (400, 50)))


def two_classes(folder):
    """Bags and ankle boots, which the backbone has not seen: five images each, and twenty each to test."""
    return save(folder, **of_classes((8, 9), (5, 20)))


# ---- text ----

def text(folder, tokens=32, samples=64, tests=16):
    """The project's licence in lower case, 64 letters; the label of a place is the letter after it."""
    letters = "\n !\"#$%&'()*+,-./0123456789:;=<>?[]_`{|}abcdefghijklmnopqrstuvwxyz"[:63]
    with open(os.path.join(ROOT, "LICENSE"), encoding="utf-8") as file:
        words = file.read().lower()
    codes = np.array([letters.find(letter) if letter in letters else 63 for letter in words], np.int64)
    places = np.random.default_rng(0).choice((len(codes) - 1) // tokens, samples + tests, replace=False) * tokens
    x, y = (np.stack([codes[at + shift:at + shift + tokens] for at in places]) for shift in (0, 1))
    return save(folder, x_train=x[:samples], y_train=y[:samples], x_test=x[samples:], y_test=y[samples:])
