#!/usr/bin/env python3
"""Writes the recurrent networks and expected values of recurrent_test.cc: NAME.onnx (structure alone) and NAME.json.

    python3 recurrent.py [NAME ...]      needs torch, numpy, onnx

Weights and data come from the generator of make_reference.py. PyTorch computes in float64. Kept: the loss of each of ten steps of SGD, and the L2
norm of every parameter after them.
"""
import json
import os
import sys

import torch
from torch import nn

from make_reference import HERE, scale_of, strip, uniform, words

STEPS, LR, MOMENTUM = 10, 0.1, 0.9


class Classifier(nn.Module):
    """The scores of a sequence from the last time step of its recurrent layers."""

    def __init__(self, recurrent, classes=10):
        super().__init__()
        self.rnn = recurrent
        self.head = nn.Linear(recurrent.hidden_size * (2 if recurrent.bidirectional else 1), classes)

    def forward(self, x):
        return self.head(self.rnn(x)[0][:, -1])


class Attention(nn.Module):
    """Location-sensitive attention (Chorowski et al., 2015) over a memory."""

    def __init__(self, query, memory, width, filters=4, kernel=5):
        super().__init__()
        self.query, self.memory = nn.Linear(query, width, bias=False), nn.Linear(memory, width, bias=False)
        self.score = nn.Linear(width, 1, bias=False)
        self.location = nn.Conv1d(2, filters, kernel, padding=kernel // 2, bias=False)
        self.location_dense = nn.Linear(filters, width, bias=False)

    def forward(self, query, memory, keys, weights, summed):
        located = self.location_dense(self.location(torch.stack([weights, summed], 1)).transpose(1, 2))
        scores = self.score(torch.tanh(self.query(query).unsqueeze(1) + keys + located)).squeeze(2)
        weights = torch.softmax(scores, 1)
        return torch.bmm(weights.unsqueeze(1), memory).squeeze(1), weights


class Tacotron2(nn.Module):
    """Three steps of the decoder of Tacotron 2 (Shen et al., 2018) with teacher forcing, and its postnet, all small. The gate is one more row of
    the spectrogram that it predicts."""

    def __init__(self, mels=10, prenet=12, memory=16, attention=20, decoder=24, width=14, channels=18):
        super().__init__()
        self.prenet = nn.Sequential(nn.Linear(mels, prenet), nn.ReLU(), nn.Dropout(0.0), nn.Linear(prenet, prenet), nn.ReLU(), nn.Dropout(0.0))
        self.attention_rnn, self.attention = nn.LSTMCell(prenet + memory, attention), Attention(attention, memory, width)
        self.decoder_rnn = nn.LSTMCell(attention + memory, decoder)
        self.mel, self.gate = nn.Linear(decoder + memory, mels), nn.Linear(decoder + memory, 1)
        layers = [(mels, channels), (channels, channels), (channels, mels)]
        self.postnet = nn.Sequential(*[module for at, (c_in, c_out) in enumerate(layers) for module in
                                       [nn.Conv1d(c_in, c_out, 5, padding=2), nn.BatchNorm1d(c_out)] + ([nn.Tanh()] if at < 2 else [])])

    def forward(self, memory, frames):
        n, keys = memory.shape[0], self.attention.memory(memory)
        zeros = lambda width: torch.zeros(n, width, dtype=memory.dtype)
        h, c, state, cell = zeros(self.attention_rnn.hidden_size), zeros(self.attention_rnn.hidden_size), zeros(self.decoder_rnn.hidden_size), zeros(self.decoder_rnn.hidden_size)
        weights, summed, context = zeros(memory.shape[1]), zeros(memory.shape[1]), zeros(memory.shape[2])
        mels, gates = [], []
        for step in range(frames.shape[1]):
            h, c = self.attention_rnn(torch.cat([self.prenet(frames[:, step]), context], 1), (h, c))
            context, weights = self.attention(h, memory, keys, weights, summed)
            summed = summed + weights
            state, cell = self.decoder_rnn(torch.cat([h, context], 1), (state, cell))
            features = torch.cat([state, context], 1)
            mels.append(self.mel(features))
            gates.append(self.gate(features))
        mel = torch.stack(mels, 2)
        return torch.cat([mel + self.postnet(mel), torch.stack(gates, 2)], 1)


# What makes it, the shapes of its inputs, the shape of its target (classes: cross-entropy, else mean squared error).
NETWORKS = {
    "lstm": (lambda: Classifier(nn.LSTM(28, 48, num_layers=2, batch_first=True)), [(8, 28, 28)], (8,)),
    "gru": (lambda: Classifier(nn.GRU(14, 24, bidirectional=True, batch_first=True)), [(6, 33, 14)], (6,)),
    "tacotron2": (Tacotron2, [(4, 9, 16), (4, 3, 10)], (4, 11, 3)),
}


def is_recurrent(name):
    return "rnn" in name and "weight" in name


def fill(model, placed):
    """Weights from their streams; what the test has to know of those that stand in the file."""
    tensors = []
    state = {key: value for key, value in model.state_dict().items() if value.dtype == torch.float32}
    for stream, (key, value) in enumerate(state.items(), start=1):
        scale, shift = scale_of(key, value)
        scale = scale / 2 if is_recurrent(key) else scale
        value.copy_(torch.from_numpy(uniform(stream, value.numel(), scale, shift)).reshape(value.shape))
        if key in placed:
            tensors.append({"name": key, "stream": stream, "offset": placed[key], "count": value.numel(), "scale": scale, "shift": shift})
    return tensors


def data_of(shapes, target):
    inputs = [{"stream": 1000 + at, "shape": list(shape)} for at, shape in enumerate(shapes)]
    xs = [torch.from_numpy(uniform(each["stream"], torch.Size(each["shape"]).numel(), 1.0, 0.0)).reshape(each["shape"]).double() for each in inputs]
    label = {"stream": 2000, "shape": list(target), "classes": 10 if len(target) == 1 else 0}
    if label["classes"]:
        y = torch.from_numpy((words(2000, target[0]) % 10).astype("int64"))
    else:
        y = torch.from_numpy(uniform(2000, torch.Size(target).numel(), 1.0, 0.0)).reshape(target).double()
    return inputs, label, xs, y


def make(name):
    kind, shapes, target = NETWORKS[name]
    torch.manual_seed(0)
    model = kind()
    model.train()
    path = os.path.join(HERE, name + ".onnx")
    torch.onnx.export(model, tuple(torch.zeros(shape) for shape in shapes), path, training=torch.onnx.TrainingMode.TRAINING,
                      do_constant_folding=False, opset_version=17, dynamo=False)
    placed = dict(strip(path, {key for key, value in model.state_dict().items() if value.dtype == torch.float32}))
    tensors = fill(model, placed)
    inputs, label, xs, y = data_of(shapes, target)
    answer = {"network": name, "tensors": tensors, "inputs": inputs, "target": label, "lr": LR, "momentum": MOMENTUM, "losses": []}
    model.double()
    loss_of = nn.functional.cross_entropy if label["classes"] else nn.functional.mse_loss
    optimizer = torch.optim.SGD(model.parameters(), lr=LR, momentum=MOMENTUM)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(model(*xs), y)
        loss.backward()
        optimizer.step()
        answer["losses"].append(loss.item())
    answer["norms"] = {key: parameter.norm().item() for key, parameter in model.named_parameters()}
    with open(os.path.join(HERE, name + ".json"), "w") as file:
        json.dump(answer, file, separators=(",", ":"))
        file.write("\n")
    print(name, [round(loss, 4) for loss in answer["losses"]], len(tensors), "tensors", flush=True)


if __name__ == "__main__":
    for each in sys.argv[1:] or NETWORKS:
        make(each)
