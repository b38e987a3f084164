"""Deadlines from 1.0x to 2x of the unplanned step, for every pager, with and without idle power: a part of planner.py.

Every combination of family, device, pager and idle power in turn, of which each STRIDE-th is asked, at all deadlines; its size and its
budget go round. A plan counts when check_plan.py says that it is valid and in time. A deadline that is refused although an earlier one
was met is a miss, and so is an answer after the limit. A row is one combination, its figure the worst proved gap. Standard library only.
"""
import itertools
import json

from planner_ask import LATE, Question

STRIDE = 5
SIZES = {"resnet": (4, 8, 20), "chain": (30, 60, 150), "transformer": (2, 6, 12), "unet": (4, 8, 16)}  # the last: about 350 ops
DEVICES = ("m4", "jet", "a72", "m0")
PAGERS = (("sync", "half"), ("async", "half"), ("async", "full"))
IDLE = (0.0, 0.3)  # share of the computes' mean power
SHARES = (0.5, 0.3)  # of the unplanned peak
FACTORS = (1.0, 1.05, 1.1, 1.25, 1.5, 2.0)
MOST_GAP = 0.01


def combinations():
    for number, (family, device, pager, idle) in enumerate(itertools.product(SIZES, DEVICES, PAGERS, IDLE)):
        turn = number // STRIDE
        if number % STRIDE == 0:
            size = SIZES[family][turn % len(SIZES[family])]
            yield family, size, device, pager, idle, SHARES[turn // len(SIZES[family]) % len(SHARES)]


def questions(asker, seconds):
    """Of the long form; `seconds`: of each deadline."""
    for family, size, device, pager, idle, share in combinations():
        name = f"deadlines {family} {size} {device} {'-'.join(pager)} idle {idle} at {share}"
        yield Question(name, len(FACTORS) * (seconds + LATE), _asking(asker, name, (family, size, device, pager, idle), share, seconds))


def make_graph(asker, family, size, device, pager, idle):
    """The generated cost graph with another pager and idle power; its file and what planning nothing takes."""
    made = asker.graph(f"{family} {size}", device)
    path = made.replace(".json", f"-{'-'.join(pager)}-{idle}.json")
    with open(made) as file:
        graph = json.load(file)
    choices = [op["choices"][0] for op in graph["ops"]]
    seconds = sum(choice["time_s"] for choice in choices)
    graph["device"]["pager"].update(mode=pager[0], duplex=pager[1])
    graph["device"]["idle_w"] = idle * sum(choice["energy_j"] for choice in choices) / seconds
    with open(path, "w") as file:
        json.dump(graph, file)
    return path, seconds


def _asking(asker, name, words, share, seconds):
    def ask(table, raw):
        path, step = make_graph(asker, *words)
        ram = int(share * asker.peak(path))
        answers = [{"factor": factor, **asker.plan(path, ram, seconds, "--deadline", f"{factor * step!r}s")} for factor in FACTORS]
        raw[name] = {"ram_bytes": ram, "answers": answers}
        faults, gaps = faults_of(answers, seconds), [each["gap"] for each in answers if "gap" in each]
        table.add(name, max(gaps, default=0.0), "", f"gap <= {MOST_GAP}", not faults, "; ".join([*faults, " ".join(map(show, answers))]))
    return ask


def show(answer):
    return f"{answer['factor']}:" + (f"{answer['gap']:.5f}" if "gap" in answer else answer.get("code") or "failed")


def faults_of(answers, seconds):
    earliest = min((each["factor"] for each in answers if "gap" in each), default=1e300)
    kinds = {"refused though an earlier one is met": any("gap" not in each and each["factor"] > earliest for each in answers),
             "neither a valid plan nor E0301 or E0302": any(each.get("failed") for each in answers),
             "late": any(each["seconds"] > seconds + LATE for each in answers),
             "gap": any(each.get("gap", 0) > MOST_GAP for each in answers)}
    return [kind for kind, there in kinds.items() if there]
