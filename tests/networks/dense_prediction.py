"""Networks that tell something of every place of an image, in torch.nn alone, small."""
import torch
from torch import nn
from torch.nn import functional as F

from vision import conv_bn


class Aspp(nn.Module):
    """Atrous spatial pyramid pooling: convolutions at several rates beside the mean of the image."""

    def __init__(self, c_in, width, rates):
        super().__init__()
        self.branches = nn.ModuleList([conv_bn(c_in, width, 1, act=nn.ReLU)])
        for rate in rates:
            self.branches.append(nn.Sequential(nn.Conv2d(c_in, width, 3, padding=rate, dilation=rate, bias=False), nn.BatchNorm2d(width), nn.ReLU()))
        self.pooled = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(c_in, width, 1), nn.ReLU())
        self.project = conv_bn(width * (len(rates) + 2), width, 1, act=nn.ReLU)

    def forward(self, x):
        found = [branch(x) for branch in self.branches]
        found.append(F.interpolate(self.pooled(x), size=x.shape[-2:], mode="bilinear", align_corners=False))
        return self.project(torch.cat(found, 1))


class DeepLab(nn.Module):
    """DeepLabv3+: the backbone's last stage is dilated, a decoder joins what an early stage has, and both go up bilinearly."""

    def __init__(self, classes=4):
        super().__init__()
        self.early = nn.Sequential(conv_bn(3, 8, 3, 2, 1, act=nn.ReLU), conv_bn(8, 8, 3, 1, 1, act=nn.ReLU))
        self.late = nn.Sequential(conv_bn(8, 16, 3, 2, 1, act=nn.ReLU), nn.Conv2d(16, 16, 3, padding=2, dilation=2, bias=False), nn.BatchNorm2d(16), nn.ReLU())
        self.aspp, self.reduce = Aspp(16, 8, (2, 4)), conv_bn(8, 4, 1, act=nn.ReLU)
        self.decoder, self.classifier = conv_bn(12, 8, 3, 1, 1, act=nn.ReLU), nn.Conv2d(8, classes, 1)

    def forward(self, x):
        early = self.early(x)
        y = F.interpolate(self.aspp(self.late(early)), size=early.shape[-2:], mode="bilinear", align_corners=False)
        y = self.classifier(self.decoder(torch.cat([self.reduce(early), y], 1)))
        return F.interpolate(y, size=x.shape[-2:], mode="bilinear", align_corners=False)


class RetinaNet(nn.Module):
    """A pyramid of features, and on each of its levels the same two heads: the classes and the boxes of all anchors."""

    def __init__(self, classes=5, anchors=2, width=8):
        super().__init__()
        self.stages = nn.ModuleList([conv_bn(3, 8, 3, 2, 1, act=nn.ReLU), conv_bn(8, 16, 3, 2, 1, act=nn.ReLU), conv_bn(16, 24, 3, 2, 1, act=nn.ReLU)])
        self.lateral = nn.ModuleList(nn.Conv2d(c, width, 1) for c in (8, 16, 24))
        self.smooth = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(3))
        self.classes, self.scores, self.boxes = classes, self.head(width, anchors * classes), self.head(width, anchors * 4)

    def head(self, width, outputs):
        return nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, outputs, 3, padding=1))

    def forward(self, x):
        levels = []
        for stage in self.stages:
            x = stage(x)
            levels.append(x)
        top, pyramid = None, []
        for level in (2, 1, 0):
            here = self.lateral[level](levels[level])
            top = here if top is None else here + F.interpolate(top, scale_factor=2, mode="nearest")
            pyramid.append(self.smooth[level](top))
        scores = [self.scores(p).permute(0, 2, 3, 1).reshape(x.shape[0], -1, self.classes) for p in pyramid]
        boxes = [self.boxes(p).permute(0, 2, 3, 1).reshape(x.shape[0], -1, 4) for p in pyramid]
        return torch.cat(scores, 1).transpose(1, 2), torch.cat(boxes, 1)


class SharedHead(nn.Module):
    """A head with batch norm that three levels share (as FCOS's has it with norms of the batch): each call moves its running statistics."""

    def __init__(self):
        super().__init__()
        self.stem, self.down, self.further = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, 2, 1), nn.Conv2d(8, 8, 3, 2, 1)
        self.tower = nn.Sequential(nn.Tanh(), nn.BatchNorm2d(8), nn.Conv2d(8, 8, 3, padding=1), nn.Sigmoid(), nn.BatchNorm2d(8, momentum=0.3))
        self.score = nn.Linear(8, 4)

    def forward(self, x):
        first = self.stem(x)
        second = self.down(first)
        levels = [first, second, self.further(second)]
        return self.score(sum(self.tower(level).square().mean((2, 3)) for level in levels))


class Espcn(nn.Module):
    """Super-resolution by a factor of 2: the last convolution's channels become places."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 16, 5, padding=2), nn.Conv2d(16, 8, 3, padding=1)
        self.conv3, self.up = nn.Conv2d(8, 4, 3, padding=1), nn.PixelShuffle(2)

    def forward(self, x):
        return torch.sigmoid(self.up(self.conv3(torch.tanh(self.conv2(torch.tanh(self.conv1(x)))))))


class Autoencoder(nn.Module):
    """Strided convolutions down to a code, transposed ones up again."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(256, 12))
        self.decoder = nn.Sequential(nn.Linear(12, 256), nn.ReLU(), nn.Unflatten(1, (16, 4, 4)), nn.ConvTranspose2d(16, 8, 3, 2, 1, output_padding=1), nn.ReLU(),
                                     nn.ConvTranspose2d(8, 1, 4, 2, 1), nn.Tanh())

    def forward(self, x):
        return self.decoder(self.encoder(x))


class Normalized(nn.Module):
    """Images are normalized inside the network, by a mean and a deviation that are buffers and never train."""

    def __init__(self, classes=10):
        super().__init__()
        self.register_buffer("pixel_mean", torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1))
        self.register_buffer("pixel_std", torch.tensor([0.229, 0.224, 0.225]).view(1, 3, 1, 1))
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU())
        self.fc = nn.Linear(16, classes)

    def forward(self, x):
        x = (x - self.pixel_mean) / self.pixel_std
        return self.fc(self.features(x).mean([2, 3]))
