"""Sequences by other means than attention alone: state spaces, memories, recurrences written as loops, pointers."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from .case import Case, Refusal, classes, ids, real


class NeuralTuringMachine(nn.Module):
    """Content and location addressing of a memory that every step erases and writes."""

    def __init__(self, rows: int = 8, width: int = 6, hidden: int = 16) -> None:
        super().__init__()
        self.width = width
        self.controller = nn.LSTMCell(4 + width, hidden)
        heads = width + 1 + 1 + 3 + 1
        self.read, self.write = nn.Linear(hidden, heads), nn.Linear(hidden, heads + 2 * width)
        self.out = nn.Linear(hidden + width, 4)
        self.register_buffer("memory_bias", torch.empty(rows, width).uniform_(-0.4, 0.4))

    def address(self, memory: Tensor, said: Tensor, before: Tensor) -> Tensor:
        key, beta, gate, shift, gamma = torch.split(said, [self.width, 1, 1, 3, 1], dim=1)
        beta, gate, gamma = F.softplus(beta), torch.sigmoid(gate), 1 + F.softplus(gamma)
        likeness = F.cosine_similarity(memory + 1e-16, key.unsqueeze(1) + 1e-16, dim=-1)
        weights = F.softmax(beta * likeness, dim=1)
        weights = gate * weights + (1 - gate) * before
        shift = F.softmax(shift, dim=1)
        turned = torch.zeros_like(weights)
        for b in range(weights.size(0)):
            around = torch.cat([weights[b, -1:], weights[b], weights[b, :1]])
            turned[b] = F.conv1d(around.view(1, 1, -1), shift[b].view(1, 1, -1)).view(-1)
        sharp = turned**gamma
        return sharp / (sharp.sum(dim=1, keepdim=True) + 1e-16)

    def forward(self, x: Tensor) -> Tensor:
        n, steps = x.shape[:2]
        memory = self.memory_bias.clone().repeat(n, 1, 1)
        h = c = x.new_zeros(n, 16)
        read = x.new_zeros(n, self.width)
        read_at = write_at = x.new_zeros(n, memory.size(1))
        outputs = []
        for step in range(steps):
            h, c = self.controller(torch.cat([x[:, step], read], dim=1), (h, c))
            read_at = self.address(memory, self.read(h), read_at)
            read = torch.bmm(read_at.unsqueeze(1), memory).squeeze(1)
            said, erase, add = torch.split(self.write(h), [self.width + 6, self.width, self.width], dim=1)
            write_at = self.address(memory, said, write_at)
            memory = memory * (1 - torch.einsum("bn,bw->bnw", write_at, torch.sigmoid(erase)))
            memory = memory + torch.einsum("bn,bw->bnw", write_at, add)
            outputs.append(self.out(torch.cat([h, read], dim=1)))
        return torch.stack(outputs, dim=1)


class MLstmCell(nn.Module):
    """The matrix memory of xLSTM, with exponential gates and their stabilizer."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.i, self.f = nn.Linear(width, heads), nn.Linear(width, heads)
        self.norm = nn.GroupNorm(heads, width)
        nn.init.constant_(self.f.bias, 3.0)

    def forward(self, x: Tensor) -> Tensor:
        n, steps, width = x.shape
        q, k, v = (part(x).view(n, steps, self.heads, self.size) for part in (self.q, self.k, self.v))
        k = k / math.sqrt(self.size)
        i_gate, f_gate = self.i(x), F.logsigmoid(self.f(x))
        memory = x.new_zeros(n, self.heads, self.size, self.size)
        total, most = x.new_zeros(n, self.heads, self.size), x.new_zeros(n, self.heads)
        answer = []
        for t in range(steps):
            largest = torch.max(f_gate[:, t] + most, i_gate[:, t])
            i = torch.exp(i_gate[:, t] - largest)[..., None]
            f = torch.exp(f_gate[:, t] + most - largest)[..., None]
            most = largest
            memory = f[..., None] * memory + i[..., None] * (v[:, t, :, :, None] @ k[:, t, :, None, :])
            total = f * total + i * k[:, t]
            scale = torch.maximum((total * q[:, t]).sum(-1).abs(), torch.exp(-most))[..., None]
            answer.append((memory @ q[:, t, :, :, None]).squeeze(-1) / (scale + 1e-6))
        h = torch.stack(answer, 1).reshape(n * steps, width)
        return torch.sigmoid(self.o(x)) * self.norm(h).view(n, steps, width)


class SLstmCell(nn.Module):
    """The scalar memory of xLSTM: its recurrence is one matrix for each head."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.gates = nn.Linear(width, 4 * width)
        self.recurrent = nn.Parameter(torch.randn(4, heads, width // heads, width // heads) * 0.2)

    def forward(self, x: Tensor) -> Tensor:
        n, steps, width = x.shape
        h = c = m = x.new_zeros(n, width)
        z = x.new_ones(n, width)
        answer = []
        for t in range(steps):
            again = torch.einsum("ghij,nhj->gnhi", self.recurrent, h.view(n, self.heads, -1)).reshape(4, n, width)
            i, f, o, u = (a + b for a, b in zip(self.gates(x[:, t]).chunk(4, -1), again.unbind(0), strict=True))
            f = F.logsigmoid(f)
            new = torch.maximum(f + m, i)
            i, f = (i - new).exp(), (f + m - new).exp()
            c, z, m = f * c + i * u.tanh(), f * z + i, new
            h = o.sigmoid() * (c / z)
            answer.append(h)
        return torch.stack(answer, 1)


class XLstm(nn.Module):
    def __init__(self, words: int = 20, width: int = 12) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.blocks = nn.ModuleList([MLstmCell(width, 2), SLstmCell(width, 2)])
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in self.blocks)
        self.head = nn.Linear(width, words)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.words(tokens)
        for norm, block in zip(self.norms, self.blocks, strict=True):
            x = x + block(norm(x))
        return self.head(x)


def per_token(logits: Tensor, target: Tensor) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), target.flatten())


class Performer(nn.Module):
    """Causal attention by random features that are orthogonal and stay as they were drawn."""

    def __init__(self, width: int = 16, heads: int = 2, features: int = 12) -> None:
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, 3)
        blocks = []
        for _ in range(math.ceil(features / self.size)):
            q, _ = torch.linalg.qr(torch.randn(self.size, self.size))
            blocks.append(q.t())
        lengths = torch.randn(features, self.size).norm(dim=1)
        self.register_buffer("projection", lengths[:, None] * torch.cat(blocks)[:features])

    def features(self, x: Tensor, query: bool) -> Tensor:
        x = x * self.size**-0.25
        projected = torch.einsum("bhnd,md->bhnm", x, self.projection)
        half = x.square().sum(-1, keepdim=True) / 2
        if query:
            largest = projected.amax(dim=-1, keepdim=True).detach()
        else:
            largest = projected.amax(dim=(-1, -2), keepdim=True).detach()
        return (torch.exp(projected - half - largest) + 1e-4) * self.projection.size(0) ** -0.5

    def forward(self, x: Tensor) -> Tensor:
        n, length, _ = x.shape
        q, k, v = self.qkv(x).view(n, length, 3, self.heads, self.size).permute(2, 0, 3, 1, 4)
        q, k = self.features(q, True), self.features(k, False)
        sums = torch.einsum("bhnm,bhnd->bhnmd", k, v).cumsum(dim=2)
        scale = 1.0 / torch.einsum("bhnm,bhnm->bhn", q, k.cumsum(dim=2))
        y = torch.einsum("bhnm,bhnmd,bhn->bhnd", q, sums, scale)
        return self.out(y.transpose(1, 2).reshape(n, length, -1).mean(1))


class Mamba(nn.Module):
    """A selective state space: what it forgets depends on what it reads."""

    def __init__(self, width: int = 8, inner: int = 16, state: int = 4, rank: int = 2) -> None:
        super().__init__()
        self.state, self.rank = state, rank
        self.in_proj, self.out_proj = nn.Linear(width, 2 * inner, bias=False), nn.Linear(inner, width, bias=False)
        self.conv1d = nn.Conv1d(inner, inner, 4, padding=3, groups=inner)
        self.x_proj = nn.Linear(inner, rank + 2 * state, bias=False)
        self.dt_proj = nn.Linear(rank, inner)
        self.A_log = nn.Parameter(torch.log(torch.arange(1, state + 1, dtype=torch.float32).repeat(inner, 1)))
        self.D = nn.Parameter(torch.ones(inner))

    def forward(self, x: Tensor) -> Tensor:
        n, length, _ = x.shape
        u, gate = self.in_proj(x).chunk(2, dim=-1)
        u = F.silu(self.conv1d(u.transpose(1, 2))[..., :length].transpose(1, 2))
        dt, b, c = self.x_proj(u).split([self.rank, self.state, self.state], dim=-1)
        dt = F.softplus(self.dt_proj(dt))
        a = -torch.exp(self.A_log.float())
        keep = torch.exp(torch.einsum("bld,dn->bldn", dt, a))
        given = torch.einsum("bld,bln,bld->bldn", dt, b, u)
        h = torch.zeros(n, u.size(-1), self.state, device=x.device, dtype=x.dtype)
        ys = []
        for t in range(length):
            h = keep[:, t] * h + given[:, t]
            ys.append(torch.einsum("bdn,bn->bd", h, c[:, t]))
        y = torch.stack(ys, dim=1) + u * self.D
        return self.out_proj(y * F.silu(gate))


class Rwkv(nn.Module):
    """The time mixing of RWKV: a weighted average whose numerator and denominator are kept in one exponent."""

    def __init__(self, width: int = 10) -> None:
        super().__init__()
        self.decay, self.first = nn.Parameter(torch.linspace(-3, 1, width)), nn.Parameter(torch.ones(width) * 0.3)
        self.mix = nn.Parameter(torch.rand(3, width))
        self.key, self.value, self.receptance = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.shift = nn.ZeroPad2d((0, 0, 1, -1))

    def forward(self, x: Tensor) -> Tensor:
        before = self.shift(x)
        k, v, r = (x * m + before * (1 - m) for m in self.mix)
        k, v, r = self.key(k), self.value(v), torch.sigmoid(self.receptance(r))
        w = -torch.exp(self.decay)
        top, bottom, most = torch.zeros_like(k[:, 0]), torch.zeros_like(k[:, 0]), torch.full_like(k[:, 0], -1e38)
        out = torch.empty_like(v)
        for t in range(x.size(1)):
            now = torch.maximum(most, self.first + k[:, t])
            e1, e2 = torch.exp(most - now), torch.exp(self.first + k[:, t] - now)
            out[:, t] = (e1 * top + e2 * v[:, t]) / (e1 * bottom + e2)
            now = torch.maximum(most + w, k[:, t])
            e1, e2 = torch.exp(most + w - now), torch.exp(k[:, t] - now)
            top, bottom, most = e1 * top + e2 * v[:, t], e1 * bottom + e2, now
        return r * out


class RetNet(nn.Module):
    """Retention in its parallel form: rotations, and one decay for each head in a mask made of buffers."""

    def __init__(self, width: int = 16, heads: int = 2, length: int = 12) -> None:
        super().__init__()
        self.heads = heads
        self.qkvg, self.out = nn.Linear(width, 4 * width, bias=False), nn.Linear(width, width, bias=False)
        self.norm = nn.LayerNorm(width // heads, elementwise_affine=False)
        self.register_buffer("decay", torch.log(1 - 2 ** (-5 - torch.arange(heads, dtype=torch.float))))
        self.register_buffer("index", torch.arange(length).float())

    def forward(self, x: Tensor) -> Tensor:
        n, length, width = x.shape
        distance = self.index[:length, None] - self.index[None, :length]
        mask = torch.masked_fill(distance, ~torch.tril(torch.ones(length, length)).bool(), float("inf"))
        mask = torch.nan_to_num(torch.exp(mask * self.decay[:, None, None]))
        mask = mask / mask.sum(dim=-1, keepdim=True).sqrt()
        q, k, v, g = self.qkvg(x).chunk(4, dim=-1)
        q, k, v = (y.view(n, length, self.heads, -1).transpose(1, 2) for y in (q, k * (width // self.heads) ** -0.5, v))
        kept = q @ k.transpose(-1, -2) * mask
        kept = kept / kept.detach().sum(dim=-1, keepdim=True).abs().clamp(min=1)
        y = self.norm((kept @ v).transpose(1, 2)).flatten(2)
        return self.out(F.silu(g) * y)


class TransformerXl(nn.Module):
    """Relative positions by the shift of a padded matrix, two biases, a memory of the segment before."""

    inv_freq: Tensor

    def __init__(self, width: int = 12, heads: int = 3) -> None:
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.q, self.kv = nn.Linear(width, width, bias=False), nn.Linear(width, 2 * width, bias=False)
        self.r = nn.Linear(width, width, bias=False)
        self.u, self.v = nn.Parameter(torch.zeros(heads, self.size)), nn.Parameter(torch.zeros(heads, self.size))
        self.register_buffer("inv_freq", 1 / (10000 ** (torch.arange(0.0, width, 2.0) / width)))
        self.register_buffer("memory", torch.randn(4, 3, width))
        self.head = nn.Linear(width, 4)

    def rel_shift(self, x: Tensor) -> Tensor:
        n, h, rows, columns = x.shape
        padded = torch.cat([x.new_zeros(n, h, rows, 1), x], dim=-1).view(n, h, columns + 1, rows)
        return padded[:, :, 1:].view_as(x)

    def forward(self, x: Tensor) -> Tensor:
        n, length, width = x.shape
        seen = torch.cat([self.memory.transpose(0, 1), x], dim=1)
        total = seen.size(1)
        self.memory.copy_(x.detach()[:, -4:].transpose(0, 1))
        places = torch.arange(total - 1, -1, -1.0)
        angles = torch.outer(places, self.inv_freq)
        r = self.r(torch.cat([angles.sin(), angles.cos()], dim=-1)).view(total, self.heads, self.size)
        q = self.q(x).view(n, length, self.heads, self.size)
        k, v = self.kv(seen).view(n, total, 2, self.heads, self.size).unbind(2)
        content = torch.einsum("bihd,bjhd->bhij", q + self.u, k)
        place = self.rel_shift(torch.einsum("bihd,jhd->bhij", q + self.v, r))
        mask = torch.ones(length, total, dtype=torch.uint8).triu(1 + total - length).bool()
        scores = (content + place).div_(self.size**0.5).masked_fill_(mask, -float("inf"))
        y = torch.einsum("bhij,bjhd->bihd", scores.softmax(dim=-1), v)
        return self.head(y.reshape(n, length, width))


class PointerNetwork(nn.Module):
    """The decoder points at inputs, and a mask that is written in place forbids those that it has pointed at."""

    def __init__(self, hidden: int = 12) -> None:
        super().__init__()
        self.encoder, self.cell = nn.LSTM(2, hidden, batch_first=True), nn.LSTMCell(2, hidden)
        self.w1, self.w2 = nn.Linear(hidden, hidden, bias=False), nn.Linear(hidden, hidden, bias=False)
        self.v, self.start = nn.Linear(hidden, 1, bias=False), nn.Parameter(torch.zeros(2))

    def forward(self, points: Tensor, tour: Tensor) -> Tensor:
        n, length, _ = points.shape
        states, (h, c) = self.encoder(points)
        h, c = h.squeeze(0), c.squeeze(0)
        x = self.start.expand(n, -1)
        mask = torch.zeros(n, length, dtype=torch.bool)
        rows = torch.arange(n)
        loss = points.new_zeros(())
        for step in range(length):
            h, c = self.cell(x, (h, c))
            scores = self.v(torch.tanh(self.w1(states) + self.w2(h).unsqueeze(1))).squeeze(-1)
            log_p = F.log_softmax(scores.masked_fill(mask.clone(), -1e9), dim=-1)
            chosen = tour[:, step]
            loss = loss - log_p[rows, chosen].mean()
            mask[rows, chosen] = True
            x = points.gather(1, chosen.view(-1, 1, 1).expand(-1, 1, 2)).squeeze(1)
        return loss / length


class LinearChainCrf(nn.Module):
    """The partition function by a loop of log-sum-exp; shorter sequences keep their score where the mask is off."""

    def __init__(self, tags: int = 5) -> None:
        super().__init__()
        self.words, self.rnn = nn.Embedding(20, 8), nn.GRU(8, 6, batch_first=True, bidirectional=True)
        self.emit = nn.Linear(12, tags)
        self.start, self.end = nn.Parameter(torch.randn(tags) * 0.1), nn.Parameter(torch.randn(tags) * 0.1)
        self.transitions = nn.Parameter(torch.randn(tags, tags) * 0.1)

    def forward(self, tokens: Tensor, tags: Tensor) -> Tensor:
        mask = tokens.ne(0)
        e = self.emit(self.rnn(self.words(tokens))[0]).transpose(0, 1)
        tags, on = tags.transpose(0, 1), mask.transpose(0, 1)
        rows = torch.arange(tokens.size(0))
        gold = self.start[tags[0]] + e[0, rows, tags[0]]
        score = self.start + e[0]
        for t in range(1, e.size(0)):
            gold = gold + (self.transitions[tags[t - 1], tags[t]] + e[t, rows, tags[t]]) * on[t]
            following = torch.logsumexp(score.unsqueeze(2) + self.transitions + e[t].unsqueeze(1), dim=1)
            score = torch.where(on[t].unsqueeze(1), following, score)
        last = on.long().sum(dim=0) - 1
        gold = gold + self.end[tags[last, rows]]
        return (torch.logsumexp(score + self.end, dim=1) - gold).sum() / mask.float().sum()


class Tacotron(nn.Module):
    """Attention that sees where it was; frames and stop tokens by teacher forcing; a postnet; three losses."""

    def __init__(self, mel: int = 6, width: int = 12) -> None:
        super().__init__()
        self.words = nn.Embedding(20, width)
        self.conv = nn.Sequential(nn.Conv1d(width, width, 5, padding=2), nn.BatchNorm1d(width), nn.ReLU())
        self.encoder = nn.LSTM(width, width // 2, batch_first=True, bidirectional=True)
        self.prenet = nn.Sequential(nn.Linear(mel, 8, bias=False), nn.ReLU(), nn.Linear(8, 8, bias=False), nn.ReLU())
        self.attention_rnn, self.decoder_rnn = nn.LSTMCell(8 + width, width), nn.LSTMCell(2 * width, width)
        self.query, self.memory = nn.Linear(width, 8, bias=False), nn.Linear(width, 8, bias=False)
        self.location_conv, self.location = nn.Conv1d(2, 4, 5, padding=2, bias=False), nn.Linear(4, 8, bias=False)
        self.v = nn.Linear(8, 1, bias=False)
        self.project, self.gate = nn.Linear(2 * width, mel), nn.Linear(2 * width, 1)
        self.postnet = nn.Sequential(
            nn.Conv1d(mel, 8, 5, padding=2), nn.BatchNorm1d(8), nn.Tanh(), nn.Conv1d(8, mel, 5, padding=2)
        )

    def forward(self, text: Tensor, lengths: Tensor, mels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x = self.conv(self.words(text).transpose(1, 2)).transpose(1, 2)
        memory, _ = self.encoder(x)
        keys = self.memory(memory)
        padded = ~(torch.arange(text.size(1)) < lengths.unsqueeze(1))
        n = text.size(0)
        h = c = dh = dc = context = memory.new_zeros(n, memory.size(-1))
        weights = total = memory.new_zeros(n, text.size(1))
        frames = torch.cat([mels.new_zeros(n, 1, mels.size(-1)), mels[:, :-1]], dim=1)
        inputs = self.prenet(frames)
        out, stop = [], []
        for t in range(mels.size(1)):
            h, c = self.attention_rnn(torch.cat((inputs[:, t], context), -1), (h, c))
            where = self.location_conv(torch.stack((weights, total), dim=1)).transpose(1, 2)
            energy = self.v(torch.tanh(self.query(h.unsqueeze(1)) + self.location(where) + keys)).squeeze(-1)
            energy = energy.masked_fill_(padded, -1e4)
            weights = F.softmax(energy, dim=1)
            context = torch.bmm(weights.unsqueeze(1), memory).squeeze(1)
            total = total + weights
            dh, dc = self.decoder_rnn(torch.cat((h, context), -1), (dh, dc))
            both = torch.cat((dh, context), dim=1)
            out.append(self.project(both))
            stop.append(self.gate(both).squeeze(-1))
        mel = torch.stack(out).transpose(0, 1).contiguous()
        return mel, mel + self.postnet(mel.transpose(1, 2)).transpose(1, 2), torch.stack(stop, dim=1)


def tacotron_loss(output: tuple[Tensor, Tensor, Tensor], target: tuple[Tensor, Tensor]) -> Tensor:
    mel, post, gate = output
    wanted, stop = target
    wanted.requires_grad = False
    return (
        nn.MSELoss()(mel, wanted)
        + nn.MSELoss()(post, wanted)
        + nn.BCEWithLogitsLoss()(gate.view(-1, 1), stop.view(-1, 1))
    )


class WaveNet(nn.Module):
    """Gated convolutions that look back alone, skips, classes of the mu law."""

    def __init__(self, levels: int = 16, width: int = 8) -> None:
        super().__init__()
        self.levels = levels
        self.first = nn.Conv1d(levels, width, 1)
        self.dilations = [1, 2, 4]
        self.gates = nn.ModuleList(nn.Conv1d(width, 2 * width, 2, dilation=d) for d in self.dilations)
        self.residual, self.skip = (nn.ModuleList(nn.Conv1d(width, width, 1) for _ in self.dilations) for _ in range(2))
        self.last = nn.Sequential(nn.ReLU(), nn.Conv1d(width, width, 1), nn.ReLU(), nn.Conv1d(width, levels, 1))

    def forward(self, wave: Tensor) -> Tensor:
        mu = self.levels - 1.0
        squeezed = torch.sign(wave) * torch.log1p(mu * wave.abs()) / math.log1p(mu)
        coded = ((squeezed + 1) / 2 * mu + 0.5).long().clamp(0, self.levels - 1)
        x = self.first(F.one_hot(coded[:, :-1], self.levels).float().permute(0, 2, 1))
        skips = 0
        for d, gate, residual, skip in zip(self.dilations, self.gates, self.residual, self.skip, strict=True):
            f, g = gate(F.pad(x, (d, 0))).chunk(2, dim=1)
            y = torch.tanh(f) * torch.sigmoid(g)
            skips = skip(y) + skips
            x = residual(y) + x
        return F.cross_entropy(self.last(skips), coded[:, 1:])


class MemoryNetwork(nn.Module):
    """End-to-end memory: hops over sentences, positions weighed by a buffer, padding without a gradient."""

    def __init__(self, words: int = 24, width: int = 10, hops: int = 3, length: int = 5) -> None:
        super().__init__()
        self.hops = hops
        self.tables = nn.ModuleList(nn.Embedding(words, width, padding_idx=0) for _ in range(hops + 1))
        j, k = torch.arange(1, length + 1)[:, None] / length, torch.arange(1, width + 1)[None] / width
        self.register_buffer("encoding", (1 - j) - k * (1 - 2 * j))
        self.time = nn.Parameter(torch.randn(6, width) * 0.1)

    def forward(self, story: Tensor, query: Tensor) -> Tensor:
        u = (self.tables[0](query) * self.encoding).sum(1)
        for hop in range(self.hops):
            m = (self.tables[hop](story) * self.encoding).sum(2) + self.time
            c = (self.tables[hop + 1](story) * self.encoding).sum(2)
            p = torch.softmax((m * u[:, None]).sum(-1), dim=-1)
            u = u + torch.einsum("bs,bsd->bd", p, c)
        return u @ self.tables[-1].weight.T


class AdaptiveComputation(nn.Module):
    """Halting by masks: every sample takes part until its probabilities reach a threshold; a ponder cost."""

    def __init__(self, width: int = 8, most: int = 5) -> None:
        super().__init__()
        self.most = most
        self.step, self.halt, self.head = nn.GRUCell(4, width), nn.Linear(width, 1), nn.Linear(width, 3)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        h = x.new_zeros(x.size(0), 8)
        total = x.new_zeros(x.size(0))
        mean = torch.zeros_like(h)
        ponder = torch.zeros_like(total)
        for step in range(self.most):
            running = (total < 0.99).float()
            h = self.step(x, h)
            p = torch.sigmoid(self.halt(h)).squeeze(-1)
            over = (total + p * running > 0.99).float() * running
            if step == self.most - 1:
                over = running
            share = p * (running - over) + over * (1 - total)
            total = total + share
            ponder = ponder + running + over * (1 - total.detach())
            mean = mean + share.unsqueeze(1) * h
        return F.cross_entropy(self.head(mean), y) + 0.01 * (ponder.mean() + total.mean())


class PonderUntilDone(nn.Module):
    """The same as many write it first: a loop that ends when the data say so."""

    def __init__(self) -> None:
        super().__init__()
        self.step, self.halt, self.head = nn.GRUCell(4, 8), nn.Linear(8, 1), nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        h, total = x.new_zeros(x.size(0), 8), x.new_zeros(x.size(0))
        while (total < 0.99).any():
            h = self.step(x, h)
            total = total + torch.sigmoid(self.halt(h)).squeeze(-1)
        return self.head(h)


class MinGru(nn.Module):
    """A gated recurrence without a loop: a scan in logarithms."""

    def __init__(self, width: int = 6) -> None:
        super().__init__()
        self.hidden_and_gate, self.out = nn.Linear(4, 2 * width), nn.Linear(width, 2)

    def forward(self, x: Tensor) -> Tensor:
        hidden, gate = self.hidden_and_gate(x).chunk(2, dim=-1)
        log_keep, log_z = -F.softplus(gate), -F.softplus(-gate)
        log_g = torch.where(hidden >= 0, (F.relu(hidden) + 0.5).log(), -F.softplus(-hidden))
        a = log_keep.cumsum(dim=1)
        h = (a + (log_z + log_g - a).logcumsumexp(dim=1)).exp()
        return self.out(h)


class Linformer(nn.Module):
    """Keys and values projected along the sequence; learned sparse positions by ALiBi's slopes."""

    def __init__(self, width: int = 12, heads: int = 2, length: int = 10, short: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.e, self.f = nn.Parameter(torch.randn(length, short) * 0.3), nn.Parameter(torch.randn(length, short) * 0.3)
        self.register_buffer("slopes", torch.tensor([2 ** (-8 * (h + 1) / heads) for h in range(heads)]))

    def forward(self, x: Tensor) -> Tensor:
        n, length, _ = x.shape

        def split(y: Tensor) -> Tensor:
            return y.reshape(n, -1, self.heads, y.size(-1) // self.heads).swapaxes(1, 2)

        q, k = split(self.q(x)), split(torch.einsum("bnd,nk->bkd", self.k(x), self.e))
        v = split(torch.einsum("bnd,nk->bkd", self.v(x), self.f))
        far = (torch.arange(length)[:, None] - torch.arange(k.size(2))[None] * length // k.size(2)).abs()
        scores = q @ k.mT / math.sqrt(q.size(-1)) - self.slopes.view(1, -1, 1, 1) * far
        return self.o((scores.softmax(-1) @ v).swapaxes(1, 2).flatten(-2))


class Perceiver(nn.Module):
    """Latents that read a long input again and again by shared weights."""

    def __init__(self, width: int = 12) -> None:
        super().__init__()
        self.latents = nn.Parameter(torch.randn(4, width).clamp(-2, 2) * 0.2)
        self.cross = nn.MultiheadAttention(width, 2, kdim=5, vdim=5, batch_first=True)
        self.own = nn.MultiheadAttention(width, 3, batch_first=True)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.head = nn.Linear(width, 3)

    def forward(self, x: Tensor, padding: Tensor) -> Tensor:
        z = self.latents.unsqueeze(0).expand(x.size(0), -1, -1)
        for _ in range(2):
            z = z + self.cross(self.norms[0](z), x, x, key_padding_mask=padding, need_weights=False)[0]
            h = self.norms[1](z)
            z = z + self.own(h, h, h, need_weights=False)[0]
            z = z + self.mlp(self.norms[2](z))
        return self.head(z.mean(dim=1))


class NBeats(nn.Module):
    """Blocks that explain a part of the past and leave the rest to the next, on bases in buffers."""

    def __init__(self, past: int = 10, future: int = 4, degree: int = 3) -> None:
        super().__init__()
        t_past, t_future = torch.linspace(0, 1, past), torch.linspace(0, 1, future)
        self.register_buffer("trend_past", torch.stack([t_past**i for i in range(degree)]))
        self.register_buffer("trend_future", torch.stack([t_future**i for i in range(degree)]))
        waves = [f(2 * math.pi * i * t) for t in (t_past, t_future) for f in (torch.cos, torch.sin) for i in (1, 2)]
        self.register_buffer("season_past", torch.stack(waves[:4]))
        self.register_buffer("season_future", torch.stack(waves[4:]))
        self.bodies = nn.ModuleList(
            nn.Sequential(nn.Linear(past, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU()) for _ in "ab"
        )
        self.thetas = nn.ModuleList([nn.Linear(16, 2 * degree), nn.Linear(16, 8)])

    def forward(self, x: Tensor) -> Tensor:
        forecast = x.new_zeros(())
        for body, theta, past, future in zip(
            self.bodies,
            self.thetas,
            (self.trend_past, self.season_past),
            (self.trend_future, self.season_future),
            strict=True,
        ):
            a, b = torch.tensor_split(theta(body(x)), 2, dim=-1)
            x = x - torch.einsum("bp,pt->bt", a, past)
            forecast = forecast + torch.einsum("bp,pt->bt", b, future)
        return forecast


def smape(output: Tensor, target: Tensor) -> Tensor:
    off = 2 * (output - target).abs() / (output.abs().detach() + target.abs() + 1e-8)
    return off.nan_to_num(0.0).mean() + torch.max(0.9 * (target - output), -0.1 * (target - output)).mean()


class DeepAr(nn.Module):
    """A distribution for every step, by torch.distributions."""

    def __init__(self) -> None:
        super().__init__()
        self.rnn, self.mean, self.scale = nn.LSTM(3, 8, 2, batch_first=True), nn.Linear(8, 1), nn.Linear(8, 1)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        before = torch.cat([torch.zeros_like(y[:, :1]), y[:, :-1]], dim=1)
        h, _ = self.rnn(torch.cat([x, before[..., None]], dim=-1))
        mean, scale = self.mean(h).squeeze(-1), F.softplus(self.scale(h)).squeeze(-1) + 1e-3
        gaussian = torch.distributions.Normal(mean, scale).log_prob(y)
        heavy = torch.distributions.Laplace(mean, scale, validate_args=False).log_prob(y)
        return -(0.7 * gaussian + 0.3 * heavy).mean()


class SoftDtw(nn.Module):
    """Two loops over cells, each a soft minimum of its three neighbours."""

    def __init__(self, gamma: float = 0.5) -> None:
        super().__init__()
        self.gamma, self.net = gamma, nn.Linear(3, 4)

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        cost = torch.cdist(self.net(a), self.net(b)) ** 2
        n, rows, columns = cost.shape
        far = cost.new_full((n,), 1e6)
        table = [[far] * (columns + 1) for _ in range(rows + 1)]
        table[0][0] = cost.new_zeros(n)
        for i in range(rows):
            for j in range(columns):
                near = torch.stack([table[i][j], table[i][j + 1], table[i + 1][j]], dim=-1)
                table[i + 1][j + 1] = cost[:, i, j] - self.gamma * torch.logsumexp(-near / self.gamma, dim=-1)
        return table[rows][columns].mean()


class PackedTagger(nn.Module):
    """Sequences of different lengths as PyTorch's tutorial has them."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.rnn, self.head = nn.Embedding(20, 8), nn.LSTM(8, 8, batch_first=True), nn.Linear(8, 3)

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(self.words(tokens), lengths, batch_first=True)
        _, (h, _) = self.rnn(packed)
        return self.head(h[-1])


class FNet(nn.Module):
    """Tokens mixed by Fourier's transform."""

    def __init__(self) -> None:
        super().__init__()
        self.net, self.head = nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = x + torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real
        return self.head(F.gelu(self.net(x)).mean(1))


def lengths_of(*lengths: int) -> Tensor:
    return torch.tensor(lengths)


CASES = {
    "neural_turing_machine": Case(
        NeuralTuringMachine,
        lambda: ((real(3, 6, 4),), classes(2, 3, 6, 4).float()),
        F.binary_cross_entropy_with_logits,
        lr=0.1,
    ),
    "xlstm": Case(XLstm, lambda: ((ids(20, 3, 8),), classes(20, 3, 8)), per_token, lr=0.1),
    "performer": Case(Performer, lambda: ((real(4, 10, 16),), classes(3, 4)), F.cross_entropy, lr=0.1),
    "mamba": Case(Mamba, lambda: ((real(3, 12, 8),), real(3, 12, 8)), F.mse_loss, lr=0.1),
    "rwkv": Case(Rwkv, lambda: ((real(3, 8, 10),), real(3, 8, 10)), F.mse_loss, lr=0.1),
    "retnet": Case(RetNet, lambda: ((real(3, 12, 16),), real(3, 12, 16)), F.smooth_l1_loss, lr=0.1),
    "transformer_xl": Case(TransformerXl, lambda: ((real(3, 8, 12),), classes(4, 3, 8)), per_token, lr=0.1),
    "pointer_network": Case(
        PointerNetwork,
        lambda: ((torch.rand(4, 6, 2), torch.stack([torch.randperm(6) for _ in range(4)])), None),
        None,
        lr=0.1,
    ),
    "crf": Case(
        LinearChainCrf,
        lambda: ((ids(19, 4, 7).add(1) * (torch.arange(7) < lengths_of(7, 5, 6, 2)[:, None]), classes(5, 4, 7)), None),
        None,
        lr=0.1,
    ),
    "tacotron": Case(
        Tacotron,
        lambda: (
            (ids(20, 3, 7), lengths_of(7, 6, 4), real(3, 8, 6)),
            (real(3, 8, 6), (torch.arange(8) > 6).float().repeat(3, 1)),
        ),
        tacotron_loss,
        lr=0.05,
    ),
    "wavenet": Case(WaveNet, lambda: ((real(3, 20),), None), None, lr=0.1),
    "memory_network": Case(
        MemoryNetwork, lambda: ((ids(24, 4, 6, 5), ids(24, 4, 5)), classes(24, 4)), F.cross_entropy, lr=0.05
    ),
    "adaptive_computation": Case(AdaptiveComputation, lambda: ((real(6, 4), classes(3, 6)), None), None, lr=0.1),
    "ponder_until_done": Case(
        PonderUntilDone,
        lambda: ((real(6, 4),), classes(3, 6)),
        F.cross_entropy,
        refused=Refusal("E0407", "a branch of Python depends on the data", "while (total < 0.99).any():"),
    ),
    "min_gru": Case(MinGru, lambda: ((real(4, 9, 4),), real(4, 9, 2)), F.mse_loss, lr=0.1),
    "linformer": Case(Linformer, lambda: ((real(3, 10, 12),), real(3, 10, 12)), F.huber_loss, lr=0.1),
    "perceiver": Case(
        Perceiver,
        lambda: ((real(4, 9, 5), torch.arange(9) >= lengths_of(9, 6, 7, 3)[:, None]), classes(3, 4)),
        F.cross_entropy,
        lr=0.1,
    ),
    "n_beats": Case(NBeats, lambda: ((real(6, 10),), real(6, 4)), smape, lr=0.01),
    "deep_ar": Case(DeepAr, lambda: ((real(4, 8, 2), real(4, 8)), None), None, lr=0.05),
    "soft_dtw": Case(SoftDtw, lambda: ((real(3, 6, 3), real(3, 5, 3)), None), None, lr=0.01),
    "packed_tagger": Case(
        PackedTagger,
        lambda: ((ids(20, 3, 6), lengths_of(6, 4, 2)), classes(3, 3)),
        F.cross_entropy,
        refused=Refusal("E0407", "packed sequences", "packed = nn.utils.rnn.pack_padded_sequence("),
    ),
    "f_net": Case(
        FNet,
        lambda: ((real(4, 6, 8),), classes(3, 4)),
        F.cross_entropy,
        refused=Refusal("E0407", "complex numbers", "x = x + torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real"),
    ),
}
