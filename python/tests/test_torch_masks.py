"""`x[mask]` of a mask that the data decide: computed with all rows, equal to PyTorch in value and gradient, at a mask that chooses nothing too."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the front end captures torch modules")

import pantoum  # noqa: E402
from pantoum._torch import capture  # noqa: E402
from samples import MODELLED  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812

ROWS, INS, OUTS = 6, 5, 4


class Body(nn.Module):
    """A layer, and a function of what it gives, of the input and of classes."""

    def __init__(self, function: Callable[..., Tensor]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.head = nn.Linear(INS, OUTS), nn.Linear(OUTS, 3)
        self.scale, self.function = nn.Parameter(torch.rand(OUTS) + 0.5), function

    def forward(self, x: Tensor, t: Tensor) -> Any:
        return self.function(self, self.layer(x), x, t)


def some() -> tuple[Tensor, Tensor]:
    torch.manual_seed(3)
    return torch.randn(ROWS, INS), torch.tensor([0, 2, 1, 0, 1, 2])


def none() -> tuple[Tensor, Tensor]:
    return some()[0], torch.zeros(ROWS, dtype=torch.int64)


def same_as_pytorch(function: Callable[..., Tensor], batch: tuple[Tensor, Tensor]) -> None:
    report = pantoum.check(Body(function), batch, None, pantoum.Sgd(lr=0.01), plan_options=MODELLED)
    assert report.ok, str(report)
    assert report.gradients


# Each is finite where `t > 0` chooses nothing.


def scaled_in_place(s: Any, o: Tensor, x: Tensor, t: Tensor) -> Tensor:
    o[o < 0] *= 0.1
    o[t > 0] += x[t > 0, 1:]
    o[:, 1][t > 0] = 0
    o[t > 0, 2:] = s.scale[:2]
    return (o**2).mean()


def exponentials_in_place(s: Any, o: Tensor, x: Tensor, t: Tensor) -> Tensor:
    z, m = torch.zeros_like(o), o > 0
    z[m] = o[m].exp()
    z[o < 0] = (-o[o < 0] * 2).log().tanh()
    z.masked_scatter_(o.abs() < 0.2, o[o.abs() < 0.2])
    return (z * s.scale).sum()


def singular_where_not_chosen(s: Any, o: Tensor, x: Tensor, t: Tensor) -> Tensor:
    m = o > 0.3
    return torch.sqrt(o[m] - 0.3 * s.scale[0].clamp(max=1)).sum() + (1 / (o[m] - 0.2)).log().sum()


def experts(s: Any, o: Tensor, x: Tensor, t: Tensor) -> Tensor:
    out = torch.zeros(len(x), 3)
    out[t > 0] = s.head(F.normalize(o[t > 0], dim=1)).relu()
    out[t == 0] = F.layer_norm(o[t == 0], (OUTS,)) @ s.head.weight.T
    return out.pow(2).mean()


def sums(s: Any, o: Tensor, x: Tensor, t: Tensor) -> Tensor:
    m = t > 0
    total = o[m].sum() + o[m].norm() + o[m].sum(0).pow(2).sum() + o[m].sum(1).exp().sum() + o.masked_select(o > 0).sum()
    total = total + (o[m].T @ x[m]).sum() + o[:, s.scale.detach() > 0.7].pow(2).sum() + o[m].norm(1, dim=1).sum()
    return total + o[m].sum() / m.sum().clamp(min=1) + torch.linalg.norm(o[m], dim=-1).sum()


def summed_losses(s: Any, o: Tensor, x: Tensor, t: Tensor) -> Tensor:
    m = t > 0
    loss = F.mse_loss(o[m], x[m, 1:], reduction="sum") + F.huber_loss(o[m], x[m, 1:], reduction="none").sum()
    loss = loss + F.cross_entropy(s.head(o[m]), t[m], weight=torch.tensor([1.0, 2, 3]), reduction="sum")
    return loss + nn.BCEWithLogitsLoss(reduction="sum")(o[m][:, 0], (t[m] > 1).float())


def again(s: Any, o: Tensor, x: Tensor, t: Tensor) -> Tensor:
    a = o[t > 0]
    a[:, 1:3] = a[:, :2] * 2
    a[a < 0] = 0
    k = a[:, 3] > 0
    a[k] = a[k].exp()
    total = a.pow(2).sum() + a[a > 0.1].sum() + a.view(-1, 2, 2).sum(1).pow(3).sum()
    return 0.01 * (total + a.reshape(-1).cumsum(0).sum())


def by_places(s: Any, o: Tensor, x: Tensor, t: Tensor) -> Tensor:
    (i,) = torch.where(t > 0)
    j, k = (o > 0).nonzero(as_tuple=True)
    o = o.index_add(0, i, x[i, 1:] * s.scale)
    return o[i].pow(2).sum() + (o[j, k] * x[j, k]).sum() + o[(t > 1).nonzero().squeeze(1)].exp().sum()


def joined(s: Any, o: Tensor, x: Tensor, t: Tensor) -> Tensor:
    m = t > 0
    rows = torch.cat([o[m], o[~m] * 2])
    return rows.mean() + torch.stack([o[m], x[m][:, 1:]], 1).sum() + torch.cat([o[m], x[m]], -1).tanh().sum()


def broadcast(s: Any, o: Tensor, x: Tensor, t: Tensor) -> Tensor:
    m = (t > 0)[:, None]
    u = (o[m[:, 0]].unsqueeze(1) * x[:, None][m[:, 0]][..., 1:]).squeeze(1)
    return o.masked_select(m).pow(2).sum() + torch.where(u > 0, u, u * s.scale).sum() + torch.maximum(u, s.scale).sum()


SUMS = (
    scaled_in_place,
    exponentials_in_place,
    singular_where_not_chosen,
    experts,
    sums,
    summed_losses,
    again,
    by_places,
    joined,
    broadcast,
)


@pytest.mark.parametrize("batch", [some, none])
@pytest.mark.parametrize("function", SUMS)
def test_it_is_computed_as_in_pytorch(function: Callable[..., Tensor], batch: Callable[[], Any]) -> None:
    same_as_pytorch(function, batch())


# Each is NaN where `t > 0` chooses nothing.


def mean(s: Any, o: Tensor, x: Tensor, t: Tensor) -> Tensor:
    return o[t > 0].mean() + o[t > 0].mean(0).pow(2).sum()


def mean_loss(s: Any, o: Tensor, x: Tensor, t: Tensor) -> Tensor:
    return F.mse_loss(o[t > 0], x[t > 0][:, 1:])


def cross_entropy(s: Any, o: Tensor, x: Tensor, t: Tensor) -> Tensor:
    m, weight = t > 0, torch.tensor([1.0, 2, 3])
    loss = F.cross_entropy(s.head(o[m]), t[m]) + F.cross_entropy(s.head(o[m]), t[m], weight=weight, ignore_index=2)
    return loss + F.cross_entropy(s.head(o[m]), t[m], label_smoothing=0.1)


def other_losses(s: Any, o: Tensor, x: Tensor, t: Tensor) -> Tensor:
    a, b = o[t > 0], x[t > 0, 1:]
    loss = F.gaussian_nll_loss(a, b, a.exp()) + F.poisson_nll_loss(a, b.exp()) + F.smooth_l1_loss(a, b)
    return loss + F.kl_div(F.log_softmax(a, 1), F.softmax(b, 1), reduction="batchmean")


def deviations(s: Any, o: Tensor, x: Tensor, t: Tensor) -> Tensor:
    a = o[t > 0]
    return a.var() + a.std(0).sum() + (a - a.mean()).abs().mean() + a.var(0, unbiased=False).sum()


def count(s: Any, o: Tensor, x: Tensor, t: Tensor) -> Tensor:
    return o[t > 0].sum() / o[t > 0].shape[0] + o[t > 0].sum() / o[t > 0].numel()


MEANS = (mean, mean_loss, cross_entropy, other_losses, deviations, count)


@pytest.mark.parametrize("function", MEANS)
def test_a_mean_of_nothing_is_not_a_number(function: Callable[..., Tensor]) -> None:
    same_as_pytorch(function, some())
    assert Body(function)(*none()).isnan()
    trainer = pantoum.compile(Body(function), none(), optimizer="sgd", ram="16MiB", plan_options=MODELLED)
    with trainer, pytest.raises(pantoum.InvalidInput, match="E0701"):
        trainer.step(*none())


def test_a_mean_of_nothing_has_no_gradient() -> None:
    """PyTorch's gradient of it is 0, and that of the rest as ever."""

    def function(s: Any, o: Tensor, x: Tensor, t: Tensor) -> Tensor:
        m = t > 0
        return torch.where(m.any(), o[m].mean() * s.scale[0], 0.0) + o.pow(2).mean()

    same_as_pytorch(function, none())
    same_as_pytorch(function, some())


def test_extremes_and_weights_along_the_rows_are_of_those_that_are_chosen() -> None:
    def function(s: Any, o: Tensor, x: Tensor, t: Tensor) -> Tensor:
        a = o[t > 0]
        total = a.max() + a.amin(0).sum() + a.logsumexp(0).sum() + (a.softmax(0) * s.scale).pow(2).sum()
        return total + a.log_softmax(0)[:, 1].sum() + a.max(1).values.sum() + (a > 0).float().mean() + a.prod()

    same_as_pytorch(function, some())


# Generated: chains of functions of random masks, reduced or written back.

ELEMENTS = (
    lambda v, s: v.exp(),
    lambda v, s: (v.abs() + 0.1).log(),
    lambda v, s: v.sigmoid() * s,
    lambda v, s: 1 / (v - v.detach() + s),
    lambda v, s: F.gelu(v) - s,
    lambda v, s: v.clamp(-0.5, 0.5) * 3,
    lambda v, s: torch.where(v > 0, v, s),
    lambda v, s: F.softmax(v, -1),
    lambda v, s: F.linear(v, torch.eye(OUTS) * s),
)
MASKS = (lambda o, x, t: t > 0, lambda o, x, t: o[:, 0] > 0, lambda o, x, t: x[:, 1] < x[:, 2], lambda o, x, t: t > 5)
ENDS = (
    lambda a, z, m: a.sum(),
    lambda a, z, m: a.pow(2).sum(0).tanh().sum(),
    lambda a, z, m: a[:, 1].sum() + a.norm(),
    lambda a, z, m: written(a, z, m).pow(2).mean(),
    lambda a, z, m: F.l1_loss(a, z[m], reduction="sum"),
)


def written(a: Tensor, z: Tensor, m: Tensor) -> Tensor:
    z = z.clone()
    z[m] = a
    return z


def generated(seed: int) -> Callable[..., Tensor]:
    def function(s: Any, o: Tensor, x: Tensor, t: Tensor) -> Tensor:
        draw, total = random.Random(seed), o.new_zeros(())
        for _ in range(4):
            m = draw.choice(MASKS)(o, x, t)
            a = o[m]
            for each in draw.choices(ELEMENTS, k=draw.randint(1, 3)):
                a = each(a, s.scale)
            total = total + draw.choice(ENDS)(a, o * 2, m)
        return total

    return function


@pytest.mark.parametrize("seed", range(5))
def test_generated_chains_are_computed_as_in_pytorch(seed: int) -> None:
    same_as_pytorch(generated(seed), some())


# What has no fixed shape, or might choose other rows.


def returns(s: Any, o: Tensor, x: Tensor, t: Tensor) -> Any:
    return o.sum(), o[t > 0]


def sorts(s: Any, o: Tensor, x: Tensor, t: Tensor) -> Tensor:
    return o[t > 0].sort(0).values.sum()


def compares_all(s: Any, o: Tensor, x: Tensor, t: Tensor) -> Tensor:
    return (o[t > 0] @ o[t > 0].T).sum()


def normalizes_the_batch(s: Any, o: Tensor, x: Tensor, t: Tensor) -> Tensor:
    return F.batch_norm(o[t > 0], None, None, training=True).sum()


def takes_another_mask(s: Any, o: Tensor, x: Tensor, t: Tensor) -> Tensor:
    o[t > 0] = x[t > 1, 1:]
    return o.sum()


def adds_another_mask(s: Any, o: Tensor, x: Tensor, t: Tensor) -> Tensor:
    return (o[t > 0] + o[t > 1]).sum()


def draws_two_masks(s: Any, o: Tensor, x: Tensor, t: Tensor) -> Tensor:
    return F.mse_loss(o[torch.rand(ROWS) > 0.5], x[torch.rand(ROWS) > 0.5, 1:])


def changes_the_mask(s: Any, o: Tensor, x: Tensor, t: Tensor) -> Tensor:
    m = t > 0
    a = o[m]
    m[0] = True
    o[m] = a * 2
    return o.sum()


def changes_what_the_mask_is_of(s: Any, o: Tensor, x: Tensor, t: Tensor) -> Tensor:
    z = o * 1
    a = z[z > 0]
    z -= 0.5
    z[z > 0] = a
    return z.sum()


def has_rows_of_its_own(s: Any, o: Tensor, x: Tensor, t: Tensor) -> Tensor:
    o[t > 0] = x[:4, 1:]
    return o.sum()


def changes_a_view(s: Any, o: Tensor, x: Tensor, t: Tensor) -> Tensor:
    a = o[t > 0]
    v = a[:, 0]
    v.mul_(2)
    return a.sum()


def counts_in_python(s: Any, o: Tensor, x: Tensor, t: Tensor) -> Tensor:
    return o[t > 0].sum() if len(o[t > 0]) > 0 else o.sum()


def branches_on_the_count(s: Any, o: Tensor, x: Tensor, t: Tensor) -> Tensor:
    return o[t > 0].sum() if o[t > 0].numel() > 0 else o.sum()


class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient


def goes_through_a_function(s: Any, o: Tensor, x: Tensor, t: Tensor) -> Tensor:
    return Same.apply(o[t > 0]).sum()


REFUSED = {
    returns: "the shape of an output depends on the data",
    sorts: "sort of rows that a mask of the data chooses",
    compares_all: "each with each",
    normalizes_the_batch: "batch_norm of rows",
    takes_another_mask: "written by another",
    adds_another_mask: "that two masks of the data choose",
    draws_two_masks: "that two masks of the data choose",
    changes_the_mask: "written by another",
    changes_what_the_mask_is_of: "written by another",
    has_rows_of_its_own: "its own number of them",
    changes_a_view: "a change in place",
    counts_in_python: "is read into Python",
    branches_on_the_count: "a branch of Python depends on the data",
    goes_through_a_function: "the custom autograd function Same",
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda function: function.__name__)
def test_what_has_no_fixed_shape_is_refused_with_its_line(function: Callable[..., Any]) -> None:
    with pytest.raises(pantoum.Unsupported) as caught:
        capture(Body(function), some(), lambda output, _: output[0] if isinstance(output, tuple) else output)
    assert caught.value.code == "E0407"
    assert REFUSED[function] in str(caught.value)
    assert f"in {function.__name__}" in caught.value.where
