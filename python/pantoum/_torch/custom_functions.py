"""Custom autograd functions: torch.export keeps their forward alone. Here their backward is kept too.

Our autodiff differentiates the forward. So y = f(x) with a backward B (the gradient of x, linear in that of y) becomes

    y = f(detach(x)) + (s - detach(s)),    s = the transpose of B, applied to x

whose value is f(x) to the last bit, as s - s is 0, and whose gradient is B. A backward that is not linear in the
gradient that it is given (one
that clips it) has no such form and is refused.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import torch
import torch.utils.checkpoint
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from .guard import replaced
from .problems import Problems, Stop, place_now
from .structure import Args


class Seen(Exception):
    """The forward calls a custom autograd function: its values are needed before it can be exported."""


Function: TypeAlias = Callable[..., Any]


class _Context:
    """Takes the place of `ctx` in a custom function."""

    def __init__(self, args: Args) -> None:
        self.needs_input_grad = tuple(_is_real(arg) for arg in args)
        self.saved_tensors: Args = ()

    def save_for_backward(self, *tensors: Any) -> None:
        self.saved_tensors = tensors

    save_for_forward = save_for_backward

    def mark_dirty(self, *_: Any) -> None:
        """Does nothing: no result depends on this call or on the two that share its body."""

    mark_non_differentiable = set_materialize_grads = mark_dirty


def _is_real(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()


def _tensors(args: Args) -> list[Tensor]:
    return [arg for arg in args if isinstance(arg, Tensor)]


def _filled(args: Args, tensors: list[Tensor]) -> list[Any]:
    given = iter(tensors)
    return [next(given) if isinstance(arg, Tensor) else arg for arg in args]


def _forward(kind: Any, context: _Context, args: list[Any]) -> Any:
    with torch.no_grad():
        if kind.setup_context is torch.autograd.Function.setup_context:
            return kind.forward(context, *args)
        output = kind.forward(*args)
        kind.setup_context(context, tuple(args), output)
        return output


def _backward(kind: Any, context: _Context, gradients: list[Any]) -> list[Any]:
    method = kind.vjp if kind.backward is torch.autograd.Function.backward else kind.backward
    with torch.enable_grad():
        found = method(context, *gradients)
    return list(found) if isinstance(found, (tuple, list)) else [found]


def _surrogate(kind: Any, args: Args) -> Function:
    """The function of its tensors with the value of the forward and the gradient of the backward."""

    def compute(*tensors: Tensor) -> Any:
        context = _Context(args)
        output = _forward(kind, context, _filled(args, [tensor.detach() for tensor in tensors]))
        outputs = [output] if isinstance(output, Tensor) else list(output)
        outputs = [each.detach() if isinstance(each, Tensor) else each for each in outputs]
        real = [index for index, each in enumerate(outputs) if _is_real(each)]
        seeds = {index: torch.zeros_like(outputs[index]).requires_grad_(True) for index in real}
        found = _backward(kind, context, [seeds.get(index) for index in range(len(outputs))])
        places = [index for index, arg in enumerate(args) if isinstance(arg, Tensor)]
        pairs = [
            (found[place], tensor)
            for place, tensor in zip(places, tensors, strict=True)
            if place < len(found) and isinstance(found[place], Tensor) and found[place].requires_grad
        ]
        for slope, tensor in pairs:
            parts = torch.autograd.grad(
                slope, list(seeds.values()), tensor.expand(slope.shape), retain_graph=True, allow_unused=True
            )
            for index, part in zip(seeds, parts, strict=True):
                if part is not None:
                    outputs[index] = outputs[index] + (part - part.detach())
        return outputs[0] if isinstance(output, Tensor) else tuple(outputs)

    return compute


def _is_linear(kind: Any, args: Args) -> bool:
    """Whether the backward is linear in the gradients of the outputs, on the example's values."""
    draw = torch.Generator().manual_seed(0)
    context = _Context(args)
    output = _forward(kind, context, [arg.detach() if isinstance(arg, Tensor) else arg for arg in args])
    outputs = [output] if isinstance(output, Tensor) else list(output)

    def of(gradients: list[Any]) -> list[Tensor]:
        return [each.detach().double() for each in _backward(kind, context, gradients) if isinstance(each, Tensor)]

    def noise(scale: float) -> list[Any]:
        return [
            torch.randn(each.shape, generator=draw, dtype=each.dtype) * scale if _is_real(each) else None
            for each in outputs
        ]

    a, b = noise(1.0), noise(30.0)
    joined = [None if x is None else 2 * x - 3 * y for x, y in zip(a, b, strict=True)]
    small = [None if x is None else 1e-3 * x for x in a]
    fa, fb, fj, fs = of(a), of(b), of(joined), of(small)
    return all(_near(2 * x - 3 * y, z) and _near(1e-3 * x, w) for x, y, z, w in zip(fa, fb, fj, fs, strict=True))


def _near(a: Tensor, b: Tensor) -> bool:
    scale = float(torch.maximum(a.abs().max(), b.abs().max())) if a.numel() else 0.0
    return bool(((a - b).abs() <= 1e-4 * scale + 1e-30).all()) or not bool(torch.isfinite(a).all())


class CustomFunctions:
    """The custom functions of one forward: first recorded on the example, then written into the exported graph in
    the same order."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.recorded: list[tuple[type, Function]] = []
        self.left = iter(self.recorded)  # calls that were not replayed yet
        self.mode = "notice"
        self._original = torch.autograd.Function.__dict__["apply"]
        self._engine = torch.autograd.__dict__["_engine_run_backward"]

    def apply(self, kind: Any, *args: Any, **kwargs: Any) -> Any:
        """Replaces Function.apply."""
        if kind is torch.utils.checkpoint.CheckpointFunction:
            return args[0](*args[2:])
        if kind.__module__.startswith("torch.") and kind.__name__.startswith("BackwardHook"):
            return args if len(args) > 1 else args[0]
        if self.mode == "notice":
            raise Seen
        if self.mode == "record":
            return self._record(kind, args, kwargs)
        return self._replay(kind, args)

    def _record(self, kind: Any, args: Args, kwargs: dict[str, Any]) -> Any:
        versions = [each._version for each in _tensors(args)]
        with self._plain():
            answer = kind.apply(*args, **kwargs)
            if versions != [each._version for each in _tensors(args)]:
                what = f"the custom autograd function {kind.__name__} changes its input in place"
                self.problems.here(what, "make a new value in its forward")
                return answer
            try:
                self.recorded.append((kind, self._understood(kind, args)))
            except Stop:
                self.recorded.append((kind, lambda *_: answer))
        return answer

    def _understood(self, kind: Any, args: Args) -> Function:
        """One call of a custom function on the example, as a graph of plain operators."""
        name, where = kind.__name__, place_now()
        values = tuple(arg.detach() if isinstance(arg, Tensor) else arg for arg in args)
        advice = "write it with detach, or as an operator of torch.library"
        try:
            linear = _is_linear(kind, values)
            graph: Function = make_fx(_surrogate(kind, values), tracing_mode="fake")(*_tensors(values))
        except Exception as error:
            said = (str(error).splitlines() or [""])[0][:200]
            what = f"the custom autograd function {name} cannot be captured: {type(error).__name__}: {said}"
            self.problems.add(what, where, advice)
            raise Stop from error
        if not linear:
            self.problems.stop(
                f"the backward of the custom autograd function {name} is not linear in the gradient that it is given",
                "clip gradients with the optimizer's options, or write the forward with detach",
            )
        return graph

    @contextlib.contextmanager
    def _plain(self) -> Iterator[None]:
        """PyTorch's own functions again, for as long as a call is recorded."""
        with (
            replaced(torch.autograd.Function, "apply", self._original),
            replaced(torch.autograd, "_engine_run_backward", self._engine),
        ):
            yield

    def _replay(self, kind: Any, args: Args) -> Any:
        recorded, graph = next(self.left, (None, None))
        if recorded is not kind or graph is None:
            self.problems.stop(f"calls of the custom autograd function {kind.__name__} change their order")
        return graph(*_tensors(args))
