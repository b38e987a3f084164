"""Networks that see images, in torch.nn alone: the structures of the papers (and of torchvision), for small images."""
import torch
from torch import nn
from torch.nn import functional as F


class LeNet5(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
        self.pool = nn.AvgPool2d(2)
        self.fc1, self.fc2, self.fc3 = nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, classes)

    def forward(self, x):
        x = self.pool(torch.tanh(self.conv1(x)))
        x = self.pool(torch.tanh(self.conv2(x)))
        x = torch.tanh(self.fc1(torch.flatten(x, 1)))
        return self.fc3(torch.tanh(self.fc2(x)))


class Vgg16(nn.Module):
    def __init__(self, classes=10, head=512):
        super().__init__()
        layers, c = [], 3
        for width in (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0):
            layers += [nn.MaxPool2d(2)] if width == 0 else [nn.Conv2d(c, width, 3, padding=1), nn.ReLU(inplace=True)]
            c = width or c
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Linear(512, head), nn.ReLU(True), nn.Dropout(0.0), nn.Linear(head, head), nn.ReLU(True),
                                        nn.Dropout(0.0), nn.Linear(head, classes))

    def forward(self, x):
        return self.classifier(torch.flatten(F.adaptive_avg_pool2d(self.features(x), 1), 1))


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, c_in, width, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(c_in, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        self.downsample = None
        if stride != 1 or c_in != width:
            self.downsample = nn.Sequential(nn.Conv2d(c_in, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = self.bn2(self.conv2(y))
        y += x if self.downsample is None else self.downsample(x)
        return F.relu(y, inplace=True)


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, c_in, width, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(c_in, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width)
        self.downsample = None
        if stride != 1 or c_in != 4 * width:
            self.downsample = nn.Sequential(nn.Conv2d(c_in, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = F.relu(self.bn2(self.conv2(y)), inplace=True)
        y = self.bn3(self.conv3(y))
        y += x if self.downsample is None else self.downsample(x)
        return F.relu(y, inplace=True)


class ResNet(nn.Module):
    def __init__(self, block, depths, classes=10):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        c, stages = 64, []
        for stage, depth in enumerate(depths):
            width, blocks = 64 << stage, []
            for index in range(depth):
                blocks.append(block(c, width, 2 if stage > 0 and index == 0 else 1))
                c = width * block.expansion
            stages.append(nn.Sequential(*blocks))
        self.layer1, self.layer2, self.layer3, self.layer4 = stages
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(c, classes)

    def forward(self, x):
        x = self.maxpool(F.relu(self.bn1(self.conv1(x)), inplace=True))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


def resnet18():
    return ResNet(BasicBlock, (2, 2, 2, 2))


def resnet50():
    return ResNet(Bottleneck, (3, 4, 6, 3))


def conv_bn(c_in, c_out, kernel, stride=1, padding=0, groups=1, act=nn.ReLU6, eps=1e-5):
    layers = [nn.Conv2d(c_in, c_out, kernel, stride, padding, groups=groups, bias=False), nn.BatchNorm2d(c_out, eps=eps)]
    return nn.Sequential(*layers, *([act(inplace=True)] if act else []))


class InvertedResidual(nn.Module):
    def __init__(self, c_in, c_out, stride, expand):
        super().__init__()
        hidden = c_in * expand
        layers = [conv_bn(c_in, hidden, 1)] if expand != 1 else []
        layers += [conv_bn(hidden, hidden, 3, stride, 1, groups=hidden), conv_bn(hidden, c_out, 1, act=None)]
        self.conv, self.adds = nn.Sequential(*layers), stride == 1 and c_in == c_out

    def forward(self, x):
        return x + self.conv(x) if self.adds else self.conv(x)


class MobileNetV2(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        layers, c = [conv_bn(3, 32, 3, 2, 1)], 32
        for expand, width, depth, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
            for index in range(depth):
                layers.append(InvertedResidual(c, width, stride if index == 0 else 1, expand))
                c = width
        self.features = nn.Sequential(*layers, conv_bn(320, 1280, 1))
        self.classifier = nn.Sequential(nn.Dropout(0.0), nn.Linear(1280, classes))

    def forward(self, x):
        return self.classifier(self.features(x).mean([2, 3]))


class Fire(nn.Module):
    def __init__(self, c_in, squeeze, expand):
        super().__init__()
        self.squeeze = nn.Conv2d(c_in, squeeze, 1)
        self.expand1x1, self.expand3x3 = nn.Conv2d(squeeze, expand, 1), nn.Conv2d(squeeze, expand, 3, padding=1)

    def forward(self, x):
        x = F.relu(self.squeeze(x), inplace=True)
        return torch.cat([F.relu(self.expand1x1(x)), F.relu(self.expand3x3(x))], 1)


class SqueezeNet(nn.Module):
    """SqueezeNet 1.1."""

    def __init__(self, classes=10):
        super().__init__()
        def pool():
            return nn.MaxPool2d(3, 2, ceil_mode=True)
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, 3, 2), nn.ReLU(inplace=True), pool(), Fire(64, 16, 64), Fire(128, 16, 64), pool(), Fire(128, 32, 128),
            Fire(256, 32, 128), pool(), Fire(256, 48, 192), Fire(384, 48, 192), Fire(384, 64, 256), Fire(512, 64, 256))
        self.classifier = nn.Sequential(nn.Dropout(0.0), nn.Conv2d(512, classes, 1), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d((1, 1)))

    def forward(self, x):
        return torch.flatten(self.classifier(self.features(x)), 1)


def inception_conv(c_in, c_out, kernel, stride=1, padding=0):
    return conv_bn(c_in, c_out, kernel, stride, padding, act=nn.ReLU, eps=1e-3)


class Branches(nn.Module):
    """Branches side by side, joined along the channels."""

    def __init__(self, *branches):
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.branches], 1)


def inception_a(c, pooled):
    return Branches(inception_conv(c, 64, 1), nn.Sequential(inception_conv(c, 48, 1), inception_conv(48, 64, 5, padding=2)),
                    nn.Sequential(inception_conv(c, 64, 1), inception_conv(64, 96, 3, padding=1), inception_conv(96, 96, 3, padding=1)),
                    nn.Sequential(nn.AvgPool2d(3, 1, 1), inception_conv(c, pooled, 1)))


def inception_b(c):
    return Branches(inception_conv(c, 384, 3, 2),
                    nn.Sequential(inception_conv(c, 64, 1), inception_conv(64, 96, 3, padding=1), inception_conv(96, 96, 3, 2)), nn.MaxPool2d(3, 2))


def inception_c(c, w):
    row, column = {"kernel": (1, 7), "padding": (0, 3)}, {"kernel": (7, 1), "padding": (3, 0)}
    return Branches(inception_conv(c, 192, 1),
                    nn.Sequential(inception_conv(c, w, 1), inception_conv(w, w, **row), inception_conv(w, 192, **column)),
                    nn.Sequential(inception_conv(c, w, 1), inception_conv(w, w, **column), inception_conv(w, w, **row),
                                  inception_conv(w, w, **column), inception_conv(w, 192, **row)),
                    nn.Sequential(nn.AvgPool2d(3, 1, 1), inception_conv(c, 192, 1)))


def inception_d(c):
    return Branches(nn.Sequential(inception_conv(c, 192, 1), inception_conv(192, 320, 3, 2)),
                    nn.Sequential(inception_conv(c, 192, 1), inception_conv(192, 192, (1, 7), padding=(0, 3)),
                                  inception_conv(192, 192, (7, 1), padding=(3, 0)), inception_conv(192, 192, 3, 2)), nn.MaxPool2d(3, 2))


def inception_e(c):
    def halves():
        return Branches(inception_conv(384, 384, (1, 3), padding=(0, 1)), inception_conv(384, 384, (3, 1), padding=(1, 0)))
    return Branches(inception_conv(c, 320, 1), nn.Sequential(inception_conv(c, 384, 1), halves()),
                    nn.Sequential(inception_conv(c, 448, 1), inception_conv(448, 384, 3, padding=1), halves()),
                    nn.Sequential(nn.AvgPool2d(3, 1, 1), inception_conv(c, 192, 1)))


class InceptionV3(nn.Module):
    """Without the auxiliary head, whose pooling needs images of 299."""

    def __init__(self, classes=10):
        super().__init__()
        self.stem = nn.Sequential(inception_conv(3, 32, 3, 2), inception_conv(32, 32, 3), inception_conv(32, 64, 3, padding=1), nn.MaxPool2d(3, 2),
                                  inception_conv(64, 80, 1), inception_conv(80, 192, 3), nn.MaxPool2d(3, 2))
        self.mixed = nn.Sequential(inception_a(192, 32), inception_a(256, 64), inception_a(288, 64), inception_b(288), inception_c(768, 128),
                                   inception_c(768, 160), inception_c(768, 160), inception_c(768, 192), inception_d(768), inception_e(1280),
                                   inception_e(2048))
        self.dropout, self.fc = nn.Dropout(0.0), nn.Linear(2048, classes)

    def forward(self, x):
        x = F.adaptive_avg_pool2d(self.mixed(self.stem(x)), (1, 1))
        return self.fc(torch.flatten(self.dropout(x), 1))


class DenseLayer(nn.Module):
    def __init__(self, c, growth):
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(c), nn.Conv2d(c, 4 * growth, 1, bias=False)
        self.norm2, self.conv2 = nn.BatchNorm2d(4 * growth), nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, features):
        y = self.conv1(F.relu(self.norm1(torch.cat(features, 1)), inplace=True))
        return self.conv2(F.relu(self.norm2(y), inplace=True))


class DenseNet121(nn.Module):
    def __init__(self, classes=10, growth=32):
        super().__init__()
        self.conv0, self.norm0 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        self.blocks, self.transitions, c = nn.ModuleList(), nn.ModuleList(), 64
        for depth in (6, 12, 24, 16):
            self.blocks.append(nn.ModuleList(DenseLayer(c + index * growth, growth) for index in range(depth)))
            c += depth * growth
            if depth != 16:
                self.transitions.append(nn.Sequential(nn.BatchNorm2d(c), nn.ReLU(True), nn.Conv2d(c, c // 2, 1, bias=False), nn.AvgPool2d(2, 2)))
                c //= 2
        self.norm5, self.classifier = nn.BatchNorm2d(c), nn.Linear(c, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm0(self.conv0(x)), inplace=True), 3, 2, 1)
        for index, block in enumerate(self.blocks):
            features = [x]
            for layer in block:
                features.append(layer(features))
            x = torch.cat(features, 1)
            if index < len(self.transitions):
                x = self.transitions[index](x)
        x = F.adaptive_avg_pool2d(F.relu(self.norm5(x), inplace=True), (1, 1))
        return self.classifier(torch.flatten(x, 1))


def double_conv(c_in, c_out):
    return nn.Sequential(conv_bn(c_in, c_out, 3, padding=1, act=nn.ReLU), conv_bn(c_out, c_out, 3, padding=1, act=nn.ReLU))


class UNet(nn.Module):
    """Two levels go up by a transposed convolution, one by bilinear and one by nearest resizing; an odd image is padded at the joints."""

    def __init__(self, classes=3, width=12):
        super().__init__()
        w = [width << level for level in range(5)]
        self.down = nn.ModuleList([double_conv(3, w[0])] + [double_conv(w[level], w[level + 1]) for level in range(4)])
        self.up4, self.up3 = nn.ConvTranspose2d(w[4], w[3], 2, 2), nn.ConvTranspose2d(w[3], w[2], 3, 2, 1, output_padding=1)
        self.up2 = nn.Sequential(nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), nn.Conv2d(w[2], w[1], 1))
        self.up1 = nn.Sequential(nn.Upsample(scale_factor=2, mode="nearest"), nn.Conv2d(w[1], w[0], 1))
        self.join = nn.ModuleList(double_conv(2 * w[level], w[level]) for level in range(4))
        self.head = nn.Conv2d(w[0], classes, 1)

    def merge(self, level, skip, x):
        dy, dx = skip.shape[2] - x.shape[2], skip.shape[3] - x.shape[3]
        if dy or dx:
            x = F.pad(x, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
        return self.join[level](torch.cat([skip, x], 1))

    def forward(self, x):
        skips = []
        for level, block in enumerate(self.down):
            x = block(x if level == 0 else F.max_pool2d(x, 2))
            skips.append(x)
        for level, up in ((3, self.up4), (2, self.up3), (1, self.up2), (0, self.up1)):
            x = self.merge(level, skips[level], up(x))
        return self.head(x)
