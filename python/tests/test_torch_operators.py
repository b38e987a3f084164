"""Operators of PyTorch that are expressed by others give the loss and the gradients that PyTorch's give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the front end captures torch modules")

import pantoum  # noqa: E402
from pantoum._torch import capture  # noqa: E402
from samples import MODELLED  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812

PLACES = torch.tensor([[0, 1, 0, 1, 2, 2]] * 4)
MASK = torch.tensor([True, False, True, True, False, False])


class Body(nn.Module):
    """A layer, and a function of what it gives."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.layer, self.function = nn.Linear(6, 6), function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(self.layer(x)).square().mean()


def both(*parts: Tensor) -> Tensor:
    return torch.cat([part.reshape(-1) for part in parts])


def extremes(y: Tensor) -> Tensor:
    tied = torch.fmax(y.relu(), (y * 2).relu())
    return both(torch.fmax(y, y.flip(0)), torch.fmin(y, torch.zeros(6)), tied)


def running(y: Tensor) -> Tensor:
    values, places = torch.cummax(y, 1)
    return both(values, places * y, torch.cummin(y, 0)[0])


def distances(y: Tensor) -> Tensor:
    return both(F.pdist(y), F.pdist(y, 1), F.pdist(y, 3), torch.ldexp(y, torch.tensor(2)))


def reductions(y: Tensor) -> Tensor:
    kinds = [(kind, own) for kind in ("sum", "prod", "mean", "amax", "amin") for own in (True, False)]
    return both(
        *(torch.scatter_reduce(y[:, :3] * 0.5, 1, PLACES, y, kind, include_self=own) for kind, own in kinds),
        torch.index_reduce(y[:, :3] * 0.5, 1, PLACES[0], y, "amax", include_self=False),
    )


def searches(y: Tensor) -> Tensor:
    edges = torch.tensor([-1.0, 0.0, 1.0])
    rows = torch.searchsorted(torch.arange(4.0)[None].repeat(4, 1), y, right=True)
    return both(rows * y, torch.bucketize(y, edges) * y)


def masks(y: Tensor) -> Tensor:
    zeroed = y * 2
    zeroed[:, MASK] = y[:, MASK] * 3
    others = (y @ y.T)[~torch.eye(4, dtype=torch.bool)].view(4, 3)
    return both(y[:, MASK], torch.masked_select(y, MASK), zeroed, others, y[:, MASK.nonzero().squeeze(1)])


def covariances(y: Tensor) -> Tensor:
    times, weights = torch.tensor([1, 2, 1, 3, 1, 1]), torch.tensor([0.5, 1, 0.2, 1, 2, 1])
    weighted = torch.cov(y, fweights=times), torch.cov(y, aweights=weights), y.cov(correction=0, aweights=weights)
    both_weights = torch.cov(y, correction=2, fweights=times, aweights=weights)
    return both(torch.cov(y), y[0].cov(), torch.corrcoef(y), y[1].corrcoef(), *weighted, both_weights)


def of_literals(y: Tensor) -> Tensor:
    matrix = torch.arange(36.0).view(6, 6).sin() + 3 * torch.eye(6)
    inverse, q, spectrum = torch.linalg.inv(matrix), torch.linalg.qr(matrix)[0], torch.fft.rfft(matrix).abs()
    values = torch.linalg.eigvals(matrix).abs(), torch.linalg.svdvals(matrix), torch.linalg.det(matrix)
    return both(y @ inverse, y @ q, y @ spectrum, y @ torch.linalg.pinv(matrix), *(y * each for each in values))


def repeats(y: Tensor) -> Tensor:
    return both(torch.repeat_interleave(y, torch.tensor([1, 0, 2, 1]), 0), y[0][torch.combinations(torch.arange(6))])


def puts(y: Tensor) -> Tensor:
    scattered = torch.masked_scatter(y, y.detach() > 0, y.flip(0) * 2)
    put = y.clone()
    put[:, torch.tensor([0, 2])] = y[:, :2] * 3
    largest, places = F.max_pool1d(y, 2, return_indices=True)
    return both(scattered, put, largest, places * y[:, :3])


def variances(y: Tensor) -> Tensor:
    return F.gaussian_nll_loss(y[:, :3], torch.ones(4, 3), y[:, 3:].exp(), full=True)


def windows(y: Tensor) -> Tensor:
    count = torch.div(torch.tensor(5), 2, rounding_mode="trunc")
    overlapping = y.as_strided((4, 3, 4), (6, 1, 1))
    turned = y.t().as_strided(y.t().shape, y.t().stride()) * torch.arange(24.0).view(6, 4)
    return both(overlapping, turned, torch.as_strided(y, (int(count), 2), (2, 1), 1))


def slices(y: Tensor) -> Tensor:
    """In-place changes of parts of what has its dimensions in another order in memory."""
    scores = torch.einsum("bnh,tnh->bnt", y.view(4, 2, 3), y.view(4, 2, 3))
    part = scores.unsqueeze(0)[..., 1:]
    part *= torch.arange(3.0)
    turned = y.t().clone()
    turned[1:3] *= 2
    turned.diagonal().mul_(3)
    return both(part, scores, turned)


def diagonals(y: Tensor) -> Tensor:
    tall = (y.T * 2).fill_diagonal_(0.5)
    cube = (y[:2, :2, None] * y[0, :2]).fill_diagonal_(-1)
    other = (y[:, None].sum(-1) == y.sum(-1)[None]).fill_diagonal_(False)
    wrapped = (y @ y.T).fill_diagonal_(3, wrap=True)
    return both(tall, cube, wrapped, y.sum(1).masked_fill(other.any(1), 0))


def priors(y: Tensor) -> Tensor:
    """Densities by the factor of a constant matrix."""
    spread = torch.eye(6) * 0.5 + 0.1
    normal = torch.distributions.MultivariateNormal(torch.ones(6), spread)
    several = torch.distributions.MultivariateNormal(torch.zeros(4, 6), scale_tril=torch.tril(spread))
    return both(normal.log_prob(y), several.log_prob(y), torch.linalg.solve_triangular(spread, y.T, upper=True))


@pytest.mark.parametrize(
    "function",
    [
        extremes,
        running,
        distances,
        reductions,
        searches,
        masks,
        covariances,
        of_literals,
        repeats,
        puts,
        variances,
        windows,
        slices,
        diagonals,
        priors,
    ],
)
def test_operators_are_as_in_pytorch(function: Callable[[Tensor], Tensor]) -> None:
    torch.manual_seed(0)
    compare(Body(function), torch.randn(4, 6))


class Normed(nn.Module):
    def __init__(self, norm: nn.Module) -> None:
        super().__init__()
        self.layer, self.norm = nn.Conv1d(3, 4, 3), norm

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.layer(x)).pow(3).mean()


@pytest.mark.parametrize(
    "norm",
    [nn.InstanceNorm1d(4, affine=True, track_running_stats=True), nn.BatchNorm1d(4, momentum=None)],
    ids=["instance", "cumulative"],
)
def test_running_statistics_of_norms(norm: nn.Module) -> None:
    torch.manual_seed(0)
    compare(Normed(norm), torch.randn(4, 3, 8))


class Adaptive(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 8)
        self.rows = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10], div_value=2.0)

    def forward(self, x: Tensor, target: Tensor) -> Any:
        return self.rows(self.layer(x), target).loss


def test_adaptive_softmax() -> None:
    torch.manual_seed(0)
    compare(Adaptive(), (torch.randn(4, 6), torch.tensor([1, 7, 12, 19])))


def compare(module: nn.Module, example: Any) -> None:
    """Three steps of both, from the same parameters: losses, parameters and buffers."""
    inputs = example if isinstance(example, tuple) else (example,)
    start = {name: value.clone() for name, value in module.state_dict().items()}
    optimizer = torch.optim.SGD(module.parameters(), lr=0.05)
    with pantoum.compile(module, example, optimizer=optimizer, plan_options=MODELLED) as trainer:
        losses = [trainer.step(example) for _ in range(3)]
        trainer.copy_to(module)
    found = {name: value.clone() for name, value in module.state_dict().items()}
    module.load_state_dict(start)
    for loss in losses:
        optimizer.zero_grad()
        expected = module(*inputs)
        expected.backward()
        optimizer.step()
        assert loss == pytest.approx(expected.item(), rel=1e-5, abs=1e-5)
    for name, value in module.state_dict().items():
        torch.testing.assert_close(found[name], value, rtol=1e-5, atol=1e-5)


def test_what_is_not_checked_is_told() -> None:
    def asserts(y: Tensor) -> Tensor:
        torch._assert(y.isfinite().all(), "not finite")
        return y

    notes = capture(Body(asserts), torch.randn(4, 6)).notes
    assert any("an assertion is not checked: test_torch_operators.py:" in note for note in notes)


def test_masks_of_random_numbers_are_not_known() -> None:
    def drawn(y: Tensor) -> Tensor:
        mask = F.gumbel_softmax(torch.zeros(6), hard=True) > 0
        return y[:, mask].sum()

    assert "aten.rand.default" in capture(Body(drawn), torch.randn(4, 6)).operators()


def test_masks_that_the_data_change_are_not_known() -> None:
    def changed(y: Tensor) -> Tensor:
        mask = torch.zeros(6, dtype=torch.bool)
        mask |= y.detach()[0] > 0
        return y[:, mask].sum()

    compare(Body(changed), torch.randn(4, 6))


class Masked(nn.Module):
    """A mask that is a buffer, and what is done with it beside."""

    def __init__(self, function: Callable[[nn.Module, Tensor], Tensor]) -> None:
        super().__init__()
        self.layer, self.norm, self.function = nn.Linear(6, 6), nn.BatchNorm1d(6), function
        self.register_buffer("mask", MASK.clone())
        self.register_buffer("count", torch.tensor(3))

    def forward(self, x: Tensor) -> Tensor:
        return self.function(self, self.norm(self.layer(x))).square().mean()


def branched(module: Any, y: Tensor) -> Tensor:
    return y.repeat(1, int(module.count.item())) if module.mask.any() and module.count > 2 else y


@pytest.mark.parametrize(
    "function",
    [lambda module, y: y[:, module.mask], lambda module, y: y[:, ~module.mask.flip(0)], branched],
    ids=["mask", "computed", "branch"],
)
def test_buffers_that_forward_leaves_alone_are_known(function: Callable[[nn.Module, Tensor], Tensor]) -> None:
    report = pantoum.check(Masked(function), torch.randn(4, 6), steps=2, plan_options=MODELLED)
    assert report.ok, str(report)
    assert "as it is now: test_torch_operators.py:" in str(report)


def shifted(module: Any, y: Tensor) -> Tensor:
    y = y[:, module.mask]
    module.mask = module.mask.roll(1)
    return y


def written(module: Any, y: Tensor) -> Tensor:
    part = y[:, module.mask.clone()]
    module.mask[1:].logical_not_()
    return part


def counted(module: Any, y: Tensor) -> Tensor:
    module.count += 1
    return y if module.count % 2 else y * 2


def tracked(module: Any, y: Tensor) -> Tensor:
    return y if module.norm.num_batches_tracked < 3 else y * 2


@pytest.mark.parametrize(
    ("function", "name"),
    [(shifted, "mask"), (written, "mask"), (counted, "count"), (tracked, "norm.num_batches_tracked")],
)
def test_buffers_that_forward_changes_decide_nothing(
    function: Callable[[nn.Module, Tensor], Tensor], name: str
) -> None:
    with pytest.raises(pantoum.Unsupported) as caught:
        capture(Masked(function), torch.randn(4, 6))
    assert f"a shape or a branch follows buffer {name}, which forward changes" in str(caught.value)
    assert "test_torch_operators.py:" in str(caught.value)


def grown(y: Tensor) -> Tensor:
    z = y.clone()
    window = z.as_strided((2, 2), (1, 1))
    z.mul_(2)
    return window


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (grown, "as_strided takes or gives is changed in place"),
        (lambda y: y.clone().as_strided((2, 2), (1, 1)).add_(1), "as_strided takes or gives is changed in place"),
        (lambda y: F.embedding(torch.tensor([0, 1]), y, max_norm=1.0), "max_norm"),
        (
            lambda y: F.ctc_loss(y.view(4, 1, 6), torch.tensor([1, 2]), torch.tensor([4]), torch.tensor([2])),
            "ctc_loss",
        ),
    ],
    ids=["window_of_changed", "window_changed", "max_norm", "ctc_loss"],
)
def test_what_has_no_operator_is_told_with_its_line(function: Callable[[Tensor], Tensor], what: str) -> None:
    with pytest.raises(pantoum.Unsupported) as caught:
        capture(Body(function), torch.randn(4, 6))
    assert what in str(caught.value)
    assert "test_torch_operators.py:" in str(caught.value)
