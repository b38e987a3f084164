"""Examples, losses and optimizers as PyTorch's users have them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the front end captures torch modules")

import pantoum  # noqa: E402
from pantoum._torch import capture  # noqa: E402
from pantoum._torch.binding import bind  # noqa: E402
from pantoum._torch.losses import choose_loss  # noqa: E402
from pantoum._torch.optimizers import choose_optimizer  # noqa: E402
from samples import MODELLED  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812


class Two(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, a: Tensor, b: Tensor | None = None) -> Tensor:
        return self.layer(a if b is None else a + b)


X, Y = torch.ones(5, 4), torch.zeros(5, dtype=torch.int64)


@pytest.mark.parametrize(
    ("module", "example", "inputs", "has_target"),
    [
        (nn.Linear(4, 3), X, 1, False),
        (nn.Linear(4, 3), (X,), 1, False),
        (nn.Linear(4, 3), (X, Y), 1, True),
        (nn.Linear(4, 3), [X, Y], 1, True),
        (nn.Linear(4, 3), {"input": X}, 1, False),
        (nn.Linear(4, 3), {"input": X, "labels": Y}, 1, True),
        (nn.Linear(4, 3), X.numpy(), 1, False),
        (Two(), (X, X, Y), 2, True),
        (Two(), ((X, X), Y), 2, True),
        (Two(), ({"a": X, "b": X}, Y), 2, True),
        (Two(), {"b": X, "a": X}, 2, False),
    ],
)
def test_an_example_is_bound_by_the_signature(module: nn.Module, example: Any, inputs: int, has_target: bool) -> None:
    bound = bind(module, example, None, True)
    assert len(bound.args) + len(bound.kwargs) == inputs
    assert (bound.target is not None) == has_target


@pytest.mark.parametrize("example", [(X, Y), (X, X, X, Y), {"c": X}, None, (), (1, 2)])
def test_an_example_that_does_not_fit_or_could_mean_two_things_is_refused(example: Any) -> None:
    with pytest.raises(pantoum.UsageError) as caught:
        bind(Two(), example, None, True)
    assert caught.value.code == "E0116"
    assert caught.value.help


def test_a_target_beside_the_example_ends_the_doubt() -> None:
    assert len(bind(Two(), (X, X), Y, True).args) == 2


class Named(nn.Module):
    """Its arguments have names that a training step has too."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, loss: Tensor, label: Tensor) -> Tensor:
        return F.cross_entropy(self.layer(loss), label)


def test_arguments_may_be_called_label_and_loss() -> None:
    module = Named()
    wanted = module(X, Y).item()
    with pantoum.compile(module, (X, Y), plan_options=MODELLED) as trainer:
        assert trainer.step({"label": Y, "loss": X}) == pytest.approx(wanted, rel=1e-5)
        assert trainer.step(X, Y) < wanted


@pytest.mark.parametrize(
    ("loss", "has_target"),
    [
        (lambda output: output.sum(), False),
        (lambda output, temperature=0.5: (output / temperature).sum(), False),
        (lambda output, target: (output - target).sum(), True),
        (lambda output, target=None, scale=2.0: (output - target).sum() * scale, True),
        (lambda *both: (both[0] - both[1]).sum(), True),
    ],
)
def test_a_second_argument_with_a_value_is_no_target(loss: Any, has_target: bool) -> None:
    assert choose_loss(loss).needs_target == has_target
    targets = [entry["target"] for entry in capture(nn.Linear(4, 3), X, loss).document["inputs"]]
    assert targets == ([False, True] if has_target else [False])


@pytest.mark.parametrize("loss", ["cross_entropy", "mse", "Cross-Entropy", "nll_loss"])
def test_a_named_loss_is_the_compilers_own(loss: str) -> None:
    assert choose_loss(loss).named is not None
    target = torch.zeros(len(X), 3) if loss == "mse" else Y
    assert capture(nn.Linear(4, 3), (X, target), loss).document["loss"] is None


@pytest.mark.parametrize(
    "loss",
    [
        F.cross_entropy,
        nn.CrossEntropyLoss(label_smoothing=0.1),
        lambda o, t: F.cross_entropy(o, t),
        "multi_margin",
        nn.NLLLoss(reduction="sum"),
    ],
)
def test_a_loss_of_torch_is_captured_with_its_target(loss: Any) -> None:
    document = capture(nn.Linear(4, 3), (X, Y), loss).document
    assert document["loss"]
    assert [entry["target"] for entry in document["inputs"]] == [False, True]


@pytest.mark.parametrize(
    ("loss", "shape", "dtype"),
    [(F.cross_entropy, [5], "i64"), (F.mse_loss, [5, 3], "f32"), (nn.HuberLoss(), [5, 3], "f32")],
)
def test_a_target_is_made_up_where_there_is_none(loss: Any, shape: list[int], dtype: str) -> None:
    target = capture(nn.Linear(4, 3), X, loss).document["inputs"][-1]
    assert (target["target"], target["shape"], target["dtype"]) == (True, shape, dtype)


def test_a_loss_module_with_weights_of_its_own_is_captured() -> None:
    graph = capture(nn.Linear(4, 3), (X, Y), nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 0.5])))
    assert [1.0, 2.0, 0.5] in [tensor.tolist() for tensor in graph.tensors.values()]


@pytest.mark.parametrize("loss", ["no such loss", nn.MSELoss, 3, lambda output, target: output])
def test_what_is_no_loss_is_refused(loss: Any) -> None:
    with pytest.raises(pantoum.UsageError):
        capture(nn.Linear(4, 3), (X, torch.zeros(5, 3)), loss)


def test_a_module_without_a_loss_has_to_give_one() -> None:
    with pytest.raises(pantoum.UsageError, match="no loss is given") as caught:
        capture(nn.Linear(4, 3), X)
    assert "loss=" in caught.value.help


def optimizer(kind: Any, **options: Any) -> Any:
    module = nn.Linear(4, 3)
    return kind(module.parameters(), **options), module


@pytest.mark.parametrize(
    ("kind", "options", "wanted"),
    [
        (
            torch.optim.SGD,
            {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 1e-4},
            pantoum.Sgd(0.1, 0.9, 1e-4, True),
        ),
        (torch.optim.SGD, {"lr": torch.tensor(0.5), "foreach": True}, pantoum.Sgd(0.5)),
        (torch.optim.Adam, {"betas": (0.8, 0.9)}, pantoum.Adam(beta1=0.8, beta2=0.9)),
        (torch.optim.Adam, {"decoupled_weight_decay": True, "weight_decay": 0.1}, pantoum.AdamW(weight_decay=0.1)),
        (torch.optim.AdamW, {"lr": 1e-4}, pantoum.AdamW(lr=1e-4)),
        (torch.optim.RMSprop, {"centered": True, "momentum": 0.5}, pantoum.RmsProp(centered=True, momentum=0.5)),
        (torch.optim.Adagrad, {"lr_decay": 0.1}, pantoum.Adagrad(lr_decay=0.1)),
        (
            torch.optim.SparseAdam,
            {"betas": (0.8, 0.9), "eps": 1e-6},
            pantoum.SparseAdam(beta1=0.8, beta2=0.9, eps=1e-6),
        ),
        (torch.optim.Adam, {"amsgrad": True}, pantoum.Adam(amsgrad=True)),
        (torch.optim.AdamW, {"amsgrad": True}, pantoum.AdamW(amsgrad=True)),
        (
            torch.optim.Adagrad,
            {"initial_accumulator_value": 0.1},
            pantoum.Adagrad(initial_accumulator_value=0.1),
        ),
    ],
)
def test_an_optimizer_of_torch_becomes_the_compilers(kind: Any, options: dict[str, Any], wanted: Any) -> None:
    found = choose_optimizer(*optimizer(kind, **options)).optimizer
    assert found == pytest.approx(wanted) if False else vars(found) == pytest.approx(vars(wanted))


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        (torch.optim.SGD, {"maximize": True}, "maximize"),
        (torch.optim.SGD, {"momentum": 0.9, "dampening": 0.1}, "dampening"),
        (torch.optim.NAdam, {}, "there is no NAdam here"),
        (torch.optim.LBFGS, {}, "there is no LBFGS here"),
    ],
)
def test_what_the_compilers_optimizers_have_not_is_refused(kind: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(pantoum.Unsupported) as caught:
        choose_optimizer(*optimizer(kind, **options))
    assert said in str(caught.value)
    assert caught.value.code == "E0408"


def test_a_state_of_the_optimizer_is_refused() -> None:
    made, module = optimizer(torch.optim.Adam)
    module(X).sum().backward()
    made.step()
    with pytest.raises(pantoum.Unsupported, match="it has taken steps"):
        choose_optimizer(made, module)


def test_what_pytorch_s_adam_has_not_cannot_be_compared_with_it() -> None:
    torch.manual_seed(0)
    data, labels = torch.randn(4, 3), torch.tensor([0, 1, 0, 1])
    optimizer = pantoum.Adam(eps_before_correction=True)
    with pytest.raises(pantoum.Unsupported, match="eps before its bias correction"):
        pantoum.check(nn.Linear(3, 2), (data, labels), loss="cross_entropy", optimizer=optimizer)


def test_groups_may_differ_in_rate_and_weight_decay_alone() -> None:
    module = nn.Linear(4, 3)
    groups = [
        {"params": [module.weight], "weight_decay": 0.1},
        {"params": [module.bias], "weight_decay": 0.0, "lr": 1.0},
    ]
    chosen = choose_optimizer(torch.optim.AdamW(groups), module)
    assert chosen.groups == [pantoum.Group("*", None, 0.1), pantoum.Group("bias", 1.0, 0.0)]
    groups[1]["betas"] = (0.5, 0.9)
    with pytest.raises(pantoum.Unsupported, match=r"parameter group 1 has betas=\(0.5, 0.9\)"):
        choose_optimizer(torch.optim.AdamW(groups), module)


def test_a_group_of_which_nothing_trains_is_none_of_the_plans() -> None:
    module = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2))
    module[1].requires_grad_(False)
    chosen = choose_optimizer(torch.optim.SGD([{"params": each.parameters()} for each in module], lr=0.1), module)
    assert chosen.planned == [0, None, 1]
    assert [group.names for group in chosen.groups] == ["*", "2.weight|2.bias"]


def test_parameters_that_the_optimizer_does_not_hold_are_frozen() -> None:
    module = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 3))
    assert choose_optimizer(torch.optim.SGD(module[1].parameters()), module).frozen == ["0.weight", "0.bias"]


def test_an_optimizer_of_another_module_is_refused() -> None:
    with pytest.raises(pantoum.UsageError, match="not of this module"):
        choose_optimizer(torch.optim.SGD(nn.Linear(2, 2).parameters()), nn.Linear(2, 2))


def test_numpy_arrays_are_inputs_as_tensors_are() -> None:
    a = capture(nn.Linear(4, 3), (np.ones((5, 4), np.float32), np.zeros(5, np.int64)), F.cross_entropy)
    b = capture(nn.Linear(4, 3), (X, Y), F.cross_entropy)
    assert a.document["inputs"] == b.document["inputs"]


def test_a_module_in_evaluation_mode_is_told() -> None:
    module = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 2))
    example = (torch.zeros(2, 3),)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pantoum.from_torch(module.train(), example, loss="mse")
        pantoum.from_torch(nn.Linear(3, 2).eval(), example, loss="mse")
    with pytest.warns(UserWarning, match="evaluation mode") as told:
        pantoum.from_torch(module.eval(), example, loss="mse")
    assert told[0].filename == __file__


def test_a_data_set_of_torch(tmp_path: Any) -> None:
    data = torch.utils.data.TensorDataset(torch.randn(8, 3), torch.randn(8, 2))
    with pantoum.compile(nn.Linear(3, 2), (torch.zeros(2, 3),), loss="mse", plan_options={"effort": 1}) as trainer:
        assert trainer.fit(data, validation=data, verbose=0).steps == 4
        with pytest.raises(pantoum.UsageError, match="gives samples, not batches"):
            trainer.fit(torch.utils.data.Subset(data, range(4)))
        with pytest.raises(pantoum.InvalidInput, match="a batch of 4 samples, and the plan's batch is 2"):
            trainer.fit(torch.utils.data.DataLoader(data, batch_size=4))


def test_what_is_not_finite_is_named() -> None:
    x, y = torch.randn(2, 3), torch.randn(2, 2)
    x[1, 2] = float("nan")
    with pantoum.compile(nn.Linear(3, 2), (torch.zeros(2, 3),), loss="mse", plan_options={"effort": 1}) as trainer:
        with pytest.raises(
            pantoum.InvalidInput, match=r"loss of step \d is not finite: 'input' of sample 1 of the batch"
        ):
            trainer.step(x, y)
        with pytest.raises(
            pantoum.InvalidInput, match=r"loss of step \d is not finite: 'input' of sample 1 of the batch"
        ):
            trainer.fit([(x, y)])
        with pytest.raises(pantoum.InvalidInput, match=r"not finite: the input of sample 1 is NaN"):
            trainer.fit((x, y))
