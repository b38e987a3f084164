#!/usr/bin/env python3
"""Makes model.onnx: a table of users, a table of items, and how well their rows agree. Needs torch and onnx."""
import os

import torch
from torch import nn

USERS, ITEMS, WIDTH = 600, 400, 16


class Recommender(nn.Module):
    def __init__(self):
        super().__init__()
        self.users, self.items = nn.Embedding(USERS, WIDTH), nn.Embedding(ITEMS, WIDTH)
        self.kind, self.quality = nn.Embedding(USERS, 1), nn.Embedding(ITEMS, 1)
        for table in (self.users, self.items, self.kind, self.quality):
            nn.init.normal_(table.weight, std=0.1)
        self.mean = nn.Parameter(torch.tensor([3.0]))

    def forward(self, user, item):
        agreement = (self.users(user) * self.items(item)).sum(1, keepdim=True)
        return self.mean + agreement + self.kind(user) + self.quality(item)


torch.manual_seed(1)
ids = torch.zeros(2, dtype=torch.int64)
torch.onnx.export(Recommender(), (ids, ids), os.path.join(os.path.dirname(os.path.abspath(__file__)), "model.onnx"),
                  training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, opset_version=17, dynamo=False,
                  input_names=["user", "item"], output_names=["rating"], dynamic_axes={"user": {0: "N"}, "item": {0: "N"}, "rating": {0: "N"}})
