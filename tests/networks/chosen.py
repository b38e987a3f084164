"""Networks that choose at run time what they read and write: experts behind a gate, places in an image; in torch.nn alone, small."""
import torch
from torch import nn
from torch.nn import functional as F


class Experts(nn.Module):
    """A gate takes the two best of six experts, and softmax over these weighs them; what ranks say is added up beside them."""

    def __init__(self, inputs=12, width=16, experts=6, classes=5):
        super().__init__()
        self.embed, self.gate = nn.Linear(inputs, width), nn.Linear(width, experts)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, width)) for _ in range(experts))
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        h = torch.tanh(self.embed(x))
        scores = self.gate(h)
        best, _ = torch.topk(scores, 2, dim=-1)
        weights = torch.softmax(scores.masked_fill(scores < best[:, -1:], float("-inf")), -1)
        mixed = (weights.unsqueeze(-1) * torch.stack([expert(h) for expert in self.experts], 1)).sum(1)
        ranks = torch.argsort(h, -1, descending=True)
        return self.head(mixed + h.scatter_add(-1, ranks % 4, h))


class Sampler(nn.Module):
    """Maxima are added where they were; the image is then read at places that it says itself."""

    def __init__(self, width=6, classes=10):
        super().__init__()
        self.stem, self.places = nn.Conv2d(3, width, 3, padding=1), nn.Conv2d(width, 2, 3, stride=2, padding=1)
        self.mix, self.head = nn.Conv2d(width, width, 3, padding=1), nn.Linear(width, classes)

    def forward(self, x):
        x = torch.tanh(self.stem(x))
        n, c, h, w = x.shape
        most, where = F.max_pool2d(x, 3, 2, 1, return_indices=True)
        x = x.flatten(2).scatter_add(-1, where.flatten(2), most.flatten(2)).view(n, c, h, w)
        x = torch.tanh(self.mix(x))
        grid = 1.2 * torch.tanh(self.places(x)).permute(0, 2, 3, 1)
        read = F.grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
        smooth = F.grid_sample(x, grid, mode="bicubic", padding_mode="reflection", align_corners=True)
        return self.head((read + smooth).mean((2, 3)))
