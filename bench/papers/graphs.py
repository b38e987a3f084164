"""The cost graphs that the papers' figures ask for: the repository's ResNet-18 and VGG16, and a BERT that is made here."""
import json
import os
import shutil

WEIGHTS_BYTES = 200 << 20  # of the largest model, rounded up; zeros, never read
FLOAT = 4


def activations_only(graph):
    """As the literature counts: parameters, their gradients and their successors take no bytes. Times and joules stay."""
    tensors = {tensor["id"]: tensor for tensor in graph["tensors"]}
    state = {one for tensor in graph["tensors"] if "next" in tensor for one in (tensor["id"], tensor["next"])}
    for op in graph["ops"]:
        if state & set(op["outputs"]):  # an update: it reads the gradient too
            state |= set(op["inputs"])
    for one in state:
        tensors[one]["bytes"] = 0
    return graph


def from_model(run, model, device, name, folder):
    """The training step of tests/values/MODEL.onnx, batch 1, on this device."""
    path = os.path.join(folder, os.path.basename(model))
    shutil.copy(model, path)
    with open(os.path.join(folder, "weights.bin"), "wb") as weights:
        weights.truncate(WEIGHTS_BYTES)
    out = os.path.join(folder, "whole.json")
    run("plan", path, "--batch", "1", "--device", device, "--ram", "64GiB", "--effort", "1", "--disable", "updates", "--costgraph-out", out)
    with open(out) as file:
        graph = activations_only(json.load(file))
    graph["name"] = name
    return graph


class Step:
    """Forward ops as they are added, then their gradients. Every op writes one tensor."""

    def __init__(self):
        self.ops = []  # (name, elements, flops, inputs)
        self.kinds = []

    def add(self, name, elements, flops, inputs, kind):
        self.kinds.append(kind)
        self.ops.append((name, elements, flops, inputs))
        return len(self.ops) - 1

    def backward(self, weights=False):
        """What a gradient reads: the operands of products and pointwise ops, the result of a softmax, nothing else. `weights`: products with
        weights have an op for the weights' gradient, whose tensor counts as no bytes; without it their gradient computes both."""
        count = len(self.ops)
        users = [[user for user in range(count) if op in self.ops[user][3]] for op in range(count)]
        gradient = {count - 1: count}
        self.ops.append(("grad.loss", 1, 1, [count - 1]))
        for op in range(count - 1, 0, -1):
            name, elements, forward, operands = self.ops[op]
            if op < count - 1:
                reads, flops = [], 0
                for user in users[op]:
                    reads.append(gradient[user])
                    flops += self.ops[user][2] * (2 if self.kinds[user] == "product" and not weights else 1)
                    reads += {"product": self.ops[user][3], "pointwise": [op], "softmax": [user], "sum": []}[self.kinds[user]]
                gradient[op] = len(self.ops)
                self.ops.append((f"grad.{name}", elements, flops, sorted(set(reads))))
            if weights and self.kinds[op] == "product" and len(operands) == 1:
                self.ops.append((f"weights.{name}", 0, forward, sorted({gradient[op], *operands})))
        return self


def encoder(step, block, x, tokens, width, heads):
    """One block of BERT: attention and a feed-forward part, a norm and a sum around each."""
    size, square = tokens * width, 2 * tokens * width * width
    part = lambda name, elements, flops, inputs, kind: step.add(f"{block}.{name}", elements, flops, inputs, kind)
    query, key, value = (part(name, size, square, [x], "product") for name in ("query", "key", "value"))
    score = part("score", heads * tokens * tokens, 2 * tokens * size, [query, key], "product")
    share = part("softmax", heads * tokens * tokens, 5 * heads * tokens * tokens, [score], "softmax")
    mixed = part("context", size, 2 * tokens * size, [share, value], "product")
    mixed = part("output", size, square, [mixed], "product")
    x = part("sum1", size, size, [x, mixed], "sum")
    x = part("norm1", size, 8 * size, [x], "pointwise")
    wide = part("up", 4 * size, 4 * square, [x], "product")
    wide = part("gelu", 4 * size, 8 * 4 * size, [wide], "pointwise")
    narrow = part("down", size, 4 * square, [wide], "product")
    x = part("sum2", size, size, [x, narrow], "sum")
    return part("norm2", size, 8 * size, [x], "pointwise")


def bert(device, name, blocks=12, tokens=128, width=768, heads=12, weights=False):
    """BERT base, batch 1: activations and their gradients, `weights` as backward() has it; `device` as `pantoum devices show --format json` has it."""
    step = Step()
    x = step.add("embedding", tokens * width, tokens * width, [], "sum")
    for block in range(blocks):
        x = encoder(step, f"block{block}", x, tokens, width, heads)
    step.add("loss", 1, 2 * width, [x], "product")
    step.backward(weights)
    rate, active = device["compute"]["flops_per_s"], device["compute"].get("active_w", 0)
    per_flop = device["compute"].get("joules_per_flop", 0)
    align = device["align_bytes"]
    tensors, ops = [], []
    for op, (label, elements, flops, inputs) in enumerate(step.ops):
        tensors.append({"id": op, "name": label, "bytes": -(-elements * FLOAT // align) * align})
        seconds = flops / rate
        ops.append({"id": op, "name": label, "inputs": inputs, "outputs": [op],
                    "choices": [{"time_s": seconds, "energy_j": seconds * active if active else flops * per_flop}]})
    keys = ("name", "ram_bytes", "align_bytes", "idle_w", "engines", "pager")
    return {"schema": "pantoum.costgraph/1", "name": name, "device": {key: device[key] for key in keys}, "tensors": tensors, "ops": ops,
            "order": list(range(len(ops)))}
