"""Training steps in PyTorch: torch_steps.py NAME THREADS [checkpoint N | compile] takes a step for each line of standard input and answers with its seconds; at the end of the
input it tells the peak of its resident set. Lines of JSON, all of them.

torch_steps.py NAME THREADS peak: the operations of a step's products and convolutions ("flops"), and the best rate of PyTorch's large products ("flops_per_s").
torch_steps.py FILE 1 product: writes the model of one large product.
"""
import json
import resource
import sys
import time

import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint_sequential
from torch.utils.flop_counter import FlopCounterMode

import networks


def main(name, threads, segments=0, compiled=False):
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    make, batch, inputs, classes = networks.NETWORKS[name]
    model = make()
    forward = torch.compile(model) if compiled else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = inputs(batch), torch.randint(0, classes, (batch,))
    if segments:
        x.requires_grad_(x.is_floating_point())

    def step():
        optimizer.zero_grad(set_to_none=True)
        scores = checkpoint_sequential(model, segments, x, use_reentrant=False) if segments else forward(x)
        F.cross_entropy(scores, y).backward()
        optimizer.step()

    step()  # compiles
    for _ in sys.stdin:
        begin = time.perf_counter()
        step()
        print(json.dumps({"seconds": time.perf_counter() - begin}), flush=True)
    print(json.dumps({"resident_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))


SIZE = 2048  # of large products


def export_product(path):
    torch.onnx.export(torch.nn.Linear(SIZE, SIZE, bias=False), torch.rand(SIZE, SIZE), path, dynamo=False)


def peak(name, threads, size=SIZE, rounds=12):
    torch.set_num_threads(threads)
    make, batch, inputs, classes = networks.NETWORKS[name]
    with FlopCounterMode(display=False) as counter:
        F.cross_entropy(make()(inputs(batch)), torch.randint(0, classes, (batch,))).backward()
    a, b, made, least = torch.rand(size, size), torch.rand(size, size), torch.empty(size, size), float("inf")
    for _ in range(rounds):
        begin = time.perf_counter()
        torch.mm(a, b, out=made)
        least = min(least, time.perf_counter() - begin)
    print(json.dumps({"flops": counter.get_total_flops(), "flops_per_s": 2 * size ** 3 / least}))


if __name__ == "__main__":
    way = sys.argv[3:4]
    if way == ["peak"]:
        peak(sys.argv[1], int(sys.argv[2]))
    elif way == ["product"]:
        export_product(sys.argv[1])
    else:
        main(sys.argv[1], int(sys.argv[2]), int(sys.argv[4]) if way == ["checkpoint"] else 0, way == ["compile"])
