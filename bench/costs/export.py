"""usage: export.py NAME FILE. Writes a network as PyTorch exports it for training."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "runtime")]
import torch  # noqa: E402

import cost_networks  # noqa: E402
import networks as runtime  # noqa: E402


def main():
    name, path = sys.argv[1:]
    make, batch, inputs, _ = cost_networks.NETWORKS[name]
    torch.manual_seed(0)
    runtime.export_module(make(), inputs(batch), path)


if __name__ == "__main__":
    main()
