"""Trainer.predict: outputs are those of evaluation to the bit with the portable kernels, and those of PyTorch's eval().

That evaluation computes the same bits is seen by its loss: with the outputs as the targets, the mean of squares is 0 exactly then.
"""

from __future__ import annotations

import importlib
import pathlib
import sys
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the networks are torch modules")

import pantoum  # noqa: E402
from samples import MODELLED, RECOMMENDER, SPIRALS  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "predict"))
networks: Any = importlib.import_module("networks")
NETWORKS, SAMPLES, Net = networks.NETWORKS, networks.SAMPLES, networks.Net
outputs_of, trained = networks.outputs_of, networks.trained


def predicted(trainer: pantoum.Trainer, *given: Any) -> Any:
    """The one output of the network."""
    return trainer.predict(*given)


QUICK = ("dropout", "batch_norm", "lstm", "two_integer_inputs", "classes", "views_and_inputs", "own_loss")


def values_of(made: Any) -> list[np.ndarray[Any, Any]]:
    return list(made.values()) if isinstance(made, dict) else [made]


@pytest.mark.parametrize("kernels", ["portable", "onednn"])
@pytest.mark.parametrize(
    "name", [each if each in QUICK else pytest.param(each, marks=pytest.mark.long) for each in NETWORKS]
)
def test_outputs_are_those_of_evaluation_and_of_pytorch(name: str, kernels: str) -> None:
    trainer, module, samples = trained(NETWORKS[name], kernels)
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
    free, _, samples = trained(NETWORKS[name], "portable")
    with free:
        wanted = free.predict(*samples)
        state = free.state_dict()
    with pytest.raises(pantoum.Infeasible) as refused:
        trained(NETWORKS[name], "portable", ram="2KiB", params_in="aux")
    least = refused.value.min_ram
    assert least
    tight, _, _ = trained(NETWORKS[name], "portable", ram=least, params_in="aux")
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


def test_outputs_that_are_left_out_are_named_where_the_plan_is_made() -> None:
    net = Net(lambda n, x: (n.a(x), n.a(x).mean(0)), a=nn.Linear(4, 3))
    with pantoum.compile(
        net,
        torch.randn(8, 4),
        loss=lambda made, target: F.mse_loss(made[0], target) + made[1].sum(),
        target=torch.zeros(8, 3),
        ram="1MiB",
        plan_options=MODELLED,
    ) as trainer:
        (note,) = [each for each in trainer.plan.notes if each.startswith("predict leaves out the output")]
        assert note.endswith("its first dimension is not the batch of 8")
        assert predicted(trainer, torch.randn(5, 4)).shape == (5, 3)


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
