"""Capturing torch modules: what the graph computes is what the module computes, and so are its gradients."""

from __future__ import annotations

import copy
import json
import struct
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the front end captures torch modules")

import pantoum  # noqa: E402
from pantoum import _core  # noqa: E402
from pantoum._torch import capture  # noqa: E402
from pantoum._torch.check import gradients  # noqa: E402
from pantoum._torch.graph_file import GRAPH, STORED, TorchGraph  # noqa: E402
from pantoum._torch.losses import as_function, choose_loss  # noqa: E402
from pantoum._torch.structure import tensors_of  # noqa: E402
from pantoum._torch.trace import own_loss  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812
from zoo import WRITTEN, Case  # noqa: E402

# A few of each family; the others are long, and bench/python/models.py trains all of them.
QUICK = ("gradient_reversal", "vq_vae", "moving_teacher", "spectral_norm", "frozen_norms", "hf_llama", "detector")
# Modules that draw random numbers take others here than in eager mode: `check` compares those, with the draws given.
MODELS = [
    name if name in QUICK else pytest.param(name, marks=pytest.mark.long)
    for name, case in WRITTEN.items()
    if not case.draws and case.refused is None
]


def load(path: Path) -> TorchGraph:
    """Reads a torch graph file back."""
    data = Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    entries = json.loads(data[8 : 8 + length])
    entries.pop("__metadata__")
    words = {word.upper(): dtype for word, dtype in STORED.items()}
    tensors = {}
    for name, entry in entries.items():
        first, last = (8 + length + offset for offset in entry["data_offsets"])
        dtype = words[entry["dtype"]]
        empty = torch.empty(entry["shape"], dtype=dtype)
        tensors[name] = (
            torch.frombuffer(bytearray(data[first:last]), dtype=dtype).reshape(entry["shape"])
            if last > first
            else empty
        )
    return TorchGraph(json.loads(bytes(tensors.pop(GRAPH).numpy())), tensors)


def inputs_of(example: Any, target: Any) -> list[Any]:
    args, kwargs = ((), example) if isinstance(example, dict) else (example, {})
    return [tensor for _, tensor in tensors_of((args, kwargs, target))]


def eager(case: Case) -> tuple[Any, nn.Module]:
    module, (example, target) = case.module(), case.example()
    torch.manual_seed(5)
    output = module(**example) if isinstance(example, dict) else module(*example)
    function = as_function(choose_loss(case.loss))
    loss = own_loss(output, "") if function is None else function(output, target)
    loss.backward()
    return loss.detach(), module


@pytest.mark.parametrize("name", MODELS)
def test_the_captured_graph_has_the_loss_gradients_and_buffers_of_eager_mode(name: str) -> None:
    case = WRITTEN[name]
    example, target = case.example()
    graph = capture(case.module(), example, case.loss, target)
    torch.manual_seed(5)
    loss, found, values = gradients(graph, inputs_of(example, target))
    wanted, module = eager(case)
    assert loss.item() == pytest.approx(wanted.item(), rel=1e-5)
    trained = {key: parameter for key, parameter in module.named_parameters() if parameter.requires_grad}
    reached = {key for key, parameter in trained.items() if parameter.grad is not None}
    assert reached <= set(found) <= set(trained)
    largest = max(parameter.grad.norm().item() for parameter in trained.values() if parameter.grad is not None)
    for key, parameter in trained.items():
        if key not in found:
            continue
        grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        assert (found[key] - grad).norm().item() <= 1e-4 * max(grad.norm().item(), 1e-2 * largest), key
    buffers = {
        **dict(module.named_parameters()),
        **dict(module.named_buffers()),
    }  # forward may move what does not train
    for entry in graph.document["buffers"]:
        if entry["becomes"]:
            assert torch.allclose(values[entry["becomes"]], buffers[entry["name"]], rtol=1e-4, atol=1e-6), entry["name"]


def test_a_capture_changes_nothing_of_the_module() -> None:
    module = WRITTEN["spectral_norm"].module()
    before = copy.deepcopy(module.state_dict())
    modes = [each.training for each in module.modules()]
    capture(module, WRITTEN["spectral_norm"].example()[0], F.mse_loss)
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    assert [each.training for each in module.modules()] == modes
    assert all(type(value) in (torch.Tensor, nn.Parameter) for value in (*module.parameters(), *module.buffers()))


def test_frozen_norms_stay_frozen_while_they_are_captured() -> None:
    module = WRITTEN["frozen_norms"].module()
    modes = [each.training for each in module.modules()]
    graph = capture(module, *WRITTEN["frozen_norms"].example()[:1], F.cross_entropy)
    assert [each.training for each in module.modules()] == modes
    assert graph.operators()["aten._native_batch_norm_legit_no_training.default"] == 2


def test_a_shared_parameter_is_in_the_file_once() -> None:
    example, target = WRITTEN["tied_lm"].example()
    graph = capture(WRITTEN["tied_lm"].module(), example, WRITTEN["tied_lm"].loss, target)
    names = [entry["name"] for entry in graph.document["parameters"]]
    assert "words.weight" in names
    assert "head.weight" not in names


def test_a_file_is_read_back_as_it_was_written(tmp_path: Any) -> None:
    case = WRITTEN["detector"]
    graph = capture(case.module(), case.example()[0])
    again = load(graph.save(tmp_path / "detector.safetensors"))
    assert again.document == graph.document
    assert all(torch.equal(again.tensors[name], tensor) for name, tensor in graph.tensors.items())


def test_names_of_parameters_do_not_collide_with_constants() -> None:
    class Named(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.c_0 = nn.Parameter(torch.ones(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x * self.c_0 + torch.arange(3.0)).sum()

    graph = capture(Named(), torch.ones(2, 3))
    assert torch.equal(graph.tensors["c_0"], torch.ones(3))
    assert any(torch.equal(tensor, torch.arange(3.0)) for tensor in graph.tensors.values())


HOSTILE = (
    "grad",
    "label",
    "loss",
    "optim",
    "predict",
    "module",
    "self",
    "0",
    "a/b\n<i>",
    "h\u00e9llo w\u00f6rld",
    "#2",
    "x" * 200,
)


class Chain(nn.Module):
    """A chain of blocks that have these names, the first called twice and one of it shared by two places."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__()
        torch.manual_seed(0)
        for name in names:
            parts = [nn.Linear(4, 4), nn.Tanh()][name == "optim" :]  # no parameter may be called "optim.0.weight"
            self.add_module(name, nn.Sequential(*parts))
        self.layers = nn.ModuleList(
            [nn.utils.parametrizations.weight_norm(nn.Linear(4, 4)), self.get_submodule(names[0])]
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for name, block in self.named_children():
            x = block(x) if name != "layers" else block[1](block[0](x))
        return torch.relu(x)


def test_nodes_have_the_paths_of_their_modules() -> None:
    module, example = Chain(HOSTILE), torch.ones(2, 4)
    graph = capture(module, example, "mse")
    names = [node["name"] for node in graph.document["nodes"]]
    assert names == [node["name"] for node in capture(module, example, "mse").document["nodes"]]
    assert len(set(names)) == len(names)
    assert max(map(len, names)) < 100
    assert {entry["name"] for entry in graph.document["parameters"]} == {name for name, _ in module.named_parameters()}
    assert {"self.grad.0.linear", "self.grad.0.linear_1", "self.grad.1.tanh", "self.grad.1.tanh_1"} < set(names)
    assert {"module.0.linear", "0.0.linear", "layers.0.linear", "h\u00e9llo w\u00f6rld.0.linear", "relu"} < set(names)
    assert "layers.0.parametrizations.weight.0.mul" in names
    assert any(name.startswith("xxx") and name.endswith("xxx.0.linear") for name in names)


def test_names_of_modules_change_nothing_that_is_computed() -> None:
    data = [(torch.ones(2, 4), torch.zeros(2, 4))] * 3
    losses, kinds, phases = [], [], []
    for names in (HOSTILE, tuple(f"block{index}" if name != "optim" else name for index, name in enumerate(HOSTILE))):
        trainer = pantoum.compile(Chain(names), data[0][0], loss="mse", ram="1MiB", plan_options={"measure": "off"})
        losses.append(trainer.fit(data, verbose=0).history["loss"])
        report = json.loads(_core.report_json(trainer.plan._core))
        kinds.append({each["kind"]: each["computed"] for each in report["costs"]["kinds"]})
        phases.append([each["phase"] for each in report["schedule"]["phases"]])
    assert losses[0] == losses[1]
    assert kinds[0] == kinds[1]
    assert phases[0] == phases[1]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_other_reals_become_float32_and_are_told(dtype: torch.dtype) -> None:
    graph = capture(nn.Linear(3, 2).to(dtype), torch.ones(4, 3, dtype=dtype), lambda output: output.sum())
    assert {entry["dtype"] for entry in graph.document["parameters"]} == {"f32"}
    assert str(dtype).removeprefix("torch.") in graph.notes[0]


def test_a_module_on_the_meta_device_is_captured() -> None:
    with torch.device("meta"):
        module = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    graph = capture(module, torch.ones(2, 8), F.cross_entropy)
    assert [entry["shape"] for entry in graph.document["parameters"]] == [[16, 8], [16], [4, 16], [4]]
    assert all(parameter.device.type == "meta" for parameter in module.parameters())


def test_every_node_has_its_place_and_module() -> None:
    graph = capture(WRITTEN["hf_llama"].module(), *WRITTEN["hf_llama"].example())
    assert all("language.py:" in node["where"] for node in graph.document["nodes"])
    assert any(node["module"] == "layers.1.gate_proj" for node in graph.document["nodes"])


@pytest.mark.parametrize("dim", [0, 1])
def test_in_place_writes_are_functional(dim: int) -> None:
    class Writes(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(torch.arange(12.0).reshape(3, 4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.w * x
            y.select(dim, 1).mul_(3)
            y[1:, ::2] = 0
            return (y * y).sum()

    module = Writes()
    graph = capture(module, torch.ones(3, 4))
    loss, found, _ = gradients(graph, [torch.ones(3, 4)])
    wanted = module(torch.ones(3, 4))
    wanted.backward()
    assert loss.item() == wanted.item()
    assert torch.equal(found["w"], module.w.grad)


def test_checkpointed_parts_keep_their_gradient() -> None:
    from torch.utils.checkpoint import checkpoint

    class Checkpointed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = checkpoint(self.a, x, use_reentrant=True)
            return checkpoint(self.b, x, use_reentrant=False).square().sum()

    module, x = Checkpointed(), torch.ones(2, 4)
    _, found, _ = gradients(capture(module, x), [x])
    module(x.clone().requires_grad_()).backward()
    assert all(torch.allclose(found[name], parameter.grad) for name, parameter in module.named_parameters())
