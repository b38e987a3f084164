"""One rank of tests/test_distributed.py: trains as the scenario says, prints what came out as JSON.

RANK=.. WORLD_SIZE=.. MASTER_ADDR=.. MASTER_PORT=.. python distributed_worker.py SCENARIO
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pantoum
import torch.distributed as dist
from pantoum.distributed import DataParallel, shard

MODEL = Path(__file__).resolve().parents[2] / "examples" / "image-classification" / "model.onnx"
BATCH = 8
PLAN: dict[str, Any] = {"kernels": "portable", "threads": 1, "measure": "off", "effort": 1}


def samples(count: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(3)
    shape = pantoum.plan(pantoum.load_onnx(MODEL, batch=BATCH), **PLAN).batch[0].shape
    return draw.standard_normal((count, *shape[1:]), np.float32), draw.integers(0, 4, count)


def trainer(ram: float | None, **options: Any) -> pantoum.Trainer:
    """``ram``: a share of the unplanned peak."""
    model = pantoum.load_onnx(
        MODEL, **{"batch": BATCH, "optimizer": "adam", "split_update": True, "clip_norm": 1.0, **options}
    )
    size = None if ram is None else pantoum.Bytes(int(pantoum.plan(model, **PLAN).unplanned_peak_bytes * ram))
    return pantoum.Trainer(pantoum.plan(model, size, **PLAN), seed=dist.get_rank())


def steps(ram: float | None, bucket: str, count: int = 4, **options: Any) -> dict[str, Any]:
    rank, world = dist.get_rank(), dist.get_world_size()
    parallel = DataParallel(trainer(ram, **options), bucket=bucket)
    each = BATCH * options.get("accumulate", 1)
    losses = parallel.fit(shard(*samples(count * each * world), batch=each, rank=rank, world_size=world))
    facts = {
        "digest": parallel.verify(),
        "losses": losses,
        "arena": parallel.trainer.usage.arena_bytes,
        "steps": parallel.trainer.steps_done,
    }
    parallel.trainer.close()
    return facts


def parameters(parallel: DataParallel) -> dict[str, bytes]:
    kinds = parallel.trainer._core.tensors()
    trained = [name.removeprefix("accumulated.") for name, _, _, kind, _ in kinds if kind == "gradient"]
    return {name: parallel.trainer.read(name).tobytes() for name in trained}


def failing() -> dict[str, Any]:
    """Rank 1 has a label that is no class in the second step."""
    rank = dist.get_rank()
    parallel = DataParallel(trainer(None))
    x, y = samples(BATCH)
    parallel.step(x, y)
    parallel.verify()
    before = parameters(parallel)
    try:
        parallel.step(x, np.full_like(y, 99) if rank == 1 else y)
        said = "nothing"
    except pantoum.Error as error:
        said = f"{error.code}: {error}"
    parallel.verify()
    after = parameters(parallel)
    again = parallel.step(x, y)
    return {"said": said, "same": before == after, "again": np.isfinite(again).item(), "end": parallel.verify()}


def without_length(given: int, failing: bool) -> dict[str, Any]:
    """Generators: of rank 1 it gives fewer batches, or raises."""
    rank = dist.get_rank()
    parallel = DataParallel(trainer(None))
    x, y = samples(BATCH)

    def batches() -> Any:
        yield from [(x, y)] * (2 if rank == 0 else given)
        if failing and rank == 1:
            raise OSError("the disk is gone")

    try:
        said = f"{len(parallel.fit(batches()))} epochs"
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    return {"said": said, "steps": parallel.trainer.steps_done, "end": parallel.verify()}


def refused(work: Callable[[], object]) -> str:
    try:
        work()
    except pantoum.UsageError as error:
        return f"{error.code}: {error}"
    return "nothing"


def unlike() -> dict[str, str]:
    """What rank 1 does otherwise."""
    rank = dist.get_rank()
    x, y = samples(BATCH)
    return {
        "freeze": refused(lambda: DataParallel(trainer(None, freeze=["*.bias"] if rank == 1 else None))),
        "batch": refused(lambda: DataParallel(trainer(None, batch=BATCH + rank))),
        "bucket": refused(lambda: DataParallel(trainer(None), bucket=("1MiB", "2MiB")[rank % 2])),
        "loader": refused(lambda: DataParallel(trainer(None)).fit([(x, y)] * (1 + rank))),
    }


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    answers = {
        "equal": steps(None, "1MiB"),
        "unequal": steps((None, 0.7)[rank % 2], "1MiB"),
        "swapped": steps((0.7, 0.85)[rank % 2], "4KiB"),
        "accumulated": steps(None, "1MiB", 2, accumulate=2),
        "accumulated_unequal": steps((0.7, None)[rank % 2], "1KiB", 2, accumulate=2),
        "failing": failing(),
        "unlike": unlike(),
        "generators": without_length(2, False),
        "shorter": without_length(1, False),
        "raising": without_length(1, True),
    }
    Path(sys.argv[1], f"rank{rank}.json").write_text(json.dumps(answers), encoding="utf-8")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
