"""A client: its images, its budget, and a planned step."""

from flwr.app import Context
from pantoum.flower import client_app

from federated import task


def plan(context: Context, ram: str | None) -> task.pantoum.Plan:
    return task.plan(dict(context.run_config), ram)


def data(context: Context) -> tuple[task.Samples, task.Samples]:
    return task.of_client(dict(context.run_config), int(context.node_config["partition-id"]))


app = client_app(plan, data)
