"""Data-parallel training with ``torch.distributed``: a planned step on every rank, each inside a RAM budget of its own.

Every rank makes the gradients of its own batch. While backward goes on, those that are final are summed over all
ranks; then every rank makes the same update. The ranks' budgets may differ: the sums are of the same numbers in the
same order, so the weights of all ranks are equal to the last bit, and equal to those of any other budgets.

    torch.distributed.init_process_group("gloo")              # under torchrun
    trainer = pantoum.compile("net.onnx", batch=64, ram="24MiB" if rank == 0 else "9MiB", split_update=True)
    parallel = pantoum.distributed.DataParallel(trainer)
    loss = parallel.step(x, y)                                  # this rank's part of the batch; the mean loss of all

Needs torch (in a clone: ``pip install '.[torch]'``).
"""

from __future__ import annotations

import hashlib
import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
import torch.distributed as dist

from pantoum.data import arrays_of
from pantoum.errors import Error, InvalidInput, UsageError, VerificationFailed, expect, whole_of
from pantoum.quantities import Size, bytes_of
from pantoum.trainer import Trainer

__all__ = ["DataParallel", "shard"]

log = logging.getLogger("pantoum")

Group: TypeAlias = "dist.ProcessGroup | None"
_ENDED = 2.0  # in the message of a step: this rank has no more batches
_EQUAL_PARTS = "cut the data into equal parts: pantoum.distributed.shard"


def _view(trainer: Trainer, name: str) -> torch.Tensor | None:
    """The tensor where it lies in the arena, flat; None: it lives in storage."""
    try:
        return torch.from_numpy(trainer._core.tensor(name)).view(-1)
    except UsageError as error:
        if error.code != "E0105":
            raise
        return None


def _bytes(tensor: torch.Tensor) -> npt.NDArray[np.uint8]:
    made: npt.NDArray[np.uint8] = tensor.numpy().view(np.uint8)
    return made


class _Bucket:
    """Gradients that are summed as one message: one large tensor where it lies, or several small ones in a buffer."""

    def __init__(self, trainer: Trainer, names: Sequence[str], sizes: Sequence[int]) -> None:
        self.names = frozenset(names)
        self.gather: list[Callable[[], object]] = []
        self.scatter: list[Callable[[], object]] = []
        alone = _view(trainer, names[0]) if len(names) == 1 else None
        if alone is not None:
            self.message = alone
            return
        self.message = torch.zeros(sum(sizes))
        begin = 0
        for name, size in zip(names, sizes, strict=True):
            part = self.message[begin : begin + size]
            begin += size
            view = _view(trainer, name)
            if view is not None:
                self.gather.append(partial(part.copy_, view))
                self.scatter.append(partial(view.copy_, part))
            else:
                self.gather.append(partial(trainer._core.read, name, _bytes(part)))
                self.scatter.append(partial(trainer._core.write, name, _bytes(part)))


class DataParallel:
    """Steps of several ranks on one batch, each rank with its own part of it.

    Args:
        trainer: of a plan with ``split_update=True``. Give every rank the same model, loss and optimizer, and a seed
            of its own (dropout); ``ram`` may differ. The weights of rank 0 become everybody's.
        bucket: gradients smaller than this travel together, in buffers of at most this size beside the arena; larger
            ones are summed where they lie. The same on every rank; where there are more than two, it decides the order
            of additions, and so the last bits.
        group: of ranks; None: all.

    Raises:
        UsageError: E0105 the plan has a step as one program; E0117 the ranks train different things, or
            torch.distributed is not initialised.
    """

    def __init__(self, trainer: Trainer, *, bucket: Size = "1MiB", group: Group = None) -> None:
        expect(trainer, Trainer, "trainer", "make one: pantoum.compile(..., split_update=True)")
        if not dist.is_initialized():
            remedy = 'call torch.distributed.init_process_group("gloo"), under torchrun'
            raise UsageError("E0117", "torch.distributed is not initialised", "DataParallel", remedy)
        self._trainer, self._group = trainer, group
        self._world: int = dist.get_world_size(group)
        self._rank: int = dist.get_rank(group)
        self._root = 0 if group is None else dist.get_global_rank(group, 0)
        kinds = trainer._core.tensors()
        gradients = [(name, math.prod(shape)) for name, _, shape, kind, _ in kinds if kind == "gradient"]
        limit = bytes_of(bucket, "bucket")
        self._agree((gradients, trainer.plan.samples_per_step, limit))
        if not gradients:
            message = "the plan has a step as one program, not gradients and update apart"
            raise UsageError("E0105", message, "DataParallel", "compile the model with split_update=True")
        self._buckets = self._make_buckets(gradients, limit)
        trained = {name.removeprefix("accumulated.") for name, _ in gradients}
        statistics = {
            name: math.prod(shape)
            for name, dtype, shape, kind, _ in kinds
            if kind == "changes" and dtype == "f32" and name not in trained
        }
        self._tail = torch.zeros(sum(statistics.values()) + 2 * self._world)
        self._statistics: dict[str, npt.NDArray[np.uint8]] = {}
        begin = 0
        for name, size in statistics.items():
            self._statistics[name] = _bytes(self._tail[begin : begin + size])
            begin += size
        self._share_state()

    @property
    def trainer(self) -> Trainer:
        """The trainer of this rank."""
        return self._trainer

    @property
    def world_size(self) -> int:
        """The number of ranks that train."""
        return self._world

    def _gathered(self, mine: str) -> list[str]:
        """The ranks whose text differs from rank 0's."""
        words: list[Any] = [None] * self._world
        dist.all_gather_object(words, mine, group=self._group)
        return [str(rank) for rank, word in enumerate(words) if word != words[0]]

    def _agree(self, asked: object) -> None:
        if different := self._gathered(hashlib.sha256(repr(asked).encode()).hexdigest()):
            message = (
                f"rank {', '.join(different)} trains other parameters than rank 0, in batches or buckets of other sizes"
            )
            remedy = "give every rank the same model, batch, accumulate, freeze and bucket; ram may differ"
            raise UsageError("E0117", message, "DataParallel", remedy)

    def _make_buckets(self, gradients: list[tuple[str, int]], limit: int) -> list[_Bucket]:
        # In the order of the model's backward, which no plan changes: every rank sums the same numbers in the same
        # messages.
        grouped: list[list[tuple[str, int]]] = []
        room = -1
        for name, elements in gradients:
            size = 4 * elements
            if size > room:
                grouped.append([])
                room = max(limit, size)
            grouped[-1].append((name, elements))
            room = 0 if size >= limit else room - size
        return [_Bucket(self._trainer, *zip(*group, strict=True)) for group in grouped]

    def _share_state(self) -> None:
        for name, array in self._trainer.state_dict(optimizer=True).items():
            tensor = torch.from_numpy(np.array(array, order="C").reshape(-1).view(np.uint8))
            dist.broadcast(tensor, self._root, group=self._group)
            self._trainer._core.write(name, tensor.numpy())

    def step(self, *batch: Any) -> float:
        """One step on this rank's part of the batch: ``step(x, y)``, as ``Trainer.step`` takes it.

        Returns:
            The mean loss of all ranks' parts.

        Raises:
            pantoum.Error: what this rank's part could not be trained with. Every rank raises then, and none has
                updated a parameter; running statistics may have seen the batch.
        """
        return self._step(batch[0] if len(batch) == 1 and isinstance(batch[0], Mapping) else batch)

    def _step(self, batch: Any, absent: Exception | None = None) -> float:
        """A rank without a batch (``absent`` says why) takes part in the messages, so that no other rank waits for it.
        StopIteration where every rank's data have ended."""
        works, failure, loss = self._gradients(batch, absent)
        last = self._sum_tail(failure, loss)
        for bucket, work in zip(self._buckets, works, strict=True):
            work.wait()
            bucket.message.mul_(1 / self._world)
            for copy in bucket.scatter:
                copy()
        last.wait()
        for name, part in self._statistics.items():
            self._trainer._core.write(name, part)
        mean = self._mean_loss(failure)
        self._trainer._core.update()
        return mean

    def _gradients(self, batch: Any, absent: Exception | None) -> tuple[list[Any], Exception | None, float]:
        """Makes gradients, and begins to sum them over the ranks: every rank every message, whatever happens."""
        missing = [set(bucket.names) for bucket in self._buckets]
        bucket_of = {name: at for at, bucket in enumerate(self._buckets) for name in bucket.names}
        works: list[Any] = []

        def launch() -> None:
            bucket = self._buckets[len(works)]
            for copy in bucket.gather:
                copy()
            works.append(dist.all_reduce(bucket.message, group=self._group, async_op=True))

        def final(name: str, in_ram: bool) -> None:
            if in_ram:  # else it can be read only once backward has ended
                missing[bucket_of[name]].discard(name)
            while len(works) < len(missing) and not missing[len(works)]:
                launch()

        failure, loss = absent, 0.0
        try:
            if absent is None:
                arrays = arrays_of(batch, self._trainer.plan.batch)
                self._trainer._before_step()
                loss = self._trainer._core.gradients(arrays, final)[1]
        except Exception as error:
            failure = error
        while len(works) < len(self._buckets):
            launch()
        return works, failure, loss

    def _sum_tail(self, failure: Exception | None, loss: float) -> Any:
        """The last message of a step, summed as the others: rank 0's running statistics (as
        torch.nn.parallel.DistributedDataParallel has them), every rank's loss, and whether it failed or its
        data ended."""
        self._tail.zero_()
        if self._rank == 0:
            for name, part in self._statistics.items():
                self._trainer._core.read(name, part)
        self._tail[-2 * self._world + self._rank] = loss
        self._tail[-self._world + self._rank] = (
            0.0 if failure is None else _ENDED if isinstance(failure, StopIteration) else 1.0
        )
        return dist.all_reduce(self._tail, group=self._group, async_op=True)

    def _mean_loss(self, failure: Exception | None) -> float:
        losses, states = self._tail[-2 * self._world : -self._world].double(), self._tail[-self._world :].tolist()
        ended = [str(rank) for rank, state in enumerate(states) if state == _ENDED]
        failed = [str(rank) for rank, state in enumerate(states) if state not in (0.0, _ENDED)]
        if failure is not None and (len(ended) == self._world or not isinstance(failure, StopIteration)):
            raise failure
        if ended and not failed:
            message = f"the data of rank {', '.join(ended)} ended before the others'; the step was not made"
            raise UsageError("E0117", message, "DataParallel.fit", _EQUAL_PARTS)
        if failed:
            message = f"rank {', '.join(failed)} could not make its gradients; nothing was updated"
            raise Error("E0262", message, "DataParallel.step", "that rank's own exception says what went wrong")
        return float(losses.mean())

    def fit(
        self, loader: Iterable[Any], *, epochs: int = 1, on_step: Callable[[int, float], object] | None = None
    ) -> list[float]:
        """Trains on this rank's batches; every rank's loader has as many.

        Args:
            loader: batches (x, y) as ``Trainer.fit`` takes them, once more in every epoch: a ``DataLoader`` with a
                ``DistributedSampler``, or a list of ``shard``.
            epochs: times through the loader.
            on_step: called with the number of the step and its mean loss.

        Returns:
            The mean loss of each epoch.

        Raises:
            UsageError: E0117 the data of a rank are fewer than another's: told at once of loaders that have a length,
                at the first step that a rank lacks otherwise.
            Exception: what this rank's loader raises; the other ranks raise E0262 then.
        """
        if isinstance(loader, Sized) and (different := self._gathered(str(len(loader)))):
            message = f"the loader of rank {', '.join(different)} has another number of batches than rank 0's"
            raise UsageError("E0117", message, "DataParallel.fit", _EQUAL_PARTS)
        means: list[float] = []
        for _ in range(whole_of(epochs, "epochs", 1)):
            losses: list[float] = []
            for batch, absent in _batches(loader):
                try:
                    losses.append(self._step(batch, absent))
                except StopIteration:
                    break
                if on_step is not None:
                    on_step(self._trainer.steps_done, losses[-1])
            if not losses:
                if not means:
                    raise InvalidInput("E0262", "the loader gave no batch", "DataParallel.fit", "give one or more")
                log.warning("the data ended after %d epochs: an iterator can be gone through once", len(means))
                break
            means.append(float(np.mean(losses)))
        return means

    def verify(self) -> str:
        """Compares weights and optimizer state of all ranks, bit by bit.

        Returns:
            A digest of them.

        Raises:
            VerificationFailed: E0801, with the ranks that differ from rank 0.
        """
        digest = hashlib.sha256()
        for name, array in sorted(self._trainer.state_dict(optimizer=True).items()):
            digest.update(name.encode() + b"\0" + np.ascontiguousarray(array).tobytes())
        if different := self._gathered(digest.hexdigest()):
            message = f"the weights of rank {', '.join(different)} are not those of rank 0"
            raise VerificationFailed("E0801", message, "DataParallel.verify", "load one checkpoint on every rank")
        return digest.hexdigest()


def _batches(loader: Iterable[Any]) -> Iterator[tuple[Any, Exception | None]]:
    """Yields the batches, then the reason for the end: what the loader raised, or StopIteration."""
    iterator = iter(loader)
    while True:
        try:
            batch = next(iterator)
        except Exception as reason:
            yield None, reason
            return
        yield batch, None


def shard(
    *arrays: npt.NDArray[Any], batch: int, rank: int, world_size: int, seed: int = 0
) -> Iterator[tuple[npt.NDArray[Any], ...]]:
    """One epoch of shuffled batches of one rank: every batch of ``batch * world_size`` samples is cut into the
    ranks' parts.

    Args:
        arrays: [samples, ..] each, the same on every rank.
        batch: samples of this rank's step.
        rank: of ``torch.distributed``.
        world_size: of ``torch.distributed``.
        seed: of the order; the same on every rank, another in every epoch.

    Yields:
        The samples of every array. Samples at the end that fill no whole batch are left out.

    Raises:
        UsageError: E0116 no arrays, unequal ones, or a rank that is none.
    """
    if not arrays or len({len(array) for array in arrays}) > 1:
        raise UsageError("E0116", "the arrays have unequal numbers of samples, or there are none", "shard")
    if not 0 <= rank < world_size or batch < 1:
        raise UsageError("E0116", f"batches of {batch} for rank {rank} of {world_size}", "shard", "ranks count from 0")
    arrays = tuple(np.asarray(array) for array in arrays)
    order = np.random.default_rng(seed).permutation(len(arrays[0]))
    for begin in range(0, len(order) - batch * world_size + 1, batch * world_size):
        mine = order[begin + rank * batch : begin + (rank + 1) * batch]
        yield tuple(array[mine] for array in arrays)
