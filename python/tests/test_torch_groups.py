"""Rates, decays and schedulers of torch.optim are read before every step; what no plan can follow is refused."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import pantoum  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.optim import lr_scheduler  # noqa: E402

PLANNED: dict[str, Any] = {"kernels": "portable", "threads": 1, "measure": "off", "effort": 1}
STEPS = 10

OPTIMIZERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "sgd": lambda groups: torch.optim.SGD(groups, lr=0.1, momentum=0.9, nesterov=True),
    "adam": lambda groups: torch.optim.Adam(groups, lr=0.01, amsgrad=True),
    "adamw": lambda groups: torch.optim.AdamW(groups, lr=0.01),
    "rmsprop": lambda groups: torch.optim.RMSprop(groups, lr=0.01, momentum=0.5, centered=True, weight_decay=0.01),
    "adagrad": lambda groups: torch.optim.Adagrad(groups, lr=0.05, initial_accumulator_value=0.1),
}
SCHEDULERS: dict[str, Callable[[Any], Any]] = {
    "step": lambda optimizer: lr_scheduler.StepLR(optimizer, 3, 0.5),
    "cosine": lambda optimizer: lr_scheduler.CosineAnnealingLR(optimizer, STEPS, 1e-3),
    "one-cycle": lambda optimizer: lr_scheduler.OneCycleLR(
        optimizer, [0.05, 0.1, 0.02], total_steps=STEPS + 1, cycle_momentum=False
    ),
    "lambda": lambda optimizer: lr_scheduler.LambdaLR(
        optimizer, [lambda step: 0.9**step, lambda step: 1 / (1 + step), lambda step: 1.0]
    ),
    "plateau": lambda optimizer: lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.3, patience=0, threshold=0.2),
}


class Net(nn.Module):
    """Words, a hidden layer, classes."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.words = nn.Embedding(20, 6)
        self.first, self.norm, self.head = nn.Linear(18, 16), nn.LayerNorm(16), nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(torch.tanh(self.norm(self.first(self.words(x).flatten(1)))))


def groups_of(net: Net) -> list[dict[str, Any]]:
    return [
        {"params": [net.first.weight, net.words.weight]},
        {"params": net.head.parameters(), "lr": 0.03, "weight_decay": 0.1},
        {"params": [*net.norm.parameters(), net.first.bias], "weight_decay": 0.0},
    ]


def batches() -> list[tuple[Tensor, Tensor]]:
    random = torch.Generator().manual_seed(5)
    return [
        (torch.randint(0, 20, (8, 3), generator=random), torch.randint(0, 4, (8,), generator=random))
        for _ in range(STEPS)
    ]


def compiled(net: nn.Module, optimizer: Any, **options: Any) -> Any:
    return pantoum.compile(
        net, batches()[0], loss=nn.CrossEntropyLoss(), optimizer=optimizer, plan_options=PLANNED, **options
    )


def least_ram(net: nn.Module, optimizer: Any) -> Any:
    with pytest.raises(pantoum.Infeasible) as caught:
        compiled(net, optimizer, ram="1B")
    return caught.value.min_ram


def expect_as_pytorch(net: nn.Module, trainer: Any) -> None:
    found = trainer.state_dict()
    for name, wanted in net.named_parameters():
        torch.testing.assert_close(torch.from_numpy(found[name]), wanted.detach(), rtol=2e-4, atol=5e-6, msg=name)


def advance(scheduler: Any, loss: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the optimizer counts as one that steps
        if isinstance(scheduler, lr_scheduler.ReduceLROnPlateau):
            scheduler.step(loss)
        else:
            scheduler.step()


def eager(change: Callable[[Any, int, float], None], make: Callable[[Net], Any]) -> tuple[Net, list[float]]:
    """PyTorch's training; `change` gets what `make` gave, the step and its loss."""
    net = Net()
    made = make(net)
    optimizer, losses = made[0] if isinstance(made, tuple) else made, []
    for step, (x, y) in enumerate(batches()):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        change(made, step, loss.item())
    return net, losses


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_a_scheduler_of_pytorch_sets_the_rates_of_all_groups(kind: str, scheduler: str) -> None:
    def make(net: Net) -> tuple[Any, Any]:
        optimizer = OPTIMIZERS[kind](groups_of(net))
        return optimizer, SCHEDULERS[scheduler](optimizer)

    wanted, losses = eager(lambda made, step, loss: advance(made[1], loss), make)
    net = Net()
    optimizer, schedule = make(net)
    tight = list(SCHEDULERS).index(scheduler) % 2 == 1
    with compiled(net, optimizer, ram=least_ram(net, optimizer) if tight else None) as trainer:
        found = []
        for batch in batches():
            found.append(trainer.step(*batch))
            advance(schedule, found[-1])
        assert found == pytest.approx(losses, rel=1e-4)
        expect_as_pytorch(wanted, trainer)


@pytest.mark.parametrize("as_iterable", [False, True])
def test_fit_reads_the_rates_before_every_batch(as_iterable: bool) -> None:
    def make(net: Net) -> tuple[Any, Any]:
        optimizer = OPTIMIZERS["adamw"](groups_of(net))
        return optimizer, lr_scheduler.ExponentialLR(optimizer, 0.7)

    wanted, losses = eager(lambda made, step, loss: made[1].step(), make)
    net = Net()
    optimizer, schedule = make(net)
    told: list[float] = []

    class Step(pantoum.Callback):
        def on_batch_end(self, batch: int, logs: dict[str, float]) -> None:
            told.append(logs["lr"])
            schedule.step()

    with compiled(net, optimizer, trainer_options={"shuffle": False}) as trainer:
        x, y = (torch.cat(parts) for parts in zip(*batches(), strict=True))
        data = batches() if as_iterable else (x, y)
        history = trainer.fit(data, callbacks=Step())
        assert history.history["loss"] == pytest.approx([sum(losses) / STEPS], rel=1e-4)
        assert told == pytest.approx([0.01 * 0.7**step for step in range(STEPS)])
        expect_as_pytorch(wanted, trainer)
        before = optimizer.param_groups[0]["lr"]
        trainer.evaluate(x, y)
        assert optimizer.param_groups[0]["lr"] == before


@pytest.mark.parametrize("kind", ["plain", *OPTIMIZERS])
def test_rates_and_decays_are_set_in_the_groups_themselves(kind: str) -> None:
    """An embedding that plain SGD trains row by row decays in all rows from the step on in which its group does."""

    def make(net: Net) -> Any:
        return torch.optim.SGD(groups_of(net), lr=0.1) if kind == "plain" else OPTIMIZERS[kind](groups_of(net))

    def change(optimizer: Any, step: int, loss: float = 0) -> None:
        first, second, third = optimizer.param_groups
        if step == 2:
            first["weight_decay"], third["lr"] = 0.3, torch.tensor(0.02)
        if step == 4:
            first["lr"], second["weight_decay"] = 0.02, 0.0
        if step == 7:
            first["weight_decay"], second["lr"] = 0.0, 0.0

    wanted, losses = eager(change, make)
    net = Net()
    optimizer = make(net)
    with compiled(net, optimizer) as trainer:
        found = []
        for step, batch in enumerate(batches()):
            found.append(trainer.step(*batch))
            change(optimizer, step)
        assert found == pytest.approx(losses, rel=1e-4)
        expect_as_pytorch(wanted, trainer)
        assert trainer.groups[1].lr == 0.0


@pytest.mark.parametrize("back", [False, True])
def test_a_resumed_trainer_goes_on_with_the_rates_it_had(back: bool, tmp_path: Any) -> None:
    """`back`: the rates of the next step are again those that the plan was made with."""

    def make(net: Net) -> tuple[Any, Any]:
        optimizer = OPTIMIZERS["adam"](groups_of(net))
        if back:
            return optimizer, lr_scheduler.LambdaLR(optimizer, lambda step: 0.5 if step in (3, 4) else 1.0)
        return optimizer, lr_scheduler.StepLR(optimizer, 2, 0.5)

    wanted, losses = eager(lambda made, step, loss: made[1].step(), make)
    net = Net()
    optimizer, schedule = make(net)
    with compiled(net, optimizer) as trainer:
        for batch in batches()[:5]:
            trainer.step(*batch)
            schedule.step()
        trainer.save(tmp_path / "point")
        kept = optimizer.state_dict(), schedule.state_dict()
    net = Net()
    optimizer, schedule = make(net)
    with compiled(net, optimizer) as trainer:
        optimizer.load_state_dict(kept[0])
        schedule.load_state_dict(kept[1])
        trainer.resume(tmp_path / "point")
        for batch, loss in zip(batches()[5:], losses[5:], strict=True):
            assert trainer.step(*batch) == pytest.approx(loss, rel=1e-4)
            schedule.step()
        expect_as_pytorch(wanted, trainer)


def another_group(net: Net, optimizer: Any) -> None:
    optimizer.add_param_group({"params": [nn.Parameter(torch.zeros(2))]})


def moved(net: Net, optimizer: Any) -> None:
    optimizer.param_groups[1]["params"].pop()


REFUSED: dict[str, tuple[Callable[[Net, Any], Any], str]] = {
    "betas": (lambda net, optimizer: optimizer.param_groups[1].update(betas=(0.5, 0.999)), "head.weight"),
    "eps": (lambda net, optimizer: optimizer.param_groups[0].update(eps=1e-3), "first.weight"),
    "amsgrad": (lambda net, optimizer: optimizer.param_groups[2].update(amsgrad=False), "norm.weight"),
    "maximize": (lambda net, optimizer: optimizer.param_groups[0].update(maximize=True), "first.weight"),
    "a group more": (another_group, "4"),
    "other parameters": (moved, "head.weight"),
    "freezing": (lambda net, optimizer: net.head.bias.requires_grad_(False), "head.bias"),
    "thawing": (lambda net, optimizer: net.frozen.requires_grad_(), "frozen"),
    "eval": (lambda net, optimizer: net.eval(), "Frozen"),
    "eval of a part": (lambda net, optimizer: net.norm.eval(), "norm"),
    "train of a part": (lambda net, optimizer: net.still.train(), "still"),
    "a scheduler of momentum": (
        lambda net, optimizer: lr_scheduler.OneCycleLR(optimizer, [0.1] * 3, total_steps=9).step(),
        "cycle_momentum=False",
    ),
}


class Frozen(Net):
    def __init__(self) -> None:
        super().__init__()
        self.frozen = nn.Parameter(torch.ones(3), requires_grad=False)
        self.still = nn.Dropout(0.5).eval()

    def forward(self, x: Tensor) -> Tensor:
        return self.still(super().forward(x)) * self.frozen.mean()


@pytest.mark.parametrize("what", REFUSED)
def test_what_a_step_cannot_follow_is_refused_by_name(what: str) -> None:
    change, name = REFUSED[what]
    net = Frozen()
    optimizer = OPTIMIZERS["adam"](groups_of(net))
    with compiled(net, optimizer) as trainer:
        trainer.step(*batches()[0])
        before = trainer.state_dict()
        change(net, optimizer)
        x, y = batches()[1]
        for step in (lambda: trainer.step(x, y), lambda: trainer.fit(x, y), lambda: trainer.fit([(x, y)])):
            with pytest.raises(pantoum.UsageError, match=name) as caught:
                step()
            assert caught.value.code == "E0105"
        after = trainer.state_dict()
        assert all((before[key] == after[key]).all() for key in before), "nothing has changed"
        trainer.evaluate(x, y)


def test_what_is_set_back_goes_on() -> None:
    net = Net()
    optimizer = OPTIMIZERS["adamw"](groups_of(net))
    with compiled(net, optimizer) as trainer:
        net.eval()
        trainer.copy_to(net)
        net.train()
        trainer.step(*batches()[0])


def test_what_was_garbage_collected_changes_no_more() -> None:
    trainer = compiled(net := Net(), torch.optim.SGD(net.parameters(), lr=0.1))
    del net
    gc.collect()
    with trainer:
        first = trainer.step(*batches()[0])
        assert trainer.step(*batches()[0]) < first


def test_the_rate_of_the_trainer_holds_until_the_optimizers_changes() -> None:
    net = Net()
    optimizer = OPTIMIZERS["sgd"](net.parameters())
    with compiled(net, optimizer) as trainer:
        trainer.set_learning_rate(0.0)
        trainer.step(*batches()[0])
        expect_as_pytorch(net, trainer)
        optimizer.param_groups[0]["lr"] = 0.2
        trainer.step(*batches()[0])
        with pytest.raises(AssertionError):
            expect_as_pytorch(net, trainer)


@pytest.mark.parametrize("name", ["lr", "weight_decay", "groups"])
def test_a_rate_beside_an_optimizer_of_pytorch_is_refused(name: str) -> None:
    net = Net()
    value = [pantoum.Group("*", lr=0.1)] if name == "groups" else 0.1
    with pytest.raises(pantoum.UsageError, match=rf"leave {name}= out") as caught:
        compiled(net, OPTIMIZERS["sgd"](net.parameters()), **{name: value})
    assert caught.value.code == "E0116"


def test_check_compares_groups() -> None:
    net = Net()
    report = pantoum.check(
        net,
        batches()[0],
        loss=nn.CrossEntropyLoss(),
        optimizer=OPTIMIZERS["adamw"](groups_of(net)),
        plan_options=PLANNED,
    )
    assert report.ok, str(report)


def test_groups_of_pantoums_own() -> None:
    model = pantoum.from_torch(
        Net(),
        batches()[0],
        loss=nn.CrossEntropyLoss(),
        optimizer=pantoum.Sgd(lr=0.1),
        groups=[pantoum.Group("head.*", lr=0.0), pantoum.Group("norm.*|*.bias", weight_decay=0.0)],
    )
    with pantoum.Trainer(pantoum.plan(model, **PLANNED)) as trainer:
        assert trainer.groups == [pantoum.Group("head.*", 0.0), pantoum.Group("norm.*|*.bias", None, 0.0)]
        x, y = (each.numpy() for each in batches()[0])
        before = trainer.state_dict()
        trainer.step(x, y)
        after = trainer.state_dict()
        assert (before["head.weight"] == after["head.weight"]).all()
        assert not (before["first.weight"] == after["first.weight"]).all()
        trainer.set_group(0, lr=0.5, weight_decay=0.1)
        assert trainer.groups[0] == pantoum.Group("head.*", 0.5, 0.1)
        trainer.step(x, y)
        assert not (trainer.state_dict()["head.weight"] == after["head.weight"]).all()
        for code, arguments in (
            ("E0104", (2, 0.1)),
            ("E0116", (0, -1.0)),
            ("E0116", (0, float("nan"))),
            ("E0116", (-1, 0.1)),
        ):
            with pytest.raises(pantoum.UsageError) as caught:
                trainer.set_group(arguments[0], lr=arguments[1])
            assert caught.value.code == code
    with pytest.raises(pantoum.UsageError, match="a group names no parameter"):
        pantoum.plan(model.with_options(groups=pantoum.Group("tail.*", lr=1.0)), **PLANNED)
