"""Bad input: a clear error with its exit code, nothing lost, no crash."""
import contextlib
import json
import os
import pathlib
import re
import resource
import shutil
import sqlite3
import struct
import subprocess
import unittest

from house import MODEL, ROOT, House, idx, m4_costgraph, make_data, npy, onnx_model, onnx_node, some


def model(op, dims=(1, 4)):
    """A model of one node: x -> op -> y. A dim may be a name."""
    return onnx_model([onnx_node(op, ["x"], ["y"], name="lonely")], dims)


class BadInput(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        make_data(os.path.join(cls.folder, "data"), 64)
        cls.onnx = pathlib.Path(MODEL).read_bytes()

    def file(self, name, contents):
        path = pathlib.Path(self.path(name))
        path.write_bytes(contents if isinstance(contents, bytes) else contents.encode())
        return str(path)

    def train(self, *words):
        return ("train", MODEL, "--data", self.path("data"), "--batch", 16, "--ram", "4MiB", "--effort", 1, "-o", self.path("w.safetensors"), *words)

    def test_models(self):
        for name, contents in (("empty", b""), ("half", self.onnx[:len(self.onnx) // 2]), ("noise", bytes(range(256)) * 40)):
            done = self.run_cli("plan", self.file(name + ".onnx", contents), "--ram", "1MiB")
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertRegex(done.stderr, r"error\[E02\d\d\]")
        self.refuse(3, "E0201", "inspect", self.path("absent.onnx"))
        self.refuse(3, "E0201", "inspect", self.folder)
        for step in range(0, len(self.onnx), 1499):
            broken = bytearray(self.onnx)
            broken[step] ^= 0x55
            done = self.run_cli("inspect", self.file("flipped.onnx", bytes(broken)))
            self.assertIn(done.returncode, (0, 3, 4), done.stderr)

    def test_unknown_operators_are_told_with_their_nodes(self):
        done = self.refuse(4, "E0401", "plan", self.file("odd.onnx", model("Frobnicate")), "--ram", "1MiB")
        self.assertIn("lonely", done.stderr)
        done = self.run_cli("inspect", self.path("odd.onnx"))
        self.assertEqual(done.returncode, 4)
        self.assertIn("Frobnicate", done.stdout)

    def test_dynamic_shapes(self):
        done = self.refuse(3, "E0210", "plan", self.file("dynamic.onnx", model("Relu", ("N", "width"))), "--batch", 2, "--ram", "1MiB")
        self.assertIn("width", done.stderr)

    def test_units(self):
        done = self.refuse(2, "E0110", "plan", MODEL, "--batch", 1, "--ram", "256")
        self.assertIn("did you mean 256KiB, 256MiB or 256B?", done.stderr)
        self.refuse(2, "E0300", "plan", MODEL, "--batch", 1, "--ram", "0B")
        self.refuse(2, "E0112", "plan", MODEL, "--batch", 1, "--ram", "1MiB", "--gap", "0.1")
        self.refuse(2, "E0117", "plan", MODEL, "--objective", "beauty")
        self.refuse(2, "E0100", "dance")

    def test_devices(self):
        self.assertIn("host", self.refuse(3, "E0270", "plan", MODEL, "--batch", 1, "--ram", "1MiB", "--device", "toaster").stderr)
        good = pathlib.Path(ROOT, "devices", "m4.toml").read_text()
        for text in (good.replace("align_bytes", "align_bites"), good.replace("4616510.0", "-1.0"), good.replace("flops_per_s", "x = [[[\nflops"), "name = 3"):
            self.refuse(3, "E0271", "devices", "show", self.file("bad.toml", text))

    def test_a_budget_that_no_plan_fits(self):
        least = self.path("least.json")
        done = self.refuse(5, "E0301", "plan", MODEL, "--batch", 8, "--ram", "16KiB", "--measure", "off", "--effort", 4, "--format", "text", "--write-min-plan", least)
        self.assertRegex(done.stderr, r"16 KiB is too little: the least known is [0-9.]+ KiB; below [0-9.]+ KiB nothing fits")
        self.assertIn("help: --ram", done.stderr)
        self.succeed("verify", least)
        done = self.run_cli("plan", MODEL, "--batch", 8, "--ram", "16KiB", "--measure", "off", "--effort", 4, "--format", "json", "-o", self.path("none.json"))
        answer = json.loads(done.stdout)
        self.assertEqual(answer["status"], "infeasible")
        self.assertLessEqual(answer["min_ram_bound_bytes"], answer["min_ram_bytes"])
        self.assertFalse(os.path.exists(self.path("none.json")))
        self.assertEqual({key: json.loads(done.stderr)[key] for key in ("error", "exit")}, {"error": "E0301", "exit": 5})
        found = self.plan_json(MODEL, "--batch", 8, "--ram", f"{answer['min_ram_bytes']}B", "--effort", 4)
        self.assertLessEqual(found["arena_bytes"], answer["min_ram_bytes"])

    def test_every_figure_of_ram_includes_the_reserve(self):
        """Every verb with --reserve: JSON and the advised --ram agree, they grow by the reserve, and are enough."""
        verbs = {part.split("\n", 1)[0] for part in self.succeed("reference").stdout.split("\n## ")[1:] if "`--reserve " in part}
        step, reserve = ("--batch", 8, "--effort", 1, "--measure", "off", "--kernels", "portable"), 100 << 10
        graph, weights = m4_costgraph(self.folder)[0], self.path("of-plan.safetensors")
        self.succeed("plan", MODEL, *step, "--ram", "4MiB", "--weights-out", weights)
        asked = {
            "plan": ("plan", MODEL, *step), "plan of a cost graph": ("plan", "--costgraph", graph, "--effort", 1), "plan ahead": ("plan", MODEL, *step, "--prefetch", 2),
            "profile": ("profile", MODEL, *step, "--steps", 1), "sweep": ("sweep", "--costgraph", graph, "--effort", 1, "--planners", "pantoum"),
            "train": ("train", MODEL, *step, "--data", self.path("data"), "-o", self.path("w")),
            "predict": ("predict", MODEL, *step[:2], *step[-2:], "--data", self.path("data"), "--weights", weights, "-o", self.path("y.npy")),
            "eval": ("eval", MODEL, *step[:2], *step[-2:], "--data", self.path("data"), "--weights", weights),
        }
        self.assertLessEqual(verbs - {"inspect"}, set(asked))  # inspect plans nothing, and advises no --ram
        for name, words in asked.items():
            with self.subTest(name):
                found = []
                for kept in (0, reserve):
                    ram = ("--ram", f"{kept + (200 << 10 if '--prefetch' in words else 100)}B", "--reserve", f"{kept}B", *(("-o", self.path(f"sweep-{kept}")) if name == "sweep" else ()))
                    done = self.run_cli(*words, *ram, "--format", "json")
                    answer = json.loads(done.stdout.splitlines()[0]) if done.stdout else {}  # some verbs tell the error alone
                    if name == "sweep":
                        answer = answer["rows"][0]
                    else:
                        advised = int(re.search(r"--ram (\d+)KiB", json.loads(done.stderr.splitlines()[-1])["help"]).group(1)) << 10
                        self.assertEqual(advised, -(-answer.setdefault("min_ram_bytes", advised) // 1024) << 10)
                    found.append(answer)
                self.assertEqual("min_ram_bound_bytes" in found[0], name not in ("profile", "predict", "eval"))
                for figure in found[0].keys() & {"min_ram_bytes", "min_ram_bound_bytes"}:
                    self.assertEqual(found[1][figure] - found[0][figure], reserve, figure)
                again = ("-o", self.path("sweep-again")) if name == "sweep" else ()
                done = self.succeed(*words, *again, "--ram", f"{found[1]['min_ram_bytes']}B", "--reserve", f"{reserve}B", "--format", "json")
                if name == "sweep":
                    self.assertIn(json.loads(done.stdout)["rows"][0]["status"], ("optimal", "feasible"))

    def test_the_least_ram_that_is_told_is_enough_for_all_programs(self):
        """Training of this model (torch.onnx.export, in training mode) makes no concatenation of its two branches, and needs less than its evaluation, which does."""
        model, asked = os.path.join(ROOT, "tests", "e2e", "exports", "gated.onnx"), ("--batch", 2, "--loss", "mse", "--optimizer", "sgd,momentum=0.9", "--kernels", "portable", "--measure", "off", "--effort", 2)
        least, bound = 0, 0
        for ram in some(("13312B", "12288B", "1B"), 1):
            answer = json.loads(self.run_cli("plan", model, *asked, "--ram", ram, "--format", "json").stdout)
            least, bound = max(least, answer["min_ram_bytes"]), max(bound, answer["min_ram_bound_bytes"])
            self.assertEqual((answer["status"], answer["min_ram_bytes"]), ("infeasible", least))
        self.assertLessEqual(bound, least)
        self.assertLessEqual(self.plan_json(model, *asked, "--ram", f"{least}B")["arena_bytes"], least)

    def test_the_least_ram_of_accumulated_batches_is_enough(self):
        """Accumulating is planned in the RAM of training; a short limit leaves hardly any time to find out in how little it could be."""
        model = os.path.join(ROOT, "examples", "image-classification", "model.onnx")
        asked = (model, "--batch", 16, "--accumulate", 4, "--measure", "off")
        for limit in ("10ms", "300ms"):
            told = json.loads(self.run_cli("plan", *asked, "--time-limit", limit, "--ram", "1B", "--format", "json").stdout)["min_ram_bytes"]
            self.assertLessEqual(self.plan_json(*asked, "--effort", 2, "--ram", f"{told}B")["arena_bytes"], told)

    def test_what_is_of_models_alone_is_told_beside_a_cost_graph(self):
        graph, peak = m4_costgraph(self.folder)
        for words in (("--device", "m7"), ("--kernels", "portable"), ("--measure=all",), ("--profile-store", self.path("s.db")), ("--inference",), ("--optimizer", "adam"),
                      ("--lr", "0.1"), ("--accumulate", 2), ("--freeze", "*"), ("--params-in", "aux"), ("--page-file", self.folder)):
            done = self.succeed("plan", "--costgraph", graph, "--ram", f"{peak}B", "--effort", 1, *words)
            self.assertIn(f"warning: {words[0].split('=')[0]} says nothing of a bare cost graph", done.stderr)
        for words in (("--measure", "off"), ("--batch", 2), ("--threads", 1)):
            self.assertNotIn("warning", self.succeed("plan", "--costgraph", graph, "--ram", f"{peak}B", "--effort", 1, *words).stderr)
        for words in (("--binary-out", self.path("b")), ("--weights-out", self.path("w.safetensors")), ("--costgraph-out", self.path("again.json"))):
            self.refuse(2, "E0118", "plan", "--costgraph", graph, "--ram", "64KiB", *words)
        self.assertFalse(os.path.exists(self.path("s.db")))

    def test_the_plan_of_the_least_ram_trains(self):
        least, asked = self.path("least.json"), ("--batch", 16, "--kernels", "portable", "--measure", "off")
        answer = json.loads(self.run_cli("plan", MODEL, *asked, "--ram", "16KiB", "--effort", 1, "--format", "json", "--write-min-plan", least).stdout)
        self.succeed("train", MODEL, "--data", self.path("data"), *asked, "--plan", least, "--ram", f"{answer['min_ram_bytes'] + 4096}B", "-o", self.path("least.safetensors"))

    def test_a_deadline_that_the_step_takes_to_the_last_bit(self):
        for ram in ("8GiB", "256MiB"):
            for objective in ("energy", "time"):
                self.succeed("plan", MODEL, "--batch", 8, "--ram", ram, "--measure", "off", "--effort", 1, "--objective", objective, "--deadline", "1x")

    def test_a_profile_store_that_is_none(self):
        other = self.path("other.db")
        with contextlib.closing(sqlite3.connect(other)) as base:
            base.execute("CREATE TABLE mine(a)")
            base.commit()
        before = pathlib.Path(other).read_bytes()
        self.refuse(2, "E0117", "profile", "--import", other, "--profile-store", self.path("own.db"))  # tables of times are CSV
        self.assertEqual(self.run_cli("profile", "--export", self.path("t.csv"), "--profile-store", other).returncode, 3)
        self.assertEqual(pathlib.Path(other).read_bytes(), before)
        self.refuse(3, "E0201", "profile", "--export", self.path("t.csv"), "--profile-store", self.path("absent.db"))
        self.assertFalse(os.path.exists(self.path("absent.db")) or os.path.exists(self.path("t.csv")))

    def test_plans(self):
        plan = self.path("plan.json")
        self.succeed("plan", MODEL, "--batch", 16, "--ram", "4MiB", "--effort", 1, "-o", plan)
        good = json.loads(pathlib.Path(plan).read_text())
        for change in ({"schema": "pantoum.plan/99"}, {"surprise": 1}, {"budget_bytes": "much"}, {"instructions": [{"do": "dance"}]}):
            self.refuse(3, "E0230", "verify", self.file("changed.json", json.dumps({**good, **change})))
        self.refuse(3, "E0230", "verify", self.file("cut.json", json.dumps(good)[:-200]))
        self.refuse(8, "E0802", "verify", plan, "--ram", "100KiB")
        fewer = {**good, "instructions": good["instructions"][1:], "predicted": {}}
        self.assertEqual(self.run_cli("verify", self.file("short.json", json.dumps(fewer))).returncode, 8)
        self.refuse(3, "E0231", *self.train("--optimizer", "adam", "--plan", plan))
        self.succeed(*self.train("--plan", plan))

    def test_data(self):
        folder = make_data(self.path("broken"), 64)
        images = os.path.join(folder, "train-images-idx3-ubyte")
        whole = pathlib.Path(images).read_bytes()
        pathlib.Path(images).write_bytes(whole[:-100])
        words = list(self.train())
        words[3] = folder
        self.refuse(3, "E0261", *words)
        pathlib.Path(images).write_bytes(whole)
        idx(os.path.join(folder, "train-labels-idx1-ubyte"), (64,), [200] * 64)
        self.refuse(3, "E0262", *words)
        words[3] = self.path("nowhere")
        self.refuse(3, "E0262", *words)

    def test_weights(self):
        header = json.dumps({"fc.weight": {"dtype": "F32", "shape": [3], "data_offsets": [0, 12]}}).encode()
        misfit = struct.pack("<Q", len(header)) + header + bytes(12)
        self.refuse(3, "E0242", *self.train("--weights", self.file("misfit.safetensors", misfit)))
        self.refuse(3, "E0240", *self.train("--weights", self.file("cut.safetensors", misfit[:-4])))
        self.refuse(3, "E0240", *self.train("--weights", self.file("huge.safetensors", struct.pack("<Q", 1 << 60) + b"{}")))

    def test_a_loss_that_is_not_finite(self):
        done = self.refuse(3, "E0701", *self.train("--lr", "1e30"))
        self.assertIn("--lr", done.stderr)

    def test_a_sample_that_is_not_finite_is_named(self):
        folder = self.path("unclean")
        os.makedirs(folder)
        values = [0.0] * (16 * 784)
        values[5 * 784 + 3] = float("nan")
        pathlib.Path(folder, "x_train.npy").write_bytes(npy("<f4", (16, 1, 28, 28), struct.pack(f"<{len(values)}f", *values)))
        pathlib.Path(folder, "y_train.npy").write_bytes(npy("<i8", (16,), struct.pack("<16q", *range(0, 10), *range(0, 6))))
        words = list(self.train())
        words[3] = folder
        done = self.refuse(3, "E0701", *words)
        self.assertIn("is not finite: the input of sample 5 is NaN", done.stderr)
        self.assertIn("x_train.npy", done.stderr)
        self.assertIn("clean the data", done.stderr)

    def test_an_open_batch_that_nobody_gave_is_told(self):
        for verb, words in (("plan", ()), ("train", ("--data", self.path("data"), "-o", self.path("one.safetensors")))):
            done = self.succeed(verb, MODEL, "--ram", "4MiB", "--effort", 1, "--measure", "off", *words)
            self.assertIn("no --batch was given: a step has 1 sample", done.stderr)
            self.assertNotIn("no --batch", self.succeed(verb, MODEL, "--batch", 4, "--ram", "4MiB", "--effort", 1, *words).stderr)

    def test_storage(self):
        words = list(self.train("--no-remat", "--kernels", "portable", "--page-file", self.path("no", "such", "folder")))
        words[words.index("4MiB")] = "1200KiB"
        self.refuse(9, "E0902", *words)

    def test_a_full_disk_loses_nothing(self):
        out = self.path("plan-kept.json")
        self.succeed("plan", MODEL, "--batch", 4, "--ram", "4MiB", "--effort", 1, "-o", out)
        before = pathlib.Path(out).read_bytes()

        def tiny():
            import signal
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        self.refuse(9, "E0901", "plan", MODEL, "--batch", 4, "--ram", "3MiB", "--effort", 1, "-o", out, preexec_fn=tiny)
        self.assertEqual(pathlib.Path(out).read_bytes(), before)
        self.assertEqual([name for name in os.listdir(self.folder) if ".part" in name], [])
        shutil.rmtree(self.path("gone"), ignore_errors=True)
        self.refuse(9, "E0901", "plan", MODEL, "--batch", 4, "--ram", "4MiB", "--effort", 1, "-o", self.path("gone", "plan.json"))

    def test_a_byte_of_0_is_no_part_of_json(self):
        graph = m4_costgraph(self.folder)[0]
        self.succeed("plan", "--costgraph", graph, "--ram", "1GiB", "--effort", 1, "-o", self.path("plan.json"))
        self.refuse(5, "E0301", "plan", "--costgraph", graph, "--ram", "1KiB", "--effort", 1, "--write-refusal", self.path("refusal.json"))
        for name, code, words in (("plan.json", "E0230", ["verify"]), ("refusal.json", "E0232", ["verify"]), (graph, "E0220", ["plan", "--ram", "1GiB", "--effort", "1", "--costgraph"])):
            whole = pathlib.Path(self.path(name)).read_bytes()
            for contents in (whole + b"\0", whole + b"\0{}", whole + b"\n\0\n", b"\0" + whole, whole[:1] + b"\0" + whole[1:]):
                with self.subTest(name, contents=contents[-4:]):
                    done = self.run_cli(*words, self.file("with_zero.json", contents))
                    self.assertEqual(done.returncode, 3, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
