"""What moves from step to step beside parameters and buffers is refused; what a module does once, or shares, is kept."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the front end captures torch modules")

import pantoum  # noqa: E402
from pantoum._torch import capture  # noqa: E402
from pantoum._torch.check import gradients  # noqa: E402
from samples import MODELLED  # noqa: E402
from torch import Tensor, nn  # noqa: E402


class Body(nn.Module):
    """A layer, a function of what it gives, and things that Python keeps."""

    def __init__(self, function: Callable[[Any, Tensor], Any]) -> None:
        super().__init__()
        self.layer, self.function = nn.Linear(4, 4), function
        self.count, self.before, self.mask = 0, None, None
        self.seen: list[Tensor] = []
        self.alias = self.layer.weight.detach()

    def forward(self, x: Tensor) -> Any:
        return self.function(self, self.layer(x)).square().sum()


def counts(self: Any, y: Tensor) -> Any:
    self.count += 1
    return y * self.count


def counts_alone(self: Any, y: Tensor) -> Any:
    self.count += 1
    return y


def grows(self: Any, y: Tensor) -> Any:
    self.seen.append(y.detach())
    return y + sum(self.seen)


def remembers(self: Any, y: Tensor) -> Any:
    before, self.before = self.before, y.detach()
    return y if before is None else y + before


def draws(self: Any, y: Tensor) -> Any:
    return y * random.random()


def draws_of_numpy(self: Any, y: Tensor) -> Any:
    return y * float(np.random.rand())


def seeds(self: Any, y: Tensor) -> Any:
    torch.manual_seed(3)
    return y * torch.rand(4)


def draws_of_a_generator(self: Any, y: Tensor) -> Any:
    return y * torch.rand(4, generator=torch.Generator())


def toggles(self: Any, y: Tensor) -> Any:
    self.layer.weight.requires_grad_(False)
    return self.layer(y)


def reads_an_alias(self: Any, y: Tensor) -> Any:
    return y @ self.alias


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient * 2


def changes_its_input(self: Any, y: Tensor) -> Any:
    return Doubled.apply(y * 1)


REFUSED = {
    counts: "does not compute the same",
    counts_alone: "counts in the attribute count",
    grows: "does not compute the same",
    remembers: "does not compute the same",
    draws: "random numbers that are not torch's",
    draws_of_numpy: "random numbers that are not torch's",
    seeds: "a seed inside of forward",
    draws_of_a_generator: "a random generator of its own",
    toggles: "changes requires_grad",
    reads_an_alias: "memory of a trained parameter",
    changes_its_input: "changes its input in place",
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda function: function.__name__)
def test_what_a_captured_step_would_not_follow_is_refused(function: Callable[..., Any]) -> None:
    module = Body(function)
    with pytest.raises(pantoum.Unsupported, match=REFUSED[function]) as caught:
        capture(module, torch.ones(5, 4))
    if function not in (counts_alone, reads_an_alias):
        assert f"in {function.__name__}" in caught.value.where
    assert (module.count, module.seen, module.before) == (0, [], None)
    assert module.layer.weight.requires_grad


def builds_once(self: Any, y: Tensor) -> Any:
    if self.mask is None:
        self.mask = torch.ones(5, 4).tril()
    return y * self.mask


def without_gradient(self: Any, y: Tensor) -> Any:
    with torch.inference_mode():
        scale = self.layer.weight.sum()
    return y * scale.clone()


def drops(self: Any, y: Tensor) -> Any:
    return y + 0 * nn.functional.dropout(y)


CALLS = 0


def while_others_draw(self: Any, y: Tensor) -> Any:
    """In every second call another thread draws: a client's retries, a loader's augmentation."""
    global CALLS
    CALLS += 1
    if CALLS % 2 == 0:
        for function in (random.random, np.random.rand):
            thread = threading.Thread(target=function)
            thread.start()
            thread.join()
    return y


@pytest.mark.parametrize(
    "function", [builds_once, without_gradient, drops, while_others_draw], ids=lambda function: function.__name__
)
def test_what_is_the_same_in_every_step_is_captured(function: Callable[..., Any]) -> None:
    module, x = Body(function), torch.ones(5, 4)
    loss, found, _ = gradients(capture(module, x), [x])
    wanted = module(x)
    wanted.backward()
    assert loss.item() == pytest.approx(wanted.item(), rel=1e-5)
    assert all(torch.allclose(found[name], each.grad, rtol=1e-4) for name, each in module.named_parameters())


def test_a_capture_takes_no_random_number_and_moves_no_buffer() -> None:
    module = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout())
    state, before = random.getstate(), {name: each.clone() for name, each in module.state_dict().items()}
    drawn = torch.get_rng_state()
    capture(module, torch.randn(5, 4, generator=torch.Generator().manual_seed(1)), lambda y: y.sum())
    assert random.getstate() == state
    assert torch.equal(torch.get_rng_state(), drawn)
    assert all(torch.equal(each, before[name]) for name, each in module.state_dict().items())


def test_a_norm_at_two_places_moves_its_statistics_twice() -> None:
    norm = nn.BatchNorm1d(4)
    module, x = nn.Sequential(nn.Linear(4, 4), norm, nn.ReLU(), norm), torch.randn(5, 4)
    graph = capture(module, x, lambda y: y.pow(3).mean())
    _, _, values = gradients(graph, [x])
    module(x)
    moved = {entry["name"]: values[entry["becomes"]] for entry in graph.document["buffers"] if entry["becomes"]}
    assert torch.allclose(moved["1.running_mean"], norm.running_mean, atol=1e-6)


@pytest.mark.parametrize("shared", [lambda w: w.data, lambda w: w.data.t(), lambda w: w.data[0]])
def test_two_tensors_of_one_memory_are_refused(shared: Callable[[Tensor], Tensor]) -> None:
    module = nn.Linear(4, 4)
    module.other = nn.Parameter(shared(module.weight))
    with pytest.raises(pantoum.Unsupported, match="share their memory"):
        capture(module, torch.ones(2, 4), lambda y: y.sum())


def test_an_optimizer_with_a_step_of_its_own_is_refused() -> None:
    module = nn.Linear(4, 4)
    hooked, replaced = (torch.optim.SGD(module.parameters(), lr=0.1) for _ in range(2))
    hooked.register_step_post_hook(lambda *_: None)
    replaced.step = lambda *_: None
    for optimizer in (hooked, replaced):
        with pytest.raises(pantoum.Unsupported, match="its step is changed"):
            pantoum.from_torch(module, torch.ones(2, 4), loss=lambda y, _: y.sum(), optimizer=optimizer)


ONLY_PLACES: dict[str, Callable[[Tensor], Tensor]] = {
    "max": lambda y: y.max(1)[1],
    "min": lambda y: y.min(1, keepdim=True)[1][:, 0],
    "kthvalue": lambda y: y.kthvalue(2, 1)[1],
    "median": lambda y: y.median(1)[1],
    "topk": lambda y: y.topk(1, 1)[1][:, 0],
    "sort": lambda y: y.sort(1)[1][:, 2],
}


@pytest.mark.parametrize("name", ONLY_PLACES)
def test_places_are_read_without_their_values(name: str) -> None:
    def function(self: Any, y: Tensor) -> Tensor:
        return y * nn.functional.one_hot(ONLY_PLACES[name](y), 4)

    module = Body(function)
    x = torch.randn(5, 4, generator=torch.Generator().manual_seed(2))
    assert pantoum.check(module, x, steps=2, plan_options=MODELLED).ok


def test_a_norm_that_is_called_twice_without_gradients_moves_twice() -> None:
    class Teacher(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.student = nn.Linear(4, 4)
            self.teacher = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))

        def forward(self, x: Tensor) -> Tensor:
            with torch.no_grad():
                first, second = self.teacher(x), self.teacher(x * 2)
            return (self.student(x) - first * second).square().mean()

    x = torch.randn(5, 4, generator=torch.Generator().manual_seed(2))
    assert pantoum.check(Teacher(), x, steps=2, plan_options=MODELLED).ok


def test_what_is_scattered_onto_itself_is_not_overwritten_while_it_is_read() -> None:
    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.places = nn.Linear(4, 4), torch.tensor([[2, 2, 0, 1]]).expand(256, 4)

        def forward(self, x: Tensor) -> Tensor:
            y = self.layer(x).tanh()
            return y.scatter_add(1, self.places, y).square().sum()

    module, x = Mixed(), torch.randn(256, 4, generator=torch.Generator().manual_seed(2))
    model = pantoum.from_torch(module, x, optimizer=pantoum.Sgd(lr=0.1))
    wanted = float(module(x).detach())
    unplanned = pantoum.plan(model, **MODELLED)
    for ram in (unplanned.unplanned_peak_bytes, unplanned.unplanned_peak_bytes * 9 // 10):
        with pantoum.compile(
            module, x, optimizer=pantoum.Sgd(lr=0.1), ram=pantoum.Bytes(ram), plan_options=MODELLED
        ) as trainer:
            assert abs(trainer.step(x) - wanted) < 1e-5 * abs(wanted)
