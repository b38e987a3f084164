"""Class weights and outputs whose batch is not the first dimension: in every verb that takes --loss, in plans, in resumed runs. (Values: tests/values, against PyTorch.)"""
import json
import os
import pathlib
import shutil
import struct
import unittest

from house import House, npy, onnx_model, onnx_node, onnx_tensor, tensors

MEANT = ("--kernels", "portable", "--ram", "1MiB", "--batch", 4)
COMMON = ("--effort", 1, "--measure", "off", *MEANT)
TIME, WIDTH, CLASSES, SAMPLES = 3, 5, 4, 24


def floats(values):
    return struct.pack(f"<{len(values)}f", *values)


def tagger(time_first):
    """A class for each of TIME words: [N,T,C], or [T,N,C] as a recurrent network without batch_first gives it."""
    words = [onnx_node("Transpose", ["x"], ["words"], "turn", perm=[1, 0, 2])] if time_first else []
    weight = onnx_tensor("fc.weight", [WIDTH, CLASSES], [(at % 7 - 3) / 7 for at in range(WIDTH * CLASSES)])
    return onnx_model([*words, onnx_node("MatMul", ["words" if time_first else "x", "fc.weight"], ["y"], "fc")], ["N", TIME, WIDTH], [weight])


class Losses(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        at = lambda *names: os.path.join(cls.folder, *names)
        for name, time_first in (("batch.onnx", False), ("time.onnx", True)):
            pathlib.Path(at(name)).write_bytes(tagger(time_first))
        os.makedirs(at("data"))
        for split, seed in (("train", 3), ("test", 5)):
            x = [(at_ * seed * 37 % 101 - 50) / 50 for at_ in range(SAMPLES * TIME * WIDTH)]
            pathlib.Path(at("data", f"x_{split}.npy")).write_bytes(npy("<f4", (SAMPLES, TIME, WIDTH), floats(x)))
            labels = [at_ * seed % 11 % CLASSES for at_ in range(SAMPLES * TIME)]
            pathlib.Path(at("data", f"y_{split}.npy")).write_bytes(npy("<i8", (SAMPLES, TIME), struct.pack(f"<{len(labels)}q", *labels)))
        for name, descr, dims, data in (("w.npy", "<f4", (4,), floats([0.1, 2, 0, 1e-3])), ("w64.npy", "<f8", (4,), struct.pack("<4d", 0.5, 2, 0, 1)), ("wi.npy", "<i8", (4,), struct.pack("<4q", 1, 2, 0, 1)),
                                        ("three.npy", "<f4", (3,), floats([1, 1, 1])), ("square.npy", "<f4", (2, 2), floats([1, 1, 1, 1])), ("negative.npy", "<f4", (4,), floats([1, -1, 1, 1])),
                                        ("nan.npy", "<f4", (4,), floats([1, float("nan"), 1, 1])), ("none.npy", "<f4", (4,), floats([0, 0, 0, 0]))):
            pathlib.Path(at(name)).write_bytes(npy(descr, dims, data))
        pathlib.Path(at("text.npy")).write_text("1:2:3")

    def losses_of(self, *words, out="out"):
        self.succeed("train", *words, "--data", self.path("data"), "-o", self.path(out), "--log", self.path("log"))
        return [(line["train_loss"], line["test_loss"]) for line in self.log_of(self.path("log")) if line["event"] == "epoch"]

    def asked(self, model, loss):
        return (self.path(model), "--loss", loss, *COMMON)

    def used(self, model, loss, weights):
        """What eval and predict take."""
        return (self.path(model), "--loss", loss, *MEANT, "--weights", self.path(weights), "--data", self.path("data"))

    def test_a_file_and_its_numbers_are_one_loss_in_every_verb(self):
        model, file, words = "batch.onnx", f"cross_entropy,classes_last,class_weights={self.path('w.npy')}", "cross_entropy,classes_last,class_weights=0.10000000149011612:2:0:0.0010000000474974513"
        plans = []
        for number, loss in enumerate((file, words)):
            plan, out = self.path(f"plan{number}.json"), self.path("out.safetensors")
            self.succeed("plan", *self.asked(model, loss), "-o", plan)
            plans.append(json.loads(pathlib.Path(plan).read_text())["x-model"])
            seen = json.loads(self.succeed("inspect", self.path(model), "--loss", loss, "--batch", 4, "--format", "json").stdout)
            self.assertEqual(seen["exit"], 0)
            self.succeed("sweep", *self.asked(model, loss), "-o", self.path(f"swept{number}"))
            self.succeed("train", "--plan", plan, "--data", self.path("data"), "-o", out)
            self.succeed("emit", plan, "--target", "posix", "-o", self.path(f"project{number}"))
        self.assertEqual(plans[1]["loss"][0]["class_weights"][:3], [0.10000000149011612, 2, 0])
        self.assertEqual(plans[0]["loss"], plans[1]["loss"])
        evals = [self.succeed("eval", *self.used(model, loss, "out.safetensors"), "--format", "json").stdout for loss in (file, words)]
        evals.append(self.succeed("eval", self.path("plan0.json"), "--weights", self.path("out.safetensors"), "--data", self.path("data"), "--format", "json").stdout)
        self.assertEqual(len({json.loads(each)["test_loss"] for each in evals}), 1)
        self.assertEqual(self.losses_of(*self.asked(model, file), "--epochs", 3), self.losses_of(*self.asked(model, words), "--epochs", 3))
        self.assertNotEqual(self.losses_of(*self.asked(model, file)), self.losses_of(*self.asked(model, "cross_entropy,classes_last")))

    def test_a_resumed_run_has_the_weights(self):
        asked = self.asked("batch.onnx", f"cross_entropy,classes_last,class_weights={self.path('w64.npy')}")
        self.losses_of(*asked, "--epochs", 4, out="whole")
        self.losses_of(*asked, "--epochs", 2, "--checkpoint-every", 1, out="part")
        resumed = self.asked("batch.onnx", "cross_entropy,classes_last,class_weights=.5:2:0:1")
        self.losses_of(*resumed, "--epochs", 4, "--resume", self.path("part.checkpoint"), out="part")
        self.same_bits(tensors(self.path("part")), tensors(self.path("whole")))
        # Other weights, as any other setting of a loss, hold from there on: twice the same are the same, others are not.
        last = {}
        for weights in (".5:2:0:1", "1:4:0:2", ".5:2:0:3"):
            asked = self.asked("batch.onnx", f"cross_entropy,classes_last,class_weights={weights}")
            last[weights] = self.losses_of(*asked, "--epochs", 6, "--resume", self.path("whole"), out="longer")[-1]
        self.assertAlmostEqual(last[".5:2:0:1"][0], last["1:4:0:2"][0], delta=1e-5)
        self.assertGreater(abs(last[".5:2:0:1"][0] - last[".5:2:0:3"][0]), 1e-3)

    def test_equal_weights_are_none(self):
        plain, equal = (self.losses_of(*self.asked("batch.onnx", loss), "--epochs", 3) for loss in ("cross_entropy,classes_last", "cross_entropy,classes_last,class_weights=2:2:2:2"))
        for one, other in zip(sum(plain, ()), sum(equal, ())):
            self.assertAlmostEqual(one, other, delta=1e-5)

    def test_weights_that_are_none_are_refused(self):
        last = "cross_entropy,classes_last,class_weights="
        for loss, exit_code, code in ((last + "1:2:3", 4, "E0403"), (last + "1:2:3:4:5", 4, "E0403"), (last + "0:0:0:0", 4, "E0403"), (last + "1:-1:1:1", 2, "E0116"), (last + "1:nan:1:1", 2, "E0116"),
                                      (last + "1:inf:1:1", 2, "E0116"), (last + "1:1e300:1:1", 2, "E0116"), (last + "1::1:1", 2, "E0116"), (last, 2, "E0116"), (last + "1:2:3:x", 2, "E0116"),
                                      (last + "1:2:3:4:", 2, "E0116"), ("mse,class_weights=1:1:1:1", 2, "E0117"), (last + self.path("three.npy"), 4, "E0403"), (last + self.path("square.npy"), 3, "E0261"),
                                      (last + self.path("negative.npy"), 2, "E0116"), (last + self.path("nan.npy"), 2, "E0116"), (last + self.path("none.npy"), 4, "E0403"),
                                      (last + self.path("absent.npy"), 3, "E0201"), (last + self.path("text.npy"), 3, "E0261"), (last + "/dev/zero.npy", 3, "E0201")):
            with self.subTest(loss):
                done = self.refuse(exit_code, code, "plan", *self.asked("batch.onnx", loss))
                self.assertIn("help:", done.stderr)
        for name in ("wi.npy", "w64.npy"):
            self.succeed("plan", *self.asked("batch.onnx", last + self.path(name)))

    def test_the_file_of_the_weights_is_not_written_over(self):
        shutil.copy(self.path("w.npy"), self.path("own.npy"))
        asked = self.asked("batch.onnx", f"cross_entropy,classes_last,class_weights={self.path('own.npy')}")
        for words in (("plan", *asked, "-o", self.path("own.npy")), ("train", *asked, "--data", self.path("data"), "-o", self.path("own.npy"))):
            self.refuse(2, "E0125", *words)
        self.assertEqual(pathlib.Path(self.path("own.npy")).read_bytes(), pathlib.Path(self.path("w.npy")).read_bytes())

    def test_labels_that_are_no_class_are_found_before_the_run(self):
        shutil.copytree(self.path("data"), self.path("wrong"))
        path = pathlib.Path(self.path("wrong", "y_train.npy"))
        path.write_bytes(path.read_bytes()[:-8] + struct.pack("<q", CLASSES))
        for model, loss in (("batch.onnx", "classes_last,class_weights=1:2:3:4"), ("time.onnx", "classes_last,batch_axis=1"), ("time.onnx", "classes_last,batch_axis=1,class_weights=1:2:3:4")):
            done = self.refuse(3, "E0262", "train", *self.asked(model, f"cross_entropy,{loss}"), "--data", self.path("wrong"), "-o", self.path("x"))
            self.assertIn("4", done.stderr)

    def test_time_first_is_batch_first(self):
        for loss in ("cross_entropy,classes_last", "cross_entropy,classes_last,class_weights=1:2:3:4"):
            plain = self.losses_of(*self.asked("batch.onnx", loss), "--epochs", 3, out="plain")
            turned = self.losses_of(*self.asked("time.onnx", loss + ",batch_axis=1"), "--epochs", 3, out="turned")
            for one, other in zip(sum(plain, ()), sum(turned, ())):
                self.assertAlmostEqual(one, other, delta=1e-5)
        given = {}
        for model, loss, weights in (("batch.onnx", "cross_entropy,classes_last", "plain"), ("time.onnx", "cross_entropy,classes_last,batch_axis=1", "turned")):
            self.succeed("predict", *self.used(model, loss, "plain"), "-o", self.path("y.npy"))
            given[model] = pathlib.Path(self.path("y.npy")).read_bytes()
            self.succeed("eval", *self.used(model, loss, weights))
        self.assertEqual(given["batch.onnx"], given["time.onnx"])
        self.assertIn(f"({SAMPLES}, {TIME}, {CLASSES}".encode(), given["time.onnx"])

    def test_the_refusal_of_another_batch_names_the_way(self):
        for verb in ("inspect", "plan", "train"):
            words = (verb, self.path("time.onnx"), "--batch", 4, "--loss", "cross_entropy,classes_last")
            if verb != "inspect":
                words = (verb, *self.asked("time.onnx", "cross_entropy,classes_last"), *(("--data", self.path("data"), "-o", self.path("x")) if verb == "train" else ()))
            done = self.run_cli(*words)
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertIn("batch_axis=1", done.stdout + done.stderr)
        self.refuse(4, "E0403", "plan", *self.asked("time.onnx", "cross_entropy,classes_last,batch_axis=3"))
        self.refuse(2, "E0116", "plan", *self.asked("time.onnx", "cross_entropy,classes_last,batch_axis=-1"))


if __name__ == "__main__":
    unittest.main()
