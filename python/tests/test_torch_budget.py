"""torch_budget as a user meets it: the interface, what it promises, what it refuses."""

from __future__ import annotations

import inspect
import json
import os
import pydoc
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import pantoum.torch_budget
import pytest
from budget_steps import Function, at_budgets, batch, budgeted, eager, kept, network, same, torch
from pantoum.torch_budget import backend, faults, pager
from pantoum.torch_budget.budget import budget_bytes
from torch import nn

pytestmark = pytest.mark.usefixtures("fresh_compiler")


def test_every_budget_gives_eager_gradients_and_holds() -> None:
    steps = at_budgets(network(), [batch()])
    piece = steps[-1].budget.report().pieces[0]
    assert piece.recomputed + piece.paged_out > 0


@pytest.mark.parametrize(
    ("depths", "percents"),
    [
        ((3, 1), (45, 15)),
        *(
            pytest.param(depths, (100, 85, 70, 55, 45, 35, 25, 15), marks=pytest.mark.long)
            for depths in ((1, 5), (5, 1), (3, 1, 3))
        ),
    ],
)
def test_a_larger_budget_is_not_refused_where_a_smaller_one_holds(
    depths: tuple[int, ...], percents: tuple[int, ...]
) -> None:
    def forward(self: Any, x: Any) -> Any:
        x = deep(self.layers[0](x), depths[0])
        torch._dynamo.graph_break()
        x = deep(self.layers[1](x), depths[1])
        torch._dynamo.graph_break()
        return deep(self.layers[-1](x), depths[-1])

    def deep(x: Any, count: int) -> Any:
        for _ in range(count):
            x = (torch.sigmoid(x) * x).cos()
        return x

    layers = nn.ModuleList([nn.Linear(64, 64) for _ in depths])
    module, held = Function(forward, layers=layers), []
    free = budgeted(module, [batch()], "1GiB").budget.report()
    for percent in percents:
        torch._dynamo.reset()
        try:
            step = budgeted(module, [batch()], free.planned_peak * percent // 100, page_dir=None, time_limit_s=1)
        except (faults.Infeasible, faults.LimitReached):
            held.append(False)
            continue
        held.append(True)
        kept(step)
        same(step, eager(module, [batch()]))
    assert held == sorted(held, reverse=True)
    assert held[0] or len(percents) < 3
    assert not held[-1]


def test_the_least_budget_that_a_later_piece_names_is_enough() -> None:
    class Broken(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(64, 64), nn.Linear(64, 256)

        def forward(self, x: Any) -> Any:
            y = self.first(x).tanh().sin().tanh().sin()
            torch._dynamo.graph_break()
            return self.second(y * 2).tanh().sin()

    free = budgeted(Broken(), [batch()], "1GiB")
    asked = int(free.budget.report().planned_peak * 0.9)
    refusals: list[pantoum.Infeasible] = []
    while len(refusals) < 4:
        try:
            kept(budgeted(Broken(), [batch()], asked))
            break
        except faults.Infeasible as error:
            refusals.append(error)
            asked = int(error.min_ram or 0)
    assert 1 <= len(refusals) <= 2, "one of each piece"
    assert "pieces" in str(refusals[-1])
    assert f"{asked}B" in refusals[-1].help


def test_infeasible_is_raised_at_every_call() -> None:
    with pantoum.torch_budget("1KiB") as budget:
        compiled = torch.compile(network(), backend="pantoum")
    for _ in range(2):
        with pytest.raises(faults.Infeasible):
            compiled(batch())
    assert "1 KiB is too little" in str(budget.report())


def test_report_has_planned_and_measured_side_by_side() -> None:
    budget = budgeted(network(), [batch()], "1MiB").budget
    report = budget.report()
    text, facts = str(report), report.to_json()
    for words in (
        "planned peak",
        "measured peak",
        "process's growth",
        "not counted",
        "parameters and inputs",
        "gradients",
    ):
        assert words in text
    assert json.loads(json.dumps(facts))["measured_peak_bytes"] == report.measured_peak
    piece = report.pieces[0]
    assert piece.parameters_and_inputs >= sum(p.nbytes for p in network().parameters())
    assert piece.outputs == 128 * 8 * 4
    assert piece.gradients >= sum(p.nbytes for p in network().parameters())


def test_report_says_when_nothing_was_compiled() -> None:
    budget = pantoum.torch_budget("1MiB")
    assert "nothing was compiled" in str(budget.report())
    assert budget.report().measured_peak is None


def test_report_says_when_pytorch_ran_it_as_it_is() -> None:
    module = nn.BatchNorm1d(64, momentum=None)  # PyTorch compiles none of it
    with pantoum.torch_budget("64B") as budget:
        compiled = torch.compile(nn.Sequential(module), backend="pantoum")
    with budget.measure():
        compiled(batch())
    assert budget.report().measured_peak is None
    assert "no compiled graph ran while it was measured" in str(budget.report())


@pytest.mark.parametrize(
    "options",
    [
        {"rom": "1MiB"},
        {"page_dir": None},
        {"ram": "1MiB", "speed": 3},
        {"ram": 64},
        {"ram": "64"},
        {"ram": "-1MiB"},
        {"ram": "0B"},
        {"ram": "1MiB", "time_limit_s": 0},
        {"ram": "1MiB", "time_limit_s": "10"},
        {"ram": "1MiB", "time_limit_s": float("inf")},
        {"ram": "1MiB", "page_dir": b"/tmp"},
        {"ram": "1MiB", "name": None},
        {"ram": "1MiB", "name": "\ud800"},
        {"ram": pantoum.MiB(0)},
        {"ram": "1MiB", "page_dir": "/no/such/folder"},
    ],
)
def test_options_that_cannot_be_meant(options: dict[str, Any]) -> None:
    with pytest.raises(faults.UsageError):
        torch.compile(network(), backend="pantoum", options=options)(batch())


def test_without_a_budget_it_says_how_to_give_one() -> None:
    with pytest.raises(faults.UsageError, match="has no budget"):
        torch.compile(network(), backend="pantoum")(batch())


_ALONE = """
import sys, torch
assert not any(name.partition(".")[0] == "pantoum" for name in sys.modules)
assert "pantoum" in torch._dynamo.list_backends()
net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 8))
x = torch.ones(16, 64)
plain = torch.autograd.grad(net(x).sum(), net.parameters())
for options in ({"ram": "1MiB"}, {"ram": "64KiB", "page_dir": None, "time_limit_s": 5.0, "name": "net"}):
    compiled = torch.compile(net, backend="pantoum", options=options)
    assert all(map(torch.equal, plain, torch.autograd.grad(compiled(x).sum(), net.parameters())))
    torch._dynamo.reset()
import pantoum
for options, code in (({"ram": "64B"}, "E0301"), ({"ram": 64}, "E0110"), ({"rom": "1MiB"}, "E0110"), (None, "E0110")):
    try:
        torch.compile(net, backend="pantoum", options=options)(x)
    except pantoum.Error as error:
        assert error.code == code, (options, error)
    else:
        raise AssertionError(options)
    torch._dynamo.reset()
with pantoum.torch_budget("1MiB") as budget:
    compiled = torch.compile(net, backend="pantoum")
compiled(x)
assert len(budget.report().pieces) == 1
"""


def test_the_installed_package_is_found_without_an_import(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    group = text.split("[project.entry-points.torch_dynamo_backends]\n")[1].split("\n\n")[0]
    installed = tmp_path / "pantoum-0.dist-info"  # what a wheel has beside the package
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: pantoum\nVersion: 0\n", encoding="utf-8")
    (installed / "entry_points.txt").write_text(
        f"[torch_dynamo_backends]\n{group.replace(chr(34), '')}\n", encoding="utf-8"
    )
    paths = os.pathsep.join([str(tmp_path), str(Path(pantoum.__file__).parents[1])])
    done = subprocess.run(
        [sys.executable, "-c", _ALONE], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths}
    )
    assert done.returncode == 0, done.stderr


def test_a_mode_is_refused() -> None:
    with pytest.raises(faults.UsageError, match="mode"), pantoum.torch_budget("1MiB"):
        torch.compile(network(), backend="pantoum", mode="max-autotune")(batch())


def test_the_budget_is_that_of_the_block_where_compile_was_called() -> None:
    with pantoum.torch_budget("1GiB") as outer:
        with pantoum.torch_budget("2KiB"):
            small = torch.compile(network(), backend="pantoum")
        large = torch.compile(network(), backend="pantoum")
    large(batch())
    assert len(outer.report().pieces) == 1
    with pytest.raises(faults.Infeasible):
        small(batch())


@pytest.mark.parametrize(
    ("text", "count"), [("6GiB", 6 << 30), ("1.5 MiB", 3 << 19), ("10kB", 10_000), ("7B", 7), ("2MB", 2_000_000)]
)
def test_sizes_are_read_with_their_units(text: str, count: int) -> None:
    assert budget_bytes(text) == count


@pytest.mark.parametrize(
    "text",
    [6, 6.5, True, None, "6", "GiB", "6 GiBs", "nan MiB", "9999999TiB", "", "0B", "0.9B", "1" * 5000 + "B"],
)
def test_sizes_without_a_unit_are_refused(text: Any) -> None:
    with pytest.raises(faults.UsageError):
        budget_bytes(text)


def test_the_page_file_has_no_name(fast_disk: str, tmp_path: Any) -> None:
    pager.open_pager(fast_disk)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_memory_is_no_place_to_page_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pager, "_file_system", lambda _: "tmpfs")
    assert pager.open_pager("/tmp") is None


def test_a_full_disk_is_told(fast_disk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(faults.DeviceError, match="No space left"):
        pager.FilePager(fast_disk).reserve(1 << 20)


@pytest.mark.parametrize(("page_dir", "goes_on"), [("auto", True), ("/", False)])
def test_a_disk_too_full_to_page_to_is_no_end_unless_it_was_named(
    page_dir: str, goes_on: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(folder: str | None) -> int:
        raise faults.device("no space", str(folder))

    monkeypatch.setattr(pager, "open_pager", full)
    if goes_on:
        assert budgeted(network(), [batch()], "1GiB", page_dir=page_dir).budget.report().pieces[0].paged_out == 0
    else:
        with pytest.raises(faults.DeviceError, match="no space"):
            budgeted(network(), [batch()], "1GiB", page_dir=page_dir)


def test_planning_needs_neither_a_program_nor_a_temporary_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/no/such/folder")
    monkeypatch.setattr(subprocess, "Popen", None)
    backend._PLANS.clear()
    kept(budgeted(network(), [batch()], "1MiB", page_dir=None))


def test_help_tells_all() -> None:
    shown = pydoc.render_doc(pantoum.torch_budget, renderer=pydoc.plaintext)  # type: ignore[attr-defined]
    for name, parameter in inspect.signature(pantoum.torch_budget).parameters.items():
        assert f"{name}:" in shown
        if parameter.default is not inspect.Parameter.empty:
            assert f"{name}={parameter.default!r}".replace("'", '"') in shown
    for error in ("UsageError", "Infeasible", "LimitReached", "Unsupported", "DeviceError"):
        assert f"{error}: " in shown
    assert "TorchDispatchMode" not in shown


def test_the_example_of_help_runs(capsys: pytest.CaptureFixture[str]) -> None:
    text = str(pantoum.torch_budget.__doc__).split("::\n\n")[1].split("\n\nThe loop")[0]
    exec(textwrap.dedent(text), {})
    assert "measured peak" in capsys.readouterr().out
