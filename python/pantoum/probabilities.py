"""Outputs that are probabilities already, before a loss that takes them for logits: what `fit` looks at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pantoum.data import Array, Dataset
from pantoum.errors import Error, UsageError, warn
from pantoum.model import losses_of
from pantoum.options import Loss

if TYPE_CHECKING:
    from pantoum.trainer import Trainer

_MOST = 1 << 18  # elements of an output; of larger ones, made of many samples, this is not looked at
_SLACK = 1e-4


def warn_of_probabilities(trainer: Trainer, batch: Sequence[Array]) -> None:
    """Warns where every row of an output lies in [0, 1] and sums to 1 on this batch, and the loss is the cross-entropy
    of the output as it is, and not of its logarithm. Cost: a prediction, and an evaluation where the rows do."""
    model = trainer.plan.model
    given = None if model is None else model.options.get("loss", "cross_entropy")
    if given is None or not len(batch[0]):
        return
    terms = losses_of("cross_entropy" if given == "captured" else given)
    if len(terms) != 1 or terms[0].name not in ("cross_entropy", "soft_cross_entropy"):
        return
    found = _output_of(trainer, batch, terms[0])
    if found is None:
        return
    name, rows = found
    labels = batch[next(at for at, tensor in enumerate(trainer.plan.batch) if tensor.is_target)]
    try:
        loss = trainer._core.evaluate(Dataset.from_arrays(trainer.plan, *batch)._core.data)["loss"]
        as_logits, as_logarithm = (_cross_entropy(each, labels, terms[0]) for each in (rows, np.log(rows + 1e-30)))
    except (Error, ValueError, IndexError):  # the step that follows tells what is wrong with the batch
        return
    if abs(as_logits - loss) <= _SLACK * max(1.0, abs(loss)) < abs(as_logarithm - loss):
        warn(
            f"on the given data the rows of '{name}' lie in [0, 1] and sum to 1, as probabilities do, and the loss "
            "takes them for logits: let the model end before its softmax, or train with the loss nll on their logarithm"
        )


def _output_of(trainer: Trainer, batch: Sequence[Array], term: Loss) -> tuple[str, Array] | None:
    """The output that the loss is of, as rows of classes, if they are probabilities."""
    named = dict(zip((tensor.name for tensor in trainer.plan.batch), batch, strict=True))
    try:
        reads = [name for name, *_ in trainer._core.prediction_inputs()]
        outputs: list[Any] = trainer._core.outputs()
        sizes = [len(batch[0]) * int(np.prod(shape[1:])) for _, _, shape, _ in outputs]
        if not outputs or sum(sizes) > _MOST or any(name not in named for name in reads):
            return None
        made = trainer._predicted(len(batch[0]), lambda into: trainer._core.predict([named[n] for n in reads], into))
    except UsageError:  # the plan gives no outputs
        return None
    at = next((at for at, output in enumerate(outputs) if output[0] == term.output), 0)
    rows = made[at]
    if rows.ndim < 2 or rows.dtype != np.float32:
        return None
    rows = (rows if term.classes_last else np.moveaxis(rows, 1, -1)).reshape(
        -1, rows.shape[-1 if term.classes_last else 1]
    )
    bounded = rows.size > 0 and rows.min() >= 0 and rows.max() <= 1 + _SLACK
    return (outputs[at][0], rows) if bounded and np.abs(rows.sum(1) - 1).max() <= _SLACK else None


def _cross_entropy(rows: Array, labels: Array, term: Loss) -> float:
    """As PyTorch computes it, in double."""
    shifted = rows.astype(np.float64) - rows.max(1, keepdims=True)
    logarithms = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    weights = np.asarray(term.class_weights if len(term.class_weights) else np.ones(rows.shape[1]))
    if labels.dtype.kind == "f":
        targets = (labels if term.classes_last else np.moveaxis(labels, 1, -1)).reshape(rows.shape)
        counts = np.ones(len(rows))
    else:
        labels = labels.reshape(-1)
        read = (labels >= 0) & (labels != term.ignore_index)
        labels = np.where(read, labels, 0)
        targets, counts = np.eye(rows.shape[1])[labels], read * weights[labels]
        logarithms = logarithms * read[:, None]
    targets = targets * (1 - term.smoothing) + term.smoothing / rows.shape[1]
    return float(-(targets * logarithms * weights).sum() / (counts.sum() or 1))
