"""Files that lie: whole ones of every format, changed where their headers tell sizes, counts, depths and checksums, or anywhere.

Run alone it tries as many as it is told of each format: hostile_files.py --count 300 [--only npz,png] [--seed 1]. Every run of the program ends by itself, with an
exit code of its own, within SECONDS of processor time and with MEMORY bytes beside the file's.
"""
import argparse
import gzip
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import zipfile

import hostile_data
import hostile_models
from hostile_data import ROWS, WIDTH, jpeg_of, png_of, ppm_of, zip_of
from hostile_models import GOOD_PROFILE, GOOD_TENSORS, tensors_file
from house import MODEL, PANTOUM, npy, onnx_model, onnx_node, onnx_tensor

SECONDS = 2.0
MEMORY = 256 << 20
EXITS = {0, 2, 3, 4, 5, 6, 8}
QUICKLY = ("--batch", "4", "--ram", "1MiB", "--effort", "1", "--kernels", "portable", "--threads", "1")


class Trial:
    """Runs the program on each file and remembers what broke a promise."""
    def __init__(self, folder):
        self.folder, self.broken, self.runs, self.slowest, self.largest = folder, [], 0, 0.0, 0
        self.net = self.model("net.onnx", ("N", WIDTH), WIDTH)
        self.image = self.model("image.onnx", ("N", 1, 4, 4), 16)
        self.cifar = self.model("cifar.onnx", ("N", 3, 32, 32), 3072)
        self.labels = npy("<i8", (ROWS,), bytes(8 * ROWS))
        self.data = {"x_train.npy": npy("<f4", (ROWS, WIDTH), bytes(4 * ROWS * WIDTH)), "y_train.npy": self.labels}
        for name, data in self.data.items():
            with open(self.path(name), "wb") as file:
                file.write(data)
        self.plan, self.small, self.graph, self.proved = (self.path(f"{name}.json") for name in ("plan", "small", "graph", "proved"))
        self.make("plan", self.net, *QUICKLY, "-o", self.plan, "--costgraph-out", self.graph)
        self.make("plan", self.net, "--batch", "4", "--device", "m4", "--ram", "32KiB", "--reserve", "8KiB", "--effort", "1", "-o", self.small)
        self.make("plan", MODEL, "--batch", "4", "--ram", "400KiB", "--effort", "5", "--device", "m4", "-o", self.proved)
        self.refusal = self.path("refusal.json")
        self.make("plan", "--costgraph", self.graph, "--ram", "1KiB", "--effort", "1", "--write-refusal", self.refusal, code=5)
        self.make("train", self.net, "--data", folder, *QUICKLY, "--checkpoint-every", "1", "-o", self.path("w.safetensors"))
        self.make("sweep", self.net, *QUICKLY[:2], "--effort", "1", "--ram", "8KiB:64KiB:3", "--planners", "keep", "-o", self.path("sweep"))
        self.base = self.measured([PANTOUM, "verify", self.plan])[2]

    def make(self, *words, code=0):
        done = subprocess.run([PANTOUM, *words], capture_output=True)
        assert done.returncode == code, (words, done.returncode, done.stderr)

    def good(self, *names):
        with open(self.path(*names), "rb") as file:
            return file.read()

    def good_json(self, path):
        return json.loads(self.good(path))

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def model(self, name, dims, features):
        nodes = [onnx_node("Flatten", ["x"], ["f"]), onnx_node("MatMul", ["f", "w"], ["y"])]
        with open(self.path(name), "wb") as file:
            file.write(onnx_model(nodes, dims, [onnx_tensor("w", (features, WIDTH), [0.1] * features * WIDTH)]))
        return self.path(name)

    def place(self, files):
        shutil.rmtree(self.path("case"), ignore_errors=True)
        for name, data in files.items():
            os.makedirs(os.path.dirname(self.path("case", name)), exist_ok=True)
            with open(self.path("case", name), "wb") as file:
                file.write(data)

    def train(self, model, data, *more):
        return [PANTOUM, "train", model, "--data", self.path("case", data) if data is not None else self.folder, *QUICKLY, *more, "-o", self.path("case", "w.safetensors")]

    def data_formats(self):
        """As formats() has them."""
        def picture(name):
            return lambda data: {f"train/a/1.{name}": data, **{f"train/b/{at}.png": png_of(4, 4) for at in range(3)}}

        def idx(data, ending="", pack=bytes):
            return {f"train-images-idx3-ubyte{ending}": data, f"train-labels-idx1-ubyte{ending}": pack(bytes([0, 0, 8, 1, 0, 0, 0, ROWS]) + bytes(ROWS))}
        net, image = self.train(self.net, ""), self.train(self.image, "")
        return {
            "npy": (hostile_data.npy_files, lambda data: {"x_train.npy": data, "y_train.npy": self.labels}, net),
            "npz": (hostile_data.npz_files, lambda data: {"d.npz": data}, self.train(self.net, "d.npz")),
            "idx": (hostile_data.idx_files, idx, net),
            "idx.gz": (hostile_data.packed_idx_files, lambda data: idx(data, ".gz", gzip.compress), net),
            "raw": (hostile_data.raw_files, lambda data: {"x_train.f32": data, "y_train.i64": bytes(8 * ROWS)}, net),
            "cifar": (hostile_data.cifar_files, lambda data: {"data_batch_1.bin": data}, self.train(self.cifar, "")),
            "csv": (hostile_data.csv_files, lambda data: {"train.csv": data}, net),
            "png": (hostile_data.png_files, picture("png"), image),
            "jpeg": (hostile_data.jpeg_files, picture("jpg"), image),
            "ppm": (hostile_data.ppm_files, picture("ppm"), image),
            "classes": (hostile_data.class_list_files, lambda data: {f"train/{os.fsdecode(data)}/1.png": png_of(4, 4), **{f"train/b/{at}.png": png_of(4, 4) for at in range(3)}}, image),
        }

    def formats(self):
        """name: what makes files, the other files beside them, the command."""
        def case(name):
            return self.path("case", name)
        plan, proved, model = self.good_json(self.plan), self.good_json(self.proved), self.path("case", "m.onnx")
        weights = self.good("w.safetensors.checkpoint")
        plans = {f"plans/{name}": self.good("sweep", "plans", name) for name in os.listdir(self.path("sweep", "plans"))}
        return {
            **self.data_formats(),
            "onnx": (hostile_models.model_files, lambda data: {"m.onnx": data}, [PANTOUM, "plan", model, *QUICKLY, "--device", "m4"]),
            "tflite": (hostile_models.tflite_files, lambda data: {"m.tflite": data}, [PANTOUM, "plan", case("m.tflite"), *QUICKLY, "--device", "m4", "--train", "*", "--loss", "mse"]),
            "ini": (hostile_models.ini_files, lambda data: {"n.ini": data, "b.ini": hostile_models.BACKBONE_INI.encode()},
                    [PANTOUM, "plan", case("n.ini"), *QUICKLY[2:], "--device", "m4", "--loss", "mse", "--optimizer", "sgd"]),
            "external data": (hostile_models.external_data_files, lambda data: {"m.onnx": data, "w.data": bytes(64)}, self.train(model, None)),
            "safetensors": (hostile_models.safetensors_files, lambda data: {"w.safetensors": data},
                            [PANTOUM, "export", self.net, "--weights", case("w.safetensors"), "-o", case("out.onnx")]),
            "checkpoint": (lambda draw: hostile_models.checkpoint_files(draw, weights), lambda data: {"c": data}, self.train(self.net, None, "--resume", case("c"))),
            "toml": (hostile_models.toml_files, lambda data: {"d.toml": data}, [PANTOUM, "devices", "show", case("d.toml")]),
            "plan": (lambda draw: hostile_models.plan_files(draw, plan), lambda data: {"p.json": data}, [PANTOUM, "verify", case("p.json")]),
            "plan to report": (lambda draw: hostile_models.plan_files(draw, plan), lambda data: {"p.json": data}, [PANTOUM, "report", case("p.json"), "-o", case("page.html")]),
            "plan to train": (lambda draw: hostile_models.plan_files(draw, plan), lambda data: {"p.json": data}, self.train(self.net, None, "--plan", case("p.json"))),
            "plan to emit": (lambda draw: hostile_models.plan_files(draw, self.good_json(self.small)), lambda data: {"p.json": data},
                             [PANTOUM, "emit", case("p.json"), "--target", "cortex-m3", "--stack", "2KiB", "--model", self.net, "-o", case("project")]),
            "certificate": (lambda draw: hostile_models.certificate_files(draw, proved), lambda data: {"p.json": data}, [PANTOUM, "verify", case("p.json")]),
            "refusal": (lambda draw: hostile_models.refusal_files(draw, self.good_json(self.refusal), proved), lambda data: {"r.json": data}, [PANTOUM, "verify", case("r.json")]),
            "cost graph": (lambda draw: hostile_models.cost_graph_files(draw, self.good_json(self.graph)), lambda data: {"g.json": data},
                           [PANTOUM, "plan", "--costgraph", case("g.json"), *QUICKLY[2:]]),
            "run log": (lambda draw: hostile_models.log_files(draw, self.good("w.safetensors.jsonl").decode()), lambda data: {"log": data},
                        [PANTOUM, "report", self.plan, case("log"), "-o", case("page.html")]),
            "sweep": (lambda draw: hostile_models.log_files(draw, self.good("sweep", "sweep.jsonl").decode()), lambda data: {"sweep.jsonl": data, **plans},
                      [PANTOUM, "sweep", self.net, *QUICKLY[:2], "--effort", "1", "--ram", "8KiB:64KiB:3", "--planners", "keep", "-o", self.path("case")]),
        }

    def whole_files(self):
        """What each format's files are changed from."""
        rows = self.data["x_train.npy"]
        images = bytes([0, 0, 8, 2, 0, 0, 0, ROWS, 0, 0, 0, WIDTH]) + bytes(ROWS * WIDTH)
        return {"npy": rows, "npz": zip_of(self.data.items(), zipfile.ZIP_STORED), "idx": images, "idx.gz": gzip.compress(images), "raw": bytes(4 * ROWS * WIDTH),
                "cifar": (bytes([3]) + bytes(3072)) * 8, "csv": b"a,b,c,d,label\n" + b"1,2,3,4,0\n" * ROWS, "png": png_of(4, 4), "jpeg": jpeg_of(16, 16), "ppm": ppm_of(4, 4),
                "classes": b"a class", "onnx": hostile_models.good_model(), "tflite": hostile_models.good_tflite()["small_channel.tflite"], "ini": hostile_models.GOOD_INI.encode(), "external data": hostile_models.model_with_data(b"w.data", b"0", b"64"),
                "safetensors": tensors_file(GOOD_TENSORS), "checkpoint": self.good("w.safetensors.checkpoint"), "toml": GOOD_PROFILE.encode(), "plan": self.good("plan.json"),
                "plan to train": self.good("plan.json"), "plan to report": self.good("plan.json"), "plan to emit": self.good("small.json"), "certificate": self.good("proved.json"), "refusal": self.good("refusal.json"), "cost graph": self.good("graph.json"),
                "run log": self.good("w.safetensors.jsonl"), "sweep": self.good("sweep", "sweep.jsonl")}

    def accepts(self, name, data):
        _, beside, command = self.formats()[name]
        self.place(beside(data))
        return self.measured(command)

    def measured(self, command):
        """Exit code, processor seconds, bytes of RAM, what was said."""
        with open(self.path("said"), "wb") as said:
            process = subprocess.Popen(command, stdout=said, stderr=said, cwd=self.folder, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (20, 20)))
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        with open(self.path("said"), "rb") as said:
            return process.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10, said.read(4000)

    def judge(self, name, at, size, command):
        code, seconds, memory, said = self.measured(command)
        self.runs, self.slowest, self.largest = self.runs + 1, max(self.slowest, seconds), max(self.largest, memory - size)
        problems = [*([f"exit {code}"] if code not in EXITS else []), *([f"{seconds:.1f} s"] if seconds > SECONDS else []),
                    *([f"{memory >> 20} MiB"] if memory > self.base + MEMORY + size else []), *(["no code"] if code and b"error[E" not in said else []),
                    *(["internal"] if b"E0001" in said or b"E0910" in said else [])]
        if problems:
            self.broken.append(f"{name} {at}: {', '.join(problems)} ({size} bytes): {said[:300].decode('utf-8', 'replace')}")

    def run(self, count, seed, only=(), keep=None):
        for name, (make, beside, command) in self.formats().items():
            if only and name not in only:
                continue
            files = make(random.Random(f"{name} {seed}"))
            for at in range(count):
                before, data = len(self.broken), next(files)
                self.place(beside(data))
                self.judge(name, at, len(data), command)
                if keep and len(self.broken) > before:
                    shutil.copytree(self.path("case"), os.path.join(keep, f"{name}-{at}"), dirs_exist_ok=True)
        return self.broken


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=300, help="files of each format")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--only", default="", help="formats, with commas")
    options.add_argument("--keep", help="folder for files that broke a promise")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(folder)
        broken = trial.run(asked.count, asked.seed, [each for each in asked.only.split(",") if each], asked.keep)
    print("\n".join(broken))
    print(f"{trial.runs} files; at most {trial.slowest:.2f} s and {trial.largest >> 20} MiB beside the file; {len(broken)} broke a promise")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
