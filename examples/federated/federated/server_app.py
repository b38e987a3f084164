"""The server: federated averaging, and an evaluation of the global network after every round."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np
import pantoum
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from pantoum.flower import in_order, initial_arrays, load_arrays

from federated import task

app = ServerApp()


class Averaging(FedAvg):
    """Federated averaging that adds up in the order of the partitions, whoever answers first; tells of RAM."""

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        ordered = in_order(replies)
        for reply in ordered:
            if reply.has_error():
                print(
                    f"round {server_round}: no answer from node {reply.metadata.src_node_id}: {reply.error.reason}",
                    flush=True,
                )
                continue
            of = reply.content["metrics"]
            print(
                f"round {server_round}: client {of['partition-id']} has {of['num-examples']} samples,"
                f" loss {of['train-loss']:.3f}; budget {of['budget-bytes']}, arena {of['arena-bytes']},"
                f" the process grew by {of.get('growth-bytes', '?')} bytes",
                flush=True,
            )
        return super().aggregate_train(server_round, ordered)


def evaluate(plan: pantoum.Plan, config: dict[str, Any]) -> Any:
    """A function that Flower calls with the global weights, after every round."""
    images, labels = task.samples(str(config["images"]), "t10k", slice(None))

    def of_round(server_round: int, arrays: ArrayRecord) -> MetricRecord:
        with pantoum.Trainer(plan) as trainer:
            load_arrays(trainer, arrays)
            found = trainer.evaluate((images, labels))
        print(
            f"round {server_round}: {found['accuracy']:.2%} of the test images right, loss {found['loss']:.4f}",
            flush=True,
        )
        return MetricRecord({"loss": found["loss"], "accuracy": found["accuracy"]})

    return of_round


@app.main()
def main(grid: Grid, context: Context) -> None:
    config = dict(context.run_config)
    plan = task.plan(config, None)
    strategy = Averaging(fraction_evaluate=0.0, min_train_nodes=1, min_available_nodes=int(config["least-clients"]))
    while len(list(grid.get_node_ids())) < int(config["clients"]):  # the first round begins with all of them
        time.sleep(1)
    result = strategy.start(
        grid=grid,
        initial_arrays=initial_arrays(plan),
        num_rounds=int(config["rounds"]),
        timeout=float(config["timeout"]),
        train_config=ConfigRecord({"local-epochs": int(config["local-epochs"]), "seed": int(config["seed"])}),
        evaluate_fn=evaluate(plan, config),
    )
    if config["weights"]:
        np.savez(str(config["weights"]), **{name: array.numpy() for name, array in result.arrays.items()})
