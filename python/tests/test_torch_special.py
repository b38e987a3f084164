"""Special functions, and draws of orders and classes, are PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the front end captures torch modules")

import pantoum  # noqa: E402
from pantoum._torch import decompositions  # noqa: E402
from samples import MODELLED  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.distributions import Beta, Dirichlet, NegativeBinomial, StudentT  # noqa: E402

REALS = torch.cat([torch.linspace(-7.93, -0.01, 499), torch.linspace(0.001, 12, 2001), torch.logspace(1, 6, 99)])
INSIDE = torch.cat([torch.linspace(-1, 1, 2001), 1 - torch.logspace(-7, -1, 40)])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize(
    ("found", "wanted", "points"),
    [
        (decompositions.lgamma, torch.lgamma, REALS),
        (decompositions.digamma, torch.digamma, REALS),
        (lambda x: decompositions.polygamma(1, x), lambda x: torch.polygamma(1, x), REALS),
        (decompositions.erfinv, torch.erfinv, INSIDE),
    ],
    ids=["lgamma", "digamma", "trigamma", "erfinv"],
)
def test_values_and_gradients_are_those_of_the_operator(found: Any, wanted: Any, points: Tensor, dtype: Any) -> None:
    x = points.to(dtype)
    tolerance = 1e-9 if dtype == torch.float64 else 3e-6
    answers = []
    for function, at in ((found, x), (wanted, x.double())):
        given = at.clone().requires_grad_()
        value = function(given)
        (gradient,) = torch.autograd.grad(value.sum(), given)
        answers.append((value.detach().double(), gradient.double()))
    (value, gradient), (exact, exact_gradient) = answers
    assert torch.equal(value.isfinite(), exact.isfinite())
    finite = exact.isfinite() & exact_gradient.isfinite()
    assert ((value - exact).abs() / (1 + exact.abs()))[finite].max() < tolerance
    assert ((gradient - exact_gradient).abs() / (1 + exact_gradient.abs()))[finite].max() < max(tolerance, 5e-6)


def test_poles_and_what_is_outside() -> None:
    poles = torch.tensor([0.0, -1.0, -5.0])
    assert (decompositions.lgamma(poles) == torch.inf).all()
    found = decompositions.erfinv(torch.tensor([1.0, -1.0, 1.5]))
    assert found[0] == torch.inf
    assert found[1] == -torch.inf
    assert found[2].isnan()


class Forecast(nn.Module):
    """A layer whose outputs are the parameters of a distribution."""

    def __init__(self, loss: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.layer, self.loss = nn.Linear(5, 3), loss

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return self.loss(torch.nn.functional.softplus(self.layer(x)) + 0.1, y)


@pytest.mark.parametrize(
    "loss",
    [
        lambda p, y: -NegativeBinomial(p[:, 0], p[:, 1].neg().exp()).log_prob(y.round()).mean(),
        lambda p, y: -StudentT(p[:, 0] + 1, p[:, 1], p[:, 2]).log_prob(y).mean(),
        lambda p, y: -Beta(p[:, 0], p[:, 1]).log_prob(torch.sigmoid(y)).mean(),
        lambda p, y: Dirichlet(p).entropy().mean(),
        lambda p, y: torch.erfinv(torch.tanh(p[:, 0] - 1) * 0.9).square().mean(),
    ],
    ids=["negative_binomial", "student_t", "beta", "dirichlet", "erfinv"],
)
def test_likelihoods_train(loss: Callable[[Tensor, Tensor], Tensor]) -> None:
    torch.manual_seed(3)
    inputs = torch.randn(8, 5), torch.rand(8) * 6
    report = pantoum.check(Forecast(loss), inputs, steps=2, plan_options=MODELLED)
    assert report.ok, str(report)


def test_orders_and_classes_are_drawn_as_often_as_they_are_likely() -> None:
    torch.manual_seed(0)
    orders = torch.stack([decompositions.OWN[torch.ops.aten.randperm.default](3) for _ in range(3000)])
    assert (orders.sort(1)[0] == torch.arange(3)).all()
    counts = torch.unique(orders, dim=0, return_counts=True)[1]
    assert len(counts) == 6
    assert (counts - 500).abs().max() < 120
    weights = torch.tensor([[0.0, 1.0, 3.0, 4.0]]).expand(4000, 4)
    for drawn in (
        decompositions.multinomial(weights, 1),
        decompositions.multinomial(weights, 2, replacement=True)[:, 1:],
        decompositions.multinomial(weights, 2)[:, :1],
    ):
        shares = torch.bincount(drawn.flatten(), minlength=4) / 4000
        assert shares[0] == 0
        assert (shares - torch.tensor([0, 0.125, 0.375, 0.5])).abs().max() < 0.04
    pairs = decompositions.multinomial(weights, 3)
    assert (pairs.sort(1)[0] == torch.arange(1, 4)).all()


class Shuffled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.leaky = nn.Linear(5, 5), nn.RReLU()

    def forward(self, x: Tensor) -> Tensor:
        y = self.leaky(self.layer(x))
        mixed = 0.7 * y + 0.3 * y[torch.randperm(8)]
        negatives = torch.multinomial(torch.ones(8, 8) - torch.eye(8), 2)
        picked = torch.distributions.Categorical(logits=y.detach()).sample()
        return (mixed.unsqueeze(1) - y[negatives]).square().mean() + y.gather(1, picked.unsqueeze(1)).mean()


def test_a_module_that_shuffles_trains() -> None:
    report = pantoum.check(Shuffled(), torch.randn(8, 5), steps=2, plan_options=MODELLED)
    assert report.ok, str(report)
