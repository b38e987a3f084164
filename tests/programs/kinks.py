"""Operators at their kinks: modules whose inputs lie exactly where an operator has no derivative, or where values tie.

KINKS: by name, a function that makes (module, inputs). The point of a kink is x + w (or x * 1), with parameters that are exact in binary, so that
the gradient at the kink reaches a parameter. What PyTorch's autograd gives there is what both roads must give.
"""
import copy

import torch
import torch.nn.functional as F
from torch import nn

SAMPLES = 4
KINKS = {}


class At(nn.Module):
    """f(x + w, ...): every sample has the points in another order. `documented`: the function with the gradient that PyTorch documents, where its own
    differs."""

    def __init__(self, function, documented=None, **parts):
        super().__init__()
        self.function, self.documented = function, documented or function
        for name, part in parts.items():
            if isinstance(part, nn.Module):
                self.add_module(name, part)
            elif isinstance(part, nn.Parameter):
                self.register_parameter(name, part)
            else:
                self.register_buffer(name, part)

    def forward(self, *inputs):
        return self.function(self, *inputs)


def reference(module):
    """A copy whose gradients are the ones that are wanted."""
    copied = copy.deepcopy(module)
    copied.function = copied.documented
    return copied


def parameter(value):
    return nn.Parameter(torch.as_tensor(value, dtype=torch.float32).clone())


def rolled(points):
    """[SAMPLES, points]: every sample has them in another order."""
    points = torch.tensor(points, dtype=torch.float32)
    return torch.stack([points.roll(k) for k in range(SAMPLES)])


SHIFT = 0.5  # of a parameter that is added: exact


def pointwise(name, points, function):
    def made():
        x = rolled(points)
        return At(lambda self, x: function(x + self.w), w=parameter(torch.full((len(points),), SHIFT))), (x - SHIFT,)
    KINKS[name] = made


def two(name, points, function):
    """Of two parameters that both are trained: f(x + w, x' + v); points are pairs."""
    def made():
        a, b = rolled([p for p, _ in points]), rolled([q for _, q in points])
        module = At(lambda self, a, b: function(a + self.w, b + self.v), w=parameter(torch.full((len(points),), SHIFT)), v=parameter(torch.full((len(points),), -SHIFT)))
        return module, (a - SHIFT, b + SHIFT)
    KINKS[name] = made


def rows(name, points, function):
    """points: a tensor [..] of one sample, or of several where it has the extra dimension first; f of [batch, ...]."""
    def made():
        one = torch.as_tensor(points, dtype=torch.float32)
        x = torch.stack([one.roll(k, 0) for k in range(SAMPLES)])
        return At(lambda self, x: function(x + self.w), w=parameter(torch.full(one.shape, SHIFT))), (x - SHIFT,)
    KINKS[name] = made


def module(name):
    return lambda made: KINKS.setdefault(name, made)


AROUND = [-1.0, 0.0, 1.0, -0.0, 0.25, -0.25]
BOUNDS = [-1.0, -0.5, -0.25, 0.0, 0.75, 1.0]
THREE = [-4.0, -3.0, -1.0, 0.0, 3.0, 4.0]
TENTHS = [-0.75, -0.5, -0.25, 0.0, 0.5, 0.75]

for name, function in {
    "relu": F.relu, "abs": torch.abs, "leaky_relu": lambda x: F.leaky_relu(x, 0.125), "leaky_relu 0": lambda x: F.leaky_relu(x, 0.0), "elu": lambda x: F.elu(x, 0.75), "elu 1": F.elu,
    "selu": F.selu, "celu": lambda x: F.celu(x, 0.75), "softsign": F.softsign, "sign times": lambda x: torch.sign(x) * x, "square": torch.square, "pow 2": lambda x: x ** 2,
    "pow 3": lambda x: x ** 3, "pow 4": lambda x: x ** 4, "pow 1": lambda x: x ** 1, "pow 0": lambda x: x ** 0 * x, "pow 1.5 of a square": lambda x: (x * x) ** 1.5, "pow 2.5 of abs": lambda x: x.abs() ** 2.5,
    "sqrt of a square plus": lambda x: torch.sqrt(x * x + 0.25), "relu squared": lambda x: F.relu(x) ** 2, "relu by maximum": lambda x: torch.maximum(x, torch.zeros(())), "relu by max of zeros": lambda x: torch.max(x, torch.zeros_like(x)),
    "relu by clamp": lambda x: x.clamp(min=0), "relu by clamp_min": lambda x: torch.clamp_min(x, 0), "relu by where": lambda x: torch.where(x > 0, x, torch.zeros(())), "relu by where or equal": lambda x: torch.where(x >= 0, x, 0.5 * x),
    "relu by mask": lambda x: x * (x > 0).to(x.dtype), "relu by mask or equal": lambda x: x * (x >= 0).float(), "relu by masked_fill": lambda x: x.masked_fill(x < 0, 0.0), "half of sum with abs": lambda x: (x + x.abs()) / 2,
    "minus relu of minus": lambda x: -F.relu(-x), "crelu": lambda x: torch.cat([F.relu(x), F.relu(-x)], -1), "softplus of abs": lambda x: F.softplus(x.abs()), "abs of abs": lambda x: x.abs().abs(), "relu of relu": lambda x: F.relu(F.relu(x)),
    "threshold 0": lambda x: F.threshold(x, 0.0, 0.0), "rrelu": lambda x: F.rrelu(x, 0.25, 0.25), "log of abs plus": lambda x: torch.log(x.abs() + 1), "exp of minus abs": lambda x: torch.exp(-x.abs()), "sinc": torch.sinc,
    "logsigmoid": F.logsigmoid, "hardtanh around": lambda x: F.hardtanh(x, 0.0, 0.25), "xlogy": lambda x: torch.xlogy(x, torch.full((), 2.0)), "copysign": lambda x: torch.copysign(x, torch.ones(())),
    "positive part by bool": lambda x: (x > 0) * x, "reciprocal of abs plus": lambda x: 1 / (1 + x.abs()), "relu6 around": F.relu6, "mish": F.mish, "silu": F.silu, "gelu": F.gelu, "gelu tanh": lambda x: F.gelu(x, approximate="tanh"), "nan_to_num": torch.nan_to_num,
    "lerp half": lambda x: torch.lerp(x, x.abs(), 0.5), "logaddexp of itself": lambda x: torch.logaddexp(x, x), "where of equal": lambda x: torch.where(x == 0, x * 3, x), "relu in place": lambda x: F.relu(x.clone(), inplace=True), "index of signs": lambda x: torch.tensor([0.5, 2.0])[(x > 0).long()] * x,
    "l1 by hand": lambda x: (x - 0.25).abs(), "clamp of abs": lambda x: x.abs().clamp(max=0.25)
}.items():
    pointwise(name, AROUND, function)

for name, function in {
    "clamp": lambda x: x.clamp(-0.5, 0.75), "clamp min": lambda x: x.clamp(min=-0.5), "clamp max": lambda x: x.clamp(max=0.75), "clamp equal": lambda x: x.clamp(0.75, 0.75), "clip": lambda x: torch.clip(x, -0.5, 0.75), "hardtanh": lambda x: F.hardtanh(x, -0.5, 0.75), "hardtanh 1": F.hardtanh,
    "clamp 1": lambda x: x.clamp(-1, 1), "clamp by tensors": lambda x: torch.clamp(x, torch.tensor(-0.5), torch.tensor(0.75)), "clamp min by a tensor": lambda x: torch.clamp(x, min=torch.tensor(-0.5)), "clamp max by a tensor": lambda x: torch.clamp(x, max=torch.tensor(0.75)),
    "minimum of maximum": lambda x: torch.minimum(torch.maximum(x, torch.tensor(-0.5)), torch.tensor(0.75)), "threshold": lambda x: F.threshold(x, -0.5, 0.25), "threshold above": lambda x: F.threshold(x, 0.75, 0.75), "where beyond": lambda x: torch.where(x > 0.75, 0.75 + 0.1 * (x - 0.75), x),
    "clamp crossed": lambda x: x.clamp(0.75, -0.5), "masked beyond": lambda x: x.masked_fill(x <= -0.5, -0.5), "clamp in place": lambda x: x.clone().clamp_(-0.5, 0.75), "clamp of 0 and 1": lambda x: x.clamp(0, 1), "relu of 1 minus": lambda x: F.relu(1 - x), "clamp min of 1 minus": lambda x: (1 - x).clamp(min=0),
}.items():
    pointwise(name, BOUNDS, function)

for name, function in {
    "hardswish": F.hardswish, "hardsigmoid": F.hardsigmoid, "hardsigmoid by relu6": lambda x: F.relu6(x + 3) / 6, "hardswish by relu6": lambda x: x * F.relu6(x + 3) / 6, "hardsigmoid by clamp": lambda x: (x + 3).clamp(0, 6) / 6, "hardsigmoid by hardtanh": lambda x: F.hardtanh(x / 3, -1, 1) * 0.5 + 0.5,
    "relu6": lambda x: F.relu6(2 * x), "module relu6": nn.ReLU6(), "module hardtanh": nn.Hardtanh(-3, 3), "module hardsigmoid": nn.Hardsigmoid(), "module hardswish": nn.Hardswish(),
}.items():
    pointwise(name, [*THREE, 2.0], function)

for name, function in {
    "softshrink": lambda x: F.softshrink(x, 0.5), "hardshrink": lambda x: F.hardshrink(x, 0.5), "round apart": lambda x: x - torch.round(x), "round": lambda x: torch.round(x) * x, "floor": lambda x: torch.floor(x) * x, "ceil": lambda x: torch.ceil(x) * x, "trunc": lambda x: torch.trunc(x) * x,
    "frac": torch.frac, "remainder": lambda x: torch.remainder(x, 0.25), "fmod": lambda x: torch.fmod(x, 0.25), "rounded straight through": lambda x: x + (torch.round(x) - x).detach(), "floor divide": lambda x: torch.div(x, 0.25, rounding_mode="floor") * x,
    "remainder of tensors": lambda x: torch.remainder(x, torch.tensor(0.25)), "fmod of tensors": lambda x: torch.fmod(x, torch.tensor(0.25)), "fake quantized": lambda x: torch.fake_quantize_per_tensor_affine(x, 0.25, 0, -2, 2), "tanhshrink": F.tanhshrink,
}.items():
    pointwise(name, TENTHS, function)

for name, function in {"softplus": F.softplus, "softplus 20": lambda x: F.softplus(x, 1, 4), "logsigmoid far": F.logsigmoid, "silu far": F.silu, "mish far": F.mish, "gelu far": F.gelu, "tanh far": torch.tanh, "sigmoid far": torch.sigmoid, "elu far": F.elu, "selu far": F.selu, "gelu tanh far": lambda x: F.gelu(x, approximate="tanh"), "erf far": torch.erf, "log1p of exp": lambda x: torch.log1p(torch.exp(x.clamp(max=30)))}.items():
    pointwise(name, [-100.0, -20.0, 0.0, 4.0, 20.0, 64.0], function)

TIES = [(1.0, 1.0), (0.0, 0.0), (-1.0, 0.5), (0.5, -1.0), (0.0, -0.0), (2.0, 2.0)]
for name, function in {
    "maximum": torch.maximum, "minimum": torch.minimum, "max of two": torch.max, "min of two": torch.min, "fmax": torch.fmax, "fmin": torch.fmin, "clamp by a trained minimum": lambda a, b: torch.clamp(a, min=b), "clamp by a trained maximum": lambda a, b: torch.clamp(a, max=b),
    "clamp by both": lambda a, b: torch.clamp(a, b, b + 0.5), "where of two": lambda a, b: torch.where(a > b, a, b), "where or equal": lambda a, b: torch.where(a >= b, a, b), "relu of the difference": lambda a, b: b + F.relu(a - b), "distance": lambda a, b: (a - b).abs(), "stacked amax": lambda a, b: torch.stack([a, b]).amax(0),
    "stacked max": lambda a, b: torch.stack([a, b]).max(0).values, "stacked amin": lambda a, b: torch.stack([a, b]).amin(0), "pow of trained": lambda a, b: torch.pow(a.abs(), b.abs() + 1), "logaddexp": torch.logaddexp, "three by max": lambda a, b: torch.max(torch.max(a, b), a * b), "l1 none": lambda a, b: F.l1_loss(a, b, reduction="none"),
    "smooth l1 none": lambda a, b: F.smooth_l1_loss(a, b, reduction="none", beta=1.5), "smooth l1 of beta 0": lambda a, b: F.smooth_l1_loss(a, b, reduction="none", beta=0.0), "huber none": lambda a, b: F.huber_loss(a, b, reduction="none", delta=1.5), "smooth l1 sum": lambda a, b: F.smooth_l1_loss(a, b, reduction="sum", beta=1.5), "huber mean": lambda a, b: F.huber_loss(a, b, delta=1.5),
    "l1 mean": F.l1_loss, "hinge embedding": lambda a, b: F.hinge_embedding_loss(a, torch.where(b > 0, 1.0, -1.0).detach(), reduction="none"), "margin ranking": lambda a, b: F.margin_ranking_loss(a, b, torch.ones(SAMPLES, 6), margin=1.5, reduction="none"), "hinge": lambda a, b: F.relu(1 - a * b), "squared hinge": lambda a, b: (1 - a * b).clamp(min=0) ** 2,
    "soft margin": lambda a, b: F.soft_margin_loss(a, torch.sign(b.detach() + 0.25), reduction="none"), "bce with logits": lambda a, b: F.binary_cross_entropy_with_logits(a, (b.detach() > 0).float(), reduction="none"), "poisson": lambda a, b: F.poisson_nll_loss(a, b.abs().detach(), reduction="none", full=True), "xlogy of trained": lambda a, b: torch.xlogy(a.abs(), b.abs() + 1),
    "cosine": lambda a, b: F.cosine_similarity(a, b, dim=-1, eps=0.5), "pairwise distance": lambda a, b: F.pairwise_distance(a, b, eps=0.5), "copysign of trained": lambda a, b: torch.copysign(a, b), "hypot": lambda a, b: torch.hypot(a, b + 4), "mse none": lambda a, b: F.mse_loss(a, b, reduction="none"), "dist": lambda a, b: torch.dist(a, b),
    "triplet": lambda a, b: F.triplet_margin_loss(a, b, a * 0.5, margin=0.5, reduction="none"), "cosine embedding": lambda a, b: F.cosine_embedding_loss(a, b, -torch.ones(SAMPLES), reduction="none"), "remainder of trained": lambda a, b: torch.remainder(a, b + 4), "kl": lambda a, b: F.kl_div(a, F.relu(b.detach()), reduction="none"),
}.items():
    two(name, TIES, function)

Z = [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0, -2.0, 0.0], [3.0, 4.0, 0.0], [-1.0, -1.0, 2.0], [2.0, 2.0, -1.0]]
for name, function in {
    "norm": lambda x: x.norm(dim=-1), "norm 1": lambda x: x.norm(p=1, dim=-1), "norm 3": lambda x: torch.linalg.vector_norm(x, 3, dim=-1), "norm inf": lambda x: torch.linalg.vector_norm(x, float("inf"), dim=-1), "norm -inf": lambda x: torch.linalg.vector_norm(x, float("-inf"), dim=-1), "norm of all": lambda x: x.norm() * x, "norm kept": lambda x: x / (x.norm(dim=-1, keepdim=True) + 0.5),
    "vector norm": lambda x: torch.linalg.vector_norm(x, dim=-1), "norm of two dimensions": lambda x: torch.linalg.norm(x, dim=(1, 2)), "frobenius": lambda x: torch.linalg.matrix_norm(x), "normalize": lambda x: F.normalize(x, dim=-1, eps=0.5), "normalize 1": lambda x: F.normalize(x, p=1, dim=-1, eps=0.5), "normalize inf": lambda x: F.normalize(x, p=float("inf"), dim=-1, eps=0.5), "normalize at its bound": lambda x: F.normalize(x, dim=-1, eps=5.0),
    "normalize small": lambda x: F.normalize(x, dim=-1), "std": lambda x: x.std(-1), "std biased": lambda x: x.std(-1, unbiased=False), "var": lambda x: x.var(-1), "std of all": lambda x: x.std((1, 2)), "std_mean": lambda x: torch.cat([t for t in torch.std_mean(x, -1)], -1), "logsumexp": lambda x: torch.logsumexp(x, -1), "softmax": lambda x: torch.softmax(x, -1), "layer norm": lambda x: F.layer_norm(x, (3,)),
    "rms norm": lambda x: F.rms_norm(x, (3,), eps=1e-3), "amax": lambda x: x.amax(-1), "amin": lambda x: x.amin(-1), "amax kept": lambda x: x - x.amax(-1, keepdim=True), "amax of two dimensions": lambda x: x.amax((1, 2)), "max along": lambda x: x.max(-1).values, "min along": lambda x: x.min(-1).values, "max of all": lambda x: x.max() * x, "min of all": lambda x: x.min() * x, "max along 1": lambda x: x.max(1).values,
    "aminmax": lambda x: torch.cat(torch.aminmax(x, dim=-1), -1), "sort": lambda x: torch.sort(x, -1).values * torch.arange(1.0, 4.0), "sort down": lambda x: torch.sort(x, -1, descending=True).values * torch.arange(1.0, 4.0), "sort stably": lambda x: torch.sort(x, dim=-1, stable=True).values * torch.arange(1.0, 4.0), "sort stably down": lambda x: torch.sort(x, dim=-1, stable=True, descending=True).values * torch.arange(1.0, 4.0), "top-k": lambda x: torch.topk(x, 2, -1).values, "top-k smallest": lambda x: torch.topk(x, 2, -1, largest=False).values, "top-k 1": lambda x: torch.topk(x, 1, -1).values,
    "argsort": lambda x: torch.gather(x, -1, torch.argsort(x, -1)) * torch.arange(1.0, 4.0), "argmax gather": lambda x: torch.gather(x, -1, x.argmax(-1, keepdim=True)), "argmin gather": lambda x: torch.gather(x, -1, x.argmin(-1, keepdim=True)), "median": lambda x: x.median(-1).values, "median of all": lambda x: torch.median(x.reshape(SAMPLES, -1), -1).values, "kthvalue": lambda x: x.kthvalue(2, -1).values, "mode": lambda x: x.mode(-1).values, "cummax": lambda x: x.cummax(-1).values, "cummin": lambda x: x.cummin(-1).values,
    "prod": lambda x: x.prod(-1), "prod of two zeros": lambda x: (x * x).prod(-1), "cumprod": lambda x: x.cumprod(-1), "prod of all": lambda x: x.reshape(SAMPLES, -1).prod(-1, keepdim=True), "count_nonzero": lambda x: x * torch.count_nonzero(x, -1).unsqueeze(-1), "quantile": lambda x: torch.quantile(x, 0.5, -1), "nanmean": lambda x: torch.nanmean(x, -1), "renorm": lambda x: torch.renorm(x.reshape(-1, 3), 2, 0, 2.0),
    "cdist": lambda x: torch.cdist(x, x), "cdist 1": lambda x: torch.cdist(x, x, p=1.0), "cdist by hand": lambda x: (x.unsqueeze(1) - x.unsqueeze(2)).norm(dim=-1), "squared distances by hand": lambda x: (x.unsqueeze(1) - x.unsqueeze(2)).pow(2).sum(-1), "cosine of rows": lambda x: F.cosine_similarity(x.unsqueeze(1), x.unsqueeze(2), dim=-1, eps=0.5), "dropout whole": lambda x: F.dropout(x, 1.0, True) + x, "hardmax": lambda x: F.one_hot(x.argmax(-1), 3).float() * x, "logcumsumexp": lambda x: torch.logcumsumexp(x, -1),
    "max pool": lambda x: F.max_pool1d(x, 2, 1), "max pool of rows": lambda x: F.max_pool2d(x.unsqueeze(1), (2, 2), 1), "max pool padded": lambda x: F.max_pool2d(x.unsqueeze(1), 3, 2, 1), "max pool ceiling": lambda x: F.max_pool2d(x.unsqueeze(1), 2, 2, ceil_mode=True), "max pool spread": lambda x: F.max_pool2d(x.unsqueeze(1), 2, 1, dilation=(2, 1)), "adaptive max pool": lambda x: F.adaptive_max_pool2d(x.unsqueeze(1), (2, 2)), "adaptive max pool 1": lambda x: F.adaptive_max_pool1d(x, 1), "max pool of a volume": lambda x: F.max_pool3d(x.reshape(SAMPLES, 1, 2, 3, 3), 2, 1),
    "max pool and unpool": lambda x: F.max_unpool2d(*F.max_pool2d(x.unsqueeze(1), (2, 3), return_indices=True), (2, 3), output_size=(6, 3)), "max pool of relu": lambda x: F.max_pool2d(F.relu(x.unsqueeze(1)), 2, 1), "lp pool": lambda x: F.lp_pool2d(x.unsqueeze(1), 2, (2, 3)), "lp pool 1": lambda x: F.lp_pool1d(x, 1, 3), "global max": lambda x: x.flatten(1).max(1, keepdim=True).values, "relu then norm": lambda x: F.relu(x).norm(dim=-1), "maxout": lambda x: x.reshape(SAMPLES, 6, 3).max(-1).values,
    "scatter amax": lambda x: torch.zeros(SAMPLES, 6, 2).scatter_reduce(-1, torch.tensor([0, 0, 1]).expand(SAMPLES, 6, 3), x, "amax"), "scatter amax without": lambda x: torch.zeros(SAMPLES, 6, 2).scatter_reduce(-1, torch.tensor([0, 0, 1]).expand(SAMPLES, 6, 3), x, "amax", include_self=False), "scatter mean": lambda x: torch.zeros(SAMPLES, 6, 2).scatter_reduce(-1, torch.tensor([0, 0, 1]).expand(SAMPLES, 6, 3), x, "mean"), "scatter prod": lambda x: torch.ones(SAMPLES, 6, 2).scatter_reduce(-1, torch.tensor([0, 0, 1]).expand(SAMPLES, 6, 3), x, "prod"),
    "index repeated": lambda x: x[..., [0, 0, 2]] * torch.arange(1.0, 4.0), "multi margin": lambda x: F.multi_margin_loss(x.reshape(-1, 3), torch.tensor([0, 1, 2] * 8), reduction="none"), "multilabel margin": lambda x: F.multilabel_margin_loss(x.reshape(-1, 3), torch.tensor([[0, -1, -1]] * 24), reduction="none"), "log softmax": lambda x: F.log_softmax(x, -1), "cross entropy": lambda x: F.cross_entropy(x.reshape(-1, 3), torch.tensor([0, 1, 2, -100] * 6), reduction="none"),
    "normalize by hand": lambda x: x / x.norm(dim=-1, keepdim=True).clamp(min=0.5), "normalize by maximum": lambda x: x / torch.maximum(x.norm(dim=-1, keepdim=True), torch.tensor(3.0)), "clip by norm": lambda x: x * (2.0 / (x.norm(dim=-1, keepdim=True) + 1e-3)).clamp(max=1.0), "squash": lambda x: x * x.norm(dim=-1, keepdim=True) / (1 + x.pow(2).sum(-1, keepdim=True)), "huber by hand": lambda x: torch.where(x.abs() < 1, 0.5 * x * x, x.abs() - 0.5), "instance norm of equals": lambda x: F.instance_norm(x), "group norm of equals": lambda x: F.group_norm(x, 3),
}.items():
    rows(name, Z, function)


@module("prelu")
def _():
    x = torch.tensor([-1.0, 0.0, 1.0, -0.0]).repeat(SAMPLES, 3, 1)
    return At(lambda self, x: F.prelu(x + self.w, self.a), w=parameter(torch.full((3, 4), SHIFT)), a=parameter([0.25, -0.5, 0.0])), (x - SHIFT,)


@module("prelu of one weight")
def _():
    x = rolled([-1.0, 0.0, 1.0, -0.0])
    return At(lambda self, x: self.f(x + self.w), w=parameter(torch.full((4,), SHIFT)), f=nn.PReLU()), (x - SHIFT,)


def embedding(name, tokens=((1, 0, 2, 0), (0, 0, 3, 3), (3, 1, 0, 2), (2, 2, 2, 2)), **options):
    def made():
        generator = torch.Generator().manual_seed(1)
        f = nn.Embedding(5, 3, **options)
        with torch.no_grad():
            f.weight.copy_(torch.randn(5, 3, generator=generator))
        return At(lambda self, x: self.f(x), f=f), (torch.tensor(tokens),)
    KINKS[name] = made


embedding("embedding")
embedding("embedding padded", padding_idx=0)
embedding("embedding padded last", padding_idx=-1)
embedding("embedding padded and met", padding_idx=2)
embedding("embedding by frequency", scale_grad_by_freq=True)
embedding("embedding by frequency padded", scale_grad_by_freq=True, padding_idx=3)


@module("embedding functional padded")
def _():
    w = torch.randn(5, 3, generator=torch.Generator().manual_seed(1))
    return At(lambda self, x: F.embedding(x, self.w, padding_idx=0), w=parameter(w)), (torch.tensor([[1, 0, 2], [0, 0, 3], [3, 1, 0], [4, 4, 4]]),)


@module("embedding tied and padded")
def _():
    w = torch.randn(5, 3, generator=torch.Generator().manual_seed(1))
    return At(lambda self, x: F.embedding(x, self.w, padding_idx=0) @ self.w.t(), w=parameter(w)), (torch.tensor([[1, 0, 2], [0, 0, 3], [3, 1, 0], [4, 4, 4]]),)


@module("two embeddings of one table, one padded")
def _():
    w = torch.randn(5, 3, generator=torch.Generator().manual_seed(1))
    return At(lambda self, x: F.embedding(x, self.w, padding_idx=0) + F.embedding(x.flip(1), self.w), w=parameter(w)), (torch.tensor([[1, 0, 2], [0, 0, 3], [3, 1, 0], [4, 4, 4]]),)


@module("embedding of zeros padded and scaled")
def _():
    f = nn.Embedding(5, 4, padding_idx=0)
    return At(lambda self, x: self.g(self.f(x) * 2.0).relu(), f=f, g=nn.Linear(4, 3)), (torch.tensor([[1, 0, 2], [0, 0, 3], [3, 1, 0], [4, 4, 4]]),)


def bag(name, **options):
    def made():
        f = nn.EmbeddingBag(5, 3, **options)
        with torch.no_grad():
            f.weight.copy_(torch.randn(5, 3, generator=torch.Generator().manual_seed(1)))
            f.weight[3] = f.weight[1]
        return At(lambda self, x: self.f(x), f=f), (torch.tensor([[1, 0, 2], [0, 0, 3], [3, 1, 0], [4, 4, 4]]),)
    KINKS[name] = made


for mode in ("sum", "mean", "max"):
    bag(f"bag {mode}", mode=mode)
    bag(f"bag {mode} padded", mode=mode, padding_idx=0)


@module("bag sum by frequency")
def _():
    """PyTorch documents the inverse of how often a word is in the batch; EmbeddingBag's gradient on a CPU (2.13) divides by other words' numbers, Embedding's
    does not: counts of 1, 4, 2, 3 become divisors of 1, 4, 4, 4."""
    made, inputs = KINKS["bag sum"]()
    made.f.scale_grad_by_freq = True
    return At(made.function, lambda self, x: F.embedding(x, self.f.weight, scale_grad_by_freq=True).sum(1), f=made.f), inputs


def sampled(name, **options):
    """grid_sample where the grid meets the centres of pixels, the border, and beyond; the grid is trained."""
    def made():
        side = 3 if options["align_corners"] else 4  # the centres of pixels are exact in binary
        x = torch.randn(SAMPLES, 2, side, side, generator=torch.Generator().manual_seed(1))
        theta = parameter([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
        function = lambda self, x: F.grid_sample(x, F.affine_grid(self.theta.expand(SAMPLES, 2, 3), [SAMPLES, 2, side, side], align_corners=options["align_corners"]), **options)
        return At(function, theta=theta), (x,)
    KINKS[name] = made


for corners in (True, False):
    for padding in ("zeros", "border", "reflection"):
        sampled(f"grid sample {padding} {'corners' if corners else 'edges'}", padding_mode=padding, align_corners=corners)


@module("rnn of relu")
def _():
    x = torch.zeros(SAMPLES, 3, 2)
    f = nn.RNN(2, 2, nonlinearity="relu", batch_first=True)
    with torch.no_grad():
        f.weight_ih_l0.copy_(torch.eye(2)), f.weight_hh_l0.copy_(torch.eye(2)), f.bias_ih_l0.fill_(0.5), f.bias_hh_l0.fill_(-0.5)
    x[1] = 1.0
    return At(lambda self, x: self.f(x)[0], f=f), (x,)


def layered(name, activation):
    """A layer whose sums are exactly at the kink: fused kernels have their own gradient."""
    for kind, layer, shape in (("linear", lambda: nn.Linear(3, 4), (3,)), ("convolution", lambda: nn.Conv2d(2, 4, 3, padding=1), (2, 5, 5)), ("batch norm", lambda: nn.Sequential(nn.Conv2d(2, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4)), (2, 5, 5))):
        def made(layer=layer, shape=shape, kind=kind):
            f = layer()
            generator = torch.Generator().manual_seed(1)
            with torch.no_grad():
                for each in f.parameters():
                    each.copy_(torch.randint(-2, 3, each.shape, generator=generator) / 2)
            x = torch.randint(-2, 3, (SAMPLES, *shape), generator=generator).float()
            if kind == "batch norm":
                x[:] = 1.0  # every channel has no variance in its middle: what remains is the edge
            return At(lambda self, x: self.g(activation(self.f(x)).flatten(1)), f=f, g=nn.Linear(4 * (25 if len(shape) == 3 else 1), 2)), (x,)
        KINKS[f"{name} behind a {kind}"] = made


for name, activation in {"relu": F.relu, "relu6": F.relu6, "leaky_relu": lambda x: F.leaky_relu(x, 0.125), "hardswish": F.hardswish, "hardsigmoid": F.hardsigmoid, "clamp": lambda x: x.clamp(0, 1), "elu": lambda x: F.elu(x, 0.75), "abs": torch.abs}.items():
    layered(name, activation)


@module("relu and max pool behind a convolution")
def _():
    generator = torch.Generator().manual_seed(1)
    f = nn.Conv2d(1, 4, 3, padding=1)
    with torch.no_grad():
        for each in f.parameters():
            each.copy_(torch.randint(-1, 2, each.shape, generator=generator) / 2)
    return At(lambda self, x: F.max_pool2d(F.relu(self.f(x)), 2).flatten(1), f=f), (torch.randint(-1, 2, (SAMPLES, 1, 6, 6), generator=generator).float(),)


# What acts in backward alone.
@module("detached factor")
def _():
    x = rolled([-1.0, 0.5, 1.0])
    return At(lambda self, x: (x * self.w) * torch.sigmoid(x * self.w).detach(), w=parameter([0.5, -1.0, 2.0])), (x,)


@module("detached and not")
def _():
    x = rolled([-1.0, 0.5, 1.0])

    def function(self, x):
        h = x * self.w
        return h * h.detach()
    return At(function, w=parameter([0.5, -1.0, 2.0])), (x,)


@module("detached parameter")
def _():
    x = rolled([-1.0, 0.5, 1.0])
    return At(lambda self, x: x * self.w.detach() + self.w * 0.5, w=parameter([0.5, -1.0, 2.0])), (x,)


@module("without gradient")
def _():
    x = rolled([-1.0, 0.5, 1.0])

    def function(self, x):
        with torch.no_grad():
            scale = torch.sigmoid(x * self.w)
        return scale * self.w + x
    return At(function, w=parameter([0.5, -1.0, 2.0])), (x,)


@module("detached output of a layer")
def _():
    x = rolled([-1.0, 0.5, 1.0])
    return At(lambda self, x: self.g(torch.tanh(self.f(x)).detach()) + self.f(x), f=nn.Linear(3, 3), g=nn.Linear(3, 3)), (x,)


@module("straight through a code book")
def _():
    x = rolled([-1.0, 0.5, 1.0])

    def function(self, x):
        h = self.f(x)
        codes = self.book(torch.cdist(h, self.book.weight.detach()).argmin(-1))
        return self.g(h + (codes - h).detach()) + codes
    return At(function, f=nn.Linear(3, 3), g=nn.Linear(3, 3), book=nn.Embedding(4, 3)), (x,)


for name, function in {"clamp of relu": lambda x: F.relu(x).clamp(max=0.25), "relu of clamp": lambda x: F.relu(x.clamp(max=0.25)), "clamp of clamp": lambda x: x.clamp(-0.25, 1).clamp(-1, 0.25), "relu6 of relu": lambda x: F.relu6(F.relu(x)), "relu of relu6": lambda x: F.relu(F.relu6(x)), "hardtanh of relu": lambda x: F.hardtanh(F.relu(x), -1, 0.25), "maximum of maximum": lambda x: torch.maximum(torch.maximum(x, torch.tensor(0.0)), torch.tensor(-0.25)), "minimum of relu": lambda x: torch.minimum(F.relu(x), torch.tensor(0.25)), "relu of minimum": lambda x: F.relu(torch.minimum(x, torch.tensor(0.25))), "clamp min of relu": lambda x: F.relu(x).clamp(min=0.0)}.items():
    pointwise(name, AROUND, function)
