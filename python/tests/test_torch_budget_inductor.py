"""The hooks into inductor and into PyTorch's own budget. Inductor needs a C++ compiler."""

from __future__ import annotations

import copy
import itertools
import random
import shutil
from typing import Any

import pytest
from budget_steps import Function, torch
from pantoum.torch_budget import faults
from pantoum.torch_budget.inductor import KnapsackSolver, SavedBytes, knapsack
from torch import nn

pytestmark = pytest.mark.long

needs_compiler = pytest.mark.skipif(not shutil.which("g++"), reason="inductor compiles C++, and there is no g++")


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(64, 256),
        nn.Tanh(),
        nn.Linear(256, 256),
        nn.GELU(),
        nn.LayerNorm(256),
        nn.Linear(256, 64),
        nn.Tanh(),
        nn.Linear(64, 8),
    )


def batch() -> Any:
    return torch.randn(128, 64, generator=torch.Generator().manual_seed(1))


def saved(output: Any, module: nn.Module, inputs: Any) -> int:
    """What the compiled forward really keeps, as autograd has it."""
    known = {one.untyped_storage()._cdata for one in (*module.parameters(), inputs, output)}
    kept = {one.untyped_storage()._cdata: one.untyped_storage().nbytes() for one in output.grad_fn.saved_tensors}
    return sum(size for storage, size in kept.items() if storage not in known)


def step(ram: str | None) -> tuple[int, list[Any], SavedBytes | None]:
    torch._dynamo.reset()
    module, inputs = network(), batch()
    partitioner = SavedBytes(ram, time_limit_s=2) if ram else None
    compiled = torch.compile(module, options={"custom_partitioner_fn": partitioner} if partitioner else None)
    output = compiled(inputs)
    kept = saved(output, module, inputs)
    output.square().sum().backward()
    return kept, [parameter.grad for parameter in module.parameters()], partitioner


@needs_compiler
def test_saved_bytes_are_never_above_what_was_asked() -> None:
    module = network()
    module(batch()).square().sum().backward()
    for share in (0.7, 0.3):
        free = 1 << 19
        kept, gradients, partitioner = step(f"{int(free * share)}B")
        assert kept <= partitioner.partitions[0].saved <= int(free * share)
        for mine, theirs in zip(gradients, module.parameters(), strict=True):
            torch.testing.assert_close(mine, theirs.grad, rtol=1e-4, atol=1e-4)


@needs_compiler
def test_convolutions_save_what_was_counted_without_layout_optimization(caplog: pytest.LogCaptureFixture) -> None:
    module, pictures = nn.Conv2d(3, 8, 3), torch.randn(8, 3, 8, 8)
    for layouts in (True, False):
        torch._dynamo.reset()
        caplog.clear()
        partitioner = SavedBytes("1MiB", time_limit_s=2)
        options = {"custom_partitioner_fn": partitioner} if layouts else partitioner.options
        output = torch.compile(module, options=options)(pictures)
        assert ("channels-last" in caplog.text) == layouts
    assert saved(output, module, pictures) == partitioner.partitions[0].saved


@needs_compiler
def test_with_room_it_is_what_inductor_does() -> None:
    kept, _, partitioner = step("1GiB")
    own, _, _ = step(None)
    assert kept == own
    assert partitioner.partitions[0].origin == "ratio 1.0000"


@needs_compiler
def test_what_must_be_saved_is_told_where_it_does_not_fit() -> None:
    torch._dynamo.reset()
    module = Function(lambda self, x: nn.functional.dropout(self.part(x), 0.5).exp().sum(), part=nn.Linear(64, 64))
    options = {"custom_partitioner_fn": SavedBytes("64B", time_limit_s=2), "fallback_random": True}
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="no partition saves 64 bytes") as refused:
        torch.compile(module, options=options)(batch())
    error = refused.value.inner_exception
    assert isinstance(error, faults.Infeasible)
    assert error.min_ram > 64


def test_the_knapsack_is_never_above_its_limit() -> None:
    draw = random.Random(1)
    for _ in range(60):
        count = draw.randint(0, 40)
        sizes = [draw.choice([0.0, draw.random(), draw.random() ** 6]) for _ in range(count)]
        values = [draw.random() for _ in range(count)]
        limit = draw.choice([0.0, 0.05, 1.0, 3.0, 100.0])
        kept = knapsack(sizes, values, limit)
        assert sum(sizes[index] for index in kept) <= limit + 1e-12
        if sum(sizes) <= limit:
            assert kept == set(range(count))


def test_the_knapsack_is_nearly_the_best_there_is() -> None:
    draw = random.Random(2)
    for _ in range(20):
        sizes, values = [draw.random() for _ in range(10)], [draw.random() for _ in range(10)]
        best = max(
            sum(values[i] for i in kept)
            for size in range(11)
            for kept in itertools.combinations(range(10), size)
            if sum(sizes[i] for i in kept) <= 2.0
        )
        assert sum(values[index] for index in knapsack(sizes, values, 2.0)) >= 0.99 * best


def test_pytorchs_own_budget_takes_the_solver() -> None:
    torch._dynamo.reset()
    module, other = network(), copy.deepcopy(network())
    solver = KnapsackSolver()
    with torch._functorch.config.patch(activation_memory_budget=0.4, activation_memory_budget_solver=solver):
        torch.compile(module, backend="aot_eager")(batch()).square().sum().backward()
    other(batch()).square().sum().backward()
    for mine, theirs in zip(module.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad, rtol=1e-5, atol=1e-5)
    assert solver.uuid() == KnapsackSolver().uuid()
    assert SavedBytes("1MiB").uuid() != SavedBytes("2MiB").uuid()
