"""Training by comparison: two views, queues and averages that forward moves, margins, clusters."""

from __future__ import annotations

import copy
import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from .case import Case, Refusal, classes, real


def encoder(width: int = 10, out: int = 8) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, 16), nn.ReLU(), nn.Linear(16, out))


class MoCo(nn.Module):
    """The key encoder's parameters follow those of the query encoder in forward, under no_grad, through `.data`."""

    queue: Tensor
    queue_ptr: Tensor

    def __init__(self, momentum: float = 0.9, temperature: float = 0.2, size: int = 24) -> None:
        super().__init__()
        self.m, self.T = momentum, temperature
        self.encoder_q, self.encoder_k = encoder(), encoder()
        for param_q, param_k in zip(self.encoder_q.parameters(), self.encoder_k.parameters(), strict=True):
            param_k.data.copy_(param_q.data)
            param_k.requires_grad = False
        self.register_buffer("queue", F.normalize(torch.randn(8, size), dim=0))
        self.register_buffer("queue_ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def _momentum_update_key_encoder(self) -> None:
        for param_q, param_k in zip(self.encoder_q.parameters(), self.encoder_k.parameters(), strict=True):
            param_k.data = param_k.data * self.m + param_q.data * (1.0 - self.m)

    @torch.no_grad()
    def _dequeue_and_enqueue(self, keys: Tensor) -> None:
        places = (self.queue_ptr + torch.arange(keys.shape[0])) % self.queue.size(1)
        self.queue[:, places] = keys.T
        self.queue_ptr[0] = (self.queue_ptr[0] + keys.shape[0]) % self.queue.size(1)

    def forward(self, im_q: Tensor, im_k: Tensor) -> tuple[Tensor, Tensor]:
        q = F.normalize(self.encoder_q(im_q), dim=1)
        with torch.no_grad():
            self._momentum_update_key_encoder()
            k = F.normalize(self.encoder_k(im_k), dim=1)
        l_pos = torch.einsum("nc,nc->n", [q, k]).unsqueeze(-1)
        l_neg = torch.einsum("nc,ck->nk", [q, self.queue.clone().detach()])
        logits = torch.cat([l_pos, l_neg], dim=1) / self.T
        labels = torch.zeros(logits.shape[0], dtype=torch.long)
        self._dequeue_and_enqueue(k)
        return logits, labels


class MoCoInPlace(MoCo):
    """The same update by mul_ and add_ on the parameters themselves."""

    @torch.no_grad()
    def _momentum_update_key_encoder(self) -> None:
        for param_q, param_k in zip(self.encoder_q.parameters(), self.encoder_k.parameters(), strict=True):
            param_k.mul_(self.m).add_(param_q, alpha=1 - self.m)


class MoCoPointer(MoCo):
    """The pointer as the reference code reads it: into Python."""

    @torch.no_grad()
    def _dequeue_and_enqueue(self, keys: Tensor) -> None:
        ptr = int(self.queue_ptr)
        self.queue[:, ptr : ptr + keys.shape[0]] = keys.T
        self.queue_ptr[0] = (ptr + keys.shape[0]) % self.queue.size(1)


class Byol(nn.Module):
    """The target follows the online network in forward, by lerp; batch norms in both; two regressions."""

    def __init__(self, decay: float = 0.97) -> None:
        super().__init__()
        self.decay = decay
        self.online = nn.Sequential(nn.Linear(12, 24), nn.BatchNorm1d(24), nn.ReLU(inplace=True), nn.Linear(24, 8))
        self.target = copy.deepcopy(self.online)
        for parameter in self.target.parameters():
            parameter.requires_grad_(False)
        self.predictor = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(inplace=True), nn.Linear(16, 8))

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        with torch.no_grad():
            for ours, theirs in zip(self.target.parameters(), self.online.parameters(), strict=True):
                ours.lerp_(theirs, 1 - self.decay)
            s, t = self.target(a).detach(), self.target(b).detach()
        p, q = self.predictor(self.online(a)), self.predictor(self.online(b))

        def regression(x: Tensor, y: Tensor) -> Tensor:
            return 2 - 2 * (F.normalize(x, dim=-1) * F.normalize(y, dim=-1)).sum(dim=-1)

        return (regression(p, t) + regression(q, s)).mean()


class SimSiam(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(10, 16, bias=False), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 8))
        self.encoder[-1].bias.requires_grad = False
        self.encoder.append(nn.BatchNorm1d(8, affine=False))
        self.predictor = encoder(8)

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        z1, z2 = self.encoder(x1), self.encoder(x2)
        criterion = nn.CosineSimilarity(dim=1)
        return (
            -(criterion(self.predictor(z1), z2.detach()).mean() + criterion(self.predictor(z2), z1.detach()).mean())
            * 0.5
        )


def nt_xent(output: tuple[Tensor, Tensor], temperature: float = 0.3) -> Tensor:
    """SimCLR: the other view among all other samples."""
    z = F.normalize(torch.cat(output, dim=0), dim=1)
    n = z.size(0) // 2
    likeness = z @ z.T
    likeness = likeness[~torch.eye(2 * n, dtype=torch.bool)].view(2 * n, -1)
    rows = torch.arange(2 * n)
    other = (rows + n) % (2 * n)
    return F.cross_entropy(likeness / temperature, torch.where(other > rows, other - 1, other))


class TwoViews(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = encoder()

    def forward(self, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        return self.encoder(a), self.encoder(b)


def supervised_contrast(output: tuple[Tensor, Tensor], target: Tensor) -> Tensor:
    z = F.normalize(torch.stack(output, dim=1), dim=2)
    n, views = z.shape[:2]
    same = torch.eq(target.view(-1, 1), target.view(-1, 1).T).float().repeat(views, views)
    logits = torch.div(torch.matmul(torch.cat(torch.unbind(z, dim=1)), torch.cat(torch.unbind(z, dim=1)).T), 0.2)
    logits = logits - torch.max(logits, dim=1, keepdim=True)[0].detach()
    others = torch.scatter(torch.ones_like(same), 1, torch.arange(n * views).view(-1, 1), 0)
    same = same * others
    log_p = logits - torch.log((torch.exp(logits) * others).sum(1, keepdim=True))
    pairs = same.sum(1)
    pairs = torch.where(pairs < 1e-6, 1, pairs)
    return -((same * log_p).sum(1) / pairs).view(views, n).mean()


class BarlowTwins(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.bn = encoder(), nn.BatchNorm1d(8, affine=False)

    @staticmethod
    def off_diagonal(x: Tensor) -> Tensor:
        n = x.size(0)
        return x.flatten()[:-1].view(n - 1, n + 1)[:, 1:].flatten()

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        c = self.bn(self.encoder(a)).T @ self.bn(self.encoder(b))
        c.div_(a.size(0))
        on = torch.diagonal(c).add_(-1).pow_(2).sum()
        return on + 0.05 * self.off_diagonal(c).pow_(2).sum()


def vicreg(output: tuple[Tensor, Tensor]) -> Tensor:
    x, y = output
    loss = 25 * F.mse_loss(x, y)
    for z in output:
        centred = z - z.mean(dim=0)
        std = torch.sqrt(centred.var(dim=0) + 0.0001)
        covariance = centred.T @ centred / (z.size(0) - 1)
        loss += 25 * torch.mean(F.relu(1 - std)) / 2
        loss += covariance.masked_fill(torch.eye(z.size(1)).bool(), 0).pow(2).sum() / z.size(1)
    return loss


class SwAv(nn.Module):
    """Codes by Sinkhorn's iterations without gradient; prototypes are of length 1 where they are used."""

    def __init__(self, prototypes: int = 6) -> None:
        super().__init__()
        self.encoder, self.prototypes = encoder(), nn.Linear(8, prototypes, bias=False)

    @torch.no_grad()
    def sinkhorn(self, scores: Tensor) -> Tensor:
        q = torch.exp(scores / 0.25).t()
        k, n = q.shape
        q /= torch.sum(q)
        for _ in range(3):
            q /= torch.sum(q, dim=1, keepdim=True)
            q /= k
            q /= torch.sum(q, dim=0, keepdim=True)
            q /= n
        q *= n
        return q.t()

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        weight = F.normalize(self.prototypes.weight, dim=1, p=2)
        s, t = (F.linear(F.normalize(self.encoder(x), dim=1), weight) for x in (a, b))
        q, r = self.sinkhorn(s.detach()), self.sinkhorn(t.detach())
        p, o = F.log_softmax(s / 0.1, dim=1), F.log_softmax(t / 0.1, dim=1)
        return -0.5 * torch.mean(torch.sum(q * o, dim=1) + torch.sum(r * p, dim=1))


class SwAvInPlace(nn.Module):
    """Prototypes that are normalized where they are stored: a trained parameter is written in forward."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.prototypes = encoder(), nn.Linear(8, 6, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            w = self.prototypes.weight.data.clone()
            self.prototypes.weight.copy_(F.normalize(w, dim=1, p=2))
        return self.prototypes(F.normalize(self.encoder(x), dim=1))


class Dino(nn.Module):
    """Crops of two sizes; a teacher of buffers that follows the student; a centre and a step that forward counts."""

    step: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.student, self.head = encoder(), nn.utils.parametrizations.weight_norm(nn.Linear(8, 12, bias=False))
        self.head.parametrizations.weight.original0.data.fill_(1)
        self.head.parametrizations.weight.original0.requires_grad = False
        for i, (name, parameter) in enumerate([*self.student.named_parameters(), ("head", self.head.weight)]):
            self.register_buffer(f"teacher_{i}", parameter.detach().clone() * (0.5 if "bias" in name else 1.0))
        self.register_buffer("center", torch.zeros(1, 12))
        self.register_buffer("step", torch.tensor(0.0))

    def teach(self, x: Tensor) -> Tensor:
        w1, b1, w2, b2, head = (self.get_buffer(f"teacher_{i}") for i in range(5))
        return F.linear(F.normalize(F.linear(F.relu(F.linear(x, w1, b1)), w2, b2), dim=-1), head)

    def forward(self, wide: Tensor, narrow: Tensor) -> Tensor:
        with torch.no_grad():
            self.step += 1
            m = 1 - 0.1 * (torch.cos(math.pi * self.step / 50) + 1) / 2
            for i, parameter in enumerate([*self.student.parameters(), self.head.weight]):
                buffer = self.get_buffer(f"teacher_{i}")
                buffer.copy_(buffer * m + parameter * (1 - m))
            views = self.teach(wide.flatten(0, 1))
            temperature = 0.04 + 0.03 * torch.clamp(self.step / 10, max=1.0)
            target = F.softmax((views - self.center) / temperature, dim=-1).chunk(2)
            self.center.copy_(self.center * 0.9 + views.mean(dim=0, keepdim=True) * 0.1)
        crops = torch.cat([wide, narrow], dim=0)
        out = self.head(F.normalize(self.student(crops.flatten(0, 1)), dim=-1)) / 0.1
        total, terms = torch.zeros(()), 0
        for i, t in enumerate(target):
            for j, s in enumerate(out.chunk(crops.size(0))):
                if i == j:
                    continue
                total = total + torch.sum(-t * F.log_softmax(s, dim=-1), dim=-1).mean()
                terms += 1
        return total / terms


class ArcFace(nn.Module):
    """An angle's margin for the class of the label, made easy where the angle is large."""

    def __init__(self, s: float = 8.0, m: float = 0.3) -> None:
        super().__init__()
        self.backbone, self.weight = encoder(), nn.Parameter(torch.empty(5, 8))
        nn.init.xavier_uniform_(self.weight)
        self.s, self.cos_m, self.sin_m = s, math.cos(m), math.sin(m)
        self.th, self.mm = math.cos(math.pi - m), math.sin(math.pi - m) * m

    def forward(self, x: Tensor, label: Tensor) -> Tensor:
        cosine = F.linear(F.normalize(self.backbone(x)), F.normalize(self.weight))
        sine = torch.sqrt((1.0 - torch.pow(cosine, 2)).clamp(1e-6, 1))
        phi = cosine * self.cos_m - sine * self.sin_m
        phi = torch.where(cosine > self.th, phi, cosine - self.mm)
        one_hot = torch.zeros(cosine.size())
        one_hot.scatter_(1, label.view(-1, 1).long(), 1)
        return F.cross_entropy(((one_hot * phi) + ((1.0 - one_hot) * cosine)) * self.s, label)


class CenterLoss(nn.Module):
    """Centres of classes move in forward, by as much as the samples of the batch ask for."""

    centers: Tensor

    def __init__(self, kinds: int = 4) -> None:
        super().__init__()
        self.net, self.head = encoder(10, 6), nn.Linear(6, kinds)
        self.register_buffer("centers", torch.randn(kinds, 6))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        z = self.net(x)
        loss = F.cross_entropy(self.head(z), y) + 0.1 * (z - self.centers[y]).pow(2).sum(1).mean()
        with torch.no_grad():
            off = self.centers.index_select(0, y) - z.detach()
            count = torch.zeros(self.centers.size(0)).scatter_add_(0, y, torch.ones_like(y, dtype=torch.float))
            delta = torch.zeros_like(self.centers).index_add_(0, y, off) / (1 + count).unsqueeze(1)
            self.centers -= 0.5 * delta
        return loss


def batch_hard(z: Tensor, y: Tensor, margin: float = 0.3) -> Tensor:
    """The farthest of the same class and the nearest of another, by masks."""
    square = (z * z).sum(1)
    distance = (square[:, None] - 2 * z @ z.t() + square[None]).clamp(min=0)
    zero = distance.eq(0).float()
    distance = (1 - zero) * torch.sqrt(distance + zero * 1e-16)
    same = y[:, None] == y[None]
    positive = same & ~torch.eye(len(y)).bool()
    hardest = (distance * positive).max(dim=1)[0]
    largest = distance.max(dim=1, keepdim=True)[0]
    nearest = (distance + largest * same.float()).min(dim=1).values
    return F.relu(hardest - nearest + margin).sum() / (1e-16 + (hardest > nearest - margin).float().sum())


class MaskedAutoencoder(nn.Module):
    """Patches are kept by the order of given noise, mask tokens put in place of the rest, all by gather."""

    def __init__(self, width: int = 12, patch: int = 4) -> None:
        super().__init__()
        self.patch = patch
        self.embed, self.pos = nn.Conv2d(1, width, patch, patch), nn.Parameter(torch.randn(1, 16, width) * 0.1)
        self.encoder = nn.TransformerEncoderLayer(width, 2, 24, 0.0, batch_first=True, norm_first=True)
        self.mask_token, self.predict = nn.Parameter(torch.zeros(1, 1, width)), nn.Linear(width, patch**2)
        self.decoder = nn.TransformerEncoderLayer(width, 2, 24, 0.0, batch_first=True)

    def forward(self, image: Tensor, noise: Tensor) -> Tensor:
        x = self.embed(image).flatten(2).transpose(1, 2) + self.pos
        n, length, width = x.shape
        kept = length // 4
        shuffle = torch.argsort(noise, dim=1)
        restore = torch.argsort(shuffle, dim=1)
        x = self.encoder(torch.gather(x, 1, shuffle[:, :kept].unsqueeze(-1).repeat(1, 1, width)))
        mask = torch.ones([n, length])
        mask[:, :kept] = 0
        mask = torch.gather(mask, dim=1, index=restore)
        x = torch.cat([x, self.mask_token.repeat(n, length - kept, 1)], dim=1)
        x = torch.gather(x, 1, restore.unsqueeze(-1).expand(-1, -1, width)) + self.pos
        h = image.size(2) // self.patch
        target = image.reshape(n, 1, h, self.patch, h, self.patch)
        target = torch.einsum("nchpwq->nhwpqc", target).reshape(n, length, -1)
        target = (target - target.mean(-1, keepdim=True)) / (target.var(-1, keepdim=True) + 1e-6) ** 0.5
        loss = ((self.predict(self.decoder(x)) - target) ** 2).mean(dim=-1)
        return (loss * mask).sum() / mask.sum()


class Distilled(nn.Module):
    """Knowledge of a larger frozen network: softened classes, and hints of its middle found by a hook."""

    def __init__(self) -> None:
        super().__init__()
        self.teacher = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4)).eval()
        self.teacher.requires_grad_(False)
        self.student, self.fit = nn.Sequential(nn.Linear(10, 8), nn.ReLU(), nn.Linear(8, 4)), nn.Linear(8, 32)

    def forward(self, x: Tensor, y: Tensor, temperature: float = 3.0) -> Tensor:
        seen: dict[str, Tensor] = {}
        hooks = [
            net[1].register_forward_hook(lambda _m, _i, out, name=name: seen.__setitem__(name, out))
            for name, net in (("teacher", self.teacher), ("student", self.student))
        ]
        with torch.no_grad():
            taught = self.teacher(x)
        own = self.student(x)
        for hook in hooks:
            hook.remove()
        soft = F.kl_div(
            F.log_softmax(own / temperature, dim=1), F.softmax(taught / temperature, dim=1), reduction="batchmean"
        )
        hint = F.mse_loss(self.fit(seen["student"]), seen["teacher"])
        return 0.3 * F.cross_entropy(own, y, label_smoothing=0.1) + 0.7 * temperature**2 * soft + 0.1 * hint


def first_of(output: tuple[Tensor, Tensor]) -> Tensor:
    return F.cross_entropy(*output)


def two() -> tuple[tuple[Tensor, Tensor], None]:
    return (real(6, 10), real(6, 10)), None


CASES = {
    "moco_moving": Case(MoCo, two, first_of, lr=0.1),
    "moco_in_place": Case(MoCoInPlace, two, first_of, lr=0.1),
    "moco_pointer": Case(
        MoCoPointer,
        two,
        first_of,
        refused=Refusal(
            "E0407", "index_copy at (self.queue_ptr + torch.arange(n)) % size", "ptr = int(self.queue_ptr)"
        ),
    ),
    "byol_moving": Case(Byol, lambda: ((real(8, 12), real(8, 12)), None), None, lr=0.1),
    "simsiam": Case(SimSiam, two, None, lr=0.1),
    "simclr": Case(TwoViews, two, nt_xent, lr=0.1),
    "supervised_contrast": Case(TwoViews, lambda: (two()[0], classes(2, 6)), supervised_contrast, lr=0.1),
    "barlow_twins": Case(BarlowTwins, lambda: ((real(16, 10), real(16, 10)), None), None, lr=0.01),
    "vicreg": Case(TwoViews, two, vicreg, lr=0.01),
    "swav": Case(SwAv, two, None, lr=0.1),
    "swav_in_place": Case(
        SwAvInPlace,
        lambda: ((real(6, 10),), classes(6, 6)),
        F.cross_entropy,
        refused=Refusal(
            "E0407", "a trained parameter in place", "self.prototypes.weight.copy_(F.normalize(w, dim=1, p=2))"
        ),
    ),
    "dino": Case(Dino, lambda: ((real(2, 5, 10), real(2, 5, 10)), None), None, lr=0.05),
    "arc_face": Case(ArcFace, lambda: ((real(6, 10), classes(5, 6)), None), None, lr=0.1),
    "center_loss": Case(CenterLoss, lambda: ((real(8, 10), classes(4, 8)), None), None, lr=0.1),
    "batch_hard": Case(encoder, lambda: ((real(9, 10),), classes(3, 9)), batch_hard, lr=0.05),
    "masked_autoencoder": Case(
        MaskedAutoencoder, lambda: ((real(3, 1, 16, 16), torch.rand(3, 16)), None), None, lr=0.05
    ),
    "distilled": Case(Distilled, lambda: ((real(6, 10), classes(4, 6)), None), None, lr=0.1),
}
