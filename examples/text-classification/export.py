#!/usr/bin/env python3
"""Makes model.onnx: a transformer of two blocks that reads 16 words. Needs torch and onnx."""
import os

import torch
from torch import nn

WORDS, LENGTH, WIDTH, HEADS = 64, 16, 32, 4


class Block(nn.Module):
    """Attention and two linear layers, each with a norm before and a sum behind."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def attend(self, x, hidden):
        query, key, value = (part.reshape(-1, LENGTH, HEADS, WIDTH // HEADS).transpose(1, 2) for part in self.qkv(x).chunk(3, 2))
        scores = query @ key.transpose(2, 3) / (WIDTH // HEADS) ** 0.5 + hidden
        return self.out((torch.softmax(scores, 3) @ value).transpose(1, 2).reshape(-1, LENGTH, WIDTH))

    def forward(self, x, hidden):
        x = x + self.attend(self.norm1(x), hidden)
        return x + self.mlp(self.norm2(x))


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.place = nn.Parameter(torch.randn(LENGTH, WIDTH) * 0.02)
        self.block1, self.block2 = Block(), Block()
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 2)

    def forward(self, ids):
        there = (ids != 0).float()  # 0 stands behind the end
        hidden = ((1 - there) * -1e4)[:, None, None, :]
        x = self.block2(self.block1(self.words(ids) + self.place, hidden), hidden)
        mean = (self.norm(x) * there[:, :, None]).sum(1) / there.sum(1, keepdim=True)
        return self.head(mean)


torch.manual_seed(1)
torch.onnx.export(Reader(), torch.ones(2, LENGTH, dtype=torch.int64), os.path.join(os.path.dirname(os.path.abspath(__file__)), "model.onnx"),
                  training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, opset_version=17, dynamo=False,
                  input_names=["ids"], output_names=["opinion"], dynamic_axes={"ids": {0: "N"}, "opinion": {0: "N"}})
