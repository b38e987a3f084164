"""A budget for the trainings of Hugging Face's ``Trainer`` (package transformers).

::

    from pantoum.hugging_face import TorchBudgetCallback

    budget = TorchBudgetCallback("1GiB")
    arguments = TrainingArguments(..., use_cpu=True, dataloader_drop_last=True)
    Trainer(model, arguments, train_dataset=data, callbacks=[budget]).train()
    print(budget.report())

The budget is that of ``pantoum.torch_budget``: its page says what counts. Every shape of a batch is planned by itself,
so pad to one length (``padding="max_length"``) and leave out the last, shorter batch.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
from typing import TYPE_CHECKING, Any

from pantoum.errors import UsageError
from pantoum.quantities import Size
from pantoum.torch_budget import Report, TorchBudget

if TYPE_CHECKING:
    TrainerCallback = object
else:
    try:
        TrainerCallback = importlib.import_module("transformers").TrainerCallback
    except ImportError as error:
        raise ImportError(
            "pantoum.hugging_face needs the package transformers: pip install transformers accelerate"
        ) from error

log = logging.getLogger("pantoum.torch_budget")


class TorchBudgetCallback(TrainerCallback):
    """Compiles the trainer's model under a budget when the training begins, and takes that back when it ends.

    Args:
        ram: as for ``pantoum.torch_budget``, and so are the other arguments.

    Attributes:
        budget: the ``TorchBudget``; ``with callback.budget.measure(): trainer.train()`` counts live bytes.

    Raises:
        UsageError: E0110 an argument that does not fit. From ``Trainer.train``: E0116 the trainer compiles the model
            itself, or trains it on another device than the CPU.
        Infeasible: from ``Trainer.train``: E0301 no plan of the step fits; ``min_ram`` is the least that is known.
    """

    def __init__(
        self,
        ram: Size,
        *,
        page_dir: str | os.PathLike[str] | None = "auto",
        time_limit_s: float = 10.0,
        name: str = "step",
    ) -> None:
        self.budget = TorchBudget(ram, page_dir=page_dir, time_limit_s=time_limit_s, name=name)
        self._undo = contextlib.ExitStack()

    def report(self) -> Report:
        """What was planned, and measured: ``TorchBudget.report``."""
        return self.budget.report()

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        """Compiles the model, which keeps its type and its parameters."""
        if args.torch_compile:
            advice = "leave torch_compile out: this callback compiles it"
            raise UsageError("E0116", "the trainer compiles the model itself", "TrainingArguments", advice)
        if args.device.type != "cpu":
            message = f"the training is on {args.device}, and the budget counts bytes of the CPU"
            raise UsageError("E0116", message, "TrainingArguments", "use_cpu=True")
        self._undo.close()  # of a training that ended in an exception
        before = model._compiled_call_impl
        with self.budget:
            model.compile(backend="pantoum")
        self._undo.callback(setattr, model, "_compiled_call_impl", before)

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Takes the compilation back: what is saved, evaluated or trained afterwards is the model as it was."""
        self._undo.close()
        log.info("%s", self.report())
