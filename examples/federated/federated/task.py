"""What clients and server have in common: the model, its plan, and each client's part of the images."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pantoum

MEAN, DEVIATION = 0.2860, 0.3530

Samples = tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]


def read_idx(folder: str, name: str) -> npt.NDArray[np.uint8]:
    """A file of Fashion-MNIST, compressed or not."""
    path = Path(folder) / name
    data = path.read_bytes() if path.exists() else gzip.decompress(path.with_name(name + ".gz").read_bytes())
    rank = data[3]
    shape = [int.from_bytes(data[4 + 4 * at : 8 + 4 * at], "big") for at in range(rank)]
    return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(shape)


def samples(folder: str, split: str, chosen: npt.NDArray[np.int64] | slice) -> Samples:
    """Some images as the network takes them, and their classes. ``split``: "train" or "t10k"."""
    images = read_idx(folder, f"{split}-images-idx3-ubyte")[chosen]
    labels = read_idx(folder, f"{split}-labels-idx1-ubyte")[chosen]
    x = (images[:, np.newaxis].astype(np.float32) / 255 - MEAN) / DEVIATION
    return x, labels.astype(np.int64)


def shards(labels: npt.NDArray[np.uint8], config: dict[str, Any]) -> list[npt.NDArray[np.int64]]:
    """Which images are whose: of every class, each client has a share that a Dirichlet distribution draws."""
    draw = np.random.default_rng(int(config["seed"]))
    order = draw.permutation(len(labels))[: int(config["samples"])]
    mine: list[list[int]] = [[] for _ in range(int(config["clients"]))]
    for label in range(10):
        of_class = order[labels[order] == label]
        shares = draw.dirichlet([float(config["dirichlet"])] * len(mine))
        for client, part in enumerate(np.split(of_class, (np.cumsum(shares)[:-1] * len(of_class)).astype(int))):
            mine[client].extend(part.tolist())
    least = 2 * int(config["batch"])  # everybody has something to train on
    for client in mine:
        while len(client) < least:
            client.append(max(mine, key=len).pop())
    return [np.sort(np.array(client)) for client in mine]


def of_client(config: dict[str, Any], partition: int) -> tuple[Samples, Samples]:
    """A client's samples to train on, and (one of ten) to evaluate with."""
    folder = str(config["images"])
    whole = shards(read_idx(folder, "train-labels-idx1-ubyte"), config)[partition]
    held = np.arange(len(whole)) % 10 == 9
    return samples(folder, "train", whole[~held]), samples(folder, "train", whole[held])


def plan(config: dict[str, Any], ram: str | None) -> pantoum.Plan:
    """The step of this client: the same network, loss and optimizer everywhere, in its own RAM.

    The portable kernels give the same bits on every processor; without the clock and without measuring, every
    machine has the same plan for the same budget.
    """
    model = pantoum.load_onnx(
        str(config["model"]),
        batch=int(config["batch"]),
        optimizer=pantoum.Sgd(lr=float(config["lr"]), momentum=0.9, weight_decay=1e-4),
    )
    return pantoum.plan(model, ram=ram, kernels="portable", threads=1, measure="off", effort=20)
