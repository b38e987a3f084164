"""pantoum.flower: messages in, messages out; the engine itself runs in tests/machines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("flwr", reason="Flower is not installed: pip install '.[flower]'")
import pantoum
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from pantoum import flower

MODEL = Path(__file__).resolve().parents[2] / "examples" / "image-classification" / "model.onnx"
SAMPLES = 24


def plan(context: Context | None = None, ram: str | None = None) -> pantoum.Plan:
    return pantoum.plan(
        pantoum.load_onnx(MODEL, batch=8, lr=0.05), ram, kernels="portable", threads=1, measure="off", effort=1
    )


def data(context: Context) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    draw = np.random.default_rng(int(context.node_config["partition-id"]))
    x = draw.standard_normal((SAMPLES, *plan().batch[0].shape[1:]), np.float32)
    y = draw.integers(0, 4, SAMPLES)
    return (x[:16], y[:16]), (x[16:], y[16:])


def context(ram: Any = None, partition: int = 0, run_ram: Any = None) -> Context:
    node = {"partition-id": partition} | ({"ram": ram} if ram is not None else {})
    run = {"ram": run_ram} if run_ram is not None else {}
    return Context(run_id=1, node_id=7, node_config=node, state=RecordDict(), run_config=run)


def ask(kind: str, arrays: ArrayRecord, of: Context, **config: Any) -> RecordDict:
    message = Message(
        content=RecordDict({"arrays": arrays, "config": ConfigRecord(config)}), message_type=kind, dst_node_id=7
    )
    message.metadata.__dict__.setdefault("_message_id", "1")
    return flower.client_app(plan, data)(message, of).content


def test_no_budget_changes_a_bit() -> None:
    begin = flower.initial_arrays(plan())
    whole = ask("train", begin, context(), **{"local-epochs": 2, "server-round": 1})
    tight = ask(
        "train",
        begin,
        context(ram=f"{int(plan().unplanned_peak_bytes * 0.5)}B"),
        **{"local-epochs": 2, "server-round": 1},
    )
    assert list(whole["arrays"]) == list(tight["arrays"]) == list(begin)
    for name in begin:
        assert whole["arrays"][name].numpy().tobytes() == tight["arrays"][name].numpy().tobytes(), name
    assert any(whole["arrays"][name].numpy().tobytes() != begin[name].numpy().tobytes() for name in begin)
    figures = tight["metrics"]
    assert figures["arena-bytes"] <= figures["budget-bytes"] < whole["metrics"]["arena-bytes"]
    assert figures["num-examples"] == 16
    assert figures["train-loss"] > 0


def test_rounds_and_partitions_have_orders_of_their_own() -> None:
    begin = flower.initial_arrays(plan())
    first = ask("train", begin, context(), **{"server-round": 1})["arrays"]
    assert all(
        np.array_equal(a.numpy(), b.numpy())
        for a, b in zip(
            first.values(), ask("train", begin, context(), **{"server-round": 1})["arrays"].values(), strict=True
        )
    )
    assert any(
        not np.array_equal(a.numpy(), b.numpy())
        for a, b in zip(
            first.values(), ask("train", begin, context(), **{"server-round": 2})["arrays"].values(), strict=True
        )
    )


def test_evaluates() -> None:
    figures = ask("evaluate", flower.initial_arrays(plan()), context())["metrics"]
    assert figures["num-examples"] == 8
    assert figures["eval-loss"] > 0
    assert 0 <= figures["eval-accuracy"] <= 1


def test_the_learning_rate_of_a_round() -> None:
    begin = flower.initial_arrays(plan())
    still = ask("train", begin, context(), lr=0.0)["arrays"]
    with pantoum.Trainer(plan()) as trainer:
        trained = {name for name in begin if "running" not in name and "mean" not in name and "var" not in name}
        assert trained
        assert trainer.steps_done == 0
    assert all(np.array_equal(still[name].numpy(), begin[name].numpy()) for name in trained)


@pytest.mark.parametrize(
    ("node", "run", "partition", "wanted"),
    [
        ("24MiB", None, 0, "24MiB"),
        (None, "4MiB 5MiB", 1, "5MiB"),
        (None, "4MiB 5MiB", 9, "5MiB"),
        (None, "", 0, None),
        (None, None, 0, None),
        ("1GiB", "4MiB", 0, "1GiB"),
    ],
)
def test_whose_budget(node: str | None, run: str | None, partition: int, wanted: str | None) -> None:
    assert flower.ram_of(context(node, partition, run)) == wanted


def test_a_budget_without_a_unit_is_refused() -> None:
    with pytest.raises(pantoum.UsageError) as told:
        flower.ram_of(context(24))
    assert told.value.code == "E0110"
    assert "MiB" in told.value.help
    with pytest.raises(pantoum.Error):
        ask("train", flower.initial_arrays(plan()), context("24"))


def test_a_budget_that_is_too_small_says_the_least() -> None:
    with pytest.raises(pantoum.Infeasible) as told:
        ask("train", flower.initial_arrays(plan()), context("64KiB"))
    assert told.value.min_ram is not None


def test_arrays_of_another_model_are_refused() -> None:
    begin = flower.initial_arrays(plan())
    names = list(begin)
    renamed = ArrayRecord({("other" if name == names[0] else name): begin[name] for name in names})
    with pytest.raises(pantoum.UsageError) as told:
        ask("train", renamed, context())
    assert told.value.code == "E0104"
    assert len(told.value.notes) == 2
    shaped = ArrayRecord(
        {name: (Array(np.zeros((1, 2, 3), np.float32)) if name == names[0] else begin[name]) for name in names}
    )
    with pytest.raises(pantoum.InvalidInput) as refused:
        ask("train", shaped, context())
    assert refused.value.code == "E0262"


@pytest.mark.parametrize("kind", ["i8", "c8", "U3"])
def test_arrays_of_another_type_are_refused(kind: str) -> None:
    begin = flower.initial_arrays(plan())
    first = next(iter(begin))
    other = ArrayRecord({name: Array(begin[name].numpy().astype(kind if name == first else "f4")) for name in begin})
    with pytest.raises(pantoum.InvalidInput) as refused:
        ask("train", other, context())
    assert (refused.value.code, refused.value.where) == ("E0262", first)


def test_a_message_without_arrays_says_so() -> None:
    begin = flower.initial_arrays(plan())
    damaged = ArrayRecord({name: Array("float32", (1, 2), "numpy.ndarray", b"junk") for name in begin})
    with pytest.raises(pantoum.InvalidInput, match="cannot be read"):
        ask("train", damaged, context())
    message = Message(content=RecordDict({"weights": begin}), message_type="train", dst_node_id=7)
    message.metadata.__dict__.setdefault("_message_id", "1")
    with pytest.raises(pantoum.UsageError, match="no record 'arrays'"):
        flower.client_app(plan, data)(message, context())


def test_sums_are_in_the_order_of_partitions() -> None:
    class Reply:
        def __init__(self, partition: int | None) -> None:
            self.partition = partition
            self.content = RecordDict({"metrics": MetricRecord({"partition-id": partition or 0, "num-examples": 1})})

        def has_error(self) -> bool:
            return self.partition is None

    replies = [Reply(3), Reply(None), Reply(1), Reply(10), Reply(2)]
    assert [reply.partition for reply in flower.in_order(replies)] == [1, 2, 3, 10, None]
