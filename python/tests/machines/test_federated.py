"""Three machines: a server and two clients of 24 and 9 MiB, over links of 40 ms, 2 Mbit/s and 1% loss.

python -m pytest python/tests/machines      needs root and flwr; skipped, with the reason, elsewhere
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
pytest.importorskip("flwr", reason="Flower is not installed: pip install '.[flower]'")
import network
from federation import ROOT, Federation

FASHION = Path("/usr/share/datasets/fashion-mnist")
MIB = 1 << 20
SETTINGS = {"model": ROOT / "examples" / "fashion" / "cnn.onnx", "images": FASHION}
REASON = network.why_not() or ("" if FASHION.exists() else f"{FASHION} is missing")
pytestmark = [pytest.mark.long, pytest.mark.skipif(bool(REASON), reason=REASON)]


Weights = dict[str, npt.NDArray[np.float32]]
Trained = dict[str, tuple[Weights, Federation, str]]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Global weights and logs: "limited" with 24 and 9 MiB, "unlimited"."""
    found: Trained = {}
    asked: dict[str, list[str | None]] = {"limited": ["24MiB", "9MiB"], "unlimited": [None, None]}
    for name, rams in asked.items():
        folder = tmp_path_factory.mktemp(name)
        with network.Star(2) as star:
            federation = Federation(star, folder, rams)
            weights = folder / "weights.npz"
            run = federation.run(**SETTINGS, weights=weights)
            run.wait(400)
            assert weights.exists(), federation.log("run")[-4000:]
            found[name] = (dict(np.load(weights)), federation, star.kind)
    return found


def test_no_budget_changes_a_bit_of_the_global_weights(trained: Trained) -> None:
    limited, unlimited = trained["limited"][0], trained["unlimited"][0]
    assert limited.keys() == unlimited.keys()
    assert len(limited) > 10
    for name in limited:
        assert limited[name].tobytes() == unlimited[name].tobytes(), name


def test_they_learn(trained: Trained) -> None:
    losses = [float(loss) for loss in re.findall(r"test images right, loss ([\d.]+)", trained["limited"][1].log("run"))]
    assert len(losses) == 3
    assert losses[-1] < losses[0]


def test_each_client_stays_under_its_cap(trained: Trained) -> None:
    told = re.findall(
        r"round \d+: client (\d) .*budget (\d+), arena (\d+), the process grew by (\d+) bytes",
        trained["limited"][1].log("run"),
    )
    assert len(told) == 4, "two clients in two rounds"
    for client, budget, arena, growth in told:
        assert int(budget) == (24, 9)[int(client)] * MIB
        assert int(arena) <= int(budget)
        assert int(growth) <= int(budget) + (2 + 1) * MIB, "stacks, buffers, and 1 MiB of pages that are encrypted"
    unlimited = re.findall(r"client \d .*arena (\d+),", trained["unlimited"][1].log("run"))
    assert all(int(arena) > 24 * MIB for arena in unlimited), "the caps bind"


def test_the_kernel_agrees(trained: Trained) -> None:
    for client in range(2):
        log = trained["limited"][1].log(f"client{client}")
        if "no memory cgroup here" in log:
            pytest.skip("no memory cgroups on this machine")
        peaks = re.findall(r"cgroup: peak (\d+) of (\d+)", log)
        assert len(peaks) == 2
        assert all(int(peak) <= int(limit) for peak, limit in peaks), peaks


def test_a_round_ends_without_a_client_that_is_killed(tmp_path: Path) -> None:
    with network.Star(2) as star:
        federation = Federation(star, tmp_path, ["24MiB", "9MiB"])
        weights = tmp_path / "weights.npz"
        run = federation.run(**SETTINGS, weights=weights, local_epochs=12, timeout=150.0, least_clients=1)
        federation.wait_for("client1", "training begins", 120)
        star.kill(star.clients[1])
        run.wait(500)
        told = federation.log("run")
        assert weights.exists(), told[-4000:]
        assert "round 1: no answer from node" in told or told.count("round 1: client") == 1, told[-4000:]
        assert "round 1: client 0" in told
        assert "round 2: client 0" in told
        assert "client 1" not in told
