"""Training steps in PyTorch, timed: torch_steps.py NAME THREADS STEPS [checkpoint N]; prints a line of JSON."""
import json
import resource
import sys
import time

import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint_sequential

import networks


def main(name, threads, steps, segments=0):
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    make, batch, inputs, classes = networks.NETWORKS[name]
    model = make()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = inputs(batch), torch.randint(0, classes, (batch,))
    if segments:
        x.requires_grad_(x.is_floating_point())
    seconds = []
    for _ in range(steps):
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        scores = checkpoint_sequential(model, segments, x, use_reentrant=False) if segments else model(x)
        F.cross_entropy(scores, y).backward()
        optimizer.step()
        seconds.append(time.perf_counter() - begin)
    print(json.dumps({"seconds": seconds, "resident_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[5]) if len(sys.argv) > 5 else 0)
