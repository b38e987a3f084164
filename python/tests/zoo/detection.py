"""Images as detectors, segmenters and restorers are written: losses of many terms, targets made by masks."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from .case import Case, Refusal, classes, ids, real


def complete_iou(a: Tensor, b: Tensor, eps: float = 1e-7) -> Tensor:
    """Of boxes as centre and size."""
    (x1, y1, w1, h1), (x2, y2, w2, h2) = a.unbind(-1), b.unbind(-1)
    left, right = torch.maximum(x1 - w1 / 2, x2 - w2 / 2), torch.minimum(x1 + w1 / 2, x2 + w2 / 2)
    top, bottom = torch.maximum(y1 - h1 / 2, y2 - h2 / 2), torch.minimum(y1 + h1 / 2, y2 + h2 / 2)
    inter = (right - left).clamp(0) * (bottom - top).clamp(0)
    union = w1 * h1 + w2 * h2 - inter + eps
    iou = inter / union
    cw = torch.maximum(x1 + w1 / 2, x2 + w2 / 2) - torch.minimum(x1 - w1 / 2, x2 - w2 / 2)
    ch = torch.maximum(y1 + h1 / 2, y2 + h2 / 2) - torch.minimum(y1 - h1 / 2, y2 - h2 / 2)
    diagonal = cw.pow(2) + ch.pow(2) + eps
    rho = (x2 - x1).pow(2) + (y2 - y1).pow(2)
    v = (4 / math.pi**2) * (torch.atan(w2 / (h2 + eps)) - torch.atan(w1 / (h1 + eps))).pow(2)
    with torch.no_grad():
        alpha = v / (v - iou + (1 + eps))
    return iou - (rho / diagonal + v * alpha)


class Yolo(nn.Module):
    """A grid and anchors in buffers; targets are put into the grid by index; objectness is told the box's overlap."""

    def __init__(self, kinds: int = 3) -> None:
        super().__init__()
        self.kinds = kinds
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.SiLU(inplace=True), nn.Conv2d(8, 12, 3, 2, 1)
        )
        self.detect = nn.Conv2d(12, 2 * (5 + kinds), 1)
        y, x = torch.meshgrid(torch.arange(4), torch.arange(4), indexing="ij")
        self.register_buffer("grid", torch.stack((x, y), 2).view(1, 1, 4, 4, 2).float(), persistent=False)
        self.register_buffer("anchors", torch.tensor([[1.0, 1.5], [2.0, 1.0]]))

    def forward(self, image: Tensor, labels: Tensor, boxes: Tensor) -> Tensor:
        n, objects = labels.shape
        p = self.detect(F.leaky_relu(self.backbone(image), 0.1))
        p = p.view(n, 2, 5 + self.kinds, 4, 4).permute(0, 1, 3, 4, 2).contiguous()
        xy = p[..., 0:2].sigmoid() * 2.0 - 0.5 + self.grid
        wh = (p[..., 2:4].sigmoid() * 2) ** 2 * self.anchors.view(1, 2, 1, 1, 2)
        cells = (boxes[..., :2] * 4).long().clamp_(0, 3)
        scaled = boxes * 4
        ratio = scaled[:, :, None, 2:] / self.anchors
        best = torch.max(ratio, 1.0 / ratio).max(-1)[0].argmin(-1)
        rows = torch.arange(n).view(-1, 1).expand(-1, objects)
        found = torch.cat((xy, wh), -1)[rows, best, cells[..., 1], cells[..., 0]]
        iou = complete_iou(found, scaled)
        objectness = torch.zeros_like(p[..., 4])
        objectness[rows, best, cells[..., 1], cells[..., 0]] = iou.detach().clamp(0)
        told = torch.full((n, objects, self.kinds), 0.05).scatter_(-1, labels.unsqueeze(-1), 0.95)
        lbox = (1.0 - iou).mean()
        lcls = F.binary_cross_entropy_with_logits(p[rows, best, cells[..., 1], cells[..., 0], 5:], told)
        lobj = nn.BCEWithLogitsLoss(pos_weight=torch.tensor([1.5]))(p[..., 4], objectness)
        return 0.05 * lbox * n + lobj + 0.5 * lcls


class YoloV1(nn.Module):
    """Squares of differences where a mask says that a cell has an object; the better of two boxes answers for it."""

    def __init__(self, grid: int = 3, kinds: int = 2) -> None:
        super().__init__()
        self.grid, self.kinds = grid, kinds
        self.net = nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.LeakyReLU(0.1), nn.AdaptiveAvgPool2d(grid))
        self.head = nn.Linear(8 * grid**2, grid**2 * (kinds + 10))

    def forward(self, image: Tensor, target: Tensor) -> Tensor:
        p = self.head(self.net(image).flatten(1)).reshape(-1, self.grid, self.grid, self.kinds + 10)
        k = self.kinds
        overlaps = [complete_iou(p[..., k + 1 + 5 * i : k + 5 + 5 * i], target[..., k + 1 :]) for i in (0, 1)]
        _, best = torch.max(torch.stack(overlaps), dim=0)
        best = best.unsqueeze(3)
        there = target[..., k].unsqueeze(3)
        box = there * (best * p[..., k + 6 : k + 10] + (1 - best) * p[..., k + 1 : k + 5])
        wanted = there * target[..., k + 1 :]
        box[..., 2:4] = torch.sign(box[..., 2:4]) * torch.sqrt(torch.abs(box[..., 2:4] + 1e-6))
        wanted[..., 2:4] = torch.sqrt(wanted[..., 2:4])
        mse = nn.MSELoss(reduction="sum")
        said = best * p[..., k + 5 : k + 6] + (1 - best) * p[..., k : k + 1]
        loss = 5 * mse(torch.flatten(box, end_dim=-2), torch.flatten(wanted, end_dim=-2))
        loss += mse(there * said, there * target[..., k : k + 1])
        loss += 0.5 * sum(mse((1 - there) * p[..., i : i + 1], (1 - there) * 0.0) for i in (k, k + 5))
        return loss + mse(there * p[..., :k], there * target[..., :k])


class YoloIndexed(YoloV1):
    """The same by boolean indices of the data."""

    def forward(self, image: Tensor, target: Tensor) -> Tensor:
        p = self.head(self.net(image).flatten(1)).reshape(-1, self.grid, self.grid, self.kinds + 10)
        there = target[..., self.kinds] > 0
        chosen, wanted = p[there], target[there]
        return F.mse_loss(chosen[:, :4], wanted[:, -4:])


class RetinaNet(nn.Module):
    """Anchors matched to boxes by overlap in forward; focal loss and smooth L1 where a match says so."""

    def __init__(self, kinds: int = 3) -> None:
        super().__init__()
        self.kinds = kinds
        self.c3, self.c4 = nn.Conv2d(3, 8, 3, 4, 1), nn.Conv2d(8, 8, 3, 2, 1)
        self.lateral, self.tower = nn.Conv2d(8, 8, 1), nn.Sequential(nn.Conv2d(8, 8, 3, 1, 1), nn.ReLU())
        self.cls, self.reg = nn.Conv2d(8, 2 * kinds, 3, 1, 1), nn.Conv2d(8, 8, 3, 1, 1)
        self.cls.bias.data.fill_(-math.log((1 - 0.1) / 0.1))
        anchors = []
        for cells in (4, 2):
            step = 16 / cells
            shift = (torch.arange(cells) + 0.5) * step
            y, x = torch.meshgrid(shift, shift, indexing="ij")
            for w, h in ((1.0, 2.0), (2.0, 1.0)):
                anchors.append(
                    torch.stack([x - w * step / 2, y - h * step / 2, x + w * step / 2, y + h * step / 2], -1)
                )
        levels = [torch.stack(anchors[i : i + 2], 2).view(-1, 4) for i in (0, 2)]
        self.register_buffer("anchors", torch.cat(levels))

    def forward(self, image: Tensor, boxes: Tensor, labels: Tensor) -> dict[str, Tensor]:
        c3 = F.relu(self.c3(image))
        p4 = self.c4(c3)
        levels = [self.lateral(c3) + F.interpolate(p4, scale_factor=2, mode="nearest"), p4]
        cls, reg = (
            torch.cat([head(self.tower(f)).permute(0, 2, 3, 1).reshape(f.size(0), -1, width) for f in levels], dim=1)
            for head, width in ((self.cls, self.kinds), (self.reg, 4))
        )
        cls_losses, reg_losses = [], []
        a = self.anchors
        size, centre = a[:, 2:] - a[:, :2], (a[:, 2:] + a[:, :2]) / 2
        for j in range(image.size(0)):
            lt, rb = torch.max(a[:, None, :2], boxes[j, :, :2]), torch.min(a[:, None, 2:], boxes[j, :, 2:])
            inter = (rb - lt).clamp(min=0).prod(2)
            area = (boxes[j, :, 2:] - boxes[j, :, :2]).prod(1)
            iou, matched = (inter / (size.prod(1)[:, None] + area - inter)).max(dim=1)
            positive, negative = torch.ge(iou, 0.35), torch.lt(iou, 0.25)
            truth = F.one_hot(labels[j][matched], self.kinds).to(cls.dtype) * positive.unsqueeze(1)
            p = torch.clamp(torch.sigmoid(cls[j]), 1e-4, 1.0 - 1e-4)
            alpha = torch.where(truth.eq(1.0), 0.25, 0.75)
            weight = alpha * torch.where(truth.eq(1.0), 1.0 - p, p).pow(2.0)
            bce = -(truth * torch.log(p) + (1.0 - truth) * torch.log(1.0 - p))
            loss = torch.where((positive | negative).unsqueeze(1), weight * bce, torch.zeros_like(bce))
            cls_losses.append(loss.sum() / torch.clamp(positive.sum().float(), min=1.0))
            gt = boxes[j][matched]
            gt_size = (gt[:, 2:] - gt[:, :2]).clamp(min=1)
            offsets = torch.cat([((gt[:, 2:] + gt[:, :2]) / 2 - centre) / size, torch.log(gt_size / size)], dim=1)
            offsets = offsets / torch.tensor([[0.1, 0.1, 0.2, 0.2]])
            off = torch.abs(offsets - reg[j])
            smooth = torch.where(torch.le(off, 1.0 / 9.0), 0.5 * 9.0 * torch.pow(off, 2), off - 0.5 / 9.0)
            reg_losses.append((smooth * positive.unsqueeze(1)).sum() / (4 * positive.sum()).clamp(min=1))
        return {"loss": torch.stack(cls_losses).mean() + torch.stack(reg_losses).mean()}


class Detr(nn.Module):
    """Queries, and a set loss of matches that are given: classes weighed by a buffer, L1 and generalized overlap."""

    empty_weight: Tensor

    def __init__(self, kinds: int = 3, queries: int = 5, width: int = 16) -> None:
        super().__init__()
        self.kinds = kinds
        self.backbone = nn.Conv2d(3, width, 4, 4)
        self.row, self.col = nn.Parameter(torch.rand(4, width // 2)), nn.Parameter(torch.rand(4, width // 2))
        self.transformer = nn.Transformer(width, 2, 1, 1, 32, dropout=0.0)
        self.queries, self.linear_class = nn.Parameter(torch.rand(queries, width)), nn.Linear(width, kinds + 1)
        self.linear_bbox = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 4))
        weight = torch.ones(kinds + 1)
        weight[-1] = 0.1
        self.register_buffer("empty_weight", weight)

    def boxes(self, image: Tensor) -> tuple[Tensor, Tensor]:
        h = self.backbone(image)
        height, width = h.shape[-2:]
        pos = torch.cat(
            [
                self.col[:width].unsqueeze(0).repeat(height, 1, 1),
                self.row[:height].unsqueeze(1).repeat(1, width, 1),
            ],
            dim=-1,
        ).flatten(0, 1)
        source = pos.unsqueeze(1) + 0.1 * h.flatten(2).permute(2, 0, 1)
        h = self.transformer(source, self.queries.unsqueeze(1).repeat(1, image.size(0), 1)).transpose(0, 1)
        return self.linear_class(h), self.linear_bbox(h).sigmoid()

    def forward(self, image: Tensor, labels: Tensor, boxes: Tensor, matches: Tensor) -> Tensor:
        logits, found = self.boxes(image)
        n, objects = labels.shape
        at = (torch.arange(n).repeat_interleave(objects), matches.flatten())
        target_classes = torch.full(logits.shape[:2], self.kinds, dtype=torch.int64)
        target_classes[at] = labels.flatten()
        loss_ce = F.cross_entropy(logits.transpose(1, 2), target_classes, self.empty_weight)
        src, wanted = found[at], boxes.flatten(0, 1)
        loss_bbox = F.l1_loss(src, wanted, reduction="none").sum() / (n * objects)
        loss_giou = (1 - torch.diag(generalized_iou(corners(src), corners(wanted)))).sum() / (n * objects)
        with torch.no_grad():
            cardinality = (logits.argmax(-1) != self.kinds).sum(1).float()
        return loss_ce + 5 * loss_bbox + 2 * loss_giou + 0 * cardinality.mean()


class DetrMatched(Detr):
    """The matches by numpy, as the reference code has them by scipy."""

    def forward(self, image: Tensor, labels: Tensor, boxes: Tensor, matches: Tensor) -> Tensor:
        _, found = self.boxes(image)
        cost = torch.cdist(found[0], boxes[0], p=1)
        order = np.argsort(cost.detach().cpu().numpy().min(axis=0))
        rows = matches[0, torch.from_numpy(order)]
        return F.l1_loss(found[0][rows], boxes[0])


def corners(x: Tensor) -> Tensor:
    cx, cy, w, h = x.unbind(-1)
    return torch.stack([(cx - 0.5 * w), (cy - 0.5 * h), (cx + 0.5 * w), (cy + 0.5 * h)], dim=-1)


def generalized_iou(a: Tensor, b: Tensor) -> Tensor:
    """Of all pairs."""
    areas = [(x[:, 2] - x[:, 0]) * (x[:, 3] - x[:, 1]) for x in (a, b)]
    lt, rb = torch.max(a[:, None, :2], b[:, :2]), torch.min(a[:, None, 2:], b[:, 2:])
    wh = (rb - lt).clamp(min=0)
    inter = wh[:, :, 0] * wh[:, :, 1]
    union = areas[0][:, None] + areas[1] - inter
    hull = (torch.max(a[:, None, 2:], b[:, 2:]) - torch.min(a[:, None, :2], b[:, :2])).clamp(min=0).prod(-1)
    return inter / union - (hull - union) / hull


class MultiBox(nn.Module):
    """SSD: three negatives for each positive, the hardest, by the rank of their loss in a double sort."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.loc, self.conf = nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 4, 3, 1, 1), nn.Conv2d(8, 3, 3, 1, 1)

    def forward(self, image: Tensor, loc_t: Tensor, conf_t: Tensor) -> Tensor:
        h = F.relu6(self.body(image))
        loc, conf = (head(h).permute(0, 2, 3, 1).contiguous().flatten(1, 2) for head in (self.loc, self.conf))
        pos = conf_t > 0
        num_pos = pos.sum(dim=1, keepdim=True)
        every = F.cross_entropy(conf.view(-1, 3), conf_t.view(-1), reduction="none").view_as(conf_t)
        mining = every.detach().clone()
        mining[pos] = 0
        _, order = mining.sort(1, descending=True)
        _, rank = order.sort(1)
        neg = rank < torch.clamp(3 * num_pos, max=conf_t.size(1) - 1)
        box = (F.smooth_l1_loss(loc, loc_t, reduction="none") * pos.unsqueeze(-1)).sum()
        return (box + (every * (pos | neg)).sum()) / num_pos.sum().clamp(min=1)


class CenterNet(nn.Module):
    """Heat maps with a focal loss whose negatives are damped near a centre; sizes gathered at centres."""

    def __init__(self, kinds: int = 2) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.ReLU(), nn.ConvTranspose2d(8, 8, 4, 2, 1), nn.ReLU())
        self.heat, self.size = nn.Conv2d(8, kinds, 1), nn.Conv2d(8, 2, 1)

    def forward(self, image: Tensor, heat: Tensor, index: Tensor, size: Tensor, there: Tensor) -> Tensor:
        h = self.body(image)
        p = torch.clamp(self.heat(h).sigmoid_(), min=1e-4, max=1 - 1e-4)
        pos, neg = heat.eq(1).float(), heat.lt(1).float()
        near = torch.log(p) * torch.pow(1 - p, 2) * pos
        far = torch.log(1 - p) * torch.pow(p, 2) * torch.pow(1 - heat, 4) * neg
        loss = -(near.sum() + far.sum()) / pos.sum().clamp(min=1)
        wide = self.size(h).permute(0, 2, 3, 1).contiguous().flatten(1, 2)
        found = wide.gather(1, index.unsqueeze(2).expand(index.size(0), index.size(1), 2))
        mask = there.unsqueeze(2).expand_as(found).float()
        return loss + 0.1 * F.l1_loss(found * mask, size * mask, reduction="sum") / (mask.sum() + 1e-4)


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()

        def double(a: int, b: int) -> nn.Sequential:
            return nn.Sequential(
                nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True),
                nn.Conv2d(b, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True),
            )  # fmt: skip

        self.inc, self.down = double(1, 6), nn.Sequential(nn.MaxPool2d(2), double(6, 8))
        self.up, self.conv, self.outc = nn.ConvTranspose2d(8, 6, 2, stride=2), double(12, 6), nn.Conv2d(6, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        x1 = self.inc(x)
        x2 = self.up(self.down(x1))
        dy, dx = x1.size(2) - x2.size(2), x1.size(3) - x2.size(3)
        x2 = F.pad(x2, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
        return self.outc(self.conv(torch.cat([x1, x2], dim=1)))


def lovasz_and_dice(logits: Tensor, target: Tensor) -> Tensor:
    """Lovasz' hinge sorts errors; Dice and boundary terms beside it."""
    flat, labels = logits.reshape(-1), target.reshape(-1)
    errors = 1.0 - flat * (2.0 * labels - 1.0)
    ordered, order = torch.sort(errors, dim=0, descending=True)
    gt = labels[order.data]
    total = gt.sum()
    jaccard = 1.0 - (total - gt.cumsum(0)) / (total + (1.0 - gt).cumsum(0))
    jaccard[1:] = jaccard[1:] - jaccard[:-1].clone()
    p = torch.sigmoid(logits)
    dice = 1 - (2 * (p * target).sum((1, 2, 3)) + 1) / (p.sum((1, 2, 3)) + target.sum((1, 2, 3)) + 1)
    edge = F.max_pool2d(target, 3, 1, 1) - -F.max_pool2d(-target, 3, 1, 1)
    border = F.binary_cross_entropy(p.clamp(1e-6, 1 - 1e-6), target, weight=1 + edge)
    return torch.dot(F.relu(ordered), jaccard.detach()) + dice.mean() + border


class DeepLab(nn.Module):
    """Holes of several widths and a pooled branch; labels of 255 are not counted; an auxiliary head."""

    def __init__(self, kinds: int = 3) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, 2, 1)
        self.branches = nn.ModuleList(nn.Conv2d(8, 6, 3, padding=d, dilation=d, bias=False) for d in (1, 2, 3))
        self.pool, self.project = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 6, 1)), nn.Conv2d(24, 8, 1)
        self.head, self.aux = nn.Conv2d(8, kinds, 1), nn.Conv2d(8, kinds, 1)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        size = x.shape[-2:]
        h = F.relu(self.stem(x))
        parts = [branch(h) for branch in self.branches]
        parts.append(F.interpolate(self.pool(h), size=h.shape[-2:], mode="bilinear", align_corners=False))
        y = self.head(F.relu(self.project(torch.cat(parts, dim=1))))
        answer = {"out": F.interpolate(y, size=size, mode="bilinear", align_corners=False)}
        answer["aux"] = F.interpolate(self.aux(h), size=size, mode="bilinear", align_corners=True)
        return answer


def segmentation(output: dict[str, Tensor], target: Tensor) -> Tensor:
    losses = {name: F.cross_entropy(x, target, ignore_index=255) for name, x in output.items()}
    return losses["out"] + 0.5 * losses["aux"]


class Swin(nn.Module):
    """Windows that are shifted by a roll, a table of relative positions indexed by a buffer, a mask in another."""

    def __init__(self, width: int = 8, heads: int = 2, window: int = 2, side: int = 4) -> None:
        super().__init__()
        self.heads, self.window, self.shift = heads, window, window // 2
        self.embed, self.norm = nn.Conv2d(3, width, 2, 2), nn.LayerNorm(width)
        self.qkv, self.proj, self.head = nn.Linear(width, 3 * width), nn.Linear(width, width), nn.Linear(width, 3)
        self.table = nn.Parameter(torch.randn((2 * window - 1) ** 2, heads) * 0.2)
        at = torch.stack(torch.meshgrid(torch.arange(window), torch.arange(window), indexing="ij")).flatten(1)
        relative = (at[:, :, None] - at[:, None, :]).permute(1, 2, 0).contiguous()
        relative += window - 1
        relative[:, :, 0] *= 2 * window - 1
        self.register_buffer("relative_position_index", relative.sum(-1))
        image = torch.zeros(1, side, side, 1)
        count = 0
        for h in (slice(0, -window), slice(-window, -self.shift), slice(-self.shift, None)):
            for w in (slice(0, -window), slice(-window, -self.shift), slice(-self.shift, None)):
                image[:, h, w] = count
                count += 1
        parts = self.partition(image).squeeze(-1)
        mask = parts.unsqueeze(1) - parts.unsqueeze(2)
        self.register_buffer("attn_mask", mask.masked_fill(mask != 0, -100.0).masked_fill(mask == 0, 0.0))

    def partition(self, x: Tensor) -> Tensor:
        n, h, w, c = x.shape
        x = x.view(n, h // self.window, self.window, w // self.window, self.window, c)
        return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, self.window**2, c)

    def forward(self, x: Tensor) -> Tensor:
        x = self.embed(x).permute(0, 2, 3, 1)
        n, h, w, c = x.shape
        y = self.partition(torch.roll(self.norm(x), shifts=(-self.shift, -self.shift), dims=(1, 2)))
        q, k, v = self.qkv(y).reshape(*y.shape[:2], 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        bias = self.table[self.relative_position_index.view(-1)].view(self.window**2, self.window**2, -1)
        scores = (q * (c // self.heads) ** -0.5) @ k.transpose(-2, -1) + bias.permute(2, 0, 1).unsqueeze(0)
        windows = self.attn_mask.shape[0]
        scores = scores.view(n, windows, self.heads, *scores.shape[-2:]) + self.attn_mask.unsqueeze(1).unsqueeze(0)
        y = scores.view(-1, self.heads, *scores.shape[-2:]).softmax(-1) @ v
        y = self.proj(y.transpose(1, 2).reshape(-1, self.window, self.window, c))
        y = y.view(n, h // self.window, w // self.window, self.window, self.window, c)
        y = y.permute(0, 1, 3, 2, 4, 5).reshape(n, h, w, c)
        return self.head((x + torch.roll(y, shifts=(self.shift, self.shift), dims=(1, 2))).mean((1, 2)))


class Capsules(nn.Module):
    """Routing by agreement: three rounds, the first two without gradient; a margin loss."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.weight = nn.Conv2d(1, 8, 3, 2), nn.Parameter(0.1 * torch.randn(1, 18, 3, 6, 4))

    @staticmethod
    def squash(x: Tensor) -> Tensor:
        square = (x**2).sum(dim=-1, keepdim=True)
        return square / (1 + square) * x / (square.sqrt() + 1e-8)

    def forward(self, x: Tensor) -> Tensor:
        u = self.squash(self.conv(x).view(x.size(0), -1, 4))
        u_hat = torch.matmul(self.weight, u[:, :, None, :, None]).squeeze(-1)
        b = torch.zeros(*u_hat.shape[:3], 1)
        still = u_hat.detach()
        for _ in range(2):
            c = F.softmax(b, dim=2)
            b = b + (still * self.squash((c * still).sum(dim=1, keepdim=True))).sum(dim=-1, keepdim=True)
        v = self.squash((F.softmax(b, dim=2) * u_hat).sum(dim=1))
        return torch.sqrt((v**2).sum(dim=-1) + 1e-9)


def margin_loss(lengths: Tensor, target: Tensor) -> Tensor:
    told = torch.eye(3).index_select(dim=0, index=target)
    left, right = F.relu(0.9 - lengths) ** 2, F.relu(lengths - 0.1) ** 2
    return (told * left + 0.5 * (1.0 - told) * right).sum(dim=-1).mean()


class SuperResolution(nn.Module):
    """Channels weighed by what they hold, pixels shuffled, the input's own enlargement added."""

    def __init__(self) -> None:
        super().__init__()
        self.head, self.body = nn.Conv2d(1, 8, 3, 1, 1), nn.utils.weight_norm(nn.Conv2d(8, 8, 3, 1, 1))
        self.squeeze = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 2, 1), nn.ReLU(True), nn.Conv2d(2, 8, 1))
        self.tail = nn.Sequential(nn.Conv2d(8, 4, 3, 1, 1), nn.PixelShuffle(2))

    def forward(self, x: Tensor) -> Tensor:
        h = self.head(x)
        y = self.body(F.relu(h))
        h = h + y * torch.sigmoid(self.squeeze(y)) * 0.5
        return self.tail(h) + F.interpolate(x, scale_factor=2, mode="bicubic", align_corners=False)


def structural(output: Tensor, target: Tensor) -> Tensor:
    """SSIM by a window that is made here, Charbonnier's distance, and total variation."""
    g = torch.exp(-((torch.arange(5.0) - 2) ** 2) / (2 * 1.5**2))
    window = (torch.outer(g, g) / g.sum() ** 2).expand(1, 1, 5, 5).contiguous()
    mu1, mu2 = F.conv2d(output, window, padding=2), F.conv2d(target, window, padding=2)
    s1 = F.conv2d(output * output, window, padding=2) - mu1.pow(2)
    s2 = F.conv2d(target * target, window, padding=2) - mu2.pow(2)
    s12 = F.conv2d(output * target, window, padding=2) - mu1 * mu2
    c1, c2 = 0.01**2, 0.03**2
    ssim = ((2 * mu1 * mu2 + c1) * (2 * s12 + c2)) / ((mu1.pow(2) + mu2.pow(2) + c1) * (s1 + s2 + c2))
    variation = output.diff(dim=-1).abs().mean() + torch.diff(output, dim=-2).abs().mean()
    return 1 - ssim.mean() + torch.sqrt((output - target) ** 2 + 1e-6).mean() + 0.1 * variation


class Stylised(nn.Module):
    """Gram matrices of a frozen network, instance norms whose scale comes from another image (AdaIN)."""

    def __init__(self) -> None:
        super().__init__()
        self.vgg = nn.Sequential(nn.Conv2d(3, 6, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 8, 3), nn.ReLU())
        for p in self.vgg.parameters():
            p.requires_grad = False
        self.encode, self.decode = nn.Conv2d(3, 8, 3, 1, 1), nn.Conv2d(8, 3, 3, 1, 1, padding_mode="reflect")
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406]).view(-1, 1, 1))
        self.register_buffer("std", torch.tensor([0.229, 0.224, 0.225]).view(-1, 1, 1))

    @staticmethod
    def gram(x: Tensor) -> Tensor:
        n, c, h, w = x.size()
        flat = x.view(n, c, h * w)
        return flat.bmm(flat.transpose(1, 2)).div(c * h * w)

    def forward(self, content: Tensor, style: Tensor) -> Tensor:
        a, b = self.encode(content), self.encode(style)
        sa, ma = torch.std_mean(a, dim=(2, 3), keepdim=True)
        sb, mb = b.std(dim=(2, 3), keepdim=True), b.mean(dim=(2, 3), keepdim=True)
        image = torch.tanh(self.decode((a - ma) / (sa + 1e-5) * sb + mb))
        seen, wanted, kept = (self.vgg((x - self.mean) / self.std) for x in (image, style, content))
        return F.mse_loss(seen, kept.detach()) + 10 * F.mse_loss(self.gram(seen), self.gram(wanted).detach())


class Flow(nn.Module):
    """Optical flow: a volume of correlations by shifted slices, refined in a loop that warps by grid_sample."""

    def __init__(self) -> None:
        super().__init__()
        self.features, self.update = nn.Conv2d(1, 6, 3, 1, 1), nn.Conv2d(9 + 2, 2, 3, 1, 1)

    def forward(self, a: Tensor, b: Tensor) -> list[Tensor]:
        f, g = F.normalize(self.features(a), dim=1), F.normalize(self.features(b), dim=1)
        n, _, h, w = a.shape
        y, x = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        base = torch.stack([x, y]).float()
        flow = torch.zeros(n, 2, h, w)
        answer = []
        for _ in range(3):
            at = (base + flow).permute(0, 2, 3, 1) / torch.tensor([w - 1, h - 1]) * 2 - 1
            padded = F.pad(F.grid_sample(g, at, align_corners=True), (1, 1, 1, 1))
            cost = [(f * padded[:, :, i : i + h, j : j + w]).mean(1) for i in range(3) for j in range(3)]
            flow = flow + self.update(torch.cat([torch.stack(cost, 1), flow], dim=1))
            answer.append(flow)
            flow = flow.detach() if len(answer) == 2 else flow
        return answer


def sequence_loss(flows: list[Tensor], target: Tensor, gamma: float = 0.8) -> Tensor:
    valid = (target.square().sum(1).sqrt() < 1.2).float()
    total = target.new_zeros(())
    for i, flow in enumerate(flows):
        total += gamma ** (len(flows) - i - 1) * (valid[:, None] * (flow - target).abs()).mean()
    return total


class Suppressed(nn.Module):
    """Non-maximum suppression in forward, by a loop over what is left."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(6, 5)

    def forward(self, x: Tensor) -> Tensor:
        scores, boxes = self.head(x).split([1, 4], dim=-1)
        order = scores.squeeze(-1).argsort(descending=True)
        keep = []
        while order.numel() > 0:
            keep.append(order[0])
            overlaps = torch.cdist(boxes[order[:1]], boxes[order[1:]])[0]
            order = order[1:][overlaps > 0.5]
        return boxes[torch.stack(keep)].mean()


def some_boxes(n: int, objects: int, side: float) -> Tensor:
    """Left, top, right, bottom."""
    first = torch.rand(n, objects, 2) * side / 2
    return torch.cat([first, first + side / 8 + torch.rand(n, objects, 2) * side / 3], dim=-1)


def heat_maps() -> tuple[tuple[Tensor, ...], None]:
    heat = torch.rand(2, 2, 8, 8) * 0.9
    heat[:, 0, 2, 3] = heat[:, 1, 5, 5] = 1
    index = torch.tensor([[19, 45, 0]] * 2)
    return (real(2, 1, 8, 8), heat, index, torch.rand(2, 3, 2) * 4, torch.tensor([[1, 1, 0], [1, 0, 0]])), None


CASES = {
    "yolo": Case(
        Yolo, lambda: ((real(3, 3, 16, 16), classes(3, 3, 2), torch.rand(3, 2, 4) * 0.6 + 0.2), None), None, lr=0.05
    ),
    "yolo_v1": Case(
        YoloV1,
        lambda: ((real(3, 1, 12, 12), torch.rand(3, 3, 3, 7) * torch.rand(3, 3, 3, 1).round()), None),
        None,
        lr=0.0001,
    ),
    "yolo_indexed": Case(
        YoloIndexed,
        lambda: ((real(3, 1, 12, 12), torch.rand(3, 3, 3, 7).round()), None),
        None,
    ),
    "retina_net": Case(
        RetinaNet, lambda: ((real(2, 3, 16, 16), some_boxes(2, 3, 16), classes(3, 2, 3)), None), None, lr=0.01
    ),
    "detr": Case(
        Detr,
        lambda: (
            (
                real(2, 3, 16, 16),
                classes(3, 2, 3),
                torch.rand(2, 3, 4) * 0.5 + 0.2,
                torch.tensor([[2, 0, 4], [1, 3, 0]]),
            ),
            None,
        ),
        None,
        lr=0.02,
    ),
    "detr_matched": Case(
        DetrMatched,
        lambda: (
            (real(2, 3, 16, 16), classes(3, 2, 3), torch.rand(2, 3, 4), torch.tensor([[2, 0, 4], [1, 3, 0]])),
            None,
        ),
        None,
        refused=Refusal("E0407", "is read into Python", "order = np.argsort(cost.detach().cpu().numpy().min(axis=0))"),
    ),
    "multi_box": Case(
        MultiBox, lambda: ((real(3, 3, 8, 8), real(3, 16, 4), (ids(6, 3, 16) - 3).clamp(min=0)), None), None, lr=0.05
    ),
    "center_net": Case(CenterNet, heat_maps, None, lr=0.02),
    "u_net": Case(UNet, lambda: ((real(2, 1, 9, 9),), classes(2, 2, 1, 9, 9).float()), lovasz_and_dice, lr=0.01),
    "deep_lab": Case(
        DeepLab,
        lambda: ((real(2, 3, 12, 12),), classes(3, 2, 12, 12).masked_fill(torch.rand(2, 12, 12) < 0.2, 255)),
        segmentation,
        lr=0.1,
    ),
    "swin": Case(Swin, lambda: ((real(3, 3, 8, 8),), classes(3, 3)), F.cross_entropy, lr=0.1),
    "capsules": Case(Capsules, lambda: ((real(4, 1, 7, 7),), classes(3, 4)), margin_loss, lr=0.1),
    "super_resolution": Case(
        SuperResolution, lambda: ((torch.rand(2, 1, 6, 6),), torch.rand(2, 1, 12, 12)), structural, lr=0.05
    ),
    "stylised": Case(Stylised, lambda: ((torch.rand(2, 3, 10, 10), torch.rand(2, 3, 10, 10)), None), None, lr=0.01),
    "optical_flow": Case(
        Flow, lambda: ((real(2, 1, 6, 6), real(2, 1, 6, 6)), real(2, 2, 6, 6)), sequence_loss, lr=0.05
    ),
    "suppressed": Case(
        Suppressed,
        lambda: ((real(8, 6),), None),
        None,
        refused=Refusal("E0407", "a branch of Python depends on the data", "while order.numel() > 0:"),
    ),
}
