"""Networks on volumes [N, C, D, H, W]: a U-Net, and a residual network whose convolutions are factorized into space and time."""
import torch
from torch import nn


def twice(channels, outputs, **second):
    return nn.Sequential(nn.Conv3d(channels, outputs, 3, padding=1, bias=False), nn.BatchNorm3d(outputs), nn.ReLU(),
                         nn.Conv3d(outputs, outputs, 3, bias=False, **second), nn.BatchNorm3d(outputs), nn.ReLU())


class UNet3d(nn.Module):
    """Upwards once by a transposed convolution, once trilinearly; the middle is dilated and in groups."""

    def __init__(self, width=6, classes=3):
        super().__init__()
        self.first = twice(1, width, padding=1)
        self.second = twice(width, 2 * width, padding=1)
        self.middle = twice(2 * width, 4 * width, padding=(1, 2, 2), dilation=(1, 2, 2), groups=2)
        self.pool = nn.MaxPool3d((1, 2, 2)), nn.MaxPool3d(3, stride=2, padding=1)
        self.up = nn.ConvTranspose3d(4 * width, 2 * width, (2, 2, 2), stride=2)
        self.left = twice(4 * width, width, padding=1)
        self.wider = nn.Upsample(scale_factor=(1, 2, 2), mode="trilinear")
        self.right = twice(2 * width, width, padding=1)
        self.classes = nn.Conv3d(width, classes, 1)

    def forward(self, x):
        first = self.first(x)
        second = self.second(self.pool[0](first))
        middle = self.middle(self.pool[1](second))
        left = self.left(torch.cat([second, self.up(middle)], 1))
        return self.classes(self.right(torch.cat([first, self.wider(left)], 1)))


class Factorized(nn.Module):
    def __init__(self, channels, outputs, stride):
        super().__init__()
        between = (channels * outputs * 27) // (channels * 9 + 3 * outputs)
        self.space = nn.Conv3d(channels, between, (1, 3, 3), stride=(1, stride, stride), padding=(0, 1, 1), bias=False)
        self.norm = nn.BatchNorm3d(between)
        self.time = nn.Conv3d(between, outputs, (3, 1, 1), stride=(stride, 1, 1), padding=(1, 0, 0), bias=False)

    def forward(self, x):
        return self.time(torch.relu(self.norm(self.space(x))))


class Block(nn.Module):
    def __init__(self, channels, outputs, stride):
        super().__init__()
        self.conv1, self.bn1 = Factorized(channels, outputs, stride), nn.BatchNorm3d(outputs)
        self.conv2, self.bn2 = Factorized(outputs, outputs, 1), nn.BatchNorm3d(outputs)
        self.down = None
        if stride != 1 or channels != outputs:
            self.down = nn.Sequential(nn.Conv3d(channels, outputs, 1, stride=stride, bias=False), nn.BatchNorm3d(outputs))

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + (x if self.down is None else self.down(x)))


class R2Plus1d(nn.Module):
    def __init__(self, width=8, classes=5):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv3d(3, 6, (1, 7, 7), stride=(1, 2, 2), padding=(0, 3, 3), bias=False), nn.BatchNorm3d(6), nn.ReLU(),
                                  nn.Conv3d(6, width, (3, 1, 1), padding=(1, 0, 0), bias=False), nn.BatchNorm3d(width), nn.ReLU())
        self.layers = nn.Sequential(Block(width, width, 1), Block(width, 2 * width, 2), nn.AvgPool3d((1, 3, 3), stride=(1, 2, 2), padding=(0, 1, 1)))
        self.pool, self.head = nn.AdaptiveAvgPool3d(1), nn.Linear(2 * width, classes)

    def forward(self, x):
        return self.head(torch.flatten(self.pool(self.layers(self.stem(x))), 1))
