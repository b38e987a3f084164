"""The stack of a project is computed from its program's calls: QEMU never measures more, and not less than half of it."""
import os
import re
import unittest

from projects import Projects
from house import make_data, onnx_model, onnx_node, onnx_tensor


class Stack(Projects):
    def emit_computed(self, plan, name, *words, data="data"):
        folder = self.path(name)
        done = self.succeed("emit", plan, "--data", self.path(data), "--samples", 8, "--test-samples", 4, "--steps", 3, *words, "-o", folder)
        self.assertRegex(done.stdout, r"stack [\d.]+ (B|KiB) \(computed\)")
        self.assertNotIn("warning", done.stderr)
        return folder

    def compare(self, folder):
        used, reserved = (int(word) for word in self.run_equal(folder)["stack"].split(" of "))
        with open(os.path.join(folder, "Makefile"), encoding="utf-8") as file:
            self.assertEqual(int(re.search(r"^STACK_SIZE := (\d+)$", file.read(), re.MULTILINE).group(1)), reserved)
        self.assertLessEqual(used, reserved)
        self.assertLessEqual(reserved, 2 * used, f"measured {used}")

    def test_it_holds_what_is_measured(self):
        cases = {"adam": (("--ram", "48KiB", "--optimizer", "adam", "--params-in", "aux"), ()), "momentum": (("--ram", "56KiB", "--optimizer", "sgd,momentum=0.9"), ("--schedule", "cosine")),
                 "checked": (("--ram", "48KiB", "--optimizer", "adam", "--params-in", "aux"), ("--check-blocks",)),
                 "features": (("--ram", "56KiB", "--freeze", "[wb]*", "--feature-cache", "64KiB"), ())}
        targets = ("cortex-m3", "cortex-m4f", "cortex-m7", "cortex-m55")
        for at, (name, (planned, emitted)) in enumerate(cases.items()):
            plan = self.plan(f"stack-{name}", "--batch", 4, "--reserve", "8KiB", *planned)
            with self.subTest(name=name, target=targets[at]):
                self.compare(self.emit_computed(plan, f"stack-{name}", "--target", targets[at], *emitted))

    def test_the_smallest_processor(self):
        path, plan = self.path("small.onnx"), self.path("small.plan.json")
        with open(path, "wb") as file:
            file.write(onnx_model([onnx_node("Flatten", ["x"], ["f"]), onnx_node("MatMul", ["f", "w"], ["h"]), onnx_node("Tanh", ["h"], ["t"]), onnx_node("MatMul", ["t", "v"], ["y"])],
                                  ("N", 1, 28, 28), [onnx_tensor("w", (784, 2), [0.01] * 1568), onnx_tensor("v", (2, 10), [0.1] * 20)]))
        make_data(self.path("data"), 40, 16)
        self.succeed("plan", path, "--device", "m0", "--effort", 2, "--batch", 1, "--ram", "16KiB", "--reserve", "4KiB", "-o", plan)
        self.compare(self.emit_computed(plan, "small", "--target", "cortex-m0"))

    def test_a_main_of_ones_own_is_among_the_calls(self):
        plan = self.plan("own", "--batch", 4, "--reserve", "8KiB", "--ram", "48KiB", "--optimizer", "adam", "--params-in", "aux")
        sizes = []
        for _ in range(2):
            folder = self.emit_computed(plan, "own", "--target", "cortex-m3")
            with open(os.path.join(folder, "Makefile"), encoding="utf-8") as file:
                sizes.append(int(re.search(r"STACK_SIZE := (\d+)", file.read()).group(1)))
            path = os.path.join(folder, "main.c")
            with open(path, encoding="utf-8") as file:
                text = file.read()
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace("  pt_status status = PT_OK;\n  if (PT_MODEL", "  volatile char more[1000] = {0};\n  pt_status status = (pt_status)more[9];\n  if (PT_MODEL"))
        self.assertGreater(sizes[1], sizes[0] + 500)  # the compiler inlines fewer functions into a main with a larger frame
        self.assertLess(sizes[1], sizes[0] + 1100)
        self.assertEqual([name for name in os.listdir(self.path("own")) if name in ("build", "firmware.elf")], [])


if __name__ == "__main__":
    unittest.main()
