"""Epochs: data of every kind, callbacks, history, checkpoints."""

from __future__ import annotations

import contextlib
import io
import pathlib
import re
import signal
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pantoum
import pytest
from samples import BATCH, Floats, Labels

Data = tuple[Floats, Labels]


def batches_of(data: Data, size: int = BATCH) -> list[Data]:
    x, y = data
    return [(x[at : at + size], y[at : at + size]) for at in range(0, len(x), size)]


def test_arrays_in_every_form_are_the_same_training(plan: pantoum.Plan, data: Data) -> None:
    x, y = data
    forms: list[tuple[Any, ...]] = [
        ((x, y),),
        ([x, y],),
        (x, y),
        ({"label": y, "point": x},),
        (pantoum.Dataset.from_arrays(plan, x, y),),
    ]
    seen = set()
    for form in forms:
        with pantoum.Trainer(plan, seed=5) as trainer:
            history = trainer.fit(*form, epochs=2)
            assert (history.epoch, history.steps, history.ran) == ([0, 1], 20, 20)
            seen.add(tuple(history.history["loss"]))
    assert len(seen) == 1


def test_lists_of_numbers_and_one_callback(plan: pantoum.Plan, data: Data) -> None:
    x, y = data
    seen = Recorder()
    with pantoum.Trainer(plan) as trainer, pantoum.Trainer(plan) as other:
        assert trainer.fit((x.tolist(), y.tolist()), callbacks=seen).history == other.fit((x, y)).history
        assert seen.calls[-1] == "end ['loss']"
        assert trainer.evaluate(x.tolist(), y.tolist()) == other.evaluate(x, y)
        with pytest.raises(pantoum.UsageError):
            trainer.fit(data, epochs=1.5)  # type: ignore[arg-type]


def test_batches_of_every_kind_are_the_same_training(plan: pantoum.Plan, data: Data) -> None:
    class Loader:
        """As torch's DataLoader: gone through again for each epoch."""

        def __iter__(self) -> Iterator[list[Any]]:
            yield from ([x, y] for x, y in batches_of(data))

    def generate() -> Iterator[dict[str, Any]]:
        for _ in range(2):
            for x, y in batches_of(data):
                yield {"point": x, "label": y}

    seen = set()
    for form, options in ((batches_of(data), {}), (Loader(), {}), (generate(), {"steps_per_epoch": 10})):
        with pantoum.Trainer(plan) as trainer:
            history = trainer.fit(form, epochs=2, **options)  # type: ignore[arg-type]
            assert (history.epoch, history.steps) == ([0, 1], 20)
            seen.add(tuple(history.history["loss"]))
    assert len(seen) == 1


def test_a_generator_ends_and_says_so(plan: pantoum.Plan, data: Data) -> None:
    with pantoum.Trainer(plan) as trainer, pytest.warns(UserWarning, match="after 1 of 3 epochs: a generator") as told:
        history = trainer.fit((batch for batch in batches_of(data)), epochs=3)
    assert history.epoch == [0]
    assert history.stopped
    assert told[0].filename == __file__


def test_short_last_batches_are_left_out_and_others_refused(plan: pantoum.Plan, data: Data) -> None:
    x, y = data
    with pantoum.Trainer(plan) as trainer:
        assert trainer.fit(batches_of((x[:40], y[:40]))).steps == 2
        with pytest.raises(pantoum.InvalidInput, match="a batch of 8 samples, and the plan's batch is 16"):
            trainer.fit([(x[:8], y[:8]), (x[:16], y[:16])])
        with pytest.raises(pantoum.InvalidInput, match="no batch has the 16 samples"):
            trainer.fit([(x[:8], y[:8])])
        with pytest.raises(pantoum.InvalidInput, match="no batch has the 16 samples"):
            trainer.fit(iter([]))
        with pytest.raises(pantoum.InvalidInput, match="fewer than a batch"):
            trainer.fit((x[:8], y[:8]))
        with pytest.raises(pantoum.InvalidInput):
            trainer.fit([(x[:32], y[:32])])


@pytest.mark.parametrize("given", [3, None, "data", batches_of])
def test_what_is_no_data(trainer: pantoum.Trainer, given: Any) -> None:
    with pytest.raises(pantoum.UsageError):
        trainer.fit(given)


@pytest.mark.parametrize(
    "options",
    [
        {"epochs": 0},
        {"judge": "luck"},
        {"callbacks": [3]},
        {"callbacks": [pantoum.Callback]},
        {"max_time": 3},
        {"patience": -1},
    ],
)
def test_options_that_are_none(trainer: pantoum.Trainer, data: Data, options: dict[str, Any]) -> None:
    with pytest.raises(pantoum.UsageError):
        trainer.fit(data, **options)


class Recorder(pantoum.Callback):
    """What was called."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def on_train_begin(self) -> None:
        self.calls.append("begin")

    def on_train_end(self, logs: dict[str, float]) -> None:
        self.calls.append(f"end {sorted(logs)}")

    def on_epoch_begin(self, epoch: int) -> None:
        self.calls.append(f"epoch {epoch}")

    def on_epoch_end(self, epoch: int, logs: dict[str, float]) -> None:
        assert np.isfinite(logs["loss"])
        assert self.trainer.tensor("0.weight").shape == (64, 2)
        self.calls.append(f"epoch {epoch} ended")

    def on_batch_end(self, batch: int, logs: dict[str, float]) -> None:
        assert set(logs) == {"loss", "lr"}
        self.calls.append(f"batch {batch}")


@pytest.mark.parametrize("as_arrays", [True, False])
def test_callbacks_are_called_in_their_order(plan: pantoum.Plan, data: Data, as_arrays: bool) -> None:
    x, y = data
    data = (x[:32], y[:32])
    recorder, seen = Recorder(), list[int]()
    with pantoum.Trainer(plan) as trainer:
        trainer.fit(
            data if as_arrays else batches_of(data),
            epochs=2,
            validation=data,
            callbacks=[recorder, lambda epoch, logs: seen.append(epoch)],
        )
    assert recorder.calls == [
        "begin",
        "epoch 0",
        "batch 0",
        "batch 1",
        "epoch 0 ended",
        "epoch 1",
        "batch 2",
        "batch 3",
        "epoch 1 ended",
        "end ['loss', 'val_accuracy', 'val_loss']",
    ]
    assert seen == [0, 1]


@pytest.mark.parametrize("as_arrays", [True, False])
def test_a_callback_stops_and_an_exception_of_one_is_raised(plan: pantoum.Plan, data: Data, as_arrays: bool) -> None:
    given = data if as_arrays else batches_of(data)

    class Stop(pantoum.Callback):
        def on_batch_end(self, batch: int, logs: dict[str, float]) -> None:
            self.trainer.stop_training = batch == 3

    def fail(epoch: int, logs: dict[str, float]) -> None:
        raise ZeroDivisionError("mine")

    with pantoum.Trainer(plan) as trainer:
        history = trainer.fit(given, epochs=5, callbacks=[Stop()])
        assert history.stopped
        assert trainer.steps_done == 4
        with pytest.raises(ZeroDivisionError, match="mine"):
            trainer.fit(given, epochs=5, callbacks=[fail])
        assert trainer.step(*batches_of(data)[0]) > 0


def test_a_callback_may_look_and_not_step(plan: pantoum.Plan, data: Data, tmp_path: pathlib.Path) -> None:
    class Look(pantoum.Callback):
        def on_epoch_end(self, epoch: int, logs: dict[str, float]) -> None:
            self.trainer.save(tmp_path / "c.safetensors")
            self.trainer.set_learning_rate(0.01)
            self.trainer.state_dict()
            with pytest.raises(pantoum.UsageError, match="callback"):
                self.trainer.step(*batches_of(data)[0])

    with pantoum.Trainer(plan) as trainer:
        trainer.fit(data, epochs=2, callbacks=[Look()])
    assert (tmp_path / "c.safetensors").exists()


def test_a_second_call_trains_on(plan: pantoum.Plan, data: Data) -> None:
    with pantoum.Trainer(plan, seed=2) as whole, pantoum.Trainer(plan, seed=2) as parts:
        history = whole.fit(data, epochs=3)
        first, second = parts.fit(data, epochs=1), parts.fit(data, epochs=2)
        assert (first.epoch, second.epoch) == ([0], [1, 2])
        assert [*first.history["loss"], *second.history["loss"]] == history.history["loss"]
        assert parts.steps_done == 30
        parts.step(*batches_of(data)[0])
        assert parts.fit(data, epochs=1).ran == 9


def test_validation_and_evaluation_agree(plan: pantoum.Plan, data: Data) -> None:
    with pantoum.Trainer(plan) as trainer:
        history = trainer.fit(data, epochs=1, validation=data)
        whole = trainer.evaluate(data)
        assert history.history["val_loss"] == [whole["loss"]]
        assert history.history["val_accuracy"] == [whole["accuracy"]]
        assert whole["samples"] == len(data[0])
        assert trainer.evaluate(*data) == whole
        parts = trainer.evaluate(batches_of(data, 24))
        assert parts["accuracy"] == pytest.approx(whole["accuracy"])
        assert parts["loss"] == pytest.approx(whole["loss"], rel=1e-5)
        assert trainer.steps_done == 10
        with pytest.raises(pantoum.InvalidInput):
            trainer.evaluate([])
        with pytest.raises(pantoum.InvalidInput):
            trainer.evaluate((data[0][:0], data[1][:0]))


def test_checkpoints_resume_in_the_middle(plan: pantoum.Plan, data: Data, tmp_path: pathlib.Path) -> None:
    with pantoum.Trainer(plan, seed=2) as whole:
        whole.fit(data, epochs=2)
        state = whole.state_dict(optimizer=True)

    class Stop(pantoum.Callback):
        def on_batch_end(self, batch: int, logs: dict[str, float]) -> None:
            self.trainer.stop_training = batch == 12

    with pantoum.Trainer(plan, seed=2) as first:
        first.fit(data, epochs=2, checkpoint=tmp_path / "c.safetensors", callbacks=[Stop()])
    with pantoum.Trainer(plan, seed=2) as second:
        second.resume(tmp_path / "c.safetensors")
        assert second.steps_done == 13
        second.fit(data, epochs=2)
        assert second.steps_done == 20
        for name, array in second.state_dict(optimizer=True).items():
            assert np.array_equal(array, state[name]), name


def test_best_patience_and_time(plan: pantoum.Plan, data: Data, tmp_path: pathlib.Path) -> None:
    with pantoum.Trainer(plan) as trainer:
        trainer.fit(data, epochs=2, validation=data, keep_best=tmp_path / "best.safetensors", judge="accuracy")
        assert (tmp_path / "best.safetensors").exists()
        trainer.set_learning_rate(0)
        history = trainer.fit(data, epochs=50, validation=data, patience=1)
        assert history.stopped_early
        with pytest.raises(pantoum.UsageError):
            trainer.fit(batches_of(data), patience=1)
    with pantoum.Trainer(plan) as trainer:
        assert trainer.fit(batches_of(data) * 100, max_time="1ms").out_of_time
        assert trainer.fit(data, epochs=10**6, max_time="50ms").out_of_time


def test_fit_prints_a_line_for_each_epoch(plan: pantoum.Plan, data: Data, capsys: pytest.CaptureFixture[str]) -> None:
    with pantoum.Trainer(plan) as trainer:
        for form in (data, batches_of(data)):
            history = trainer.fit(form, epochs=2, validation=data)
            lines = capsys.readouterr().out.splitlines()
            assert len(lines) == 2
            assert re.fullmatch(
                r"epoch 2/\d  loss \S+  val_loss \S+  val_accuracy \S+  \d+\.\d s",
                lines[1].replace("epoch 4", "epoch 2"),
            ), lines
            assert f"val_loss {history.history['val_loss'][-1]:.4g}" in lines[1]
            trainer.fit(form, verbose=0)
            assert capsys.readouterr().out == ""
        for wrong in (3, "loud", None):
            with pytest.raises(pantoum.UsageError, match="verbose"):
                trainer.fit(data, verbose=wrong)  # type: ignore[arg-type]


def test_on_a_terminal_a_line_is_rewritten(plan: pantoum.Plan, data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("pantoum.progress._BETWEEN", 0.0)
    for verbose, rewritten in (("auto", True), (1, True), (2, False)):
        terminal = Terminal()
        with contextlib.redirect_stdout(terminal), pantoum.Trainer(plan) as trainer:
            trainer.fit(data, epochs=2, verbose=verbose)  # type: ignore[arg-type]
        assert ("\r\033[K" in terminal.getvalue()) == rewritten
        assert ("epoch 2/2  step 1/" in terminal.getvalue()) == rewritten
        assert terminal.getvalue().count("\n") == 2


def test_names_that_keras_has(plan: pantoum.Plan, data: Data) -> None:
    with pantoum.Trainer(plan) as trainer:
        history = trainer.fit(*data, validation_data=data, batch_size=plan.samples_per_step, verbose=0)
        assert "val_loss" in history.history
        with pytest.raises(
            pantoum.UsageError, match=rf"a batch of 7 samples, and the plan's batch is {plan.samples_per_step}"
        ):
            trainer.fit(*data, batch_size=7)
        with pytest.raises(pantoum.UsageError, match="name one thing"):
            trainer.fit(*data, validation=data, validation_data=data)
    assert (pantoum.SGD, pantoum.RMSprop) == (pantoum.Sgd, pantoum.RmsProp)


@pytest.mark.parametrize("shuffles", [True, False])
def test_a_resumed_trainer_has_the_order_of_its_file(
    plan: pantoum.Plan, data: Data, shuffles: bool, tmp_path: pathlib.Path
) -> None:
    """A file's order goes on where none is named; one that is named otherwise is refused, and changes nothing."""
    path = tmp_path / "point"
    with pantoum.Trainer(plan, shuffle=shuffles) as trainer:
        trainer.fit(*data, epochs=1, verbose=0)
        trainer.save(path)
        trainer.fit(*data, epochs=1, verbose=0)
        whole = trainer.state_dict()
    for resumed in (pantoum.Trainer(plan), pantoum.Trainer(plan, shuffle=shuffles)):
        with resumed as trainer:
            trainer.resume(path)
            with pytest.raises(pantoum.UsageError, match="as the file that it resumed") as caught:
                trainer.fit(*data, epochs=2, shuffle=not shuffles, verbose=0)
            assert ("shuffles, by its seed" in str(caught.value)) == shuffles
            trainer.fit(*data, epochs=2, shuffle=shuffles, verbose=0)
            for name, value in trainer.state_dict().items():
                np.testing.assert_array_equal(value, whole[name])
    if shuffles:
        with pantoum.Trainer(plan, shuffle=False) as trainer:
            with pytest.raises(
                pantoum.InvalidInput, match="the resume point shuffles the samples, and shuffle is False"
            ):
                trainer.resume(path)
            assert trainer.steps_done == 0
    with pantoum.Trainer(plan) as trainer:
        for damage in (b"", b"\xff" * 64, b"\x08" + bytes(7) + b"[1, 2]  "):
            path.write_bytes(damage)
            with pytest.raises(pantoum.Error):
                trainer.resume(path)


@pytest.mark.parametrize("shuffles", [True, False])
def test_shuffle_is_the_order_of_the_trainer_and_of_iterables(plan: pantoum.Plan, data: Data, shuffles: bool) -> None:
    size = plan.samples_per_step
    with pantoum.Trainer(plan, shuffle=shuffles) as trainer:
        trainer.fit(*data, shuffle=shuffles, verbose=0)
        with pytest.raises(pantoum.UsageError, match=f"shuffle={not shuffles}") as caught:
            trainer.fit(*data, shuffle=not shuffles, verbose=0)
        assert ("this trainer shuffles, by its seed" in str(caught.value)) == shuffles
        batches = [(data[0][:size], data[1][:size])]
        trainer.fit(batches, shuffle=False, verbose=0)
        with pytest.raises(pantoum.UsageError, match=r"DataLoader\(.., shuffle=True\)"):
            trainer.fit(batches, shuffle=True, verbose=0)
        with pytest.raises(pantoum.UsageError, match="give True or False"):
            trainer.fit(*data, shuffle="yes", verbose=0)  # type: ignore[arg-type]


def test_history_in_a_notebook(trainer: pantoum.Trainer, data: Data) -> None:
    assert "<td>0</td>" in trainer.fit(data)._repr_html_()


def test_other_threads_of_python_run_meanwhile(plan: pantoum.Plan, data: Data) -> None:
    counted, done = [0], threading.Event()

    def count() -> None:
        while not done.wait(0.001):
            counted[0] += 1

    thread = threading.Thread(target=count, daemon=True)
    thread.start()
    with pantoum.Trainer(plan) as trainer:
        trainer.fit(data, epochs=100)
    done.set()
    thread.join()
    assert counted[0] > 3


def test_data_sets_of_files(plan: pantoum.Plan, data: Data, tmp_path: pathlib.Path) -> None:
    np.save(tmp_path / "x_train.npy", data[0])
    np.save(tmp_path / "y_train.npy", data[1])
    train, _ = pantoum.Dataset.open(tmp_path, plan)
    assert len(train) == len(data[0])
    assert "NPY" in repr(train)
    with pantoum.Trainer(plan, seed=1) as trainer, pantoum.Trainer(plan, seed=1) as other:
        assert trainer.fit(train).history == other.fit(data).history
    with pytest.raises(pantoum.InvalidInput):
        pantoum.Dataset.open(tmp_path / "none", plan)


class Interrupts(pantoum.Callback):
    """Presses Ctrl-C at one moment of a fit; counts the moments."""

    def __init__(self, at: int) -> None:
        self.at, self.moment = at, 0

    def _pass(self) -> None:
        self.moment += 1
        if self.moment == self.at:
            signal.raise_signal(signal.SIGINT)

    def on_train_begin(self, *_: Any) -> None:
        self._pass()

    def on_epoch_begin(self, *_: Any) -> None:
        self._pass()

    def on_batch_end(self, *_: Any) -> None:
        self._pass()

    def on_epoch_end(self, *_: Any) -> None:
        self._pass()

    def on_train_end(self, *_: Any) -> None:
        self._pass()


@pytest.mark.parametrize("batches", [False, True])
def test_ctrl_c_at_every_moment_of_a_fit_leaves_a_checkpoint_to_go_on_from(
    plan: pantoum.Plan, data: Data, batches: bool, tmp_path: pathlib.Path
) -> None:
    few = data[0][: 3 * BATCH], data[1][: 3 * BATCH]
    given: Any = batches_of(few) if batches else few
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for at in range(1, 100):
            path, interrupts = tmp_path / f"{at}.safetensors", Interrupts(at)
            with pantoum.Trainer(plan) as trainer:
                ended = False
                try:
                    trainer.fit(given, epochs=2, checkpoint=path, callbacks=interrupts)
                    ended = interrupts.moment < at
                except KeyboardInterrupt:
                    pass
                if ended:
                    break
                assert path.exists(), at
                steps = trainer.steps_done
            with pantoum.Trainer(plan) as trainer:
                trainer.resume(path)
                assert trainer.steps_done == steps, at
    finally:
        signal.signal(signal.SIGINT, before)
    assert at == 12 + 1  # on_train_begin, on_train_end, and twice: on_epoch_begin, three batches, on_epoch_end
