"""The ten cases of NNTrainer's Table 4 (batch 64, mean squared error), and what the paper calls their ideal memory, in KiB."""
import torch
from torch import nn

import networks

BATCH = 64


class LastStep(nn.Module):
    """One step of an LSTM."""

    def __init__(self, inputs, hidden):
        super().__init__()
        self.lstm = nn.LSTM(inputs, hidden, batch_first=True)

    def forward(self, x):
        return self.lstm(x)[0][:, -1]


class Branches(nn.Module):
    """An addition, two activations of it, and a product of their sum."""

    def __init__(self, width, outputs):
        super().__init__()
        self.shift, self.out = nn.Parameter(torch.zeros(1)), nn.Linear(width, outputs)

    def forward(self, x):
        y = x + self.shift
        return self.out(torch.sigmoid(y) + torch.tanh(y))


def half(channels=3):
    return nn.Conv2d(channels, 3, 3, 2, 1)


def linear(*widths):
    return nn.Sequential(*(nn.Linear(a, b) for a, b in zip(widths, widths[1:])))


# name -> (module, shape of a sample, KiB of the paper)
TABLE_4 = {
    "Linear 150528-10": (lambda: linear(150528, 10), (150528,), 49397),
    "Conv2D 3-3": (half, (3, 224, 224), 65856),
    "LSTM 150528-10": (lambda: LastStep(150528, 10), (1, 150528), 84731),
    "Model A, Linear": (lambda: linear(150528, 128, 64, 10), (150528,), 188250),
    "Model A, Conv2D": (lambda: nn.Sequential(half(), half(), half()), (3, 224, 224), 51157),
    "Model B, Linear": (lambda: nn.Sequential(nn.Linear(150528, 64), nn.Sigmoid(), nn.Linear(64, 10)), (150528,), 112935),
    "Model B, Conv2D": (lambda: nn.Sequential(half(), nn.Sigmoid(), half()), (3, 224, 224), 54097),
    "Model C, Linear": (lambda: nn.Sequential(nn.Linear(150528, 10), nn.Sigmoid(), nn.Flatten()), (150528,), 49399),
    "Model C, Conv2D": (lambda: nn.Sequential(half(), nn.Sigmoid(), nn.Flatten()), (3, 224, 224), 65856),
    "Model D": (lambda: Branches(150528, 10), (150528,), 162295),
}


def export(name, path):
    make, shape, _ = TABLE_4[name]
    torch.manual_seed(0)
    networks.export_module(make(), torch.zeros(BATCH, *shape), path)
