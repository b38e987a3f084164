"""Trainers: tensors, states, checkpoints, closing, leaks."""

from __future__ import annotations

import gc
import pathlib
import pickle
import resource
import sys
import weakref
from typing import Any

import numpy as np
import pantoum
import pytest
from samples import BATCH, MODELLED, Floats, Labels

Batch = tuple[Floats, Labels]


def test_steps_lower_the_loss(trainer: pantoum.Trainer, batch: Batch) -> None:
    losses = [trainer.step(*batch) for _ in range(20)]
    assert losses[-1] < losses[0] / 2
    assert trainer.steps_done == 20
    assert trainer.samples_per_step == BATCH
    assert trainer.usage.steps == 20
    assert trainer.usage.arena_bytes == trainer.plan.arena_bytes


def test_every_budget_gives_the_same_bits(model: pantoum.Model, batch: Batch) -> None:
    states = []
    for ram in ("256KiB", "92KiB"):
        with pantoum.Trainer(
            pantoum.plan(model.with_options(optimizer="adam"), ram=ram, **MODELLED), seed=3
        ) as trainer:
            losses = [trainer.step(*batch) for _ in range(5)]
            states.append((losses, trainer.state_dict(optimizer=True)))
    assert states[0][0] == states[1][0]
    for name, array in states[0][1].items():
        assert np.array_equal(array, states[1][1][name]), name


def test_a_view_is_read_only_and_follows_the_steps(trainer: pantoum.Trainer, batch: Batch) -> None:
    view = trainer.tensor("0.weight")
    assert not view.flags.writeable
    with pytest.raises(ValueError):
        view[0, 0] = 1
    copy = view.copy()
    trainer.step(*batch)
    assert not np.array_equal(copy, trainer.tensor("0.weight"))
    assert np.array_equal(trainer.read("0.weight"), trainer.tensor("0.weight"))
    with pytest.raises(pantoum.UsageError) as error:
        trainer.tensor("weight")
    assert error.value.code == "E0104"


def test_a_view_keeps_its_memory_after_close(plan: pantoum.Plan, batch: Batch) -> None:
    trainer = pantoum.Trainer(plan)
    trainer.step(*batch)
    view = trainer.tensor("2.weight")
    copy = view.copy()
    trainer.close()
    del trainer
    gc.collect()
    assert np.array_equal(view, copy)


def test_tensors_tell_what_they_are(model: pantoum.Model) -> None:
    plan = pantoum.plan(model.with_options(optimizer="adam"), ram="256KiB", **MODELLED)
    with pantoum.Trainer(plan) as trainer:
        states = [tensor.name for tensor in trainer.tensors if tensor.is_state]
        assert any(name.startswith("optim.") for name in states)
        assert set(trainer.state_dict()) & set(states) == set()
        assert set(trainer.state_dict(optimizer=True)) == {tensor.name for tensor in trainer.tensors}


def test_states_are_copies_and_go_back(plan: pantoum.Plan, batch: Batch) -> None:
    with pantoum.Trainer(plan) as first, pantoum.Trainer(plan) as second:
        first.step(*batch)
        state = first.state_dict(optimizer=True)
        first.step(*batch)
        assert not np.array_equal(state["0.weight"], first.read("0.weight"))
        second.load_state_dict(state)
        assert np.array_equal(second.read("0.weight"), state["0.weight"])
        assert second.step(*batch) == pantoum_loss(plan, state, batch)
        second.load_state_dict({"0.bias": np.zeros(64, np.float64)}, strict=False)
        assert not second.read("0.bias").any()


def pantoum_loss(plan: pantoum.Plan, state: dict[str, np.ndarray], batch: Batch) -> float:
    with pantoum.Trainer(plan) as trainer:
        trainer.load_state_dict(state)
        return trainer.step(*batch)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda state: state.pop("0.bias"), "missing: 0.bias"),
        (lambda state: state.update(other=np.zeros(1)), "no such tensor: other"),
        (lambda state: state.update({"0.bias": np.zeros(63, np.float32)}), r"shape \[64\]"),
        (lambda state: state.update({"0.bias": np.zeros(64, np.int64)}), "is f32"),
    ],
)
def test_states_that_do_not_fit_change_nothing(trainer: pantoum.Trainer, change: Any, said: str) -> None:
    state = {name: np.zeros_like(array) for name, array in trainer.state_dict().items()}
    change(state)
    with pytest.raises(pantoum.InvalidInput, match=said):
        trainer.load_state_dict(state)
    assert trainer.read("0.weight").any()


def test_resuming_is_going_on(tmp_path: pathlib.Path, plan: pantoum.Plan, data: Batch) -> None:
    x, y = data
    batches = [(x[at : at + BATCH], y[at : at + BATCH]) for at in range(0, len(x), BATCH)]
    with pantoum.Trainer(plan) as whole:
        losses = [whole.step(*batch) for batch in batches]
        state = whole.state_dict(optimizer=True)
    with pantoum.Trainer(plan) as first:
        assert [first.step(*batch) for batch in batches[:4]] == losses[:4]
        first.save(tmp_path / "c.safetensors")
    with pantoum.Trainer(plan) as second:
        second.resume(tmp_path / "c.safetensors")
        assert second.steps_done == 4
        assert [second.step(*batch) for batch in batches[4:]] == losses[4:]
        for name, array in second.state_dict(optimizer=True).items():
            assert np.array_equal(array, state[name])
    (tmp_path / "bad.safetensors").write_bytes(b"\x10")
    with pantoum.Trainer(plan) as third, pytest.raises(pantoum.InvalidInput):
        third.resume(tmp_path / "bad.safetensors")


def test_a_closed_trainer_says_so(plan: pantoum.Plan, batch: Batch) -> None:
    trainer = pantoum.Trainer(plan)
    assert not trainer.closed
    trainer.close()
    trainer.close()
    assert "closed" in repr(trainer)
    for use in (
        lambda: trainer.step(*batch),
        lambda: trainer.fit(batch),
        lambda: trainer.evaluate(batch),
        lambda: trainer.tensors,
        lambda: trainer.tensor("0.weight"),
        lambda: trainer.state_dict(),
        lambda: trainer.save("never"),
        lambda: trainer.resume("never"),
        lambda: trainer.usage,
        lambda: trainer.steps_done,
        lambda: trainer.set_learning_rate(1),
    ):
        with pytest.raises(pantoum.UsageError, match="closed") as error:
            use()
        assert error.value.code == "E0108"


def test_learning_rates(trainer: pantoum.Trainer, batch: Batch) -> None:
    trainer.set_learning_rate(0)
    before = trainer.state_dict()
    trainer.step(*batch)
    assert all(np.array_equal(array, before[name]) for name, array in trainer.state_dict().items())
    for rate in (-1, float("nan"), float("inf")):
        with pytest.raises(pantoum.UsageError):
            trainer.set_learning_rate(rate)


@pytest.mark.parametrize(
    "options",
    [
        {"lr": -1.0},
        {"schedule": "sometimes"},
        {"normalize": (0, 0)},
        {"normalize": (1, 2, 3)},
        {"augment": {"crop": -1}},
        {"prefetch": 1},
        {"seed": -1},
        {"seed": "x"},
    ],
)
def test_options_that_are_none(plan: pantoum.Plan, options: dict[str, object]) -> None:
    with pytest.raises(pantoum.UsageError):
        pantoum.Trainer(plan, **options)  # type: ignore[arg-type]


def test_paging_keeps_the_values(model: pantoum.Model, batch: Batch, tmp_path: pathlib.Path) -> None:
    plan = pantoum.plan(model, ram="58KiB", **MODELLED)
    with (
        pantoum.Trainer(plan, page_file=tmp_path, page_encryption=False, direct_io=False) as trainer,
        pantoum.Trainer(pantoum.plan(model, ram="1MiB", **MODELLED)) as wide,
    ):
        assert [trainer.step(*batch) for _ in range(3)] == [wide.step(*batch) for _ in range(3)]


def test_trainers_and_data_are_not_pickled(trainer: pantoum.Trainer, plan: pantoum.Plan, batch: Batch) -> None:
    for value in (trainer, pantoum.Dataset.from_arrays(plan, *batch)):
        with pytest.raises(pantoum.UsageError, match="not pickled"):
            pickle.dumps(value)


def test_nothing_leaks_over_hundreds_of_steps(trainer: pantoum.Trainer, batch: Batch) -> None:
    x, y = batch
    for _ in range(50):
        trainer.step(x, y)
    gc.collect()
    counts, blocks = (sys.getrefcount(x), sys.getrefcount(y)), sys.getallocatedblocks()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(400):
        trainer.step(x, y)
        trainer.tensor("0.weight")
    gc.collect()
    assert (sys.getrefcount(x), sys.getrefcount(y)) == counts
    assert sys.getallocatedblocks() - blocks < 100
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 2048  # KiB


def test_garbage_is_collected(plan: pantoum.Plan, batch: Batch) -> None:
    trainer = pantoum.Trainer(plan)
    gone = weakref.ref(trainer)
    trainer.fit(batch, callbacks=[pantoum.Callback()])
    del trainer
    gc.collect()
    assert gone() is None


def test_many_trainers_side_by_side(plan: pantoum.Plan, batch: Batch) -> None:
    trainers = [pantoum.Trainer(plan) for _ in range(5)]
    losses = {tuple(trainer.step(*batch) for _ in range(2)) for trainer in trainers}
    assert len(losses) == 1
    for trainer in trainers:
        trainer.close()


def test_compile_is_load_plan_and_train(model: pantoum.Model, batch: Batch) -> None:
    with pantoum.compile(
        model, ram="256KiB", optimizer=pantoum.Adam(lr=0.01), plan_options=MODELLED, trainer_options={"seed": 4}
    ) as trainer:
        assert trainer.step(*batch) > trainer.step(*batch)
        assert trainer.plan.model is not None
        assert trainer.plan.model.options["optimizer"] == pantoum.Adam(lr=0.01)
    with pytest.raises(pantoum.UsageError, match="no model here"):
        pantoum.compile(object(), ram="1MiB")  # type: ignore[call-overload]
