"""Models of examples/, small plans of them, and data. What is planned is modelled, so that it is the same everywhere."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import numpy as np
import pantoum
import pytest
from samples import BATCH, MODELLED, SPIRALS, Floats, Labels


@pytest.fixture(scope="session")
def model() -> pantoum.Model:
    return pantoum.load_onnx(SPIRALS, batch=BATCH, optimizer=pantoum.Sgd(lr=0.1, momentum=0.9))


@pytest.fixture(scope="session")
def plan(model: pantoum.Model) -> pantoum.Plan:
    return pantoum.plan(model, ram="256KiB", **MODELLED)


@pytest.fixture(scope="session")
def data() -> tuple[Floats, Labels]:
    """Points and their quadrants, 10 batches."""
    random = np.random.default_rng(7)
    x = random.standard_normal((10 * BATCH, 2), dtype=np.float32)
    return x, ((x[:, 0] > 0).astype(np.int64) + (x[:, 1] > 0)).astype(np.int64)


@pytest.fixture
def batch(data: tuple[Floats, Labels]) -> tuple[Floats, Labels]:
    return data[0][:BATCH].copy(), data[1][:BATCH].copy()


@pytest.fixture
def trainer(plan: pantoum.Plan) -> Iterator[pantoum.Trainer]:
    with pantoum.Trainer(plan) as made:
        yield made


@pytest.fixture
def fresh_compiler() -> None:
    """Nothing that torch.compile keeps from tests before."""
    from budget_steps import torch

    torch._dynamo.reset()


@pytest.fixture
def fast_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> str:
    """A folder that the planner of torch_budget believes to be so fast that it pages whatever it can."""
    from pantoum.torch_budget import backend, pager, planner

    number = pager.open_pager(str(tmp_path))
    if number is None:
        pytest.skip("the temporary folder lies in memory")
    monkeypatch.setitem(backend._SPEEDS, number, planner.PagerSpeed(0.0, 1e12, 1e12))
    return str(tmp_path)
