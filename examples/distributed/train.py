#!/usr/bin/env python3
"""Data-parallel training on Fashion-MNIST, with a RAM budget for every rank.

    torchrun --nproc-per-node 2 train.py --ram 24MiB 12MiB

Needs pantoum and torch; a machine's first rank has the first budget, and so on (the last one is that of all further
ranks).
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pantoum
import torch.distributed as dist
from pantoum.distributed import DataParallel, shard

HERE = Path(__file__).resolve().parent


def read_idx(path: Path) -> npt.NDArray[np.uint8]:
    data = path.read_bytes() if path.exists() else gzip.decompress(path.with_name(path.name + ".gz").read_bytes())
    shape = [int.from_bytes(data[4 + 4 * at : 8 + 4 * at], "big") for at in range(data[3])]
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(shape)


def images(folder: Path, split: str) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    x = (read_idx(folder / f"{split}-images-idx3-ubyte")[:, np.newaxis].astype(np.float32) / 255 - 0.2860) / 0.3530
    return x, read_idx(folder / f"{split}-labels-idx1-ubyte").astype(np.int64)


def words() -> argparse.Namespace:
    line = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    line.add_argument("--model", default=str(HERE.parent / "fashion" / "cnn.onnx"))
    line.add_argument("--data", type=Path, default=Path("/usr/share/datasets/fashion-mnist"))
    line.add_argument("--ram", nargs="+", default=["24MiB", "12MiB"], help="a budget for each rank")
    line.add_argument("--batch", type=int, default=128, help="samples of a rank's step")
    line.add_argument("--epochs", type=int, default=1)
    line.add_argument("--samples", type=int, default=0, help="of the training set; 0: all")
    line.add_argument("--json", type=Path, help="where rank 0 writes its figures")
    return line.parse_args()


def main() -> None:
    line = words()
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    ram = line.ram[min(rank, len(line.ram) - 1)]
    trainer = pantoum.compile(
        line.model,
        batch=line.batch,
        optimizer=pantoum.Sgd(lr=0.05, momentum=0.9, weight_decay=1e-4),
        split_update=True,
        ram=None if ram == "all" else ram,
        # The portable kernels give the same bits on every processor.
        plan_options={"kernels": "portable", "threads": 1, "measure": "off", "effort": 100, "objective": "time"},
        trainer_options={"seed": rank},
    )
    parallel = DataParallel(trainer)
    x, y = images(line.data, "train")
    chosen = slice(None) if line.samples == 0 else slice(line.samples)
    x, y = x[chosen], y[chosen]
    begin, losses = time.monotonic(), []
    ends = [begin]
    for epoch in range(line.epochs):
        batches = shard(x, y, batch=line.batch, rank=rank, world_size=world, seed=epoch)
        losses += parallel.fit(batches, on_step=lambda step, loss: ends.append(time.monotonic()))
    seconds = time.monotonic() - begin
    digest = parallel.verify()
    held = trainer.evaluate(images(line.data, "t10k")) if rank == 0 else {}
    for each in range(world):  # one after the other
        dist.barrier()
        if each == rank:
            print(f"rank {rank}: budget {ram}, arena {trainer.usage.arena_bytes} bytes", flush=True)
    if rank == 0:
        rate = trainer.steps_done * line.batch * world / seconds
        print(
            f"loss {losses[-1]:.4f}, {held['accuracy']:.2%} of the test images right; {rate:.0f} samples/s;"
            f" weights {digest[:16]} on every rank"
        )
        if line.json:
            figures = {
                "samples_per_s": rate,
                # One step in ten is quicker: what else the machine does slows the others down.
                "undisturbed_samples_per_s": line.batch * world / float(np.quantile(np.diff(ends), 0.1)),
                "loss": losses,
                "accuracy": held["accuracy"],
                "digest": digest,
                "ranks": world,
                "cpus": os.cpu_count(),
            }
            line.json.write_text(json.dumps(figures), encoding="utf-8")
    trainer.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
