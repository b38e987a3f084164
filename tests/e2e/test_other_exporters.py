"""Files in the style of tf2onnx, PaddlePaddle, Keras, skl2onnx, CNTK and MXNet: what trains, and the losses that numpy gives (make_exporter_losses.py)."""
import json
import os
import unittest

from exporters import NETWORKS, Network, chain
from house import House, npy

HERE = os.path.dirname(os.path.abspath(__file__))


class OtherExporters(House):
    def write(self, network):
        path, data = self.path(network.name + ".onnx"), self.path(network.name)
        with open(path, "wb") as file:
            file.write(network.onnx())
        os.makedirs(data)
        shape = (network.shape[0],) if network.classes else (network.shape[0], 2)
        for stem, values, dims in (("x_train", network.x, tuple(network.shape)), ("y_train", network.y, shape)):
            with open(os.path.join(data, stem + ".npy"), "wb") as file:
                file.write(npy("<i8" if isinstance(values[0], int) else "<f4", dims, network.bytes_of(values)))
        return path, data

    def test_roles_and_losses(self):
        with open(os.path.join(HERE, "exporter_losses.json")) as file:
            expected = json.load(file)
        for network in NETWORKS:
            with self.subTest(network.name):
                net, data = self.write(network)
                found = json.loads(self.succeed("inspect", net, "--format", "json").stdout)
                trains = {tensor["name"]: tensor["trains"] for tensor in found["tensors"]}
                self.assertEqual(trains, {name: role for name, role in network.trains.items()})
                log = self.path(network.name + ".jsonl")
                losses = expected[network.name]
                self.succeed("train", net, "--data", data, "--batch", 4, "--ram", "1MiB", "--effort", 1, "--kernels", "portable", "--loss", network.loss, "--lr", "0.1",
                             "--optimizer", "sgd", "--epochs", len(losses), "--log", log, "-o", self.path(network.name + ".safetensors"))
                seen = [line["train_loss"] for line in self.log_of(log) if line["event"] == "epoch"]
                self.assertEqual(len(seen), len(losses))
                for one, other in zip(seen, losses):
                    self.assertAlmostEqual(one, other, delta=2e-6)

    def test_probabilities_that_a_loss_takes_for_logits_are_told(self):
        """By their values on the data: positive numbers over their sum are probabilities, over another number they are not."""
        for divisor, warns in (("total", True), ("root", False)):
            network = Network("over_" + divisor, "keras", [4, 3],
                              chain(("MatMul", ["x", "w"], "h"), ("Mul", ["h", "h"], "q"), ("ReduceSum", ["q", "axis"], "total", {"keepdims": 1}), ("Sqrt", ["total"], "root"),
                                    ("Div", ["q", divisor], "y")),
                              {"w": ([3, 4], None), "axis": ([1], [-1])}, {}, loss="cross_entropy", classes=4)
            net, data = self.write(network)
            done = self.succeed("train", net, "--data", data, "--batch", 4, "--ram", "1MiB", "--effort", 1, "--kernels", "portable", "--lr", "0.1", "--epochs", 1,
                                "-o", self.path(network.name + ".safetensors"))
            self.assertEqual("sum to 1" in done.stderr, warns, done.stderr)

    def test_nothing_trains_names_the_option(self):
        network = next(each for each in NETWORKS if each.name == "leaky_by_max")
        path = self.path("frozen.onnx")
        with open(path, "wb") as file:
            file.write(network.onnx())
        words = ("plan", path, "--batch", 4, "--ram", "1MiB", "--effort", 1, "--kernels", "portable", "--loss", "mse")
        self.assertIn("--train", self.refuse(4, "E0405", *words, "--freeze", "*").stderr)


if __name__ == "__main__":
    unittest.main()
