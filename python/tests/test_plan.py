"""Plans: figures, proofs, files, pickles, pages, sweeps, estimates."""

from __future__ import annotations

import json
import logging
import pathlib
import pickle
import re
import xml.etree.ElementTree
from typing import Any

import pantoum
import pytest
from samples import BATCH, MODELLED, ROOT, SPIRALS


def test_figures(plan: pantoum.Plan) -> None:
    facts = plan.facts()
    for name, value in facts.items():
        assert getattr(plan, name) == value
    assert 0 < plan.peak_bytes <= plan.arena_bytes <= plan.budget_bytes == 256 * 1024
    assert plan.samples_per_step == BATCH
    assert plan.optimal
    assert [tuple(tensor) for tensor in plan.batch] == [
        ("point", "f32", (BATCH, 2), False),
        ("label", "i64", (BATCH,), True),
    ]
    assert repr(plan).startswith("<pantoum.Plan: ")
    assert "<table>" in plan._repr_html_()
    assert "peak" in str(plan)


def test_proof_and_reasons(plan: pantoum.Plan) -> None:
    verdict = pantoum.verify(plan)
    assert verdict.gap <= 1e-4
    assert verdict.proved <= plan.energy_j
    why = plan.explain()
    assert why.at_peak
    assert sum(size for _, size in why.at_peak) <= plan.arena_bytes
    assert str(why) == why.text
    json.loads(why.json)


def test_files_and_pickles_are_the_same_plan(tmp_path: pathlib.Path, plan: pantoum.Plan, model: pantoum.Model) -> None:
    file = tmp_path / "step.plan.json"
    plan.save(file)
    assert json.loads(file.read_text())["schema"] == json.loads(plan.to_json())["schema"]
    loaded = pantoum.load_plan(file)
    for twin in (
        loaded,
        pantoum.Plan.load(file, model),
        pickle.loads(pickle.dumps(plan)),
        pickle.loads(pickle.dumps(loaded)),
    ):
        assert twin.facts() == plan.facts()
        assert twin.batch == plan.batch
    assert pantoum.verify(file) == plan.verify()
    plan.save_binary(tmp_path / "step.bin")
    plan.save_initial_weights(tmp_path / "first.safetensors")
    assert (tmp_path / "step.bin").stat().st_size > 0
    assert (tmp_path / "first.safetensors").stat().st_size > 4 * 4547


def test_a_plan_of_bytes_pickles_with_its_model() -> None:
    model = pantoum.Model.from_bytes(SPIRALS.read_bytes(), batch=BATCH)
    twin = pickle.loads(pickle.dumps(pantoum.plan(model, ram="256KiB", **MODELLED)))
    with pantoum.Trainer(twin) as trainer:
        assert trainer.steps_done == 0


def test_a_plan_of_another_step_is_refused(tmp_path: pathlib.Path, plan: pantoum.Plan, model: pantoum.Model) -> None:
    plan.save(tmp_path / "p.json")
    with pytest.raises(pantoum.InvalidInput) as error:
        pantoum.Plan.load(tmp_path / "p.json", model.with_options(batch=8))
    assert error.value.code == "E0231"
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(pantoum.InvalidInput, match="E0230"):
        pantoum.load_plan(tmp_path / "bad.json")
    with pytest.raises((pantoum.Error, OSError)):
        pantoum.load_plan(tmp_path / "none.json", model)


def test_a_page(tmp_path: pathlib.Path, plan: pantoum.Plan) -> None:
    plan.report(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text().startswith("<!")
    with pytest.raises(pantoum.DeviceError):
        plan.report(tmp_path / "no folder" / "page.html")


@pytest.mark.parametrize(
    "search",
    [
        {"ram": "57KiB", "time_limit": "1s", "gap": "0%", "effort": None},
        {"ram": "256KiB", "time_limit": "0.01s", "effort": None},
        {"ram": "256KiB", "effort": 1},
    ],
)
def test_news_of_the_planner_come_on_the_thread_that_asked(model: pantoum.Model, search: dict[str, Any]) -> None:
    import threading

    seen: list[tuple[float, float, float, int]] = []
    options = {name: value for name, value in (MODELLED | search).items() if value is not None}
    made = pantoum.plan(model, progress=lambda *news: seen.append((*news, threading.get_ident())), **options)
    assert {thread for *_, thread in seen} == {threading.get_ident()}
    assert 0 <= seen[-1][2] <= seen[-1][1] == pytest.approx(made.time_s)
    assert pantoum.plan(model, ram="256KiB", progress=True, **MODELLED)


def test_an_exception_of_the_last_news_is_raised(model: pantoum.Model) -> None:
    def fail(*_: float) -> None:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        pantoum.plan(model, ram="256KiB", progress=fail, **MODELLED)


def test_an_exception_of_progress_ends_the_planning(model: pantoum.Model) -> None:
    def fail(*_: float) -> None:
        raise ZeroDivisionError("mine")

    slow = {name: value for name, value in MODELLED.items() if name != "effort"}
    with pytest.raises(ZeroDivisionError, match="mine"):
        pantoum.plan(model, ram="57KiB", gap="0%", time_limit="10s", progress=fail, **slow)


def test_logging(model: pantoum.Model, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="pantoum"):
        pantoum.plan(model, ram="256KiB", **MODELLED)
    assert any("planned" in record.message for record in caplog.records)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("objective", "speed"),
        ("kernels", "cuda"),
        ("measure", "some"),
        ("effort", "much"),
        ("threads", -1),
        ("paging", "no"),
    ],
)
def test_options_that_are_none(model: pantoum.Model, name: str, value: object) -> None:
    with pytest.raises(pantoum.UsageError) as error:
        pantoum.plan(model, ram="256KiB", **{**MODELLED, name: value})
    assert error.value.where == name


def test_sweep(tmp_path: pathlib.Path, model: pantoum.Model) -> None:
    rows = pantoum.sweep(model, "30KiB:90KiB:3", folder=tmp_path / "curve", **MODELLED)
    assert [row.ram_bytes for row in rows] == [30720, 61440, 92160]
    assert rows[0].proved_infeasible
    assert rows[1].energy_j >= rows[2].energy_j > 0
    assert (tmp_path / "curve").is_dir()
    again = pantoum.sweep(model, ["60KiB", pantoum.KiB(30)], **MODELLED)
    assert [row.ram_bytes for row in again] == [30720, 61440]
    usual = pantoum.sweep(model, "auto", **MODELLED)
    assert 2 <= len(usual) <= 8
    assert all(row.has_plan for row in usual)
    nothing: list[Any] = ["3:4", [], [0], "1KiB:2KiB:1"]
    for budgets in nothing:
        with pytest.raises(pantoum.UsageError):
            pantoum.sweep(model, budgets, **MODELLED)


def test_estimate(model: pantoum.Model) -> None:
    table = pantoum.estimate(model, time_limit="6s", plan=MODELLED)
    assert table.least_ram is not None
    assert table.least_ram_bound_bytes <= table.least_ram < table.unplanned_peak_bytes
    assert len(table.rows) == 5
    assert all(row.has_plan for row in table.rows)
    times = [row.energy_j for row in table.rows]
    assert times == sorted(times, reverse=True)
    assert table.binds
    for text in (str(table), table._repr_html_()):
        assert "unplanned peak" in text
        assert "least RAM" in text
    pantoum.plan(model, ram=table.least_ram, **{**MODELLED, "effort": 1})
    with pytest.raises(pantoum.UsageError):
        pantoum.estimate(model, budgets=0)
    with pytest.raises(pantoum.UsageError, match="no model here"):
        pantoum.estimate(3)
    assert pantoum.estimate(SPIRALS, budgets=1, batch=BATCH, time_limit="2s", plan=MODELLED).rows[0].has_plan


def test_a_bare_cost_graph() -> None:
    graph = json.loads((ROOT / "python" / "tests" / "chain.costgraph.json").read_text())
    plan = pantoum.plan_cost_graph(graph, ram="1GiB", effort=1)
    assert plan["schema"].startswith("pantoum.plan/")
    with pytest.raises(pantoum.Infeasible) as error:
        pantoum.plan_cost_graph(graph, ram="1B", effort=1)
    assert error.value.min_ram is not None
    assert pantoum.plan_cost_graph(graph, ram=error.value.min_ram, effort=1)["schema"] == plan["schema"]
    with pytest.raises(pantoum.InvalidInput, match="E0220"):
        pantoum.plan_cost_graph("{}", ram="1MiB")


def test_emit(tmp_path: pathlib.Path) -> None:
    model = pantoum.Model.from_bytes(SPIRALS.read_bytes(), batch=4)
    plan = pantoum.plan(model, ram="96KiB", device="m4", effort=1)
    sizes = pantoum.emit(plan, tmp_path / "board", target="cortex-m4f")
    assert sizes.arena_bytes == plan.arena_bytes
    assert (tmp_path / "board" / "CMakeLists.txt").exists() or (tmp_path / "board" / "Makefile").exists()
    plan.save(tmp_path / "p.json")
    with pytest.raises(pantoum.InvalidInput):
        pantoum.emit(tmp_path / "p.json", tmp_path / "none", target="z80")


def path_heights(svg: str) -> list[float]:
    return [float(each) for each in re.findall(r"V(\d+\.\d)", svg.split("<path")[2])]


@pytest.mark.parametrize("ram", ["256KiB", "1GiB"])
def test_the_curve_of_ram_is_that_of_the_figures(model: pantoum.Model, ram: str) -> None:
    plan = pantoum.plan(model, ram=ram, **MODELLED)
    curve = plan.ram_curve()
    assert curve.peak_bytes == plan.peak_bytes
    assert curve.unplanned_peak_bytes == plan.unplanned_peak_bytes
    assert curve.seconds == sorted(curve.seconds)
    assert len(curve.seconds) == len(curve.bytes) > 10
    assert curve.seconds[-1] <= curve.end_s == pytest.approx(plan.time_s)
    assert curve.unplanned_end_s == plan.unplanned_time_s
    picture = xml.etree.ElementTree.fromstring(curve.svg())
    said = picture.attrib["aria-label"]
    assert str(dict(plan._rows())["peak"]).split(" of ")[0] in said
    assert ("(red)" in said) == (ram == "256KiB" and 2 * max(plan.peak_bytes, plan.unplanned_peak_bytes) >= 256 * 1024)
    heights = path_heights(curve.svg())
    assert all(52 <= height <= 234 for height in heights)
    assert curve.svg() in plan._repr_html_()


def test_a_long_curve_keeps_its_peak_in_the_picture() -> None:
    counts = [1000 + at % 7 for at in range(100_000)]
    counts[54_321] = 2000
    seconds = [at * 1e-6 for at in range(100_000)]
    curve = pantoum.RamCurve(seconds, counts, 0.1, [], [], 0.0, 4000)
    svg = curve.svg()
    assert len(svg) < 200_000
    assert min(path_heights(svg)) == pytest.approx(52 + 182 / 2, abs=0.1)
    xml.etree.ElementTree.fromstring(pantoum.RamCurve([], [], 0.0, [], [], 0.0, 1).svg())
