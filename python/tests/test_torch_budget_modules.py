"""torch_budget on modules of many kinds, written out and drawn at random: outputs, gradients and buffers are eager's,
and what is measured is within the budget."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pantoum.torch_budget
import pytest
from budget_steps import Function, at_budgets, backward, budgeted, copied, eager, kept, same, torch
from pantoum.torch_budget import faults
from torch import nn
from torch.nn import functional

pytestmark = pytest.mark.long


def drawn(*shape: int, **options: Any) -> Any:
    return torch.randn(
        *shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=options.pop("dtype", None)
    ).requires_grad_(options.pop("grad", False))


def integers(top: int, *shape: int) -> Any:
    return torch.randint(0, top, shape, generator=torch.Generator().manual_seed(top))


def over_linear(body: Callable[..., Any], width: int = 64) -> Callable[[], nn.Module]:
    return lambda: Function(body, part=nn.Linear(64, width))


def counting() -> nn.Module:
    def body(self: Any, x: Any) -> Any:
        self.count.add_(1)
        self.mean.mul_(0.9).add_(x.detach().mean(0) * 0.1)
        return torch.tanh(self.part(x)) * self.count

    module = Function(body, part=nn.Linear(64, 64))
    module.register_buffer("count", torch.zeros((), dtype=torch.int64))
    module.register_buffer("mean", torch.zeros(64))
    return module


def tied() -> nn.Module:
    module = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 64))
    module[2].weight = module[0].weight
    return module


def frozen_head() -> nn.Module:
    module = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))
    module[0].requires_grad_(False)
    return module


def checkpointed() -> nn.Module:
    part = nn.Sequential(nn.Linear(64, 128), nn.Dropout(0.2), nn.ReLU(), nn.Linear(128, 64))
    return Function(
        lambda self, x: torch.utils.checkpoint.checkpoint(self.part, x, use_reentrant=False).sin(), part=part
    )


def in_bf16(self: Any, x: Any) -> Any:
    with torch.autocast("cpu", torch.bfloat16):
        return self.part(x).float()


def set_slice(self: Any, x: Any) -> Any:
    y = self.part(x).clone()
    y[0:3] = 0.0
    return y.sin()


def several(self: Any, x: Any) -> Any:
    y = self.part(x).tanh()
    return {"view": y.t(), "rows": y[:, :3], "input": x, "number": 3, "none": [None, y.argmax(-1), y.exp()]}


def changes_input(self: Any, x: Any) -> Any:
    x.add_(1)
    return self.part(x).sin()


def masked(self: Any, x: Any) -> Any:
    mask = torch.ones(64, 64).triu(1).bool()
    return (self.part(x) * torch.arange(64)).masked_fill(mask, 0.0).sin().softmax(-1)


def chunks(self: Any, x: Any) -> Any:
    a, b, c = self.part(x).chunk(3, -1)
    return (a.sin() * b.cos() + c.exp()).sum(1)


def unsafe_chunks(self: Any, x: Any) -> Any:
    a, b = torch.unsafe_chunk(self.part(x), 2, -1)
    return a.sin() * b.cos()


def gathers(self: Any, x: Any, index: Any) -> Any:
    y = self.part(x)
    return y[index].sin().index_add(0, index, y[index])


def noisy(self: Any, x: Any) -> Any:
    return (self.part(x) + torch.randn_like(x) * torch.rand(64)).sin().exp() + torch.bernoulli(torch.full((64,), 0.5))


def spectrum(self: Any, x: Any) -> Any:
    return torch.fft.ifft(torch.fft.fft(self.part(x)).conj() * 2).real.sin()


CASES: dict[str, tuple[Callable[[], nn.Module], Callable[[], list[Any]]]] = {
    "dropout": (
        lambda: nn.Sequential(
            nn.Linear(64, 256),
            nn.ReLU(),
            nn.Dropout(0.3),
            nn.Linear(256, 256),
            nn.GELU(),
            nn.Dropout(0.1),
            nn.Linear(256, 8),
        ),
        lambda: [drawn(64, 64)],
    ),
    "gradient of the input": (
        lambda: nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 64)),
        lambda: [drawn(64, 64, grad=True)],
    ),
    "input changed in place": (over_linear(changes_input), lambda: [drawn(64, 64)]),
    "buffers changed in place": (counting, lambda: [drawn(32, 64)]),
    "outputs that are views, the input, numbers, none": (over_linear(several), lambda: [drawn(64, 64)]),
    "no parameters": (
        lambda: Function(lambda _, x: (x.sin() * x.exp()).cos().sum(0)),
        lambda: [drawn(640, 64, grad=True)],
    ),
    "nothing to train": (lambda: Function(lambda _, x: (x.sin() * x.exp()).cos().sum(0)), lambda: [drawn(640, 64)]),
    "chunks": (over_linear(chunks, 192), lambda: [drawn(640, 64)]),
    "chunks that no schema calls views": (over_linear(unsafe_chunks, 128), lambda: [drawn(640, 64)]),
    "constants": (over_linear(masked), lambda: [drawn(64, 64)]),
    "indices": (over_linear(gathers), lambda: [drawn(64, 64), integers(64, 64)]),
    "a slice that is set": (over_linear(set_slice), lambda: [drawn(64, 64)]),
    "randomness of all kinds": (over_linear(noisy), lambda: [drawn(64, 64)]),
    "leaky by chance": (
        lambda: nn.Sequential(nn.Linear(64, 64), nn.RReLU(), nn.Linear(64, 64)),
        lambda: [drawn(64, 64)],
    ),
    "complex": (over_linear(spectrum), lambda: [drawn(64, 64)]),
    "double": (
        lambda: nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4)).double(),
        lambda: [drawn(64, 64, dtype=torch.float64)],
    ),
    "autocast": (
        lambda: Function(
            in_bf16, part=nn.Sequential(nn.Linear(64, 256), nn.LayerNorm(256), nn.ReLU(), nn.Linear(256, 8))
        ),
        lambda: [drawn(64, 64)],
    ),
    "no samples": (lambda: nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)), lambda: [drawn(0, 8)]),
    "an expanded input": (
        lambda: Function(lambda self, x: self.part(x.expand(64, 64)).sin(), part=nn.Linear(64, 64)),
        lambda: [drawn(1, 64)],
    ),
    "channels last": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1)
        ).to(memory_format=torch.channels_last),  # type: ignore[call-overload]
        lambda: [drawn(4, 3, 16, 16).to(memory_format=torch.channels_last)],
    ),
    "convolutions": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1),
            nn.GroupNorm(4, 16),
            nn.SiLU(),
            nn.ConvTranspose2d(16, 8, 4, 2, 1),
            nn.InstanceNorm2d(8),
            nn.AvgPool2d(2),
            nn.Upsample(scale_factor=2),
        ),
        lambda: [drawn(8, 3, 32, 32)],
    ),
    "batch norm": (
        lambda: nn.Sequential(
            nn.Linear(64, 64),
            nn.BatchNorm1d(64),
            nn.ReLU(),
            nn.Linear(64, 64),
            nn.BatchNorm1d(64),
            nn.SiLU(),
            nn.Linear(64, 64),
            nn.BatchNorm1d(64),
            nn.Tanh(),
        ),
        lambda: [drawn(256, 64)],
    ),
    "batch norm as it is": (
        lambda: nn.Sequential(nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU()).eval(),
        lambda: [drawn(256, 64)],
    ),
    "transformer": (
        lambda: nn.TransformerEncoderLayer(32, 4, 64, dropout=0.1, batch_first=True),
        lambda: [drawn(8, 20, 32)],
    ),
    "embedding": (
        lambda: Function(
            lambda self, i: self.head(self.table(i)).softmax(-1), table=nn.Embedding(50, 32), head=nn.Linear(32, 50)
        ),
        lambda: [integers(50, 16, 20)],
    ),
    "a loss inside": (
        lambda: Function(
            lambda self, x, y: functional.cross_entropy(self.part(x), y, label_smoothing=0.1), part=nn.Linear(64, 10)
        ),
        lambda: [drawn(64, 64), integers(10, 64)],
    ),
    "weight and spectral norm": (
        lambda: nn.Sequential(
            nn.utils.parametrizations.weight_norm(nn.Linear(64, 64)),
            nn.ReLU(),
            nn.utils.parametrizations.spectral_norm(nn.Linear(64, 64)),
        ),
        lambda: [drawn(64, 64)],
    ),
    "a frozen layer": (frozen_head, lambda: [drawn(64, 64)]),
    "shared weights": (tied, lambda: [drawn(64, 64)]),
    "checkpointing inside": (checkpointed, lambda: [drawn(64, 64)]),
    "sorting": (over_linear(lambda self, x: self.part(x).sort(-1)[0].topk(5)[0].cumsum(-1)), lambda: [drawn(64, 64)]),
    "einsum": (
        over_linear(lambda self, x: torch.einsum("bij,bkj->bik", self.part(x), x).softmax(-1).matmul(x)),
        lambda: [drawn(8, 64, 64)],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_modules(name: str) -> None:
    make, inputs = CASES[name]
    torch.manual_seed(0)
    at_budgets(make(), inputs(), (0.6,))


def test_recurrent_layers_where_pytorch_compiles_them() -> None:
    torch.manual_seed(0)
    module = Function(lambda self, x: self.part(x)[0].sin(), part=nn.LSTM(16, 32, 2, batch_first=True))
    with torch._dynamo.config.patch(allow_rnn=True):
        with pytest.raises(faults.Unsupported, match="mkldnn"):
            budgeted(module, [drawn(8, 12, 16)], "1GiB")
        with torch.backends.mkldnn.flags(enabled=False):
            at_budgets(module, [drawn(8, 12, 16)], (0.6,))


def test_a_linear_system_is_probed_with_sound_pivots() -> None:
    torch.manual_seed(0)
    module = Function(
        lambda self, x: torch.linalg.solve_ex(self.part(x) + 9 * torch.eye(64), x)[0].sin(), part=nn.Linear(64, 64)
    )
    at_budgets(module, [drawn(64, 64)], (0.7,))


REFUSED: dict[str, tuple[Callable[[], nn.Module], Callable[[], list[Any]], str]] = {
    "control flow": (
        over_linear(
            lambda self, x: torch.cond(x.sum() > 0, lambda y: self.part(y).sin(), lambda y: self.part(y).cos(), (x,))
        ),
        lambda: [drawn(64, 64)],
        "a graph of its own",
    ),
    "checks that keep their order": (
        over_linear(lambda self, x: torch.linalg.solve(self.part(x), x)),
        lambda: [drawn(64, 64)],
        "effects whose order",
    ),
    "sparse gradients": (lambda: nn.Embedding(50, 32, sparse=True), lambda: [integers(50, 16, 20)], "sparse"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_planned_is_named_with_its_line(name: str) -> None:
    make, inputs, words = REFUSED[name]
    with pytest.raises(faults.Unsupported, match=words) as refused:
        budgeted(make(), inputs(), "1GiB")
    assert refused.value.code == "E0401"
    assert refused.value.where


def test_shapes_that_depend_on_data_are_refused() -> None:
    module = Function(lambda self, x: self.part(x[x[:, 0] > 0]).sin(), part=nn.Linear(64, 64))
    with (
        torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True),
        pytest.raises(faults.Unsupported, match="depends on data"),
    ):
        budgeted(module, [drawn(64, 64)], "1GiB")


@torch.library.custom_op("pantoum_tests::twice_sin", mutates_args=())
def twice_sin(x: torch.Tensor) -> torch.Tensor:
    CALLS.append(x.numel())
    return (x * 2).sin()


@twice_sin.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


twice_sin.register_autograd(
    lambda ctx, gradient: gradient * 2 * (ctx.saved_tensors[0] * 2).cos(),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
)
CALLS: list[int] = []


def test_a_custom_operator_runs_once_a_step() -> None:
    module = Function(lambda self, x: twice_sin(self.part(x).tanh()).exp(), part=nn.Linear(64, 64))
    steps = at_budgets(module, [drawn(256, 64)], (0.5,))
    CALLS.clear()
    backward(steps[0].outputs[:0])
    budgeted(module, [drawn(256, 64)], steps[-1].budget.report().planned_peak)
    assert len(CALLS) == 1


class Drawn(nn.Module):
    """A network of random layers with residuals and branches; every value is 8 channels of 8 by 8."""

    def __init__(self, seed: int, dropout: float) -> None:
        super().__init__()
        self.draw, self.dropout = random.Random(seed), dropout
        self.layers = nn.ModuleList(self._layer() for _ in range(self.draw.randint(4, 9)))
        self.sources = [
            [self.draw.randrange(position + 1) for _ in range(self.draw.randint(1, 2))]
            for position in range(len(self.layers))
        ]
        self.head = nn.Linear(8 * 64, 5)

    def _layer(self) -> nn.Module:
        return self.draw.choice(
            [
                lambda: nn.Conv2d(8, 8, 3, padding=1),
                lambda: nn.Conv2d(8, 8, 3, padding=1, groups=4),
                lambda: nn.BatchNorm2d(8),
                lambda: nn.GroupNorm(2, 8),
                lambda: nn.ReLU(),
                lambda: nn.GELU(),
                lambda: nn.Dropout(self.dropout),
                lambda: nn.Hardswish(),
                lambda: nn.Sequential(nn.Flatten(2), nn.Linear(64, 64), nn.LayerNorm(64), nn.Unflatten(2, (8, 8))),
                lambda: nn.Sequential(nn.MaxPool2d(2), nn.Upsample(scale_factor=2)),
                lambda: nn.Sequential(
                    nn.Flatten(2),
                    nn.TransformerEncoderLayer(64, 2, 32, self.dropout, batch_first=True),
                    nn.Unflatten(2, (8, 8)),
                ),
            ]
        )()

    def forward(self, x: Any) -> Any:
        values = [x]
        for layer, sources in zip(self.layers, self.sources, strict=True):
            values.append(layer(sum(values[source] for source in sources)))
        return self.head(values[-1].flatten(1)), values[len(values) // 2].mean((2, 3))


@pytest.mark.parametrize("seed", range(12))
def test_random_networks(seed: int) -> None:
    """Against eager; those with dropout against aot_eager, as PyTorch's tracing may draw in another layout."""
    torch.manual_seed(seed)
    dropout = 0.25 * (seed % 2)
    draw = random.Random(seed)
    steps = at_budgets(
        Drawn(seed, dropout),
        [drawn(6, 8, 8, 8)],
        (draw.uniform(0.3, 0.95),),
        page_dir=draw.choice([None, "auto"]),
        reference="aot_eager" if dropout else None,
    )
    assert all(step.budget.report().pieces for step in steps)


def test_a_step_takes_no_more_from_the_allocator_than_planned() -> None:
    """The allocator's own events, over the whole step at once: what is planned, and what the caller holds."""
    from pantoum.torch_budget.costs import allocator_peak

    torch.manual_seed(0)
    module = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.Conv2d(32, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 64, 4),
    )
    inputs = [drawn(16, 3, 16, 16)]
    peak = budgeted(module, inputs, "1GiB").budget.report().planned_peak
    torch._dynamo.reset()
    with pantoum.torch_budget(f"{int(peak * 0.9)}B", time_limit_s=2) as budget:
        compiled = torch.compile(module, backend="pantoum")
    backward(compiled(*copied(inputs)))
    module.zero_grad()
    taken, _ = allocator_peak(lambda: backward(compiled(*inputs)))
    piece = budget.report().pieces[0]
    callers = piece.outputs * 2 + piece.gradients + 4096
    assert taken <= piece.planned_peak + callers


def test_two_calls_hold_two_sets_of_activations() -> None:
    """The promise is per call in flight, and the report counts what is really there."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 4))
    step = budgeted(module, [drawn(64, 64)], "1GiB")
    with pantoum.torch_budget("1GiB") as budget:
        compiled = torch.compile(module, backend="pantoum")
    with budget.measure():
        losses = [compiled(drawn(64, 64)).sum() for _ in range(2)]
        sum(losses).backward()
    report = budget.report()
    assert report.measured_peak >= step.budget.report().measured_peak + report.pieces[0].saved


def test_eager_is_what_it_is_compared_with() -> None:
    """The comparison itself can fail."""
    module, inputs = nn.Linear(4, 4), [drawn(4, 4)]
    step = eager(module, inputs)
    other = eager(module, [inputs[0] + 1e-3])
    with pytest.raises(AssertionError):
        same(step, other)
    found = budgeted(module, inputs, "1GiB")
    kept(found)
    found.budget.ram = 1
    with pytest.raises(AssertionError):
        kept(found)
