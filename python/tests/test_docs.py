"""What pages show is run."""

from __future__ import annotations

import importlib
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
from typing import Any

import numpy as np
import pantoum
import pytest
from samples import ROOT, SPIRALS, Floats, Labels

torch: Any = importlib.import_module("torch") if importlib.util.find_spec("torch") else None


def blocks(page: str) -> list[str]:
    """Of Python that use the package."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = [block for block in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S) if "pantoum." in block]
    return [block for block in found if torch is not None or "torch." not in block]


def of_torch(x: Floats, y: Labels) -> dict[str, Any]:
    """The module and the loader that blocks for PyTorch speak of."""
    if torch is None:
        return {}
    module = torch.nn.Sequential(torch.nn.Linear(x.shape[1], 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
    return {"torch": torch, "module": module, "loader": [(torch.from_numpy(x), torch.from_numpy(y))]}


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_code_runs(
    page: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, data: tuple[Floats, Labels]
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(SPIRALS, "net.onnx")
    estimate = pantoum.estimate
    monkeypatch.setattr(pantoum, "estimate", lambda model: estimate(model, time_limit="3s", plan={"measure": "off"}))
    names = {"x": data[0], "y": data[1], "np": np, **of_torch(*data)}
    found = blocks(page)
    assert found
    for block in found:
        exec(compile(block, page, "exec"), names)
    history = names["history"]
    assert isinstance(history, pantoum.History)
    assert history.history["loss"][-1] < history.history["loss"][0]
    assert names["plan" if page.startswith("docs") else "trainer"]


def test_the_table_of_exceptions_has_all() -> None:
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    from pantoum import errors

    for name in errors.__all__:
        assert f"`{name}`" in page or f"`pantoum.{name}`" in page
        if name != "Error":
            assert f"| {getattr(errors, name).exit_code} |" in page


def pages_of_torch() -> list[str]:
    """The pages of docs/ whose marked blocks need PyTorch; tests/docs runs them, where it is."""
    found = sorted((ROOT / "docs").rglob("*.md"))
    return [path.relative_to(ROOT / "docs").as_posix() for path in found if "<!-- test: torch -->" in path.read_text()]


@pytest.mark.parametrize("page", pages_of_torch())
def test_pages_that_need_pytorch_run(page: str) -> None:
    for package in ("torch", "onnx"):
        pytest.importorskip(package, reason="what the page needs is not installed")
    name = "Pages.test_" + re.sub(r"\W", "_", page.removesuffix(".md"))
    program = pathlib.Path(pantoum.__file__).parent / "pantoum"
    done = subprocess.run(
        [sys.executable, "tests/docs/test_pages.py", name],
        cwd=ROOT,
        env={**os.environ, "PANTOUM": str(program)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "skipped" not in done.stderr
    print(done.stderr.splitlines()[0])  # its time
