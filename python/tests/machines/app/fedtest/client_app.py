"""The client of examples/federated; training happens in a cgroup of its own, whose limit is the budget and some
slack."""

from __future__ import annotations

from collections.abc import Callable

from federated import task
from flwr.app import Context, Message
from pantoum.flower import client_app

from fedtest.confinement import Confinement

SLACK = 3 << 20  # of what is not the arena: pages of code that training touches first, stacks, copies of weights

confinement = Confinement()


def plan(context: Context, ram: str | None) -> task.pantoum.Plan:
    made = task.plan(dict(context.run_config), ram)
    confinement.limit = made.budget_bytes + SLACK if ram else 0
    return made


def data(context: Context) -> tuple[task.Samples, task.Samples]:
    samples: tuple[task.Samples, task.Samples] = task.of_client(
        dict(context.run_config), int(context.node_config["partition-id"])
    )
    if confinement.limit and not confinement.enter(confinement.limit):
        confinement.limit = 0
        print("no memory cgroup here", flush=True)
    print("training begins", flush=True)
    return samples


def confined(message: Message, context: Context, call_next: Callable[[Message, Context], Message]) -> Message:
    reply = call_next(message, context)
    if confinement.limit:
        print(f"cgroup: peak {confinement.leave()} of {confinement.limit}", flush=True)
    return reply


app = client_app(plan, data, mods=[confined])
