"""What forward makes of buffers by operators that no step has (factorizations, transforms): PyTorch computes it while the
module is captured, and again when a buffer is replaced; elsewhere other contents are refused by name."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the front end captures torch modules")

import pantoum  # noqa: E402
from test_model import write_safetensors  # noqa: E402
from torch import Tensor, nn  # noqa: E402

N = 8
PLANNED: dict[str, Any] = {"kernels": "portable", "measure": "off", "effort": 1}

# What forward makes of the buffers: `a` well conditioned, `b` any matrix, `i` whole numbers. Each has N columns.
MADE: dict[str, Callable[[Any], Tensor]] = {
    "inv": lambda s: torch.linalg.inv(s.a),
    "inv of a product": lambda s: torch.linalg.inv(s.a @ s.b.T @ s.b + torch.eye(N)),
    "qr": lambda s: torch.linalg.qr(s.b)[0] * torch.linalg.qr(s.b)[1],
    "cholesky": lambda s: torch.linalg.cholesky(s.b @ s.b.T + torch.eye(N)),
    "eigh": lambda s: (lambda found: found[1] * found[0])(torch.linalg.eigh(s.a + s.a.T)),
    "svd": lambda s: torch.linalg.svdvals(s.b).expand(N, N),
    "det": lambda s: s.b * torch.linalg.det(s.a),
    "slogdet": lambda s: s.b * torch.linalg.slogdet(s.a)[1],
    "solve": lambda s: torch.linalg.solve(s.a, s.b),
    "pinv": lambda s: torch.linalg.pinv(s.b[:, :5]).T @ s.b[:5],
    "matrix_exp": lambda s: torch.matrix_exp(s.b * 0.1),
    "solve_triangular": lambda s: torch.linalg.solve_triangular(s.a.tril(), s.b, upper=False),
    "rfft": lambda s: torch.fft.rfft(s.b, dim=0).abs()[:4].repeat(2, 1),
    "fft and back": lambda s: torch.fft.ifft(torch.fft.fft(s.b) * torch.exp(-0.1 * torch.arange(N))).real,
    "fft2": lambda s: torch.view_as_real(torch.fft.fft2(s.b)).sum(-1),
    "stft": lambda s: torch.stft(s.b.reshape(-1), N, hop_length=N, return_complex=True).abs().mean(0)[:N].expand(N, N),
    "complex": lambda s: torch.polar(s.b.abs(), s.a).real + torch.complex(s.a, s.b).angle(),
    "bessel": lambda s: torch.special.bessel_j0(s.b) + torch.special.i0e(s.a),
    "histogram": lambda s: torch.histc(s.b, N, -3, 3).expand(N, N) * s.a,
    "cross": lambda s: torch.linalg.cross(s.a[:3], s.b[:3], dim=0).repeat(3, 1)[:N],
    "two of one": lambda s: torch.linalg.inv(s.a) + torch.linalg.qr(s.a)[1] + s.a,
    "of several": lambda s: torch.linalg.solve(s.a, s.b[s.i]) + torch.fft.rfft(s.b[s.i % 3], dim=0).real[:1],
    "triangular inverse": lambda s: torch.cholesky_inverse(torch.linalg.cholesky(s.b @ s.b.T + torch.eye(N))),
    "householder": lambda s: torch.linalg.householder_product(*torch.geqrf(s.b)),
}


class Module(nn.Module):
    def __init__(self, name: str, seed: int = 1, dtype: Any = torch.float32) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.made, self.first, self.second = MADE[name], nn.Linear(N, N), nn.Linear(N, 2)
        draw = torch.Generator().manual_seed(seed)
        self.register_buffer("a", (torch.randn(N, N, generator=draw) * 0.3 + 2 * torch.eye(N)).to(dtype))
        self.register_buffer("b", torch.randn(N, N, generator=draw).to(dtype))
        self.register_buffer("i", torch.randint(0, N, (N,), generator=draw))

    def forward(self, x: Tensor) -> Tensor:
        return self.second(torch.tanh(self.first(x) @ self.made(self).float() * 0.3))


X, Y = torch.randn(16, N, generator=torch.Generator().manual_seed(3)), torch.zeros(16, 2)


def compiled(module: nn.Module, ram: Any) -> Any:
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    return pantoum.compile(module, (X, Y), loss="mse", ram=ram, optimizer=optimizer, plan_options=PLANNED)


def stepped(module: nn.Module, steps: int) -> list[float]:
    optimizer, losses = torch.optim.SGD(module.parameters(), lr=0.1), []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(module(X), Y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def arrays(module: nn.Module) -> dict[str, Any]:
    return {name: tensor.detach().numpy().copy() for name, tensor in module.state_dict().items()}


@pytest.mark.parametrize("name", MADE)
def test_it_follows_the_buffers_in_every_budget(name: str, tmp_path: Path) -> None:
    other = arrays(Module(name, seed=2))
    first, second = stepped(Module(name), 2), stepped(Module(name, seed=2), 3)
    states = []
    with pytest.raises(pantoum.Infeasible) as least:
        compiled(Module(name), "1KiB")
    for ram in ("64MiB", least.value.min_ram):
        with compiled(Module(name), ram) as trainer:
            assert list(trainer.state_dict()) == list(arrays(Module(name)))
            assert [trainer.step(X, Y) for _ in range(2)] == pytest.approx(first, rel=1e-4)
            trainer.load_state_dict(other)
            losses = [trainer.step(X, Y)]
            trainer.save(tmp_path / "saved.safetensors")
            losses += [trainer.step(X, Y) for _ in range(2)]
            assert losses == pytest.approx(second, rel=1e-4)
            fresh = Module(name)
            trainer.copy_to(fresh)
            states.append((losses, {key: value.tobytes() for key, value in trainer.state_dict().items()}))
            assert arrays(fresh)["b"].tobytes() == other["b"].tobytes()
    assert states[0] == states[1]
    with compiled(Module(name), "64MiB") as trainer:  # resumes what the other budget saved
        trainer.resume(tmp_path / "saved.safetensors")
        assert [trainer.step(X, Y) for _ in range(2)] == states[0][0][1:]


def test_one_buffer_alone_is_replaced() -> None:
    module, wanted = Module("of several"), Module("of several")
    new = torch.randn(N, N, generator=torch.Generator().manual_seed(9)) + 3 * torch.eye(N)
    wanted.a.copy_(new)
    with compiled(module, "64MiB") as trainer:
        trainer.load_state_dict({"a": new.numpy()}, strict=False)
        assert trainer.step(X, Y) == pytest.approx(stepped(wanted, 1)[0], rel=1e-4)


def test_contents_of_which_it_cannot_be_computed_change_nothing() -> None:
    with compiled(Module("inv"), "64MiB") as trainer:
        before = {key: value.tobytes() for key, value in trainer.state_dict().items()}
        state = {**arrays(Module("inv", seed=2)), "a": np.zeros((N, N), np.float32)}
        with pytest.raises(pantoum.InvalidInput, match=r"PyTorch cannot compute what forward makes of a: .*singular"):
            trainer.load_state_dict(state)
        with pytest.raises(pantoum.InvalidInput, match="no such tensor: computed"):
            trainer.load_state_dict({"computed.linalg_inv_ex.0": state["a"]}, strict=False)
        assert before == {key: value.tobytes() for key, value in trainer.state_dict().items()}
        assert trainer.step(X, Y) == pytest.approx(stepped(Module("inv"), 1)[0], rel=1e-4)
    singular = Module("inv")
    singular.a.zero_()
    with pytest.raises(pantoum.Unsupported, match="PyTorch cannot compute what forward makes of the buffers a"):
        compiled(singular, "64MiB")


class Shaped(Module):
    """Whole numbers decide which rows there are."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) * torch.bincount(self.i, minlength=N)[:2]


def test_other_contents_of_what_a_shape_follows_are_refused(tmp_path: Path) -> None:
    path, state = tmp_path / "saved.safetensors", arrays(Shaped("inv"))
    with compiled(Shaped("inv"), "64MiB") as trainer:
        trainer.load_state_dict(state)
        before = trainer.state_dict()
        with pytest.raises(pantoum.InvalidInput, match=r"the step follows the buffer 'i'"):
            trainer.load_state_dict({**state, "i": (state["i"] + 1) % N})
        assert all(np.array_equal(array, before[name]) for name, array in trainer.state_dict().items())
        trainer.save(path)
        trainer.resume(path)
    moved = Shaped("inv")
    moved.i.copy_(torch.from_numpy((state["i"] + 1) % N))
    with (
        compiled(moved, "64MiB") as trainer,
        pytest.raises(pantoum.InvalidInput, match=r"the step follows the buffer 'i'"),
    ):
        trainer.resume(path)


def test_wide_buffers_are_computed_of_as_they_are() -> None:
    with compiled(Module("inv", dtype=torch.float64), "64MiB") as trainer:
        trainer.load_state_dict(arrays(Module("inv", seed=2, dtype=torch.float64)))
        wanted = stepped(Module("inv", seed=2, dtype=torch.float64), 1)
        assert trainer.step(X, Y) == pytest.approx(wanted[0], rel=1e-4)


# Whole numbers of 8 and 16 bits: PyTorch computes what is of them alone, with its overflow; beside data they are exact.
SMALL: dict[str, Callable[[Any, Tensor], Tensor]] = {
    "beside data": lambda s, x: x * s.wide + s.narrow * x.sum(1, keepdim=True),
    "overflow": lambda s, x: x * (s.wide + s.wide) - (s.narrow * s.narrow),
    "an index": lambda s, x: x[:, (s.narrow % N).long()] + x[:, s.wide.int().abs() % N],
    "a condition": lambda s, x: torch.where(s.wide > 100, x, -x) * (s.narrow == s.narrow.max()),
    "as a real": lambda s, x: x @ torch.linalg.inv(s.wide.float().diag() + 40000 * torch.eye(N)) * s.narrow.double(),
    "views": lambda s, x: x * s.wide.view(2, -1).repeat(1, 2)[1] + s.narrow.flip(0)[None].expand(16, N),
    "beside whole numbers": lambda s, x: x * (x > 0).long().mul(s.wide).add(s.narrow).float(),
    "a literal": lambda s, x: x * torch.tensor([3, 300, -30000, 7], dtype=torch.int16).repeat(2) + s.narrow,
    "filled": lambda s, x: x * torch.full((N,), 300, dtype=torch.int16) - torch.ones(N, dtype=torch.int8) * s.narrow,
}


class Small(nn.Module):
    def __init__(self, name: str, seed: int = 1) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.made, self.first = SMALL[name], nn.Linear(N, N)
        draw = torch.Generator().manual_seed(seed)
        self.register_buffer("wide", torch.randint(-(2**15), 2**15, (N,), generator=draw).to(torch.int16))
        self.register_buffer("narrow", torch.randint(-128, 128, (N,), generator=draw).to(torch.int8))

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.made(self, self.first(x)).float() / 30000)[:, :2]


@pytest.mark.parametrize("name", SMALL)
def test_small_whole_numbers_are_exact(name: str, tmp_path: Path) -> None:
    other = Small(name, seed=2)
    with compiled(Small(name), "64MiB") as trainer:
        assert [trainer.step(X, Y) for _ in range(2)] == pytest.approx(stepped(Small(name), 2), rel=1e-5)
        read = {tensor.name for tensor in trainer.tensors} & {"wide", "narrow"}
        assert read
        trainer.load_state_dict(arrays(other))
        trainer.save(tmp_path / "saved.safetensors")
        fresh = Small(name)
        trainer.copy_to(fresh)
        assert all(torch.equal(fresh.get_buffer(each), other.get_buffer(each)) for each in read)
        assert trainer.step(X, Y) == pytest.approx(stepped(other, 1)[0], rel=1e-5)
        trainer.resume(tmp_path / "saved.safetensors")
        assert trainer.step(X, Y) == pytest.approx(stepped(Small(name, seed=2), 1)[0], rel=1e-5)
        if "wide" in read:
            with pytest.raises(
                pantoum.InvalidInput, match="'wide' is int16 in the module, and has numbers from 0 to 40000"
            ):
                trainer.load_state_dict({"wide": np.linspace(0, 40000, N).astype(np.int32)}, strict=False)


def test_small_whole_numbers_that_data_reach_are_refused() -> None:
    class Moving(Small):
        def forward(self, x: Tensor) -> Tensor:
            self.wide.add_(1)
            return super().forward(x)

    class Made(Small):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x) * x.to(torch.int16)[:, :2]

    for kind in (Moving, Made):
        with pytest.raises(pantoum.Unsupported, match="the type int16 cannot be computed with"):
            compiled(kind("beside data"), "64MiB")


def test_a_buffer_that_forward_changes_is_refused() -> None:
    class Moving(Module):
        def forward(self, x: Tensor) -> Tensor:
            self.a.add_(0.1)
            return super().forward(x)

    with pytest.raises(pantoum.Unsupported, match=r"linalg\.inv of a matrix"):
        compiled(Moving("inv"), "64MiB")


def test_other_contents_are_refused_by_name_elsewhere(tmp_path: Path) -> None:
    graph, same, other = (tmp_path / f"{name}.safetensors" for name in ("graph", "same", "other"))
    model = pantoum.from_torch(Module("inv"), (X, Y), loss="mse", optimizer="sgd")
    model.graph.save(graph)
    write_safetensors(same, arrays(Module("inv")))
    write_safetensors(other, {f"model.{name}": array for name, array in arrays(Module("inv", seed=2)).items()})
    with pytest.raises(pantoum.InvalidInput, match=r"'model\.a'") as caught:
        pantoum.plan(model.with_options(weights=other), "64MiB", **PLANNED)
    assert caught.value.code == "E0242"
    planned = pantoum.plan(model.with_options(weights=same), "64MiB", **PLANNED)
    for weights in (other, same):  # of a trainer that is there: by the exact names
        state = arrays(Module("inv", seed=2 if weights == other else 1))
        write_safetensors(tmp_path / "exact.safetensors", state)
        if weights == same:
            pantoum.Trainer(planned, weights=tmp_path / "exact.safetensors").close()
            continue
        with pytest.raises(pantoum.InvalidInput, match=r"'a'") as caught:
            pantoum.Trainer(planned, weights=tmp_path / "exact.safetensors")
        assert caught.value.code == "E0242"
    with pantoum.Trainer(planned) as trainer:
        state = trainer.state_dict()
        trainer.load_state_dict({"a": state["a"]}, strict=False)
        with pytest.raises(
            pantoum.InvalidInput, match=r"PyTorch computed 'computed\.linalg_inv_ex\.0' of 'a'"
        ) as caught:
            trainer.load_state_dict({"a": state["a"] + 1}, strict=False)
        assert caught.value.code == "E0262"
        assert np.array_equal(trainer.state_dict()["a"], state["a"])
    program = Path(pantoum.__file__).parent / "pantoum"
    words: list[Any] = [
        program,
        "plan",
        graph,
        "--ram",
        "64MiB",
        "--effort",
        "1",
        "--loss",
        "mse",
        "--kernels",
        "portable",
    ]
    assert subprocess.run([*words, "--weights", same], capture_output=True, check=False).returncode == 0
    told = subprocess.run([*words, "--weights", other], capture_output=True, text=True, check=False)
    assert told.returncode == 3
    assert "E0242" in told.stderr
    assert "'model.a'" in told.stderr
