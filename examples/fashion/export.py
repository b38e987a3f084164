#!/usr/bin/env python3
"""Makes cnn.onnx: a small convolutional network for 28 x 28 grey images, as PyTorch exports it for training.

    python3 export.py [-o cnn.onnx]       write the untrained model
    python3 export.py --check DIR         also train it in PyTorch on the IDX files of DIR and print the test accuracy

Needs torch and onnx (the exporter's own dependency); --check needs numpy too. The weights come from a fixed seed.
"""
import argparse
import gzip
import os
import pathlib
import time

import torch
from torch import nn


class Cnn(nn.Module):
    """Two stages of two (convolution, batch norm, ReLU) and a pooling, then one linear layer."""

    def __init__(self, width=8):
        super().__init__()

        def conv(channels_in, channels_out):
            return nn.Sequential(nn.Conv2d(channels_in, channels_out, 3, padding=1, bias=False), nn.BatchNorm2d(channels_out), nn.ReLU())

        self.stage1 = nn.Sequential(conv(1, width), conv(width, width), nn.MaxPool2d(2))
        self.stage2 = nn.Sequential(conv(width, 2 * width), conv(2 * width, 2 * width), nn.MaxPool2d(2))
        self.fc = nn.Linear(2 * width * 7 * 7, 10)

    def forward(self, x):
        return self.fc(torch.flatten(self.stage2(self.stage1(x)), 1))


def export(model, path):
    # TRAINING keeps batch norm as it is (in EVAL it would be folded into the convolutions); the batch stays open.
    torch.onnx.export(model, (torch.zeros(2, 1, 28, 28),), path, training=torch.onnx.TrainingMode.TRAINING,
                      do_constant_folding=False, opset_version=17, input_names=["image"], output_names=["logits"],
                      dynamic_axes={"image": {0: "N"}, "logits": {0: "N"}}, dynamo=False)


def read_idx(path):
    import numpy as np
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
        data = file.read()
    rank = data[3]
    shape = [int.from_bytes(data[4 + 4 * d:8 + 4 * d], "big") for d in range(rank)]
    return torch.from_numpy(np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(shape).copy())


def load(folder, split):
    def find(kind):
        return next(path for path in sorted(pathlib.Path(folder).iterdir()) if path.name.startswith(f"{split}-{kind}"))
    return read_idx(find("images")).float().div_(255).unsqueeze(1), read_idx(find("labels")).long()


def check(model, folder, epochs=3, batch=128):
    images, labels = load(folder, "train")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    begin = time.time()
    for epoch in range(epochs):
        model.train()
        order = torch.randperm(len(images))
        for at in range(0, len(images) - batch + 1, batch):
            pick = order[at:at + batch]
            loss = nn.functional.cross_entropy(model(images[pick]), labels[pick])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch + 1}: test accuracy {accuracy(model, folder):.4f}, {time.time() - begin:.0f} s", flush=True)


@torch.no_grad()
def accuracy(model, folder):
    model.eval()
    images, labels = load(folder, "t10k")
    return sum((model(x).argmax(1) == y).sum().item() for x, y in zip(images.split(500), labels.split(500))) / len(images)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "cnn.onnx"))
    parser.add_argument("--check", metavar="DIR")
    arguments = parser.parse_args()
    torch.manual_seed(1)
    net = Cnn()
    export(net, arguments.o)
    if arguments.check:
        check(net, arguments.check)
