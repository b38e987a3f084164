"""Slicings of single ops beside those that were enumerated (pareto-NETWORK.csv of the reference): bytes that they move at each workspace.

A row of the enumeration and a choice of a cost graph are compared where both stream the same operands of an op of the same sizes. Not compared are kinds
that the enumeration has and Pantoum computes otherwise: an addition with its ReLU in one op (here two ops), products of one row (here the kernel of products
reads its matrix in other slices: lists of letters differ), and choices that stream the vectors of a norm, which the enumeration counts apart.
"""
import collections
import csv
import re

# By kind: which of our ops it is; the positions of (inputs, outputs) that each letter of the enumeration streams.
FIRST, SECOND, MADE = ([0], []), ([1], []), ([], [0])
KINDS = {
    "conv": (r"\.y$", {"x": FIRST, "w": SECOND, "y": MADE}),
    "conv dx": (r"\.y\.dx$", {"x": FIRST, "w": SECOND, "y": MADE}),
    "conv dw+update": (r"\.w\.sgd$", {"x": FIRST, "dy": SECOND, "s": ([2, 3], [0, 1])}),
    "batch norm": (r"^[^#]*$", {"x": FIRST, "y": MADE}),
    "batch norm grad": (r"\.grad$", {"dy": FIRST, "x": SECOND, "y": MADE}),
    "add": (r"\.sum$", {"a": FIRST, "b": SECOND, "y": MADE}),
    "relu grad": (r"\.r\.dx$", {"a": FIRST, "b": SECOND, "y": MADE}),
    "max pool": (r"pool\d*$", {"x": FIRST, "y": MADE}),
    "global mean": (r"^mean$", {"x": FIRST}),
    "spread": (r"^mean\.dx$", {"y": MADE}),
}
OPERANDS = {"batch norm": (3, 3), "conv dw+update": (4, 2)}  # how many inputs and outputs tell the op from others of its name
FLOAT, BLOCK = 4, 512

Point = collections.namedtuple("Point", "kind op workspace bytes best algorithm")


def sizes(kind, shape):
    """Bytes of inputs by position, and of the first output."""
    at = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", shape)}
    if "n" in at:
        return {0: FLOAT * at["n"]}, FLOAT * at["n"]
    plane = FLOAT * at["C"] * at["H"] * at["W"]
    if kind in ("batch norm", "batch norm grad"):
        return {0: plane}, plane
    if kind in ("global mean", "spread"):
        return ({0: plane}, FLOAT * at["C"]) if kind == "global mean" else ({0: FLOAT * at["C"]}, plane)
    if "O" not in at:  # pooling by 2
        return {0: plane}, plane // 4
    made = FLOAT * at["O"]
    for side in "HW":
        made *= (at[side] + 2 * at["pad"] - at["kh"]) // at["stride"] + 1
    weight = FLOAT * at["O"] * at["C"] * at["kh"] ** 2
    return {"conv": ({0: plane, 1: weight}, made), "conv dx": ({0: made, 1: weight}, plane)}.get(kind, ({0: plane, 1: made, 2: weight}, weight))


def whole_blocks(count):
    return -(-count // BLOCK) * BLOCK


def read_rows(path):
    """(kind, shape) -> operands streamed -> [(workspace, bytes)]."""
    rows = collections.defaultdict(lambda: collections.defaultdict(list))
    with open(path) as file:
        for row in csv.DictReader(file):
            if row["kind"] in KINDS:
                moved = int(row["bytes_in"]) + int(row["bytes_out"])
                rows[row["kind"], row["shape"]][row["streamed"]].append((int(row["workspace_one_buffer"]), moved))
    return rows


def is_op(kind, shape, op, bytes_of):
    if not re.search(KINDS[kind][0], op["name"]) or OPERANDS.get(kind, (len(op["inputs"]), len(op["outputs"]))) != (len(op["inputs"]), len(op["outputs"])):
        return False
    inputs, made = sizes(kind, shape)
    return bytes_of[op["outputs"][0]] == whole_blocks(made) and all(
        at < len(op["inputs"]) and bytes_of[op["inputs"][at]] == whole_blocks(count) for at, count in inputs.items())


def positions(kind, streamed):
    letters = KINDS[kind][1]
    chosen = [letters[letter] for letter in streamed.split("+")]
    return tuple(tuple(sorted(sum((side[way] for side in chosen), []))) for way in (0, 1))


def points(rows, graph, taken=None):
    """A point for each slicing that the graph offers (with `taken`, op id -> choice: that a plan takes) and that was enumerated; kinds and shapes without an op."""
    bytes_of = {tensor["id"]: tensor["bytes"] for tensor in graph["tensors"]}
    found, absent = [], []
    for (kind, shape), masks in rows.items():
        wanted = {positions(kind, streamed): best for streamed, best in masks.items()}
        alike = [op for op in graph["ops"] if is_op(kind, shape, op, bytes_of)]
        if not alike:
            absent.append(f"{kind} {shape}")
        for op in alike if taken is not None else alike[:1]:
            for at, choice in enumerate(op["choices"]):
                if "stream" not in choice or (taken is not None and taken.get(op["id"]) != at):
                    continue
                stream = choice["stream"]
                known = wanted.get((tuple(sorted(stream.get("in", []))), tuple(sorted(stream.get("out", [])))))
                room = choice.get("workspace_bytes", 0)
                if known and any(workspace <= room for workspace, _ in known):
                    best = min(moved for workspace, moved in known if workspace <= room)
                    found.append(Point(kind, op["name"], room, stream.get("bytes_in", 0) + stream.get("bytes_out", 0), best, choice["algorithm"]))
    return found, absent
