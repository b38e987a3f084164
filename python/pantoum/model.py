"""Models, and how they are trained."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from pantoum import _core
from pantoum.errors import InvalidInput, UsageError, expect, path_bytes
from pantoum.options import KINDS, OPTIMIZERS, Group, Loss, Losses, Optimizer
from pantoum.quantities import Options, PathLike, structure_of

_Self = TypeVar("_Self", bound="Model")


class Model:
    """A model and how it is trained; immutable. ``pantoum.load_onnx`` makes one; pickling keeps the path or the
    bytes.
    """

    def __init__(self, handle: _core.Model, source: PathLike | None, options: Options) -> None:
        self._core = handle
        self._stand_ins: list[str] = []  # tensors whose contents are zeros that stand in for missing values
        self._source = source
        self._options = options

    @classmethod
    def from_file(cls: type[_Self], path: PathLike, **options: Any) -> _Self:
        """A model from an ONNX file; options as ``load_onnx`` has them. The file is read again when the model is
        planned."""
        options = _said(options)
        path_bytes(path)
        return cls(_core.Model.from_file(path, _core_options(options)), os.fspath(path), options)

    @classmethod
    def from_bytes(cls: type[_Self], contents: bytes | bytearray | memoryview, **options: Any) -> _Self:
        """A model from the bytes of an ONNX file, which stay in RAM as long as the model; options as ``load_onnx`` has
        them."""
        options = _said(options)
        given: Any = contents
        if not isinstance(given, (bytes, bytearray, memoryview)):
            kind = type(given).__qualname__
            raise UsageError("E0116", f"a {kind} is no file's contents", "contents", "give bytes, or load_onnx(path)")
        return cls(_core.Model.from_bytes(bytes(contents), _core_options(options)), None, options)

    @property
    def path(self) -> PathLike | None:
        """The file that the model was read from; None: it was made from bytes."""
        return self._source

    @property
    def options(self) -> Options:
        """How the model is trained: the keywords of ``load_onnx`` that were given (a copy)."""
        return dict(self._options)

    @property
    def contents(self) -> bytes:
        """The bytes of the model's file as it was given. InvalidInput E0201: the file is gone."""
        return self._core.contents()

    def with_options(self, **changes: Any) -> Model:
        """The same model, trained in another way: what is named here is changed, all else stays."""
        options = _said({**self._options, **changes})
        model = Model(self._core.with_options(_core_options(options)), self._source, options)
        model._stand_ins = self._stand_ins
        return model

    def inspect(self) -> _core.ModelInfo:
        """Every node and weight, and whether it trains. Cost: one import of the file."""
        return self._core.inspect()

    def save(self, path: PathLike) -> None:
        """Writes the model's file as it was given. DeviceError E0901; UsageError E0125 onto a file that is read."""
        self._core.save(path)

    def export_onnx(self, weights: PathLike, path: PathLike, *, external_data: bool = False) -> None:
        """Writes an ONNX file for inference, with the weights of a safetensors file (``Trainer.save``).

        Raises:
            InvalidInput: E0240 to E0242, the weights do not fit.
            DeviceError: E0901, the file cannot be written.
        """
        _core.export_onnx(self._core, weights, path, external_data)

    def __reduce__(self) -> tuple[Any, ...]:
        if self._source is None:
            return (_from_bytes, (self.contents, self._options))
        return (_from_file, (self._source, self._options))

    def __repr__(self) -> str:
        source = "<bytes>" if self._source is None else repr(os.fsdecode(self._source))
        said = ", ".join(f"{name}={value!r}" for name, value in self._options.items())
        return f"pantoum.Model({', '.join(filter(None, [source, said]))})"


def _from_file(path: PathLike, options: Options) -> Model:
    return Model.from_file(path, **options)


def _from_bytes(contents: bytes, options: Options) -> Model:
    return Model.from_bytes(contents, **options)


def _said(options: Options) -> Options:
    return {name: value for name, value in options.items() if value is not None}


def refuse_stand_ins(names: Sequence[str]) -> None:
    """InvalidInput E0262 where these tensors of a torch module had no values when it was captured."""
    if names:
        message = f"{len(names)} tensors of the module have no values: it can be planned, not trained"
        advice = "give the module memory and values: module.to_empty(device='cpu'), then its weights"
        raise InvalidInput("E0262", message, "", advice, names[:20])


def _core_options(options: Options) -> _core.ModelOptions:
    rest = dict(options)
    loss, optimizer, groups = (rest.pop(name, None) for name in ("loss", "optimizer", "groups"))
    made: _core.ModelOptions = _core.ModelOptions()
    if loss is not None:
        made.set_losses([structure_of(_core.Loss, vars(term)) for term in losses_of(loss)])
    if optimizer is not None:  # before the learning rate, which is the optimizer's
        chosen = optimizer_of(optimizer)
        made.set_optimizer(structure_of(getattr(_core, type(chosen).__name__), vars(chosen)))
    if groups is not None:
        made.set_groups([structure_of(_core.Group, vars(group)) for group in groups_of(groups)])
    for name, value in rest.items():
        made.set(name, value)
    return made


def losses_of(loss: Losses) -> tuple[Loss, ...]:
    """All terms of a loss. UsageError E0115."""
    terms = (loss,) if isinstance(loss, str) or not isinstance(loss, Iterable) else loss
    for term in terms:
        if isinstance(term, str) and "," in term:
            advice = 'settings are arguments: pantoum.Loss("cross_entropy", class_weights=(1, 2))'
            raise UsageError("E0115", f"'{term}' is no name of a loss", "loss", advice)
    made = tuple(Loss(term) if isinstance(term, str) else term for term in terms)
    for term in made:
        expect(term, Loss, "loss", 'give a name as in "mse", or pantoum.Loss', "E0115")
    return made


def groups_of(groups: Group | Iterable[Group]) -> tuple[Group, ...]:
    """All groups of parameters. UsageError E0115."""
    made = tuple(groups) if isinstance(groups, Iterable) else (groups,)
    for group in made:
        expect(group, Group, "group", 'give pantoum.Group("*.bias", weight_decay=0.0), or several', "E0115")
    return made


def hint_at(setting: str, name: str) -> str:
    """What the library says of a loss or an optimizer that it does not have: "the mean absolute error is l1; "."""
    try:
        _core.ModelOptions().set(setting, name)
    except UsageError as error:
        return error.help.partition("use one of")[0]
    return ""


def optimizer_of(optimizer: str | Optimizer) -> Optimizer:
    """An optimizer by its name, or as a value. UsageError E0115."""
    if isinstance(optimizer, str):
        name = optimizer.lower()
        if name not in OPTIMIZERS:
            advice = f"{hint_at('optimizer', name)}use one of {', '.join(OPTIMIZERS)}"
            raise UsageError("E0115", f"'{optimizer}' is no optimizer", "optimizer", advice)
        made: Optimizer = OPTIMIZERS[name]()
        return made
    expect(optimizer, KINDS, "optimizer", "give a name, or pantoum.Sgd(lr=0.1)", "E0115")
    return optimizer


def inspect(model: Model | PathLike) -> _core.ModelInfo:
    """Every node and weight of a model or an ONNX file, and whether it trains. InvalidInput E02xx."""
    return (model if isinstance(model, Model) else Model.from_file(model)).inspect()
