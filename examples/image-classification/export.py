#!/usr/bin/env python3
"""Makes model.onnx: a small residual network for 28 x 28 grey images. Needs torch and onnx."""
import os

import torch
from torch import nn


def conv(channels_in, channels_out, stride=1):
    return nn.Sequential(nn.Conv2d(channels_in, channels_out, 3, stride, padding=1, bias=False), nn.BatchNorm2d(channels_out), nn.ReLU())


class Residual(nn.Module):
    """Two convolutions whose result is added to what came in."""

    def __init__(self, channels):
        super().__init__()
        self.first = conv(channels, channels)
        self.second = nn.Sequential(nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels))

    def forward(self, x):
        return torch.relu(x + self.second(self.first(x)))


torch.manual_seed(1)
model = nn.Sequential(conv(1, 16, 2), Residual(16), conv(16, 32, 2), Residual(32), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
# TRAINING keeps batch norm as it is: in EVAL it would be folded into the convolutions. The batch size stays open.
torch.onnx.export(model, torch.zeros(2, 1, 28, 28), os.path.join(os.path.dirname(os.path.abspath(__file__)), "model.onnx"),
                  training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, opset_version=17, dynamo=False,
                  input_names=["image"], output_names=["kind"], dynamic_axes={"image": {0: "N"}, "kind": {0: "N"}})
