"""Training that changes what trains, or what a gradient does: adapters, averages, reversal, reparametrization,
frozen parts."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from .case import Case, classes, ids, real


class LoraLinear(nn.Module):
    """A frozen layer, and a product of two thin ones beside it."""

    def __init__(self, base: nn.Linear, rank: int = 4, alpha: float = 8.0) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = nn.Parameter(torch.randn(rank, base.in_features) / base.in_features**0.5)
        self.b = nn.Parameter(torch.randn(base.out_features, rank) * 0.1)
        self.scale = alpha / rank

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) + self.scale * ((x @ self.a.t()) @ self.b.t())


class LoraClassifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(40, 24).requires_grad_(False)
        self.layer = nn.TransformerEncoderLayer(24, 4, 48, dropout=0.0, batch_first=True).requires_grad_(False)
        for name in ("linear1", "linear2"):
            setattr(self.layer, name, LoraLinear(getattr(self.layer, name)))
        self.head = nn.Linear(24, 5)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.layer(self.embed(tokens)).mean(1))


class Reverse(torch.autograd.Function):
    """The identity, whose gradient is turned round."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, strength: float) -> Tensor:
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return -ctx.strength * gradient, None


class DomainAdversarial(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 16), nn.Tanh())
        self.label, self.domain = nn.Linear(16, 4), nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 2))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = self.features(x)
        return self.label(h), self.domain(Reverse.apply(h, 0.7))


def two_heads(output: tuple[Tensor, Tensor], target: tuple[Tensor, Tensor]) -> Tensor:
    return F.cross_entropy(output[0], target[0]) + 0.5 * F.cross_entropy(output[1], target[1])


class Sign(torch.autograd.Function):
    """A sign with the gradient of a clipped identity."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return torch.where(x >= 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return gradient * (x.abs() <= 1).to(gradient.dtype)


class BinaryNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.head = nn.Linear(16, 32), nn.Linear(32, 32), nn.Linear(32, 4)

    def forward(self, x: Tensor) -> Tensor:
        h = Sign.apply(self.first(x))
        h = F.linear(h, Sign.apply(self.second.weight)) / 6
        return self.head(F.relu(h))


class StraightThrough(nn.Module):
    """VQ-VAE: the nearest entry of a codebook, straight through."""

    def __init__(self) -> None:
        super().__init__()
        self.encode, self.codes, self.decode = nn.Linear(10, 6), nn.Embedding(16, 6), nn.Linear(6, 10)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        z = self.encode(x)
        nearest = torch.cdist(z, self.codes.weight).argmin(-1)
        code = self.codes(nearest)
        commitment = F.mse_loss(z, code.detach()) * 0.25 + F.mse_loss(code, z.detach())
        y = self.decode(z + (code - z).detach())
        return {"loss": F.mse_loss(y, x) + commitment, "image": y}


class FakeQuantized(nn.Module):
    """Weights of eight bits in forward, as training for quantization has them."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.head = nn.Linear(12, 20), nn.Linear(20, 3)

    def weight(self, w: Tensor) -> Tensor:
        scale = w.abs().amax().detach() / 127
        return w + (torch.round(w / scale) * scale - w).detach()

    def forward(self, x: Tensor) -> Tensor:
        h = F.relu(F.linear(x, self.weight(self.first.weight), self.first.bias))
        return F.linear(h, self.weight(self.head.weight), self.head.bias)


class MeanTeacher(nn.Module):
    """The teacher is a moving average of the student, and gives targets without gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.student = nn.Sequential(nn.Linear(10, 16), nn.GELU(), nn.Linear(16, 8))
        self.teacher = copy.deepcopy(self.student).requires_grad_(False)
        self.register_buffer("center", torch.zeros(8))

    def forward(self, x: Tensor, other: Tensor) -> Tensor:
        seen = torch.log_softmax(self.student(x) / 0.5, -1)
        with torch.no_grad():
            taught = self.teacher(other)
            target = torch.softmax((taught - self.center) / 0.2, -1)
            self.center.mul_(0.9).add_(taught.mean(0), alpha=0.1)
        return -(target * seen).sum(-1).mean()


class MovingTeacher(nn.Module):
    """The average is taken in forward: the teacher is in buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(8, 10) * 0.3)
        self.register_buffer("average", torch.randn(8, 10) * 0.3)

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            self.average.lerp_(self.weight, 0.1)
        return ((x @ self.weight.t()).tanh() - (x @ self.average.t()).tanh()).square().mean()


class Byol(nn.Module):
    """Two views, a predictor, a frozen target network; cosine losses with stopped gradients."""

    def __init__(self) -> None:
        super().__init__()
        self.online = nn.Sequential(nn.Linear(12, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 8))
        self.target = copy.deepcopy(self.online).requires_grad_(False)
        self.predictor = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        p, q = self.predictor(self.online(a)), self.predictor(self.online(b))
        with torch.no_grad():
            s, t = self.target(a), self.target(b)
        return 2 - F.cosine_similarity(p, t, dim=-1).mean() - F.cosine_similarity(q, s, dim=-1).mean()


class WeightNormed(nn.Module):
    def __init__(self, old: bool) -> None:
        super().__init__()
        norm = nn.utils.weight_norm if old else nn.utils.parametrizations.weight_norm
        self.first, self.second = norm(nn.Conv1d(4, 8, 3, padding=1)), norm(nn.Linear(8 * 12, 5))

    def forward(self, x: Tensor) -> Tensor:
        return self.second(torch.tanh(self.first(x)).flatten(1))


class SpectralNormed(nn.Module):
    """Power iteration moves buffers in every forward."""

    def __init__(self, old: bool) -> None:
        super().__init__()
        norm = nn.utils.spectral_norm if old else nn.utils.parametrizations.spectral_norm
        self.first, self.second = norm(nn.Conv2d(3, 6, 3, 2, 1)), norm(nn.Linear(6 * 16, 1))

    def forward(self, x: Tensor) -> Tensor:
        return self.second(F.leaky_relu(self.first(x), 0.2).flatten(1))


class Orthogonal(nn.Module):
    """A parametrization of one's own: a skew matrix, and a Householder chain that stays orthogonal."""

    class Skew(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.triu(1) - x.triu(1).transpose(-1, -2)

    def __init__(self) -> None:
        super().__init__()
        self.mix, self.head = nn.Linear(8, 8), nn.Linear(8, 3)
        nn.utils.parametrize.register_parametrization(self.mix, "weight", Orthogonal.Skew())

    def forward(self, x: Tensor) -> Tensor:
        return self.head(x + torch.tanh(self.mix(x)))


class FrozenNorms(nn.Module):
    """Batch norm in eval mode inside of a network that trains, as fine-tuning of detectors has it; some parameters
    are frozen."""

    keeps_mode = True

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.body = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.head = nn.Linear(8, 4)
        self.train()
        self.stem.eval().requires_grad_(False)
        self.body[1].eval()
        self.stem[1].running_mean.uniform_(-0.5, 0.5)
        self.body[1].running_var.uniform_(0.5, 1.5)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(self.stem(x)).mean((2, 3)))


class Hooked(nn.Module):
    """Hooks on modules that change what goes in and out."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.head = nn.Linear(6, 12), nn.Linear(12, 3)
        self.first.register_forward_hook(lambda module, args, output: torch.relu(output) * 2)
        self.head.register_forward_pre_hook(lambda module, args: (args[0] - 0.1,))

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.first(x))


class Momentum(nn.Module):
    """MoCo: a queue of keys that each step moves on, and a frozen encoder of keys."""

    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 8))
        self.key = copy.deepcopy(self.query).requires_grad_(False)
        self.register_buffer("queue", F.normalize(torch.randn(24, 8), dim=1))

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        q = F.normalize(self.query(a), dim=1)
        with torch.no_grad():
            k = F.normalize(self.key(b), dim=1)
        positive, negative = (q * k).sum(1, keepdim=True), q @ self.queue.clone().detach().t()
        with torch.no_grad():
            self.queue.copy_(torch.cat([k, self.queue[: -k.size(0)]]))
        logits = torch.cat([positive, negative], 1) / 0.2
        return F.cross_entropy(logits, torch.zeros(q.size(0), dtype=torch.long))


CASES = {
    "lora": Case(LoraClassifier, lambda: ((ids(40, 4, 8),), classes(5, 4)), F.cross_entropy, lr=0.1),
    "gradient_reversal": Case(
        DomainAdversarial, lambda: ((real(8, 12),), (classes(4, 8), classes(2, 8))), two_heads, lr=0.1
    ),
    "binary_net": Case(BinaryNet, lambda: ((real(8, 16),), classes(4, 8)), F.cross_entropy),
    "vq_vae": Case(StraightThrough, lambda: ((real(8, 10),), None), None, lr=0.1),
    "fake_quantized": Case(FakeQuantized, lambda: ((real(8, 12),), classes(3, 8)), F.cross_entropy),
    "mean_teacher": Case(MeanTeacher, lambda: ((real(8, 10), real(8, 10)), None), None, lr=0.1),
    "moving_teacher": Case(MovingTeacher, lambda: ((real(8, 10),), None), None, lr=0.1),
    "byol": Case(Byol, lambda: ((real(8, 12), real(8, 12)), None), None, lr=0.1),
    "moco": Case(Momentum, lambda: ((real(6, 10), real(6, 10)), None), None, lr=0.1),
    "weight_norm": Case(
        lambda: WeightNormed(False), lambda: ((real(6, 4, 12),), classes(5, 6)), F.cross_entropy, lr=0.05
    ),
    "weight_norm_old": Case(
        lambda: WeightNormed(True), lambda: ((real(6, 4, 12),), classes(5, 6)), F.cross_entropy, lr=0.05
    ),
    "spectral_norm": Case(
        lambda: SpectralNormed(False), lambda: ((real(6, 3, 8, 8),), real(6, 1)), F.mse_loss, lr=0.05
    ),
    "spectral_norm_old": Case(
        lambda: SpectralNormed(True), lambda: ((real(6, 3, 8, 8),), real(6, 1)), F.mse_loss, lr=0.05
    ),
    "orthogonal": Case(Orthogonal, lambda: ((real(6, 8),), classes(3, 6)), F.cross_entropy, lr=0.1),
    "frozen_norms": Case(FrozenNorms, lambda: ((real(4, 3, 8, 8),), classes(4, 4)), F.cross_entropy, lr=0.1),
    "module_hooks": Case(Hooked, lambda: ((real(6, 6),), classes(3, 6)), F.cross_entropy, lr=0.1),
}
