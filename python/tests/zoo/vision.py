"""Images, volumes, graphs, fields: families that tests/networks has not, or has in another form."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from .case import Case, classes, ids, real


class Detector(nn.Module):
    """A pyramid, anchors in a buffer, focal loss and boxes where a target is; losses in a dict, as torchvision
    gives them."""

    def __init__(self, kinds: int = 3) -> None:
        super().__init__()
        self.kinds = kinds
        self.c1, self.c2, self.c3 = nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 12, 3, 2, 1), nn.Conv2d(12, 16, 3, 2, 1)
        self.l2, self.l3, self.smooth = nn.Conv2d(12, 8, 1), nn.Conv2d(16, 8, 1), nn.Conv2d(8, 8, 3, padding=1)
        self.kind, self.box = nn.Conv2d(8, kinds, 3, padding=1), nn.Conv2d(8, 4, 3, padding=1)
        self.register_buffer("anchors", torch.rand(16 + 4, 4))

    def forward(self, image: Tensor, labels: Tensor, boxes: Tensor) -> dict[str, Tensor]:
        x = F.relu(self.c2(F.relu(self.c1(image))))
        low = self.l3(F.relu(self.c3(x)))
        high = self.smooth(self.l2(x) + F.interpolate(low, size=x.shape[-2:], mode="nearest"))
        kinds = torch.cat([self.kind(p).flatten(2).transpose(1, 2) for p in (high, low)], 1)
        found = torch.cat([self.box(p).flatten(2).transpose(1, 2) for p in (high, low)], 1)
        truth = F.one_hot(labels, self.kinds + 1)[..., 1:].float()
        p = torch.sigmoid(kinds)
        at = p * truth + (1 - p) * (1 - truth)
        focal = F.binary_cross_entropy_with_logits(kinds, truth, reduction="none") * (1 - at) ** 2
        there = (labels > 0)[..., None].float()
        offsets = (boxes - self.anchors) / (self.anchors[:, 2:].repeat(1, 2) + 0.1)
        regression = F.smooth_l1_loss(found, offsets, beta=0.1, reduction="none") * there
        count = there.sum().clamp(min=1)
        return {"loss": (focal.sum() + regression.sum()) / count, "classification": focal.sum(), "boxes": found}


class GraphNet(nn.Module):
    """Messages along edges by index_add and scatter; attention over neighbours by a softmax of segments."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.score, self.head = (
            nn.Linear(5, 12),
            nn.Linear(12, 12),
            nn.Linear(24, 1),
            nn.Linear(12, 3),
        )

    def forward(self, x: Tensor, source: Tensor, target: Tensor) -> Tensor:
        h = torch.relu(self.first(x))
        gathered = torch.zeros_like(h).index_add(0, target, h[source])
        degree = torch.zeros(x.size(0)).index_add(0, target, torch.ones(source.size(0)))
        h = torch.relu(self.second(gathered / degree.clamp(min=1)[:, None]) + h)
        scores = F.leaky_relu(self.score(torch.cat([h[source], h[target]], -1)).squeeze(-1), 0.2)
        most = torch.full((x.size(0),), -1e9).scatter_reduce(0, target, scores, "amax").detach()
        weights = torch.exp(scores - most[target])
        total = torch.zeros(x.size(0)).scatter_add(0, target, weights)
        weights = weights / total[target]
        return self.head(
            torch.zeros_like(h).scatter_add(0, target[:, None].expand(-1, 12), h[source] * weights[:, None]) + h
        )


class Vit(nn.Module):
    """nn.MultiheadAttention with weights asked for, a class token, positions that are resized."""

    def __init__(self) -> None:
        super().__init__()
        self.patch, self.cls = nn.Conv2d(3, 16, 4, 4), nn.Parameter(torch.zeros(1, 1, 16))
        self.places = nn.Parameter(torch.randn(1, 16, 3, 3) * 0.1)
        self.norm1, self.norm2, self.attend = (
            nn.LayerNorm(16),
            nn.LayerNorm(16),
            nn.MultiheadAttention(16, 4, batch_first=True),
        )
        self.mlp, self.head = (
            nn.Sequential(nn.Linear(16, 32), nn.GELU(approximate="tanh"), nn.Linear(32, 16)),
            nn.Linear(16, 5),
        )

    def forward(self, x: Tensor) -> Tensor:
        x = self.patch(x)
        x = (
            (x + F.interpolate(self.places, size=x.shape[-2:], mode="bicubic", align_corners=False))
            .flatten(2)
            .transpose(1, 2)
        )
        x = torch.cat([self.cls.expand(x.size(0), -1, -1), x], 1)
        h = self.norm1(x)
        y, weights = self.attend(h, h, h, need_weights=True)
        x = x + y
        x = x + self.mlp(self.norm2(x))
        return self.head(x[:, 0] + weights.mean((1, 2))[:, None] * 0.01)


class ConvNext(nn.Module):
    """Channels last, a scale for each layer, depth that is dropped at random."""

    def __init__(self, drop: float = 0.0) -> None:
        super().__init__()
        self.drop = drop
        self.stem, self.depthwise, self.norm = (
            nn.Conv2d(3, 12, 2, 2),
            nn.Conv2d(12, 12, 7, padding=3, groups=12),
            nn.LayerNorm(12, eps=1e-6),
        )
        self.up, self.down, self.gamma = nn.Linear(12, 48), nn.Linear(48, 12), nn.Parameter(0.1 * torch.ones(12))
        self.head = nn.Linear(12, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        y = self.down(F.gelu(self.up(self.norm(self.depthwise(x).permute(0, 2, 3, 1)))))
        y = (self.gamma * y).permute(0, 3, 1, 2)
        if self.drop and self.training:
            keep = torch.empty(x.size(0), 1, 1, 1).bernoulli_(1 - self.drop)
            y = y * keep / (1 - self.drop)
        return self.head((x + y).mean((2, 3)))


class Dropped(nn.Module):
    """Every kind of dropout, and noise."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.head = nn.Conv2d(3, 8, 3, padding=1), nn.Linear(8, 4)
        self.two, self.alpha, self.plain = nn.Dropout2d(0.2), nn.AlphaDropout(0.1), nn.Dropout(0.3)

    def forward(self, x: Tensor) -> Tensor:
        h = self.two(F.relu(self.conv(x + 0.1 * torch.randn_like(x)))).mean((2, 3))
        return self.head(self.plain(F.selu(self.alpha(h))))


class EdgeCases(nn.Module):
    """Gradients at ties, bounds, zeros: of norms, deviations, clamps, maxima."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(
            torch.tensor([[0.0, 0.0, 1.0, -1.0, 2.0, 2.0], [0.5, -0.5, 0.5, 0.0, 0.0, 3.0], [0.0] * 6])
        )

    def forward(self, x: Tensor) -> Tensor:
        w = self.weight * x
        parts = [
            w.norm(dim=1), F.normalize(w, dim=1, eps=0.1).sum(1), w.std(1), w.clamp(0, 2).sum(1), w.abs().sum(1),
            w.amax(1), w.max(1)[0], w.max().expand(3), w.amin(1), w.min(1)[0],
            F.relu(w).sum(1), F.hardtanh(w).sum(1), F.relu6(w).sum(1), torch.maximum(w, torch.zeros_like(w)).sum(1),
            w.sign().sum(1), F.hardswish(w * 3).sum(1),
            F.elu(w).sum(1), F.leaky_relu(w).sum(1), F.softshrink(w).sum(1), torch.cdist(w, w.detach()).sum(1),
            F.huber_loss(w, torch.zeros_like(w), reduction="none").sum(1),
            F.smooth_l1_loss(w, torch.ones_like(w), reduction="none").sum(1), w.pow(2).sum(1), w.sum(1),
            torch.logsumexp(w, 1), w.prod(1),
        ]  # fmt: skip
        return torch.stack([part * (0.3 + 0.1 * index) for index, part in enumerate(parts)]).sum()


class Hourglass(nn.Module):
    """Upsampling of all kinds, padding of all kinds, pooling of bins that are not equal."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = (
            nn.Conv2d(2, 6, 3),
            nn.Conv2d(6, 6, 3, padding="same", padding_mode="reflect"),
            nn.ConvTranspose2d(6, 4, 3, 2, 1, 1, groups=2),
        )
        self.shuffle, self.head = nn.PixelShuffle(2), nn.Linear(9 + 4, 3)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.tanh(self.a(F.pad(x, (1, 1, 1, 1), mode="circular")))
        y = F.interpolate(self.b(y), scale_factor=1.5, mode="bilinear") + F.interpolate(
            y, size=(12, 12), mode="nearest-exact"
        )
        y = self.c(F.avg_pool2d(y, 3, 2, 1, ceil_mode=True, count_include_pad=False))
        z = F.adaptive_avg_pool2d(self.shuffle(y), 3).flatten(1)
        folded = F.fold(F.unfold(y, 3, padding=1), y.shape[-2:], 3, padding=1)
        return self.head(torch.cat([z, F.adaptive_max_pool2d(folded, 1).flatten(1)], 1))


class Deformed(nn.Module):
    """A spatial transformer: a grid that the image itself makes."""

    def __init__(self) -> None:
        super().__init__()
        self.place, self.conv, self.head = nn.Linear(2 * 36, 6), nn.Conv2d(2, 6, 3, padding=1), nn.Linear(6, 3)
        nn.init.normal_(self.place.weight, std=0.02)
        self.place.bias.data = torch.tensor([1.0, 0, 0.1, 0, 1, -0.1])

    def forward(self, x: Tensor) -> Tensor:
        grid = F.affine_grid(self.place(x.flatten(1)).view(-1, 2, 3), list(x.shape), align_corners=False)
        return self.head(F.relu(self.conv(F.grid_sample(x, grid, align_corners=False))).mean((2, 3)))


class Triplet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 16), nn.PReLU(), nn.Linear(16, 6))

    def forward(self, a: Tensor, p: Tensor, n: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.net(a), self.net(p), self.net(n)


class Shuffled(nn.Module):
    """Tensors moved about: rolls, flips, repeats, diagonals, windows, writes into slices."""

    def __init__(self) -> None:
        super().__init__()
        self.net, self.head = nn.Linear(8, 8), nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.tanh(self.net(x))
        h = torch.roll(h, 2, 1) + h.flip(1) + h.repeat(1, 2)[:, 3:11] + h.repeat_interleave(2, 1)[:, ::2]
        pairs = h[:, :, None] * h[:, None, :]
        h = (
            h
            + pairs.diagonal(dim1=1, dim2=2) * 0.1
            + torch.triu(pairs).sum(2) * 0.05
            + h.unfold(1, 3, 1).sum(2).mean(1, keepdim=True)
        )
        y = torch.zeros_like(h)
        y[:, 2:6] = h[:, :4] * 2
        y[:, 7] += h[:, 0]
        y.select(1, 1).add_(h[:, 5])
        y = y.masked_fill(y > 2, 0.5)
        y = torch.where(y < -2, -y, y)
        return self.head(torch.stack([y, h], 1).sum(1) + h.cumsum(1) * 0.1)


class Sorted(nn.Module):
    """Order statistics: sort, top-k, kth values, medians as a loss of quantiles."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(6, 9)

    def forward(self, x: Tensor) -> Tensor:
        h = self.net(x)
        ordered, places = torch.sort(h, -1, descending=True)
        best, _ = torch.topk(h, 3, -1, largest=False)
        return (
            (ordered * torch.linspace(1, 0, 9)).sum(-1)
            + best.prod(-1) * 0.1
            + places.float().mean(-1) * 0
            + h.argmin(-1) * 0.0
        )


class Sde(nn.Module):
    """A Neural ODE by Euler's steps, written as a Python loop."""

    def __init__(self) -> None:
        super().__init__()
        self.field, self.head = nn.Sequential(nn.Linear(5, 16), nn.Softplus(), nn.Linear(16, 4)), nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        for step in range(6):
            t = torch.full((x.size(0), 1), step / 6)
            x = x + self.field(torch.cat([x, t], -1)) / 6
        return self.head(x)


class Pinn(nn.Module):
    """A field whose derivative is written out by differences: the residual of an equation is the loss."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1))

    def forward(self, x: Tensor) -> Tensor:
        step = 0.25
        low, here, high = self.net(x - step), self.net(x), self.net(x + step)
        second = (high - 2 * here + low) / step**2
        return (second + math.pi**2 * torch.sin(math.pi * x)).square().mean() + self.net(
            torch.zeros(1, 1)
        ).square().mean()


class Statistics(nn.Module):
    """Norms of every kind: batch without running statistics, instance, group, local response, in one, two and
    three dimensions."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.BatchNorm1d(4), nn.BatchNorm2d(4, track_running_stats=False)
        self.three, self.instance = nn.BatchNorm3d(4), nn.InstanceNorm2d(4, affine=True)
        self.group, self.local, self.rms = nn.GroupNorm(2, 4), nn.LocalResponseNorm(3), nn.RMSNorm(5)
        self.conv, self.head = nn.Conv2d(3, 4, 3, padding=1), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        h = self.conv(x)
        h = self.two(h) + self.instance(h) + self.group(h) + self.local(h)
        h = h + self.three(h[:, :, None])[:, :, 0] + self.one(h.flatten(2)).view_as(h)
        return self.head(self.rms(h).mean((2, 3)))


class Volumes(nn.Module):
    """Three dimensions of space and one: convolutions, transposed ones, pools."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv3d(1, 4, 3, padding=1), nn.ConvTranspose3d(4, 2, 2, 2)
        self.c, self.d = nn.Conv1d(2, 4, 3, dilation=2, padding=2), nn.ConvTranspose1d(4, 3, 4, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        h = self.b(F.max_pool3d(F.relu(self.a(x)), 2))
        h = self.d(F.avg_pool1d(F.relu(self.c(h.mean((3, 4)))), 2))
        return h.mean(2)


CASES = {
    "detector": Case(Detector, lambda: ((real(3, 3, 16, 16), ids(4, 3, 20), real(3, 20, 4)), None), None, lr=0.05),
    "graph_net": Case(
        GraphNet, lambda: ((real(10, 5), ids(10, 24), ids(10, 24)), classes(3, 10)), F.cross_entropy, lr=0.1
    ),
    "vit_attention": Case(Vit, lambda: ((real(3, 3, 16, 16),), classes(5, 3)), F.cross_entropy, lr=0.1),
    "convnext_last": Case(ConvNext, lambda: ((real(4, 3, 12, 12),), classes(4, 4)), F.cross_entropy, lr=0.1),
    "convnext_drop_path": Case(
        lambda: ConvNext(0.3), lambda: ((real(4, 3, 12, 12),), classes(4, 4)), F.cross_entropy, lr=0.1, draws=True
    ),
    "dropouts": Case(Dropped, lambda: ((real(6, 3, 8, 8),), classes(4, 6)), F.cross_entropy, lr=0.1, draws=True),
    "edge_cases": Case(EdgeCases, lambda: ((torch.ones(3, 6),), None), None, lr=1e-6),
    "hourglass": Case(Hourglass, lambda: ((real(3, 2, 8, 8),), classes(3, 3)), F.cross_entropy, lr=0.1),
    "spatial_transformer": Case(Deformed, lambda: ((real(4, 2, 6, 6),), classes(3, 4)), F.cross_entropy, lr=0.05),
    "triplet": Case(
        Triplet,
        lambda: ((real(5, 8), real(5, 8), real(5, 8)), None),
        lambda output: F.triplet_margin_loss(*output),
        lr=0.1,
    ),
    "shuffled": Case(Shuffled, lambda: ((real(5, 8),), classes(4, 5)), F.cross_entropy, lr=0.05),
    "sorted": Case(Sorted, lambda: ((real(6, 6),), real(6)), F.l1_loss, lr=0.05),
    "neural_ode": Case(Sde, lambda: ((real(8, 4),), real(8, 2)), F.huber_loss, lr=0.1),
    "pinn": Case(Pinn, lambda: ((real(16, 1),), None), None, lr=0.001),
    "statistics": Case(Statistics, lambda: ((real(4, 3, 5, 5),), classes(3, 4)), F.cross_entropy, lr=0.05),
    "volumes": Case(Volumes, lambda: ((real(2, 1, 8, 8, 8),), real(2, 3)), nn.MSELoss(), lr=0.1),
}
