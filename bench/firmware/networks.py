"""The networks that firmware trains in the benchmark, in torch.nn: convolutions start as He et al. have them, all else as PyTorch does."""
import importlib.util
import os
import threading

import torch
from torch import nn
import torch.nn.functional as F

_spec = importlib.util.spec_from_file_location("runtime_networks", os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "runtime", "networks.py"))
_runtime = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_runtime)

TOKENS, VOCABULARY, WIDTH, HEADS = 32, 64, 64, 2


def mlp():
    return nn.Sequential(nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 10))


def cnn(widths, strides):
    """For images of 28 x 28 and strides that leave 7 x 7 of it."""
    layers, channels = [], 1
    for width, stride in zip(widths, strides):
        layers += [nn.Conv2d(channels, width, 3, stride, 1), nn.ReLU()]
        channels = width
    return nn.Sequential(*layers, nn.AvgPool2d(3, 2), nn.Flatten(), nn.Linear(9 * channels, 10))


class Block(nn.Module):
    """A transformer block before its norms' results are added, as GPT has it; causal, so that a place sees no later token."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.register_buffer("later", torch.full((TOKENS, TOKENS), -1e9).triu(1))

    def attention(self, x):
        n = x.shape[0]
        split = lambda t: t.reshape(n, TOKENS, HEADS, WIDTH // HEADS).transpose(1, 2)
        q, k, v = split(self.query(x)), split(self.key(x)), split(self.value(x))
        weights = torch.softmax(q @ k.transpose(-2, -1) * (WIDTH // HEADS) ** -0.5 + self.later, -1)
        return self.out((weights @ v).transpose(1, 2).reshape(n, TOKENS, WIDTH))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class NextToken(nn.Module):
    """Tokens [N, 32] -> scores of the token after each of them, [N, 64, 32]."""

    def __init__(self):
        super().__init__()
        self.words, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Parameter(torch.randn(TOKENS, WIDTH) * 0.02)
        self.block, self.norm, self.head = Block(), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY)

    def forward(self, x):
        return self.head(self.norm(self.block(self.words(x) + self.positions))).transpose(1, 2)


class Separable(nn.Module):
    """A backbone of depthwise convolutions and those of one pixel, and a head."""

    def __init__(self, classes):
        super().__init__()
        layers = [nn.Conv2d(1, 16, 3, 2, 1), nn.ReLU()]
        for inputs, width, stride in [(16, 32, 1), (32, 64, 2), (64, 64, 1)]:
            layers += [nn.Conv2d(inputs, inputs, 3, stride, 1, groups=inputs), nn.ReLU(), nn.Conv2d(inputs, width, 1), nn.ReLU()]
        self.backbone = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(64, classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def image(batch):
    return torch.zeros(batch, 1, 28, 28)


# name -> (module, example)
NETWORKS = {
    "mlp": (mlp, lambda: torch.zeros(2, 64)),
    "cnn_3k": (lambda: cnn([8, 16, 16], [2, 1, 2]), lambda: image(2)),
    "cnn_sd": (lambda: cnn([8, 16, 16, 16, 16], [2, 2, 1, 1, 1]), lambda: image(2)),
    "cnn_30k": (lambda: cnn([16, 32, 32, 32, 32, 40], [2, 1, 2, 1, 1, 1]), lambda: image(2)),
    "transformer": (NextToken, lambda: torch.zeros(2, TOKENS, dtype=torch.int64)),
    "backbone": (lambda: Separable(8), lambda: image(2)),
    "transfer": (lambda: Separable(2), lambda: image(2)),
}


_one_at_a_time = threading.Lock()  # PyTorch's seed and exporter are global


def export(name, path):
    """Writes the model; returns its parameters' count."""
    make, example = NETWORKS[name]
    with _one_at_a_time:
        torch.manual_seed(0)
        module = make()
        for part in module.modules():
            if isinstance(part, nn.Conv2d):
                nn.init.kaiming_normal_(part.weight, nonlinearity="relu")
        _runtime.export_module(module, example(), path)
    return sum(parameter.numel() for parameter in module.parameters())
