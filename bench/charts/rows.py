"""What charts and tables need of the benches' JSON. Standard library only."""
import collections
import json
import os
import re

MIB = 1 << 20
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PEERS = os.path.join(ROOT, "docs", "results", "nntrainer-processes.json")

Way = collections.namedtuple("Way", "label mib ratio seconds batch elsewhere")
StepTime = collections.namedtuple("StepTime", "network batch time memory times memories")
Case = collections.namedtuple("Case", "case paper kept least")


class Missing(Exception):
    """A file or rows that a chart needs and that were not measured."""


def read(folder, name):
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        raise Missing(f"there is no {path}")
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def rounded(size):
    """A budget of an option, as a reader says it: 8GiB, 61852672B."""
    number, unit = re.fullmatch(r"(\d+)(\w+)", size).groups()
    return f"{int(number) / MIB:.3g} MiB" if unit == "B" else f"{number} {unit}"


def way_of(raw, one, base):
    label = re.sub(r", --ram (\w+)", lambda found: f", {rounded(found.group(1))} budget", one["way"])
    return Way(label, one["resident_bytes"] / MIB, one["quickest_s"] / base, one["quickest_s"], raw["batch"], False)


def nntrainer(network, batch):
    """NNTrainer beside the PyTorch of its own machine."""
    with open(PEERS, encoding="utf-8") as file:
        peer = json.load(file)["networks"][network]
    return Way("NNTrainer", peer["resident_mib"], peer["step_s"] / peer["torch_step_s"], peer["step_s"], batch, True)


def side_by_side(results, network):
    for name, raw in results.get("raw", {}).items():
        if name.startswith(f"side by side, {network} "):
            base = raw["ways"][0]["quickest_s"]
            ways = [way_of(raw, one, base) for one in raw["ways"]]
            return ways[:2] + [nntrainer(network, raw["batch"])] + ways[2:]
    raise Missing(f"no row 'side by side, {network}'")


def step_times(results, threads):
    found = []
    for row in results["rows"]:
        name = re.fullmatch(rf"step time, (\w+) b(\d+), {threads} threads?", row["name"])
        note = re.match(r"(.+ ms) against (.+ ms); (.+) MiB against (.+) MiB", row["note"])
        if name and note and not row["skipped"]:
            found.append(StepTime(name.group(1), int(name.group(2)), row["value"], float(note.group(3)) / float(note.group(4)),
                                  f"{note.group(1)} against {note.group(2)}", f"{note.group(3)} MiB against {note.group(4)}"))
    if not found:
        raise Missing(f"no row 'step time' with {threads} thread{'s' * (threads > 1)}")
    return found


def table_4(results):
    values = {row["name"]: row for row in results["rows"] if row["name"].startswith("Table 4, ")}
    cases = [name[len("Table 4, "):-len(": planned, everything kept")] for name in values if name.endswith("everything kept")]
    if not cases:
        raise Missing("no row 'Table 4'")
    return [Case(case, float(values[f"Table 4, {case}: planned, everything kept"]["target"].split()[-1]), values[f"Table 4, {case}: planned, everything kept"]["value"],
                 values[f"Table 4, {case}: with recomputing and paging"]["value"]) for case in cases]


def curve(results, name):
    """Rows of a sweep, from the least RAM on."""
    found = results.get("raw", {}).get(name)
    if not found:
        raise Missing(f"no rows of '{name}'")
    return sorted(found, key=lambda row: row["ram_bytes"])
