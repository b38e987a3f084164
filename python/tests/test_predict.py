"""Trainer.predict: outputs are those of evaluation to the bit with the portable kernels, and those of PyTorch's eval().

That evaluation computes the same bits is seen by its loss: with the outputs as the targets, the mean of squares is 0 exactly then.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the networks are torch modules")

import pantoum  # noqa: E402
from samples import MODELLED, RECOMMENDER, SPIRALS  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812

BATCH, SAMPLES = 8, 19  # the last part is short


class Net(nn.Module):
    """Layers by name, and a function of them."""

    def __init__(self, run: Callable[..., Any], **layers: nn.Module) -> None:
        super().__init__()
        for name, layer in layers.items():
            self.add_module(name, layer)
        self.run = run

    def forward(self, *inputs: Tensor) -> Any:
        return self.run(self, *inputs)


def predicted(trainer: pantoum.Trainer, *given: Any) -> Any:
    """The one output of the network."""
    return trainer.predict(*given)


def floats(*shape: int) -> Callable[[int], Tensor]:
    return lambda count: torch.randn(count, *shape)


def ids(highest: int, *shape: int) -> Callable[[int], Tensor]:
    return lambda count: torch.randint(0, highest, (count, *shape))


def pooled(net: Any, x: Tensor) -> Tensor:
    return net.head(F.adaptive_avg_pool2d(net.body(x), 1).flatten(1))


def several(net: Any, x: Tensor) -> tuple[Tensor, ...]:
    hidden = torch.tanh(net.a(x))
    return net.b(hidden), net.c(hidden), hidden


def twice(net: Any, x: Tensor) -> tuple[Tensor, ...]:
    y = net.a(x)
    return y, y, y.reshape(-1, 2, 2), x


def own_loss(net: Any, x: Tensor, labels: Tensor, weights: Tensor) -> dict[str, Tensor]:
    logits = net.a(x)
    return {"loss": ((logits - labels) ** 2 * weights[:, None]).mean(), "logits": logits}


def own_loss_of_next(net: Any, x: Tensor, target: Tensor) -> dict[str, Tensor]:
    made = net.a(torch.cat([x, target], 1))  # an output that is made of the target too
    return {"loss": F.mse_loss(made, target), "made": made}


def conv(*channels: int, norm: Callable[[int], nn.Module] = nn.BatchNorm2d) -> nn.Module:
    layers: list[nn.Module] = []
    for before, after in itertools.pairwise(channels):
        layers += [nn.Conv2d(before, after, 3, padding=1), norm(after), nn.ReLU()]
    return nn.Sequential(*layers)


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = conv(4, 4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x + self.body(x))


NETWORKS: dict[str, tuple[Callable[[], nn.Module], tuple[Callable[[int], Tensor], ...]]] = {
    "mlp": (lambda: nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)), (floats(8),)),
    "dropout": (lambda: nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.5), nn.GELU(), nn.Linear(16, 4)), (floats(8),)),
    "regression": (lambda: Net(lambda n, x: n.a(x).squeeze(1), a=nn.Linear(5, 1)), (floats(5),)),
    "batch_norm": (
        lambda: Net(pooled, body=nn.Sequential(conv(1, 4, 6), nn.MaxPool2d(2)), head=nn.Linear(6, 3)),
        (floats(1, 12, 12),),
    ),
    "depthwise": (
        lambda: Net(
            pooled,
            body=nn.Sequential(
                nn.Conv2d(3, 8, 1), nn.Conv2d(8, 8, 3, groups=8, padding=1), nn.BatchNorm2d(8), nn.SiLU()
            ),
            head=nn.Linear(8, 3),
        ),
        (floats(3, 10, 10),),
    ),
    "group_norm": (
        lambda: Net(pooled, body=conv(2, 4, 4, norm=lambda c: nn.GroupNorm(2, c)), head=nn.Linear(4, 3)),
        (floats(2, 9, 9),),
    ),
    "residual": (
        lambda: Net(pooled, body=nn.Sequential(conv(3, 4), Residual()), head=nn.Linear(4, 3)),
        (floats(3, 8, 8),),
    ),
    "unet": (
        lambda: Net(
            lambda n, x: n.up(torch.relu(n.down(x))) + x, down=nn.Conv2d(2, 4, 2, 2), up=nn.ConvTranspose2d(4, 2, 2, 2)
        ),
        (floats(2, 8, 8),),
    ),
    "conv1d": (
        lambda: nn.Sequential(nn.Conv1d(2, 4, 3), nn.BatchNorm1d(4), nn.ReLU(), nn.Conv1d(4, 2, 1)),
        (floats(2, 12),),
    ),
    "conv3d": (
        lambda: nn.Sequential(nn.Conv3d(1, 3, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(192, 2)),
        (floats(1, 4, 4, 4),),
    ),
    "transformer": (
        lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True, activation="gelu"),
        (floats(6, 8),),
    ),
    "attention": (
        lambda: Net(
            lambda n, x: n.out(F.scaled_dot_product_attention(n.q(x), n.k(x), n.v(x))),
            q=nn.Linear(8, 8),
            k=nn.Linear(8, 8),
            v=nn.Linear(8, 8),
            out=nn.Linear(8, 4),
        ),
        (floats(5, 8),),
    ),
    "lstm": (
        lambda: Net(lambda n, x: n.out(n.rnn(x)[0][:, -1]), rnn=nn.LSTM(4, 8, batch_first=True), out=nn.Linear(8, 3)),
        (floats(7, 4),),
    ),
    "bidirectional": (
        lambda: Net(
            lambda n, x: n.out(n.rnn(x)[0]),
            rnn=nn.GRU(4, 6, 2, batch_first=True, bidirectional=True),
            out=nn.Linear(12, 3),
        ),
        (floats(5, 4),),
    ),
    "embedding": (
        lambda: Net(lambda n, x: n.out(n.table(x).mean(1)), table=nn.Embedding(20, 6), out=nn.Linear(6, 4)),
        (ids(20, 9),),
    ),
    "two_integer_inputs": (
        lambda: Net(lambda n, u, i: (n.user(u) * n.item(i)).sum(1), user=nn.Embedding(12, 5), item=nn.Embedding(9, 5)),
        (ids(12), ids(9)),
    ),
    "two_inputs": (
        lambda: Net(lambda n, a, b: torch.sigmoid(n.a(a)) * n.b(b), a=nn.Linear(3, 6), b=nn.Linear(5, 6)),
        (floats(3), floats(5)),
    ),
    "several_outputs": (lambda: Net(several, a=nn.Linear(4, 8), b=nn.Linear(8, 3), c=nn.Linear(8, 1)), (floats(4),)),
    "classes": (lambda: Net(lambda n, x: (n.a(x), n.a(x).argmax(1)), a=nn.Linear(4, 5)), (floats(4),)),
    "views_and_inputs": (lambda: Net(twice, a=nn.Linear(4, 4)), (floats(4),)),
    "own_loss": (lambda: Net(own_loss, a=nn.Linear(4, 3)), (floats(4), floats(3), floats())),
    "own_loss_reads_target": (lambda: Net(own_loss_of_next, a=nn.Linear(7, 3)), (floats(4), floats(3))),
}
QUICK = ("dropout", "batch_norm", "lstm", "two_integer_inputs", "classes", "views_and_inputs", "own_loss")


def outputs_of(module: nn.Module, inputs: tuple[Tensor, ...]) -> list[np.ndarray[Any, Any]]:
    module.eval()
    with torch.no_grad():
        made = module(*inputs)
    values = made.values() if isinstance(made, dict) else made if isinstance(made, tuple) else [made]
    return [value.numpy() for value in values if value.dim() > 0]


def joined(made: Any) -> Tensor:
    """All outputs of real numbers as one tensor: one loss measures them all."""
    values = made if isinstance(made, tuple) else (made,)
    return torch.cat([value.reshape(len(value), -1) for value in values if value.is_floating_point()], 1)


def loss_of_outputs(made: Any, target: Tensor) -> Tensor:
    return F.mse_loss(joined(made), target)


def trained(name: str, kernels: str, **options: Any) -> tuple[Any, nn.Module, tuple[Tensor, ...]]:
    """A trainer after three steps, the module with its weights, and samples."""
    make, draw = NETWORKS[name]
    torch.manual_seed(3)
    module = make()
    batch, samples = (tuple(each(count) for each in draw) for count in (BATCH, SAMPLES))
    own = name.startswith("own_loss")
    target = None if own else torch.randn_like(joined(module(*batch)))
    asked = {"loss": None if own else loss_of_outputs, "optimizer": "sgd", "lr": 0.05, "ram": "4MiB", **options}
    trainer = pantoum.compile(
        module,
        batch if own else (batch[0] if len(batch) == 1 else batch),
        **({} if own else {"target": target}),
        plan_options={**MODELLED, "kernels": kernels},
        **asked,
    )
    for _ in range(3):
        trainer.step(*batch, *([] if own else [target]))
    trainer.copy_to(module)
    return trainer, module, samples


def values_of(made: Any) -> list[np.ndarray[Any, Any]]:
    return list(made.values()) if isinstance(made, dict) else [made]


@pytest.mark.parametrize("kernels", ["portable", "onednn"])
@pytest.mark.parametrize(
    "name", [each if each in QUICK else pytest.param(each, marks=pytest.mark.long) for each in NETWORKS]
)
def test_outputs_are_those_of_evaluation_and_of_pytorch(name: str, kernels: str) -> None:
    trainer, module, samples = trained(name, kernels)
    with trainer:
        inputs = samples[:1] if name == "own_loss" else samples  # labels and weights are read by the loss alone
        before = trainer.state_dict(optimizer=True)
        made = values_of(trainer.predict(*inputs))
        wanted = outputs_of(module, samples)
        assert len(made) == len(wanted)
        for own, pytorch in zip(made, wanted, strict=True):
            assert (own.shape, own.dtype) == (pytorch.shape, pytorch.dtype)
            if own.dtype.kind == "f":
                assert np.abs(own - pytorch).max() <= 1e-5 * np.abs(pytorch).max()
            else:
                assert (own != pytorch).mean() <= 0.1  # a tie may fall either way
        if kernels == "portable" and not name.startswith("own_loss"):
            reals = [value.reshape(SAMPLES, -1) for value in made if value.dtype.kind == "f"]
            for whole in (16, SAMPLES):  # SAMPLES: the last part is filled up
                target = np.concatenate(reals, 1)[:whole]
                figures = trainer.evaluate((*(each[:whole] for each in samples), target))
                assert figures["loss"] == 0, "evaluation gives other bits"
        after = trainer.state_dict(optimizer=True)
        assert all(np.array_equal(before[key], after[key], equal_nan=True) for key in before)
        again = values_of(trainer.predict(*inputs))
        assert all(np.array_equal(a, b) for a, b in zip(made, again, strict=True))


@pytest.mark.long
@pytest.mark.parametrize("name", ["batch_norm", "lstm", "transformer"])
def test_a_paged_step_predicts_inside_its_budget(name: str) -> None:
    """Parameters in storage, in the least RAM that the step has a plan for."""
    free, _, samples = trained(name, "portable")
    with free:
        wanted = free.predict(*samples)
        state = free.state_dict()
    with pytest.raises(pantoum.Infeasible) as refused:
        trained(name, "portable", ram="2KiB", params_in="aux")
    least = refused.value.min_ram
    assert least
    tight, _, _ = trained(name, "portable", ram=least, params_in="aux")
    with tight:
        tight.load_state_dict(state)
        paged = tight.usage.bytes_paged_in
        made = tight.predict(*samples)
        assert tight.usage.bytes_paged_in > paged
        assert tight.usage.arena_bytes <= int(least)
    assert np.array_equal(made, wanted)


def test_arrays_dicts_lists_data_sets_and_loaders_give_the_same(trainer: pantoum.Trainer, plan: pantoum.Plan) -> None:
    x = np.random.default_rng(1).standard_normal((37, 2), dtype=np.float32)
    y = np.zeros(37, np.int64)
    name = plan.batch[0].name
    wanted = predicted(trainer, x)
    assert isinstance(wanted, np.ndarray)
    assert len(wanted) == 37
    loader = [(x[:16], y[:16]), (x[16:20], y[16:20]), (x[20:], y[20:])]
    for given in [
        (torch.from_numpy(x),), (x.tolist(),), ({name: x},), ({name: x, "label": y},), (x, y), ((x, y),), ([x],),
        (pantoum.Dataset.from_arrays(plan, x, y),), (loader,), (iter(loader),), ([[batch] for batch, _ in loader],),
        (np.asfortranarray(x),), (x.astype(np.float64),),
    ]:  # fmt: skip
        assert np.array_equal(predicted(trainer, *given), wanted), given
    for rows in (1, 15, 16, 17):  # what a sample gives depends on no other
        assert np.array_equal(predicted(trainer, x[:rows]), wanted[:rows])


@pytest.mark.parametrize(
    "given",
    [
        (np.zeros((0, 2), np.float32),),
        (np.zeros((4, 3), np.float32),),
        (np.zeros(2, np.float32),),
        (np.zeros((4, 2), np.int64),),
        (np.zeros((4, 2), np.float32),) * 3,
        ({"nothing": np.zeros((4, 2), np.float32)},),
        ([],),
        (["x"],),
    ],
)
def test_what_fits_no_input_is_refused(trainer: pantoum.Trainer, given: Any) -> None:
    before = trainer.state_dict()
    with pytest.raises(pantoum.InvalidInput, match="E0262"):
        trainer.predict(*given)
    assert all(np.array_equal(before[name], value) for name, value in trainer.state_dict().items())
    assert len(trainer.predict(np.zeros((3, 2), np.float32))) == 3


@pytest.mark.parametrize("given", [(), ("points.npy",), (3,), (None,)])
def test_what_is_no_data_is_refused(trainer: pantoum.Trainer, given: Any) -> None:
    with pytest.raises(pantoum.Error):
        trainer.predict(*given)


def test_a_plan_file_gives_outputs_and_training_goes_on_as_without(tmp_path: Any) -> None:
    random = np.random.default_rng(0)
    x, y = random.standard_normal((16, 2), dtype=np.float32), random.integers(0, 2, 16)
    model = pantoum.load_onnx(SPIRALS, batch=16)
    plan = pantoum.plan(model, ram="256KiB", **MODELLED)
    plan.save(tmp_path / "plan.json")
    with pantoum.Trainer(plan) as one, pantoum.Trainer(pantoum.Plan.load(tmp_path / "plan.json")) as other:
        for _ in range(3):
            one.predict(random.standard_normal((5, 2), dtype=np.float32))
            assert one.step(x, y) == other.step(x, y)
        assert np.array_equal(predicted(one, x), predicted(other, x))


def test_several_inputs_by_name_in_any_order() -> None:
    model = pantoum.load_onnx(RECOMMENDER, batch=8, loss="mse")
    with pantoum.Trainer(pantoum.plan(model, ram="64MiB", **MODELLED)) as trainer:
        inputs = [tensor for tensor in trainer.plan.batch if not tensor.is_target]
        assert len(inputs) > 1
        arrays = {
            tensor.name: np.ones((11, *tensor.shape[1:]), tensor.dtype.replace("i", "int").replace("f", "float"))
            for tensor in inputs
        }
        wanted = predicted(trainer, *arrays.values())
        assert np.array_equal(predicted(trainer, dict(reversed(arrays.items()))), wanted)


def test_a_module_that_gives_its_loss_alone_is_refused_by_name() -> None:
    net = Net(lambda n, x: (n.a(x) ** 2).mean(), a=nn.Linear(4, 4))
    with pantoum.compile(net, torch.randn(8, 4), ram="1MiB", plan_options=MODELLED) as trainer:
        trainer.step(torch.randn(8, 4))
        with pytest.raises(pantoum.UsageError, match=r"E0105.*nothing but its loss"):
            trainer.predict(torch.randn(8, 4))


def test_a_step_of_everything_as_one_sample_gives_outputs_as_the_module_does() -> None:
    torch.manual_seed(0)
    net = Net(
        lambda n, x, h: n.out(n.rnn(x, h)[0]), rnn=nn.GRU(3, 4), out=nn.Linear(4, 2)
    )  # time is the first dimension
    x, h = torch.randn(5, 2, 3), torch.randn(1, 2, 4)
    with pantoum.compile(
        net, (x, h), loss=F.mse_loss, target=torch.zeros(5, 2, 2), ram="1MiB", plan_options=MODELLED
    ) as trainer:
        made = predicted(trainer, x, h)
    np.testing.assert_allclose(made, net(x, h).detach().numpy(), rtol=1e-5, atol=1e-6)
