"""Transformers as Hugging Face writes them, encoders, decoders, sequences."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from .case import Case, classes, ids, real


class RmsNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        kind = x.dtype
        x = x.to(torch.float32)
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)).to(kind)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    a, b = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return x * cos + torch.cat((-b, a), -1) * sin


class LlamaLayer(nn.Module):
    def __init__(self, width: int = 32, heads: int = 4, shared: int = 2) -> None:
        super().__init__()
        self.heads, self.shared, self.size = heads, shared, width // heads
        self.q_proj, self.o_proj = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k_proj, self.v_proj = (
            nn.Linear(width, shared * self.size, bias=False),
            nn.Linear(width, shared * self.size, bias=False),
        )
        self.gate_proj, self.up_proj, self.down_proj = (
            nn.Linear(width, 64, bias=False),
            nn.Linear(width, 64, bias=False),
            nn.Linear(64, width, bias=False),
        )
        self.input_layernorm, self.post_attention_layernorm = RmsNorm(width), RmsNorm(width)

    def attend(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor) -> Tensor:
        n, length, _ = x.shape
        q = self.q_proj(x).view(n, length, self.heads, -1).transpose(1, 2)
        k, v = (p(x).view(n, length, self.shared, -1).transpose(1, 2) for p in (self.k_proj, self.v_proj))
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        k, v = (
            y[:, :, None].expand(-1, -1, self.heads // self.shared, -1, -1).reshape(n, self.heads, length, -1)
            for y in (k, v)
        )
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.o_proj(y.transpose(1, 2).contiguous().view(n, length, -1))

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor) -> Tensor:
        x = x + self.attend(self.input_layernorm(x), cos, sin, mask)
        h = self.post_attention_layernorm(x)
        return x + self.down_proj(F.silu(self.gate_proj(h)) * self.up_proj(h))


class LlamaForCausalLm(nn.Module):
    """The mask is made of the attention mask and the causal triangle; labels shift by one; the loss is in the
    output, as a dict has it."""

    def __init__(self, words: int = 48, width: int = 32) -> None:
        super().__init__()
        self.embed_tokens, self.norm = nn.Embedding(words, width), RmsNorm(width)
        self.layers = nn.ModuleList(LlamaLayer(width) for _ in range(2))
        self.lm_head = nn.Linear(width, words, bias=False)
        self.register_buffer("inv_freq", 1.0 / (10000 ** (torch.arange(0, 8, 2).float() / 8)), persistent=False)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor | None = None) -> dict[str, Any]:
        x, length = self.embed_tokens(input_ids), input_ids.shape[1]
        with torch.no_grad():
            angles = torch.arange(length)[:, None].float() * self.inv_freq[None]
            angles = torch.cat((angles, angles), -1)
            cos, sin = angles.cos(), angles.sin()
        least = torch.finfo(x.dtype).min
        causal = torch.full((length, length), least).triu(1)
        mask = causal[None, None] + (1.0 - attention_mask[:, None, None, :].to(x.dtype)) * least
        mask = mask.clamp(min=least)
        for layer in self.layers:
            x = layer(x, cos, sin, mask)
        logits = self.lm_head(self.norm(x)).float()
        if labels is None:
            return {"logits": logits}
        loss = F.cross_entropy(
            logits[:, :-1].reshape(-1, logits.size(-1)), labels[:, 1:].reshape(-1), ignore_index=-100
        )
        return {"loss": loss, "logits": logits}


class TiedLm(nn.Module):
    """The head shares the embedding's weight; learned positions; dropout of 0."""

    def __init__(self, words: int = 40, width: int = 24) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(16, width)
        layer = nn.TransformerEncoderLayer(
            width, 4, 48, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.body, self.norm = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.words.weight

    def forward(self, tokens: Tensor) -> Tensor:
        length = tokens.size(1)
        x = self.words(tokens) * math.sqrt(24) + self.places(torch.arange(length))
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        return self.head(self.norm(self.body(x, mask=mask, is_causal=True)))


def next_token(logits: Tensor, target: Tensor) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), target.flatten())


class T5Block(nn.Module):
    def __init__(self, width: int, heads: int, cross: bool) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(RmsNorm(width) for _ in range(3 if cross else 2))
        self.attention = nn.ModuleList(
            nn.ModuleDict({name: nn.Linear(width, width, bias=False) for name in "qkvo"})
            for _ in range(2 if cross else 1)
        )
        self.wi, self.wo = nn.Linear(width, 2 * width, bias=False), nn.Linear(2 * width, width, bias=False)

    def attend(self, index: int, x: Tensor, of: Tensor, bias: Tensor) -> Tensor:
        part, n = self.attention[index], x.size(0)
        q, k, v = (
            part[name](y).view(n, y.size(1), self.heads, -1).transpose(1, 2)
            for name, y in (("q", x), ("k", of), ("v", of))
        )
        weights = torch.softmax(torch.matmul(q * 0.3, k.transpose(-1, -2)) + bias, -1)
        return part["o"](torch.matmul(weights, v).transpose(1, 2).flatten(2))

    def forward(
        self, x: Tensor, bias: Tensor, memory: Tensor | None = None, memory_bias: Tensor | None = None
    ) -> Tensor:
        h = self.norms[0](x)
        x = x + self.attend(0, h, h, bias)
        if memory is not None and memory_bias is not None:
            x = x + self.attend(1, self.norms[1](x), memory, memory_bias)
        return x + self.wo(F.relu(self.wi(self.norms[-1](x))))


class T5(nn.Module):
    """Encoder and decoder with relative positions in buckets."""

    def __init__(self, words: int = 40, width: int = 24, heads: int = 3) -> None:
        super().__init__()
        self.shared = nn.Embedding(words, width)
        self.relative = nn.ModuleList(nn.Embedding(8, heads) for _ in range(2))
        self.encoder = nn.ModuleList(T5Block(width, heads, False) for _ in range(2))
        self.decoder = nn.ModuleList(T5Block(width, heads, True) for _ in range(2))
        self.norm = RmsNorm(width)

    def bias(self, which: int, length: int) -> Tensor:
        distance = torch.arange(length)[None] - torch.arange(length)[:, None]
        near = distance.abs().clamp(max=3)
        far = 2 + (torch.log(distance.abs().float().clamp(min=2) / 2) / math.log(4) * 2).long()
        bucket = torch.where(distance > 0, 4, 0) + torch.minimum(
            torch.where(distance.abs() < 2, near, far), torch.tensor(3)
        )
        return self.relative[which](bucket).permute(2, 0, 1)[None]

    def forward(self, source: Tensor, mask: Tensor, target: Tensor) -> Tensor:
        hidden = (1.0 - mask[:, None, None, :].float()) * -1e9
        x = self.shared(source)
        for block in self.encoder:
            x = block(x, self.bias(0, source.size(1)) + hidden)
        y = self.shared(F.pad(target[:, :-1], (1, 0)))
        length = target.size(1)
        later = torch.ones(length, length).triu(1) * -1e9
        for block in self.decoder:
            y = block(y, self.bias(1, length) + later, x, hidden)
        return F.linear(self.norm(y) * 24**-0.5, self.shared.weight)


class Whisper(nn.Module):
    """Sound by convolutions and an encoder of nn.TransformerEncoder; text by nn.TransformerDecoder, which reads it."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv1d(8, 24, 3, padding=1), nn.Conv1d(24, 24, 3, stride=2, padding=1)
        angles = torch.arange(10)[:, None] * torch.exp(-torch.arange(12) * 0.6)[None]
        self.register_buffer("places", torch.cat([angles.sin(), angles.cos()], 1))
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(24, 4, 48, dropout=0.0, activation="gelu", batch_first=True, norm_first=True),
            1,
            enable_nested_tensor=False,
        )
        self.decoder = nn.TransformerDecoder(
            nn.TransformerDecoderLayer(24, 4, 48, dropout=0.0, activation="gelu", batch_first=True, norm_first=True), 1
        )
        self.words, self.positions = nn.Embedding(30, 24), nn.Parameter(torch.randn(12, 24) * 0.1)

    def forward(self, sound: Tensor, tokens: Tensor) -> Tensor:
        x = F.gelu(self.conv2(F.gelu(self.conv1(sound)))).permute(0, 2, 1) + self.places
        x = self.encoder(x)
        y = self.words(tokens) + self.positions[: tokens.size(1)]
        mask = torch.full((tokens.size(1), tokens.size(1)), -math.inf).triu(1)
        return self.decoder(y, x, tgt_mask=mask) @ self.words.weight.t()


class Clip(nn.Module):
    """Images and texts side by side; the last token is found by argmax; a learned temperature."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, 24, 4, 4)
        self.cls, self.places = nn.Parameter(torch.randn(24) * 0.1), nn.Parameter(torch.randn(17, 24) * 0.1)
        self.image = nn.TransformerEncoderLayer(24, 4, 48, dropout=0.0, activation="gelu", batch_first=True)
        self.words, self.text = (
            nn.Embedding(40, 24),
            nn.TransformerEncoderLayer(24, 4, 48, dropout=0.0, activation="gelu", batch_first=True),
        )
        self.image_head, self.text_head = nn.Linear(24, 16, bias=False), nn.Linear(24, 16, bias=False)
        self.logit_scale = nn.Parameter(torch.tensor(1.5))

    def forward(self, pixels: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        x = self.patch(pixels).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.size(0), 1, -1), x], 1) + self.places
        image = self.image_head(self.image(x)[:, 0])
        y = self.text(self.words(tokens))
        text = self.text_head(y[torch.arange(y.size(0)), tokens.argmax(-1)])
        image, text = image / image.norm(dim=-1, keepdim=True), text / text.norm(dim=-1, keepdim=True)
        logits = self.logit_scale.exp() * image @ text.t()
        return logits, logits.t()


def contrast(logits: tuple[Tensor, Tensor]) -> Tensor:
    labels = torch.arange(logits[0].size(0))
    return (F.cross_entropy(logits[0], labels) + F.cross_entropy(logits[1], labels)) / 2


class PackedTagger(nn.Module):
    """What sequences of different lengths are without packing: a mask, and the last valid step."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.rnn, self.head = nn.Embedding(30, 12), nn.LSTM(12, 16, batch_first=True), nn.Linear(16, 4)

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        y, _ = self.rnn(self.words(tokens))
        last = y.gather(1, (lengths - 1)[:, None, None].expand(-1, 1, y.size(-1))).squeeze(1)
        return self.head(last)


class AttentiveSeq2Seq(nn.Module):
    """GRU cells in a Python loop, attention over the encoder's states, teacher forcing."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.encoder = nn.Embedding(24, 12), nn.GRU(12, 16, batch_first=True, bidirectional=True)
        self.bridge, self.cell = nn.Linear(32, 16), nn.GRUCell(12 + 32, 16)
        self.score, self.head = nn.Linear(16, 32, bias=False), nn.Linear(48, 24)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        states, last = self.encoder(self.words(source))
        h = torch.tanh(self.bridge(torch.cat([last[0], last[1]], -1)))
        answers, context = [], states.mean(1)
        for step in range(target.size(1)):
            h = self.cell(torch.cat([self.words(target[:, step]), context], -1), h)
            weights = torch.softmax(torch.bmm(states, self.score(h)[:, :, None]).squeeze(-1), -1)
            context = torch.einsum("bt,bth->bh", weights, states)
            answers.append(self.head(torch.cat([h, context], -1)))
        return torch.stack(answers, 1)


class Recurrent(nn.Module):
    """Every recurrent module of torch.nn, two layers and both directions, with initial states that train."""

    def __init__(self) -> None:
        super().__init__()
        self.rnn, self.gru = nn.RNN(6, 8, 2, nonlinearity="relu"), nn.GRU(8, 8, 1, bidirectional=True)
        self.lstm, self.start = nn.LSTM(16, 8, 2, proj_size=4), nn.Parameter(torch.randn(2, 1, 8) * 0.1)
        self.head = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        y, _ = self.rnn(x.transpose(0, 1), self.start.expand(-1, x.size(0), -1).contiguous())
        y, _ = self.gru(y)
        y, (h, _) = self.lstm(y)
        return self.head(h[-1] + y.mean(0))


class BagOfWords(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bag, self.head = nn.EmbeddingBag(50, 12, mode="mean", padding_idx=0), nn.Linear(12, 4)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.bag(tokens))


class Mixture(nn.Module):
    """Experts by the two best of a gate, with a loss that balances them."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.gate = nn.Embedding(40, 16), nn.Linear(16, 4, bias=False)
        self.up, self.down = nn.Parameter(torch.randn(4, 16, 32) * 0.2), nn.Parameter(torch.randn(4, 32, 16) * 0.2)
        self.head = nn.Linear(16, 40)

    def forward(self, tokens: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        x = self.words(tokens).flatten(0, 1)
        shares = torch.softmax(self.gate(x), -1)
        best, chosen = torch.topk(shares, 2, -1)
        weights = torch.zeros_like(shares).scatter(-1, chosen, best / best.sum(-1, keepdim=True))
        each = torch.einsum("nef,efd->ned", F.gelu(torch.einsum("nd,edf->nef", x, self.up)), self.down)
        logits = self.head(x + (weights[..., None] * each).sum(1))
        used = F.one_hot(chosen, 4).float().sum(1).mean(0)
        loss = F.cross_entropy(logits, labels.flatten()) + 0.01 * 4 * (used * shares.mean(0)).sum()
        return loss, logits


class LossFirst(nn.Module):
    """A tuple whose first member is the loss, as older models give it: told by a function."""

    def __init__(self) -> None:
        super().__init__()
        self.mixture = Mixture()

    def forward(self, tokens: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        return self.mixture(tokens, labels)


def mask(*shape: int) -> Tensor:
    rows, length = shape
    return (torch.arange(length)[None] < torch.randint(length // 2, length + 1, (rows, 1))).long()


CASES = {
    "hf_llama": Case(
        LlamaForCausalLm,
        lambda: ({"input_ids": ids(48, 3, 10), "attention_mask": mask(3, 10), "labels": classes(48, 3, 10)}, None),
        None,
        lr=0.1,
    ),
    "tied_lm": Case(TiedLm, lambda: ((ids(40, 3, 10),), classes(40, 3, 10)), next_token, lr=0.05),
    "t5_written": Case(
        T5, lambda: ((ids(40, 3, 8), mask(3, 8), ids(40, 3, 6)), classes(40, 3, 6)), next_token, lr=0.05
    ),
    "whisper": Case(Whisper, lambda: ((real(3, 8, 20), ids(30, 3, 7)), classes(30, 3, 7)), next_token, lr=0.05),
    "clip": Case(Clip, lambda: ((real(4, 3, 16, 16), ids(40, 4, 9)), None), contrast, lr=0.05),
    "padded_lstm": Case(
        PackedTagger, lambda: ((ids(30, 5, 8), torch.tensor([8, 3, 5, 1, 8])), classes(4, 5)), F.cross_entropy, lr=0.3
    ),
    "attentive_seq2seq": Case(
        AttentiveSeq2Seq, lambda: ((ids(24, 4, 7), ids(24, 4, 5)), classes(24, 4, 5)), next_token, lr=0.3
    ),
    "recurrent": Case(Recurrent, lambda: ((real(4, 6, 6),), classes(3, 4)), F.cross_entropy, lr=0.1),
    "bag_of_words": Case(BagOfWords, lambda: ((ids(50, 6, 9),), classes(4, 6)), F.cross_entropy, lr=0.5),
    "mixture": Case(LossFirst, lambda: ((ids(40, 3, 5), classes(40, 3, 5)), None), lambda output: output[0], lr=0.1),
}
