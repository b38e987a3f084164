"""Files of TensorFlow Lite as models: what inspect says, outputs without training, a part that trains, and the ONNX model of it."""
import json
import os
import struct
import subprocess
import tempfile
import unittest

import hostile_models
from house import PANTOUM, npy, tensors

QUICKLY = ("--batch", "4", "--kernels", "portable", "--threads", "1")
FEATURES = 6 * 6 * 2


def numbers_of(path):
    """The f32 numbers of an NPY file."""
    with open(path, "rb") as file:
        data = file.read()
    begin = 10 + struct.unpack("<H", data[8:10])[0]
    return struct.unpack(f"<{(len(data) - begin) // 4}f", data[begin:])


class TfliteTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        for name, data in hostile_models.good_tflite().items():
            with open(self.path(name), "wb") as file:
                file.write(data)
        samples = [((at * 37) % 101) / 50 - 1 for at in range(8 * FEATURES)]
        os.makedirs(self.path("data"))
        with open(self.path("data", "x_train.npy"), "wb") as file:
            file.write(npy("<f4", (8, 6, 6, 2), struct.pack(f"<{len(samples)}f", *samples)))
        with open(self.path("data", "y_train.npy"), "wb") as file:
            file.write(npy("<f4", (8, 3), struct.pack("<24f", *[float(at % 4 == 0) for at in range(24)])))

    def path(self, *names):
        return os.path.join(self.folder.name, *names)

    def run_(self, *words, code=0):
        done = subprocess.run([PANTOUM, *words], capture_output=True, text=True, cwd=self.folder.name)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def test_inspect_tells_tensors_and_what_was_read_otherwise(self):
        told = json.loads(self.run_("inspect", "small_channel.tflite", "--format", "json", code=4).stdout)  # nothing trains
        self.assertEqual(told["inputs"], ["input f32[N,6,6,2]"])
        self.assertEqual({each["trains"] for each in told["tensors"]}, {"no"})
        self.assertIn("conv0/weight", [each["name"] for each in told["tensors"]])
        notes = " ".join(told["notes"])
        for part in ("nothing trains unless --train names it", "by their scales", "is of type INT8"):
            self.assertIn(part, notes)

    def test_a_training_without_train_is_told_to_name_what_trains(self):
        said = self.run_("plan", "small_float32.tflite", *QUICKLY, "--ram", "1MiB", "--loss", "mse", code=4).stderr
        self.assertIn("--train", said)

    def test_a_part_trains_and_goes_into_onnx(self):
        self.run_("predict", "small_float32.tflite", "--data", "data", "-o", "before.npy", *QUICKLY)
        self.run_("export", "small_float32.tflite", "-o", "before.onnx")
        self.run_("train", "small_float32.tflite", "--train", "linear*", "--loss", "mse", "--lr", "1", "--epochs", "20", "--data", "data", "--ram", "1MiB", *QUICKLY, "-o", "w.safetensors")
        self.run_("predict", "small_float32.tflite", "--weights", "w.safetensors", "--data", "data", "-o", "after.npy", *QUICKLY)
        self.run_("export", "small_float32.tflite", "--weights", "w.safetensors", "-o", "after.onnx")
        self.run_("predict", "after.onnx", "--weights", "w.safetensors", "--data", "data", "-o", "onnx.npy", *QUICKLY)
        self.assertNotEqual(numbers_of(self.path("before.npy")), numbers_of(self.path("after.npy")))
        self.assertEqual(numbers_of(self.path("onnx.npy")), numbers_of(self.path("after.npy")))
        trained = tensors(self.path("w.safetensors"))
        self.assertIn(b"linear", " ".join(trained).encode())

    def test_every_seed_gives_outputs(self):
        for name in hostile_models.good_tflite():
            if name.startswith("small"):
                self.run_("predict", name, "--data", "data", "-o", "outputs.npy", *QUICKLY)
                self.assertEqual(len(numbers_of(self.path("outputs.npy"))), 8 * 3)

    def test_other_models_need_weights_for_outputs(self):
        said = self.run_("predict", os.path.join(os.path.dirname(__file__), "..", "..", "examples", "fashion", "cnn.onnx"), "--data", "data", "-o", "y.npy", code=2).stderr
        self.assertIn("error[E0100]: --weights", said)


if __name__ == "__main__":
    unittest.main()
