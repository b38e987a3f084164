"""Types, stubs and layout of the package itself."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from samples import ROOT

# Modules in tests are written as users write them: PyTorch types an attribute of a module as "Tensor | Module", and leaves much untyped.
AS_USERS_WRITE = [
    *("--allow-untyped-calls", "--allow-untyped-decorators", "--allow-subclassing-any", "--no-warn-return-any"),
    *(f"--disable-error-code={code}" for code in ("operator", "index", "union-attr", "name-defined")),
]
CHECKS = {
    "ruff": ["-m", "ruff", "check", "--quiet", "python"],
    "layout": ["-m", "ruff", "format", "--check", "--quiet", "python"],
    "mypy": ["-m", "mypy", "-p", "pantoum"],
    "mypy of tests": ["-m", "mypy", *AS_USERS_WRITE, "python/tests"],
    "stubtest": [
        "-m",
        "mypy.stubtest",
        "pantoum",
        "--concise",
        "--ignore-disjoint-bases",
        "--allowlist",
        "python/stubtest.allow",
        "--ignore-unused-allowlist",
        "--mypy-config-file",
        "python/stubtest.ini",
    ],
}


@pytest.mark.parametrize("check", CHECKS)
def test_nothing_is_found(check: str) -> None:
    words = CHECKS[check]
    pytest.importorskip(words[1].partition(".")[0], reason="its tool is not installed here")
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1"}
    )
    assert done.returncode == 0, done.stdout + done.stderr
