"""Convolutional networks after ResNet, in torch.nn alone: the blocks of their papers at a small width."""
import torch
from torch import nn
from torch.nn import functional as F

from vision import conv_bn


class SqueezeExcite(nn.Module):
    """Channels are weighed by what their means tell; `gate` is a sigmoid or a hard one."""

    def __init__(self, c, squeezed, gate, act=nn.ReLU):
        super().__init__()
        self.pool, self.fc1, self.act, self.fc2, self.gate = nn.AdaptiveAvgPool2d(1), nn.Conv2d(c, squeezed, 1), act(), nn.Conv2d(squeezed, c, 1), gate()

    def forward(self, x):
        return x * self.gate(self.fc2(self.act(self.fc1(self.pool(x)))))


class MobileV3Block(nn.Module):
    def __init__(self, c_in, hidden, c_out, kernel, stride, squeeze, act):
        super().__init__()
        layers = [conv_bn(c_in, hidden, 1, act=act), conv_bn(hidden, hidden, kernel, stride, kernel // 2, groups=hidden, act=act)]
        layers += [SqueezeExcite(hidden, hidden // 4, nn.Hardsigmoid)] if squeeze else []
        self.block, self.adds = nn.Sequential(*layers, conv_bn(hidden, c_out, 1, act=None)), stride == 1 and c_in == c_out

    def forward(self, x):
        return x + self.block(x) if self.adds else self.block(x)


class MobileNetV3(nn.Module):
    """The small one's kinds of blocks: ReLU first, hard swish later, squeeze-and-excitation in most."""

    def __init__(self, classes=10):
        super().__init__()
        layers = [conv_bn(3, 8, 3, 2, 1, act=nn.Hardswish)]
        c = 8
        for kernel, hidden, width, squeeze, act, stride in ((3, 8, 8, True, nn.ReLU, 2), (3, 24, 12, False, nn.ReLU, 1), (5, 32, 12, True, nn.Hardswish, 1),
                                                            (5, 48, 16, True, nn.Hardswish, 2)):
            layers.append(MobileV3Block(c, hidden, width, kernel, stride, squeeze, act))
            c = width
        self.features = nn.Sequential(*layers, conv_bn(c, 48, 1, act=nn.Hardswish))
        self.classifier = nn.Sequential(nn.Linear(48, 32), nn.Hardswish(), nn.Dropout(0.0), nn.Linear(32, classes))

    def forward(self, x):
        return self.classifier(F.adaptive_avg_pool2d(self.features(x), 1).flatten(1))


class MBConv(nn.Module):
    def __init__(self, c_in, c_out, expand, kernel, stride):
        super().__init__()
        hidden = c_in * expand
        layers = [conv_bn(c_in, hidden, 1, act=nn.SiLU)] if expand != 1 else []
        self.block = nn.Sequential(*layers, conv_bn(hidden, hidden, kernel, stride, kernel // 2, groups=hidden, act=nn.SiLU),
                                   SqueezeExcite(hidden, max(1, c_in // 4), nn.Sigmoid, nn.SiLU), conv_bn(hidden, c_out, 1, act=None))
        self.adds = stride == 1 and c_in == c_out

    def forward(self, x, kept):
        y = self.block(x)
        return x + y * kept if self.adds else y


class EfficientNet(nn.Module):
    """Stochastic depth drops the residual branches of samples: which ones is an input, so that numbers can be compared."""

    def __init__(self, classes=10, survival=0.5):
        super().__init__()
        self.stem, self.survival, c = conv_bn(3, 8, 3, 2, 1, act=nn.SiLU), survival, 8
        self.blocks = nn.ModuleList()
        for expand, width, depth, stride, kernel in ((1, 8, 1, 1, 3), (6, 12, 2, 2, 3), (6, 16, 2, 2, 5)):
            for index in range(depth):
                self.blocks.append(MBConv(c, width, expand, kernel, stride if index == 0 else 1))
                c = width
        self.head, self.dropout, self.classifier = conv_bn(c, 64, 1, act=nn.SiLU), nn.Dropout(0.0), nn.Linear(64, classes)

    def forward(self, x, survives):
        kept = survives.to(x.dtype) / self.survival
        x = self.stem(x)
        for index, block in enumerate(self.blocks):
            x = block(x, kept[:, index].view(-1, 1, 1, 1))
        return self.classifier(self.dropout(F.adaptive_avg_pool2d(self.head(x), 1).flatten(1)))


class ChannelsFirstNorm(nn.LayerNorm):
    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ConvNeXtBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.dwconv, self.norm = nn.Conv2d(width, width, 7, padding=3, groups=width), nn.LayerNorm(width, eps=1e-6)
        self.pwconv1, self.act, self.pwconv2 = nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        self.gamma = nn.Parameter(1e-6 * torch.ones(width))

    def forward(self, x):
        y = self.norm(self.dwconv(x).permute(0, 2, 3, 1))
        y = self.gamma * self.pwconv2(self.act(self.pwconv1(y)))
        return x + y.permute(0, 3, 1, 2)


class ConvNeXt(nn.Module):
    def __init__(self, classes=10, widths=(12, 24)):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, widths[0], 4, 4), ChannelsFirstNorm(widths[0], eps=1e-6))
        self.stage1 = nn.Sequential(*(ConvNeXtBlock(widths[0]) for _ in range(2)))
        self.down = nn.Sequential(ChannelsFirstNorm(widths[0], eps=1e-6), nn.Conv2d(*widths, 2, 2))
        self.stage2 = nn.Sequential(*(ConvNeXtBlock(widths[1]) for _ in range(2)))
        self.norm, self.head = nn.LayerNorm(widths[1], eps=1e-6), nn.Linear(widths[1], classes)

    def forward(self, x):
        x = self.stage2(self.down(self.stage1(self.stem(x))))
        return self.head(self.norm(x.mean([-2, -1])))


class MixerBlock(nn.Module):
    def __init__(self, tokens, width):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.tokens = nn.Sequential(nn.Linear(tokens, 2 * tokens), nn.GELU(), nn.Linear(2 * tokens, tokens))
        self.channels = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.norm2(x))


class Mixer(nn.Module):
    def __init__(self, image=16, patch=4, width=16, classes=10):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.blocks = nn.Sequential(*(MixerBlock((image // patch) ** 2, width) for _ in range(2)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        return self.head(self.norm(self.blocks(x)).mean(1))


def shuffle(x, groups=2):
    n, c, h, w = x.shape
    return x.view(n, groups, c // groups, h, w).transpose(1, 2).reshape(n, c, h, w)


class ShuffleUnit(nn.Module):
    """Half of the channels pass as they are, unless the unit halves the image."""

    def __init__(self, c_in, c_out, stride):
        super().__init__()
        half, self.stride = c_out // 2, stride
        c = c_in if stride == 2 else half
        self.short = nn.Sequential(conv_bn(c, c, 3, 2, 1, groups=c, act=None), conv_bn(c, half, 1, act=nn.ReLU)) if stride == 2 else None
        self.main = nn.Sequential(conv_bn(c, half, 1, act=nn.ReLU), conv_bn(half, half, 3, stride, 1, groups=half, act=None), conv_bn(half, half, 1, act=nn.ReLU))

    def forward(self, x):
        if self.stride == 2:
            return shuffle(torch.cat([self.short(x), self.main(x)], 1))
        kept, changed = x.chunk(2, dim=1)
        return shuffle(torch.cat([kept, self.main(changed)], 1))


class ShuffleNetV2(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.stem = nn.Sequential(conv_bn(3, 8, 3, 2, 1, act=nn.ReLU), nn.MaxPool2d(3, 2, 1))
        self.stages = nn.Sequential(ShuffleUnit(8, 16, 2), ShuffleUnit(16, 16, 1), ShuffleUnit(16, 32, 2), ShuffleUnit(32, 32, 1))
        self.last, self.fc = conv_bn(32, 48, 1, act=nn.ReLU), nn.Linear(48, classes)

    def forward(self, x):
        return self.fc(self.last(self.stages(self.stem(x))).mean([2, 3]))


class GroupedBottleneck(nn.Module):
    """ResNeXt's: the middle convolution has groups; RegNet's Y: with squeeze-and-excitation after it; SE-ResNet's: at the end of the branch."""

    def __init__(self, c_in, width, c_out, stride, groups, squeeze=None):
        super().__init__()
        layers = [conv_bn(c_in, width, 1, act=nn.ReLU), conv_bn(width, width, 3, stride, 1, groups=groups, act=nn.ReLU)]
        layers += [SqueezeExcite(width, c_in // 4, nn.Sigmoid)] if squeeze == "middle" else []
        layers += [conv_bn(width, c_out, 1, act=None)]
        layers += [SqueezeExcite(c_out, c_out // 4, nn.Sigmoid)] if squeeze == "end" else []
        self.branch = nn.Sequential(*layers)
        self.short = conv_bn(c_in, c_out, 1, stride, act=None) if stride != 1 or c_in != c_out else nn.Identity()

    def forward(self, x):
        return F.relu(self.branch(x) + self.short(x))


class GroupedResNet(nn.Module):
    def __init__(self, groups, squeeze=None, classes=10):
        super().__init__()
        self.stem = conv_bn(3, 8, 3, 2, 1, act=nn.ReLU)
        self.stages = nn.Sequential(GroupedBottleneck(8, 16, 16, 1, groups, squeeze), GroupedBottleneck(16, 16, 16, 1, groups, squeeze),
                                    GroupedBottleneck(16, 32, 32, 2, groups, squeeze), GroupedBottleneck(32, 32, 32, 1, groups, squeeze))
        self.fc = nn.Linear(32, classes)

    def forward(self, x):
        return self.fc(F.adaptive_avg_pool2d(self.stages(self.stem(x)), 1).flatten(1))


def resnext():
    return GroupedResNet(groups=4)


def regnet():
    return GroupedResNet(groups=2, squeeze="middle")


def senet():
    return GroupedResNet(groups=1, squeeze="end")
