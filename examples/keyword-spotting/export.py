#!/usr/bin/env python3
"""Makes model.onnx: a small network of separable convolutions for spectrograms of 32 frames by 16 bands. Needs torch and onnx."""
import os

import torch
from torch import nn

torch.manual_seed(1)


def separable(channels_in, channels_out, kernel):
    """A filter for each channel, then a mixture of the channels: few weights, little work."""
    return nn.Sequential(nn.Conv2d(channels_in, channels_in, kernel, stride=2, padding=kernel // 2, groups=channels_in),
                         nn.Conv2d(channels_in, channels_out, 1), nn.ReLU())


model = nn.Sequential(nn.Conv2d(1, 16, 5, stride=2, padding=2), nn.ReLU(), separable(16, 32, 5), separable(32, 32, 3),
                      nn.Flatten(), nn.Linear(32 * 4 * 2, 5))
torch.onnx.export(model, torch.zeros(2, 1, 32, 16), os.path.join(os.path.dirname(os.path.abspath(__file__)), "model.onnx"),
                  training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, opset_version=17, dynamo=False,
                  input_names=["spectrogram"], output_names=["word"], dynamic_axes={"spectrogram": {0: "N"}, "word": {0: "N"}})
