"""Random small PyTorch modules: the same seed, the same module, on every machine with the same PyTorch.

A program is a chain of pieces, each from a vector [batch, d], a sequence [batch, t, d] or an image [batch, c, h, w] to one of these. Pieces are
layers, functions, masks, buffers, shared weights and index arithmetic, written as people write them.
"""
import math
import random

import torch
import torch.nn.functional as F
from torch import nn

import pieces

BATCH, TARGETS = 4, 3


class Piece(nn.Module):
    """A function of a module's own parameters and buffers; told() says what it is."""

    def __init__(self, told, function, **parts):
        super().__init__()
        self.told, self.function = told, function
        for name, part in parts.items():
            if isinstance(part, nn.Module):
                self.add_module(name, part)
            elif isinstance(part, nn.Parameter):
                self.register_parameter(name, part)
            else:
                self.register_buffer(name, part)

    def forward(self, x):
        return self.function(self, x)


class Program(nn.Module):
    def __init__(self, pieces):
        super().__init__()
        self.pieces = nn.ModuleList(pieces)

    def forward(self, x):
        for piece in self.pieces:
            x = piece(x)
        return x

    def told(self):
        return " | ".join(piece.told for piece in self.pieces)


def parameter(*shape):
    return nn.Parameter(torch.randn(*shape) * 0.5 + 0.2)


POINTWISE = {
    "relu": F.relu, "gelu": F.gelu, "gelu tanh": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu, "tanh": torch.tanh, "sigmoid": torch.sigmoid,
    "elu": F.elu, "leaky_relu": lambda x: F.leaky_relu(x, 0.1), "softplus": F.softplus, "hardswish": F.hardswish, "hardsigmoid": F.hardsigmoid,
    "mish": F.mish, "selu": F.selu, "relu6": F.relu6, "hardtanh": F.hardtanh, "celu": lambda x: F.celu(x, 0.7), "softsign": F.softsign,
    "tanhshrink": F.tanhshrink, "logsigmoid": F.logsigmoid, "softshrink": F.softshrink, "hardshrink": F.hardshrink, "threshold": lambda x: F.threshold(x, 0.1, -0.2),
    "sin": torch.sin, "cos": torch.cos, "abs": torch.abs, "exp of minus square": lambda x: torch.exp(-x * x), "sqrt": lambda x: torch.sqrt(x * x + 1),
    "rsqrt": lambda x: torch.rsqrt(x * x + 0.5), "log": lambda x: torch.log(x.abs() + 1), "log1p": lambda x: torch.log1p(x * x), "square": torch.square,
    "pow 3": lambda x: x ** 3, "reciprocal": lambda x: 1 / (x * x + 1), "erf": torch.erf, "clamp": lambda x: x.clamp(-0.8, 0.9), "clamp min": lambda x: x.clamp(min=-0.3),
    "atan": torch.atan, "where": lambda x: torch.where(x > 0.1, x * 2, x - 1), "masked_fill": lambda x: x.masked_fill(x < -0.5, 0.25), "expm1": lambda x: torch.expm1(x.clamp(-1, 1)),
    "maximum": lambda x: torch.maximum(x, -0.5 * x), "minimum": lambda x: torch.minimum(x, x * x), "sign times": lambda x: torch.sign(x) * x * x,
    "floor apart": lambda x: x - torch.floor(x), "remainder": lambda x: torch.remainder(x, 0.7), "logic": lambda x: x * ((x > 0) & (x < 1)).float() + (x < -1).to(x.dtype),
    "not": lambda x: x * (~(x > 0.3)).to(x.dtype), "dropout 0": lambda x: F.dropout(x, 0.0), "sinh": lambda x: torch.sinh(x.clamp(-1, 1)), "tan": lambda x: torch.tan(x.clamp(-1, 1)),
}
ROWS = {  # along the last axis
    "softmax": lambda x: torch.softmax(x, -1), "log_softmax": lambda x: torch.log_softmax(x, -1), "mean apart": lambda x: x - x.mean(-1, keepdim=True),
    "standardized": lambda x: (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 0.1), "rms": lambda x: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5),
    "max apart": lambda x: x - x.amax(-1, keepdim=True), "sum": lambda x: x + x.sum(-1, keepdim=True) * 0.1, "cumsum": lambda x: torch.cumsum(x, -1) * 0.3,
    "flip": lambda x: torch.flip(x, [-1]), "roll": lambda x: torch.roll(x, 1, -1), "normalize": lambda x: F.normalize(x, dim=-1), "logsumexp": lambda x: x - torch.logsumexp(x, -1, keepdim=True),
    "var": lambda x: x / (x.var(-1, keepdim=True, unbiased=False) + 1), "norm": lambda x: x / (torch.linalg.vector_norm(x, dim=-1, keepdim=True) + 1), "prod": lambda x: x + 0.1 * torch.prod(x.clamp(0.5, 1.5), -1, keepdim=True),
    "argmax mask": lambda x: x * F.one_hot(x.argmax(-1), x.shape[-1]).to(x.dtype) + 0.5 * x, "sort": lambda x: torch.sort(x, -1).values, "top-k": lambda x: x + torch.topk(x, 2, -1).values.sum(-1, keepdim=True),
    "max values": lambda x: x - torch.max(x, -1, keepdim=True).values, "min": lambda x: x - torch.min(x, -1, keepdim=True).values, "cumsum mask": lambda x: x * (torch.cumsum((x > 0).to(torch.int64), -1) % 2).to(x.dtype),
}


POINTWISE |= pieces.POINTWISE
ROWS |= pieces.ROWS


def anywhere(draw, d):
    """A piece that keeps the shape [..., d]."""
    if draw.random() < 0.25:
        return pieces.of_rows(Piece, parameter, draw, d)

    def buffer_mask(self, x):
        return x * self.mask.to(x.dtype)
    choices = [
        lambda: (lambda name: Piece(name, lambda self, x: POINTWISE[name](x)))(draw.choice(sorted(POINTWISE))),
        lambda: (lambda name: Piece(name, lambda self, x: POINTWISE[name](x)))(draw.choice(sorted(POINTWISE))),
        lambda: (lambda name: Piece(name, lambda self, x: ROWS[name](x)))(draw.choice(sorted(ROWS))),
        lambda: Piece("linear", lambda self, x: self.f(x), f=nn.Linear(d, d)),
        lambda: Piece("linear without bias", lambda self, x: self.f(x), f=nn.Linear(d, d, bias=False)),
        lambda: Piece("shared linear", lambda self, x: self.f(torch.tanh(self.f(x))), f=nn.Linear(d, d)),
        lambda: Piece("tied weight", lambda self, x: torch.tanh(x @ self.w) @ self.w.t(), w=parameter(d, d)),
        lambda: Piece("residual", lambda self, x: x + self.g(F.relu(self.f(x))), f=nn.Linear(d, 2 * d), g=nn.Linear(2 * d, d)),
        lambda: Piece("swiglu", lambda self, x: self.h(F.silu(self.f(x)) * self.g(x)), f=nn.Linear(d, 2 * d), g=nn.Linear(d, 2 * d), h=nn.Linear(2 * d, d)),
        lambda: Piece("glu", lambda self, x: F.glu(self.f(x), -1), f=nn.Linear(d, 2 * d)),
        lambda: Piece("layer norm", lambda self, x: self.f(x), f=nn.LayerNorm(d)),
        lambda: Piece("layer norm without weights", lambda self, x: F.layer_norm(x, (d,))),
        lambda: Piece("scale and shift", lambda self, x: x * self.w + self.b, w=parameter(d), b=parameter(d)),
        lambda: Piece("scalar", lambda self, x: x * self.w, w=parameter(1)),
        lambda: Piece("buffer added", lambda self, x: x + self.mean, mean=torch.randn(d)),
        lambda: Piece("buffer multiplied", lambda self, x: x * self.scale, scale=torch.randn(d)),
        lambda: Piece("input normalized", lambda self, x: (x - self.mean) / self.deviation, mean=torch.randn(d), deviation=torch.rand(d) + 0.5),
        lambda: Piece("buffer mask", buffer_mask, mask=torch.rand(d) > 0.4),
        lambda: Piece("columns", lambda self, x: x[..., self.at], at=torch.randint(0, d, (d,))),
        lambda: Piece("index_select", lambda self, x: torch.index_select(x, -1, self.at), at=torch.randint(0, d, (d,))),
        lambda: Piece("arange weights", lambda self, x: x * (torch.arange(d) % 3 - 1).to(x.dtype)),
        lambda: Piece("halves", lambda self, x: torch.cat([x[..., d // 2:], x[..., :d // 2] * 0.5], -1)),
        lambda: Piece("chunks", lambda self, x: torch.cat([part * (k + 1) for k, part in enumerate(x.chunk(2, -1))], -1)),
        lambda: Piece("steps of two", lambda self, x: torch.stack([x[..., ::2], -x[..., 1::2]], -1).flatten(-2)),
        lambda: Piece("weight norm", lambda self, x: F.linear(x, self.g * self.v / self.v.norm(dim=1, keepdim=True)), g=parameter(d, 1), v=parameter(d, d)),
        lambda: Piece("prelu", lambda self, x: F.prelu(x, self.w), w=parameter(1)),
        lambda: Piece("masked by lower triangle", lambda self, x: x @ torch.tril(self.w), w=parameter(d, d)),
        lambda: Piece("einsum", lambda self, x: torch.einsum("...i,ij->...j", x, self.w), w=parameter(d, d)),
    ]
    return draw.choice(choices)()


def of_sequence(draw, t, d):
    if draw.random() < 0.3:
        return pieces.of_sequence(Piece, parameter, draw, t, d)
    heads = 2 if d % 2 == 0 else 1

    def attention(self, x):
        q, k, v = (part.reshape(x.shape[0], t, heads, d // heads).transpose(1, 2) for part in self.f(x).chunk(3, -1))
        scores = q @ k.transpose(-1, -2) / math.sqrt(d // heads)
        return (torch.softmax(self.masked(self, scores), -1) @ v).transpose(1, 2).reshape(x.shape[0], t, d)

    def attended(told, masked, **parts):
        piece = Piece(told, attention, f=nn.Linear(d, 3 * d), **parts)
        piece.masked = masked
        return piece

    def sdpa(self, x):
        q, k, v = (part.reshape(x.shape[0], t, heads, d // heads).transpose(1, 2) for part in self.f(x).chunk(3, -1))
        return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape[0], t, d)

    def relative(self, scores):
        at = torch.arange(t)
        return scores + self.bias((at[:, None] - at[None, :]).clamp(-2, 2) + 2).permute(2, 0, 1)

    def buckets(self, scores):
        at = torch.arange(t)
        apart = (at[None, :] - at[:, None])
        far = torch.where(apart.abs() < 2, apart.abs(), torch.minimum(2 + apart.abs() // 2, torch.full_like(apart, 3)))
        return scores + self.bias(far + (apart > 0).to(torch.long) * 4).permute(2, 0, 1).unsqueeze(0)

    def rotary(self, x):
        half = d // 2
        turned = torch.cat([-x[..., half:], x[..., :half]], -1)
        return x * self.cos + turned * self.sin
    angles = torch.outer(torch.arange(t).float(), 1.0 / 10 ** (torch.arange(0, d, 2).float() / d))
    angles = torch.cat([angles, angles], -1)
    choices = [
        lambda: anywhere(draw, d), lambda: anywhere(draw, d), lambda: anywhere(draw, d),
        lambda: attended("attention", lambda self, scores: scores),
        lambda: attended("causal attention", lambda self, scores: scores.masked_fill(self.mask[:t, :t] == 0, float("-inf")), mask=torch.tril(torch.ones(t, t))),
        lambda: attended("causal attention of booleans", lambda self, scores: torch.where(self.mask, scores, torch.finfo(scores.dtype).min), mask=torch.ones(t, t).tril().bool()),
        lambda: attended("causal attention by arange", lambda self, scores: scores.masked_fill(torch.arange(t)[None, :] > torch.arange(t)[:, None], -1e4)),
        lambda: attended("attention with relative positions", relative, bias=nn.Embedding(5, heads)),
        lambda: attended("attention with buckets", buckets, bias=nn.Embedding(8, heads)),
        lambda: Piece("scaled dot products", sdpa, f=nn.Linear(d, 3 * d)),
        lambda: Piece("positions", lambda self, x: x + self.f(torch.arange(t)), f=nn.Embedding(t, d)),
        lambda: Piece("position parameter", lambda self, x: x + self.w, w=parameter(1, t, d)),
        lambda: Piece("rotary tables", rotary, cos=angles.cos(), sin=angles.sin()) if d % 2 == 0 else anywhere(draw, d),
        lambda: Piece("gru", lambda self, x: self.f(x)[0], f=nn.GRU(d, d, batch_first=True)),
        lambda: Piece("lstm", lambda self, x: self.f(x)[0], f=nn.LSTM(d, d, batch_first=True)),
        lambda: Piece("conv1d", lambda self, x: self.f(x.transpose(1, 2)).transpose(1, 2), f=nn.Conv1d(d, d, 3, padding=1)),
        lambda: Piece("causal conv1d", lambda self, x: self.f(F.pad(x.transpose(1, 2), (4, 0))).transpose(1, 2), f=nn.Conv1d(d, d, 3, dilation=2)),
        lambda: Piece("mixed over time", lambda self, x: self.f(x.transpose(1, 2)).transpose(1, 2), f=nn.Linear(t, t)),
        lambda: Piece("time shift", lambda self, x: torch.cat([torch.zeros_like(x[:, :1]), x[:, :-1]], 1) + x),
        lambda: Piece("self attention layer", lambda self, x: self.f(x, x, x, need_weights=False)[0], f=nn.MultiheadAttention(d, heads, batch_first=True)),
        lambda: Piece("encoder layer", lambda self, x: self.f(x), f=nn.TransformerEncoderLayer(d, heads, 2 * d, dropout=0.0, batch_first=True)),
    ]
    return draw.choice(choices)()


def to_vector(draw, t, d):
    choices = [
        lambda: Piece("mean over time", lambda self, x: x.mean(1)), lambda: Piece("last", lambda self, x: x[:, -1]), lambda: Piece("first", lambda self, x: x[:, 0]),
        lambda: Piece("max over time", lambda self, x: x.max(1).values), lambda: Piece("adaptive max over time", lambda self, x: F.adaptive_max_pool1d(x.transpose(1, 2), 1).squeeze(-1)),
        lambda: Piece("masked mean", lambda self, x: (x * self.mask[None, :, None]).sum(1) / self.mask.sum().clamp(min=1), mask=(torch.rand(t) > 0.3).long()),
        lambda: Piece("attention pooling", lambda self, x: (torch.softmax(self.f(x), 1) * x).sum(1), f=nn.Linear(d, 1)),
    ]
    return draw.choice(choices)()


def of_image(draw, c, h, w):
    """A piece and what comes of the shape."""
    if draw.random() < 0.4:
        return pieces.of_image(Piece, parameter, draw, c, h, w)

    def keeps(told, layer, function=None):
        return Piece(told, function or (lambda self, x: self.f(x)), f=layer), (c, h, w)
    more = draw.choice([2, 4, 6])
    even = h % 2 == 0 and w % 2 == 0 and min(h, w) >= 4
    choices = [
        lambda: (Piece("conv", lambda self, x: self.f(x), f=nn.Conv2d(c, more, 3, padding=1)), (more, h, w)),
        lambda: (Piece("conv 1", lambda self, x: self.f(x), f=nn.Conv2d(c, more, 1, bias=False)), (more, h, w)),
        lambda: keeps("depthwise", nn.Conv2d(c, c, 3, padding=1, groups=c)),
        lambda: keeps("dilated", nn.Conv2d(c, c, 3, padding=2, dilation=2)),
        lambda: keeps("asymmetric", nn.Conv2d(c, c, (1, 3), padding=(0, 1))),
        lambda: (Piece("conv stride 2", lambda self, x: self.f(x), f=nn.Conv2d(c, more, 3, stride=2, padding=1)), (more, (h + 1) // 2, (w + 1) // 2)),
        lambda: keeps("batch norm", nn.BatchNorm2d(c)), lambda: keeps("group norm", nn.GroupNorm(2 if c % 2 == 0 else 1, c)), lambda: keeps("instance norm", nn.InstanceNorm2d(c, affine=True)),
        lambda: (Piece("layer scale", lambda self, x: x * self.w, w=parameter(c, 1, 1)), (c, h, w)),
        lambda: (Piece("squeeze and excite", lambda self, x: x * torch.sigmoid(self.f(x.mean((2, 3), keepdim=True))), f=nn.Conv2d(c, c, 1)), (c, h, w)),
        lambda: (lambda name: (Piece(name, lambda self, x: POINTWISE[name](x)), (c, h, w)))(draw.choice(sorted(POINTWISE))),
        lambda: (Piece("max pool", lambda self, x: F.max_pool2d(x, 2)), (c, h // 2, w // 2)) if even else keeps("conv", nn.Conv2d(c, c, 3, padding=1)),
        lambda: (Piece("average pool", lambda self, x: F.avg_pool2d(x, 3, 1, 1)), (c, h, w)),
        lambda: (Piece("max pool with padding", lambda self, x: F.max_pool2d(x, 3, 1, 1)), (c, h, w)),
        lambda: (Piece("nearest", lambda self, x: F.interpolate(x, scale_factor=2)), (c, 2 * h, 2 * w)) if h < 8 else keeps("conv", nn.Conv2d(c, c, 1)),
        lambda: (Piece("bilinear", lambda self, x: F.interpolate(x, size=(h + 2, w + 1), mode="bilinear", align_corners=False)), (c, h + 2, w + 1)) if h < 8 else keeps("conv", nn.Conv2d(c, c, 1)),
        lambda: (Piece("transposed", lambda self, x: self.f(x), f=nn.ConvTranspose2d(c, more, 2, stride=2)), (more, 2 * h, 2 * w)) if h < 8 else keeps("conv", nn.Conv2d(c, c, 1)),
        lambda: (Piece("pixel shuffle", lambda self, x: F.pixel_shuffle(self.f(x), 2), f=nn.Conv2d(c, 4 * c, 1)), (c, 2 * h, 2 * w)) if h < 8 else keeps("conv", nn.Conv2d(c, c, 1)),
        lambda: (Piece("pixel unshuffle", lambda self, x: F.pixel_unshuffle(x, 2)), (4 * c, h // 2, w // 2)) if even and c <= 2 else keeps("conv", nn.Conv2d(c, c, 1)),
        lambda: (Piece("reflected edge", lambda self, x: self.f(F.pad(x, (1, 1, 1, 1), mode="reflect")), f=nn.Conv2d(c, c, 3)), (c, h, w)) if min(h, w) > 1 else keeps("conv", nn.Conv2d(c, c, 1)),
        lambda: (Piece("channel shuffle", lambda self, x: x.reshape(x.shape[0], 2, c // 2, h, w).transpose(1, 2).reshape(x.shape[0], c, h, w)), (c, h, w)) if c % 2 == 0 else keeps("conv", nn.Conv2d(c, c, 1)),
        lambda: (Piece("concatenated", lambda self, x: torch.cat([x, self.f(x)], 1), f=nn.Conv2d(c, 2, 3, padding=1)), (c + 2, h, w)) if c < 10 else keeps("conv", nn.Conv2d(c, c, 1)),
        lambda: (Piece("residual block", lambda self, x: x + self.g(F.relu(self.n(self.f(x)))), f=nn.Conv2d(c, c, 3, padding=1), n=nn.BatchNorm2d(c), g=nn.Conv2d(c, c, 3, padding=1)), (c, h, w)),
        lambda: (Piece("image normalized", lambda self, x: (x - self.mean) / self.deviation, mean=torch.randn(1, c, 1, 1), deviation=torch.rand(1, c, 1, 1) + 0.5), (c, h, w)),
        lambda: (Piece("windows", lambda self, x: torch.roll(x, (1, 1), (2, 3)).reshape(x.shape[0], c, h // 2, 2, w // 2, 2).transpose(3, 4).reshape(x.shape[0], c, h, w)), (c, h, w)) if even else keeps("conv", nn.Conv2d(c, c, 1)),
    ]
    return draw.choice(choices)()


def from_image(draw, c, h, w):
    """To a vector."""
    choices = [
        lambda: (Piece("global average", lambda self, x: x.mean((2, 3))), c), lambda: (Piece("adaptive average", lambda self, x: F.adaptive_avg_pool2d(x, 1).flatten(1)), c),
        lambda: (Piece("global max", lambda self, x: x.amax((2, 3))), c), lambda: (Piece("flat", lambda self, x: self.f(torch.flatten(x, 1)), f=nn.Linear(c * h * w, 6)), 6),
    ]
    return draw.choice(choices)()


def tokens(draw, t, d):
    """From token numbers [batch, t] to a sequence [batch, t, d]."""
    if draw.random() < 0.4:
        return pieces.tokens(Piece, draw, t, d)
    choices = [
        lambda: Piece("embedding", lambda self, x: self.f(x), f=nn.Embedding(11, d)),
        lambda: Piece("embedding of arithmetic", lambda self, x: self.f((x * 3 + 1) % 11), f=nn.Embedding(11, d)),
        lambda: Piece("embedding of differences", lambda self, x: self.f((x[:, :1] - x).abs().clamp(max=10)), f=nn.Embedding(11, d)),
        lambda: Piece("embedding of quotients", lambda self, x: self.f(x // 2) + self.g(x % 2), f=nn.Embedding(6, d), g=nn.Embedding(2, d)),
        lambda: Piece("embedding with a mask", lambda self, x: self.f(x) * (x != 0).unsqueeze(-1).to(self.f.weight.dtype), f=nn.Embedding(11, d)),
        lambda: Piece("embedding of counts", lambda self, x: self.f(torch.cumsum((x > 4).long(), 1)), f=nn.Embedding(t + 1, d)),
        lambda: Piece("one-hot", lambda self, x: self.f(F.one_hot(x, 11).to(self.f.weight.dtype)), f=nn.Linear(11, d)),
        lambda: Piece("embedding of where", lambda self, x: self.f(torch.where(x > 5, x - 5, x)), f=nn.Embedding(11, d)),
    ]
    return draw.choice(choices)()


# What the exporter's folding leaves enough of to undo it, unless contents are equal.
INVERTIBLE = ["exp", "sigmoid", "tanh", "neg", "through double", "flip", "roll", "clone", "sliced", "strided", "selected", "viewed", "expanded", "joined", "looked up", "transposed"]


def made(draw, shape, told, given):
    """Code that makes a tensor of this shape of parameters alone, one to three functions deep; `given` gets the parameters."""
    def fresh(*extents, begin=None):
        name = f"p{len(given)}"
        begin = begin or draw.choice(["random", "random", "random", "ones", "zeros"])
        given[name] = nn.Parameter({"random": lambda: torch.randn(extents) * 0.4 + 0.3, "ones": lambda: torch.ones(extents), "zeros": lambda: torch.zeros(extents)}[begin]())
        return lambda self: getattr(self, name)

    def again(deep, *extents):
        return fresh(*extents) if deep == 0 else function(deep - 1, *extents)

    def function(deep, *extents):
        rank, last = len(extents), extents[-1]
        inner = lambda *other: again(deep, *(other or extents))
        choices = {
            "exp": lambda p: (lambda s: p(s).exp()), "sigmoid": lambda p: (lambda s: torch.sigmoid(p(s))), "tanh": lambda p: (lambda s: torch.tanh(p(s))),
            "softplus": lambda p: (lambda s: F.softplus(p(s))), "softplus beta": lambda p: (lambda s: F.softplus(p(s), beta=2.0)), "neg": lambda p: (lambda s: -p(s)), "square": lambda p: (lambda s: p(s) ** 2),
            "relu": lambda p: (lambda s: F.relu(p(s))), "abs": lambda p: (lambda s: p(s).abs()), "clamp": lambda p: (lambda s: p(s).clamp(-2, 2)), "times 2": lambda p: (lambda s: p(s) * 2), "plus 1": lambda p: (lambda s: 1 + p(s)),
            "through double": lambda p: (lambda s: p(s).double().to(p(s).dtype)), "flip": lambda p: (lambda s: p(s).flip(-1)), "roll": lambda p: (lambda s: p(s).roll(1, -1)), "clone": lambda p: (lambda s: p(s).clone()), "softmax": lambda p: (lambda s: torch.softmax(p(s), -1)),
        }
        more = {
            "times itself": lambda: (lambda p: lambda s: p(s) * p(s))(inner()), "product": lambda: (lambda p, q: lambda s: p(s) * q(s))(inner(), fresh(*extents)), "sum": lambda: (lambda p, q: lambda s: p(s) + q(s))(inner(), fresh(*extents)),
            "sum alpha": lambda: (lambda p, q: lambda s: torch.add(p(s), q(s), alpha=2))(inner(), fresh(*extents)), "sliced": lambda: (lambda p: lambda s: p(s)[..., 1:last + 1])(inner(*extents[:-1], last + 2)), "strided": lambda: (lambda p: lambda s: p(s)[..., ::2])(inner(*extents[:-1], 2 * last)),
            "selected": lambda: (lambda p: lambda s: p(s)[1])(inner(2, *extents)), "two of one": lambda: (lambda p: lambda s: p(s)[0] + p(s)[1])(inner(2, *extents)), "viewed": lambda: (lambda p: lambda s: p(s).reshape(extents))(inner(math.prod(extents))),
            "expanded": lambda: (lambda p: lambda s: p(s).expand(*extents))(inner(1, *extents[1:]) if rank > 1 else inner(1)), "joined": lambda: (lambda p, q: lambda s: torch.cat([p(s), q(s)], -1))(inner(*extents[:-1], last // 2), fresh(*extents[:-1], last - last // 2)),
            "joined with itself": lambda: (lambda p: lambda s: torch.cat([p(s), p(s)], -1))(inner(*extents[:-1], last // 2)) if last % 2 == 0 else inner(), "repeated": lambda: (lambda p: lambda s: p(s).repeat(*[1] * (rank - 1), 2))(inner(*extents[:-1], last // 2)) if last % 2 == 0 else inner(),
            "padded": lambda: (lambda p: lambda s: F.pad(p(s), (1, 1)))(inner(*extents[:-1], last - 2)) if last > 2 else inner(), "looked up": lambda: (lambda p: lambda s: F.embedding(torch.arange(extents[0]), p(s)))(inner(extents[0] + 1, last)) if rank == 2 else inner(),
            "indexed": lambda: (lambda p, at: lambda s: p(s)[..., at])(inner(), torch.randint(0, last, (last,)).tolist()), "transposed": lambda: (lambda p: lambda s: p(s).t())(inner(*extents[::-1])) if rank == 2 else inner(),
            "low rank": lambda: (lambda p, a, b: lambda s: p(s) + a(s) @ b(s))(inner(), fresh(extents[0], 1, begin="random"), fresh(1, last)) if rank == 2 else inner(), "norm": lambda: (lambda p, g: lambda s: g(s) * p(s) / (p(s).norm(dim=-1, keepdim=True) + 0.1))(inner(), fresh(*extents[:-1], 1)),
            "lower triangle": lambda: (lambda p: lambda s: torch.tril(p(s)))(inner()) if rank == 2 else inner(), "stacked": lambda: (lambda p, q: lambda s: torch.stack([p(s), q(s)], -1).flatten(-2))(inner(*extents[:-1], last // 2), fresh(*extents[:-1], last // 2)) if last % 2 == 0 else inner(),
        }
        name = draw.choice(sorted(choices) + sorted(more) if anything else INVERTIBLE)
        told.append(name)
        return choices[name](inner()) if name in choices else more[name]()
    anything = draw.random() < 0.5
    return function(draw.randint(0, 2), *shape)


def of_parameters(draw, d, rest=()):
    """A piece that multiplies with, adds or applies functions of its parameters; one of them may be read as it is, too."""
    told, given = [], {}
    place = draw.choice(["factor", "term", "matrix", "linear", "both", "with the parameter", "twice", "scalar"])
    if place in ("matrix", "linear"):
        w = made(draw, (d, d), told, given)
        run = (lambda s, x: x @ w(s)) if place == "matrix" else (lambda s, x: F.linear(x, w(s)))
    elif place == "scalar":
        w = made(draw, (1,), told, given)
        run = lambda s, x: x * w(s)
    elif place == "twice":
        w, v = made(draw, (*rest, d), told, given), made(draw, (*rest, d), told, given)
        run = lambda s, x: torch.tanh(x * w(s)) * v(s)
    else:
        w = made(draw, (*rest, d), told, given)
        first = next(iter(given.values()))
        other = nn.Parameter({True: torch.zeros, False: torch.ones}[draw.random() < 0.5](d))
        if place == "with the parameter" and first.shape == (d,):
            run = lambda s, x: x * w(s) + s.p0
        elif place == "both":
            given["other"] = other
            run = lambda s, x: x * w(s) + s.other
        else:
            run = (lambda s, x: x * w(s)) if place == "factor" else (lambda s, x: x + w(s))
    return Piece(f"{place} of " + " < ".join(told), run, **given)


def of_parameters_alone(seed):
    """(module, example input): layers whose parameters pass through functions of parameters before they meet data."""
    draw = random.Random(seed)
    torch.manual_seed(seed)
    d, t = draw.choice([4, 6]), draw.choice([0, 3])
    rest = (t,) if t and draw.random() < 0.5 else ()
    pieces = [Piece("linear", lambda self, x: self.f(x), f=nn.Linear(d, d))]
    for _ in range(draw.randint(1, 2)):
        pieces.append(of_parameters(draw, d, rest))
        if draw.random() < 0.4:
            pieces.append(Piece("layer norm", lambda self, x: self.f(x), f=nn.LayerNorm(d)))
    if t:
        pieces.append(Piece("mean over time", lambda self, x: x.mean(1)))
    pieces.append(Piece("head", lambda self, x: self.f(x), f=nn.Linear(d, TARGETS)))
    return Program(pieces).train(), torch.randn(BATCH, t, d) if t else torch.randn(BATCH, d)


def make(seed):
    """(module, example input): float32 values or int64 tokens below 11."""
    draw = random.Random(seed)
    torch.manual_seed(seed)
    kind = draw.choice(["vector", "sequence", "image", "tokens"])
    pieces, d = [], draw.choice([4, 6, 8])
    if kind == "image":
        shape = (draw.choice([1, 2, 4]), draw.choice([4, 6, 8]), draw.choice([4, 6, 8]))
        x = torch.randn(BATCH, *shape)
        for _ in range(draw.randint(1, 4)):
            piece, shape = of_image(draw, *shape)
            pieces.append(piece)
        piece, d = from_image(draw, *shape)
        pieces.append(piece)
    elif kind == "vector":
        x = torch.randn(BATCH, d)
    else:
        t = draw.choice([3, 5, 6])
        x = torch.randn(BATCH, t, d)
        if kind == "tokens":
            x = torch.randint(0, 11, (BATCH, t))
            pieces.append(tokens(draw, t, d))
        pieces += [of_sequence(draw, t, d) for _ in range(draw.randint(1, 3))]
        pieces.append(to_vector(draw, t, d))
    if d >= 4 and d % 2 == 0:
        pieces += [anywhere(draw, d) for _ in range(draw.randint(1, 3))]
    pieces.append(Piece("head", lambda self, x: self.f(x), f=nn.Linear(d, TARGETS)))
    return Program(pieces).train(), x


FAMILIES = {"all": make, "parameters": of_parameters_alone}
