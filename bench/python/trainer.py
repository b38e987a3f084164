"""Our trainer beside eager PyTorch: peak resident set and step time of whole training steps.

Rows `memory NAME trainer ...`.

usage: trainer.py [--out FOLDER] [--networks A,B] [--rounds N]
Every side is a process of its own: what it grows by from before the model's first step to the most that it had,
parameters and optimizer state of plain SGD included for all. Sides take turns; the least seconds of the rounds count.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from table import Table  # noqa: E402

STEPS, SHARES = 8, (1.0, 0.5)


def resident(key: str) -> int:
    """Bytes of this process: VmRSS now, VmHWM at the most."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(key)


def forget_peak() -> int:
    """The most resident bytes count from here on; how many there are."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return resident("VmRSS")


def eager_steps(network: Any) -> dict[str, Any]:
    import torch

    module, inputs = network.make(), network.inputs()
    optimizer = torch.optim.SGD(module.parameters(), lr=1e-3)
    before, seconds = forget_peak(), []
    for _ in range(STEPS):
        begin = time.perf_counter()
        optimizer.zero_grad()
        network.loss(module(*inputs)).backward()
        optimizer.step()
        seconds.append(time.perf_counter() - begin)
    return {"growth": resident("VmHWM") - before, "seconds": min(seconds[2:])}


def planned_steps(network: Any, share: float) -> dict[str, Any]:
    """At a share of the unplanned peak. The module is let go: its parameters are the trainer's then."""
    import numpy as np
    import pantoum

    module, inputs = network.make(), network.inputs()
    model = pantoum.from_torch(module, inputs, loss=network.loss, optimizer=pantoum.Sgd(lr=1e-3))
    del module
    unplanned = pantoum.plan(model, effort=1).unplanned_peak_bytes
    try:
        plan = pantoum.plan(model, ram=f"{int(unplanned * share)}B", time_limit="20s", objective="time")
    except pantoum.Infeasible as error:
        return {"least": error.min_ram, "asked": int(unplanned * share)}
    unread = [np.zeros(each.shape, np.int64) for each in plan.batch if each.is_target]  # the loss has no target
    before, seconds = forget_peak(), []
    trainer = pantoum.Trainer(plan)
    for _ in range(STEPS):
        begin = time.perf_counter()
        trainer.step(*inputs, *unread)
        seconds.append(time.perf_counter() - begin)
    usage = trainer.usage
    return {
        "growth": max(0, resident("VmHWM") - before),
        "seconds": min(seconds[2:]),
        "arena": usage.arena_bytes,
        "asked": int(unplanned * share),
    }


def side(name: str, share: float) -> dict[str, Any]:
    command = [sys.executable, __file__, "--side", name, "--share", str(share)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return {"error": done.stderr.strip()[-400:]}
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def run_side(name: str, share: float) -> int:
    from networks import networks

    network = next(each for each in networks() if each.name == name)
    print(json.dumps(eager_steps(network) if share == 0 else planned_steps(network, share)))
    return 0


def compare(table: Table, name: str, rounds: int) -> dict[str, Any]:
    found: dict[float, list[dict[str, Any]]] = {0.0: [], **{share: [] for share in SHARES}}
    for _ in range(rounds):
        for share, answers in found.items():
            answers.append(side(name, share))
    eager = [each for each in found[0.0] if "error" not in each]
    for share in SHARES:
        label, answers = f"memory {name} trainer at {share:g}", [each for each in found[share] if "error" not in each]
        if not answers or not eager:
            table.skip(label, next(each["error"] for each in [*found[share], *found[0.0]] if "error" in each))
            continue
        if any("least" in each for each in answers):
            least, ram = answers[0]["least"] / 2**20, answers[0]["asked"] / 2**20
            table.add(
                label, least, "MiB", "", True, f"no plan fits in {ram:.1f} MiB, proved; the value is the least known"
            )
            continue
        growth, peer = min(each["growth"] for each in answers), min(each["growth"] for each in eager)
        ratio = min(each["seconds"] for each in answers) / min(each["seconds"] for each in eager)
        inside = all(each["arena"] <= each["asked"] for each in answers)
        arena, ram = answers[0]["arena"] / 2**20, answers[0]["asked"] / 2**20
        note = f"eager {peer / 2**20:.1f} MiB; arena {arena:.1f} of {ram:.1f} MiB; step {ratio:.2f} of eager's"
        table.add(label, growth / 2**20, "MiB resident", "below eager's", inside and growth < peer, note)
    return {"network": name, "sides": {str(share): answers for share, answers in found.items()}}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--out", default="out/bench", type=Path)
    options.add_argument("--networks", default="")
    options.add_argument("--rounds", type=int, default=2)
    options.add_argument("--side", help=argparse.SUPPRESS)
    options.add_argument("--share", type=float, help=argparse.SUPPRESS)
    asked = options.parse_args()
    if asked.side:
        return run_side(asked.side, asked.share)
    from networks import networks

    table = Table()
    names = [network.name for network in networks() if not asked.networks or network.name in asked.networks.split(",")]
    raw = [compare(table, name, asked.rounds) for name in names]
    asked.out.mkdir(parents=True, exist_ok=True)
    with open(asked.out / "python-trainer.json", "w", encoding="utf-8") as file:
        json.dump({"rows": table.rows, "raw": raw}, file, indent=1)
    return int(any(not row["ok"] for row in table.rows))


if __name__ == "__main__":
    sys.exit(main())
