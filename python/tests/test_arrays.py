"""What a step takes: types, shapes, strides, byte orders, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pantoum
import pytest
from samples import BATCH, IMAGES, MODELLED, RECOMMENDER, Floats, Labels

Batch = tuple[Floats, Labels]


def loss_of(plan: pantoum.Plan, *batch: Any) -> float:
    with pantoum.Trainer(plan) as trainer:
        return trainer.step(*batch)


@pytest.fixture(scope="module")
def expected(plan: pantoum.Plan, data: Batch) -> float:
    return loss_of(plan, data[0][:BATCH], data[1][:BATCH])


class Dlpack:
    """An array of another library."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


class Failing:
    """An array of another library that cannot be read."""

    shape, dtype, ndim = (BATCH, 2), np.dtype(np.float32), 2

    def __init__(self, failure: Any) -> None:
        self.failure = failure

    def __dlpack__(self, **options: Any) -> Any:
        if isinstance(self.failure, Exception):
            raise self.failure
        return self.failure

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


class Elsewhere(Dlpack):
    """It says that its memory is a GPU's."""

    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("cannot be exported to the CPU")

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0


@pytest.mark.parametrize(
    "form",
    [
        *(Failing(each) for each in (ValueError("gone"), BufferError("gone"), KeyError("gone"), ZeroDivisionError())),
        *(Failing(each) for each in (None, 3, "text")),
        Elsewhere(np.ones((BATCH, 2), np.float32)),
    ],
)
def test_an_array_that_cannot_be_read_is_refused_with_its_reason(plan: pantoum.Plan, batch: Batch, form: Any) -> None:
    with pytest.raises(pantoum.InvalidInput) as error:
        loss_of(plan, form, batch[1])
    assert error.value.code == "E0262"
    assert "'point' is no array of numbers: " in str(error.value)
    reason = getattr(form, "failure", None)
    assert not isinstance(reason, Exception) or type(reason).__name__ in str(error.value)


def test_an_array_of_another_shape_than_it_says_is_taken_as_it_is(plan: pantoum.Plan, batch: Batch) -> None:
    with pytest.raises(pantoum.InvalidInput, match="has shape"):
        loss_of(plan, Failing(np.ones((3, 7), np.float32).__dlpack__()), batch[1])


def read_only(array: Any) -> Any:
    array.setflags(write=False)
    return array


def strided(array: Any) -> Any:
    return np.repeat(array, 2, axis=0)[::2]


def fortran(array: Any) -> Any:
    return np.asfortranarray(array)


def big_endian(array: Any) -> Any:
    return array.astype(array.dtype.newbyteorder(">"))


def unaligned(array: Any) -> Any:
    bytes_ = np.empty(array.nbytes + 1, np.uint8)
    made = bytes_[1:].view(array.dtype).reshape(array.shape)
    made[...] = array
    return made


@pytest.mark.parametrize(
    "form", [read_only, strided, fortran, big_endian, unaligned, Dlpack, np.ndarray.tolist, memoryview]
)
def test_every_form_of_the_same_numbers(plan: pantoum.Plan, batch: Batch, expected: float, form: Any) -> None:
    assert loss_of(plan, form(batch[0]), form(batch[1])) == expected if form is not np.ndarray.tolist else True


def test_other_floats_and_narrower_integers_are_converted(plan: pantoum.Plan, batch: Batch, expected: float) -> None:
    x, y = batch
    assert loss_of(plan, x.astype(np.float64), y.astype(np.int32)) == expected
    assert loss_of(plan, x, y.astype(np.uint8)) == expected
    assert loss_of(plan, x.astype(np.float16), y.astype(np.int8)) == pytest.approx(expected, rel=1e-2)


def test_names_and_nesting(plan: pantoum.Plan, batch: Batch, expected: float) -> None:
    x, y = batch
    assert loss_of(plan, {"point": x, "label": y}) == expected
    with pytest.raises(pantoum.InvalidInput, match="unknown: image") as error:
        loss_of(plan, {"image": x, "label": y})
    assert "missing: point" in str(error.value)


def test_two_inputs_in_every_nesting() -> None:
    model = pantoum.load_onnx(RECOMMENDER, batch=4, loss="mse")
    plan = pantoum.plan(model, ram="1MiB", **MODELLED)
    user, item, rating = np.arange(4), np.arange(4) + 1, np.ones(plan.batch[2].shape, np.float32)
    losses = {
        loss_of(plan, user, item, rating),
        loss_of(plan, (user, item), rating),
        loss_of(plan, [user, item], rating),
    }
    losses.add(loss_of(plan, {"user": user, "item": item}, rating))
    assert len(losses) == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda x, y: (x[:8], y[:8]), "8 samples for a step of 16"),
        (lambda x, y: (x[:8], y), "samples"),
        (lambda x, y: (x[:0], y[:0]), "0 samples"),
        (lambda x, y: (x.T, y), r"shape \[N, 2\]"),
        (lambda x, y: (x.reshape(-1), y), r"shape \[N, 2\]"),
        (lambda x, y: (x, y[:, None, None]), r"shape \[N\]"),
        (lambda x, y: (x, np.eye(3, dtype=np.int64)[y % 3]), r"these labels are one-hot: array.argmax\(1\)"),
        (lambda x, y: (x[0], y), r"one sample: give array\[None\]"),
        (lambda x, y: (x, y.astype(np.float64)), r"convert it: .astype\(numpy.int64\)$"),
        (lambda x, y: (x, y.astype(np.float32)), "'label' is i64"),
        (lambda x, y: (x.astype(np.int64), y), "'point' is f32"),
        (lambda x, y: (x.astype(np.complex64), y), "'point' is f32"),
        (lambda x, y: (x > 0, y), "'point' is f32"),
        (lambda x, y: (x.astype(object), y), "'point' is f32"),
        (lambda x, y: (x.astype("U8"), y), "'point' is f32"),
        (lambda x, y: (x, y.astype(np.uint64)), "'label' is i64"),
        (lambda x, y: (x,), "1 arrays for a batch of 2"),
        (lambda x, y: (x, y, y), "3 arrays for a batch of 2"),
        (lambda x, y: (None, y), "point"),
        (lambda x, y: (3.0, y), "point"),
        (lambda x, y: (x, np.full_like(y, 3)), "label"),
        (lambda x, y: ([[1, 2], [3]], y), "no array of numbers"),
    ],
)
def test_what_does_not_fit_changes_nothing(
    plan: pantoum.Plan, batch: Batch, expected: float, change: Any, said: str
) -> None:
    with pantoum.Trainer(plan) as trainer:
        with pytest.raises(pantoum.InvalidInput, match=said) as error:
            trainer.step(*change(*batch))
        assert error.value.code == "E0262"
        assert trainer.steps_done == 0
        assert trainer.step(*batch) == expected


def test_labels_below_zero_do_not_count(plan: pantoum.Plan, batch: Batch) -> None:
    x, y = batch
    y[::2] = -1
    assert np.isfinite(loss_of(plan, x, y))


def test_a_loss_that_is_not_finite(plan: pantoum.Plan, batch: Batch) -> None:
    x, y = batch
    x[3, 1] = np.nan
    with pantoum.Trainer(plan) as trainer, pytest.raises(pantoum.InvalidInput) as error:
        trainer.step(x, y)
    assert error.value.code == "E0701"
    assert "'point' of sample 3 of the batch is not finite" in str(error.value)


def test_arrays_are_not_copied_on_the_way(batch: Batch, plan: pantoum.Plan) -> None:
    from pantoum.data import arrays_of

    ready = arrays_of(batch, plan.batch)
    assert all(np.shares_memory(given, taken) for given, taken in zip(batch, ready, strict=True))
    ready = arrays_of((Dlpack(batch[0]), batch[1]), plan.batch)
    assert np.shares_memory(ready[0], batch[0])


def test_torch_tensors(plan: pantoum.Plan, batch: Batch, expected: float) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed here")
    x, y = torch.from_numpy(batch[0]), torch.from_numpy(batch[1])
    assert loss_of(plan, x, y) == expected
    assert loss_of(plan, x.double().requires_grad_(), y.int()) == expected
    assert loss_of(plan, x.t().contiguous().t(), y) == expected
    assert loss_of(plan, x.bfloat16(), y) == pytest.approx(expected, rel=0.1)
    with pytest.raises(pantoum.InvalidInput):
        loss_of(plan, x.to_sparse(), y)


def test_labels_in_a_column_are_labels(plan: pantoum.Plan, data: tuple[Floats, Labels]) -> None:
    x, y = data
    assert loss_of(plan, x[:BATCH], y[:BATCH, None]) == loss_of(plan, x[:BATCH], y[:BATCH])


def test_pictures_with_their_channels_last_are_told() -> None:
    plan = pantoum.plan(pantoum.load_onnx(IMAGES, batch=4), **MODELLED)
    pictures, labels = np.zeros((4, 28, 28, 1), np.float32), np.zeros(4, np.int64)
    said = r"array.transpose\(0, 3, 1, 2\), or .permute\(0, 3, 1, 2\)"
    with pantoum.Trainer(plan) as trainer, pytest.raises(pantoum.InvalidInput, match=said):
        trainer.step(pictures, labels)


def test_dicts_with_other_keys_name_both(plan: pantoum.Plan, data: tuple[Floats, Labels]) -> None:
    x, y = data
    with pantoum.Trainer(plan) as trainer:
        for form in ({"x": x, "y": y}, [{"x": x[:BATCH], "y": y[:BATCH]}]):
            with pytest.raises(
                pantoum.InvalidInput, match="the batch has the keys x, y, and the plan wants point, label"
            ):
                trainer.fit(form)
