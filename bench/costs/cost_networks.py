"""The networks of the cost benchmarks: those of bench/runtime, and the paper's, in torch.nn."""
import torch
from torch import nn

import networks as runtime
from networks import conv_norm, image


class Fire(nn.Module):
    """SqueezeNet's: two kernels of other sizes read one image."""

    def __init__(self, inputs, squeeze, expand):
        super().__init__()
        self.squeeze, self.one, self.three = nn.Conv2d(inputs, squeeze, 1), nn.Conv2d(squeeze, expand, 1), nn.Conv2d(squeeze, expand, 3, padding=1)

    def forward(self, x):
        x = torch.relu(self.squeeze(x))
        return torch.cat([torch.relu(self.one(x)), torch.relu(self.three(x))], 1)


def squeezenet(classes=1000):
    """Version 1.1."""
    return nn.Sequential(
        nn.Conv2d(3, 64, 3, 2), nn.ReLU(), nn.MaxPool2d(3, 2, ceil_mode=True), Fire(64, 16, 64), Fire(128, 16, 64), nn.MaxPool2d(3, 2, ceil_mode=True),
        Fire(128, 32, 128), Fire(256, 32, 128), nn.MaxPool2d(3, 2, ceil_mode=True), Fire(256, 48, 192), Fire(384, 48, 192), Fire(384, 64, 256),
        Fire(512, 64, 256), nn.Conv2d(512, classes, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())


def unit(inputs, outputs, kernel, stride=1, padding=0):
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=False), nn.BatchNorm2d(outputs, eps=1e-3), nn.ReLU())


class Mixed(nn.Module):
    """Branches side by side."""

    def __init__(self, *branches):
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.branches], 1)


def mixed_a(inputs, pooled):
    return Mixed(unit(inputs, 64, 1), nn.Sequential(unit(inputs, 48, 1), unit(48, 64, 5, 1, 2)),
                 nn.Sequential(unit(inputs, 64, 1), unit(64, 96, 3, 1, 1), unit(96, 96, 3, 1, 1)),
                 nn.Sequential(nn.AvgPool2d(3, 1, 1), unit(inputs, pooled, 1)))


def mixed_c(inputs, width):
    row, column = dict(kernel=(1, 7), padding=(0, 3)), dict(kernel=(7, 1), padding=(3, 0))
    return Mixed(unit(inputs, 192, 1), nn.Sequential(unit(inputs, width, 1), unit(width, width, **row), unit(width, 192, **column)),
                 nn.Sequential(unit(inputs, width, 1), unit(width, width, **column), unit(width, width, **row), unit(width, width, **column),
                               unit(width, 192, **row)),
                 nn.Sequential(nn.AvgPool2d(3, 1, 1), unit(inputs, 192, 1)))


def mixed_e(inputs):
    return Mixed(unit(inputs, 320, 1), nn.Sequential(unit(inputs, 384, 1), Mixed(unit(384, 384, (1, 3), 1, (0, 1)), unit(384, 384, (3, 1), 1, (1, 0)))),
                 nn.Sequential(unit(inputs, 448, 1), unit(448, 384, 3, 1, 1),
                               Mixed(unit(384, 384, (1, 3), 1, (0, 1)), unit(384, 384, (3, 1), 1, (1, 0)))),
                 nn.Sequential(nn.AvgPool2d(3, 1, 1), unit(inputs, 192, 1)))


def inception_v3(classes=1000):
    """Without the auxiliary head, which inference does not have."""
    return nn.Sequential(
        unit(3, 32, 3, 2), unit(32, 32, 3), unit(32, 64, 3, 1, 1), nn.MaxPool2d(3, 2), unit(64, 80, 1), unit(80, 192, 3), nn.MaxPool2d(3, 2),
        mixed_a(192, 32), mixed_a(256, 64), mixed_a(288, 64),
        Mixed(unit(288, 384, 3, 2), nn.Sequential(unit(288, 64, 1), unit(64, 96, 3, 1, 1), unit(96, 96, 3, 2)), nn.MaxPool2d(3, 2)),
        mixed_c(768, 128), mixed_c(768, 160), mixed_c(768, 160), mixed_c(768, 192),
        Mixed(nn.Sequential(unit(768, 192, 1), unit(192, 320, 3, 2)),
              nn.Sequential(unit(768, 192, 1), unit(192, 192, (1, 7), 1, (0, 3)), unit(192, 192, (7, 1), 1, (3, 0)), unit(192, 192, 3, 2)), nn.MaxPool2d(3, 2)),
        mixed_e(1280), mixed_e(2048), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, classes))


def vgg16_bn(classes=10):
    layers, channels = [], 3
    for width, count in [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]:
        for _ in range(count):
            layers += [*conv_norm(channels, width, 3), nn.ReLU()]
            channels = width
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(512, classes))


class Down(nn.Module):
    def __init__(self, widths, inputs):
        super().__init__()
        self.blocks = nn.ModuleList()
        for width in widths:
            self.blocks.append(nn.Sequential(unit(inputs, width, 3, 1, 1), unit(width, width, 3, 1, 1)))
            inputs = width


class UNet(nn.Module):
    """Three levels; what is passed across lives long."""

    def __init__(self, widths=(32, 64, 128), classes=2):
        super().__init__()
        self.down = Down(widths, 3)
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * width, width, 2, 2) for width in widths[-2::-1])
        self.join = nn.ModuleList(nn.Sequential(unit(2 * width, width, 3, 1, 1), unit(width, width, 3, 1, 1)) for width in widths[-2::-1])
        self.head = nn.Linear(widths[0], classes)

    def forward(self, x):
        kept = []
        for at, block in enumerate(self.down.blocks):
            x = block(x if at == 0 else torch.max_pool2d(x, 2))
            kept.append(x)
        for up, join, skip in zip(self.up, self.join, kept[-2::-1]):
            x = join(torch.cat([up(x), skip], 1))
        return self.head(x.mean((2, 3)))


def text(batch):
    return torch.randint(0, 30522, (batch, 128))


# name -> (module, batch, inputs, classes); the batches keep a step below a second.
NETWORKS = {
    **{name: runtime.NETWORKS[name] for name in ("lenet5", "vgg16", "resnet18", "mobilenet_v2", "bert_mini", "lstm")},
    "resnet50": (runtime.resnet50, 2, image(3, 224, 224), 1000),
    "squeezenet": (squeezenet, 4, image(3, 224, 224), 1000),
    "inception_v3": (inception_v3, 1, image(3, 299, 299), 1000),
    "vgg16_bn": (vgg16_bn, 32, image(3, 32, 32), 10),
    "unet": (UNet, 4, image(3, 96, 96), 2),
}
