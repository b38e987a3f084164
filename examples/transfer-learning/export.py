#!/usr/bin/env python3
"""Makes known.onnx and model.onnx: one backbone, with a head of six classes and with a head of four. Needs torch and onnx."""
import os

import torch
from torch import nn


def conv(channels_in, channels_out, stride):
    return nn.Sequential(nn.Conv2d(channels_in, channels_out, 3, stride, padding=1, bias=False), nn.BatchNorm2d(channels_out), nn.ReLU())


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.backbone = nn.Sequential(conv(1, 16, 2), conv(16, 32, 1), conv(32, 32, 2))
        self.head = nn.Linear(32 * 7 * 7, classes)

    def forward(self, x):
        return self.head(torch.flatten(self.backbone(x), 1))


for name, classes in ("known", 6), ("model", 4):
    torch.manual_seed(1)
    torch.onnx.export(Net(classes), torch.zeros(2, 1, 28, 28), os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".onnx"),
                      training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, opset_version=17, dynamo=False,
                      input_names=["image"], output_names=["kind"], dynamic_axes={"image": {0: "N"}, "kind": {0: "N"}})
