"""The networks that the runtime is timed on, in torch.nn: their true structure, weights as PyTorch initializes them."""
import torch
from torch import nn
import torch.nn.functional as F


def lenet5():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


def vgg16(classes=10):
    layers, channels = [], 3
    for width, count in [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]:
        for _ in range(count):
            layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU()]
            channels = width
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
                         nn.Linear(512, classes))


def conv_norm(inputs, outputs, kernel, stride=1, groups=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(outputs))


class Residual(nn.Module):
    def __init__(self, body, shortcut):
        super().__init__()
        self.body, self.shortcut = body, shortcut

    def forward(self, x):
        return F.relu(self.body(x) + (self.shortcut(x) if self.shortcut is not None else x))


def basic_block(inputs, width, stride):
    body = nn.Sequential(conv_norm(inputs, width, 3, stride), nn.ReLU(), conv_norm(width, width, 3))
    return Residual(body, conv_norm(inputs, width, 1, stride) if stride != 1 or inputs != width else None)


def bottleneck(inputs, width, stride):
    body = nn.Sequential(conv_norm(inputs, width, 1), nn.ReLU(), conv_norm(width, width, 3, stride), nn.ReLU(), conv_norm(width, 4 * width, 1))
    return Residual(body, conv_norm(inputs, 4 * width, 1, stride) if stride != 1 or inputs != 4 * width else None)


def resnet18(classes=10, channels=3):
    """The one for small images: a 3x3 stem without pooling."""
    layers, inputs = [conv_norm(channels, 64, 3), nn.ReLU()], 64
    for width, stride in [(64, 1), (128, 2), (256, 2), (512, 2)]:
        for block in range(2):
            layers.append(basic_block(inputs, width, stride if block == 0 else 1))
            inputs = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, classes))


def resnet50(classes=1000):
    layers, inputs = [conv_norm(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
    for width, count, stride in [(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)]:
        for block in range(count):
            layers.append(bottleneck(inputs, width, stride if block == 0 else 1))
            inputs = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, classes))


class Inverted(nn.Module):
    def __init__(self, inputs, outputs, stride, expand):
        super().__init__()
        hidden = inputs * expand
        layers = [] if expand == 1 else [conv_norm(inputs, hidden, 1), nn.ReLU6()]
        self.body = nn.Sequential(*layers, conv_norm(hidden, hidden, 3, stride, hidden), nn.ReLU6(), conv_norm(hidden, outputs, 1))
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.body(x) if self.adds else self.body(x)


def mobilenet_v2(classes=1000):
    layers, inputs = [conv_norm(3, 32, 3, 2), nn.ReLU6()], 32
    for expand, width, count, stride in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]:
        for block in range(count):
            layers.append(Inverted(inputs, width, stride if block == 0 else 1, expand))
            inputs = width
    return nn.Sequential(*layers, conv_norm(320, 1280, 1), nn.ReLU6(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, classes))


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x):
        n, s, width = x.shape
        split = lambda t: t.reshape(n, s, self.heads, width // self.heads).transpose(1, 2)
        q, k, v = split(self.query(x)), split(self.key(x)), split(self.value(x))
        weights = torch.softmax(q @ k.transpose(-2, -1) * (width // self.heads) ** -0.5, -1)
        return self.out((weights @ v).transpose(1, 2).reshape(n, s, width))


class Encoder(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention, self.norm1, self.norm2 = Attention(width, heads), nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.down(F.gelu(self.up(x))))


class BertMini(nn.Module):
    """BERT's structure at the size that its authors call mini: 4 layers, 256 wide, 4 heads."""

    def __init__(self, vocabulary=30522, width=256, layers=4, heads=4, length=128, classes=2):
        super().__init__()
        self.words, self.positions = nn.Embedding(vocabulary, width), nn.Parameter(torch.randn(length, width) * 0.02)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.Sequential(*(Encoder(width, heads) for _ in range(layers)))
        self.pooler, self.head = nn.Linear(width, width), nn.Linear(width, classes)

    def forward(self, tokens):
        x = self.layers(self.norm(self.words(tokens) + self.positions))
        return self.head(torch.tanh(self.pooler(x[:, 0])))


class LstmClassifier(nn.Module):
    """Reads an image row by row."""

    def __init__(self, inputs=28, hidden=128, classes=10):
        super().__init__()
        self.lstm, self.head = nn.LSTM(inputs, hidden, batch_first=True), nn.Linear(hidden, classes)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


def image(*shape):
    return lambda batch: torch.rand(batch, *shape)


# name -> (module, batch, inputs, classes)
NETWORKS = {
    "lenet5": (lenet5, 32, image(1, 28, 28), 10),
    "vgg16": (vgg16, 32, image(3, 32, 32), 10),
    "resnet18": (resnet18, 32, image(3, 32, 32), 10),
    "resnet50": (resnet50, 4, image(3, 224, 224), 1000),
    "mobilenet_v2": (mobilenet_v2, 8, image(3, 224, 224), 1000),
    "bert_mini": (BertMini, 8, lambda batch: torch.randint(0, 30522, (batch, 128)), 2),
    "lstm": (LstmClassifier, 32, image(28, 28), 10),
}


def export_module(module, example, path, opset=17):
    """The module as PyTorch exports it for training, its batch a named dimension."""
    torch.onnx.export(module, (example,), path, training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False,
                      opset_version=opset, dynamo=False, input_names=["x"], output_names=["y"], dynamic_axes={"x": {0: "N"}, "y": {0: "N"}})


def export(name, path, opset=17):
    make, batch, inputs, _ = NETWORKS[name]
    torch.manual_seed(0)
    export_module(make(), inputs(batch), path, opset)
