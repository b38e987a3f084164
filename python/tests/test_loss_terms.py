"""Class weights and time-major outputs of a named loss: as torch computes them, step by step and in an evaluation."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the values are PyTorch's")

import pantoum  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812

PLANNED: dict[str, Any] = {"kernels": "portable", "measure": "off", "effort": 1}
WEIGHTS = (0.25, 3.0, 1.0)
CLASSES = ("cross_entropy", "nll", "soft_cross_entropy")
QUICK, CASES = 8, 200


class TimeFirst(nn.Module):
    """A recurrent network whose output is [T,N,C]."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.cell, self.head = nn.GRU(4, 6), nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.cell(x.transpose(0, 1))[0])


def batch() -> tuple[Tensor, Tensor]:
    torch.manual_seed(1)
    return torch.randn(8, 5, 4), torch.randint(0, 3, (8, 5))


@pytest.mark.parametrize("weights", [list(WEIGHTS), np.array(WEIGHTS, np.float32), torch.tensor(WEIGHTS)])
def test_class_weights_are_any_sequence(weights: Any) -> None:
    losses = []
    for given in (WEIGHTS, weights):
        loss = pantoum.Loss("cross_entropy", classes_last=True, batch_axis=1, class_weights=given)
        with pantoum.compile(TimeFirst(), batch(), loss=loss, plan_options=PLANNED) as trainer:
            losses.append([trainer.step(*batch()) for _ in range(2)])
    assert losses[0] == losses[1]


def test_check_compares_them() -> None:
    loss = pantoum.Loss("cross_entropy", classes_last=True, batch_axis=1, class_weights=WEIGHTS)
    report = pantoum.check(TimeFirst(), batch()[0], loss=loss)
    assert report.ok, report


def test_probabilities_are_warned_of_with_weights() -> None:
    """By axis and weights of the loss, what fit looks at is what the trainer has computed."""
    network = nn.Sequential(TimeFirst(), nn.Softmax(-1), nn.Dropout(0.0), nn.Flatten(2))
    loss = pantoum.Loss("cross_entropy", classes_last=True, batch_axis=1, class_weights=WEIGHTS)
    x, y = batch()
    with pantoum.compile(network, (x, y), loss=loss, plan_options=PLANNED) as trainer:
        if "left out" in str(trainer.plan.notes):
            assert trainer.step(x, y) > 0
        else:
            with pytest.warns(pantoum.PantoumWarning, match="probabilities"):
                trainer.fit((x, y), epochs=1)


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"class_weights": (1.0, 2.0)}, "2 class weights for 3 classes"),
        ({"class_weights": (1.0, 2.0, 3.0, 4.0)}, "4 class weights for 3 classes"),
        ({"class_weights": (0.0, 0.0, 0.0)}, "all class weights are 0"),
        ({"class_weights": (0.0, 1e-60, 0.0)}, "all class weights are 0"),
        ({"class_weights": (1.0, -1.0, 1.0)}, "-1 is out of range"),
        ({"class_weights": (1.0, float("nan"), 1.0)}, "'nan' is no finite number"),
        ({"class_weights": (1.0, float("inf"), 1.0)}, "'inf' is no finite number"),
        ({"class_weights": (1.0, 1e31, 1.0)}, "out of range"),
        ({"class_weights": np.ones((3, 2))}, "is no finite number"),
        ({"class_weights": "weights.npy"}, "'weights.npy' does not fit 'class_weights'"),
        ({"class_weights": ("a", "b", "c")}, "'a' does not fit 'class_weights'"),
        ({"batch_axis": 3}, "the batch is dimension 3"),
        ({"batch_axis": 6}, "out of range"),
        ({"batch_axis": -1}, "out of range"),
        ({"batch_axis": 0}, "batch_axis=1"),
        ({"batch_axis": 2}, "targets"),
    ],
)
def test_what_does_not_fit_is_refused(settings: dict[str, Any], word: str) -> None:
    loss = pantoum.Loss("cross_entropy", classes_last=True, **{"batch_axis": 1, **settings})
    with pytest.raises(pantoum.Error, match=word) as caught:
        pantoum.compile(TimeFirst(), batch(), loss=loss, plan_options=PLANNED)
    assert caught.value.help


def test_class_weights_are_of_losses_over_classes() -> None:
    loss = pantoum.Loss("mse", batch_axis=1, class_weights=WEIGHTS)
    with pytest.raises(pantoum.Error, match="no classes to weigh"):
        pantoum.compile(TimeFirst(), (batch()[0], torch.randn(8, 5, 3)), loss=loss, plan_options=PLANNED)


def test_labels_that_are_no_class_end_the_step() -> None:
    loss = pantoum.Loss("cross_entropy", classes_last=True, batch_axis=1, class_weights=WEIGHTS)
    x, y = batch()
    with pantoum.compile(TimeFirst(), (x, y), loss=loss, plan_options=PLANNED) as trainer:
        y[3, 2] = 3
        with pytest.raises(pantoum.InvalidInput, match="out of range"):
            trainer.step(x, y)
        with pytest.raises(pantoum.InvalidInput, match="out of range"):
            trainer.evaluate((x, y))


def test_words_of_the_command_line_are_answered() -> None:
    with pytest.raises(pantoum.UsageError, match=r"pantoum\.Loss"):
        pantoum.load_onnx("net.onnx", loss="cross_entropy,class_weights=1:2:3")
    with pytest.raises(pantoum.UsageError, match=r"pantoum\.Loss"):
        pantoum.compile(TimeFirst(), batch(), loss="cross_entropy,class_weights=1:2:3")


# Generated networks, losses, weights and batch axes, against PyTorch in float64 ----------------------------------------


@dataclass
class Term:
    """A loss on an output [N, extents.., C] or [N, C, extents..], whose batch the network moves to `axis`."""

    loss: pantoum.Loss
    shape: tuple[int, ...]  # of the output without the batch

    @property
    def class_axis(self) -> int:  # with the batch in front
        return len(self.shape) if self.loss.classes_last else 1

    def target(self, count: int, dice: torch.Generator) -> Tensor:
        shape = (count, *self.shape)
        if self.loss.name in ("cross_entropy", "nll"):
            classes = shape[self.class_axis]
            shape = shape[: self.class_axis] + shape[self.class_axis + 1 :]
            return torch.randint(-1 if torch.rand((), generator=dice) < 0.4 else 0, classes, shape, generator=dice)
        if self.loss.name == "soft_cross_entropy":
            return torch.randn(shape, generator=dice).softmax(self.class_axis)
        given = torch.rand(shape, generator=dice)
        return given.softmax(-1) if self.loss.name == "kl_div" else given

    def value(self, output: Tensor, target: Tensor) -> Tensor:
        """PyTorch's; 0 where PyTorch has NaN, because no label weighs."""
        loss = self.loss
        output = output.movedim(loss.batch_axis, 0)
        if loss.name not in CLASSES:
            target = target.to(output.dtype)
            options: dict[str, Any] = {"beta": loss.beta} if loss.name == "smooth_l1" else {}
            if loss.name == "kl_div":
                options = {"reduction": "batchmean" if loss.mean_of_batch else "mean"}
            names: dict[str, Callable[..., Tensor]] = {
                "mse": F.mse_loss, "l1": F.l1_loss, "smooth_l1": F.smooth_l1_loss, "kl_div": F.kl_div,
                "bce_with_logits": F.binary_cross_entropy_with_logits,
            }  # fmt: skip
            return loss.weight * names[loss.name](output, target, **options)
        weights = torch.tensor(loss.class_weights, dtype=output.dtype) if loss.class_weights else None
        output = output.movedim(self.class_axis, 1).contiguous()  # nll_loss2d wants it
        if loss.name == "soft_cross_entropy":
            target = target.to(output.dtype).movedim(self.class_axis, 1)
            return loss.weight * F.cross_entropy(output, target, weights, label_smoothing=loss.smoothing)
        target = torch.where((target < 0) | (target == loss.ignore_index), -100, target)
        each = torch.ones(output.shape[1], dtype=output.dtype) if weights is None else weights
        if not each[target.clamp(min=0)][target >= 0].sum() > 0:
            return 0 * output.sum()
        if loss.name == "nll":
            return loss.weight * F.nll_loss(output, target, weights)
        return loss.weight * F.cross_entropy(output, target, weights, label_smoothing=loss.smoothing)


def a_term(dice: random.Random, name: str, output: str | None) -> Term:
    rank = dice.randint(2, 4) if name in CLASSES else dice.randint(1, 4)
    shape = tuple(dice.randint(2, 4) for _ in range(rank - 1))
    settings: dict[str, Any] = {"output": output, "batch_axis": dice.randrange(rank)}
    if dice.random() < 0.3:
        settings["weight"] = dice.choice([0.3, 2.5])
    if name in CLASSES:
        settings["classes_last"] = dice.random() < 0.5
        classes = shape[-1] if settings["classes_last"] else shape[0]
        kinds = ([dice.uniform(0.1, 3) for _ in range(classes)], [10 ** dice.uniform(-4, 4) for _ in range(classes)],
                 [dice.choice([0.0, 1.0, 2.0]) for _ in range(classes - 1)] + [1.0], [0.7] * classes)  # fmt: skip
        weights = dice.choice(kinds) if dice.random() < 0.85 else []
        most = max(weights, default=1.0) if name == "soft_cross_entropy" else 1.0  # nothing divides by them there
        settings["class_weights"] = tuple(weight / most for weight in weights)
        if name != "nll" and dice.random() < 0.4:
            settings["smoothing"] = dice.uniform(0.05, 0.5)
        if name != "soft_cross_entropy" and dice.random() < 0.4:
            settings["ignore_index"] = dice.randrange(classes)
    elif name == "smooth_l1":
        settings["beta"] = dice.uniform(0.2, 1.5)
    elif name == "kl_div":
        settings["mean_of_batch"] = dice.random() < 0.5
    return Term(pantoum.Loss(name, **settings), shape)


class Network(nn.Module):
    """Some layers over [N, 6], and for every term a head whose output has the batch where the term wants it."""

    def __init__(self, dice: random.Random, terms: list[Term]) -> None:
        super().__init__()
        width = dice.randint(3, 9)
        kinds = [nn.Tanh(), nn.LayerNorm(width), nn.GELU(), nn.Sequential(nn.Linear(width, width), nn.SiLU())]
        self.body = nn.Sequential(nn.Linear(6, width), *dice.sample(kinds, dice.randint(1, 3)))
        self.heads = nn.ModuleList(nn.Linear(width, int(np.prod(term.shape))) for term in terms)
        self.terms = terms

    def forward(self, x: Tensor) -> Any:
        features, made = self.body(x), []
        for head, term in zip(self.heads, self.terms, strict=True):
            y = head(features).reshape(-1, *term.shape)
            if term.loss.name == "nll":
                y = y.log_softmax(term.class_axis)
            made.append(y.movedim(0, term.loss.batch_axis))
        return made[0] if len(made) == 1 else tuple(made)


def value_of(terms: list[Term], outputs: Any, targets: list[Tensor]) -> Tensor:
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    parts = [term.value(output, target) for term, output, target in zip(terms, outputs, targets, strict=True)]
    return torch.stack(parts).sum()


@pytest.mark.parametrize(
    "seed", [seed if seed < QUICK else pytest.param(seed, marks=pytest.mark.long) for seed in range(CASES)]
)
def test_generated(seed: int) -> None:
    dice, torch_dice = random.Random(seed), torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    names = [*CLASSES, *CLASSES, "mse", "l1", "smooth_l1", "bce_with_logits", "kl_div"]
    count = 2 if dice.random() < 0.25 else 1
    terms = [a_term(dice, dice.choice(names), f"output_{at}" if count == 2 else None) for at in range(count)]
    module = Network(dice, terms)
    wanted = copy.deepcopy(module).double()
    samples = dice.randint(2, 7)
    x = [torch.randn(samples, 6, generator=torch_dice) for _ in range(3)]
    targets = [[term.target(samples, torch_dice) for term in terms] for _ in x]
    optimizer = torch.optim.SGD(wanted.parameters(), lr=0.05)
    given = {"loss": [term.loss for term in terms], "optimizer": torch.optim.SGD(module.parameters(), lr=0.05)}
    example = (x[0], *targets[0]) if count == 1 else (x[0],)
    with pantoum.compile(module, example, plan_options=PLANNED, **given) as trainer:
        for inputs, labels in zip(x, targets, strict=True):
            optimizer.zero_grad()
            value = value_of(terms, wanted(inputs.double()), labels)
            value.backward()
            optimizer.step()
            assert trainer.step(inputs, *labels) == pytest.approx(value.item(), rel=1e-5, abs=2e-6), terms
        rest = samples + dice.randint(1, samples)  # the last batch of the evaluation is short
        more = torch.randn(rest, 6, generator=torch_dice)
        labels = [term.target(rest, torch_dice) for term in terms]
        with torch.no_grad():
            outputs = wanted(more.double())
            value = value_of(terms, outputs, labels)
        assert trainer.evaluate((more, *labels))["loss"] == pytest.approx(value.item(), rel=2e-5, abs=4e-6), terms
        made = trainer.predict(more)
        predicted = list(made.values()) if isinstance(made, dict) else [made]
        for term, found, output in zip(terms, predicted, outputs if count == 2 else [outputs], strict=True):
            assert np.allclose(found, output.movedim(term.loss.batch_axis, 0).numpy(), rtol=1e-4, atol=1e-5), term
        trainer.copy_to(module)
    for name, tensor in wanted.state_dict().items():
        assert torch.allclose(module.state_dict()[name].double(), tensor, rtol=1e-4, atol=3e-6), (name, terms)
