"""Watches a forward while it is exported: what the exported graph would lose in silence is kept, or refused with
its place."""

from __future__ import annotations

import collections
import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
import torch.fx.proxy
import torch.utils.checkpoint
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from . import chosen_calls
from .chosen import Masks, refuse_chosen
from .known import Known, with_known
from .problems import Problems, Stop, UserFrames, UserTraceback, place_now
from .replacements import UNCHECKED, adaptive_log_softmax, cumulative_batch_norm, replacement

_READS = {"numpy", "__array__", "__bool__", "item", "__int__", "__float__", "__index__", "tolist", "__complex__"}
_UNKNOWN = ("DataDependent", "data-dependent", "not supported for tensor subclasses")
_READS_OF_A_LINE = 100  # then the forward stops there: a loop may wait for a value
_MASKS = "compute with masks of a fixed shape, or choose outside of forward"
_IN_PLACE = {
    "__setitem__",
    "__iadd__",
    "__isub__",
    "__imul__",
    "__itruediv__",
    "__ifloordiv__",
    "__imod__",
    "__ipow__",
    "__iand__",
    "__ior__",
    "__ixor__",
    "__ilshift__",
    "__irshift__",
}
_SHAPED_BY_VALUES = {
    "nonzero",
    "argwhere",
    "where",
    "masked_select",
    "unique",
    "unique_consecutive",
    "bincount",
    "combinations",
}
_NORMED = ("max_norm changes the rows of a trained parameter in forward", "torch.renorm of the rows, or between steps")
_PACKED = (
    "packed sequences have a shape that depends on the data",
    "pad the sequences and multiply by a mask, or pick the last valid step with gather",
)
_REFUSED = {
    "embedding": _NORMED,
    "embedding_bag": _NORMED,
    "pack_padded_sequence": _PACKED,
    "_pack_padded_sequence": _PACKED,
    "ctc_loss": (
        "the shape of ctc_loss depends on the data where its labels are one after the other",
        "torch.nn.functional.ctc_loss with labels of [N, S], padded",
    ),
}


class Guard(TorchFunctionMode):
    """A torch function mode around the forward that is exported."""

    def __init__(self, problems: Problems) -> None:
        super().__init__()
        self.problems = problems
        self.detached: dict[int, Tensor] = {}  # by storage; kept, so that the storage stays its own
        self.read: set[int] = set()
        self.windows: set[int] = set()  # the memory of what as_strided took, and gave
        self.known = Known()
        self.masks = Masks()
        self.notes: list[str] = []
        self.reads: collections.Counter[str] = collections.Counter()  # of values that the data decide, by place

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(function, "__name__", "")
        if function is torch._assert and isinstance(args[0], Tensor):
            self.notes.append(f"an assertion is not checked: {place_now()}")
            return None
        function, args, kwargs = with_known(self.known, function, args, kwargs)
        if chosen_calls.concerns(name, args, kwargs, self.known):
            return chosen_calls.call(self, function, args, kwargs)
        other = replacement(function, args, kwargs)
        if other is not None:
            if function in UNCHECKED:
                self.notes.append(f"{UNCHECKED[function]} is not checked: {place_now()}")
            with self:
                answer = other()
            if name == "as_strided":
                self.windows |= {_storage(args[0]), _storage(answer)}
            return answer
        refused = _REFUSED.get(name)
        if refused and (refused is not _NORMED or kwargs.get("max_norm") is not None):
            self.problems.stop(*refused)
        if kwargs.get("generator") is not None:
            self.problems.stop("a random generator of its own cannot be captured", "leave generator out")
        changed = _changed(name, args, kwargs)
        self._written(name, changed)
        self._toggled(function, args)
        changed = args[0] if name == "__set__" else changed
        operands = self.known.operands(args, kwargs)
        shaped = name in _SHAPED_BY_VALUES and (name != "where" or len(args) + len(kwargs) == 1)
        if name in _READS or shaped:
            value = self.known.compute(function, operands, changed)
            if value is not None and operands is not None:
                self.known.decides(operands.buffers)
                return value
        if name in _READS:
            return self._read(function, name, args, kwargs)
        self.read |= {id(each) for each in (*args, *kwargs.values()) if isinstance(each, Tensor)}
        answer = function(*args, **kwargs)
        self.masks.written(changed)
        self.masks.note(function, args, kwargs, answer)
        if not shaped:
            self.known.follow(function, operands, changed, answer)
        if name in ("detach", "detach_") and args[0].requires_grad:
            self.detached[_storage(answer)] = answer
        made = [each for each in (answer if isinstance(answer, tuple) else [answer]) if isinstance(each, Tensor)]
        if any(isinstance(size, torch.SymInt) for each in made for size in each.shape):
            self.problems.stop(f"the shape of what {name} gives depends on the data", _MASKS)
        return answer

    def has_read(self, tensor: Tensor) -> bool:
        """Whether the tensor was an operand of the forward."""
        return id(tensor) in self.read

    def _read(self, function: Any, name: str, args: Any, kwargs: Any) -> Any:
        """Reads a value into Python, which is allowed where the value is known. Elsewhere the answer is made up, and
        later problems are found too: a branch is taken the first time and not again, which ends `while` loops."""
        try:
            answer = function(*args, **kwargs)
        except Exception as error:
            if not any(word in f"{type(error).__name__} {error}" for word in _UNKNOWN):
                raise
        else:
            if not any(
                isinstance(each, (torch.SymInt, torch.SymFloat, torch.SymBool))
                for each in (answer if isinstance(answer, list) else [answer])
            ):
                return answer
        what = (
            "a branch of Python depends on the data"
            if name == "__bool__"
            else f"a value of the data is read into Python ({name.strip('_')})"
        )
        place = place_now()
        self.problems.add(what, place, "torch.where, masks, or a choice outside of forward")
        self.reads[place] += 1
        if name in ("tolist", "numpy", "__array__") or self.reads[place] > _READS_OF_A_LINE:
            raise Stop
        return (
            self.reads[place] == 1
            if name == "__bool__"
            else 1.0
            if args[0].is_floating_point() and name != "__int__"
            else 1
        )

    def _toggled(self, function: Any, args: Any) -> None:
        """Refuses a change of requires_grad: a step has one set of parameters that train."""
        if function not in (Tensor.requires_grad_, Tensor.requires_grad.__set__):  # type: ignore[attr-defined]
            return
        wanted = bool(args[1]) if len(args) > 1 else True
        if isinstance(args[0], nn.Parameter) and args[0].requires_grad != wanted:
            self.problems.here(
                "forward changes requires_grad of a parameter",
                "set it outside of forward; weight.detach() keeps a gradient out",
            )

    def _written(self, name: str, changed: Any) -> None:
        """Refuses in-place changes that autograd does not see: the exported graph would have other gradients than
        PyTorch."""
        if not isinstance(changed, Tensor) or name in ("requires_grad_", "detach_", "retain_grad", "share_memory_"):
            return
        if isinstance(changed, nn.Parameter) and changed.requires_grad:
            self.problems.here(
                "forward changes a trained parameter in place", "change it outside of forward, between steps"
            )
        elif changed.requires_grad and not torch.is_grad_enabled():
            self.problems.here(
                "a value that has a gradient is changed in place under no_grad",
                "make a new value, with detach where no gradient is to pass",
            )
        elif _storage(changed) in self.windows:
            self.problems.here("what as_strided takes or gives is changed in place", "clone() before the change")
        elif not changed.requires_grad and _storage(changed) in self.detached:
            self.problems.here(
                "a detached value is changed in place, and with it the value that it was detached from",
                "detach().clone(), then change it",
            )


def _changed(name: str, args: Any, kwargs: Any) -> Any:
    """The tensor that a call changes in place; None: it changes none."""
    in_place = (name.endswith("_") and not name.endswith("__")) or name in _IN_PLACE
    return kwargs.get("out") if kwargs.get("out") is not None else args[0] if in_place and args else None


def _storage(tensor: Tensor) -> int:
    try:
        return int(tensor.untyped_storage()._cdata)
    except RuntimeError:  # a tensor without storage
        return 0


# Patches for as long as a forward is traced
# -------------------------------------------------------------------------------


@contextlib.contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    missing = object()
    own = owner.__dict__.get(name, missing)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if own is missing:
            delattr(owner, name)
        else:
            setattr(owner, name, own)


def _set_data(problems: Problems, x: Tensor, value: Tensor) -> None:
    """`x.data = value` gives x the value and leaves it its gradient."""
    if x.requires_grad:
        problems.here(
            "a value that has a gradient is set through .data",
            "x + (y - x).detach() has the value of y and the gradient of x",
        )
        return
    with torch.no_grad():
        x.copy_(value)


def _enter_without_gradient(self: Any) -> None:
    """inference_mode as no_grad: torch.export would lose it."""
    self.grad_before = torch.is_grad_enabled()
    torch.set_grad_enabled(not self.mode)


def _leave_without_gradient(self: Any, *_: Any) -> None:
    torch.set_grad_enabled(self.grad_before)


@contextlib.contextmanager
def patched(guard: Guard, apply: Any) -> Iterator[None]:
    """While this is open, custom autograd functions go through `apply`, and what has no place in a forward is
    refused."""
    problems = guard.problems

    def apply_to(kind: Any, *args: Any, **kwargs: Any) -> Any:
        refuse_chosen((args, kwargs), problems, f"what the custom autograd function {kind.__name__} takes")
        return apply(kind, *args, **kwargs)

    def hook(*_: Any, **__: Any) -> None:
        problems.here(
            "a hook on a gradient cannot be captured",
            "scale the value in forward: x * s + (x - x * s).detach() has the value of x and s times its gradient",
        )

    def refused(text: str, advice: str) -> Callable[..., Any]:
        return lambda *_, **__: problems.stop(text, advice)

    norm = nn.modules.batchnorm._BatchNorm
    with contextlib.ExitStack() as stack:
        for owner, name, value in (
            (torch.autograd.Function, "apply", classmethod(apply_to)),
            (
                torch.autograd,
                "_engine_run_backward",
                refused("gradients inside of forward cannot be captured", "write the derivative out in forward"),
            ),
            (Tensor, "register_hook", hook),
            (Tensor, "register_post_accumulate_grad_hook", hook),
            (Tensor, "data", property(Tensor.detach, partial(_set_data, problems))),
            (torch.inference_mode, "__enter__", _enter_without_gradient),
            (torch.inference_mode, "__exit__", _leave_without_gradient),
            (
                torch,
                "manual_seed",
                refused("a seed inside of forward cannot be captured", "seed=, an option of the trainer"),
            ),
            (torch, "cond", refused("torch.cond cannot be captured", "torch.where of both branches")),
            (norm, "forward", cumulative_batch_norm(norm.forward)),
            (nn.AdaptiveLogSoftmaxWithLoss, "forward", adaptive_log_softmax),
            (torch.fx.proxy, "_STACK_TRACE_ANCHORS", UserFrames()),
            (torch.fx.proxy, "CapturedTraceback", UserTraceback),
            (
                nn.modules.transformer,
                "_detect_is_causal_mask",
                lambda mask, is_causal=None, size=None: bool(is_causal),
            ),
        ):
            stack.enter_context(replaced(owner, name, value))
        yield


def refuse_hooks(module: nn.Module, problems: Problems) -> None:
    """Hooks on gradients that the module already has."""
    for path, each in module.named_modules():
        if each._backward_hooks or each._backward_pre_hooks:
            problems.add(
                f"module {path or type(module).__name__} has a hook on its gradient",
                "",
                "remove it; a custom autograd function can change gradients",
            )
    for path, parameter in module.named_parameters():
        if parameter._backward_hooks or getattr(parameter, "_post_accumulate_grad_hooks", None):
            problems.add(
                f"parameter {path} has a hook on its gradient", "", "remove it; the optimizer's options clip and decay"
            )
        if isinstance(parameter, nn.parameter.UninitializedParameter):
            problems.add(f"parameter {path} is not initialized yet", "", "run the module once on an example")
