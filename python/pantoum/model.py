"""Models, and how they are trained."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from pantoum import _core
from pantoum.errors import DeviceError, UsageError, names_of, path_bytes
from pantoum.options import Losses, Optimizer, core_optimizer, core_value, losses_of, optimizer_of, set_checked
from pantoum.quantities import Size, bytes_of

__all__ = ["Model", "inspect", "load_onnx"]

PathLike = str | os.PathLike[str] | bytes | os.PathLike[bytes]


class Model:
    """A model and how it is trained; immutable. ``pantoum.load_onnx`` makes one; pickling keeps the path or the
    bytes.
    """

    def __init__(self, handle: _core.Model, source: PathLike | None, options: dict[str, Any]) -> None:
        self._core = handle
        self._source = source
        self._options = options

    @classmethod
    def from_file(cls, path: PathLike, **options: Any) -> Model:
        """As ``load_onnx``; the file is read again when it is planned."""
        options = _checked_options(options)
        path_bytes(path)
        return cls(_core.Model.from_file(path, _core_options(options)), os.fspath(path), options)

    @classmethod
    def from_bytes(cls, contents: bytes | bytearray | memoryview, **options: Any) -> Model:
        """From the bytes of an ONNX file, which stay in RAM as long as the model; options as ``load_onnx`` has them."""
        options = _checked_options(options)
        given: Any = contents
        if not isinstance(given, (bytes, bytearray, memoryview)):
            kind = type(given).__qualname__
            raise UsageError(
                "E0116", f"a {kind} is no file's contents", "contents", (), "give bytes, or load_onnx(path)"
            )
        return cls(_core.Model.from_bytes(bytes(contents), _core_options(options)), None, options)

    @property
    def path(self) -> PathLike | None:
        """Of the file it was read from; None: from bytes."""
        return self._source

    @property
    def options(self) -> dict[str, Any]:
        """How it is trained: the arguments of ``load_onnx`` (a copy)."""
        return dict(self._options)

    @property
    def contents(self) -> bytes:
        """The bytes of the model's file as it was given. InvalidInput E0201: it is gone."""
        return self._core.contents()

    def with_options(self, **changes: Any) -> Model:
        """The same model, trained in another way: what is named here is changed, all else stays."""
        options = _checked_options({**self._options, **changes})
        return Model(self._core.with_options(_core_options(options)), self._source, options)

    def inspect(self) -> _core.ModelInfo:
        """Every node and weight, and whether it trains. Cost: that of an import."""
        return self._core.inspect()

    def save(self, path: PathLike) -> None:
        """Writes the model's file as it was given. DeviceError E0901."""
        contents = self.contents
        try:
            with open(path_bytes(path), "wb") as file:
                file.write(contents)
        except OSError as error:
            raise DeviceError("E0901", f"the model cannot be written: {error.strerror}", os.fsdecode(path)) from error

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


def _from_file(path: PathLike, options: dict[str, Any]) -> Model:
    return Model.from_file(path, **options)


def _from_bytes(contents: bytes, options: dict[str, Any]) -> Model:
    return Model.from_bytes(contents, **options)


_NAMES = {
    "batch",
    "loss",
    "optimizer",
    "decays",
    "lr",
    "accumulate",
    "split_update",
    "clip_value",
    "clip_norm",
    "freeze",
    "train",
    "freeze_stats",
    "accept_folded",
    "weights",
    "keep_init",
    "feature_cache",
    "top5",
    "mean_absolute_error",
}
_GLOBS = {"freeze", "train", "freeze_stats", "keep_init"}


def _checked_options(options: dict[str, Any]) -> dict[str, Any]:
    for name in options:
        if name not in _NAMES:
            raise UsageError(
                "E0100", f"there is no option '{name}'", name, (), f"use one of {', '.join(sorted(_NAMES))}"
            )
    return {name: value for name, value in options.items() if value is not None}


def _core_options(options: dict[str, Any]) -> _core.ModelOptions:
    made = _core.ModelOptions()
    rest = dict(options)
    made.losses = [core_value(_core.Loss, term) for term in losses_of(rest.pop("loss", "cross_entropy"))]
    made.optimizer = core_optimizer(optimizer_of(rest.pop("optimizer", "sgd"), rest.pop("lr", None)))
    if "decays" in rest:
        given = rest.pop("decays")
        set_checked(made, "decays", tuple(given.items()) if isinstance(given, Mapping) else given)
    if "feature_cache" in rest:
        made.feature_cache = bytes_of(rest.pop("feature_cache"), "feature_cache")
    if "weights" in rest:
        made.weights = path_bytes(rest.pop("weights"))
    for name, value in rest.items():
        if name in _GLOBS:
            value = names_of(value, name)
        set_checked(made, name, value)
    return made


def load_onnx(
    path: PathLike,
    *,
    batch: int | None = None,
    loss: Losses = "cross_entropy",
    optimizer: str | Optimizer = "sgd",
    decays: Mapping[str, float] | Sequence[tuple[str, float]] | None = None,
    lr: float | None = None,
    accumulate: int | None = None,
    split_update: bool | None = None,
    clip_value: float | None = None,
    clip_norm: float | None = None,
    freeze: str | Sequence[str] | None = None,
    train: str | Sequence[str] | None = None,
    freeze_stats: str | Sequence[str] | None = None,
    accept_folded: bool | None = None,
    weights: PathLike | None = None,
    keep_init: str | Sequence[str] | None = None,
    feature_cache: Size | None = None,
    top5: bool | None = None,
    mean_absolute_error: bool | None = None,
) -> Model:
    """A model from an ONNX file, and how it is trained.

    Args:
        path: of the file; it is read again when the model is planned.
        batch: samples of a step (of a micro-batch, with ``accumulate``); None: as the file has it, where it is static.
        loss: a name, a ``pantoum.Loss``, or several of them (a weighted sum).
        optimizer: a name ("sgd", "adam", "adamw", "rmsprop", "adagrad") or a value as ``pantoum.Sgd(lr=0.1)``.
        decays: the weight decay of some parameters in place of the optimizer's, by globs: {"*.bias": 0.0}; of
            several that name one, the last holds.
        lr: learning rate, in place of the optimizer's.
        accumulate: micro-batches whose mean gradient makes a step.
        split_update: a step is two programs, gradients and update, so that machines can share gradients
            (``pantoum.distributed``).
        clip_value: limit of each element of a gradient; None: none.
        clip_norm: limit of the norm of all gradients; None: none.
        freeze: globs over parameters that are not trained.
        train: globs over tensors that are trained though the file says otherwise.
        freeze_stats: globs over running statistics that stay as they are.
        accept_folded: train what the exporter folded as it stands in the file.
        weights: a safetensors file whose tensors replace the model's, by name.
        keep_init: globs over parameters that ``weights`` leaves alone.
        feature_cache: compute a frozen backbone once for every sample, and keep what it gives in at most so many bytes
            of storage ("1GiB").
        top5: measure top-5 accuracy too.
        mean_absolute_error: measure it too.

    Raises:
        UsageError: an option does not fit (E01xx).
        InvalidInput: the file is no model, or damaged (E02xx).
        Unsupported: operators that cannot be trained, all of them at once (E04xx).
    """
    options = {name: value for name, value in locals().items() if name != "path"}
    return Model.from_file(path, **options)


def inspect(model: Model | PathLike) -> _core.ModelInfo:
    """Every node and weight of a model or an ONNX file, and whether it trains. InvalidInput E02xx."""
    return (model if isinstance(model, Model) else Model.from_file(model)).inspect()
