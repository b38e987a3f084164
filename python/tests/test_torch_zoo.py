"""Modules as strangers write them: each trains as in PyTorch, or is refused with the line of its file."""

from __future__ import annotations

import time
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the front end captures torch modules")

import pantoum  # noqa: E402
from samples import MODELLED  # noqa: E402
from zoo import WRITTEN  # noqa: E402

# One or two of each family; the others are long, and bench/python/models.py trains all of them in half of their memory.
QUICK = (
    "min_gru",
    "pointer_network",
    "moco_moving",
    "barlow_twins",
    "kan",
    "vq_vae_ema",
    "multi_box",
    "tab_net",
    "gcn",
    "yolo_indexed",
    "sparse_experts",
)
LONGEST = 20.0  # seconds of one processor, to capture and to plan


def case_names(refused: bool) -> list[Any]:
    names = [name for name, case in WRITTEN.items() if (case.refused is not None) == refused]
    return (
        names if refused else [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in names]
    )


@pytest.mark.parametrize("name", case_names(refused=True))
def test_it_is_refused_with_its_line(name: str) -> None:
    case = WRITTEN[name]
    assert case.refused is not None
    module, (example, target) = case.module(), case.example()
    with pytest.raises(pantoum.Error) as caught:
        pantoum.from_torch(module, example, loss=case.loss, target=target)
    assert not case.refused.missing(caught.value, module)


@pytest.mark.parametrize("name", case_names(refused=False))
def test_it_trains_as_in_pytorch(name: str) -> None:
    case = WRITTEN[name]
    example, target = case.example()
    begin = time.process_time()
    model = pantoum.from_torch(case.module(), example, loss=case.loss, target=target)
    pantoum.plan(model, **MODELLED)
    assert time.process_time() - begin < LONGEST
    optimizer = pantoum.Sgd(lr=case.lr, momentum=0.9)
    report = pantoum.check(case.module(), example, case.loss, optimizer, target=target, plan_options=MODELLED)
    assert report.ok, str(report)
    assert case.draws == (not report.gradients), "what draws random numbers is compared operator by operator"
