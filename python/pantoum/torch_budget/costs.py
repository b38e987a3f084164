"""The cost of an op: its time, the bytes that it returns, and its workspace.

Every distinct op (target, shapes, strides, dtypes, constants) is run once on data of its shapes, a few times for the
clock, while PyTorch's allocator reports what it takes. Nothing else tells how much a convolution's gradient or a
softmax over a transposed tensor allocates inside, nor whether a result shares bytes with an argument.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import Node, map_arg
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes

_CLOCK_LIMIT_S = 0.04  # per distinct op; the least of the runs counts
_CLOCK_RUNS = (5, 30)  # at least, whatever the limit: other work on the machine delays single runs a hundredfold
_NUMBER_BYTES = 64  # a kernel's tensors of a plain number among its arguments, whichever way the call takes
_OVERHEAD_S = 2e-6  # of calling any op at all
_MODELLED_BYTES_PER_S = 5e9  # for ops that are not run while compiling


@dataclass(frozen=True, slots=True)
class OpCost:
    """`leaves` has one entry per result: ("new", which of `sizes`), ("alias", which input), ("none", 0)."""

    time_s: float
    workspace: int
    leaves: tuple[tuple[str, int], ...]
    sizes: tuple[int, ...]

    @property
    def is_view(self) -> bool:
        return len(self.leaves) > 0 and all(kind == "alias" for kind, _ in self.leaves)


class CostBook:
    """Costs by op, kept for the life of the process, so that equal graphs get equal costs and equal plans."""

    def __init__(self) -> None:
        self._costs: dict[str, OpCost] = {}

    def of(self, node: Node, folded: dict[Node, Any], opaque: bool) -> OpCost:
        """`opaque`: an operator of the user's, which is not run here: its time is modelled, its workspace unknown."""
        key = signature(node, folded)
        if key not in self._costs and not opaque:
            # Data of the right shape may not be enough: an index, a handle, a special layout.
            with suppress(RuntimeError, IndexError, ValueError, TypeError, NotImplementedError), outside_tracing():
                self._costs[key] = _measured(node, folded)
        if key not in self._costs:
            self._costs[key] = _modelled(node)
        return self._costs[key]


def signature(node: Node, folded: dict[Node, Any]) -> str:
    """A text of all that the cost of a call depends on, the positions of equal arguments included."""
    order: dict[Node, int] = {}

    def describe(argument: Any) -> str:
        if not isinstance(argument, Node):
            return repr(argument)
        if argument in folded:
            return repr(folded[argument])
        return f"#{order.setdefault(argument, len(order))}:{_described(argument.meta.get('val'))}"

    profiled = torch._C._autograd._profiler_enabled()
    arguments = pytree.tree_leaves((node.args, node.kwargs))
    spec = pytree.tree_structure((node.args, node.kwargs))
    fixed = f"{node.target}|{torch.get_num_threads()}|{profiled}|{spec}"
    return "|".join([fixed, *(describe(argument) for argument in arguments)])


def _described(value: Any) -> str:
    if not isinstance(value, Tensor):
        return repr(value)
    sizes, strides = tuple(map(int, value.shape)), tuple(map(int, value.stride()))
    flags = ("conj" if value.is_conj() else "") + ("neg" if value.is_neg() else "")
    return f"{value.dtype}{sizes}{strides}{value.device}{flags}"


@contextmanager
def outside_tracing() -> Iterator[None]:
    """Leaves tracing, autograd and autocast, and restores the state of the user's random numbers at the end."""
    modes = unset_fake_temporarily(), _disable_current_modes(), torch.no_grad(), torch._C._DisableAutocast()
    with modes[0], modes[1], modes[2], modes[3], torch.random.fork_rng(devices=[]):
        yield


def _measured(node: Node, folded: dict[Node, Any]) -> OpCost:
    made: dict[Node, Tensor] = {}
    arguments = zip(node.target._schema.arguments, node.args, strict=False)  # type: ignore[union-attr]
    # Row numbers of LAPACK's count from 1 and are not checked.
    pivots: set[Any] = {given for argument, given in arguments if "pivot" in argument.name.lower()}
    number = any(isinstance(argument, (int, float, complex)) for argument in (*node.args, *node.kwargs.values()))

    def real(argument: Node) -> Any:
        if argument in folded:
            return folded[argument]
        if argument not in made:
            data = _stand_in(argument.meta["val"])
            made[argument] = data.fill_(1) if argument in pivots else data
        return made[argument]

    args, kwargs = map_arg(node.args, real), map_arg(node.kwargs, real)
    sources = [made.get(source) for source in node.all_input_nodes]
    assert callable(node.target)

    def call() -> Any:
        return node.target(*args, **kwargs)  # type: ignore[operator]

    call()  # the first call of a kernel may build tables that stay
    peak, result = allocator_peak(call)
    leaves, sizes = _leaves_of(result, sources)
    del result
    inputs = sum(data.numel() * data.element_size() for data in made.values())
    workspace = max(0, peak - sum(sizes)) if peak >= 0 else 2 * (inputs + sum(sizes))
    return OpCost(_clocked(call), workspace + _NUMBER_BYTES * number, leaves, sizes)


def _stand_in(value: Any) -> Tensor:
    """Data of a tensor's shape and strides: reals in (0.1, 1), integers 0 (an index that is there), bits at random."""
    if not isinstance(value, Tensor):
        raise TypeError("an argument that is no tensor")
    sizes, strides = [int(size) for size in value.shape], [int(stride) for stride in value.stride()]
    count = 0 if 0 in sizes else 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    if value.dtype.is_floating_point or value.dtype.is_complex:
        flat = torch.empty(count, dtype=value.dtype)
        flat = flat.uniform_(0.1, 1.0) if value.dtype.is_floating_point else flat.fill_(0.5)
    elif value.dtype is torch.bool:
        flat = torch.randint(0, 2, (count,)).to(torch.bool)
    else:
        flat = torch.zeros(count, dtype=value.dtype)
    data = flat.as_strided(sizes, strides)
    data = data.conj() if value.is_conj() else data
    return torch._neg_view(data) if value.is_neg() else data


def _leaves_of(result: Any, sources: list[Tensor | None]) -> tuple[tuple[tuple[str, int], ...], tuple[int, ...]]:
    """The results of a call, each new or an alias of a source, and the bytes of the new storages."""
    known = {_storage(source): position for position, source in enumerate(sources) if source is not None}
    fresh: dict[int, int] = {}
    sizes: list[int] = []
    leaves: list[tuple[str, int]] = []
    for leaf in result if isinstance(result, (tuple, list)) else [result]:
        if not isinstance(leaf, Tensor):
            leaves.append(("none", 0))
        elif _storage(leaf) in known:
            leaves.append(("alias", known[_storage(leaf)]))
        else:
            if _storage(leaf) not in fresh:
                fresh[_storage(leaf)] = len(sizes)
                sizes.append(int(leaf.untyped_storage().nbytes()))
            leaves.append(("new", fresh[_storage(leaf)]))
    return _without_mixtures(leaves, sizes, sources), tuple(sizes)


def _storage(tensor: Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def _without_mixtures(
    leaves: list[tuple[str, int]], sizes: list[int], sources: list[Tensor | None]
) -> tuple[tuple[str, int], ...]:
    """An op that returns new bytes and an argument's: the argument's are counted again, which is never too little."""
    if not sizes or all(kind != "alias" for kind, _ in leaves):
        return tuple(leaves)
    counted: list[tuple[str, int]] = []
    for kind, index in leaves:
        source = sources[index] if kind == "alias" else None
        if source is not None:
            sizes.append(source.untyped_storage().nbytes())
            kind, index = "new", len(sizes) - 1
        counted.append((kind, index))
    return tuple(counted)


def _clocked(call: Callable[[], Any]) -> float:
    best, begun = float("inf"), time.perf_counter()
    for run in range(1, _CLOCK_RUNS[1] + 1):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
        if run >= _CLOCK_RUNS[0] and time.perf_counter() - begun > _CLOCK_LIMIT_S:
            break
    return best + _OVERHEAD_S


def _modelled(node: Node) -> OpCost:
    """The cost without a run: sizes of the fake tensors, and time by bytes moved."""
    values = [source.meta.get("val") for source in node.all_input_nodes]
    sources = [value if isinstance(value, Tensor) else None for value in values]
    leaves, sizes = _leaves_of(node.meta.get("val"), sources)
    moved = sum(sizes) + sum(int(source.numel()) * source.element_size() for source in sources if source is not None)
    return OpCost(_OVERHEAD_S + moved / _MODELLED_BYTES_PER_S, 0, leaves, sizes)


def allocator_peak(call: Callable[[], Any]) -> tuple[int, Any]:
    """Runs `call` and returns the most bytes that PyTorch's CPU allocator held for it at once, and its result.

    What the call frees without having taken it is not held against what it takes. -1: someone else is profiling, and
    PyTorch has one profiler.
    """
    profiler: Any = torch._C._autograd
    if profiler._profiler_enabled():
        return -1, call()
    experimental = torch._C._profiler._ExperimentalConfig()
    state = torch._C._profiler.ProfilerState.CPU
    profiler._enable_profiler_legacy(
        torch._C._profiler.ProfilerConfig(state, False, True, False, False, False, experimental)
    )
    try:
        result = call()
    finally:
        events = [event for thread in profiler._disable_profiler_legacy() for event in thread]
    held = peak = 0
    for event in events:
        if event.kind() == "memory_alloc":
            held += event.cpu_memory_usage()
            peak = max(peak, held)
    return peak, result
