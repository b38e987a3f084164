"""NNTrainer's model files (.ini) with their data sets and weights, from inspect to a resumed training."""
import json
import os
import random
import struct
import subprocess
import sys
import unittest

from house import ROOT, House, some, tensors

RECORDED = os.path.join(ROOT, "..", "shared", "anchors", "nntrainer", "golden")
BATCH, SAMPLES, INPUTS, CLASSES = 4, 24, 36, 3

MODEL = """[Model]
Type = NeuralNetwork
Epochs = 2
Loss = cross
batch_size = 4

[Optimizer]
Type = adam
Learning_rate = 0.01

[DataSet]
TrainData = "train.dat"
ValidData = valid.dat

[image]
Type = input
Input_Shape = 1:6:6

[conv]
Type = conv2d
filters = 4
kernel_size = 3,3
padding = same
Activation = relu

[pool]
Type = pooling2d
pooling = average
pool_size = 2,2
stride = 2,2

[flat]
Type = flatten

[scores]
Type = fully_connected
Unit = 3
Activation = softmax
"""
WEIGHTS = 4 * 9 + 4 + 36 * 3 + 3


def records(path, count, seed, labels=True):
    """Images with a bright row, and which one, as f32: an image's 36 numbers, then three of its label."""
    draw = random.Random(seed)
    with open(path, "wb") as file:
        for _ in range(count):
            label = draw.randrange(CLASSES)
            image = [draw.random() + (1 if at // 12 == label else 0) for at in range(INPUTS)]
            file.write(struct.pack(f"<{INPUTS}f", *image))
            if labels:
                file.write(struct.pack(f"<{CLASSES}f", *(float(label == each) for each in range(CLASSES))))
    return path


class Ini(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        os.makedirs(os.path.join(cls.folder, "net"))
        cls.net = cls.put("net/net.ini", MODEL)
        records(os.path.join(cls.folder, "net", "train.dat"), SAMPLES, 1)
        records(os.path.join(cls.folder, "net", "valid.dat"), 8, 2)

    @classmethod
    def put(cls, name, text):
        with open(os.path.join(cls.folder, name), "w") as file:
            file.write(text)
        return os.path.join(cls.folder, name)

    def losses(self, log):
        return [each["loss"] for each in self.log_of(log) if each.get("event") == "step"]

    def train(self, out, *words):
        """The losses of its steps, and what it said."""
        done = self.succeed("train", self.net, "-o", self.path(out), "--log", self.path(out + ".log"), "--log-every", "1", "--effort", "1", *words)
        return self.losses(self.path(out + ".log")), done.stdout + done.stderr

    def test_inspect(self):
        told = json.loads(self.succeed("inspect", self.net, "--format", "json").stdout)
        self.assertEqual((told["parameters"], told["batch"]), (WEIGHTS, BATCH))
        self.assertEqual(told["inputs"], ["image f32[N,1,6,6]"])
        self.assertEqual(told["outputs"], ["scores f32[N,3]"])
        self.assertNotIn("--loss", self.succeed("inspect", self.net).stdout)

    def test_plan(self):
        plan = self.path("plan.json")
        self.succeed("plan", self.net, "-o", plan, "--ram", "16KiB", "--effort", "1")
        self.succeed("verify", plan)
        with open(plan) as file:
            made = json.load(file)["x-model"]
        self.assertEqual((made["batch"], made["optimizer"]["name"], made["optimizer"]["lr"]), (BATCH, "adam", 0.01))
        self.assertTrue(made["optimizer"]["eps_before_correction"])
        data = os.path.join(self.folder, "net", "train.dat")
        self.succeed("train", self.net, "--plan", plan, "--data", data, "-o", self.path("planned.safetensors"), "--epochs", "2")
        self.train("itself.safetensors", "--data", data)
        self.same_bits(tensors(self.path("planned.safetensors")), tensors(self.path("itself.safetensors")))

    def test_it_trains_by_itself(self):
        losses, told = self.train("alone.safetensors")
        self.assertEqual(len(losses), 2 * SAMPLES // BATCH)
        self.assertLess(losses[-1], losses[0])
        self.assertNotIn("replaces", told)
        epochs = [each for each in self.log_of(self.path("alone.safetensors.log")) if each.get("event") == "epoch"]
        self.assertEqual(len(epochs), 2)

    def test_the_command_line_wins_with_a_note(self):
        losses, told = self.train("wins.safetensors", "--epochs", "1", "--batch", "8", "--optimizer", "sgd", "--lr", "0.1")
        self.assertEqual(len(losses), SAMPLES // 8)
        for option, key in (("--epochs", "epochs"), ("--batch", "batch_size"), ("--optimizer", "optimizer"), ("--lr", "learning_rate")):
            self.assertIn(f"note: {option} replaces the {key} of the model's file", told)

    def test_other_data_replace_both_sets(self):
        other = records(self.path("other.dat"), 12, 3)
        alone = self.put("alone.ini", MODEL)  # no data set beside it
        done = self.succeed("train", alone, "--data", other, "-o", self.path("other.safetensors"), "--epochs", "1", "--effort", "1")
        self.assertIn("--data replaces the data sets of the model's file", done.stderr)
        refused = self.refuse(3, "E0262", "train", alone, "-o", self.path("none.safetensors"), "--effort", "1")
        self.assertIn("train.dat", refused.stderr)

    def test_predict_and_eval(self):
        self.train("trained.safetensors")
        outputs = self.path("scores.npy")
        images = records(self.path("images.dat"), 8, 2, labels=False)
        self.succeed("predict", self.net, "--weights", self.path("trained.safetensors"), "--data", images, "-o", outputs)
        with open(outputs, "rb") as file:
            self.assertIn(b"(8, 3,)", file.read(128))
        told = self.succeed("eval", self.net, "--weights", self.path("trained.safetensors"), "--data", os.path.join(self.folder, "net", "valid.dat")).stdout
        self.assertIn("loss", told)

    def test_bin_files_hold_the_same_weights(self):
        self.train("same.safetensors", "--seed", "5")
        self.train("same.bin", "--seed", "5")
        self.succeed("export", self.net, "--weights", self.path("same.safetensors"), "-o", self.path("exported.bin"))
        kept = tensors(self.path("same.safetensors"))
        names = ("conv.weight", "conv.bias", "scores.weight", "scores.bias")
        moments = [f"optim.adam_{which}.{name}" for name in names for which in "mv"]
        with open(self.path("same.bin"), "rb") as file:
            trained = file.read()
        self.assertEqual(trained[:4 * WEIGHTS], b"".join(kept[name] for name in names))
        self.assertEqual(trained[4 * WEIGHTS:4 * WEIGHTS + 4], b"adam")
        self.assertEqual(trained[4 * WEIGHTS + 4:-8], b"".join(kept[name] for name in moments))
        self.assertEqual(struct.unpack("<2I", trained[-8:]), (2, 2 * SAMPLES // BATCH))
        with open(self.path("exported.bin"), "rb") as file:
            self.assertEqual(file.read(), trained)
        self.succeed("export", self.net, "--weights", self.path("same.bin"), "-o", self.path("back.safetensors"))
        back = tensors(self.path("back.safetensors"))
        self.same_bits({name: back[name] for name in (*names, *moments)}, {name: kept[name] for name in (*names, *moments)})
        self.refuse(2, "E0113", "export", self.net, "--weights", self.path("same.bin"), "-o", self.path("back.tflite"))

    def test_weights_of_a_bin_file(self):
        self.train("first.bin", "--epochs", "1", "--optimizer", "sgd")
        self.train("first.safetensors", "--epochs", "1", "--optimizer", "sgd")
        of_bin, _ = self.train("of-bin.safetensors", "--weights", self.path("first.bin"))
        of_safetensors, _ = self.train("of-safetensors.safetensors", "--weights", self.path("first.safetensors"))
        self.assertEqual(of_bin, of_safetensors)
        self.same_bits(tensors(self.path("of-bin.safetensors")), tensors(self.path("of-safetensors.safetensors")))
        with open(self.path("short.bin"), "wb") as file:
            file.write(bytes(4 * WEIGHTS - 4))
        told = self.refuse(3, "E0240", "train", self.net, "-o", self.path("short.safetensors"), "--weights", self.path("short.bin"), "--effort", "1").stderr
        self.assertIn(f"the weights of this model have {4 * WEIGHTS + 8}", told)

    def test_a_training_goes_on_with_the_moments_of_a_bin_file(self):
        net = self.net
        self.net = self.put("continued.ini", MODEL.replace("[Model]", "[Model]\ncontinue_train = true"))
        data = ("--data", os.path.join(self.folder, "net", "train.dat"))
        whole, _ = self.train("whole.bin", *data, "--epochs", "3")
        begun, _ = self.train("begun.bin", *data, "--epochs", "1")
        rest, told = self.train("rest.bin", *data, "--epochs", "3", "--weights", self.path("begun.bin"))
        self.assertIn(f"the training goes on behind iteration {SAMPLES // BATCH} of ", told)
        self.assertEqual(begun + rest, whole)
        with open(self.path("whole.bin"), "rb") as one, open(self.path("rest.bin"), "rb") as other:
            self.assertEqual(one.read(), other.read())
        momentum = ("--optimizer", "sgd,momentum=0.9", "--effort", "1", "--weights", self.path("begun.bin"))
        refused = self.refuse(3, "E0242", "train", self.net, *data, *momentum, "-o", self.path("none.safetensors")).stderr
        self.assertIn("'optim.momentum.conv.weight' f32 [4, 1, 3, 3] is missing", refused)
        self.net = net
        anew, _ = self.train("anew.bin", "--epochs", "3", "--weights", self.path("begun.bin"))
        self.assertEqual(len(anew), len(whole), "without continue_train a training begins")
        self.succeed("export", net, "--weights", self.path("begun.bin"), "-o", self.path("copied.bin"))
        with open(self.path("begun.bin"), "rb") as one, open(self.path("copied.bin"), "rb") as other:
            self.assertEqual(one.read(), other.read())

    def test_a_bin_is_of_ini_models_alone(self):
        model = os.path.join(ROOT, "examples", "fashion", "cnn.onnx")
        self.train("ini.safetensors", "--epochs", "1")
        self.refuse(2, "E0113", "export", model, "--weights", self.path("ini.safetensors"), "-o", self.path("x.bin"))

    def test_export_to_onnx(self):
        self.train("exported.safetensors")
        onnx = self.path("exported.onnx")
        self.succeed("export", self.net, "--weights", self.path("exported.safetensors"), "-o", onnx)
        told = json.loads(self.succeed("inspect", onnx, "--format", "json").stdout)
        self.assertEqual(told["outputs"], ["scores f32[N,3]"])
        first = self.path("first.onnx")
        self.succeed("export", self.net, "-o", first)
        self.assertGreater(os.path.getsize(first), 4 * WEIGHTS)

    def test_a_training_is_resumed(self):
        self.train("whole.safetensors", "--seed", "3", "--epochs", "3")
        checkpoint = self.path("parts.checkpoint")
        self.train("parts.safetensors", "--seed", "3", "--epochs", "1", "--checkpoint", checkpoint, "--checkpoint-every", "1")
        self.train("parts.safetensors", "--seed", "3", "--epochs", "3", "--resume", checkpoint)
        self.same_bits(tensors(self.path("parts.safetensors")), tensors(self.path("whole.safetensors")))

    def test_less_ram_gives_the_same_bits(self):
        peak = json.loads(self.succeed("inspect", self.net, "--format", "json").stdout)["unplanned_peak_bytes"]
        least = json.loads(self.run_cli("plan", self.net, "--ram", "1B", "--format", "json").stdout)["min_ram_bytes"]
        self.assertLess(least, peak)
        self.train("free.safetensors")
        self.train("least.safetensors", "--ram", f"{least}B")
        self.same_bits(tensors(self.path("least.safetensors")), tensors(self.path("free.safetensors")))

    def test_paths_of_new_sections_are_those_of_the_working_folder(self):
        text = MODEL.replace('[DataSet]\nTrainData = "train.dat"\nValidData = valid.dat\n', "[train_set]\ntype = file\npath = train.dat\n")
        model = self.put("new.ini", text)
        self.succeed("train", model, "-o", self.path("new.safetensors"), "--epochs", "1", "--effort", "1", cwd=os.path.join(self.folder, "net"))

    def test_a_file_without_loss_or_optimizer(self):
        graph = self.put("graph.ini", MODEL.replace("Loss = cross\n", "").replace("[Optimizer]\nType = adam\nLearning_rate = 0.01\n", ""))
        self.succeed("inspect", graph)
        words = ("train", graph, "--data", os.path.join(self.folder, "net", "train.dat"), "-o", self.path("graph.safetensors"), "--effort", "1")
        self.assertIn("--loss", self.refuse(3, "E0214", *words).stderr)
        self.assertIn("--optimizer", self.refuse(3, "E0214", *words, "--loss", "mse").stderr)
        self.succeed(*words, "--loss", "mse", "--optimizer", "sgd")

    def test_mistakes_have_lines(self):
        for change, line, words in ((("Unit = 3", "Units = 3"), 37, "did you mean unit?"), (("kernel_size = 3,3", "kernel_size = 9,9\nstride = 9"), 20, ""),
                                    (("Type = flatten", "Type = flaten"), 33, "did you mean flatten?"), (("filters = 4", "filters"), 21, "key = value"),
                                    (("[flat]", "[flat"), 32, "write [name]"), (("Loss = cross", "Loss = hinge"), 4, "use mse, cross")):
            model = self.put("wrong.ini", MODEL.replace(*change))
            told = self.refuse(3, "E0214", "inspect", model).stderr
            if "stride" not in change[1]:
                self.assertIn(f"wrong.ini:{line}", told)
            self.assertIn(words, told)

    def test_recorded_trainings(self):
        if not os.path.isdir(RECORDED):
            self.skipTest(f"no {RECORDED}")
        try:
            import numpy  # noqa: F401
        except ImportError:
            self.skipTest("the Python package numpy is not installed")
        names = sorted(name[:-4] for name in os.listdir(RECORDED) if name.endswith(".ini"))
        for name in some(names, 4):
            subprocess.run([sys.executable, os.path.join(ROOT, "bench", "nntrainer.py"), "--pantoum", os.environ.get("PANTOUM", os.path.join(ROOT, "build", "release", "bin", "pantoum")),
                            "--reference", os.path.join(ROOT, "..", "shared"), "--only", f"golden {name}"], env={**os.environ, "PANTOUM_OUT": self.folder}, check=True, capture_output=True)
            with open(self.path("bench", "nntrainer.json")) as file:
                rows = json.load(file)["rows"]
            self.assertTrue(rows and all(row["ok"] for row in rows), rows)


if __name__ == "__main__":
    unittest.main()
