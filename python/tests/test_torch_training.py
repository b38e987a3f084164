"""Torch modules, trained by the compiler: compile, step, fit, evaluate, copy_to, check, estimate."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the front end captures torch modules")

import pantoum  # noqa: E402
from pantoum._torch.check import first_difference  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812
from zoo import WRITTEN  # noqa: E402

PLANNED: dict[str, Any] = {"kernels": "portable", "measure": "off", "gap": "5%", "time_limit": "5s"}


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))


def batch(samples: int = 8) -> tuple[Tensor, Tensor]:
    torch.manual_seed(1)
    return torch.randn(samples, 6), torch.randint(0, 3, (samples,))


def compiled(module: nn.Module, **options: Any) -> Any:
    asked = {
        "loss": "cross_entropy",
        "optimizer": torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9),
        "plan_options": PLANNED,
    }
    return pantoum.compile(module, batch(), **{**asked, **options})


def eager(module: nn.Module, steps: int) -> list[float]:
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(module(batch()[0]), batch()[1])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("loss", ["cross_entropy", F.cross_entropy, nn.CrossEntropyLoss()])
def test_steps_and_weights_are_those_of_pytorch(loss: Any) -> None:
    module = net()
    with compiled(module, loss=loss) as trainer:
        losses = [trainer.step(*batch()) for _ in range(5)]
        trainer.copy_to(module)
    wanted = net()
    assert losses == pytest.approx(eager(wanted, 5), rel=1e-5)
    for name, tensor in wanted.state_dict().items():
        if name.endswith("num_batches_tracked"):
            continue
        assert torch.allclose(module.state_dict()[name], tensor, atol=1e-6), name


def test_a_loader_of_torch_is_an_iterable_of_batches() -> None:
    data = torch.utils.data.TensorDataset(*batch(32))
    with compiled(net()) as trainer:
        history = trainer.fit(torch.utils.data.DataLoader(data, batch_size=8), epochs=2)
        assert len(history.history["loss"]) == 2
        assert trainer.steps_done == 8
        assert trainer.evaluate(batch(16))["loss"] > 0


OWN = (
    "mean_teacher",
    "graph_net",
    *(pytest.param(name, marks=pytest.mark.long) for name in ("vq_vae", "hf_llama", "clip", "moving_teacher")),
)


@pytest.mark.parametrize("name", OWN)
def test_a_module_with_its_own_loss_takes_the_inputs_alone(name: str) -> None:
    case = WRITTEN[name]
    example, target = case.example()
    with pantoum.compile(
        case.module(), example, target=target, loss=case.loss, optimizer=pantoum.Sgd(lr=case.lr), plan_options=PLANNED
    ) as trainer:
        losses = [trainer.step(example) if target is None else trainer.step(example, target) for _ in range(4)]
        assert np.isfinite(losses).all()
        assert len(set(losses)) == 4
        history = trainer.fit([example if target is None else (example, target)] * 3)
        assert len(history.history["loss"]) == 1


def test_shared_weights_are_copied_to_every_owner() -> None:
    case = WRITTEN["tied_lm"]
    module, (example, target) = case.module(), case.example()
    with pantoum.compile(
        module, example, target=target, loss=case.loss, optimizer="sgd", plan_options=PLANNED
    ) as trainer:
        trainer.step(*example, target)
        trainer.copy_to(module)
    assert module.head.weight is module.words.weight


def test_frozen_parameters_and_buffers_stay() -> None:
    case = WRITTEN["lora"]
    module, (example, target) = case.module(), case.example()
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    with pantoum.compile(
        module, example, target=target, loss=case.loss, optimizer=pantoum.Sgd(lr=0.1), plan_options=PLANNED
    ) as trainer:
        trainer.step(*example, target)
        trainer.copy_to(module)
    trained = {name for name, parameter in module.named_parameters() if parameter.requires_grad}
    for name, tensor in module.state_dict().items():
        assert torch.equal(tensor, before[name]) != (name in trained), name


def test_parameters_that_no_gradient_reaches_do_not_decay() -> None:
    class Unused(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.unused = nn.Linear(6, 3), nn.Linear(6, 3)

        def forward(self, x: Tensor) -> Tensor:
            return self.used(x) + self.unused(x).detach()

    module = Unused()
    before = module.unused.weight.detach().clone()
    with compiled(module, optimizer=torch.optim.SGD(module.parameters(), lr=0.1, weight_decay=0.5)) as trainer:
        trainer.step(*batch())
        trainer.copy_to(module)
    assert torch.equal(module.unused.weight, before)


def test_copying_to_another_module_is_refused_and_changes_nothing() -> None:
    other = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 4))
    before = other[0].weight.detach().clone()
    with compiled(net()) as trainer, pytest.raises(pantoum.InvalidInput) as caught:
        trainer.copy_to(other)
    assert "3.weight" in str(caught.value)
    assert torch.equal(other[0].weight, before)


@pytest.mark.parametrize(
    "optimizer",
    [
        pantoum.AdamW(lr=0.01),
        lambda p: torch.optim.Adam(p, lr=0.01, weight_decay=0.1),
        lambda p: torch.optim.RMSprop(p, centered=True),
        lambda p: torch.optim.Adagrad(p),
    ],
    ids=["adamw", "adam", "rmsprop", "adagrad"],
)
def test_check_finds_pytorch_s_training(optimizer: Any) -> None:
    module = net()
    report = pantoum.check(
        module,
        batch(),
        F.cross_entropy,
        optimizer(module.parameters()) if callable(optimizer) else optimizer,
        plan_options=PLANNED,
    )
    assert report.ok, str(report)
    assert len(report.losses) == 5
    assert {each.what for each in report.gradients} == {name for name, _ in module.named_parameters()}
    assert "equal to PyTorch" in str(report)


def test_check_names_the_operator_that_differs_first() -> None:
    graph = pantoum.torch_graph(net(), batch(), F.cross_entropy)
    assert first_difference(graph, list(batch()), 1e-5)[0] == ""
    node = next(node for node in graph.document["nodes"] if node["op"] == "aten.relu.default")
    wrong = first_difference.__globals__["gradients"]
    first_difference.__globals__["gradients"] = lambda single, *rest: _doubled(
        wrong(single, *rest), "relu" in single.name
    )
    try:
        assert first_difference(graph, list(batch()), 1e-5)[0].startswith(f"aten.relu.default '{node['name']}'")
    finally:
        first_difference.__globals__["gradients"] = wrong


def _doubled(answer: Any, double: bool) -> Any:
    loss, found, values = answer
    return loss, {name: each * (2 if double else 1) for name, each in found.items()}, values


def test_a_captured_model_is_estimated_planned_and_pickled() -> None:
    model = pantoum.from_torch(net(), batch(), loss=F.cross_entropy, optimizer="adam")
    again = pickle.loads(pickle.dumps(model))
    plan = pantoum.plan(again, **PLANNED)
    assert next(tensor.name for tensor in plan.batch) == "input"
    table = pantoum.estimate(
        net(), batch(), loss="cross_entropy", budgets=2, plan={"kernels": "portable", "measure": "off"}
    )
    assert table.unplanned_peak_bytes > 0
    assert table.rows


def test_groups_of_parameters_decay_as_they_say() -> None:
    module = net()
    groups = [
        {"params": [p for p in module.parameters() if p.dim() > 1]},
        {"params": [p for p in module.parameters() if p.dim() == 1], "weight_decay": 0.0},
    ]
    report = pantoum.check(
        module, batch(), F.cross_entropy, torch.optim.AdamW(groups, lr=0.01, weight_decay=0.5), plan_options=PLANNED
    )
    assert report.ok, str(report)


def test_arrays_of_numpy_train_as_tensors_do() -> None:
    x, y = batch()
    with compiled(net()) as a, compiled(net()) as b:
        assert a.step(x, y) == b.step(np.asarray(x), np.asarray(y))


def test_what_float32_moves_in_pytorch_too_counts_as_rounding() -> None:
    from pantoum._torch.check import CheckReport, Difference, Rounding

    def report(gradient: float, loss: float, rounding: float) -> CheckReport:
        return CheckReport(
            "net", 1e-5, loss, gradients=[Difference("w", gradient)], rounding=Rounding(gradients=rounding)
        )

    assert not report(2e-4, 0, 0).ok
    assert report(2e-4, 0, 1e-4).ok
    assert "1.0e-04 in gradients" in str(report(2e-4, 0, 1e-4))
    assert not report(4e-4, 0, 1e-4).ok
    assert not report(2e-4, 2e-4, 1e-4).ok, "another figure's rounding"


def test_equal_infinities_hide_nothing() -> None:
    from pantoum._torch.check import distances

    mask = np.array([0.0, -np.inf])
    near = distances({"mask": mask, "w": np.array([1.0, 1.1])}, {"mask": mask, "w": np.array([1.0, 1.0])})
    assert [each.what for each in near] == ["w", "mask"]
    assert near[0].error > 0.05
    assert distances({"mask": np.array([0.0, 1.0])}, {"mask": mask})[0].error == np.inf
