"""The answers that new users got, and the better ones: rows of the list of issue 43 that Python meets, each by its number there. Those of the command
line are in tests/e2e/answers.py."""

from __future__ import annotations

import functools
import pathlib
import re
import warnings
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pantoum
import pytest
import small_onnx
from pantoum._core import show_bytes

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, Dataset, TensorDataset  # noqa: E402

BATCH = 4
QUICK: dict[str, Any] = {"plan_options": {"measure": "off", "effort": 1, "kernels": "portable"}}
X, Y = torch.linspace(-1, 1, 16 * 3 * 4 * 4).reshape(16, 3, 4, 4), torch.arange(16) % 5


class Net(nn.Module):
    def __init__(self, dropout: float = 0.0, outputs: int = 5) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 2, 3, padding=1)
        self.drop = nn.Dropout(dropout)
        self.fc = nn.Linear(32, outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.drop(self.conv(x).flatten(1))
        made: torch.Tensor = self.fc(x)
        return made


class Samples(Dataset[Any]):
    def __len__(self) -> int:
        return len(X)

    def __getitem__(self, at: int) -> Any:
        return X[at], Y[at]


def compiled(module: Any = None, example: Any = None, **more: Any) -> Any:
    example = (X[:BATCH], Y[:BATCH]) if example is None else example
    given = {"loss": "cross_entropy", "ram": "1MiB", **QUICK, **more}
    return pantoum.compile(module or Net(), example, **given)


@functools.cache
def captured() -> Any:
    """The model that ``compiled()`` captures: what does not ask about capture plans it again, at a twentieth of the time."""
    with compiled() as made:
        return made.plan.model


def planned(**more: Any) -> Any:
    return pantoum.plan(captured(), **{"ram": "1MiB", **QUICK["plan_options"], **more})


def refused(call: Callable[[], Any]) -> str:
    with pytest.raises(pantoum.Error) as caught:
        call()
    return str(caught.value)


def says(text: str, *words: str, never: tuple[str, ...] = ()) -> None:
    for each in words:
        assert re.search(each, text), f"{each!r} is not in\n{text}"
    for each in never:
        assert not re.search(each, text), f"{each!r} is in\n{text}"


@pytest.fixture(scope="module")
def trainer() -> Iterator[Any]:
    with compiled() as made:
        yield made


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A linear classifier of four numbers, as ONNX."""
    path = tmp_path_factory.mktemp("onnx") / "net.onnx"
    path.write_bytes(classifier())
    return path


def classifier() -> bytes:
    weights = small_onnx.tensor("w", np.linspace(-0.1, 0.1, 12, dtype=np.float32).reshape(4, 3))
    x, y = small_onnx.value("x", ["N", 4]), small_onnx.value("y", ["N", 3])
    return small_onnx.model([small_onnx.node("MatMul", ["x", "w"], ["y"])], [weights], [x], [y], [])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_2_values_that_are_not_finite_are_named_and_their_step_afterwards(value: float) -> None:
    spoilt = X.clone()
    spoilt[5, 1, 2, 3] = value
    with pantoum.Trainer(planned()) as trainer:
        says(
            refused(lambda: trainer.fit(spoilt, Y, verbose=0)),
            "sample 5 is (NaN|infinite)",
            "clean the data",
            never=("smaller",),
        )
        again = refused(lambda: trainer.fit(X, Y, verbose=0))
        says(
            again,
            r"step \d+ has spoilt the parameters in RAM",
            "go back to a checkpoint",
            never=("smaller", "sample 5"),
        )


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_3_one_hot_labels(trainer: Any, dtype: torch.dtype) -> None:
    text = refused(lambda: trainer.fit(X, nn.functional.one_hot(Y).to(dtype), verbose=0))
    says(text, r"these labels are one-hot: array\.argmax\(1\), or .*soft_cross_entropy", never=("reshape",))


def test_4_labels_that_are_floats(trainer: Any) -> None:
    says(refused(lambda: trainer.fit(X, Y.float(), verbose=0)), r"\.astype\(numpy\.int64\)", never=("scale",))


@pytest.mark.parametrize("example", [(X[:BATCH], Y[:BATCH]), X[:BATCH], [X[:BATCH].numpy(), Y[:BATCH].numpy()]])
def test_5_a_forgotten_loss_is_asked_for(example: Any) -> None:
    text = refused(lambda: pantoum.compile(Net(), example, ram="1MiB", **QUICK))
    says(text, "no loss is given", 'help: loss="cross_entropy"', never=("TypeError", "conv2d"))


def test_6_a_batch_that_is_left_open_is_warned_of(small: pathlib.Path) -> None:
    with pytest.warns(UserWarning, match="leaves its batch open"):
        pantoum.plan(pantoum.load_onnx(small), "64KiB", measure="off", effort=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pantoum.plan(pantoum.load_onnx(small, batch=4), "64KiB", measure="off", effort=1)


def test_8_a_checkpoint_of_another_model_or_optimizer(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "w.safetensors"
    with pantoum.Trainer(planned()) as trainer:
        trainer.step(X[:BATCH], Y[:BATCH])
        trainer.save(path)
    for module, example, optimizer, words in (
        (Net(outputs=7), None, "sgd", "of another model.*fc.weight"),
        (Net(outputs=7), (X[:2], Y[:2]), "sgd", "of another model"),
        (None, None, "adam", "of another optimizer.*adam_m, adam_v"),
        (None, None, pantoum.Sgd(momentum=0.9), "of another optimizer.*momentum"),
        (None, (X[:2], Y[:2]), "sgd", "batches of 4, this run has 2"),
    ):
        with compiled(module, example, optimizer=optimizer) as other:
            says(re.sub(r"\n\s*", " ", refused(lambda: other.resume(path))), words, never=("data set",))


def test_9_a_plan_of_another_step_names_what_differs(small: pathlib.Path, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "plan.json"
    load = lambda **more: pantoum.load_onnx(small, **{"batch": 4, "optimizer": "sgd", **more})  # noqa: E731
    pantoum.plan(load(), "64KiB", measure="off", effort=1).save(path)
    for options, words in (
        ({"batch": 256}, "batch is 256 here, and the plan was made with 4"),
        ({"optimizer": "adam"}, "optimizer is adam here, and the plan was made with sgd"),
        ({"loss": "mse"}, "loss is mse here, and the plan was made with cross_entropy"),
    ):
        says(refused(lambda: pantoum.Plan.load(path, load(**options))), words)  # noqa: B023
    assert pantoum.Plan.load(path).samples_per_step == 4


def of_compiled(ram: Any) -> Any:
    with compiled(ram=ram) as made:
        return made.plan


@pytest.mark.parametrize(
    ("make", "ram", "unit"),
    [(of_compiled, "1KiB", "KiB"), (planned, "1KiB", "KiB"), (planned, "1kB", "kB"), (planned, pantoum.KiB(1), "KiB")],
)
def test_10_sizes_are_in_the_unit_of_the_user(make: Callable[..., Any], ram: Any, unit: str) -> None:
    with pytest.raises(pantoum.Infeasible) as caught:
        make(ram=ram)
    says(
        str(caught.value),
        rf"[\d.]+ {unit} is too little: the least known is [\d.]+ {unit}; below [\d.]+ {unit} nothing fits",
    )
    least = re.search(r"the least known is ([\d.]+) (\w+)", str(caught.value))
    assert least is not None
    assert make(ram="".join(least.groups())).peak_bytes <= (caught.value.min_ram or 0)


def test_11_12_shares_and_bare_numbers_are_no_budgets() -> None:
    whole = planned().unplanned_peak_bytes
    unplanned, half = show_bytes(whole), show_bytes(whole // 2)
    advice = re.escape(f"the unplanned step takes {unplanned}: 50% of it is {half}")
    swept = lambda ram: pantoum.sweep(captured(), ram, **QUICK["plan_options"])  # noqa: E731
    for make in (lambda ram: compiled(ram=ram), lambda ram: planned(ram=ram), swept, lambda ram: swept(["1MiB", ram])):
        says(refused(lambda: make("50%")), "'50%' is a share, and no number of bytes", advice, never=("unit",))  # noqa: B023
    for make in (lambda ram: planned(ram=ram), lambda ram: swept([ram])):
        says(refused(lambda: make(" 12.5 %")), "is a share", r": 12\.5% of it is ", never=("unit",))  # noqa: B023
        for share in (0.5, "0.5"):
            says(refused(lambda: make(share)), "'0.5' has no unit", advice, never=("KiB or", "0.5B"))  # noqa: B023
        says(
            refused(lambda: make(4194304)),  # noqa: B023
            r'did you mean "4194304B"\? It is 4\.00 MiB: pantoum\.MiB\(4\)',
            never=("4194304MiB",),
        )
        says(refused(lambda: make(1e6)), "1000000", never=("1000000MiB",))  # noqa: B023
        for ram, words in (
            ("0", "as in 64KiB"),
            ("", "is no quantity"),
            ("-4MiB", "is below 0"),
            ("1e30GiB", "too large"),
        ):
            says(refused(lambda: make(ram)), words)  # noqa: B023
    for ram, words in (("2MiB,4MiB", "are several budgets"), ("auto", "leave ram out, and the usual RAM")):
        says(refused(lambda: planned(ram=ram)), words)  # noqa: B023


def test_13_what_is_there_is_told(small: pathlib.Path, tmp_path: pathlib.Path) -> None:
    plan = pantoum.plan(pantoum.load_onnx(small, batch=4), "64KiB", measure="off", effort=1)
    np.save(tmp_path / "X.npy", np.zeros((8, 4), np.float32))
    np.save(tmp_path / "y.npy", np.zeros(8, np.int64))
    text = refused(lambda: pantoum.Dataset.open(tmp_path, plan))
    says(
        text,
        r"the folder has X\.npy, y\.npy",
        r"mv \S+/X\.npy \S+/x_train\.npy; mv \S+/y\.npy \S+/y_train\.npy",
        never=("looked for",),
    )
    np.savez(tmp_path / "all.npz", data=np.zeros((8, 4), np.float32), target=np.zeros(8, np.int64))
    text = refused(lambda: pantoum.Dataset.open(tmp_path / "all.npz", plan))
    says(text, "the file has the arrays data, target", r"x_train=z\['data'\], y_train=z\['target'\]")


def test_14_a_generator_that_ends_early_is_warned_of(trainer: Any) -> None:
    batches = ((X[at : at + BATCH], Y[at : at + BATCH]) for at in range(0, 16, BATCH))
    with pytest.warns(UserWarning, match="ended after 1 of 2 epochs: a generator can be gone through once"):
        assert trainer.fit(batches, epochs=2, verbose=0).stopped


def test_15_progress_says_something_without_tqdm(trainer: Any, capfd: pytest.CaptureFixture[str]) -> None:
    trainer.fit(X, Y, epochs=2, verbose=1)
    said = capfd.readouterr()
    says(said.out + said.err, "loss")


def test_18_a_dict_without_the_inputs_is_refused_by_its_own_keys(trainer: Any) -> None:
    for batch, keys in (({"a": X}, "a"), ({"data": X, "label": Y}, "data, label"), ({}, "none")):
        text = refused(lambda: trainer.predict(batch))  # noqa: B023
        says(text, f"has the keys {keys}, and the outputs are made of x\n", "help: name them x")
    assert trainer.predict({"x": X, "label": Y, "index": Y}).shape == (16, 5)


def test_16_17_18_batches_of_other_forms(trainer: Any) -> None:
    text = refused(lambda: trainer.fit(DataLoader(TensorDataset(X, Y), batch_size=8), verbose=0))
    says(text, r"a batch of 8 samples, and the plan's batch is 4", r"DataLoader\(\.\., batch_size=4\)", r"batch=8")
    assert trainer.fit(TensorDataset(X, Y), verbose=0).ran == 4
    says(refused(lambda: trainer.fit(Samples(), verbose=0)), r"wrap it: torch\.utils\.data\.DataLoader\(")
    named = [
        {"x": X[:BATCH], "label": Y[:BATCH]},
        {"label": Y[:BATCH], "x": X[:BATCH]},
        {"x": X[:BATCH], "y": Y[:BATCH]},
    ]
    assert len({trainer.evaluate(batch)["loss"] for batch in named[:2]}) == 1
    for batch in named:
        trainer.step(batch)
    says(
        refused(lambda: trainer.step({"x": X[:BATCH], "y": Y[:BATCH], "index": Y[:BATCH]})),
        "the keys x, label are wanted; got x, y, index",
    )


@pytest.mark.parametrize("loss", [None, "cross_entropy"])
def test_19_a_dict_with_keys_of_another_forward(loss: str | None) -> None:
    example = {"pixel_values": X[:BATCH], "labels": Y[:BATCH]}
    text = refused(lambda: pantoum.compile(Net(), example, loss=loss, ram="1MiB", **QUICK))
    says(text, "the keys pixel_values, labels were wanted as x", r"forward\(", never=("TypeError", "conv2d"))


def test_20_files_of_other_frameworks(tmp_path: pathlib.Path) -> None:
    torch.save(Net().state_dict(), tmp_path / "net.pt")
    (tmp_path / "net.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(64))
    with zipfile.ZipFile(tmp_path / "net.keras", "w") as file:
        file.writestr("model.weights.h5", b"0")
    for name, what, how in (
        ("net.pt", "a PyTorch checkpoint", r"pantoum\.compile"),
        ("net.h5", "an HDF5 file, as Keras writes", "tf2onnx"),
        ("net.keras", "a Keras model", "tf2onnx"),
    ):
        for call in (pantoum.load_onnx, pantoum.inspect, pantoum.compile):
            says(refused(lambda: call(tmp_path / name)), f"'[^']*{name}' is {what}, not an ONNX model", how)  # noqa: B023


def test_21_a_folder_that_is_missing(trainer: Any, tmp_path: pathlib.Path) -> None:
    says(refused(lambda: trainer.save(tmp_path / "none" / "w.safetensors")), "mkdir -p", never=("free some space",))


def test_22_labels_in_a_column_and_channels_last(trainer: Any) -> None:
    trainer.fit(X, Y[:, None], verbose=0)
    says(
        refused(lambda: trainer.fit(X.permute(0, 2, 3, 1), Y, verbose=0)),
        r"channels last: array\.transpose\(0, 3, 1, 2\)",
    )


@pytest.mark.parametrize(
    ("loss", "target", "words"),
    [
        *[
            (loss, Y[:BATCH], r"compares with floats, and the labels are int64.*cross_entropy.*y\.float\(\)")
            for loss in ("mse", "l1", "smooth_l1")
        ],
        ("bce_with_logits", torch.zeros(BATCH, 5, dtype=torch.bool), "the labels are bool"),
        (
            "cross_entropy",
            Y[:BATCH].float(),
            r"takes numbers of classes, and the labels are float32.*y\.long\(\).*soft_cross_entropy",
        ),
        ("nll", torch.zeros(BATCH, 5), "takes numbers of classes"),
    ],
)
def test_23_labels_of_another_loss_are_refused_when_the_module_is_compiled(
    loss: str, target: torch.Tensor, words: str
) -> None:
    says(refused(lambda: compiled(example=(X[:BATCH], target), loss=loss)).replace("\n", " "), words)


def test_24_a_module_in_evaluation_mode_is_warned_of() -> None:
    with pytest.warns(UserWarning, match=r"evaluation mode.*module\.train\(\)"):
        compiled(Net(0.5).eval())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled(Net(0.5))


def test_25_check_says_what_was_compared_and_what_not() -> None:
    report = pantoum.check(Net(0.5), (X[:BATCH], Y[:BATCH]), loss="cross_entropy", plan_options=QUICK["plan_options"])
    text = str(report)
    says(text, r"the step was not compared; \d+ operators, each alone, have PyTorch's values and gradients", "native_dropout draws random numbers",
         "loss, gradients and optimizer steps of the whole were not compared", r"compiled and run as a step of its own: [\d.]+ s", never=(r"\bequal\b",))  # fmt: skip
    assert report
    assert report.operators > 0
    whole = str(pantoum.check(Net(), (X[:BATCH], Y[:BATCH]), loss="cross_entropy", plan_options=QUICK["plan_options"]))
    says(whole, "equal to PyTorch in loss, gradients and 5 steps")


def test_26_a_column_that_counts_rows_is_warned_of(small: pathlib.Path, tmp_path: pathlib.Path) -> None:
    plan = pantoum.plan(pantoum.load_onnx(small, batch=4), "64KiB", measure="off", effort=1)
    table = tmp_path / "table.csv"
    table.write_text("id,a,b,c,label\n" + "".join(f"{at},{at % 3},{at % 5},{at % 7},{at % 3}\n" for at in range(20)))
    with pytest.warns(UserWarning, match="the column 'id' of .* counts up by one"):
        pantoum.Dataset.open(table, plan)


def test_30_names_of_other_frameworks() -> None:
    says(refused(lambda: compiled(optimizer="lion")), "adamw is the nearest", "use one of")
    says(refused(lambda: compiled(loss="hinge")), "use one of", "function of output and target")
    says(refused(lambda: pantoum.Loss("mae") and compiled(loss=pantoum.Loss("mae"))), "the mean absolute error is l1")
    says(
        refused(lambda: pantoum.plan(pantoum.Model.from_bytes(classifier(), batch=4), device="esp32")),
        "copy the one of m7",
    )


def test_31_a_share_of_the_samples_is_held_out() -> None:
    trainer = compiled()
    history = trainer.fit(X, Y, validation_split=0.25, verbose=0)
    assert history.ran == 3
    assert {"val_loss", "val_accuracy"} <= set(history.history)
    held = pantoum.Dataset.from_arrays(trainer.plan, X, Y).hold_out(0.25)
    assert [len(part) for part in held] == [12, 4]
    assert trainer.evaluate(held[1])["samples"] == 4
    text = refused(lambda: trainer.fit(DataLoader(TensorDataset(X, Y), batch_size=4), validation_split=0.25, verbose=0))
    says(text, "batches of an iterable cannot be held out")
    says(
        refused(lambda: trainer.fit(X, Y, validation_split=0.25, validation_data=(X, Y), verbose=0)),
        "leave one of them out",
    )
    for share in (1.5, -0.1):
        says(refused(lambda: trainer.fit(X, Y, validation_split=share, verbose=0)), "between 0 and 1")  # noqa: B023


def test_34_names_of_keras(trainer: Any) -> None:
    history = trainer.fit(X, Y, batch_size=4, validation_data=(X, Y), verbose=0)
    assert "val_loss" in history.history
    says(refused(lambda: trainer.fit(X, Y, batch_size=8, verbose=0)), "the plan's batch is 4", "batch=8")
