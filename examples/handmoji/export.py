#!/usr/bin/env python3
"""Makes backbone.onnx, which is here already: a small MobileNet that learned to tell 120 drawn symbols from each other, without its classifier. Needs PyTorch.

    python3 export.py

None of these symbols is one of the examples'. A minute or two.
"""
import os

import numpy as np
import torch
from torch import nn

from drawings import SIDE, drawings, symbol

SYMBOLS, EACH, EPOCHS, FEATURES = 120, 60, 30, 64


def separable(inputs, outputs, stride):
    return [nn.Conv2d(inputs, inputs, 3, stride, 1, groups=inputs, bias=False), nn.BatchNorm2d(inputs), nn.ReLU6(),
            nn.Conv2d(inputs, outputs, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU6()]


if __name__ == "__main__":
    torch.manual_seed(0)
    draw = np.random.default_rng(100)
    pictures, labels = drawings([symbol(draw) for _ in range(SYMBOLS)], EACH, draw)
    x, y = torch.from_numpy(pictures)[:, None], torch.from_numpy(labels)
    backbone = nn.Sequential(nn.Conv2d(1, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU6(), *separable(16, 32, 1), *separable(32, 48, 2),
                             *separable(48, FEATURES, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    head = nn.Linear(FEATURES, SYMBOLS)
    both = nn.Sequential(backbone, head)
    optimizer = torch.optim.AdamW(both.parameters(), 4e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    for epoch in range(EPOCHS):
        for batch in torch.randperm(len(x)).split(120):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(both(x[batch]), y[batch], label_smoothing=0.1)
            loss.backward()
            optimizer.step()
        schedule.step()
        print(f"epoch {epoch + 1}  loss {loss.item():.3f}", flush=True)
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "backbone.onnx")
    torch.onnx.export(backbone.eval(), x[:2], path, opset_version=17, dynamo=False, do_constant_folding=False,
                      training=torch.onnx.TrainingMode.PRESERVE, input_names=["drawing"], output_names=["features"],
                      dynamic_axes={"drawing": {0: "N"}, "features": {0: "N"}})
