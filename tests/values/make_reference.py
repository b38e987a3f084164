#!/usr/bin/env python3
"""Writes the networks and expected values of values_test.cc: NAME.onnx (structure alone) and NAME.json, for five networks.

    python3 make_reference.py [NAME ...]      needs torch, numpy, onnx

Weights and batches come from a counter-based generator that both sides have (README.md), so that the files stay small. PyTorch computes in
float64 on the float32 values of the generator. Kept per tensor: L2 norm, largest magnitude, and 64 entries at (i * count) // 64.
"""
import json
import math
import os
import sys

import numpy as np
import onnx
import torch
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLES = 64


def philox(counter, key):
    """Philox4x32-10 on arrays: counter [n, 4], key (2) -> [n, 4], uint32."""
    c = [counter[:, word].astype(np.uint64) for word in range(4)]
    k0, k1 = np.uint64(key[0]), np.uint64(key[1])
    mask, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(p1 >> shift) ^ c[1] ^ k0, p1 & mask, (p0 >> shift) ^ c[3] ^ k1, p0 & mask]
        k0, k1 = (k0 + np.uint64(0x9E3779B9)) & mask, (k1 + np.uint64(0xBB67AE85)) & mask
    return np.stack(c, 1).astype(np.uint32)


def words(stream, count):
    """The first `count` words of a stream: word e is lane e % 4 of Philox(counter = (e / 4, 0, 0, 0), key = (stream, 1))."""
    groups = (count + 3) // 4
    counter = np.zeros((groups, 4), np.uint32)
    counter[:, 0] = np.arange(groups)
    return philox(counter, (stream, 1)).reshape(-1)[:count]


def uniform(stream, count, scale, shift):
    """float32(shift + scale * u), u = (word >> 8) / 2^23 - 1, in double before the one rounding."""
    u = (words(stream, count) >> np.uint32(8)).astype(np.float64) / 8388608.0 - 1.0
    return (shift + scale * u).astype(np.float32)


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.conv2, self.conv3 = nn.Conv2d(8, 12, 3, stride=2, padding=1, groups=2), nn.Conv2d(12, 16, 3, padding=2, dilation=2)
        self.act, self.pool, self.fc = nn.LeakyReLU(0.1), nn.AvgPool2d(3, stride=2, padding=1), nn.Linear(16 * 4 * 4, 10)

    def forward(self, x):
        x = torch.max_pool2d(torch.relu(self.bn1(self.conv1(x))), 2)
        x = self.pool(torch.sigmoid(self.conv3(self.act(self.conv2(x)))))
        return self.fc(torch.flatten(x, 1))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(64, 48), nn.Linear(48, 32), nn.Linear(32, 10)

    def forward(self, x):
        return self.fc3(torch.tanh(self.fc2(torch.relu(self.fc1(x)))))


class Block(nn.Module):
    def __init__(self, c_in, c_out, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(c_in, c_out, 3, stride, 1, bias=False), nn.BatchNorm2d(c_out)
        self.conv2, self.bn2 = nn.Conv2d(c_out, c_out, 3, 1, 1, bias=False), nn.BatchNorm2d(c_out)
        self.down = nn.Sequential(nn.Conv2d(c_in, c_out, 1, stride, bias=False), nn.BatchNorm2d(c_out)) if stride != 1 or c_in != c_out else None

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + (self.down(x) if self.down is not None else x))


class ResNet18(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64)
        widths, blocks, c = (64, 128, 256, 512), [], 64
        for stage, width in enumerate(widths):
            blocks += [Block(c, width, 1 if stage == 0 else 2), Block(width, width, 1)]
            c = width
        self.blocks, self.fc = nn.Sequential(*blocks), nn.Linear(512, 10)

    def forward(self, x):
        x = self.blocks(torch.relu(self.bn1(self.conv1(x))))
        return self.fc(torch.flatten(nn.functional.adaptive_avg_pool2d(x, 1), 1))


class Vgg16(nn.Module):
    def __init__(self):
        super().__init__()
        layers, c = [], 3
        for width in (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0):
            layers += [nn.MaxPool2d(2)] if width == 0 else [nn.Conv2d(c, width, 3, padding=1), nn.ReLU()]
            c = width or c
        self.features, self.head = nn.Sequential(*layers), nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))

    def forward(self, x):
        return self.head(torch.flatten(self.features(x), 1))


class Encoder(nn.Module):
    def __init__(self, width=32, heads=4):
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        n, s, d = x.shape
        y = self.ln1(x)
        q, k, v = (f(y).reshape(n, s, self.heads, d // self.heads).permute(0, 2, 1, 3) for f in (self.q, self.k, self.v))
        p = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(d // self.heads), -1)
        x = x + self.o((p @ v).permute(0, 2, 1, 3).reshape(n, s, d))
        return x + self.down(nn.functional.gelu(self.up(self.ln2(x))))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks, self.norm, self.head = nn.Sequential(Encoder(), Encoder()), nn.LayerNorm(32), nn.Linear(32, 10)

    def forward(self, x):
        return self.head(self.norm(self.blocks(x)).mean(1))


NETWORKS = {"cnn": (Cnn, (4, 3, 28, 28)), "mlp": (Mlp, (8, 64)), "resnet18": (ResNet18, (4, 3, 32, 32)), "vgg16": (Vgg16, (4, 3, 32, 32)),
            "transformer": (Transformer, (2, 16, 32))}


def scale_of(name, tensor):
    """(scale, shift) of a parameter: biases small, normalization weights about 1, others as He et al. have them."""
    if name.endswith("running_var"):
        return 0.1, 1.0
    if name.endswith("bias") or name.endswith("running_mean"):
        return 0.1, 0.0
    if tensor.dim() == 1:
        return 0.2, 1.0
    return math.sqrt(6.0 / (tensor[0].numel())), 0.0


def digest(tensor):
    flat = tensor.detach().double().reshape(-1)
    picks = [index * flat.numel() // SAMPLES for index in range(SAMPLES)] if flat.numel() > SAMPLES else list(range(flat.numel()))
    return {"norm": flat.norm().item(), "max": flat.abs().max().item(), "entries": [float(f"{flat[i].item():.12g}") for i in picks]}


def strip(path, keep):
    """Float initializers become external data in weights.bin, one after the other; returns [(name, offset)]."""
    model = onnx.load(path)
    offset, placed = 0, []
    for tensor in model.graph.initializer:
        if tensor.name not in keep:
            continue
        count = int(np.prod(tensor.dims))
        for field in ("raw_data", "float_data"):
            tensor.ClearField(field)
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", "weights.bin"), ("offset", str(offset)), ("length", str(4 * count))):
            entry = tensor.external_data.add()
            entry.key, entry.value = key, value
        placed.append((tensor.name, offset))
        offset += 4 * count
    onnx.save(model, path)
    return placed


def smooth_batch(model, state, shape):
    """The first stream whose batch lies away from the kinks of ReLU and max pooling: gradients in float64 stay within a quarter of the tests'
    bound when every weight is moved by about a rounding of float32, eight times over. (A single sign that rounding flips moves gradients by
    more than any rounding does, in every implementation.)"""
    model.double()
    for stream in range(1000, 2000, 2):
        x = torch.from_numpy(uniform(stream, int(np.prod(shape)), 1.0, 0.0)).reshape(shape).double()
        labels = torch.from_numpy((words(stream + 1, shape[0]) % 10).astype(np.int64))
        draw, exact, smooth = torch.Generator().manual_seed(stream), None, True
        for moved in range(9):
            model.load_state_dict(state)
            with torch.no_grad():
                for parameter in model.parameters():
                    if moved:
                        parameter.mul_(1 + 3e-7 * torch.randn(parameter.shape, generator=draw, dtype=torch.float64))
            model.zero_grad()
            nn.functional.cross_entropy(model(x), labels).backward()
            found = [parameter.grad.clone() for parameter in model.parameters()]
            exact = exact or found
            largest = max(gradient.abs().max().item() for gradient in exact)
            smooth = all((a - b).abs().max().item() <= 0.25e-4 * max(b.abs().max().item(), 1e-3 * largest) for a, b in zip(found, exact))
            if not smooth:
                break
        if smooth:
            model.load_state_dict(state)
            return stream
    raise SystemExit("no smooth batch found")


def make(name):
    kind, shape = NETWORKS[name]
    torch.manual_seed(0)
    model = kind()
    path = os.path.join(HERE, name + ".onnx")
    model.train()
    torch.onnx.export(model, (torch.zeros(shape),), path, training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, opset_version=17,
                      input_names=["x"], output_names=["logits"], dynamo=False)
    state = {key: value for key, value in model.state_dict().items() if value.dtype == torch.float32}
    placed = dict(strip(path, set(state)))
    tensors = []
    for stream, (key, value) in enumerate(state.items(), start=1):
        scale, shift = scale_of(key, value)
        value.copy_(torch.from_numpy(uniform(stream, value.numel(), scale, shift)).reshape(value.shape))
        if key in placed:
            tensors.append({"name": key, "stream": stream, "offset": placed[key], "count": value.numel(), "scale": scale, "shift": shift})
    stream = smooth_batch(model, {key: value.clone() for key, value in model.state_dict().items()}, shape)
    x = torch.from_numpy(uniform(stream, int(np.prod(shape)), 1.0, 0.0)).reshape(shape).double()
    labels = torch.from_numpy((words(stream + 1, shape[0]) % 10).astype(np.int64))
    answer = {"network": name, "shape": list(shape), "tensors": tensors, "x_stream": stream, "label_stream": stream + 1, "classes": 10}
    model.double()
    model.zero_grad()
    start = {key: value.clone() for key, value in model.state_dict().items()}
    loss = nn.functional.cross_entropy(model(x), labels)
    loss.backward()
    answer["loss"] = loss.item()
    answer["gradients"] = {key: digest(parameter.grad) for key, parameter in model.named_parameters()}
    runs = {"sgd": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9, weight_decay=1e-4), "adam": lambda p: torch.optim.Adam(p, lr=1e-3)}
    for run, optimizer_of in runs.items():
        model.load_state_dict(start)
        optimizer = optimizer_of(model.parameters())
        for _ in range(5):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), labels).backward()
            optimizer.step()
        answer[run] = {key: digest(parameter) for key, parameter in model.named_parameters()}
    with open(os.path.join(HERE, name + ".json"), "w") as file:
        json.dump(answer, file, separators=(",", ":"))
        file.write("\n")
    print(name, "loss", answer["loss"], len(tensors), "tensors", flush=True)


if __name__ == "__main__":
    for each in sys.argv[1:] or NETWORKS:
        make(each)
