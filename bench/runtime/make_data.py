"""A network and random samples for some steps of it: make_data.py NAME FOLDER -> net.onnx, x_train.npy, y_train.npy, x_test.npy, y_test.npy."""
import os
import sys

import numpy
import torch

import networks

STEPS = {"lenet5": 100, "lstm": 40}
FEW = 6


def main(name, folder):
    networks.export(name, os.path.join(folder, "net.onnx"))
    _, batch, inputs, classes = networks.NETWORKS[name]
    torch.manual_seed(1)
    for part, count in (("train", STEPS.get(name, FEW)), ("test", 1)):
        numpy.save(os.path.join(folder, f"x_{part}.npy"), torch.cat([inputs(batch) for _ in range(count)]).numpy())
        numpy.save(os.path.join(folder, f"y_{part}.npy"), torch.randint(0, classes, (batch * count,)).numpy())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
