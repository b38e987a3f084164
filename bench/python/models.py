#!/usr/bin/env python3
"""Torch models, captured and trained: the zoo of python/tests/zoo, those of tests/networks among them.

usage: models.py [--out FOLDER] [NAME ...]

Of each: loss, every gradient and five optimizer steps against PyTorch's (`pantoum.check`); then ten steps in half
the RAM of the unplanned step, whose weights are compared with those of ten unplanned steps, to the bit. Where no plan
fits in half, the next larger share is taken, and the row says so. A model that cannot be trained here has to be refused
with the line of its file. A model that fails is named, with what was raised.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python" / "tests"))
import pantoum
from pantoum._torch.bridge import capture_model
from pantoum._torch.trainer import TorchTrainer
from zoo import CASES, Case

TOLERANCE = 1e-5
STEPS = 10
PLANNER = {"time_limit": "3s", "gap": "5%"}
SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
GROWTH = 8


def weights_after(plan: pantoum.Plan, graph: Any, batch: list[Any]) -> dict[str, Any]:
    """Of ten steps."""
    with TorchTrainer(plan, graph) as trainer:
        for _ in range(STEPS):
            trainer.step(*batch)
        return trainer.state_dict(optimizer=True)


def in_half(case: Case) -> dict[str, Any]:
    """Ten steps in half the RAM, and whether their bits are those of ten unplanned steps."""
    optimizer = pantoum.Sgd(lr=case.lr)
    example, target = grown(*case.example())
    try:
        model = capture_model(case.module(), example, loss=case.loss, target=target, optimizer=optimizer)
        graph = model.graph
    except pantoum.Error:  # a module of one batch size
        example, target = case.example()
        model = capture_model(case.module(), example, loss=case.loss, target=target, optimizer=optimizer)
        graph = model.graph
    whole = pantoum.plan(model, **PLANNER)
    batch = list(tensors(example)) + list(tensors(target))
    half, proved = least_plan(model, whole.unplanned_peak_bytes)
    wanted, found = weights_after(whole, graph, batch), weights_after(half, graph, batch)
    different = [name for name in wanted if not np.array_equal(wanted[name], found[name], equal_nan=True)]
    share = half.peak_bytes / whole.unplanned_peak_bytes
    return {
        "unplanned": whole.unplanned_peak_bytes,
        "share": share,
        "half_proved_infeasible": proved,
        "different": different,
    }


def least_plan(model: pantoum.Model, peak: int) -> tuple[pantoum.Plan, bool]:
    """The plan for half the peak, or the next larger share that has one; is it proved that half is too little?"""
    proved = False
    for share in SHARES:
        try:
            return pantoum.plan(model, ram=pantoum.Bytes(int(share * peak)), **PLANNER), proved
        except pantoum.Infeasible:
            proved = proved or share == SHARES[0]
        except pantoum.LimitReached:
            pass
    return pantoum.plan(model, **PLANNER), proved


def grown(example: Any, target: Any) -> tuple[Any, Any]:
    """The batch several times over, where every tensor has its samples first: small ones leave nothing to plan."""
    found = list(tensors((example, target)))
    if len({tensor.shape[:1] for tensor in found}) != 1 or found[0].dim() == 0:
        return example, target
    from pantoum._torch.structure import replace_tensors

    larger: tuple[Any, Any] = replace_tensors((example, target), lambda x: x.repeat(GROWTH, *[1] * (x.dim() - 1)))
    return larger


def tensors(value: Any) -> Any:
    from pantoum._torch.structure import tensors_of

    return (tensor for _, tensor in tensors_of(value))


def measure(name: str) -> dict[str, Any]:
    """Every figure of one model; `ok` says whether all are as they should be."""
    case, begin = CASES[name], time.monotonic()
    answer: dict[str, Any] = {"name": name, "ok": False, "problem": ""}
    try:
        example, target = case.example()
        optimizer = pantoum.Sgd(lr=case.lr, momentum=0.9)
        report = pantoum.check(case.module(), example, case.loss, optimizer, target=target, plan_options=PLANNER)
        answer |= {"loss": report.loss, "gradients": max((each.error for each in report.gradients), default=0.0)}
        answer |= {"steps": max(report.losses, default=0.0), "draws": case.draws}
        if not report.ok:
            answer["problem"] = str(report)
        answer |= in_half(case)
        if answer["different"]:
            answer["problem"] += f"planned and unplanned steps differ in {', '.join(answer['different'][:3])}"
        if case.refused is not None:
            answer["problem"] = "it is not refused"
    except pantoum.Error as error:
        answer["problem"] = str(error) if case.refused is None else case.refused.missing(error, case.module())
        answer["refused"] = case.refused is not None
    answer["ok"] = not answer["problem"]
    answer["seconds"] = time.monotonic() - begin
    return answer


def told(row: dict[str, Any]) -> str:
    if not row["ok"]:
        return f"MISS {row['name']}: {row['problem'].splitlines()[0]}"
    if row.get("refused"):
        return f"ok   {row['name']}: refused with its line ({row['seconds']:.1f} s)"
    least = ", no plan fits in half" if row["half_proved_infeasible"] else ""
    return (
        f"ok   {row['name']}: loss {row['loss']:.0e}, gradients {row['gradients']:.0e}, bits equal"
        f" at {row['share']:.2f} of the unplanned peak{least} ({row['seconds']:.1f} s)"
    )


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--out", default="out/bench", type=Path)
    options.add_argument("names", nargs="*", default=list(CASES))
    asked = options.parse_args()
    torch.set_num_threads(1)
    rows = []
    for name in asked.names:
        rows.append(measure(name))
        print(told(rows[-1]), flush=True)
    good = sum(row["ok"] for row in rows)
    note = "; ".join(told(row) for row in rows if not row["ok"])
    row = {"name": "models", "value": good, "unit": "models", "target": ">= 60"}
    row |= {"ok": good >= 60, "skipped": False, "note": note}
    asked.out.mkdir(parents=True, exist_ok=True)
    with open(asked.out / "python-models.json", "w", encoding="utf-8") as file:
        json.dump({"rows": [row], "raw": rows}, file, indent=1)
    print(f"{good} of {len(rows)} models")
    return int(good < min(60, len(rows)))


if __name__ == "__main__":
    sys.exit(main())
