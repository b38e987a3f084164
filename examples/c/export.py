#!/usr/bin/env python3
"""Makes spirals.onnx: a classifier of points in the plane, as PyTorch exports it for training.

    python3 export.py [-o spirals.onnx]

Needs torch and onnx. The weights come from a fixed seed.
"""
import argparse

import torch
from torch import nn


def network():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("-o", "--output", default="spirals.onnx")
    torch.onnx.export(network(), (torch.zeros(1, 2),), words.parse_args().output, training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False,
                      opset_version=17, input_names=["point"], output_names=["logits"], dynamic_axes={"point": {0: "N"}, "logits": {0: "N"}}, dynamo=False)


if __name__ == "__main__":
    main()
