"""Networks of tables, pairs and sets, in torch.nn alone, small."""
import torch
from torch import nn
from torch.nn import functional as F


class DeepFm(nn.Module):
    """A factorization machine beside a multi-layer perceptron, on the same embeddings of fields."""

    def __init__(self, fields=5, rows=20, width=6):
        super().__init__()
        self.linear, self.embed, self.bias = nn.Embedding(fields * rows, 1), nn.Embedding(fields * rows, width), nn.Parameter(torch.zeros(1))
        self.register_buffer("offsets", torch.arange(fields) * rows)
        self.mlp = nn.Sequential(nn.Linear(fields * width, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.0), nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, x):
        at = x + self.offsets
        e = self.embed(at)
        pairs = 0.5 * (e.sum(1).pow(2) - e.pow(2).sum(1)).sum(1, keepdim=True)
        return self.linear(at).sum(1) + self.bias + pairs + self.mlp(e.flatten(1))


class FeatureTokenizer(nn.Module):
    def __init__(self, numbers, fields, rows, width):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.zeros(numbers, width)), nn.Parameter(torch.zeros(numbers + fields, width))
        self.cls, self.embed = nn.Parameter(torch.zeros(1, 1, width)), nn.Embedding(fields * rows, width)
        self.register_buffer("category_offsets", torch.arange(fields) * rows)

    def forward(self, numbers, categories):
        tokens = torch.cat([self.weight[None] * numbers[:, :, None], self.embed(categories + self.category_offsets)], 1) + self.bias
        return torch.cat([self.cls.expand(numbers.size(0), -1, -1), tokens], 1)


class TabularBlock(nn.Module):
    """Pre-norm attention, then ReGLU."""

    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.attention, self.norm2 = nn.LayerNorm(width), nn.MultiheadAttention(width, heads, batch_first=True), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        a, b = self.up(self.norm2(x)).chunk(2, dim=-1)
        return x + self.down(a * F.relu(b))


class FtTransformer(nn.Module):
    def __init__(self, numbers=6, fields=3, rows=10, width=16):
        super().__init__()
        self.tokenizer, self.blocks = FeatureTokenizer(numbers, fields, rows, width), nn.Sequential(TabularBlock(width, 2), TabularBlock(width, 2))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1)

    def forward(self, numbers, categories):
        return self.head(F.relu(self.norm(self.blocks(self.tokenizer(numbers, categories))[:, 0])))


class WideDeep(nn.Module):
    """Crossed features in a wide linear part beside a deep one."""

    def __init__(self, numbers=6, fields=3, rows=12, width=6):
        super().__init__()
        self.rows, self.wide = rows, nn.Embedding(rows * rows, 1)
        self.embeds = nn.ModuleList(nn.Embedding(rows, width) for _ in range(fields))
        self.deep = nn.Sequential(nn.Linear(fields * width + numbers, 24), nn.ReLU(), nn.Linear(24, 12), nn.ReLU(), nn.Linear(12, 1))

    def forward(self, numbers, categories):
        crossed = categories[:, 0] * self.rows + categories[:, 1]
        found = [embed(categories[:, field]) for field, embed in enumerate(self.embeds)]
        return self.wide(crossed) + self.deep(torch.cat([*found, numbers], 1))


class Mmoe(nn.Module):
    """Experts that two tasks share, each weighing them by a gate of its own; one output a task."""

    def __init__(self, numbers=8, experts=4, width=12):
        super().__init__()
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(numbers, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()) for _ in range(experts))
        self.gates, self.towers = nn.ModuleList(nn.Linear(numbers, experts) for _ in range(2)), nn.ModuleList(nn.Linear(width, out) for out in (4, 1))

    def forward(self, x):
        found = torch.stack([expert(x) for expert in self.experts], 1)
        return tuple(tower((torch.softmax(gate(x), -1).unsqueeze(-1) * found).sum(1)) for gate, tower in zip(self.gates, self.towers))


class TopExperts(nn.Module):
    """Mixtral's: each token goes through the two experts with the highest scores."""

    def __init__(self, vocabulary=40, width=12, experts=4, chosen=2):
        super().__init__()
        self.chosen, self.count, self.embed, self.gate = chosen, experts, nn.Embedding(vocabulary, width), nn.Linear(width, experts, bias=False)
        self.up, self.down = (nn.Parameter(torch.zeros(experts, a, b)) for a, b in ((width, 2 * width), (2 * width, width)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)

    def forward(self, ids):
        x = self.embed(ids)
        weights, at = torch.topk(self.gate(x), self.chosen, dim=-1)
        weights = torch.softmax(weights, -1)
        part = (F.one_hot(at, self.count).to(x.dtype) * weights.unsqueeze(-1)).sum(-2)
        hidden = F.silu(torch.einsum("nsd,edh->nseh", x, self.up))
        y = torch.einsum("nseh,ehd->nsed", hidden, self.down)
        return self.head(self.norm(x + (y * part.unsqueeze(-1)).sum(2))).transpose(1, 2)


class KanLayer(nn.Module):
    """A learned function on every edge: a SiLU, and radial functions about the points of a grid that does not train."""

    def __init__(self, inputs, outputs, points=5):
        super().__init__()
        self.register_buffer("grid", torch.linspace(-2, 2, points))
        self.norm, self.base, self.spline = nn.LayerNorm(inputs), nn.Linear(inputs, outputs), nn.Linear(inputs * points, outputs, bias=False)

    def forward(self, x):
        basis = torch.exp(-((self.norm(x).unsqueeze(-1) - self.grid) ** 2))
        return self.base(F.silu(x)) + self.spline(basis.flatten(-2))


class Kan(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(KanLayer(4, 8), KanLayer(8, 1))

    def forward(self, x):
        return self.layers(x)


class Siamese(nn.Module):
    """One encoder for both images; how far apart their codes are decides."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 12, 3), nn.ReLU(), nn.Flatten(), nn.Linear(300, 16), nn.Sigmoid())
        self.decide = nn.Linear(16, 1)

    def forward(self, a, b):
        return self.decide(torch.abs(self.encoder(a) - self.encoder(b)))


class CrossAttention(nn.Module):
    def __init__(self, width, memory, heads):
        super().__init__()
        self.norm_q, self.norm_kv = nn.LayerNorm(width), nn.LayerNorm(memory)
        self.attention = nn.MultiheadAttention(width, heads, kdim=memory, vdim=memory, batch_first=True)
        self.mlp = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x, memory):
        memory = self.norm_kv(memory)
        x = x + self.attention(self.norm_q(x), memory, memory, need_weights=False)[0]
        return x + self.mlp(x)


class Perceiver(nn.Module):
    """A few learned latents read a long input, then each other, twice with the same weights."""

    def __init__(self, channels=6, latents=5, width=16, classes=6):
        super().__init__()
        self.latents, self.read, self.think = nn.Parameter(torch.zeros(latents, width)), CrossAttention(width, channels, 2), CrossAttention(width, width, 2)
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, x):
        latents = self.latents.unsqueeze(0).expand(x.size(0), -1, -1)
        for _ in range(2):
            latents = self.read(latents, x)
            latents = self.think(latents, latents)
        return self.head(self.norm(latents.mean(1)))
