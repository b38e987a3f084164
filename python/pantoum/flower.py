"""A Flower client whose local training is a planned step, inside the RAM of its own device.

    def plan(context, ram):                    # the same model on every client, each with its own budget
        return pantoum.plan(pantoum.load_onnx("net.onnx", batch=64, lr=0.05), ram=ram)

    def data(context):
        return (x_train, y_train), (x_test, y_test)

    app = pantoum.flower.client_app(plan, data)

The budget is the node's: ``flower-supernode --node-config 'ram="24MiB"'``, or ``ram`` of the run's configuration,
with an entry for each partition ("24MiB 9MiB"). The bits of the trained weights do not depend on it.

The engine is Flower's (Message API, ``flwr`` 1.30 to 1.32); this is a ``ClientApp`` for it. Needs ``flwr``: in
a clone, ``pip install '.[flower]'``.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from flwr.app import Array, ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from pantoum.errors import InvalidInput, UsageError
from pantoum.planning import Plan
from pantoum.trainer import Trainer

__all__ = ["arrays_of", "client_app", "in_order", "initial_arrays", "load_arrays", "ram_of"]

Arrays: TypeAlias = Sequence[npt.NDArray[Any]]


def ram_of(context: Context) -> str | None:
    """The budget of the client that ``context`` belongs to, as "24MiB".

    ``ram`` of the node's configuration; else that of the run's, whose entries are the partitions' (the last one is
    also that of all further partitions); None: the device's.

    Raises:
        UsageError: E0110 it is no text.
    """
    said = context.node_config.get("ram", context.run_config.get("ram"))
    if said is None:
        return None
    if not isinstance(said, str):
        raise UsageError("E0110", f"a budget of {said!r}", "ram", 'write it with its unit, in quotes: ram="24MiB"')
    entries = said.split()
    if not entries:
        return None
    return entries[min(_number(context.node_config, "partition-id"), len(entries) - 1)]


def _number(config: Mapping[str, Any], name: str, default: int = 0) -> int:
    """A whole number of a configuration. UsageError E0116: it is none, or negative."""
    said = config.get(name, default)
    if not isinstance(said, int) or isinstance(said, bool) or said < 0:
        raise UsageError("E0116", f"{said!r} is no whole number from 0", name, f"write {name}=1, without quotes")
    return said


def _shared(trainer: Trainer) -> list[str]:
    """Names of the tensors that clients share: those that training changes; no optimizer state, no counters."""
    return [name for name, dtype, _, kind, _ in trainer._core.tensors() if kind == "changes" and dtype == "f32"]


def arrays_of(trainer: Trainer) -> ArrayRecord:
    """Trained parameters and running statistics, as copies, by name."""
    state = trainer.state_dict()
    return ArrayRecord({name: Array(np.ascontiguousarray(state[name])) for name in _shared(trainer)})


def load_arrays(trainer: Trainer, arrays: Mapping[str, Array]) -> None:
    """Puts the arrays of a message in the place of the trainer's own.

    Raises:
        UsageError: E0104 names that the model does not have, or that are missing.
        InvalidInput: E0262 an array of another shape or type.
    """
    wanted = set(_shared(trainer))
    try:
        given = {name: array.numpy() for name, array in arrays.items()}
    except (TypeError, ValueError) as error:  # Flower's, where the bytes are no array of numpy
        raise InvalidInput("E0262", f"an array of the message cannot be read: {error}", "load_arrays") from error
    if different := sorted(wanted ^ set(arrays)):
        notes = [f"'{name}' is {'missing' if name in wanted else 'unknown'}" for name in different]
        raise UsageError(
            "E0104",
            "the arrays are not those of this model",
            "load_arrays",
            "use one model on server and clients",
            notes,
        )
    trainer.load_state_dict(given, strict=False)


def _arrays_in(message: Message) -> ArrayRecord:
    """The arrays of a message. UsageError E0104: it has none."""
    if "arrays" not in message.content.array_records:
        remedy = 'send RecordDict({"arrays": pantoum.flower.initial_arrays(plan)})'
        raise UsageError("E0104", "the message has no record 'arrays'", "arrays", remedy)
    return message.content.array_records["arrays"]


def initial_arrays(plan: Plan) -> ArrayRecord:
    """The arrays that a server begins with: the model's own values."""
    with Trainer(plan) as trainer:
        return arrays_of(trainer)


def in_order(replies: Iterable[Message]) -> list[Message]:
    """Replies by their partition, those without one last: sums over them do not depend on who answered first.

    A strategy that overrides ``aggregate_train(self, server_round, replies)`` passes these on.
    """

    def partition(message: Message) -> float:
        if message.has_error():
            return float("inf")
        said = [
            record["partition-id"] for record in message.content.metric_records.values() if "partition-id" in record
        ]
        return float(said[0]) if said and not isinstance(said[0], list) else float("inf")

    return sorted(replies, key=partition)


def _give_back() -> None:
    """Gives freed memory back to the system; else training would reuse it, and the process would seem to grow less."""
    gc.collect()
    with suppress(AttributeError, OSError):  # another C library has no malloc_trim
        ctypes.CDLL(None).malloc_trim(0)


def _own_memory() -> int | None:
    """Bytes of this process that are in RAM and of no file; None: this system does not say."""
    try:
        said = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    found = [int(line.split()[1]) for line in said.splitlines() if line.startswith("RssAnon:")]
    return 1024 * found[0] if found else None


class _Client:
    """State that the handlers of one app share: each plan is made once in a process."""

    def __init__(
        self, plan: Callable[[Context, str | None], Plan], data: Callable[[Context], tuple[Arrays, Arrays]]
    ) -> None:
        self._plan, self._data = plan, data
        self._plans: dict[tuple[int, int, str | None], Plan] = {}

    def plan(self, context: Context) -> Plan:
        ram = ram_of(context)
        key = (context.run_id, _number(context.node_config, "partition-id"), ram)
        if key not in self._plans:
            self._plans[key] = self._plan(context, ram)
        return self._plans[key]

    def train(self, message: Message, context: Context) -> Message:
        plan, (arrays, _) = self.plan(context), self._data(context)
        config = dict(message.content.config_records.get("config", {}))
        partition, server_round = _number(context.node_config, "partition-id"), _number(config, "server-round")
        seed = _number(config, "seed") + 1_000_003 * server_round + partition
        lr = config.get("lr")
        if lr is not None and (isinstance(lr, bool) or not isinstance(lr, (int, float))):
            raise UsageError("E0116", f"{lr!r} is no learning rate", "lr", "send a number: ConfigRecord({'lr': 0.05})")
        _give_back()
        before = _own_memory()
        with Trainer(plan, seed=seed, lr=None if lr is None else float(lr)) as trainer:
            load_arrays(trainer, _arrays_in(message))
            history = trainer.fit(tuple(arrays), epochs=_number(config, "local-epochs", 1))
            after = _own_memory()
            trained = arrays_of(trainer)
            metrics: dict[str, Any] = {
                "num-examples": len(arrays[0]),
                "train-loss": history.history["loss"][-1],
                "partition-id": partition,
                "budget-bytes": plan.budget_bytes,
                "arena-bytes": int(trainer.usage.arena_bytes),
            }
        if before is not None and after is not None:
            metrics["growth-bytes"] = after - before
        return Message(content=RecordDict({"arrays": trained, "metrics": MetricRecord(metrics)}), reply_to=message)

    def evaluate(self, message: Message, context: Context) -> Message:
        plan, (_, arrays) = self.plan(context), self._data(context)
        with Trainer(plan) as trainer:
            load_arrays(trainer, _arrays_in(message))
            found = trainer.evaluate(tuple(arrays))
        metrics = {"num-examples": len(arrays[0]), "partition-id": _number(context.node_config, "partition-id")}
        figures = {f"eval-{name}": float(found[name]) for name in ("loss", "accuracy") if name in found}
        return Message(content=RecordDict({"metrics": MetricRecord({**metrics, **figures})}), reply_to=message)


def client_app(
    plan: Callable[[Context, str | None], Plan],
    data: Callable[[Context], tuple[Arrays, Arrays]],
    *,
    mods: list[Any] | None = None,
) -> ClientApp:
    """A ``ClientApp`` that trains and evaluates a planned model on the client's own samples.

    Args:
        plan: makes the client's plan of the budget that ``ram_of`` finds; called once for each client in a process.
        data: the client's samples, for training and for evaluation: (inputs.., targets) each.
        mods: Flower's mods, as ``ClientApp`` takes them.

    What a message brings: ``arrays``, and in ``config`` optionally ``local-epochs`` (1), ``lr``, ``seed`` and
    ``server-round``, of which with the partition the order of the samples follows. What goes back: ``arrays``, and
    in ``metrics``:

    * ``num-examples``, ``train-loss`` (of the last epoch), ``partition-id``;
    * ``budget-bytes``, ``arena-bytes``: what the plan may use and what it uses;
    * ``growth-bytes``: by how much the process's own memory has grown since before the trainer was made, at the end of
      training, with all that trains still in its place (Linux): the arena, 1 to 1.5 MiB of the runtime's stacks and
      buffers, and where tensors are paged 1 MiB in which they are encrypted.

    Optimizer state begins at zero in every round.
    """
    client = _Client(plan, data)
    app = ClientApp(mods=mods)
    app.train()(client.train)
    app.evaluate()(client.evaluate)
    return app
