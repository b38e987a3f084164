"""Threads, forks, spawned processes, Ctrl-C, -O and -X dev."""

from __future__ import annotations

import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pantoum
import pytest
from samples import BATCH, MODELLED, SPIRALS, Floats, Labels

Batch = tuple[Floats, Labels]


def forked(work: Any) -> str:
    """What `work` gives in a forked process, which must not hang."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(20)
            os.write(write, str(work()).encode())
        except BaseException as error:
            os.write(write, f"{type(error).__name__} {error}".encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    assert status == 0, f"the child ended with {status} after {said!r}"
    return said


def test_a_forked_process_is_refused_and_leaves_its_parent_alone(
    plan: pantoum.Plan, model: pantoum.Model, batch: Batch
) -> None:
    with pantoum.Trainer(plan) as trainer:
        trainer.step(*batch)

        def use() -> str:
            said = []
            for call in (
                lambda: trainer.step(*batch),
                lambda: pantoum.Trainer(plan),
                lambda: pantoum.plan(model, ram="256KiB", **MODELLED),
                plan.verify,
            ):
                try:
                    call()
                    said.append("worked")
                except pantoum.UsageError as error:
                    said.append(error.code)
            trainer.close()
            return " ".join(said)

        assert forked(use) == "E0108 E0108 E0108 E0108"
        assert trainer.step(*batch) > 0
    assert plan.verify()


def test_objects_end_in_a_forked_process(model: pantoum.Model, batch: Batch) -> None:
    own = pantoum.plan(model, ram="256KiB", **MODELLED)
    held: list[Any] = [own, pantoum.Trainer(own)]
    held[1].step(*batch)
    own = None  # type: ignore[assignment]

    def let_go() -> str:
        held.clear()
        return "gone"

    assert forked(let_go) == "gone"
    assert held[1].step(*batch) > 0
    assert held[0].verify()


def train_there(model: pantoum.Model, text: bytes, batch: Batch) -> float:
    import pickle

    with pantoum.Trainer(pickle.loads(text)) as trainer:
        return trainer.step(*batch)


def test_a_spawned_process_trains(plan: pantoum.Plan, model: pantoum.Model, batch: Batch) -> None:
    import pickle

    with multiprocessing.get_context("spawn").Pool(1) as pool, pantoum.Trainer(plan) as trainer:
        assert pool.apply(train_there, (model, pickle.dumps(plan), batch)) == trainer.step(*batch)


def test_a_fork_before_anything_is_planned_trains(tmp_path: pathlib.Path) -> None:
    code = f"""
import os, pantoum, numpy as np
if os.fork() == 0:
    plan = pantoum.plan(pantoum.load_onnx({str(SPIRALS)!r}, batch=4), ram="256KiB", kernels="portable", measure="off", effort=1)
    print(pantoum.Trainer(plan).step(np.zeros((4, 2)), np.zeros(4, int)) > 0, flush=True)
    os._exit(0)
os.wait()
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60).stdout == "True\n"


def test_two_threads_in_one_trainer(plan: pantoum.Plan, batch: Batch) -> None:
    x, y = batch
    refused, done = list[pantoum.UsageError](), list[int]()
    with pantoum.Trainer(plan) as trainer:

        def use() -> None:
            for _ in range(300):
                try:
                    trainer.step(x, y)
                    done.append(1)
                except pantoum.UsageError as error:
                    refused.append(error)

        threads = [threading.Thread(target=use) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert trainer.steps_done == len(done) > 0
    assert {error.code for error in refused} <= {"E0108"}
    assert len(done) + len(refused) == 1200


def test_a_trainer_in_every_thread(plan: pantoum.Plan, batch: Batch) -> None:
    losses = list[tuple[float, ...]]()

    def use() -> None:
        with pantoum.Trainer(plan) as trainer:
            losses.append(tuple(trainer.step(*batch) for _ in range(20)))

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(losses) == 4
    assert len(set(losses)) == 1


def test_planning_lets_other_threads_run(model: pantoum.Model) -> None:
    counted, done = [0], threading.Event()

    def count() -> None:
        while not done.wait(0.005):
            counted[0] += 1

    thread = threading.Thread(target=count, daemon=True)
    thread.start()
    pantoum.plan(model, ram="57KiB", gap="0%", time_limit="1s", kernels="portable", measure="off")
    done.set()
    thread.join()
    assert counted[0] > 10


INTERRUPTED = f"""
import signal, sys, threading, time, os
import numpy as np, pantoum
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started this may ignore it
model = pantoum.load_onnx({str(SPIRALS)!r}, batch=16)
def press():
    time.sleep(0.7)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press).start()
begin = time.monotonic()
try:
    WORK
    print("nothing")
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - begin < 10)
plan = pantoum.plan(model, ram="256KiB", kernels="portable", measure="off", effort=1)
print(pantoum.Trainer(plan).step(np.zeros((16, 2)), np.zeros(16, int)) > 0)
"""


@pytest.mark.parametrize(
    "work",
    [
        'pantoum.plan(model, ram="40KiB", gap="0%", time_limit="60s", effort=10**8, kernels="portable", measure="off")',
        'pantoum.estimate(model, time_limit="200s", gap="0%", plan=dict(kernels="portable", measure="off", effort=10**8))',
        'pantoum.Trainer(pantoum.plan(model, ram="256KiB", kernels="portable", measure="off", effort=1)).fit('
        "(np.zeros((16, 2)), np.zeros(16, int)), epochs=10**8, verbose=0)",
        'pantoum.Trainer(pantoum.plan(model, ram="256KiB", kernels="portable", measure="off", effort=1)).fit('
        "[(np.zeros((16, 2)), np.zeros(16, int))], epochs=10**8, verbose=0)",
        'pantoum.Trainer(pantoum.plan(model, ram="256KiB", kernels="portable", measure="off", effort=1)).evaluate('
        "(np.zeros((3 * 10**7, 2), np.float32), np.zeros(3 * 10**7, int)))",
        'pantoum.Trainer(pantoum.plan(model, ram="256KiB", kernels="portable", measure="off", effort=1)).fit('
        "(np.zeros((16, 2)), np.zeros(16, int)), epochs=10**8, verbose=0, "
        "validation=(np.zeros((3 * 10**7, 2), np.float32), np.zeros(3 * 10**7, int)))",
    ],
)
def test_ctrl_c_breaks_nothing(work: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED.replace("WORK", work)], capture_output=True, text=True, timeout=100
    )
    assert done.stdout in ("interrupted True\nTrue\n", "nothing\nTrue\n"), done.stderr
    assert "nothing" not in done.stdout or "plan(model, ram" in work[:40]
    assert done.returncode == 0


@pytest.mark.parametrize("flags", [["-X", "dev", "-W", "error"], ["-O"], ["-OO"], ["-I"], ["-X", "utf8=0"]])
def test_flags_of_the_interpreter(flags: list[str]) -> None:
    code = f"""
import numpy as np, pantoum
with pantoum.Trainer(pantoum.plan(pantoum.load_onnx({str(SPIRALS)!r}, batch=4), ram="256KiB", kernels="portable", measure="off", effort=1)) as t:
    t.fit((np.zeros((8, 2)), np.zeros(8, int)), epochs=2, verbose=0)
    view = t.tensor("0.weight")
print("done")
"""
    done = subprocess.run([sys.executable, *flags, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_the_end_of_the_interpreter_with_everything_open() -> None:
    code = f"""
import numpy as np, pantoum
plan = pantoum.plan(pantoum.load_onnx({str(SPIRALS)!r}, batch={BATCH}), ram="256KiB", kernels="portable", measure="off", effort=1)
trainer = pantoum.Trainer(plan)
view = trainer.tensor("0.weight")
data = pantoum.Dataset.from_arrays(plan, np.zeros(({BATCH}, 2)), np.zeros({BATCH}, int))
"""
    begin = time.monotonic()
    done = subprocess.run([sys.executable, "-X", "dev", "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert time.monotonic() - begin < 60


def test_the_program_is_beside_the_package() -> None:
    done = subprocess.run([sys.executable, "-m", "pantoum", "--version"], capture_output=True, text=True, timeout=60)
    assert pantoum.__version__ in done.stdout
