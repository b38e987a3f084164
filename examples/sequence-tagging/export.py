#!/usr/bin/env python3
"""Makes model.onnx: an LSTM that reads 14 words in both directions and gives each a tag. Needs torch and onnx."""
import os

import torch
from torch import nn

WORDS, LENGTH, TAGS = 64, 14, 5


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, 24)
        self.lstm = nn.LSTM(24, 32, batch_first=True, bidirectional=True)
        self.head = nn.Linear(64, TAGS)

    def forward(self, ids):
        return self.head(self.lstm(self.words(ids))[0])  # [N, LENGTH, TAGS]


torch.manual_seed(1)
torch.onnx.export(Tagger(), torch.ones(2, LENGTH, dtype=torch.int64), os.path.join(os.path.dirname(os.path.abspath(__file__)), "model.onnx"),
                  training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, opset_version=17, dynamo=False,
                  input_names=["ids"], output_names=["tags"], dynamic_axes={"ids": {0: "N"}, "tags": {0: "N"}})
