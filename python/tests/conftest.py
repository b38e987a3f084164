"""Models of examples/, small plans of them, and data. What is planned is modelled, so that it is the same everywhere."""

from __future__ import annotations

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
