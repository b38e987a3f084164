#!/usr/bin/env python3
"""The outputs of trained networks, compared: `make bench-predict`, and with --quick a part of `make test`.

usage: run.py [--quick] [--only NAME] [--build FOLDER] [--out FOLDER]

Each network is planned in .7 of the RAM that its step takes (or in the least that it has a plan for) and trained for three steps. Then its outputs are
computed in Python, C, C++ and by an emitted project, in QEMU where it fits a board. The bytes of all are those of Python; those are evaluation's, which
tells a loss of exactly 0 with them as its targets, and within 1e-5 of the largest of PyTorch's in eval(). Needs torch, gcc, arm-none-eabi-gcc and qemu-system-arm.
The rows go into OUT/predict.json, as bench/README.md has them; one that misses its target makes the exit status 1.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path += [str(HERE), str(ROOT / "bench")]

import numpy as np  # noqa: E402
import pantoum  # noqa: E402
import torch  # noqa: E402
from networks import NETWORKS, SAMPLES, has_own_loss, larger, outputs_of, trained  # noqa: E402
from table import Table  # noqa: E402

QUICK = ("batch_norm", "group_norm", "lstm", "views_and_inputs", "own_loss")
NEAR = 1e-5  # of the largest
SHARE = 0.7  # of the step's RAM
ASIDE = {"portable": 64 << 10, "onednn": 256 << 10}  # bytes that a prediction may allocate beside its arena
BOARD_BYTES, BOARD_ROM, STACK = 4 << 20, 3 << 20, 96 << 10
BOARD_ASIDE = STACK + (96 << 10)  # for tables and buffers too


def run(words: list[Any], **options: Any) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=600, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


def programs(build: pathlib.Path, folder: pathlib.Path) -> dict[str, pathlib.Path]:
    """The programs of C and C++, against the shared libraries of the build."""
    made = {}
    for name, source, compiler, library in (
        ("C", "outputs.c", ["gcc", "-std=gnu11"], "libpantoum_train.so.0.1.0"),
        ("C++", "outputs.cpp", ["g++", "-std=c++20"], "libpantoum.so.0.1.0"),
    ):
        made[name] = folder / f"outputs.{name}"
        link = [build / "lib" / library, f"-Wl,-rpath,{build / 'lib'}"]
        run([*compiler, "-O1", "-Wall", "-I", ROOT / "include", HERE / source, *link, "-o", made[name]])
    return made


def tight(network: Any, kernels: str) -> tuple[Any, Any, Any]:
    """The trained network in little RAM, where nothing is paged: the same plan runs on a board."""
    alone = {"plan_options": {"paging": False, "threads": 1}}  # as an emitted project runs
    free, _, _ = trained(network, kernels, ram="1GiB", **alone)
    with free:
        ram = int(SHARE * free.plan.arena_bytes)
    try:
        return trained(network, kernels, ram=pantoum.Bytes(ram), **alone)
    except pantoum.Error as refused:
        return trained(network, kernels, ram=getattr(refused, "min_ram", None) or pantoum.Bytes(free.plan.arena_bytes), **alone)


def far(made: list[Any], wanted: list[Any]) -> float:
    """The largest difference over the largest number, of the worst output; of whole numbers: the share that differs."""
    worst = 0.0
    for own, other in zip(made, wanted, strict=True):
        if (own.shape, own.dtype) != (other.shape, other.dtype):
            return np.inf
        if own.dtype.kind == "f":
            worst = max(worst, float(np.abs(own - other).max() / max(np.abs(other).max(), 1e-30)))
        else:
            worst = max(worst, 0.0 if (own != other).mean() <= 0.1 else np.inf)  # ties may fall either way
    return worst


def loss_of_evaluation(trainer: Any, module: Any, samples: Any, made: list[Any]) -> float:
    """0 exactly where evaluation has the bits of these outputs."""
    if has_own_loss(module):
        if len(samples) == 2:  # its outputs are made of the target
            wanted = float(np.square(made[0] - samples[1].numpy()).mean())
            return max(0.0, abs(trainer.evaluate(samples)["loss"] - wanted) - 1e-6 * wanted)
        return trainer.evaluate((samples[0], made[0], samples[2]))["loss"]
    reals = [value.reshape(SAMPLES, -1) for value in made if value.dtype.kind == "f"]
    return trainer.evaluate((*samples, np.concatenate(reals, 1)))["loss"]


class Case:
    def __init__(self, name: str, kernels: str, trainer: Any, folder: pathlib.Path) -> None:
        self.name, self.kernels, self.trainer, self.folder = name, kernels, trainer, folder
        self.weights, self.made = folder / "weights.safetensors", []

    def keep(self, module: Any, samples: Any) -> list[pathlib.Path]:
        """Files of plan, weights and inputs; and the outputs in Python."""
        inputs = samples[:1] if has_own_loss(module) and len(samples) == 3 else samples
        made = self.trainer.predict(*inputs)
        self.made = list(made.values()) if isinstance(made, dict) else [made]
        self.trainer.save(self.weights)
        self.trainer.plan.save_binary(self.folder / "plan.bin")
        self.trainer.plan.save_initial_weights(self.folder / "first.safetensors")
        self.trainer.plan.model.save(self.folder / "model.graph")
        plan = json.loads(self.trainer.plan.to_json())
        plan["x-model"]["path"] = str(self.folder / "model.graph")  # as a plan says that is made of a file
        (self.folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
        paths = []
        for at, values in enumerate(inputs):
            paths.append(self.folder / f"input{at}.bin")
            values.numpy().tofile(paths[-1])
        return paths

    def equal(self, outputs: list[bytes]) -> bool:
        return outputs == [value.tobytes() for value in self.made]

    def host(self, program: pathlib.Path, language: str, inputs: list[pathlib.Path]) -> tuple[bool, int, int]:
        """Whether the bytes are Python's; the arena's, and what the prediction allocated."""
        folder = self.folder / language
        folder.mkdir()
        plan = [self.folder / "plan.bin", self.folder / "first.safetensors"] if language == "C" else [self.folder / "plan.json"]
        count, arena, counted = map(int, run([program, *plan, self.weights, SAMPLES, folder, *inputs]).split())
        return self.equal([(folder / f"{at}.bin").read_bytes() for at in range(count)]), arena, counted

    def firmware(self, inputs: list[pathlib.Path]) -> tuple[str, bool, int]:
        """Where it ran, whether the bytes are Python's, and the RAM that it has."""
        arena = self.trainer.plan.arena_bytes
        rom = self.weights.stat().st_size + sum(path.stat().st_size for path in inputs)
        on_board = arena + BOARD_ASIDE <= BOARD_BYTES and rom <= BOARD_ROM
        folder, ram = self.folder / "project", arena + BOARD_ASIDE
        target = "cortex-m4f" if on_board else "posix"
        pantoum.emit(self.trainer.plan, folder, target=target, weights=str(self.weights), ram=pantoum.Bytes(ram), stack=pantoum.Bytes(STACK))
        shutil.copy(HERE / "board.c", folder / "main.c")
        self.write_given(folder / "board" / "given.h", inputs)
        told = run(["make", "-s", f"-j{os.cpu_count()}", "-C", folder, "run"])
        rows: dict[int, list[bytes]] = {}
        for output, digits in re.findall(r"^output (\d+) (\w*)$", told, re.MULTILINE):
            rows.setdefault(int(output), []).append(bytes.fromhex(digits))
        return "QEMU" if on_board else "posix", self.equal([b"".join(rows[at]) for at in sorted(rows)]), ram

    @staticmethod
    def write_given(path: pathlib.Path, inputs: list[pathlib.Path]) -> None:
        text = f"#pragma once\n#include <stdint.h>\n#define GIVEN_SAMPLES {SAMPLES}\n"
        for at, each in enumerate(inputs):
            numbers = ",".join(map(str, each.read_bytes()))
            text += f"static const uint8_t given_{at}[] __attribute__((aligned(8))) = {{{numbers}}};\n"
        names = ", ".join(f"given_{at}" for at in range(len(inputs)))
        path.write_text(f"{text}static const uint8_t* const given[] = {{{names}}};\n", encoding="ascii")


def ask(name: str, network: Any, kernels: str, made: dict[str, pathlib.Path], folder: pathlib.Path, table: Table) -> None:
    trainer, module, samples = tight(network, kernels)
    with trainer:
        case = Case(name, kernels, trainer, folder)
        inputs = case.keep(module, samples)
        title, budget = f"predict, {name}, {kernels}", trainer.plan.budget_bytes
        if kernels == "portable":
            loss = loss_of_evaluation(trainer, module, samples, case.made)
            table.add(f"{title}: loss against evaluation", loss, "", "0", loss == 0)
        found = far(case.made, outputs_of(module, samples))
        table.add(f"{title}: furthest from PyTorch", found, "of the largest", "<= 1e-5", found <= NEAR)
        for language, program in made.items():
            equal, arena, counted = case.host(program, language, inputs)
            table.add(f"{title}: bytes of {language}", float(equal), "", "1", equal)
            ok = arena <= budget and counted <= ASIDE[kernels]
            note = f"budget {budget}, allocated beside it {counted}"
            table.add(f"{title}: arena of {language}", arena, "B", f"<= {budget}", ok, note)
        if kernels == "portable":
            place, equal, ram = case.firmware(inputs)
            table.add(f"{title}: bytes of firmware", float(equal), "", "1", equal, f"{place}, {ram} bytes of RAM in all")


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--quick", action="store_true", help="five networks, and no file of the rows")
    words.add_argument("--only", default="", help="networks whose name contains this")
    words.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    words.add_argument("--out", type=pathlib.Path, default=ROOT / "out" / "bench")
    asked = words.parse_args()
    torch.set_num_threads(1)
    networks = {**NETWORKS, **({} if asked.quick else larger())}
    chosen = {name: each for name, each in networks.items() if (not asked.quick or name in QUICK) and asked.only in name}
    table, begun = Table(), time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        made = programs(asked.build.resolve(), pathlib.Path(scratch))
        for name, network in chosen.items():
            for kernels in ("portable", "onednn"):
                folder = pathlib.Path(scratch) / f"{name}-{kernels}"
                folder.mkdir()
                try:
                    ask(name, network, kernels, made, folder, table)
                except Exception as error:  # noqa: BLE001 (a network that fails is a row; the others are asked)
                    table.add(f"predict, {name}, {kernels}", float("nan"), "", "an answer", False, str(error)[-1500:])
                shutil.rmtree(folder)
    missed = sum(not row["ok"] for row in table.rows)
    print(f"{len(chosen)} networks, {len(table.rows)} rows, {missed} missed, {time.monotonic() - begun:.0f} s")
    if not asked.quick:
        asked.out.mkdir(parents=True, exist_ok=True)
        document = {"rows": table.rows, "networks": list(chosen), "seconds": time.monotonic() - begun}
        (asked.out / "predict.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
