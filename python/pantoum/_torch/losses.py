"""Losses: the compiler's own by name, and any loss of torch, captured with the module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from pantoum.errors import UsageError
from pantoum.model import hint_at, losses_of

from .structure import member, parameters_of, positional, tensors_of

# The compiler's own, by their names of the command line, as PyTorch computes them.
OWN: dict[str, Callable[..., Tensor]] = {
    "cross_entropy": functional.cross_entropy,
    "soft_cross_entropy": functional.cross_entropy,
    "nll": functional.nll_loss,
    "mse": functional.mse_loss,
    "l1": functional.l1_loss,
    "smooth_l1": functional.smooth_l1_loss,
    "bce_with_logits": functional.binary_cross_entropy_with_logits,
    "kl_div": functional.kl_div,
}
# Other losses of torch.nn.functional, which are captured.
CAPTURED: dict[str, Callable[..., Tensor]] = {
    "huber": functional.huber_loss,
    "bce": functional.binary_cross_entropy,
    "binary_cross_entropy": functional.binary_cross_entropy,
    "hinge_embedding": functional.hinge_embedding_loss,
    "poisson_nll": functional.poisson_nll_loss,
    "soft_margin": functional.soft_margin_loss,
    "multi_margin": functional.multi_margin_loss,
    "multilabel_soft_margin": functional.multilabel_soft_margin_loss,
}
_OF_REALS = ("soft_cross_entropy", "mse", "l1", "smooth_l1", "bce_with_logits", "kl_div")
_SPELLINGS = {
    "crossentropy": "cross_entropy",
    "categorical_crossentropy": "cross_entropy",
    "sparse_categorical_crossentropy": "cross_entropy",
    "mean_squared_error": "mse",
    "mae": "l1",
    "mean_absolute_error": "l1",
    "binary_cross_entropy_with_logits": "bce_with_logits",
}


@dataclass
class LossChoice:
    """The meaning of a user's `loss`."""

    named: Any = None
    """The compiler's own terms; None: the loss is captured."""
    function: Callable[..., Any] | None = None
    """Captured: of output and target; None: the module's output is the loss."""

    @property
    def captured(self) -> bool:
        return self.named is None

    @property
    def needs_target(self) -> bool:
        return self.named is not None or (self.function is not None and _takes_target(self.function))


def choose_loss(loss: Any) -> LossChoice:
    """A name, pantoum.Loss values, a loss module, a function of output and target, or None. UsageError E0115."""
    if loss is None:
        return LossChoice()
    if isinstance(loss, str):
        return _by_name(loss)
    if type(loss).__module__.startswith("pantoum") or (isinstance(loss, Sequence) and loss):
        return LossChoice(named=loss)
    if isinstance(loss, type):
        raise UsageError("E0115", f"{loss.__name__} is a class", "loss", f"give an instance: {loss.__name__}()")
    if callable(loss):
        return LossChoice(function=loss)
    raise UsageError(
        "E0115",
        f"a {type(loss).__qualname__} is no loss",
        "loss",
        'give a name as "mse", a loss module or a function of output and target',
    )


def _by_name(name: str) -> LossChoice:
    losses_of(name)
    plain = name.lower().replace("-", "_").removesuffix("_loss")
    plain = _SPELLINGS.get(plain, plain)
    if plain in OWN:
        return LossChoice(named=plain)
    if plain in CAPTURED:
        return LossChoice(function=CAPTURED[plain])
    raise UsageError(
        "E0115",
        f"'{name}' is no loss",
        "loss",
        f"{hint_at('loss', plain)}use one of {', '.join((*OWN, *CAPTURED))}, or a function of output and target",
    )


def refuse_other_labels(choice: LossChoice, target: Any) -> None:
    """UsageError E0116: a target whose type says that another loss was meant."""
    terms = () if choice.named is None else losses_of(choice.named)
    labels = [tensor for _, tensor in tensors_of(target)]
    for term, label in zip(terms, labels, strict=False):
        whole = not label.is_floating_point()
        kind = str(label.dtype).removeprefix("torch.")
        if whole and term.name in _OF_REALS:
            advice = (
                "a class for each sample is loss='cross_entropy'; a number is a float of the output's shape: "
                "y.float()[:, None] for an output [N, 1]"
            )
            raise UsageError(
                "E0116", f"'{term.name}' compares with floats, and the labels are {kind}", "target", advice
            )
        if not whole and term.name in ("cross_entropy", "nll"):
            advice = (
                "labels that are whole: y.long(); one-hot or probabilities [N, classes]: loss='soft_cross_entropy'; "
                "numbers to approach: loss='mse'"
            )
            message = f"'{term.name}' takes numbers of classes, and the labels are {kind}"
            raise UsageError("E0116", message, "target", advice)


def _takes_target(function: Callable[..., Any]) -> bool:
    """Whether a loss has a second argument that is no option: `temperature=0.1` is one."""
    parameters = parameters_of(_called(function))
    if parameters is None or any(p.kind == p.VAR_POSITIONAL for p in parameters):
        return True
    second = positional(parameters)[1:2]
    return bool(second) and (second[0].default is None or second[0].default is second[0].empty)


def _required(function: Callable[..., Any]) -> int:
    """The number of positional arguments that a loss requires; 2 where its signature is not known."""
    parameters = parameters_of(_called(function))
    return 2 if parameters is None else sum(p.default is p.empty for p in positional(parameters))


def _called(function: Callable[..., Any]) -> Callable[..., Any]:
    return function.forward if isinstance(function, nn.Module) else function


def as_function(choice: LossChoice) -> Callable[[Any, Any], Any] | None:
    """The captured loss as a function of the module's output and the target, however many arguments it takes."""
    function = choice.function
    if function is None:
        return None

    def loss(output: Any, target: Any) -> Any:
        if not choice.needs_target:
            return function(output)
        wanted = _required(function)
        targets = target if isinstance(target, (tuple, list)) else [target]
        if targets is target and wanted == 1 + len(targets) > 2:
            return function(output, *targets)
        if isinstance(output, (tuple, list)) and wanted == len(output) + len(targets) > 2:
            return function(*output, *targets)
        return function(logits_of(output, function), target)

    return loss


def logits_of(output: Any, function: Callable[..., Any]) -> Any:
    """The logits of an output of Hugging Face's kind, for torch's losses. A user's function gets the output itself."""
    own = getattr(function, "__module__", type(function).__module__) or ""
    if isinstance(output, Tensor) or not (
        own.startswith("torch.nn") or type(function).__module__.startswith("torch.nn")
    ):
        return output
    found = member(output, "logits")
    return output if found is None else found


def derived_target(choice: LossChoice, output: Tensor) -> Tensor:
    """An example of a target where the user gives none: class labels for losses over classes, else like the output."""
    function = choice.function
    name = (getattr(function, "__name__", "") or type(function).__name__).lower()
    if (
        "cross_entropy" in name.replace("binary_cross_entropy", "")
        or "crossentropy" in name
        or "nll" in name.replace("poisson", "").replace("gaussian", "")
        or "multimargin" in name
    ):
        shape = (*output.shape[:1], *output.shape[2:]) if output.dim() > 1 else ()
        return torch.zeros(shape, dtype=torch.int64)
    return torch.zeros(output.shape, dtype=output.dtype)
