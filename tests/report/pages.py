"""What the tests of the report open: pages of plans and logs, small, large and hostile."""
import json
import os
import random
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "e2e"))
import hostile_names  # noqa: E402
from house import PANTOUM  # noqa: E402

DATA = os.path.join(HERE, "data")
MANY = 5000  # layers: as many ops again go backward


def pantoum(*words):
    """Runs the program where the data lie, so that a page names no folder of this machine."""
    done = subprocess.run([PANTOUM, *map(str, words)], capture_output=True, cwd=DATA, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode(errors="replace"))
    return done.stdout


def chain(layers, name=str, seed=1):
    """A cost graph of that many layers and their gradients; `name` names everything."""
    draw, tensors, ops = random.Random(seed), [], []

    def add(title, inputs, size):
        at = len(ops)
        tensors.append({"id": at, "name": name("t" + title), "bytes": size, "start": "none", "end": "none"})
        ops.append({"id": at, "name": name(title), "inputs": inputs, "outputs": [at], "recompute": True,
                    "choices": [{"algorithm": "only", "engine": "cpu", "time_s": draw.uniform(1e-5, 5e-5), "energy_j": draw.uniform(1e-4, 5e-4), "workspace_bytes": 0, "overwrites": []}]})
        return at

    sizes = [draw.randrange(1000, 200000) for _ in range(layers)]
    last, kept = add("layer0", [], sizes[0]), [0]
    for layer in range(1, layers):
        last = add(f"layer{layer}", [last], sizes[layer])
        kept.append(last)
    for layer in reversed(range(1, layers)):
        last = add(f"back{layer}", [last, kept[layer - 1]], sizes[layer])
    link = {"latency_s": 5e-5, "bytes_per_s": 1e9, "w": 0.5}
    return {"schema": "pantoum.costgraph/1", "name": name("chain"), "tensors": tensors, "ops": ops,
            "device": {"name": name("board"), "ram_bytes": 1 << 33, "align_bytes": 1, "idle_w": 0.1, "engines": ["cpu"],
                       "pager": {"mode": "async", "duplex": "half", "block_bytes": 1, "in": link, "out": link}}}


def plan_of(graph, layers, path):
    """Writes a plan of a chain by hand, as planning one of 10,000 ops takes minutes: of every two layers one is computed again, and of a few dozen one
    is paged. The program's own checker judges it when it is read."""
    size, at, place = [tensor["bytes"] for tensor in graph["tensors"]], {}, 0
    for tensor, taken in enumerate(size):
        at[tensor], place = place, place + taken
    steps = []

    def compute(op):
        steps.append({"do": "compute", "op": op, "choice": 0, "at": [at[op]]})

    def move(what, tensor):
        steps.append({"do": what, "tensor": tensor, **({"at": at[tensor]} if what == "page_in" else {})})

    dropped, paged = [each for each in range(1, layers - 1) if each % 2], [each for each in range(0, layers - 2) if each % 26 == 0]
    for layer in range(layers):
        compute(layer)
        if layer - 1 in dropped:
            move("free", layer - 1)
        if layer - 1 in paged:
            move("page_out", layer - 1), move("free", layer - 1)
    last = layers - 1
    for back, layer in enumerate(reversed(range(1, layers)), layers):
        below = layer - 1
        if below in dropped:
            if below - 1 in paged:
                move("page_in", below - 1)
            compute(below)
        compute(back)
        move("free", last), move("free", below)
        last = back
    move("free", last)
    freedoms = {"paging": True, "recomputing": True, "in_place": True, "reordering": True, "numerics": True}
    question = {"budget_bytes": place, "deadline_s": None, "energy_limit_j": None, "objective": "energy", "freedoms": freedoms}
    plan = {"schema": "pantoum.plan/2", "question": question, "budget_bytes": place, "deadline_s": None, "objective": "energy", "initial": {}, "instructions": steps,
            "storage": {}, "status": "feasible", "solver": {"method": "by hand", "seconds": 0}, "graph": graph}
    with open(path, "w", encoding="ascii") as file:
        json.dump(plan, file)
    return path


def large_plan(folder):
    return plan_of(chain(MANY), MANY, os.path.join(folder, "large.plan.json"))


def hostile_plan(folder, layers=30):
    given = iter(hostile_names.names(4 * layers + 10, 5))
    return plan_of(chain(layers, lambda title: next(given) + title), layers, os.path.join(folder, "hostile.plan.json"))


def log(path, *lines):
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    return path


def step(number, loss, **more):
    return {"event": "step", "step": number, "loss": loss, **more}


def two_runs(folder):
    """The recorded run, with a command, and another that learns quicker, has more RAM and other epochs."""
    with open(os.path.join(DATA, "run.jsonl"), encoding="utf-8") as file:
        events = [json.loads(line) for line in file]
    first, second = [dict(event) for event in events], [dict(event) for event in events if event.get("step", 0) <= 940]
    first[0]["command"] = ["train", "cnn.onnx", "--lr", "0.05", "--data", "/data", "-o", "first.safetensors"]
    second[0] |= {"command": ["train", "other net.onnx", "--lr=0.1", "--data", "/data", "--augment", "flip", "--nothing", "-o", "second.safetensors"], "budget_bytes": 12 << 20, "peak_bytes": 12000000}
    second[0]["command"][2:3] = ["--lr", "0.1"]
    for event in second:
        for key in event.keys() & {"loss", "test_loss", "train_loss"}:
            event[key] *= 0.98
        if "test_accuracy" in event:
            event["test_accuracy"] = 0.9011
    second[-1] |= {"step_s": 0.0112, "test_accuracy": 0.9011, "steps": 936}
    return [log(os.path.join(folder, name), *lines) for name, lines in (("recorded.jsonl", first), ("quicker.safetensors.jsonl", second))]
