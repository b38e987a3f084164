"""What the tests of torch_budget share: a step in eager PyTorch and under a budget, and what must be equal."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch_budget needs PyTorch (pip install '.[torch]')")

# pytest listens to every logger; PyTorch then renders each trace of its compiler for it.
logging.getLogger("torch.__trace").propagate = False
logging.getLogger("torch.__trace").setLevel(logging.CRITICAL)

import pantoum.torch_budget  # noqa: E402
from pantoum.torch_budget import TorchBudget, faults  # noqa: E402


def network() -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(64, 256),
        torch.nn.Tanh(),
        torch.nn.Dropout(0.2),
        torch.nn.Linear(256, 256),
        torch.nn.GELU(),
        torch.nn.LayerNorm(256),
        torch.nn.Linear(256, 64),
        torch.nn.Tanh(),
        torch.nn.Linear(64, 8),
    )


def batch(rows: int = 128) -> Any:
    return torch.randn(rows, 64, generator=torch.Generator().manual_seed(1))


@dataclass
class Step:
    """What one training step left: outputs, gradients, buffers, and the budget it ran under."""

    outputs: list[Any]
    gradients: list[Any]
    buffers: list[Any]
    budget: Any = None  # a TorchBudget; an eager step has none
    inputs: list[Any] = field(default_factory=list)


def leaves(value: Any) -> list[Any]:
    return [leaf for leaf in torch.utils._pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def copied(inputs: Sequence[Any]) -> list[Any]:
    return [
        one.detach().clone(memory_format=torch.preserve_format).requires_grad_(one.requires_grad)
        if isinstance(one, torch.Tensor)
        else one
        for one in inputs
    ]


def backward(outputs: Any) -> None:
    roots = [leaf for leaf in leaves(outputs) if leaf.requires_grad]
    if roots:
        torch.autograd.backward(
            roots,
            [
                torch.linspace(0.5, 1.0, root.numel(), dtype=root.real.dtype).view(root.shape).to(root.dtype)
                for root in roots
            ],
        )


def _left(module: Any, outputs: Any, inputs: list[Any], budget: TorchBudget | None) -> Step:
    gradients = [parameter.grad for parameter in module.parameters()]
    gradients += [one.grad for one in leaves(inputs) if one.requires_grad]
    return Step(leaves(outputs), gradients, list(module.buffers()), budget, inputs)


def eager(module: Any, inputs: Sequence[Any], seed: int = 5, backend: str | None = None) -> Step:
    """The step without a budget; `backend`: one of PyTorch's own, where its tracing draws other random numbers."""
    module, given = copy.deepcopy(module), copied(inputs)
    torch._dynamo.reset()
    run = torch.compile(module, backend=backend) if backend else module
    torch.manual_seed(seed)
    outputs = run(*given)
    backward(outputs)
    return _left(module, outputs, given, None)


def budgeted(module: Any, inputs: Sequence[Any], ram: int | str, seed: int = 5, **options: Any) -> Step:
    """One step under a budget, counted. Raises what torch_budget raises."""
    torch._dynamo.reset()
    module, given = copy.deepcopy(module), copied(inputs)
    options.setdefault("time_limit_s", 2)
    with pantoum.torch_budget(ram if isinstance(ram, str) else f"{ram}B", **options) as budget:
        compiled = torch.compile(module, backend="pantoum")
    torch.manual_seed(seed)
    with budget.measure():
        outputs = compiled(*given)
        backward(outputs)
    return _left(module, outputs, given, budget)


def same(found: Step, expected: Step, tolerance: float = 1e-5) -> None:
    for what in ("outputs", "gradients", "buffers"):
        for one, other in zip(getattr(found, what), getattr(expected, what), strict=True):
            assert (one is None) == (other is None), what
            if one is not None:
                assert (one.shape, one.dtype) == (other.shape, other.dtype), what
                torch.testing.assert_close(
                    one, other, rtol=tolerance, atol=tolerance, msg=lambda text, what=what: f"{what}: {text}"
                )


def kept(step: Step) -> None:
    """The measured peak is within the budget, and within what was planned."""
    report = step.budget.report()
    assert report.pieces, "nothing was compiled"
    assert report.measured_peak <= report.planned_peak <= step.budget.ram


def at_budgets(
    module: Any,
    inputs: Sequence[Any],
    shares: Sequence[float] = (1.0, 0.7, 0.45),
    reference: str | None = None,
    **options: Any,
) -> list[Step]:
    """A step at these shares of the unplanned peak, or at the least that is possible; all checked against eager."""
    expected = eager(module, inputs, backend=reference)
    free = budgeted(module, inputs, "1GiB", **options)
    same(free, expected)
    kept(free)
    peak = max(free.budget.report().planned_peak, 1)
    steps = [free]
    for share in shares:
        step = _step_or_least(module, inputs, max(1, int(peak * share)), options)
        same(step, expected)
        kept(step)
        steps.append(step)
    return steps


def _step_or_least(module: Any, inputs: Sequence[Any], ram: int, options: dict[str, Any]) -> Step:
    try:
        return budgeted(module, inputs, ram, **options)
    except (faults.Infeasible, faults.LimitReached) as error:
        least = int(error.min_ram or 0)
    assert least > ram
    return budgeted(module, inputs, least, **options)


class Function(torch.nn.Module):
    """A module of one function over its parts."""

    def __init__(self, body: Callable[..., Any], **parts: Any) -> None:
        super().__init__()
        self.body = body
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, *inputs: Any) -> Any:
        return self.body(self, *inputs)
