# mypy: disable-error-code="no-untyped-call"
"""Calls of `x[mask]` while a forward is traced: of its rows, over them, and back into a tensor."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812
from torch.utils import _pytree as pytree

from .chosen import ADVICE, Chosen, Mask, Tracer, is_pointwise, plain_name
from .known import Known
from .problems import place_now

# Axis 0 is of rows that do not meet each other.
_OF_ROWS = {"linear", "layer_norm", "group_norm", "rms_norm", "conv1d", "conv2d", "conv3d", "max_pool1d", "max_pool2d",
            "avg_pool1d", "avg_pool2d", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "embedding", "one_hot",
            "bilinear", "scaled_dot_product_attention", "bmm", "baddbmm", "pairwise_distance",
            "cosine_similarity"}  # fmt: skip
# Functions of one dimension, that of rows left out: where it is among the arguments, and what it is otherwise.
_ALONG = {"softmax": (1, None), "log_softmax": (1, None), "normalize": (2, 1), "glu": (1, -1), "cumsum": (1, None),
          "argmax": (1, None), "argmin": (1, None), "sort": (1, -1), "topk": (2, -1), "gather": (1, None),
          "max": (1, None), "min": (1, None), "cumprod": (1, None), "flip": (1, None), "argsort": (1, -1),
          "cosine_similarity": (2, 1), "chunk": (2, 0), "split": (2, 0), "unbind": (1, 0), "cat": (1, 0)}  # fmt: skip
_REDUCED = {"sum", "mean", "prod", "amax", "amin", "max", "min", "norm", "vector_norm", "var", "std", "logsumexp",
            "all", "any", "count_nonzero", "nanmean", "nansum"}  # fmt: skip
_GIVEN = {"dtype", "device", "layout", "requires_grad", "is_cuda", "itemsize", "is_sparse", "is_quantized"}
_ASKED = {"is_floating_point", "is_complex", "element_size", "get_device"}


def _is_mask(value: Any) -> bool:
    return isinstance(value, Tensor) and not isinstance(value, Chosen) and value.dtype in (torch.bool, torch.uint8)


def concerns(name: str, args: Any, kwargs: Any, known: Known) -> bool:
    """Whether a call is of rows that a mask chooses, or chooses them. Known masks are places by now."""
    if any(isinstance(each, Chosen) for each in pytree.tree_leaves((args, kwargs))):
        return True
    if name == "masked_select":
        return len(args) > 1 and _is_mask(args[1])
    if is_places(name, args, kwargs):
        return known.value(next(iter((*args, *kwargs.values())))) is None
    if name not in ("__getitem__", "__setitem__"):
        return False
    parts = args[1] if isinstance(args[1], tuple) else (args[1],)
    fills = name == "__setitem__" and len(parts) == 1 and not (isinstance(args[2], Tensor) and args[2].dim())
    return not fills and any(_is_mask(part) for part in parts)


def is_places(name: str, args: Any, kwargs: Any) -> bool:
    """Whether a call gives the places that are not 0."""
    return name in ("nonzero", "argwhere") or (name == "where" and len(args) + len(kwargs) == 1)


def call(tracer: Tracer, function: Any, args: Any, kwargs: Any) -> Any:
    """The result of a call that `concerns` rows chosen by a mask."""
    return _Call(tracer, function, args, dict(kwargs)).result()


class _Call:
    def __init__(self, tracer: Tracer, function: Any, args: Any, kwargs: dict[str, Any]) -> None:
        self.tracer, self.function, self.args, self.kwargs = tracer, function, list(args), kwargs
        self.name = str(getattr(function, "__name__", ""))
        self.plain = plain_name(function)
        self.chosen = [each for each in pytree.tree_leaves((args, kwargs)) if isinstance(each, Chosen)]

    def refuse(self, what: str = "") -> NoReturn:
        self.tracer.problems.stop(what or f"{self.plain} of rows that a mask of the data chooses", ADVICE)

    def result(self) -> Any:
        if self.name == "__setitem__":
            return self._write()
        if is_places(self.name, self.args, self.kwargs):
            return self._places()
        if self.name in ("__getitem__", "masked_select") and not isinstance(self.args[0], Chosen):
            return self._choose()
        if self.name == "__get__":
            return self._attribute(self.chosen[0], str(self.function.__self__.__name__))
        if self.plain in _ASKED:
            return self.run([self.args[0].rows], self.kwargs)
        if self.plain in ("masked_scatter", "copy") and self.name.endswith("_"):
            return self._scatter()
        rule: Callable[[], Any] | None = getattr(self, f"_of_{self.plain}", None)
        reduction = _reduction_of(self.function, self.args, self.kwargs)
        if rule is not None:
            return rule()
        if reduction is not None:
            return self._loss(reduction)
        if self.plain in _REDUCED and self._is_reduced():
            return self._reduce()
        of_two = len(self.args) > 1 and isinstance(self.args[1], Tensor)
        if is_pointwise(self.plain) and (of_two or self.plain not in _REDUCED):
            return self._pointwise()
        if self.plain in _REDUCED or self.plain in _ALONG or self.plain in _OF_ROWS:
            return self._rowwise()
        self.refuse()

    def run(self, args: Sequence[Any], kwargs: dict[str, Any], function: Any = None) -> Any:
        """A call as if the forward made it."""
        with self.tracer:
            return (function or self.function)(*args, **kwargs)

    def same_mask(self) -> Mask:
        first = self.chosen[0].mask
        if any(each.mask.key != first.key for each in self.chosen):
            self.refuse(f"{self.plain} of rows that two masks of the data choose")
        return first

    def wrapped(self, result: Any, axis: int, base: Chosen | None = None) -> Any:
        """Results that have the rows at `axis`."""
        size, mask = self.chosen[0].mask.values.shape[0], self.chosen[0].mask
        for each in pytree.tree_leaves(result):
            if isinstance(each, Tensor) and (each.dim() <= axis or each.shape[axis] != size):
                self.refuse()
        return pytree.tree_map_only(Tensor, lambda each: Chosen.of(each, axis, mask, True, base), result)

    # Choosing and writing back ----------------------------------------------------------------------------------------

    def _choose(self) -> Any:
        x, index = self.args[0], self.args[1] if len(self.args) > 1 else self.kwargs["mask"]
        if self.name == "masked_select":
            if isinstance(index, Chosen):
                self.refuse()
            shape = torch.broadcast_shapes(x.shape, index.shape)
            x, how = x.expand(shape), ("expand", *shape)
            key = (self.tracer.masks.key(index), *how)
            flat = self.tracer.masks.made(index.to(torch.bool).expand(shape), key)
            return Chosen.of(x.reshape(-1).clone(), 0, flat)
        if self.chosen:
            return self._choose_by_places(x, index if isinstance(index, tuple) else (index,))
        view, axis, mask = self._split(x, index)
        rows = view.reshape([*view.shape[:axis], mask.numel(), *view.shape[axis + mask.dim() :]])
        return Chosen.of(rows.clone(), axis, self.tracer.masks.mask(mask))

    def _places(self) -> Any:
        """Places in each dimension of what is not 0."""
        x = self._argument(0, "input", None)
        if isinstance(x, Chosen) or not isinstance(x, Tensor) or x.dim() == 0:
            self.refuse()
        if x.dtype == torch.bool:
            mask = self.tracer.masks.mask(x)
        else:
            mask = self.tracer.masks.made(x != 0, ("nonzero", self.tracer.masks.key(x)))
        ranges = [torch.arange(size).reshape([-1] + [1] * (x.dim() - d - 1)) for d, size in enumerate(x.shape)]
        grid = [each.expand(x.shape).reshape(-1) for each in ranges]
        if self.name == "where" or self.kwargs.get("as_tuple"):
            return tuple(Chosen.of(each, 0, mask) for each in grid)
        return Chosen.of(torch.stack(grid, 1), 0, mask)

    def _choose_by_places(self, x: Tensor, parts: tuple[Any, ...]) -> Any:
        """`x[places]`, where a mask of the data has chosen the places; slices may stand before and behind them."""
        self.same_mask()
        given = [place for place, part in enumerate(parts) if isinstance(part, Chosen)]
        simple = all(part == slice(None) for part in parts[: given[0]])
        simple = simple and all(part is None or type(part) in (int, slice) for part in parts[given[-1] + 1 :])
        integers = all(each.rows.dtype == torch.int64 and each.rows.dim() == 1 for each in self.chosen)
        if not (simple and integers and given == list(range(given[0], given[0] + len(given)))):
            self.refuse("an index of rows that a mask of the data chooses")
        index = tuple(part.fill() if isinstance(part, Chosen) else part for part in parts)
        return self.wrapped(self.run([x, index], {}, Tensor.__getitem__), given[0])

    def _of_index_add(self) -> Any:
        """Of places and rows that one mask chooses."""
        names = ("input", "dim", "index", "source")
        x, dim, index, source = (self._argument(place, name, None) for place, name in enumerate(names))
        if isinstance(x, Chosen) or not isinstance(index, Chosen) or not isinstance(source, Chosen):
            self.refuse()
        self.same_mask()
        if index.rows.dim() != 1 or source.axis != dim % x.dim():
            self.refuse()
        return self.run([x, dim, index.fill(), source.replaced(0)], {"alpha": self.kwargs.get("alpha", 1)})

    def _split(self, x: Tensor, index: Any) -> tuple[Tensor, int, Tensor]:
        """The part of x that the other indices take, and the mask with the dimension at which it begins there."""
        parts = list(index) if isinstance(index, tuple) else [index]
        masks = [part for part in parts if _is_mask(part)]
        if len(masks) != 1 or any(isinstance(part, (Tensor, list)) and part is not masks[0] for part in parts):
            self.refuse("a mask of the data among other tensors in one index")
        mask: Tensor = masks[0].to(torch.bool) if masks[0].dtype != torch.bool else masks[0]
        taken = sum(1 for part in parts if part is not None and part is not ... and not isinstance(part, bool))
        taken += mask.dim() - 1
        if not any(part is ... for part in parts):
            parts.append(...)
        basic: list[Any] = []
        axis = at = 0
        for part in parts:
            if part is masks[0]:
                at = axis
                basic += [slice(None)] * mask.dim()
                axis += mask.dim()
            elif part is ...:
                basic.append(...)
                axis += x.dim() - taken
            else:
                basic.append(part)
                axis += not isinstance(part, int)
        plain = all(part is ... or part == slice(None) for part in basic)
        view = x if plain else self.run([x, tuple(basic)], {}, Tensor.__getitem__)
        if mask.dim() == 0:
            view, mask = view.unsqueeze(at), mask.reshape(1)
        if list(view.shape[at : at + mask.dim()]) != list(mask.shape):
            raise IndexError(f"a mask of shape {tuple(mask.shape)} for {tuple(view.shape)} at dimension {at}")
        return view, at, mask

    def _write(self) -> None:
        x, index, value = self.args[0], _alone(self.args[1]), self.args[2]
        if isinstance(x, Chosen):
            return self._write_chosen(x, index, value)
        if any(isinstance(part, Chosen) for part in (index if isinstance(index, tuple) else (index,))):
            self.refuse("an index of rows that a mask of the data chooses")
        view, axis, mask = self._split(x, index)
        self._put(view, axis, mask, value)
        return None

    def _put(self, view: Tensor, axis: int, mask: Tensor, value: Any) -> None:
        """Writes the value at the mask's places of the view."""
        after = view.dim() - axis - mask.dim()
        if isinstance(value, Chosen):
            if value.mask.key != self.tracer.masks.mask(mask).key or value.rows.dim() - value.axis - 1 != after:
                self.refuse("rows that one mask of the data chooses, written by another")
            rows, at = value.rows, value.axis
            value = rows.reshape([*rows.shape[:at], *mask.shape, *rows.shape[at + 1 :]])
        elif isinstance(value, Tensor) and value.dim() > after:
            at = value.dim() - after - 1
            if value.shape[at] != 1:
                self.refuse("as many rows as a mask of the data chooses, of a tensor that has its own number of them")
            value = value.reshape([*value.shape[:at], *[1] * mask.dim(), *value.shape[at + 1 :]])
        value = value.to(view.dtype) if isinstance(value, Tensor) else value
        where = mask.reshape([*mask.shape, *[1] * after])
        self.run([view, torch.where(where, value, view)], {}, Tensor.copy_)

    def _write_chosen(self, x: Chosen, index: Any, value: Any) -> None:
        """`chosen[inner] = value`, of a mask among the rows, or of a part of each row."""
        if x.is_shared():
            self.refuse("a change in place of rows that a mask of the data chooses, and that have two names")
        if not isinstance(index, Chosen):
            return self._write_part(x, index, value)
        after = x.rows.dim() - index.rows.dim()
        if not _are_inside(index, x) or after < 0:
            self.refuse()
        rows, where = x.fill(), index.rows.reshape([*index.rows.shape, *[1] * after])
        if isinstance(value, Chosen):  # chosen by both masks
            key = self._inner(index).key
            if value.mask.key != key or value.axis != 0 or value.rows.dim() - 1 != after:
                self.refuse("rows that one mask of the data chooses, written by another")
            value = value.rows.reshape([*index.rows.shape, *value.rows.shape[1:]])
        elif isinstance(value, Tensor) and value.dim() > after:
            self.refuse()
        x.rows = torch.where(where, value.to(rows.dtype) if isinstance(value, Tensor) else value, rows)
        return None

    def _write_part(self, x: Chosen, index: Any, value: Any) -> None:
        part = self.run([x, index], {}, Tensor.__getitem__)
        if isinstance(value, Tensor) and value.dim() and not isinstance(value, Chosen):
            self.refuse()
        if isinstance(value, Chosen):
            if value.mask.key != x.mask.key or value.axis != part.axis or value.rows.dim() > part.rows.dim():
                self.refuse("rows that one mask of the data chooses, written by another")
            value = value.fill()
        rows = x.fill().clone()
        self.run([rows, index, value], {}, Tensor.__setitem__)
        x.rows = rows
        return None

    def _scatter(self) -> Any:
        """`y.masked_scatter_(mask, x[mask])`."""
        x, mask, source = (self._argument(place, name, None) for place, name in enumerate(("self", "mask", "source")))
        if not _is_mask(mask) or isinstance(x, Chosen) or not isinstance(source, Chosen):
            self.refuse()
        if mask.shape != x.shape or source.rows.dim() != 1:
            self.refuse()
        self._put(x, 0, mask, source)
        return x

    def _of___getitem__(self) -> Any:
        x, index = self.args[0], _alone(self.args[1])
        if isinstance(index, Chosen):
            return self._choose_again(x, index)
        parts = list(index) if isinstance(index, tuple) else [index]
        if any(not (part is None or part is ... or type(part) in (int, slice)) for part in parts):
            self.refuse("an index of rows that a mask of the data chooses")
        parts = parts if ... in parts else [*parts, ...]
        given = x.rows.dim() - sum(1 for part in parts if part is not None and part is not ...)
        at = parts.index(...)
        parts[at : at + 1] = [slice(None)] * given
        dims = [place for place, part in enumerate(parts) if part is not None]  # which part takes which dimension
        own = dims[x.axis]
        if parts[own] != slice(None):
            self.refuse("a place among the rows that a mask of the data chooses")
        axis = sum(1 for part in parts[:own] if not isinstance(part, int))
        return self._view(x, axis, lambda rows: rows[tuple(parts)])

    def _choose_again(self, x: Any, index: Chosen) -> Any:
        """`x[mask][inner]`: one mask of both."""
        shape = list(index.rows.shape)
        if not isinstance(x, Chosen) or not _are_inside(index, x) or list(x.rows.shape[: len(shape)]) != shape:
            self.refuse("an index of rows that a mask of the data chooses")
        rows, lead = x.fill(), index.rows.dim()
        return Chosen.of(rows.reshape([index.rows.numel(), *rows.shape[lead:]]).clone(), 0, self._inner(index))

    def _inner(self, index: Chosen) -> Mask:
        """The mask of rows that a mask chooses among those that are chosen."""
        return self.tracer.masks.made(index.replaced(False), ("inner", index.mask.key, self.tracer.masks.key(index)))

    # Attributes and views ---------------------------------------------------------------------------------------------

    def _attribute(self, x: Chosen, name: str) -> Any:
        if name == "shape":
            return self._of_size()
        if name == "ndim":
            return x.rows.dim()
        if name == "T" and x.rows.dim() == 2:
            return self._view(x, 1 - x.axis, lambda rows: rows.T)
        if name == "data":
            return Chosen.of(x.rows.detach(), x.axis, x.mask, x.filled, x)
        if name in _GIVEN:
            return getattr(x.rows, name)
        self.refuse(f"{name} of rows that a mask of the data chooses")

    def _of_size(self) -> Any:
        x = self.args[0]
        sizes = [x.count() if axis == x.axis else size for axis, size in enumerate(x.rows.shape)]
        dim = self.args[1] if len(self.args) > 1 else self.kwargs.get("dim")
        return tuple(sizes) if dim is None else sizes[dim]

    def _of_dim(self) -> int:
        return int(self.args[0].rows.dim())

    def _of_numel(self) -> Any:
        x = self.args[0]
        return x.count() * math.prod(size for axis, size in enumerate(x.rows.shape) if axis != x.axis)

    _of_ndimension, _of_nelement = _of_dim, _of_numel

    def _of_len(self) -> Any:
        return self.args[0].count()

    def _view(self, x: Chosen, axis: int, change: Callable[[Tensor], Tensor]) -> Chosen:
        return Chosen.of(change(x.rows), axis, x.mask, x.filled, x)

    def _of_unsqueeze(self) -> Any:
        x, dim = self.args[0], self._argument(1, "dim", None)
        dim %= x.rows.dim() + 1
        return self._view(x, x.axis + (dim <= x.axis), lambda rows: rows.unsqueeze(dim))

    def _of_squeeze(self) -> Any:
        x, dim = self.args[0], self._argument(1, "dim", None)
        if not isinstance(dim, int) or dim % x.rows.dim() == x.axis:
            self.refuse()
        gone = dim % x.rows.dim() < x.axis and x.rows.shape[dim] == 1
        return self._view(x, x.axis - gone, lambda rows: rows.squeeze(dim))

    def _of_transpose(self) -> Any:
        x, count = self.args[0], self.args[0].rows.dim()
        a, b = (self._argument(place, name, None) % count for place, name in ((1, "dim0"), (2, "dim1")))
        axis = {a: b, b: a}.get(x.axis, x.axis)
        return self._view(x, axis, lambda rows: rows.transpose(a, b))

    def _of_t(self) -> Any:
        return self._view(self.args[0], self.args[0].rows.dim() - 1 - self.args[0].axis, lambda rows: rows.t())

    def _of_flatten(self) -> Any:
        """To one dimension, or of the dimensions behind that of the rows."""
        x, start, end = self.args[0], self._argument(1, "start_dim", 0), self._argument(2, "end_dim", -1)
        if x.axis != 0 or end % x.rows.dim() != x.rows.dim() - 1:
            self.refuse()
        if start % x.rows.dim() > 0:
            return self._view(x, 0, lambda rows: rows.flatten(start))
        return self._flat(x)

    def _flat(self, x: Chosen) -> Any:
        if x.rows.dim() == 1:
            return x
        key = ("flat", x.mask.key, *x.rows.shape)
        mask = self.tracer.masks.made(x.over().expand(x.rows.shape), key)
        return Chosen.of(x.fill().reshape(-1), 0, mask, True, x)

    def _of_reshape(self) -> Any:
        """To one dimension, or with -1 (or the number of rows) first and the elements of each row kept together."""
        x, sizes = self.args[0], [*self.args[1:], *self.kwargs.values()]
        sizes = list(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
        if x.axis != 0 or not sizes or not (isinstance(sizes[0], Tensor) or sizes[0] == -1):
            self.refuse()
        if len(sizes) == 1:
            return self._flat(x)
        inner = x.rows.shape[1:].numel()
        rest = [inner // max(1, math.prod(s for s in sizes[1:] if s != -1)) if s == -1 else s for s in sizes[1:]]
        if math.prod(rest) != inner:
            self.refuse()
        return self._view(x, 0, lambda rows: rows.reshape([rows.shape[0], *rest]))

    _of_view = _of_reshape

    def _argument(self, place: int, name: str, otherwise: Any) -> Any:
        return self.args[place] if len(self.args) > place else self.kwargs.get(name, otherwise)

    # Computing --------------------------------------------------------------------------------------------------------

    def _pointwise(self) -> Any:
        mask = self.same_mask()
        behind = {each.rows.dim() - each.axis - 1 for each in self.chosen}
        if len(behind) > 1:
            self.refuse("rows that a mask of the data chooses, each with each")
        after = behind.pop()
        for each in pytree.tree_leaves((self.args, self.kwargs)):
            other = isinstance(each, Tensor) and not isinstance(each, Chosen) and each.dim() > after
            if other and each.shape[each.dim() - after - 1] != 1:
                self.refuse("rows that a mask of the data chooses, with as many others")
        args, kwargs = pytree.tree_map_only(Chosen, Chosen.fill, (tuple(self.args), self.kwargs))
        in_place = self._in_place()
        result = self.run(args, kwargs, in_place)
        if in_place is None:
            alias = self.plain in ("detach", "contiguous", "to", "type", "type_as", "float")
            return self.wrapped(result, result.dim() - after - 1, self.chosen[0] if alias else None)
        changed = self.args[0]
        if not isinstance(changed, Chosen) or changed.is_shared() or result.shape != changed.rows.shape:
            self.refuse("a change in place of rows that a mask of the data chooses")
        changed.rows, changed.filled, changed.mask = result.to(changed.rows.dtype), True, mask
        return changed

    def _in_place(self) -> Any:
        """The function that computes what this one writes; None: it writes nothing."""
        if self.name == "requires_grad_":
            self.refuse()
        if self.name.startswith("__i") and self.name not in ("__invert__", "__index__", "__int__"):
            return getattr(Tensor, f"__{self.name[3:]}")
        if self.name.endswith("_") and not self.name.startswith("_"):
            name = self.name[:-1]
            return getattr(Tensor, name, None) or getattr(F, name)
        if self.kwargs.get("inplace"):
            self.refuse()
        return None

    def _rowwise(self) -> Any:
        """A function along another dimension than that of the rows."""
        self.same_mask()
        first = self.chosen[0]
        if any(each.axis != first.axis for each in self.chosen):
            self.refuse()
        axis, count = first.axis, first.rows.dim()
        if self.plain in _ALONG or self.plain in _REDUCED:
            dim = self._dim()
            if dim is None or any(each % count == axis for each in dim):
                return self._along_rows(dim)
            kept = self.plain not in _REDUCED | {"argmax", "argmin", "unbind"}
            if not kept and not self.kwargs.get("keepdim", bool(self.args[2:3]) and self.args[2] is True):
                axis -= sum(each % count < axis for each in dim)
        elif axis != 0:
            self.refuse()
        args, kwargs = pytree.tree_map_only(Chosen, Chosen.fill, (tuple(self.args), self.kwargs))
        return self.wrapped(self.run(args, kwargs), axis)

    def _along_rows(self, dim: list[int] | None) -> Any:
        x = self.chosen[0]
        if dim is None or len(self.chosen) > 1:
            self.refuse()
        fill = {"softmax": -math.inf, "log_softmax": -math.inf, "cumsum": 0, "cumprod": 1}.get(self.plain)
        if fill is None:
            self.refuse()
        if self.plain == "log_softmax":
            return self.wrapped(x.fill() - _logsumexp(x, [x.axis], True), x.axis)
        rows = x.replaced(fill)
        if self.plain == "softmax":  # where no row is chosen, every element would be the same infinity
            rows = torch.where(x.mask.some, rows, 0.0)
        return self.wrapped(self.run([rows, dim[0]], {}, getattr(torch, self.plain)), x.axis)

    def _dim(self) -> list[int] | None:
        place, otherwise = _ALONG.get(self.plain, (1, None))
        if self.plain in ("norm", "vector_norm"):
            place = 2
        dim = self.kwargs.get("dim", self.kwargs.get("axis", self._argument(place, "dim", otherwise)))
        if dim is None or isinstance(dim, (bool, Tensor)):
            return None
        return [dim] if isinstance(dim, int) else list(dim)

    def _of_cat(self) -> Any:
        parts, dim = list(self.args[0]), self._argument(1, "dim", 0)
        first = self.chosen[0]
        if any(each.axis != first.axis or each.rows.dim() != first.rows.dim() for each in self.chosen):
            self.refuse()
        if dim % first.rows.dim() != first.axis:
            return self._rowwise() if len(self.chosen) == len(parts) else self.refuse()
        values = [
            each.mask.values if isinstance(each, Chosen) else torch.ones(each.shape[dim], dtype=torch.bool)
            for each in parts
        ]
        keys = [each.mask.key if isinstance(each, Chosen) else each.shape[dim] for each in parts]
        rows = torch.cat([each.fill() if isinstance(each, Chosen) else each for each in parts], dim)
        return Chosen.of(rows, first.axis, self.tracer.masks.made(torch.cat(values), ("cat", *keys)))

    _of_concat = _of_concatenate = _of_cat

    def _of_stack(self) -> Any:
        parts, dim = list(self.args[0]), self._argument(1, "dim", 0)
        first = self.chosen[0]
        self.same_mask()
        if len(self.chosen) < len(parts) or any(each.axis != first.axis for each in self.chosen):
            self.refuse()
        dim %= first.rows.dim() + 1
        return self.wrapped(torch.stack([each.fill() for each in parts], dim), first.axis + (dim <= first.axis))

    def _of_matmul(self) -> Any:
        a, b = self.args
        if self.name == "__rmatmul__":
            a, b = b, a
        if not isinstance(a, Chosen):
            if a.dim() > 2 or b.rows.dim() < 2 or b.axis == b.rows.dim() - 2:
                self.refuse()
            return self.wrapped(torch.matmul(a, b.fill()), b.axis - (a.dim() == 1 and b.axis == b.rows.dim() - 1))
        self.same_mask()
        last = a.rows.dim() - 1
        if isinstance(b, Chosen):
            at = max(b.rows.dim() - 2, 0)
            if a.axis == last and b.axis == at and last < 2 and b.rows.dim() <= 2:
                return torch.matmul(a.replaced(0), b.replaced(0))
            if a.axis == b.axis == 0 and last == 2 and b.rows.dim() == 3:
                return self.wrapped(torch.matmul(a.fill(), b.fill()), 0)
            self.refuse("rows that a mask of the data chooses, each with each")
        if a.axis == last or b.dim() > 2:
            self.refuse()
        return self.wrapped(torch.matmul(a.fill(), b), a.axis)

    _of_mm = _of_mv = _of_dot = _of_matmul

    # Reducing ---------------------------------------------------------------------------------------------------------

    def _is_reduced(self) -> bool:
        """Whether the rows are among the dimensions that are reduced."""
        x, dim = self.chosen[0], self._dim()
        return len(self.chosen) == 1 and (dim is None or any(each % x.rows.dim() == x.axis for each in dim))

    def _reduce(self) -> Any:
        x, dim = self.chosen[0], self._dim()
        dims = list(range(x.rows.dim())) if dim is None else sorted(each % x.rows.dim() for each in dim)
        keep = bool(self.kwargs.get("keepdim", False))
        extra = self.args[(3 if self.plain in ("norm", "vector_norm") else 2) :]
        if self.plain in ("max", "min") and dim is not None:
            self.refuse(f"the place of a row ({self.plain} with dim=) that a mask of the data chooses")
        if len(extra) > 1 or (extra and not isinstance(extra[0], bool)) or set(self.kwargs) & {"out"}:
            self.refuse()
        keep = bool(extra[0]) if extra and self.plain not in ("var", "std") else keep
        count = x.count() * math.prod(x.rows.shape[each] for each in dims if each != x.axis)
        if self.kwargs.get("dtype") is not None:
            x = Chosen.of(x.rows.to(self.kwargs["dtype"]), x.axis, x.mask, x.filled)
        return self.run([x, dims, keep, count], {}, getattr(self, f"_{self.plain}"))

    def _sum(self, x: Chosen, dims: list[int], keep: bool, _: Tensor) -> Tensor:
        return x.replaced(0).sum(dims, keep)

    def _mean(self, x: Chosen, dims: list[int], keep: bool, count: Tensor) -> Tensor:
        return x.replaced(0).sum(dims, keep) / count.to(x.rows.dtype)

    def _nansum(self, x: Chosen, dims: list[int], keep: bool, _: Tensor) -> Tensor:
        return torch.nansum(x.replaced(0), dims, keep)

    def _nanmean(self, x: Chosen, dims: list[int], keep: bool, _: Tensor) -> Tensor:
        return self._nansum(x, dims, keep, _) / (x.over() & ~torch.isnan(x.rows)).to(x.rows.dtype).sum(dims, keep)

    def _prod(self, x: Chosen, dims: list[int], keep: bool, _: Tensor) -> Tensor:
        rows = x.replaced(1)
        if len(dims) < rows.dim():
            return rows.prod(dims[0], keep) if len(dims) == 1 else self.refuse()
        return rows.prod()

    def _count_nonzero(self, x: Chosen, dims: list[int], *_: Any) -> Tensor:
        return (x.replaced(0) != 0).to(torch.int64).sum(dims)

    def _any(self, x: Chosen, dims: list[int], keep: bool, _: Tensor) -> Tensor:
        return (x.replaced(0) != 0).to(torch.int64).sum(dims, keep) > 0

    def _all(self, x: Chosen, dims: list[int], keep: bool, _: Tensor) -> Tensor:
        return (x.replaced(1) == 0).to(torch.int64).sum(dims, keep) == 0

    def _amax(self, x: Chosen, dims: list[int], keep: bool, _: Tensor) -> Tensor:
        return torch.amax(self._with_least(x, -1), dims, keep)

    def _amin(self, x: Chosen, dims: list[int], keep: bool, _: Tensor) -> Tensor:
        return torch.amin(self._with_least(x, 1), dims, keep)

    _max, _min = _amax, _amin

    def _with_least(self, x: Chosen, sign: int) -> Tensor:
        if not x.rows.is_floating_point():
            return x.fill()
        self.tracer.notes.append(f"that a mask chooses anything is not checked: {place_now()}")
        return x.replaced(sign * math.inf)

    def _norm(self, x: Chosen, dims: list[int], keep: bool, _: Tensor) -> Tensor:
        order = self._argument(1, "p", self.kwargs.get("ord"))
        order = 2.0 if order is None or order == "fro" else order
        of_matrix = self.function is torch.linalg.norm and len(dims) == x.rows.dim() == 2 and order != 2.0
        if not isinstance(order, (int, float)) or order < 0 or of_matrix:
            self.refuse()
        norm: Tensor = torch.linalg.vector_norm(x.replaced(0), order, dims, keep)
        return norm

    _vector_norm = _norm

    def _var(self, x: Chosen, dims: list[int], keep: bool, count: Tensor) -> Tensor:
        less = self.kwargs.get("correction", None)
        unbiased = self.kwargs.get("unbiased", next((each for each in self.args[1:] if isinstance(each, bool)), True))
        less = (1 if unbiased else 0) if less is None else less
        off = Chosen.of(x.rows - self._mean(x, dims, True, count), x.axis, x.mask).replaced(0)
        return (off * off).sum(dims, keep) / (count - less).clamp(min=0).to(x.rows.dtype)

    def _std(self, x: Chosen, dims: list[int], keep: bool, count: Tensor) -> Tensor:
        variance = self._var(x, dims, keep, count)
        zero = variance == 0
        return torch.where(zero, 0.0, torch.sqrt(torch.where(zero, 1.0, variance)))

    def _logsumexp(self, x: Chosen, dims: list[int], keep: bool, _: Tensor) -> Tensor:
        return _logsumexp(x, dims, keep)

    # Losses -----------------------------------------------------------------------------------------------------------

    def _loss(self, reduction: str) -> Any:
        """A loss with reduction="none", reduced over the rows that are chosen."""
        mask = self.same_mask()
        if any(each.axis != 0 for each in self.chosen):
            self.refuse()
        given = inspect.signature(self.function).bind(*self.args, **self.kwargs).arguments
        for name, each in given.items():
            rows_needed = name in ("input", "target", "input1", "input2", "anchor", "positive", "negative", "var")
            if rows_needed and isinstance(each, Tensor) and not isinstance(each, Chosen) and each.dim():
                self.refuse("a loss of rows that a mask of the data chooses, with as many others")
        weights = self._class_weights(given) if self.plain in ("cross_entropy", "nll_loss") else None
        options = pytree.tree_map_only(Chosen, Chosen.fill, {**given, "reduction": "none"})
        rows = self.run([], options)
        if not isinstance(rows, Tensor) or rows.dim() == 0 or rows.shape[0] != mask.values.shape[0]:
            self.refuse()
        losses = Chosen.of(rows, 0, mask, True)
        if reduction == "none":
            return losses
        total = losses.replaced(0).sum()
        if reduction == "sum":
            return total
        count = losses.count() if reduction == "batchmean" else losses.count() * (rows.numel() // rows.shape[0])
        return total / (count.to(total.dtype) if weights is None else weights)

    def _class_weights(self, given: dict[str, Any]) -> Tensor | None:
        """The sum of the weights of the targets, where they are classes."""
        target: Chosen = given["target"]
        weight = given.get("weight")
        if target.rows.is_floating_point():
            return None
        labels = target.fill()
        counted = target.over() & (labels != given.get("ignore_index", -100))
        if weight is None:
            count: Tensor = counted.to(given["input"].rows.dtype).sum()
            return count
        classes = torch.where(counted, labels, 0)
        weights = torch.index_select(weight, 0, classes.reshape(-1)).reshape(classes.shape)
        return torch.where(counted, weights, 0.0).sum()


def _are_inside(index: Chosen, x: Chosen) -> bool:
    """Whether the index is a mask of the rows of x."""
    return index.rows.dtype == torch.bool and index.mask.key == x.mask.key and index.axis == x.axis == 0


def _alone(index: Any) -> Any:
    return index[0] if isinstance(index, tuple) and len(index) == 1 else index


def _logsumexp(x: Chosen, dims: list[int], keep: bool) -> Tensor:
    return torch.logsumexp(x.replaced(-math.inf), dims, keep)


def _reduction_of(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> str | None:
    """How a loss of torch.nn.functional reduces its rows; None: the function is none of these."""
    name = getattr(function, "__name__", "")
    if function not in _LOSSES and ("loss" not in name or getattr(F, name, None) is not function):
        return None
    try:
        given = inspect.signature(function).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return None
    given.apply_defaults()
    words = given.arguments
    if words.get("size_average") is not None or words.get("reduce") is not None:
        return None
    return str(words["reduction"]) if "reduction" in words else None


_LOSSES = {F.cross_entropy, F.binary_cross_entropy, F.binary_cross_entropy_with_logits, F.kl_div}
