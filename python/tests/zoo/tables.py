"""Columns, graphs, clicks and rewards: embeddings, masks, sparse attention, losses of ranks and policies."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from .case import Case, Refusal, classes, ids, real


class DeepFm(nn.Module):
    """Fields in one table by offsets; second orders by the square of a sum; a deep part beside them."""

    def __init__(self, fields: tuple[int, ...] = (5, 7, 4), width: int = 6) -> None:
        super().__init__()
        self.register_buffer("offsets", torch.tensor((0, *fields[:-1])).cumsum(0), persistent=False)
        self.fc, self.embedding = nn.Embedding(sum(fields), 1), nn.Embedding(sum(fields), width)
        nn.init.xavier_uniform_(self.embedding.weight.data)
        self.bias = nn.Parameter(torch.zeros((1,)))
        self.mlp = nn.Sequential(
            nn.Linear(len(fields) * width, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(p=0.0), nn.Linear(16, 1)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.offsets.unsqueeze(0)
        e = self.embedding(x)
        linear = torch.sum(self.fc(x), dim=1) + self.bias
        second = 0.5 * torch.sum(torch.sum(e, dim=1) ** 2 - torch.sum(e**2, dim=1), dim=1, keepdim=True)
        return (linear + second + self.mlp(e.view(-1, e.size(1) * e.size(2)))).squeeze(1)


class CrossNetworks(nn.Module):
    """DCN's crosses, CIN's outer products, an attention over fields."""

    def __init__(self, fields: int = 4, width: int = 5) -> None:
        super().__init__()
        n = fields * width
        self.embedding = nn.Embedding(20, width)
        self.w = nn.ModuleList(nn.Linear(n, 1, bias=False) for _ in range(2))
        self.b = nn.ParameterList(nn.Parameter(torch.zeros(n)) for _ in range(2))
        self.cin = nn.Conv1d(fields * fields, 6, 1)
        self.attention, self.head = nn.MultiheadAttention(width, 1, batch_first=True), nn.Linear(n + 6 + n, 1)

    def forward(self, x: Tensor) -> Tensor:
        e = self.embedding(x)
        x0 = xl = e.flatten(1)
        for w, b in zip(self.w, self.b, strict=True):
            xl = x0 * w(xl) + b + xl
        outer = (e.unsqueeze(2) * e.unsqueeze(1)).flatten(1, 2)
        seen, _ = self.attention(e, e, e)
        parts = torch.cat([xl, F.relu(self.cin(outer)).sum(2), F.relu(seen).flatten(1)], dim=1)
        return torch.sigmoid(self.head(parts).squeeze(1))


def log_loss(output: Tensor, target: Tensor) -> Tensor:
    weight = torch.where(target > 0.5, 2.0, 1.0)
    return F.binary_cross_entropy(output, target, weight=weight) + 1e-3 * output.pow(2).sum()


class DeepInterest(nn.Module):
    """Attention of a candidate to what was clicked, masked by lengths; Dice as the activation."""

    def __init__(self, width: int = 6) -> None:
        super().__init__()
        self.items, self.bn = nn.Embedding(30, width, padding_idx=0), nn.BatchNorm1d(8, affine=False)
        self.score, self.alpha = (
            nn.Sequential(nn.Linear(4 * width, 8), nn.PReLU(), nn.Linear(8, 1)),
            nn.Parameter(torch.zeros(8)),
        )
        self.fc, self.head = nn.Linear(2 * width, 8), nn.Linear(8, 1)

    def forward(self, item: Tensor, clicked: Tensor, negative: Tensor) -> Tensor:
        keys = self.items(clicked)
        mask = (clicked != 0).unsqueeze(-1)
        logits = []
        for candidate in (item, negative):
            query = self.items(candidate).unsqueeze(1).expand_as(keys)
            scores = self.score(torch.cat([query, keys, query - keys, query * keys], dim=-1))
            scores = torch.where(mask, scores, torch.full_like(scores, -(2**16) + 1))
            h = (torch.softmax(scores / keys.size(-1) ** 0.5, dim=1) * keys).sum(1)
            h = self.fc(torch.cat([h, query[:, 0]], dim=-1))
            p = torch.sigmoid(self.bn(h))
            logits.append(self.head(self.alpha * (1 - p) * h + p * h).squeeze(-1))
        return -F.logsigmoid(logits[0] - logits[1]).mean()


class TwoTowers(nn.Module):
    """A softmax in the batch, corrected by how often an item is met, which a buffer counts."""

    seen: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.users, self.items = nn.Embedding(12, 8), nn.Embedding(16, 8)
        self.register_buffer("seen", torch.ones(16))
        self.temperature = nn.Parameter(torch.tensor(0.1))

    def forward(self, user: Tensor, item: Tensor) -> Tensor:
        self.seen.index_add_(0, item, torch.ones_like(item, dtype=self.seen.dtype))
        share = self.seen / self.seen.sum()
        u, i = F.normalize(self.users(user), dim=-1), F.normalize(self.items(item), dim=-1)
        logits = torch.mm(u, i.t()) / self.temperature.clamp(min=0.01) - torch.log(share[item])
        twice = (item[None] == item[:, None]).fill_diagonal_(False)
        return F.cross_entropy(logits.masked_fill(twice, torch.finfo(logits.dtype).min), torch.arange(len(user)))


class GhostNorm(nn.Module):
    def __init__(self, width: int, parts: int = 2) -> None:
        super().__init__()
        self.parts, self.bn = parts, nn.BatchNorm1d(width, momentum=0.02)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([self.bn(part) for part in x.chunk(self.parts, 0)], dim=0)


class Sparsemax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int = -1) -> Tensor:
        ctx.dim = dim
        x = x - x.max(dim=dim, keepdim=True)[0]
        ordered, _ = torch.sort(x, descending=True, dim=dim)
        rho = torch.arange(1, x.size(dim) + 1).to(x.dtype)
        support = rho * ordered > ordered.cumsum(dim) - 1
        size = support.sum(dim=dim).unsqueeze(dim)
        tau = (ordered.cumsum(dim) - 1).gather(dim, size - 1) / size.to(x.dtype)
        output = torch.clamp(x - tau, min=0)
        ctx.save_for_backward(size, output)
        return output

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        size, output = ctx.saved_tensors
        inside = gradient.clone()
        inside[output == 0] = 0
        v = (inside.sum(dim=ctx.dim) / size.to(output.dtype).squeeze(ctx.dim)).unsqueeze(ctx.dim)
        return torch.where(output != 0, inside - v, inside), None


class TabNet(nn.Module):
    """Steps that choose columns by sparsemax; what was chosen is discounted; norms of parts of a batch."""

    def __init__(self, width: int = 6, n_d: int = 4, steps: int = 3) -> None:
        super().__init__()
        self.n_d, self.steps = n_d, steps
        self.bn = nn.BatchNorm1d(width)
        self.shared = nn.Linear(width, 4 * n_d, bias=False)
        self.own = nn.ModuleList(nn.Linear(width, 4 * n_d, bias=False) for _ in range(steps + 1))
        self.norms = nn.ModuleList(GhostNorm(4 * n_d) for _ in range(steps + 1))
        self.attend = nn.ModuleList(nn.Linear(n_d, width, bias=False) for _ in range(steps))
        self.attend_norms = nn.ModuleList(GhostNorm(width) for _ in range(steps))
        self.head = nn.Linear(n_d, 3, bias=False)

    def feature(self, x: Tensor, step: int) -> Tensor:
        return F.glu(self.norms[step](self.shared(x) + self.own[step](x)), dim=-1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = self.bn(x)
        prior = torch.ones(x.shape)
        entropy = x.new_zeros(())
        attended = self.feature(x, 0)[:, self.n_d :]
        total = torch.zeros(x.size(0), self.n_d)
        for step in range(self.steps):
            mask = Sparsemax.apply(torch.mul(self.attend_norms[step](self.attend[step](attended)), prior), -1)
            entropy += torch.mean(torch.sum(torch.mul(mask, torch.log(mask + 1e-15)), dim=1))
            prior = torch.mul(1.3 - mask, prior)
            out = self.feature(torch.mul(mask, x), step + 1)
            total.add_(F.relu(out[:, : self.n_d]))
            attended = out[:, self.n_d :]
        return self.head(total), entropy / self.steps


def tab_net_loss(output: tuple[Tensor, Tensor], target: Tensor) -> Tensor:
    return F.cross_entropy(output[0], target) - 1e-3 * output[1]


class Forest(nn.Module):
    """Soft decision trees: routes as products of sigmoids by broadcasts, leaves of classes."""

    def __init__(self, depth: int = 3, trees: int = 2, kinds: int = 3) -> None:
        super().__init__()
        self.depth, self.trees = depth, trees
        self.register_buffer("chosen", torch.stack([torch.randperm(6)[:4] for _ in range(trees)]))
        self.decisions = nn.Parameter(torch.randn(trees, 4, 2**depth) * 0.5)
        self.leaves = nn.Parameter(torch.rand(trees, 2**depth, kinds))

    def forward(self, x: Tensor) -> Tensor:
        answer = []
        for tree in range(self.trees):
            d = torch.sigmoid(x[:, self.chosen[tree]] @ self.decisions[tree]).unsqueeze(2)
            d = torch.cat((d, 1 - d), dim=2)
            mu = x.new_ones(x.size(0), 1, 1)
            begin, end = 1, 2
            for level in range(self.depth):
                mu = mu.view(x.size(0), -1, 1).repeat(1, 1, 2) * d[:, begin:end]
                begin, end = end, end + 2 ** (level + 1)
            answer.append(mu.view(x.size(0), -1) @ F.softmax(self.leaves[tree], dim=-1))
        return torch.log(torch.stack(answer).mean(0))


class Gcn(nn.Module):
    """Kipf's normalization of a dense adjacency that is an input; some nodes are labelled, by a mask in a buffer."""

    def __init__(self, nodes: int = 10) -> None:
        super().__init__()
        self.w1, self.w2 = nn.Parameter(torch.empty(5, 12)), nn.Parameter(torch.empty(12, 3))
        for w in (self.w1, self.w2):
            nn.init.kaiming_uniform_(w)
        self.b = nn.Parameter(torch.zeros(12))
        self.register_buffer("train_mask", torch.arange(nodes) % 3 != 0)

    def forward(self, x: Tensor, adjacency: Tensor, y: Tensor) -> Tensor:
        a = adjacency + torch.eye(adjacency.size(0))
        d = a.sum(1).pow(-0.5)
        d = torch.where(torch.isinf(d), torch.zeros_like(d), d)
        a = torch.diag(d) @ a @ torch.diag(d)
        h = F.relu(torch.spmm(a, torch.mm(x, self.w1)) + self.b)
        out = F.log_softmax(a @ h @ self.w2, dim=1)
        return F.nll_loss(out[self.train_mask], y[self.train_mask])


class SparseGcn(nn.Module):
    """The adjacency as a sparse tensor, made in forward."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(5, 3)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        a = torch.sparse_coo_tensor(edges, torch.ones(edges.size(1)), (x.size(0), x.size(0)))
        return torch.sparse.mm(a, self.lin(x))


class Gat(nn.Module):
    """Attention of heads to neighbours: a dense mask of edges, and minus nine times ten to the fifteenth."""

    def __init__(self, heads: int = 2, width: int = 6) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.randn(heads, 5, width) * 0.4)
        self.a = nn.Parameter(torch.randn(heads, 2 * width, 1) * 0.4)
        self.out = nn.Linear(heads * width, 3)

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        h = torch.einsum("nf,hfd->hnd", x, self.w)
        first, second = torch.tensor_split(self.a, 2, dim=1)
        e = F.leaky_relu(h @ first + (h @ second).mT, 0.2)
        attention = torch.where(adjacency > 0, e, -9e15 * torch.ones_like(e))
        h = F.elu(torch.matmul(F.softmax(attention, dim=-1), h))
        return self.out(h.permute(1, 0, 2).flatten(1))


class MessagePassing(nn.Module):
    """GINE and a GRU: edges with features, sums by scatter, mean and maximum over graphs of a batch vector."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.node, self.edge = nn.Linear(4, width), nn.Linear(3, width)
        self.eps, self.gru = nn.Parameter(torch.zeros(1)), nn.GRUCell(width, width)
        self.nn, self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU()), nn.Linear(2 * width, 2)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor, batch: Tensor) -> Tensor:
        h = self.node(x)
        source, target = edge_index
        for _ in range(3):
            message = F.relu(h[source] + self.edge(edge_attr))
            gathered = torch.zeros_like(h).scatter_add_(0, target.unsqueeze(-1).expand_as(message), message)
            h = self.gru(self.nn((1 + self.eps) * h + gathered), h)
        graphs = 3
        count = torch.zeros(graphs).index_add_(0, batch, torch.ones(len(batch))).clamp(min=1)
        mean = h.new_zeros(graphs, h.size(1)).index_add_(0, batch, h) / count.unsqueeze(1)
        most = h.new_full((graphs, h.size(1)), -1e9)
        most = most.scatter_reduce(0, batch[:, None].expand_as(h), h, "amax", include_self=True)
        return self.head(torch.cat([mean, most], dim=1))


class DynamicGraph(nn.Module):
    """DGCNN: neighbours found anew in every layer among features; maxima over them; a transform kept orthogonal."""

    def __init__(self, k: int = 3) -> None:
        super().__init__()
        self.k = k
        self.t_net, self.conv1, self.conv2 = nn.Linear(3, 9), nn.Conv2d(6, 8, 1, bias=False), nn.Conv2d(16, 8, 1)
        self.bn, self.head = nn.BatchNorm2d(8), nn.Linear(16, 3)

    def neighbours(self, x: Tensor) -> Tensor:
        n, width, points = x.shape
        inner = -2 * torch.matmul(x.transpose(2, 1), x)
        square = torch.sum(x**2, dim=1, keepdim=True)
        index = (-square - inner - square.transpose(2, 1)).topk(k=self.k, dim=-1)[1]
        index = (index + torch.arange(0, n).view(-1, 1, 1) * points).view(-1)
        x = x.transpose(2, 1).contiguous()
        near = x.view(n * points, -1)[index, :].view(n, points, self.k, width)
        x = x.view(n, points, 1, width).repeat(1, 1, self.k, 1)
        return torch.cat((near - x, x), dim=3).permute(0, 3, 1, 2).contiguous()

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        t = (self.t_net(x.max(dim=2)[0]) + torch.eye(3).flatten()).view(-1, 3, 3)
        x = torch.bmm(x.transpose(2, 1), t).transpose(2, 1)
        x1 = F.leaky_relu(self.bn(self.conv1(self.neighbours(x))), 0.2).max(dim=-1, keepdim=False)[0]
        x2 = F.leaky_relu(self.conv2(self.neighbours(x1)), 0.2).max(dim=-1)[0]
        both = torch.cat([F.adaptive_max_pool1d(x2, 1).squeeze(-1), F.adaptive_avg_pool1d(x1, 1).squeeze(-1)], 1)
        off = torch.linalg.matrix_norm(torch.eye(3) - t @ t.transpose(2, 1), dim=(1, 2))
        return F.nll_loss(F.log_softmax(self.head(both), dim=1), y) + 0.001 * off.mean()


class KnowledgeGraph(nn.Module):
    """TransE, DistMult and RotatE, with negatives that are weighed by their own score."""

    def __init__(self) -> None:
        super().__init__()
        self.entities, self.relations, self.margin = nn.Embedding(15, 8), nn.Embedding(4, 8), 2.0

    def forward(self, positive: Tensor, negative: Tensor) -> Tensor:
        def scores(triples: Tensor) -> Tensor:
            h, r, t = self.entities(triples[..., 0]), self.relations(triples[..., 1]), self.entities(triples[..., 2])
            (a, b), (c, d) = h.chunk(2, -1), t.chunk(2, -1)
            turn = r.chunk(2, -1)[0] * 3.14
            re, im = a * turn.cos() - b * turn.sin() - c, a * turn.sin() + b * turn.cos() - d
            rotate = self.margin - torch.stack([re, im], dim=0).norm(dim=0).sum(dim=-1)
            return rotate + 0.1 * (h * r * t).sum(-1) - 0.1 * torch.norm(h + r - t, p=1, dim=-1)

        p, n = F.logsigmoid(scores(positive)), scores(negative)
        n = (F.softmax(n, dim=1).detach() * F.logsigmoid(-n)).sum(dim=1)
        size = self.entities.weight.norm(p=3) ** 3 + self.relations.weight.norm(p=3) ** 3
        return -(p.mean() + n.mean()) / 2 + 1e-4 * size


class DoubleDqn(nn.Module):
    """A target network that follows softly in forward; duelling heads; chosen actions are gathered."""

    def __init__(self) -> None:
        super().__init__()
        self.online = nn.ModuleDict(
            {"body": nn.Linear(4, 16), "value": nn.Linear(16, 1), "advantage": nn.Linear(16, 3)}
        )
        self.target = copy.deepcopy(self.online).requires_grad_(False)

    @staticmethod
    def q(net: nn.ModuleDict, x: Tensor) -> Tensor:
        h = F.relu(net["body"](x))
        advantage = net["advantage"](h)
        return net["value"](h) + advantage - advantage.mean(dim=1, keepdim=True)

    def forward(self, state: Tensor, action: Tensor, reward: Tensor, following: Tensor, done: Tensor) -> Tensor:
        q = self.q(self.online, state).gather(1, action.unsqueeze(1)).squeeze(1)
        with torch.no_grad():
            best = self.q(self.online, following).argmax(dim=1, keepdim=True)
            later = self.q(self.target, following).gather(1, best).squeeze(1)
            expected = reward + 0.99 * later * (1 - done)
            for ours, theirs in zip(self.target.parameters(), self.online.parameters(), strict=True):
                ours.copy_(0.05 * theirs + (1.0 - 0.05) * ours)
        td = (expected - q).abs().detach() + 1e-6
        weights = (td / td.max()).pow(-0.4)
        return (weights / weights.max() * F.smooth_l1_loss(q, expected, reduction="none")).mean()


class Ppo(nn.Module):
    """Advantages by a loop from the end; ratios that are clipped, values too; entropy of torch.distributions."""

    def __init__(self) -> None:
        super().__init__()
        self.actor, self.critic = nn.Sequential(nn.Linear(4, 12), nn.Tanh(), nn.Linear(12, 3)), nn.Linear(4, 1)

    def forward(self, states: Tensor, actions: Tensor, old: Tensor, rewards: Tensor, dones: Tensor) -> Tensor:
        values = self.critic(states).squeeze(-1)
        with torch.no_grad():
            steps = rewards.size(0)
            advantages = torch.zeros_like(rewards)
            last = 0.0
            for t in reversed(range(steps - 1)):
                delta = rewards[t] + 0.99 * values[t + 1] * (1.0 - dones[t]) - values[t]
                advantages[t] = last = delta + 0.99 * 0.95 * (1.0 - dones[t]) * last
            returns = advantages + values
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        policy = torch.distributions.Categorical(logits=self.actor(states))
        ratio = (policy.log_prob(actions) - old).exp()
        clipped = torch.clamp(ratio, 1 - 0.2, 1 + 0.2)
        actor = torch.max(-advantages * ratio, -advantages * clipped).mean()
        near = values.detach() * 0.9 + torch.clamp(values - values.detach() * 0.9, -0.2, 0.2)
        critic = 0.5 * torch.max((values - returns) ** 2, (near - returns) ** 2).mean()
        return actor + 0.5 * critic - 0.01 * policy.entropy().mean()


class SparseExperts(nn.Module):
    """Mixtral: a loop over experts, each of which computes the tokens that chose it."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(6, 3, bias=False)
        self.experts = nn.ModuleList(nn.Linear(6, 6) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        weights, chosen = torch.topk(F.softmax(self.gate(x), dim=1), 2, dim=-1)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        out = torch.zeros_like(x)
        mask = F.one_hot(chosen, num_classes=3).permute(2, 1, 0)
        for i, expert in enumerate(self.experts):
            place, token = torch.where(mask[i])
            out.index_add_(0, token, expert(x[token]) * weights[token, place, None])
        return out


class Cox(nn.Module):
    """Survival: the partial likelihood over those still at risk; ordered classes by cumulative logits beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.net, self.risk = nn.Sequential(nn.Linear(5, 12), nn.SELU()), nn.Linear(12, 1, bias=False)
        self.score, self.first = nn.Linear(12, 1), nn.Parameter(torch.tensor(-1.0))
        self.gaps = nn.Parameter(torch.zeros(2))

    def forward(self, x: Tensor, time: Tensor, event: Tensor, level: Tensor) -> Tensor:
        h = self.net(x)
        order = torch.argsort(time, descending=True)
        risk, event = self.risk(h).squeeze(1)[order], event[order]
        cox = -((risk - torch.logcumsumexp(risk, dim=0)) * event).sum() / event.sum().clamp(min=1)
        cuts = torch.cat([self.first[None], self.first + F.softplus(self.gaps).cumsum(0)])
        below = torch.sigmoid(cuts - self.score(h))
        edges = F.pad(F.pad(below, (1, 0), value=0.0), (0, 1), value=1.0)
        ordinal = -torch.log((edges[:, 1:] - edges[:, :-1]).gather(1, level[:, None]).clamp(min=1e-7)).mean()
        return cox + ordinal


class ListWise(nn.Module):
    """LambdaRank: every pair of a list, weighed by what a swap would change of NDCG."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(5, 10), nn.CELU(), nn.Linear(10, 1))

    def forward(self, x: Tensor, relevance: Tensor) -> Tensor:
        s = self.net(x).squeeze(-1)
        ranks = s.detach().argsort(dim=1, descending=True).argsort(dim=1) + 1
        gain, discount = 2.0**relevance - 1, torch.log2(1.0 + ranks)
        ideal = (2.0 ** relevance.sort(dim=1, descending=True)[0] - 1) / torch.log2(torch.arange(2.0, 2 + x.size(1)))
        change = (gain[:, :, None] - gain[:, None]) * (1 / discount[:, :, None] - 1 / discount[:, None])
        change = change.abs() / ideal.sum(1).clamp(min=1e-6)[:, None, None]
        better = relevance[:, :, None] > relevance[:, None]
        loss = F.softplus(-(s[:, :, None] - s[:, None])) * change
        return loss.masked_fill(~better, 0).sum() / better.sum().clamp(min=1)


def graph() -> tuple[Tensor, Tensor]:
    a = (torch.rand(10, 10) < 0.3).float()
    return real(10, 5), ((a + a.t()) > 0).float()


def rewards() -> tuple[tuple[Tensor, ...], None]:
    return (real(8, 4), classes(3, 8), torch.full((8,), -1.1), real(8), classes(2, 8).float()), None


CASES = {
    "deep_fm": Case(
        DeepFm, lambda: ((ids(4, 8, 3),), classes(2, 8).float()), F.binary_cross_entropy_with_logits, lr=0.05
    ),
    "cross_networks": Case(CrossNetworks, lambda: ((ids(20, 6, 4),), classes(2, 6).float()), log_loss, lr=0.05),
    "deep_interest": Case(DeepInterest, lambda: ((ids(30, 8), ids(30, 8, 5), ids(30, 8)), None), None, lr=0.05),
    "two_towers": Case(TwoTowers, lambda: ((ids(12, 8), ids(16, 8)), None), None, lr=0.01),
    "tab_net": Case(TabNet, lambda: ((real(8, 6),), classes(3, 8)), tab_net_loss, lr=0.01),
    "forest": Case(Forest, lambda: ((real(8, 6),), classes(3, 8)), F.nll_loss, lr=0.1),
    "gcn": Case(Gcn, lambda: ((*graph(), classes(3, 10)), None), None, lr=0.1),
    "sparse_gcn": Case(
        SparseGcn,
        lambda: ((real(10, 5), ids(10, 2, 20)), classes(3, 10)),
        F.cross_entropy,
        refused=Refusal("E0401", "sparse_coo_tensor", "a = torch.sparse_coo_tensor("),
    ),
    "gat": Case(Gat, lambda: (graph(), classes(3, 10)), F.cross_entropy, lr=0.1),
    "message_passing": Case(
        MessagePassing,
        lambda: ((real(9, 4), ids(9, 2, 20), real(20, 3), torch.arange(9) // 3), classes(2, 3)),
        F.cross_entropy,
        lr=0.1,
    ),
    "dynamic_graph": Case(DynamicGraph, lambda: ((real(3, 3, 8), classes(3, 3)), None), None, lr=0.05),
    "knowledge_graph": Case(KnowledgeGraph, lambda: ((ids(4, 6, 3), ids(4, 6, 5, 3)), None), None, lr=0.1),
    "double_dqn": Case(
        DoubleDqn,
        lambda: ((real(8, 4), classes(3, 8), real(8), real(8, 4), classes(2, 8).float()), None),
        None,
        lr=0.1,
    ),
    "ppo": Case(Ppo, rewards, None, lr=0.05),
    "sparse_experts": Case(
        SparseExperts,
        lambda: ((real(8, 6),), real(8, 6)),
        F.mse_loss,
        lr=0.1,
    ),
    "cox": Case(Cox, lambda: ((real(8, 5), torch.rand(8), classes(2, 8).float(), classes(4, 8)), None), None, lr=0.05),
    "list_wise": Case(ListWise, lambda: ((real(4, 6, 5), classes(4, 4, 6).float()), None), None, lr=0.1),
}
