"""Storage of emitted projects: state on a card, power lost, wear, blocks and plans that are damaged, cards that fail or are too small."""
import math
import os
import random
import re
import shutil
import subprocess
import time
import unittest

from projects import E_FULL, E_IO, E_KERNEL, E_NUMBER, E_PLAN, E_VERSION, Projects
from house import onnx_model, onnx_node, onnx_tensor, some


def deep_network(path, layers=24, width=32):
    """Many small layers: more state than a small card holds, little in RAM."""
    draw = random.Random(3)

    def weight(name, *dims):
        return onnx_tensor(name, dims, [draw.gauss(0, 0.3) for _ in range(math.prod(dims))])
    made = [weight("w0", width, 1, 7, 7), *[weight(f"d{layer}", width, width) for layer in range(layers)], weight("fc", width, 10)]
    nodes = [onnx_node("Conv", ["x", "w0"], ["c0"], strides=[7, 7], pads=[0, 0, 0, 0]), onnx_node("GlobalAveragePool", ["c0"], ["mean"]),
             onnx_node("Flatten", ["mean"], ["f0"])]
    for layer in range(layers):
        nodes += [onnx_node("MatMul", [f"f{layer}", f"d{layer}"], [f"p{layer}"]), onnx_node("Tanh", [f"p{layer}"], [f"f{layer + 1}"])]
    nodes.append(onnx_node("MatMul", [f"f{layers}", "fc"], ["y"]))
    with open(path, "wb") as file:
        file.write(onnx_model(nodes, ("N", 1, 28, 28), made))


class Storage(Projects):
    def test_state_in_storage_on_an_sd_card(self):
        plan = self.plan("paged", "--batch", 4, "--ram", "48KiB", "--reserve", "8KiB", "--optimizer", "adam", "--params-in", "aux")
        folder, sizes = self.emit(plan, "paged", ("cortex-m3",))
        self.assertGreater(sizes["storage_blocks"], 0)
        told = self.run_equal(folder)
        self.assertGreater(int(told["paged"].split()[1]), 0)
        used, reserved = (int(word) for word in told["stack"].split(" of "))
        self.assertLess(used, reserved)

    def test_power_lost_at_any_moment(self):
        plan = self.plan("crash", "--batch", 4, "--ram", "48KiB", "--reserve", "8KiB", "--optimizer", "adam", "--params-in", "aux")
        folder, _ = self.emit(plan, "crash", ("cortex-m3",), steps=60)
        begun = time.monotonic()
        whole = self.run_equal(folder)
        seconds = time.monotonic() - begun
        os.remove(os.path.join(folder, "storage.img"))
        resumed, draw = 0, random.Random(1)
        for _ in range(6):
            with subprocess.Popen(["make", "-s", "-C", folder, "run"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True) as run:
                time.sleep(draw.uniform(0.1, 0.6) * seconds)
                os.killpg(run.pid, 9)
                resumed += "resumed" in run.stdout.read()
        told = self.run_equal(folder)
        self.assertGreater(resumed, 0)
        self.assertEqual(told["state"], whole["state"])

    def test_state_in_ram_goes_on_from_the_last_commit(self):
        plan = self.plan("commit", "--batch", 4, "--ram", "49KiB", "--reserve", "8KiB", "--no-remat")
        folder, sizes = self.emit(plan, "commit", ("posix",), steps=40)
        self.assertGreater(sizes["storage_blocks"], 0)
        whole = self.run_equal(folder)
        os.remove(os.path.join(folder, "storage.img"))
        self.assertEqual(self.make_run(folder, "STEPS=25").returncode, 0)
        self.assertIn("resumed 25", self.make_run(folder).stdout)
        self.assertEqual(self.run_equal(folder)["state"], whole["state"])

    def test_the_wear_of_storage_is_told_exactly(self):
        cases = {"adam": ("--ram", "48KiB", "--optimizer", "adam", "--params-in", "aux"), "ram": ("--ram", "49KiB", "--no-remat")}
        for name, words in cases.items():
            plan = self.plan(f"wear-{name}", "--batch", 4, "--reserve", "8KiB", *words)
            for checked in (), ("--check-blocks",):
                folder, sizes = self.emit(plan, f"wear-{name}-{len(checked)}", ("posix",), "--endurance", "1GB", *checked, steps=20)
                paged, commit, every = (sizes[key] for key in ("step_written_bytes", "commit_bytes", "commit_every"))
                self.assertEqual(every, 1 if name == "adam" else 10)
                first = self.run_equal(folder)  # with a test, which pages out, too
                self.assertEqual((first["worn"], first["steps_run"]), (20 * paged + 20 // every * commit, 20))
                self.assertGreater(int(first["written"]), first["worn"])
                more = self.run_equal(folder, "--steps", 50)
                self.assertEqual((more["worn"], more["steps_run"]), (30 * paged + 30 // every * commit, 30))
                self.assertEqual(more["bytes_a_step"], paged + commit / every)
                self.assertEqual(int(more["life_in_steps"]), int(1e9 / (paged + commit / every)))
                with open(os.path.join(folder, "README.md")) as file:
                    text = file.read()
                for row in (f"| written to storage by each step | {paged} |", f"| {commit} |",
                            f"1000000000 bytes, is written | {int(more['life_in_steps'])} |"):
                    self.assertIn(row, text)

    def test_a_storage_of_another_model_is_left_alone(self):
        plan = self.plan("one", "--batch", 4, "--ram", "48KiB", "--reserve", "8KiB", "--params-in", "aux")
        one, _ = self.emit(plan, "one", ("posix",), steps=3)
        other, _ = self.emit(self.plan("other", "--batch", 2, "--ram", "48KiB", "--reserve", "8KiB", "--params-in", "aux"), "other", ("posix",), steps=3)
        self.run_equal(one)
        with open(os.path.join(one, "storage.img"), "rb") as file:
            before = file.read()
        shutil.copy(os.path.join(one, "storage.img"), other)
        done = self.make_run(other)
        self.assertIn(f"open: status {E_VERSION}", done.stdout)
        with open(os.path.join(other, "storage.img"), "rb") as file:
            self.assertEqual(file.read(), before)
        self.refuse(3, "E0295", "run-firmware", other)

    def test_a_card_that_fails_in_a_step_ends_in_a_status_and_loses_nothing(self):
        plan = self.plan("fails", "--batch", 4, "--ram", "48KiB", "--reserve", "8KiB", "--params-in", "aux")
        folder, _ = self.emit(plan, "fails", ("posix",), steps=10)
        done = self.make_run(folder, "MORE=-DBOARD_FAIL_AFTER_WRITES=150")
        self.assertIn(f"train: status {E_IO}", done.stdout + done.stderr)
        self.assertIn("resumed", self.make_run(folder).stdout)
        self.run_equal(folder)

    def run_on(self, folder, image):
        """Of a project for this machine, built already, on another storage."""
        done = subprocess.run([os.path.join(folder, "firmware")], env={**os.environ, "PT_STORAGE": image}, capture_output=True, text=True, timeout=60)
        return done.returncode, [line for line in done.stdout.splitlines() if line.split(" ")[0] in ("step", "test", "state")], done.stdout

    def flip_each_block(self, folder, steps):
        """What a run told that goes on from `steps` with a flipped bit, for every block and for none; and those images."""
        image, draw, told = os.path.join(folder, "storage.img"), random.Random(2), []
        self.assertEqual(self.make_run(folder, f"STEPS={steps}", "MORE=-DTELL_EVERY=1").returncode, 0)
        subprocess.run(["make", "-s", "-C", folder, "MORE=-DTELL_EVERY=1"], check=True, timeout=120)
        with open(image, "rb") as file:
            whole = file.read()
        for block in (-1, *some(range(len(whole) // 512), 100)):
            bytes_of = bytearray(whole)
            if block >= 0:
                bytes_of[512 * block + draw.randrange(512)] ^= 1 << draw.randrange(8)
            path = os.path.join(folder, f"flipped-{block}.img")
            with open(path, "wb") as file:
                file.write(bytes_of)
            told.append((path, *self.run_on(folder, path)))
        return told

    def test_a_block_that_is_not_what_was_written_ends_in_a_status(self):
        cases = {"adam": ("--ram", "48KiB", "--optimizer", "adam", "--params-in", "aux"), "ram": ("--ram", "49KiB", "--no-remat")}
        for name, words in some(cases.items(), 1):
            plan = self.plan(f"flip-{name}", "--batch", 4, "--reserve", "8KiB", *words)
            wrong, found = {}, []
            for checked in (), ("--check-blocks",):
                folder, sizes = self.emit(plan, f"flip-{name}-{len(checked)}", ("posix",), *checked, steps=9)
                self.assertEqual(sizes["checksum_bytes"] > 0, bool(checked))
                (_, code, good, _), *runs = self.flip_each_block(folder, 6)
                self.assertEqual((code, good[-1].split(" ")[0]), (0, "state"))
                wrong[checked] = [path for path, code, lines, _ in runs if code == 0 and lines[-len(good):] != good]  # an older commit may be found
                for path, code, lines, text in runs:
                    if code != 0:
                        self.assertEqual(code, E_IO, text)
                        self.assertIn(f": status {E_IO}\n", text)
                        self.assertEqual(lines, good[:len(lines)], "what was told before it is right")
                        found.append(path)
            self.assertNotEqual(wrong[()], [], "flipped bits do harm")
            self.assertEqual(wrong[("--check-blocks",)], [])
            self.assertNotEqual(found, [])
            self.assertEqual({os.path.dirname(path) for path in found}, {folder}, "only where blocks are checked")
            self.run_equal(self.emit(plan, f"flip-{name}-here", ("cortex-m3",), "--check-blocks", steps=9)[0])
            shutil.copy(found[-1], os.path.join(self.path(f"flip-{name}-here"), "storage.img"))
            self.assertIn(f": status {E_IO}\n", self.make_run(self.path(f"flip-{name}-here")).stdout)
            bare = self.path(f"flip-{name}-0")
            self.assertIn(f"open: status {E_VERSION}", self.run_on(bare, found[-1])[2])

    def test_a_damaged_block_is_a_status_where_no_step_is_left(self):
        plan = self.plan("flip-last", "--batch", 4, "--reserve", "8KiB", "--ram", "48KiB", "--optimizer", "adam", "--params-in", "aux")
        folder, _ = self.emit(plan, "flip-last", ("posix",), "--check-blocks", steps=9)
        (_, code, good, _), *runs = self.flip_each_block(folder, 9)
        self.assertEqual((code, good[-1].split(" ")[0]), (0, "state"))
        self.assertEqual({code for _, code, lines, _ in runs if lines[-len(good):] != good}, {E_IO})

    def test_what_is_not_finite_is_not_stored(self):
        cases = {"paged": ("--ram", "48KiB", "--optimizer", "adam", "--params-in", "aux"), "ram": ("--ram", "49KiB", "--no-remat")}
        for name, words in cases.items():
            plan = self.plan(f"diverges-{name}", "--batch", 4, "--reserve", "8KiB", *words, lr=1e30)
            folder, _ = self.emit(plan, f"diverges-{name}", ("posix",), steps=40)
            image = os.path.join(folder, "storage.img")
            for _ in range(2):  # a later run goes on from what was finite, and ends there again
                done = self.make_run(folder, "MORE=-DTELL_EVERY=1")
                self.assertIn(f"train: status {E_NUMBER}\n", done.stdout, done.stderr)
                self.assertNotEqual(done.returncode, 0)
                self.assertNotRegex(done.stdout.replace(done.stdout.splitlines()[-2], ""), "nan|inf", "the last loss alone is not finite")
            with open(image, "rb") as file:
                self.assertGreater(len(file.read()), 0)
            self.assertTrue("resumed 1" in done.stdout or name == "ram", done.stdout)

    def edit(self, folder, name, pattern, new):
        path = os.path.join(folder, "model", name)
        with open(path) as file:
            text = file.read()
        self.assertRegex(text, pattern)
        with open(path, "w") as file:
            file.write(re.sub(pattern, new, text, count=1))

    def refuse_to_train(self, folder, status):
        done = self.make_run(folder)
        self.assertEqual(done.stdout, f"open: status {status}\n", done.stderr)
        self.assertNotEqual(done.returncode, 0)

    def test_a_damaged_plan_or_a_missing_kernel_ends_at_the_opening(self):
        plan = self.plan("damaged", "--batch", 4, "--ram", "48KiB", "--reserve", "8KiB", "--params-in", "aux")
        damages = {"cut": ("model.c", r"plan, sizeof plan,", "plan, sizeof plan - 9,", E_PLAN), "byte": ("model.c", r"(plan\[\d+\].*\n.*\n.*\n)(\d+),", r"\g<1>\g<2> ^ 4,", E_PLAN),
                   "version": ("model.c", r"(plan\[\d+\].*\n(?:\d+,){4})(\d+),", r"\g<1>\g<2> + 1,", E_VERSION), "kernel": ("kernels.c", r"\{PT_OP_tanh_grad,", "{PT_OP_neg,", E_KERNEL)}
        for target in ("posix",), ("cortex-m3",):
            for name, (file, pattern, new, status) in some(damages.items(), 4 if target == ("posix",) else 2):
                with self.subTest(target=target, name=name):
                    folder, _ = self.emit(plan, f"damaged-{target[0]}", target)
                    self.edit(folder, file, pattern, new)
                    self.refuse_to_train(folder, status)
                    with open(os.path.join(folder, "storage.img"), "rb") as image:
                        self.assertEqual(image.read().strip(b"\0"), b"", "nothing was written")

    def test_a_card_that_is_too_small_is_told(self):
        deep_network(self.path("deep.onnx"))
        plan = self.path("deep.plan.json")
        self.succeed("plan", self.path("deep.onnx"), "--device", "m4", "--effort", 2, "--batch", 4, "--ram", "48KiB", "--reserve", "8KiB", "--optimizer", "adam",
                     "--params-in", "aux", "-o", plan)
        for target, bytes_of in (("posix",), 100), (("posix",), 512 * 600), (("cortex-m3",), 512 * 512):
            folder, sizes = self.emit(plan, f"small-{target[0]}-{bytes_of}", target, "--samples", 8, steps=2)
            self.assertGreater(512 * sizes["storage_blocks"], bytes_of)
            with open(os.path.join(folder, "storage.img"), "wb") as file:
                file.truncate(bytes_of)
            self.refuse_to_train(folder, E_FULL)
            with open(os.path.join(folder, "storage.img"), "rb") as file:
                self.assertEqual(file.read(), bytes(bytes_of))
            os.remove(os.path.join(folder, "storage.img"))
            self.run_equal(folder)


if __name__ == "__main__":
    unittest.main()
