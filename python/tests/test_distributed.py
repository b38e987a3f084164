"""pantoum.distributed: two ranks in two processes, over gloo."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[torch]'")
import pantoum
import torch.distributed as dist
from pantoum.distributed import DataParallel, shard

HERE = Path(__file__).resolve().parent
MODEL = HERE.parents[1] / "examples" / "image-classification" / "model.onnx"


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What both ranks told."""
    folder = tmp_path_factory.mktemp("ranks")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    common = {
        **os.environ,
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": "2",
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, str(HERE / "distributed_worker.py"), str(folder)]
    ranks = [
        subprocess.Popen(command, env={**common, "RANK": str(rank)}, stderr=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    errors = [rank.communicate(timeout=300)[1] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], "\n".join(errors)
    return [json.loads((folder / f"rank{rank}.json").read_text(encoding="utf-8")) for rank in range(2)]


def test_unequal_budgets_give_the_weights_of_equal_ones_to_the_bit(answers: list[dict[str, Any]]) -> None:
    equal = answers[0]["equal"]
    assert answers[1]["equal"]["digest"] == equal["digest"]
    for name in ("unequal", "swapped"):
        arenas = {answer[name]["arena"] for answer in answers}
        assert len(arenas) == 2
        assert min(arenas) < equal["arena"], "the budgets bind"
        for answer in answers:
            assert answer[name]["digest"] == equal["digest"], name
            assert answer[name]["losses"] == equal["losses"]
            assert answer[name]["steps"] == 4


def test_micro_batches_too(answers: list[dict[str, Any]]) -> None:
    digests = {answer[name]["digest"] for answer in answers for name in ("accumulated", "accumulated_unequal")}
    assert len(digests) == 1


def test_a_rank_that_fails_fails_all_and_nothing_is_updated(answers: list[dict[str, Any]]) -> None:
    told = [answer["failing"] for answer in answers]
    assert told[1]["said"].startswith("E0262")
    assert "99" in told[1]["said"]
    assert told[0]["said"].startswith("E0262")
    assert "rank 1" in told[0]["said"]
    assert all(each["same"] and each["again"] for each in told)
    assert told[0]["end"] == told[1]["end"]


def test_generators_end_together_or_every_rank_is_told(answers: list[dict[str, Any]]) -> None:
    ends = {name: [answer[name] for answer in answers] for name in ("generators", "shorter", "raising")}
    assert [each["steps"] for each in ends["generators"]] == [2, 2]
    assert [each["said"] for each in ends["generators"]] == ["1 epochs", "1 epochs"]
    assert all(each["said"].startswith("UsageError") and "rank 1" in each["said"] for each in ends["shorter"])
    assert "rank 1" in ends["raising"][0]["said"]
    assert ends["raising"][1]["said"] == "OSError: the disk is gone"
    for each in ends.values():
        assert each[0]["steps"] == each[1]["steps"]
        assert each[0]["end"] == each[1]["end"]


@pytest.mark.parametrize("what", ["freeze", "batch", "bucket", "loader"])
def test_ranks_that_do_different_things_are_refused(answers: list[dict[str, Any]], what: str) -> None:
    for answer in answers:
        assert answer["unlike"][what].startswith("E0117"), answer["unlike"][what]
        assert "rank 1" in answer["unlike"][what]


def planned(**options: Any) -> pantoum.Plan:
    return pantoum.plan(
        pantoum.load_onnx(MODEL, batch=8, **options), kernels="portable", threads=1, measure="off", effort=1
    )


def batch() -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(1)
    return draw.standard_normal((8, *planned().batch[0].shape[1:]), np.float32), draw.integers(0, 4, 8)


def test_needs_a_process_group() -> None:
    with pantoum.Trainer(planned(split_update=True)) as trainer, pytest.raises(pantoum.UsageError) as told:
        DataParallel(trainer)
    assert told.value.code == "E0117"
    assert "init_process_group" in told.value.help


def test_of_one_rank_is_a_trainer() -> None:
    store = dist.HashStore()  # type: ignore[attr-defined]
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        with pantoum.Trainer(planned()) as whole, pytest.raises(pantoum.UsageError) as told:
            DataParallel(whole)
        assert told.value.code == "E0105"
        assert "split_update" in told.value.help
        with pantoum.Trainer(planned()) as whole, pantoum.Trainer(planned(split_update=True)) as halves:
            parallel, data = DataParallel(halves, bucket="2KiB"), batch()
            for _ in range(3):
                assert parallel.step(*data) == whole.step(*data)
            for name, array in whole.state_dict(optimizer=True).items():
                assert array.tobytes() == halves.read(name).tobytes(), name
            names = [tensor.name for tensor in halves.plan.batch]
            assert len(parallel.fit([dict(zip(names, data, strict=True))], epochs=2)) == 2
            assert len(parallel.fit(iter([data]), epochs=2)) == 1
            for wrong in ([], [3]):
                with pytest.raises(pantoum.InvalidInput, match="no batch"):
                    parallel.fit(wrong)
    finally:
        dist.destroy_process_group()


def test_gradients_are_no_part_of_a_state_dict() -> None:
    with pantoum.Trainer(planned(split_update=True)) as trainer:
        assert not any(name.startswith("accumulated.") for name in trainer.state_dict(optimizer=True))
        kinds = {kind for _, _, _, kind, _ in trainer._core.tensors()}
        assert kinds >= {"gradient", "changes"}


def test_what_a_callback_throws_is_raised() -> None:
    def broken(name: str, in_ram: bool) -> None:
        raise RuntimeError(f"no network for {name}")

    with pantoum.Trainer(planned(split_update=True)) as trainer:
        arrays = [np.ascontiguousarray(array) for array in batch()]
        with pytest.raises(RuntimeError, match="no network"):
            trainer._core.gradients(arrays, broken)
        trainer._core.gradients(arrays, None)
        trainer._core.update()
        with pytest.raises(pantoum.UsageError):
            trainer._core.update()


def test_shards_cut_every_batch_into_parts() -> None:
    x = np.arange(23)
    parts = [list(shard(x, batch=3, rank=rank, world_size=2, seed=5)) for rank in range(2)]
    assert [len(part) for part in parts] == [3, 3]
    seen = np.concatenate([array for part in parts for (array,) in part])
    assert len(np.unique(seen)) == len(seen) == 18
    assert not np.array_equal(parts[0][0][0], next(shard(x, batch=3, rank=0, world_size=2, seed=6))[0])


@pytest.mark.parametrize("wrong", [{"rank": 2}, {"rank": -1}, {"batch": 0}])
def test_shards_of_ranks_that_are_none_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(pantoum.UsageError):
        next(shard(np.arange(23), **{"batch": 3, "rank": 0, "world_size": 2} | wrong))
    with pytest.raises(pantoum.UsageError):
        next(shard(np.arange(23), np.arange(22), batch=3, rank=0, world_size=2))
