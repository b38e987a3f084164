"""What was trained, exported: ONNX's own evaluator gives the accuracy and loss that the run told."""
import json
import os
import shutil
import struct
import subprocess
import unittest

from house import MODEL, House, make_data, tensors

BATCH = 16
EVALUATE = """
import json, sys
import numpy, onnx
from onnx.reference import ReferenceEvaluator
model = onnx.load(sys.argv[1])
onnx.checker.check_model(sys.argv[1])
with open(sys.argv[2], "rb") as file:
    images = numpy.frombuffer(file.read()[16:], numpy.uint8).reshape(-1, 1, 28, 28).astype(numpy.float32) / numpy.float32(255)
with open(sys.argv[3], "rb") as file:
    labels = numpy.frombuffer(file.read()[8:], numpy.uint8)
scores = ReferenceEvaluator(model).run(None, {model.graph.input[0].name: images})[0].astype(numpy.float64)
shifted = scores - scores.max(1, keepdims=True)
loss = (numpy.log(numpy.exp(shifted).sum(1)) - shifted[numpy.arange(len(labels)), labels]).mean()
print(json.dumps({"loss": loss, "accuracy": float((scores.argmax(1) == labels).mean())}))
"""


def python_with_onnx():
    for python in ("python3", "/usr/bin/python3"):
        if shutil.which(python) and subprocess.run([python, "-c", "import numpy, onnx.reference"], capture_output=True).returncode == 0:
            return python
    return None


class Export(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        make_data(os.path.join(cls.folder, "data"), 8 * BATCH, 40)

    def train(self, model, name, *words):
        out = self.path(name + ".safetensors")
        self.succeed("train", model, "--data", self.path("data"), "--batch", BATCH, "--effort", 1, "--ram", "16MiB", "--log", self.path("run.jsonl"), "-o", out, *words)
        return out, self.log_of(self.path("run.jsonl"))[-1]

    def test_the_exported_model_gives_what_training_told(self):
        weights, end = self.train(MODEL, "trained", "--lr", "0.05", "--optimizer", "sgd,momentum=0.9", "--epochs", 4)
        out = self.path("trained.onnx")
        told = json.loads(self.succeed("export", MODEL, "--weights", weights, "-o", out, "--format", "json").stdout)
        self.assertEqual(told["data_file"], "")
        self.assertEqual(told["bytes"], sum(len(data) for data in tensors(weights).values() if data) - sum(len(data) for name, data in tensors(weights).items() if name.startswith("optim.")))
        self.succeed("inspect", out)
        outside = self.path("outside.onnx")
        self.succeed("export", MODEL, "--weights", weights, "-o", outside, "--external-data")
        self.assertLess(os.path.getsize(outside), os.path.getsize(out) // 2)
        # Training goes on from the exported model's own weights as from the safetensors.
        expected, _ = self.train(MODEL, "a", "--weights", weights, "--lr", "0.01")
        for model in (out, outside):
            self.same_bits(tensors(self.train(model, "b", "--lr", "0.01")[0]), tensors(expected))
        python = python_with_onnx()
        if python is None:
            self.skipTest("no Python with numpy and onnx: ONNX's reference evaluator was not asked")
        for model in (out, outside):
            done = subprocess.run([python, "-c", EVALUATE, model, self.path("data", "t10k-images-idx3-ubyte"), self.path("data", "t10k-labels-idx1-ubyte")],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            found = json.loads(done.stdout)
            self.assertAlmostEqual(found["loss"], end["test_loss"], delta=1e-5 * max(1, end["test_loss"]))
            self.assertAlmostEqual(found["accuracy"], end["test_accuracy"], places=6)

    def test_what_cannot_be_exported_is_told(self):
        header = json.dumps({"fc.weight": {"dtype": "F32", "shape": [3], "data_offsets": [0, 12]}}).encode()
        path = self.path("misfit.safetensors")
        with open(path, "wb") as file:
            file.write(struct.pack("<Q", len(header)) + header + bytes(12))
        out = self.path("none.onnx")
        self.refuse(3, "E0242", "export", MODEL, "--weights", path, "-o", out)
        self.refuse(3, "E0201", "export", MODEL, "--weights", self.path("absent"), "-o", out)
        self.refuse(3, "E0202", "export", path, "--weights", path, "-o", out)
        self.assertFalse(os.path.exists(out))
        weights, _ = self.train(MODEL, "short")
        self.refuse(9, "E0901", "export", MODEL, "--weights", weights, "-o", self.path("no", "such", "out.onnx"))


if __name__ == "__main__":
    unittest.main()
