"""The state of a captured module: its names and nothing else, for every budget; what is derived from a buffer follows
the buffer; tensors without values and values that are not finite are refused."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the front end captures torch modules")

import pantoum  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812

N = 16
PLANNED: dict[str, Any] = {"kernels": "portable", "measure": "off", "gap": "5%", "time_limit": "5s"}

# What forward makes of a buffer: a kind of buffer, and the value that hidden activations get from it.
DERIVED: dict[str, tuple[str, Callable[[Tensor, Tensor], Tensor]]] = {
    "cast": ("mask", lambda b, h: h * b.float()),
    "slice": ("real", lambda b, h: h[:, 1:] * b[:, 1:]),
    "where": ("mask", lambda b, h: torch.where(b, h, torch.tensor(0.5))),
    "not": ("mask", lambda b, h: h.masked_fill(~b, -2.0)),
    "one_hot": ("index", lambda b, h: h @ F.one_hot(b, N).float()),
    "whole division": ("index", lambda b, h: h[:, b // 2] * (b % 3)),
    "compare": ("real", lambda b, h: h * (b > 0.5) * (torch.arange(N) < 9)),
    "reduce": ("real", lambda b, h: h @ (b.softmax(-1) @ torch.tril(b)) / b.sum()),
    "scalar": ("number", lambda b, h: (h * (1 / b) + b**2).clamp(min=-b)),
}


def buffer(kind: str, seed: int) -> Tensor:
    draw = torch.Generator().manual_seed(seed)
    return {
        "mask": torch.rand(N, N, generator=draw) > 0.5,
        "real": torch.rand(N, N, generator=draw),
        "index": torch.randint(0, N, (N,), generator=draw),
        "number": torch.tensor(float(seed)),
    }[kind]


class Derived(nn.Module):
    buffer: Tensor

    def __init__(self, name: str, seed: int = 1) -> None:
        super().__init__()
        torch.manual_seed(0)
        kind, self.derive = DERIVED[name]
        self.first, self.second = nn.Linear(N, N), nn.Linear(N, N)
        self.register_buffer("buffer", buffer(kind, seed))

    def forward(self, x: Tensor) -> Tensor:
        h = self.derive(self.buffer, self.first(x)).tanh()
        return self.second(h) if h.shape[-1] == N else h


def compiled(module: nn.Module, batch: Any, ram: str = "1GiB") -> Any:
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    return pantoum.compile(module, batch, loss="mse", ram=ram, optimizer=optimizer, plan_options=PLANNED)


def arrays(state: dict[str, Tensor]) -> dict[str, Any]:
    return {name: tensor.detach().numpy() for name, tensor in state.items()}


@pytest.mark.parametrize("ram", ["1GiB", "16KiB"])
@pytest.mark.parametrize("name", DERIVED)
def test_what_is_derived_from_a_buffer_follows_it(name: str, ram: str, tmp_path: Path) -> None:
    x = torch.randn(N, N, generator=torch.Generator().manual_seed(7))
    module, other = Derived(name), Derived(name, seed=2)
    y = torch.zeros_like(module(x))
    with compiled(module, (x, y), ram) as trainer:
        state = {name: torch.from_numpy(array) for name, array in trainer.state_dict().items()}
        assert list(state) == list(module.state_dict())
        module.load_state_dict(state)
        trainer.load_state_dict(arrays(other.state_dict()))
        trainer.save(tmp_path / "saved.safetensors")
        wanted = F.mse_loss(other(x), y)
        assert trainer.step(x, y) == pytest.approx(wanted.item(), rel=1e-5)
    with compiled(module, (x, y), "64KiB") as trainer:  # another budget goes on from the same file
        trainer.resume(tmp_path / "saved.safetensors")
        assert trainer.step(x, y) == pytest.approx(wanted.item(), rel=1e-5)


class Everything(nn.Module):
    """Tied weights, an unread parameter, buffers without elements, of another type, and one that is not persistent."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.unread = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(3, 3)
        self.second.weight = self.first.weight
        self.norm, self.last = nn.BatchNorm1d(8), nn.Linear(8, 4)
        self.register_buffer("empty", torch.zeros(0))
        self.register_buffer("small", torch.ones(4, dtype=torch.int16))
        self.register_buffer("passing", torch.full((8,), 2.0), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.norm(self.second(self.first(x).relu())) * self.passing)


def test_the_state_is_that_of_the_module() -> None:
    torch.manual_seed(0)
    module, batch = Everything(), (torch.randn(16, 8), torch.randn(16, 4))
    with compiled(module, batch) as trainer:
        trainer.step(*batch)
        state = trainer.state_dict()
        assert list(state) == list(module.state_dict())
        module.load_state_dict({name: torch.from_numpy(array) for name, array in state.items()})
        trainer.load_state_dict(arrays(module.state_dict()))
        trainer.load_state_dict({"passing": np.ones(8, np.float32)}, strict=False)
        differing = {**state, "second.weight": state["second.weight"] + 1}
        with pytest.raises(pantoum.InvalidInput, match="one tensor of the module, and their values differ"):
            trainer.load_state_dict(differing)
        with pytest.raises(pantoum.InvalidInput, match=r"no such tensor: stranger(.|\n)*missing: last.bias"):
            trainer.load_state_dict(
                {**{n: a for n, a in state.items() if n != "last.bias"}, "stranger": state["empty"]}
            )
        assert all(np.array_equal(array, state[name]) for name, array in trainer.state_dict().items())


def plain() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4))


def on_meta(module: nn.Module) -> None:
    module[2].to("meta")


def without_storage(module: nn.Module) -> None:
    module[2].weight.untyped_storage().resize_(0)


def expanded(module: nn.Module) -> None:
    module[2].bias = nn.Parameter(torch.zeros(1).expand(4))


BATCH = torch.randn(16, 8), torch.randn(16, 4)


@pytest.mark.parametrize("take", [on_meta, without_storage])
def test_a_tensor_without_values_is_planned_and_never_trained(take: Callable[[nn.Module], None]) -> None:
    module = plain()
    take(module)
    model = pantoum.from_torch(module, BATCH, loss="mse")
    plan = pantoum.plan(model, ram="1GiB", measure="off")
    for use in (
        lambda: compiled(module, BATCH),
        lambda: pantoum.Trainer(plan),
        lambda: pantoum.Trainer(pantoum.plan(model.with_options(lr=0.5), ram="1GiB", measure="off")),
        lambda: pantoum.check(module, BATCH, loss="mse"),
    ):
        with pytest.raises(pantoum.InvalidInput, match=r"no values(.|\n)*2.weight"):
            use()


@pytest.mark.parametrize("take", [on_meta, without_storage, expanded])
def test_copy_to_changes_nothing_where_a_tensor_cannot_be_written(take: Callable[[nn.Module], None]) -> None:
    module, target = plain(), plain()
    take(target)
    before = target[0].weight.detach().clone()
    with compiled(module, BATCH) as trainer:
        trainer.step(*BATCH)
        with pytest.raises(pantoum.InvalidInput, match="cannot be written"):
            trainer.copy_to(target)
    assert torch.equal(before, target[0].weight)


def test_a_module_of_inference_mode_is_refused_by_name() -> None:
    with torch.inference_mode():
        module = plain()
    with pytest.raises(pantoum.Unsupported, match=r"0\.weight was made in inference mode"):
        compiled(module, BATCH)


class RootOfZero(nn.Module):
    """Its first loss is 0, and its first gradient is not a number."""

    lowest: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(8, 4))
        self.register_buffer("lowest", torch.full((4,), torch.inf))

    def forward(self, x: Tensor) -> Tensor:
        y = (x @ self.weight).abs()
        self.lowest = torch.minimum(self.lowest, self.lowest)
        return y.sqrt()


def test_what_is_not_finite_is_not_stored(tmp_path: Path) -> None:
    module, path = RootOfZero(), tmp_path / "saved.safetensors"
    batch = torch.randn(16, 8), torch.zeros(16, 4)
    with compiled(module, batch) as trainer:
        trainer.save(path)  # the buffer was infinite before training
        before = path.read_bytes()
        assert trainer.step(*batch) == 0
        for store in (lambda: trainer.save(path), lambda: trainer.copy_to(module)):
            with pytest.raises(pantoum.InvalidInput, match="not finite") as raised:
                store()
            assert raised.value.code == "E0701"
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]
    assert torch.equal(module.weight, torch.zeros(8, 4))


class Assigns(nn.Module):
    mean: Tensor
    count: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 4)
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("count", torch.tensor(0))

    def forward(self, x: Tensor) -> Tensor:
        y = self.linear(x)
        self.mean = 0.9 * self.mean + 0.1 * y.detach().mean(0)
        self.count = self.count + 1
        return y / self.count - self.mean


def test_check_follows_buffers_that_forward_assigns() -> None:
    torch.manual_seed(0)
    module = Assigns()
    report = pantoum.check(module, BATCH, loss="mse", optimizer=torch.optim.SGD(module.parameters(), lr=0.1))
    assert report.ok, report
    assert module.count == 0


def test_check_compares_buffers_that_are_not_persistent() -> None:
    torch.manual_seed(0)
    report = pantoum.check(Everything(), torch.randn(16, 8), "mse", "sgd", target=torch.randn(16, 4))
    assert report.ok, str(report)
    assert "passing" in {each.what for each in report.weights}


def test_check_says_what_was_compared() -> None:
    report = pantoum.check(nn.Sequential(nn.Linear(8, 4), nn.Dropout()), BATCH, loss="mse")
    assert report.ok
    assert report.compared == "operators"
    assert "operators, each alone, have PyTorch's values and gradients" in str(report)
    assert "  loss" not in str(report)
