#!/usr/bin/env python3
"""Makes the models beside it with PyTorch's default export, and the losses of its training of them. Needs torch, onnx and onnxscript."""
import copy
import json
import os

import onnx
import torch
from torch import nn
from torch.nn.functional import cross_entropy

FOLDER = os.path.dirname(os.path.abspath(__file__))
STEPS, RATE, MOMENTUM = 6, 0.1, 0.9


class Tied(nn.Module):
    """A tied embedding, two norms of equal contents, biases of zeros, a mask of infinities."""
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 8)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0)
        self.head = nn.Linear(8, 20, bias=False)
        self.head.weight = self.embedding.weight
        self.position = nn.Parameter(torch.randn(5, 8))

    def forward(self, x):
        mask = torch.triu(torch.full((5, 5), float("-inf")), 1)
        return self.head(self.layer(self.embedding(x) + self.position, src_mask=mask)).transpose(1, 2)


class Norms(nn.Module):
    """Group norms that are written out and merged, a buffer, PReLU, biases of zeros."""
    def __init__(self):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(3, 4, 3), nn.GroupNorm(2, 4)
        self.conv2, self.norm2 = nn.Conv2d(4, 4, 3), nn.GroupNorm(2, 4)
        self.slope, self.first, self.last = nn.PReLU(4), nn.Linear(4, 8), nn.Linear(8, 5)
        self.norm3, self.norm4 = nn.LayerNorm(8), nn.LayerNorm(8)
        self.register_buffer("shift", torch.randn(3, 1, 1))
        for bias in (self.first.bias, self.conv2.bias, self.last.bias):
            nn.init.zeros_(bias)

    def forward(self, x):
        x = self.slope(self.norm1(self.conv1(x - self.shift)))
        x = torch.relu(self.norm2(self.conv2(x))).mean((2, 3))
        return self.last(self.norm4(torch.tanh(self.norm3(self.first(x)))))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.gru, self.head = nn.LSTM(6, 7, batch_first=True), nn.GRU(7, 5, batch_first=True), nn.Linear(5, 4)

    def forward(self, x):
        return self.head(torch.relu(self.gru(self.lstm(x)[0])[0]))[:, -1]


class Functions(nn.Module):
    """Functions of parameters alone: an expanded class token, looked up and joined positions, a gate, scales, a transpose that is tied."""
    def __init__(self):
        super().__init__()
        self.token, self.positions = nn.Parameter(torch.randn(1, 1, 6) * 0.5), nn.Embedding(4, 6)
        self.log_scale, self.gate, self.shift = nn.Parameter(torch.tensor(0.3)), nn.Parameter(torch.randn(6)), nn.Parameter(torch.randn(6))
        self.left, self.right = nn.Parameter(torch.randn(6, 3)), nn.Parameter(torch.randn(6, 2))
        self.mixed, self.last = nn.Parameter(torch.randn(6, 6) * 0.4), nn.Parameter(torch.randn(4, 5))
        self.norm1, self.norm2 = nn.LayerNorm(6), nn.LayerNorm(6)
        self.register_buffer("mean", torch.ones(6))

    def forward(self, x):
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x - self.mean], 1) + self.positions(torch.arange(4))
        x = self.norm2(torch.tanh(self.norm1(x) @ self.mixed) @ self.mixed.t())
        x = torch.add(x * torch.sigmoid(self.gate), self.shift, alpha=2) * self.log_scale.exp()
        return (x @ torch.cat([self.left, self.right], 1)).mean(1) @ self.last.t()


class Lost(nn.Module):
    """What merging and leaving out hide: a factor of 1, a function whose result begins like another parameter."""
    def __init__(self):
        super().__init__()
        self.layer, self.norm = nn.Linear(6, 6), nn.LayerNorm(6)
        self.factor, self.log_width = nn.Parameter(torch.tensor(1.0)), nn.Parameter(torch.zeros(6))

    def forward(self, x):
        return self.norm(self.layer(x) * self.factor) * self.log_width.exp() + 1.0


class Folded(nn.Module):
    """What cannot be told from the file: batch norm in a convolution, arithmetic on parameters."""
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)
        self.direction = nn.Parameter(torch.randn(6))

    def forward(self, x):
        return self.norm(self.conv(x)) * (self.direction / self.direction.norm())


def export(name, model, x):
    path = os.path.join(FOLDER, f"{name}.onnx")
    torch.onnx.export(model, (x,), path, dynamo=True, external_data=False, verbose=False)
    made = onnx.load(path)
    for node in made.graph.node:  # they name the machine's files
        kept = [entry for entry in node.metadata_props if "stack_trace" not in entry.key]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    onnx.save(made, path)


def losses(model, x, y):
    model = copy.deepcopy(model).train()
    optimizer = torch.optim.SGD(model.parameters(), RATE, momentum=MOMENTUM)
    found = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def main():
    torch.manual_seed(3)
    cases = {"tied": (Tied(), torch.randint(0, 20, (4, 5)), torch.randint(0, 20, (4, 5))),
             "norms": (Norms(), torch.randn(4, 3, 8, 8), torch.randint(0, 5, (4,))),
             "recurrent": (Recurrent(), torch.randn(4, 3, 6), torch.randint(0, 4, (4,))),
             "folded": (Folded(), torch.randn(4, 3, 8, 8), None),
             "functions": (Functions(), torch.randn(4, 3, 6), torch.randint(0, 4, (4,))),
             "lost": (Lost(), torch.randn(4, 6), None)}
    expected = {}
    for name, (model, x, y) in cases.items():
        export(name, model.eval(), x)
        if y is not None:
            expected[name] = {"x": x.flatten().tolist(), "x_shape": list(x.shape), "y": y.flatten().tolist(), "y_shape": list(y.shape),
                              "parameters": sum(p.numel() for p in model.parameters()), "losses": losses(model, x, y)}
    with open(os.path.join(FOLDER, "expected.json"), "w") as file:
        json.dump(expected, file, indent=0)
        file.write("\n")


if __name__ == "__main__":
    main()
