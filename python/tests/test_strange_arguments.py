"""Arguments of another kind: refused with a name, never with the words of the binding, and never taken in part."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pantoum
import pytest
from samples import BATCH, MODELLED, SPIRALS, Floats, Labels

Batch = tuple[Floats, Labels]

PATHS: list[Callable[[pantoum.Model, pantoum.Plan, pantoum.Trainer, Any], object]] = [
    lambda model, plan, trainer, path: pantoum.load_onnx(path),
    lambda model, plan, trainer, path: pantoum.load_plan(path),
    lambda model, plan, trainer, path: pantoum.load_plan(path, model),
    lambda model, plan, trainer, path: pantoum.load_onnx(SPIRALS, batch=4, weights=path),
    lambda model, plan, trainer, path: model.save(path),
    lambda model, plan, trainer, path: plan.save(path),
    lambda model, plan, trainer, path: plan.report(path),
    lambda model, plan, trainer, path: trainer.save(path),
    lambda model, plan, trainer, path: trainer.resume(path),
    lambda model, plan, trainer, path: pantoum.Trainer(plan, page_file=path),
    lambda model, plan, trainer, path: pantoum.Dataset.open(path, plan),
    lambda model, plan, trainer, path: pantoum.emit(plan, path, target="cortex-m4f"),
]


@pytest.mark.parametrize("path", ["begin\0end", b"begin\0end", "\ud800", 3])
@pytest.mark.parametrize("call", PATHS)
def test_what_no_file_can_be_called_is_refused(
    call: Callable[..., object],
    path: Any,
    model: pantoum.Model,
    plan: pantoum.Plan,
    trainer: pantoum.Trainer,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(pantoum.UsageError, match="no path") as raised:
        call(model, plan, trainer, path)
    assert raised.value.code == "E0116"
    assert list(tmp_path.iterdir()) == []


CALLS: dict[str, tuple[str, Callable[[pantoum.Model, pantoum.Plan, Batch], object]]] = {
    "device of None": ("E0116", lambda model, plan, data: pantoum.plan(model, ram="1MiB", device=None)),  # type: ignore[arg-type]
    "device's name": ("E0116", lambda model, plan, data: pantoum.devices("\ud800")),
    "ram": ("E0116", lambda model, plan, data: pantoum.plan(model, ram="\ud800")),
    "rows": ("E0116", lambda model, plan, data: pantoum.estimate(model, budgets=1.5)),  # type: ignore[arg-type]
    "plan's options": ("E0100", lambda model, plan, data: pantoum.estimate(model, plan={"bogus": 1})),
    "ram beside budgets": ("E0116", lambda model, plan, data: pantoum.estimate(model, plan={"ram": "1MiB"})),
    "budgets": ("E0116", lambda model, plan, data: pantoum.sweep(model, 3)),  # type: ignore[arg-type]
    "planners": ("E0116", lambda model, plan, data: pantoum.sweep(model, ["1MiB"], planners=3)),  # type: ignore[arg-type]
    "effort": ("E0116", lambda model, plan, data: plan.explain("much")),  # type: ignore[arg-type]
    "groups": ("E0115", lambda model, plan, data: model.with_options(groups={"*": "a"})),
    "a group's decay": ("E0116", lambda model, plan, data: model.with_options(groups=pantoum.Group("*", 1.0, "a"))),  # type: ignore[arg-type]
    "a group": ("E0116", lambda model, plan, data: pantoum.Trainer(plan).set_group("a", lr=0.1)),  # type: ignore[arg-type]
    "a group's rate": ("E0116", lambda model, plan, data: pantoum.Trainer(plan).set_group(0, lr="a")),  # type: ignore[arg-type]
    "globs": ("E0116", lambda model, plan, data: model.with_options(freeze=3)),
    "a loss of torch's kind": ("E0115", lambda model, plan, data: model.with_options(loss=lambda x, y: x)),
    "contents": ("E0116", lambda model, plan, data: pantoum.Model.from_bytes(3)),  # type: ignore[arg-type]
    "a data set's plan": ("E0116", lambda model, plan, data: pantoum.Dataset.from_arrays(3, *data)),  # type: ignore[arg-type]
    "a graph": ("E0220", lambda model, plan, data: pantoum.plan_cost_graph({"a": object()}, ram="1MiB")),
    "states": ("E0116", lambda model, plan, data: pantoum.custom_optimizer("a::B", print, states=[3])),  # type: ignore[list-item]
    "normalization": ("E0120", lambda model, plan, data: pantoum.Trainer(plan, normalize=3)),  # type: ignore[arg-type]
    "callbacks": ("E0116", lambda model, plan, data: pantoum.Trainer(plan).fit(data, callbacks=[3])),  # type: ignore[list-item]
    "a tensor's name": ("E0116", lambda model, plan, data: pantoum.Trainer(plan).tensor("\ud800")),
    "more than all": ("E0110", lambda model, plan, data: pantoum.plan(model, ram=pantoum.Bytes(2**70))),
    "a state": ("E0116", lambda model, plan, data: pantoum.Trainer(plan).load_state_dict(3)),  # type: ignore[arg-type]
    "a state's names": ("E0262", lambda model, plan, data: pantoum.Trainer(plan).load_state_dict({1: 2})),  # type: ignore[dict-item]
    "a rate": ("E0116", lambda model, plan, data: pantoum.Trainer(plan).set_learning_rate("a")),  # type: ignore[arg-type]
    "sizes": ("E0110", lambda model, plan, data: pantoum.MiB(float("nan"))),
    "sizes below nothing": ("E0110", lambda model, plan, data: pantoum.MiB(-1)),
    "sizes beyond all": ("E0110", lambda model, plan, data: pantoum.GiB(1e30)),
    "sizes of many digits": ("E0110", lambda model, plan, data: pantoum.KiB(1 << 53)),
    "sizes of None": ("E0110", lambda model, plan, data: pantoum.GiB(None)),  # type: ignore[arg-type]
    "a setting of the plan": ("E0100", lambda model, plan, data: pantoum.compile(model, effort=20)),
    "a setting of the trainer": ("E0100", lambda model, plan, data: pantoum.compile(model, seed=20)),
    "options of a plan": ("E0116", lambda model, plan, data: pantoum.compile(model, plan_options=3)),  # type: ignore[call-overload]
    "options of a trainer": ("E0116", lambda model, plan, data: pantoum.compile(model, trainer_options={3: 4})),  # type: ignore[dict-item]
    "options of an estimate": ("E0116", lambda model, plan, data: pantoum.estimate(model, plan=3)),  # type: ignore[arg-type]
    "batches of numbers": ("E0262", lambda model, plan, data: pantoum.Trainer(plan).fit(iter([1, 2]))),
}


@pytest.mark.parametrize("what", CALLS)
def test_a_refusal_names_what_was_given(what: str, model: pantoum.Model, plan: pantoum.Plan, data: Batch) -> None:
    code, call = CALLS[what]
    with pytest.raises(pantoum.Error) as raised:
        call(model, plan, data)
    assert raised.value.code == code
    assert "incompatible function arguments" not in str(raised.value)


@pytest.mark.parametrize("option", [{"steps_per_epoch": 0}, {"steps_per_epoch": "a"}, {"checkpoint_every": -1}])
def test_counts_of_an_iterable_are_checked(trainer: pantoum.Trainer, batch: Batch, option: dict[str, Any]) -> None:
    with pytest.raises(pantoum.UsageError, match=next(iter(option))):
        trainer.fit([batch], **option)
    assert trainer.steps_done == 0


def test_one_name_and_one_function_are_lists_of_one(
    model: pantoum.Model, trainer: pantoum.Trainer, data: Batch
) -> None:
    assert [row.planner for row in pantoum.sweep(model, ["64KiB"], planners="keep", **MODELLED)] == ["keep"]
    seen: list[int] = []
    trainer.fit(data, epochs=int(np.int64(2)), callbacks=lambda epoch, logs: seen.append(epoch))
    trainer.fit(data, epochs=np.int64(1))
    assert seen == [0, 1]


def test_masked_samples_are_refused(trainer: pantoum.Trainer, batch: Batch) -> None:
    x, y = batch
    with pytest.raises(pantoum.InvalidInput, match="masked"):
        trainer.step(np.ma.masked_array(x, x > 0), y)
    assert trainer.step(np.ma.masked_array(x), y) > 0


def test_tensors_of_torch_without_memory_are_refused(trainer: pantoum.Trainer, batch: Batch) -> None:
    torch = pytest.importorskip("torch")
    fake_tensors = pytest.importorskip("torch._subclasses.fake_tensor")
    with fake_tensors.FakeTensorMode():
        fake = torch.zeros(BATCH, 2)
    for nothing in (fake, torch.zeros(BATCH, 2, device="meta"), torch.zeros(BATCH, 2).to_sparse()):
        with pytest.raises(pantoum.InvalidInput, match="no array of numbers"):
            trainer.step(nothing, batch[1])
    assert trainer.steps_done == 0
