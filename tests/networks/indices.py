"""Networks whose integers compute: masks, relative positions, index arithmetic; in torch.nn alone, small."""
import math

import torch
from torch import nn
from torch.nn import functional as F


class WindowAttention(nn.Module):
    """Swin's: a learned bias by relative position, read through an index table, and a mask where the windows are shifted."""

    def __init__(self, width, heads, window, resolution, shift):
        super().__init__()
        self.heads, self.window, self.resolution, self.shift = heads, window, resolution, shift
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.relative_position_bias_table = nn.Parameter(torch.zeros((2 * window - 1) ** 2, heads))

    def relative_index(self):
        w = self.window
        coords = torch.stack(torch.meshgrid(torch.arange(w), torch.arange(w), indexing="ij")).flatten(1)
        relative = (coords[:, :, None] - coords[:, None, :]).permute(1, 2, 0) + (w - 1)
        return (relative[..., 0] * (2 * w - 1) + relative[..., 1]).flatten()

    def mask(self, dtype):
        """Windows of the rolled image hold parts that were not neighbours: they do not attend to each other."""
        w, size = self.window, self.resolution
        at = torch.arange(size)
        band = (at >= size - w).to(torch.int64) + (at >= size - self.shift).to(torch.int64)
        part = (band[:, None] * 3 + band[None, :]).view(size // w, w, size // w, w).permute(0, 2, 1, 3).reshape(-1, w * w)
        apart = part[:, None, :] - part[:, :, None]
        return torch.zeros(apart.shape, dtype=dtype).masked_fill(apart != 0, -100.0)

    def forward(self, x):
        n, size, _, width = x.shape
        w = self.window
        if self.shift > 0:
            x = torch.roll(x, (-self.shift, -self.shift), (1, 2))
        x = x.view(n, size // w, w, size // w, w, width).permute(0, 1, 3, 2, 4, 5).reshape(-1, w * w, width)
        q, k, v = self.qkv(x).view(x.size(0), w * w, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        bias = self.relative_position_bias_table[self.relative_index()].view(w * w, w * w, self.heads).permute(2, 0, 1)
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.size(-1)) + bias.unsqueeze(0)
        if self.shift > 0:
            mask = self.mask(scores.dtype)
            scores = scores.view(n, mask.size(0), self.heads, w * w, w * w) + mask.unsqueeze(1).unsqueeze(0)
            scores = scores.view(-1, self.heads, w * w, w * w)
        y = torch.matmul(torch.softmax(scores, -1), v).transpose(1, 2).reshape(x.size(0), w * w, width)
        y = self.proj(y).view(n, size // w, size // w, w, w, width).permute(0, 1, 3, 2, 4, 5).reshape(n, size, size, width)
        return torch.roll(y, (self.shift, self.shift), (1, 2)) if self.shift > 0 else y


class SwinBlock(nn.Module):
    def __init__(self, width, heads, window, resolution, shift):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = WindowAttention(width, heads, window, resolution, shift)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class PatchMerging(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.reduction = nn.LayerNorm(4 * width), nn.Linear(4 * width, 2 * width, bias=False)

    def forward(self, x):
        x = torch.cat([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], -1)
        return self.reduction(self.norm(x))


class Swin(nn.Module):
    """Two stages of shifted windows, on patches of 2."""

    def __init__(self, image=32, patch=2, width=16, window=4, classes=10):
        super().__init__()
        size = image // patch
        self.patch_embed, self.norm0 = nn.Conv2d(3, width, patch, patch), nn.LayerNorm(width)
        self.stage1 = nn.Sequential(SwinBlock(width, 2, window, size, 0), SwinBlock(width, 2, window, size, window // 2))
        self.merge = PatchMerging(width)
        self.stage2 = nn.Sequential(SwinBlock(2 * width, 4, window, size // 2, 0), SwinBlock(2 * width, 4, window, size // 2, window // 2))
        self.norm, self.head = nn.LayerNorm(2 * width), nn.Linear(2 * width, classes)

    def forward(self, x):
        x = self.norm0(self.patch_embed(x).permute(0, 2, 3, 1))
        x = self.norm(self.stage2(self.merge(self.stage1(x))))
        return self.head(x.mean((1, 2)))


def bucket_of(relative, bidirectional, buckets=16, most=32):
    """T5's relative position buckets, as its authors compute them: half of them exact, the others wider and wider."""
    found = torch.zeros_like(relative)
    if bidirectional:
        buckets //= 2
        found = found + (relative > 0).to(torch.long) * buckets
        relative = torch.abs(relative)
    else:
        relative = -torch.min(relative, torch.zeros_like(relative))
    exact = buckets // 2
    far = exact + (torch.log(relative.float() / exact) / math.log(most / exact) * (buckets - exact)).to(torch.long)
    far = torch.min(far, torch.full_like(far, buckets - 1))
    return found + torch.where(relative < exact, relative, far)


class T5Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class T5Attention(nn.Module):
    def __init__(self, width, heads, causal=False, positions=False):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        if positions:
            self.relative_attention_bias = nn.Embedding(16, heads)

    def position_bias(self, length):
        at = torch.arange(length)
        values = self.relative_attention_bias(bucket_of(at[None, :] - at[:, None], bidirectional=not self.causal))
        return values.permute(2, 0, 1).unsqueeze(0)

    def forward(self, x, memory, bias):
        q, k, v = (t.view(t.size(0), t.size(1), self.heads, -1).transpose(1, 2) for t in (self.q(x), self.k(memory), self.v(memory)))
        weights = torch.softmax(torch.matmul(q, k.transpose(-1, -2)) + bias, -1)
        return self.o(torch.matmul(weights, v).transpose(1, 2).reshape(x.shape))


class T5Layer(nn.Module):
    def __init__(self, width, heads, decoder, positions):
        super().__init__()
        self.ln1, self.attention = T5Norm(width), T5Attention(width, heads, decoder, positions)
        if decoder:
            self.ln2, self.cross = T5Norm(width), T5Attention(width, heads)
        self.ln3, self.wi, self.wo = T5Norm(width), nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x, bias, memory=None, memory_bias=None):
        y = self.ln1(x)
        x = x + self.attention(y, y, bias)
        if memory is not None:
            x = x + self.cross(self.ln2(x), memory, memory_bias)
        return x + self.wo(torch.relu(self.wi(self.ln3(x))))


class T5(nn.Module):
    """Encoder and decoder of two layers, the decoder fed with the labels shifted right; it scores every position: [N,V,S]."""

    def __init__(self, vocabulary=64, width=32, layers=2, heads=4):
        super().__init__()
        self.shared, self.vocabulary = nn.Embedding(vocabulary, width), vocabulary
        self.encoder = nn.ModuleList(T5Layer(width, heads, False, index == 0) for index in range(layers))
        self.decoder = nn.ModuleList(T5Layer(width, heads, True, index == 0) for index in range(layers))
        self.norm1, self.norm2, self.head = T5Norm(width), T5Norm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids, target):
        real = (ids != 0).to(self.shared.weight.dtype)
        padding = (1.0 - real)[:, None, None, :] * -1e9
        x, bias = self.shared(ids), self.encoder[0].attention.position_bias(ids.size(1)) + padding
        for layer in self.encoder:
            x = layer(x, bias)
        memory = self.norm1(x)
        shifted = torch.cat([torch.zeros_like(target[:, :1]), target[:, :-1]], 1)
        at = torch.arange(target.size(1))
        later = torch.where(at[None, :] <= at[:, None], 0.0, -1e9)
        y, bias = self.shared(shifted), self.decoder[0].attention.position_bias(target.size(1)) + later
        for layer in self.decoder:
            y = layer(y, bias, memory, padding)
        return self.head(self.norm2(y)).transpose(1, 2)


class Dlrm(nn.Module):
    """Hashed categorical features in one embedding table, two of them by quotient and remainder, and their products."""

    def __init__(self, dense=6, features=4, rows=50, width=8):
        super().__init__()
        self.features, self.rows = features, rows
        self.table, self.quotient, self.remainder = nn.Embedding(features * rows, width), nn.Embedding(20, width), nn.Embedding(10, width)
        self.bottom = nn.Sequential(nn.Linear(dense, 16), nn.ReLU(), nn.Linear(16, width), nn.ReLU())
        pairs = (features + 3) * (features + 2) // 2
        self.top = nn.Sequential(nn.Linear(width + pairs, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, dense, sparse, big):
        x = self.bottom(dense)
        at = sparse % self.rows + torch.arange(self.features) * self.rows
        compositional = [self.quotient(torch.div(big, 10, rounding_mode="floor")), self.remainder(torch.remainder(big, 10))]
        all_of = torch.cat([x.unsqueeze(1), self.table(at)] + compositional, 1)
        products = torch.bmm(all_of, all_of.transpose(1, 2))
        count = all_of.size(1)
        first = torch.tensor([i for i in range(count) for j in range(i)])
        second = torch.tensor([j for i in range(count) for j in range(i)])
        return self.top(torch.cat([x, products[:, first, second]], 1))


class MaskedMean(nn.Module):
    """A bag of tokens: padding is found, counted and left out, positions are those of real tokens, the last of them is read too."""

    def __init__(self, vocabulary=80, width=24, classes=4):
        super().__init__()
        self.word, self.position = nn.Embedding(vocabulary, width), nn.Embedding(32, width)
        self.hidden, self.score = nn.Linear(2 * width, width), nn.Linear(width, classes)

    def forward(self, ids, mask):
        positions = (torch.cumsum(mask, 1) * mask).clamp(max=31)
        x = (self.word(ids) + self.position(positions)) * mask.unsqueeze(-1).to(self.word.weight.dtype)
        mean = x.sum(1) / mask.sum(1, keepdim=True).clamp(min=1).to(x.dtype)
        last = x[torch.arange(ids.size(0)), mask.sum(1) - 1]
        return self.score(torch.tanh(self.hidden(torch.cat([mean, last], 1))))
