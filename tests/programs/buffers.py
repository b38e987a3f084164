"""Random modules whose forward derives values from buffers of every type: casts, slices, quotients, comparisons, rows picked by a buffer, softmax of a
table. `made_again` gives every parameter and buffer other contents: what was derived has to be derived anew."""
import random

import torch
import torch.nn.functional as F
from torch import nn

from programs import BATCH, TARGETS, Piece, Program, parameter


def kinds(draw, d):
    """Buffers of each type, as (contents at first, how others are drawn)."""
    def whole(low, high, dtype, *shape):
        return lambda: torch.randint(low, high, shape, dtype=dtype)
    return {
        "mask": lambda: torch.rand(d) > 0.4, "square mask": lambda: torch.rand(d, d) > 0.4, "flag": lambda: torch.tensor(draw.random() < 0.5), "at": whole(0, d, torch.int64, d), "at32": whole(0, d, torch.int32, d),
        "positions": whole(0, 2 * d, torch.int64, d), "counts": whole(1, 9, torch.int64, d), "counts32": whole(1, 9, torch.int32, d), "bytes": whole(0, 9, torch.uint8, d), "number": whole(1, 5, torch.int64), "number32": whole(1, 5, torch.int32),
        "real": lambda: torch.rand(()) + 0.5, "one": lambda: torch.rand(1) + 0.5, "vector": lambda: torch.randn(d), "positive": lambda: torch.rand(d) + 0.5, "table": lambda: torch.randn(d, d), "long table": lambda: torch.randn(2 * d, d), "order": lambda: torch.randperm(d),
    }


# What a piece derives: the buffers that it has, and the function of itself and x [.., d].
DERIVED = {
    "mask as a factor": (("mask",), lambda self, x: x * self.mask.to(x.dtype)), "mask by where": (("mask",), lambda self, x: torch.where(self.mask, x, 0.5 * x)), "mask filled": (("mask",), lambda self, x: x.masked_fill(~self.mask, -0.25)), "mask counted": (("mask",), lambda self, x: (x * self.mask).sum(-1, keepdim=True) / self.mask.sum().clamp(min=1) + x),
    "square mask": (("square_mask",), lambda self, x: x @ (self.w * self.square_mask)), "square mask scores": (("square_mask",), lambda self, x: torch.softmax((x.unsqueeze(-1) * self.w).masked_fill(~self.square_mask, -1e4), -1).sum(-2) * x), "square mask below": (("square_mask",), lambda self, x: x @ torch.tril(self.square_mask.float()) * 0.3),
    "flag": (("flag",), lambda self, x: torch.where(self.flag, x, -x)), "columns": (("at",), lambda self, x: x[..., self.at]), "selected": (("at",), lambda self, x: torch.index_select(x, -1, self.at)), "gathered": (("at",), lambda self, x: torch.gather(x, -1, self.at.expand(x.shape)) + x), "columns of a slice": (("at",), lambda self, x: x[..., self.at[:2]].sum(-1, keepdim=True) + x),
    "columns of 32 bits": (("at32",), lambda self, x: torch.index_select(x, -1, self.at32)), "one-hot": (("at",), lambda self, x: x @ F.one_hot(self.at, x.shape[-1]).to(x.dtype)), "columns back": (("at",), lambda self, x: x[..., x.shape[-1] - 1 - self.at]), "permuted back": (("order",), lambda self, x: x[..., torch.argsort(self.order)]), "scattered": (("order",), lambda self, x: torch.zeros_like(x).index_copy(-1, self.order, x)),
    "index added": (("at",), lambda self, x: x.index_add(-1, self.at, x * self.v)), "rows of positions": (("positions",), lambda self, x: x + self.e(self.positions // 2).mean(-1)), "rows of remainders": (("positions",), lambda self, x: x * self.e(self.positions % x.shape[-1]).sum(-1)), "positions compared": (("positions",), lambda self, x: x * (self.positions > x.shape[-1]).to(x.dtype) + x), "positions apart": (("positions",), lambda self, x: x @ (self.positions[:, None] - self.positions[None, :]).abs().clamp(max=3).to(x.dtype) * 0.1),
    "buckets": (("positions",), lambda self, x: x @ self.b[(self.positions[:, None] - self.positions[None, :]).clamp(-2, 2) + 2]), "arange of counts": (("counts",), lambda self, x: x * (torch.arange(x.shape[-1]) < self.counts).to(x.dtype)), "shares": (("counts",), lambda self, x: x * (self.counts.to(x.dtype) / self.counts.sum())), "shares of 32 bits": (("counts32",), lambda self, x: x * (self.counts32 / 3.0)), "quotients": (("counts32",), lambda self, x: x * (self.counts32 // 2).to(x.dtype) * 0.2),
    "running counts": (("counts",), lambda self, x: x / torch.cumsum(self.counts, 0)), "even ones": (("counts32",), lambda self, x: torch.where(self.counts32 % 2 == 0, x, x * self.v)), "logs of counts": (("counts",), lambda self, x: x - torch.log(self.counts.float())), "bytes as truths": (("bytes",), lambda self, x: x * (self.bytes > 3)), "bytes as numbers": (("bytes",), lambda self, x: x * (self.bytes.to(x.dtype) / 9.0 - 0.5)), "bits": (("bytes",), lambda self, x: x * ((self.bytes & 1) == 1).to(x.dtype) + 0.5 * x),
    "number": (("number",), lambda self, x: x / self.number), "number squared": (("number",), lambda self, x: x * (self.number * self.number).float() * 0.1), "number of 32 bits": (("number32",), lambda self, x: x * torch.sqrt(self.number32.to(x.dtype))), "first columns": (("number",), lambda self, x: x * (torch.arange(x.shape[-1]) < self.number).to(x.dtype) + 0.1 * x), "real": (("real",), lambda self, x: x * self.real), "real of a function": (("real",), lambda self, x: x * torch.exp(-self.real) + self.real ** 2), "real clamped": (("real",), lambda self, x: torch.minimum(x, self.real)),
    "one": (("one",), lambda self, x: x / (self.one + 1)), "vector": (("vector",), lambda self, x: x + self.vector), "vector of a function": (("vector",), lambda self, x: x * torch.sigmoid(self.vector) + torch.tanh(self.vector)), "vector sorted": (("vector",), lambda self, x: x + torch.sort(self.vector).values), "vector's best": (("vector",), lambda self, x: x * F.one_hot(self.vector.argmax(), x.shape[-1]).to(x.dtype) + x), "vector normalized": (("vector",), lambda self, x: x * F.normalize(self.vector, dim=0)), "vector's shares": (("vector",), lambda self, x: x * torch.softmax(self.vector, 0)),
    "vector rolled": (("vector",), lambda self, x: x + torch.roll(self.vector, 1) - torch.flip(self.vector, [0])), "vector padded": (("vector",), lambda self, x: x + F.pad(self.vector[1:], (0, 1))), "vector with parameters": (("vector",), lambda self, x: x * (self.v * torch.sigmoid(self.vector))), "vector compared": (("vector",), lambda self, x: torch.where(self.vector > 0, x, x * 0.5)), "standardized": (("vector", "positive"), lambda self, x: (x - self.vector) / torch.sqrt(self.positive + 1e-5)), "weights of squares": (("positive",), lambda self, x: x * (self.positive ** 2 / (self.positive ** 2).sum())), "roots": (("positive",), lambda self, x: x * torch.rsqrt(self.positive)),
    "outer": (("vector",), lambda self, x: x @ torch.outer(self.vector, self.vector) * 0.2), "table": (("table",), lambda self, x: x @ self.table), "table below": (("table",), lambda self, x: x @ torch.tril(self.table)), "table's shares": (("table",), lambda self, x: x @ torch.softmax(self.table, -1)), "table transposed": (("table",), lambda self, x: x @ self.table.t() * 0.3), "table of two": (("table",), lambda self, x: x @ (self.table @ self.table.t()) * 0.1), "table's row": (("table",), lambda self, x: x + self.table[1]), "table's column": (("table",), lambda self, x: x * self.table[:, 0]), "table by parameters": (("table",), lambda self, x: x @ (self.w + self.table)),
    "table compared": (("table",), lambda self, x: x @ (self.table > 0).to(x.dtype)), "table sliced": (("long_table",), lambda self, x: x @ self.long_table[: x.shape[-1]]), "table strided": (("long_table",), lambda self, x: x @ self.long_table[::2]), "rows picked": (("long_table", "positions"), lambda self, x: x @ self.long_table[self.positions] * 0.5), "rows embedded": (("long_table", "positions"), lambda self, x: x + F.embedding(self.positions, self.long_table).mean(0)), "table normed": (("table",), lambda self, x: x @ (self.table / self.table.norm(dim=0, keepdim=True))),
    "mask of a mask": (("mask", "bytes"), lambda self, x: x * (self.mask & (self.bytes > 2)).to(x.dtype) + 0.1 * x), "cast twice": (("counts",), lambda self, x: x * self.counts.to(torch.int32).to(x.dtype) * 0.2), "masked table": (("square_mask", "table"), lambda self, x: x @ (self.table * self.square_mask)), "detached table": (("table",), lambda self, x: x @ self.table.detach()),
}
# Buffers that forward moves, and what is derived of them.
MOVED = {
    "moving mean": (("vector",), lambda self, x: (self.vector.mul_(0.9).add_(x.detach().reshape(-1, x.shape[-1]).mean(0) * 0.1), x - torch.tanh(self.vector))[1]),
    "counter": (("number",), lambda self, x: (self.number.add_(1), x / self.number.to(x.dtype))[1]),
}


def derived(draw, d):
    name = draw.choice(sorted(DERIVED) + sorted(MOVED))
    wanted, function = DERIVED.get(name) or MOVED[name]
    fresh = kinds(draw, d)
    buffers = {buffer: fresh[buffer.replace("_", " ")]() for buffer in wanted}
    parts = {"w": parameter(d, d), "v": parameter(d), "b": parameter(5), "e": nn.Embedding(2 * d, d)}
    code = function.__code__.co_names + tuple(name for each in function.__code__.co_consts if hasattr(each, "co_names") for name in each.co_names)
    return Piece(name, function, **buffers, **{name: part for name, part in parts.items() if name in code})


def make(seed):
    """(module, example input)."""
    draw = random.Random(seed)
    torch.manual_seed(seed)
    d, t = draw.choice([4, 6]), draw.choice([0, 0, 3])
    pieces = [Piece("linear", lambda self, x: self.f(x), f=nn.Linear(d, d))]
    for _ in range(draw.randint(2, 4)):
        pieces.append(derived(draw, d))
        if draw.random() < 0.4:
            pieces.append(draw.choice([lambda: Piece("linear", lambda self, x: self.f(x), f=nn.Linear(d, d)), lambda: Piece("layer norm", lambda self, x: self.f(x), f=nn.LayerNorm(d)), lambda: Piece("tanh", lambda self, x: torch.tanh(x))])())
    if t:
        pieces.append(Piece("mean over time", lambda self, x: x.mean(1)))
    pieces.append(Piece("head", lambda self, x: self.f(x), f=nn.Linear(d, TARGETS)))
    return Program(pieces).train(), torch.randn(BATCH, t, d) if t else torch.randn(BATCH, d)


def made_again(module, seed):
    """Contents for every name of the module's state, of its types and shapes, that fit where the buffers are read."""
    draw = random.Random(seed)
    torch.manual_seed(seed)
    state = {}
    for name, tensor in module.state_dict().items():
        kind = name.rsplit(".", 1)[-1].replace("_", " ")
        d = module.pieces[0].f.weight.shape[0]
        fresh = kinds(draw, d)
        own = dict(module.named_buffers())
        state[name] = fresh[kind]() if name in own else torch.randn(tensor.shape) * 0.4 + 0.1
        assert state[name].shape == tensor.shape and state[name].dtype == tensor.dtype, name
    return state
