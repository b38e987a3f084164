"""usage: export.py NAME FOLDER. Writes net.onnx, a network as PyTorch exports it for training."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "runtime")]
import torch  # noqa: E402

import cost_networks  # noqa: E402
import networks as runtime  # noqa: E402


def main():
    name, folder = sys.argv[1:]
    make, batch, inputs, _ = cost_networks.NETWORKS[name]
    torch.manual_seed(0)
    runtime.export_module(make(), inputs(batch), os.path.join(folder, "net.onnx"))


if __name__ == "__main__":
    main()
