"""Language models and sequence models after BERT and GPT-2, in torch.nn alone, small."""
import math

import torch
from torch import nn
from torch.nn import functional as F


class RmsNorm(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


def rotate(x):
    half = x.size(-1) // 2
    return torch.cat([-x[..., half:], x[..., :half]], -1)


class LlamaLayer(nn.Module):
    def __init__(self, width, heads, groups, hidden):
        super().__init__()
        self.heads, self.groups, head = heads, groups, width // heads
        self.norm1, self.norm2 = RmsNorm(width), RmsNorm(width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, out, bias=False) for out in (width, groups * head, groups * head, width))
        self.gate, self.up, self.down = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False), nn.Linear(hidden, width, bias=False)

    def attend(self, x, cos, sin, mask):
        n, s, d = x.shape
        head = d // self.heads
        q = self.q(x).view(n, s, self.heads, head).transpose(1, 2)
        k, v = (t.view(n, s, self.groups, head).transpose(1, 2) for t in (self.k(x), self.v(x)))
        q, k = q * cos + rotate(q) * sin, k * cos + rotate(k) * sin
        k, v = (t[:, :, None].expand(n, self.groups, self.heads // self.groups, s, head).reshape(n, self.heads, s, head) for t in (k, v))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(head) + mask
        return self.o(torch.matmul(torch.softmax(scores, -1), v).transpose(1, 2).reshape(n, s, d))

    def forward(self, x, cos, sin, mask):
        x = x + self.attend(self.norm1(x), cos, sin, mask)
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    """Rotary positions from tables, grouped queries, RMSNorm, SwiGLU, and a head that is the embedding."""

    def __init__(self, vocabulary=48, positions=16, width=32, layers=2, heads=4, groups=2):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.layers, self.norm = nn.ModuleList(LlamaLayer(width, heads, groups, 48) for _ in range(layers)), RmsNorm(width)
        head = width // heads
        angles = torch.outer(torch.arange(positions).float(), 10000.0 ** (-torch.arange(0, head, 2).float() / head)).repeat(1, 2)
        self.register_buffer("rope_cos", angles.cos())
        self.register_buffer("rope_sin", angles.sin())
        self.register_buffer("causal", torch.full((positions, positions), float("-inf")).triu(1), persistent=False)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        s = ids.size(1)
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x, self.rope_cos[:s], self.rope_sin[:s], self.causal[:s, :s])
        return self.head(self.norm(x)).transpose(1, 2)


class Translator(nn.Module):
    """nn.Transformer: encoder, decoder, padding and causal masks, sinusoidal positions in a buffer that no state dict has."""

    def __init__(self, vocabulary=40, width=16, positions=16):
        super().__init__()
        self.source, self.target, self.width = nn.Embedding(vocabulary, width), nn.Embedding(vocabulary, width), width
        self.transformer = nn.Transformer(width, 2, 1, 1, 32, dropout=0.0, batch_first=True)
        self.generator = nn.Linear(width, vocabulary)
        angles = torch.outer(torch.arange(positions).float(), torch.exp(-math.log(10000.0) * torch.arange(0, width, 2).float() / width))
        self.register_buffer("positions", torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[None], persistent=False)

    def forward(self, source, mask, target):
        x = self.source(source) * math.sqrt(self.width) + self.positions[:, :source.size(1)]
        y = self.target(target) * math.sqrt(self.width) + self.positions[:, :target.size(1)]
        later = torch.triu(torch.ones(target.size(1), target.size(1), dtype=torch.bool), 1)
        padded = mask == 0
        out = self.transformer(x, y, tgt_mask=later, src_key_padding_mask=padded, memory_key_padding_mask=padded, tgt_is_causal=True)
        return self.generator(out).transpose(1, 2)


class FastText(nn.Module):
    """A bag of words: the mean of the embeddings of a text."""

    def __init__(self, vocabulary=120, width=12, classes=4):
        super().__init__()
        self.bag, self.fc = nn.EmbeddingBag(vocabulary, width, mode="mean"), nn.Linear(width, classes)

    def forward(self, ids):
        return self.fc(self.bag(ids))


class GruTagger(nn.Module):
    """A tag for every token."""

    def __init__(self, vocabulary=60, width=16, tags=6):
        super().__init__()
        self.embed, self.rnn, self.tags = nn.Embedding(vocabulary, width), nn.GRU(width, 20, num_layers=2, batch_first=True), nn.Linear(20, tags)

    def forward(self, ids):
        return self.tags(self.rnn(self.embed(ids))[0]).transpose(1, 2)


class BidirectionalTagger(nn.Module):
    """A GRU in both directions below an LSTM in both."""

    def __init__(self, vocabulary=60, width=12, tags=6):
        super().__init__()
        self.embed, self.gru = nn.Embedding(vocabulary, width), nn.GRU(width, 8, batch_first=True, bidirectional=True)
        self.lstm, self.tags = nn.LSTM(16, 8, batch_first=True, bidirectional=True), nn.Linear(16, tags)

    def forward(self, ids):
        return self.tags(self.lstm(self.gru(self.embed(ids))[0])[0]).transpose(1, 2)


class Seq2Seq(nn.Module):
    """Luong's: the decoder begins with the encoder's last state and attends to all of its outputs."""

    def __init__(self, vocabulary=40, width=12, hidden=16):
        super().__init__()
        self.source, self.target = nn.Embedding(vocabulary, width), nn.Embedding(vocabulary, width)
        self.encoder, self.decoder = nn.LSTM(width, hidden, batch_first=True), nn.LSTM(width, hidden, batch_first=True)
        self.score, self.join, self.out = nn.Linear(hidden, hidden, bias=False), nn.Linear(2 * hidden, hidden), nn.Linear(hidden, vocabulary)

    def forward(self, source, target):
        memory, state = self.encoder(self.source(source))
        y, _ = self.decoder(self.target(target), state)
        weights = torch.softmax(torch.bmm(self.score(y), memory.transpose(1, 2)), -1)
        y = torch.tanh(self.join(torch.cat([y, torch.bmm(weights, memory)], -1)))
        return self.out(y).transpose(1, 2)


class LayerNormLstm(nn.Module):
    """Ba et al.'s cell, written out: the gates of both sides and the cell are normalized."""

    def __init__(self, vocabulary=60, width=12, hidden=12, classes=4):
        super().__init__()
        self.embed, self.hidden = nn.Embedding(vocabulary, width), hidden
        self.ih, self.hh = nn.Linear(width, 4 * hidden, bias=False), nn.Linear(hidden, 4 * hidden, bias=False)
        self.norm_ih, self.norm_hh, self.norm_c, self.fc = nn.LayerNorm(4 * hidden), nn.LayerNorm(4 * hidden), nn.LayerNorm(hidden), nn.Linear(hidden, classes)

    def forward(self, ids):
        x = self.norm_ih(self.ih(self.embed(ids)))
        h = c = torch.zeros(ids.size(0), self.hidden, dtype=x.dtype)
        for step in range(ids.size(1)):
            i, f, g, o = (x[:, step] + self.norm_hh(self.hh(h))).chunk(4, dim=-1)
            c = torch.sigmoid(f + 1) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(self.norm_c(c))
        return self.fc(h)


class Highway(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.transform, self.gate = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        t = torch.sigmoid(self.gate(x) - 2)
        return t * F.relu(self.transform(x)) + (1 - t) * x


class CharHighway(nn.Module):
    """Kim et al.'s: characters, convolutions of several widths with their maxima over time, highway layers."""

    def __init__(self, characters=40, width=8, classes=5):
        super().__init__()
        self.embed, self.convs = nn.Embedding(characters, width), nn.ModuleList(nn.Conv1d(width, 8, kernel) for kernel in (2, 3, 4))
        self.highway, self.fc = nn.Sequential(Highway(24), Highway(24)), nn.Linear(24, classes)

    def forward(self, ids):
        x = self.embed(ids).transpose(1, 2)
        return self.fc(self.highway(torch.cat([torch.tanh(conv(x)).max(-1).values for conv in self.convs], 1)))


class MambaBlock(nn.Module):
    """The selective scan, written out: all steps at once by sums of logarithms."""

    def __init__(self, width, state=4, rank=2, kernel=3):
        super().__init__()
        inner = 2 * width
        self.state, self.rank, self.norm, self.into = state, rank, RmsNorm(width), nn.Linear(width, 2 * inner, bias=False)
        self.conv, self.kernel = nn.Conv1d(inner, inner, kernel, groups=inner), kernel
        self.select, self.step, self.out = nn.Linear(inner, rank + 2 * state, bias=False), nn.Linear(rank, inner), nn.Linear(inner, width, bias=False)
        self.A_log, self.D = nn.Parameter(torch.log(torch.arange(1, state + 1).float()).repeat(inner, 1)), nn.Parameter(torch.ones(inner))

    def scan(self, x, step, b, c):
        decay = torch.cumsum(step.unsqueeze(-1) * -torch.exp(self.A_log), 1)
        added = (step * x).unsqueeze(-1) * b.unsqueeze(2)
        states = torch.exp(decay) * torch.cumsum(added * torch.exp(-decay), 1)
        return (states * c.unsqueeze(2)).sum(-1) + x * self.D

    def forward(self, x):
        u, gate = self.into(self.norm(x)).chunk(2, dim=-1)
        u = F.silu(self.conv(F.pad(u.transpose(1, 2), (self.kernel - 1, 0)))).transpose(1, 2)
        step, b, c = self.select(u).split([self.rank, self.state, self.state], dim=-1)
        y = self.scan(u, F.softplus(self.step(step) - 1), b, c)
        return x + self.out(y * F.silu(gate))


class Mamba(nn.Module):
    def __init__(self, vocabulary=40, width=12):
        super().__init__()
        self.embed, self.blocks = nn.Embedding(vocabulary, width), nn.Sequential(MambaBlock(width), MambaBlock(width))
        self.norm, self.head = RmsNorm(width), nn.Linear(width, vocabulary)

    def forward(self, ids):
        return self.head(self.norm(self.blocks(self.embed(ids)))).transpose(1, 2)


class RelativeAttention(nn.Module):
    """Transformer-XL's: positions are relative, the memory of the segment before is attended to, rows are shifted into place."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q, self.kv, self.r, self.o = (nn.Linear(width, out, bias=False) for out in (width, 2 * width, width, width))
        self.u_bias, self.v_bias = nn.Parameter(torch.zeros(heads, width // heads)), nn.Parameter(torch.zeros(heads, width // heads))

    def forward(self, x, memory, positions):
        n, s, d = x.shape
        h, all_of = self.heads, torch.cat([memory, x], 1)
        length = all_of.size(1)
        q = self.q(x).view(n, s, h, -1)
        k, v = (t.view(n, length, h, -1) for t in self.kv(all_of).chunk(2, dim=-1))
        content = torch.einsum("nihd,njhd->nhij", q + self.u_bias, k)
        place = torch.einsum("nihd,jhd->nhij", q + self.v_bias, self.r(positions).view(length, h, -1))
        place = F.pad(place, (1, 0)).view(n, h, length + 1, s)[:, :, 1:].reshape(n, h, s, length)
        later = torch.triu(torch.ones(s, length, dtype=torch.bool), 1 + length - s)
        scores = ((content + place) / math.sqrt(d // h)).masked_fill(later, float("-inf"))
        return self.o(torch.einsum("nhij,njhd->nihd", torch.softmax(scores, -1), v).reshape(n, s, d))


class TransformerXl(nn.Module):
    def __init__(self, vocabulary=40, width=16, heads=2, layers=2):
        super().__init__()
        self.embed, self.width = nn.Embedding(vocabulary, width), width
        self.attention, self.norm1, self.norm2 = (nn.ModuleList(kind() for _ in range(layers)) for kind in
                                                  (lambda: RelativeAttention(width, heads), lambda: nn.LayerNorm(width), lambda: nn.LayerNorm(width)))
        self.ff, self.head = nn.ModuleList(nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, width)) for _ in range(layers)), nn.Linear(width, vocabulary)
        self.register_buffer("inv_freq", 1 / 10000 ** (torch.arange(0.0, width, 2.0) / width))

    def forward(self, ids, memory):
        x, length = self.embed(ids), ids.size(1) + memory.size(1)
        angles = torch.outer(torch.arange(length - 1, -1, -1.0, dtype=x.dtype), self.inv_freq)
        positions = torch.cat([angles.sin(), angles.cos()], -1)
        for attention, norm1, norm2, ff in zip(self.attention, self.norm1, self.norm2, self.ff):
            x = norm1(x + attention(x, memory, positions))
            x = norm2(x + ff(x))
        return self.head(x).transpose(1, 2)
