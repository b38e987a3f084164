"""The client of examples/federated; training happens in a cgroup of its own, whose limit is the budget and some
slack."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from federated import task
from flwr.app import Context, Message
from pantoum.flower import client_app

from fedtest.confinement import Confinement

# What is not the arena: pages of code that training touches first, stacks, copies of weights; and the pages that are
# encrypted at a time.
SLACK = (3 << 20) + (1 << 20)

confinement = Confinement()
# NumPy asks for huge pages, of which a byte counts as 2 MiB: 41 is PR_SET_THP_DISABLE.
ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)


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
