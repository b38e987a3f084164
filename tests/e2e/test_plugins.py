"""Plug-ins (pantoum/plugin.h): the example's layers against their formulas in double precision, in less RAM, and what is refused."""
import math
import os
import random
import shutil
import struct
import subprocess
import unittest

from house import ROOT, House

EXAMPLE = os.path.join(ROOT, "examples", "plugins")
NET = os.path.join(EXAMPLE, "layer_client.ini")
INPUTS, CLASSES, BATCH, SAMPLES, RATE, EPOCHS = 100, 10, 10, 30, .1, 2
COMPILER = shutil.which("cc") or shutil.which("gcc")

HEAD = "#include <pantoum/plugin.h>\n"
SHAPE = """static const char* shape(void* user, const pt_plugin_call* call, pt_plugin_tensor* outputs, uint32_t* count) {
  (void)user;
  outputs[0] = call->inputs[0];
  *count = 1;
  return NULL;
}
static const char* run(void* user, const pt_plugin_call* call) {
  (void)user, (void)call;
  return "it fails as it is told to";
}
"""
OPERATOR = "  pt_plugin_operator op = {.size = sizeof op, .name = \"my.own::Op\", .version = 1, .shape = shape, .forward = run};\n"


def entry(body):
    return f"{HEAD}{SHAPE}PT_PLUGIN_DECLARE_ABI;\nint pantoum_plugin_open(const pt_plugin_host* host) {{\n{OPERATOR}{body}\n}}\n"


@unittest.skipIf(COMPILER is None, "no C compiler on this machine")
class Plugins(House):
    def build(self, name, source):
        """The shared object of a C file, or of source text."""
        library, path = self.path(name + ".so"), source
        if "\n" in source:
            path = self.put_text(name + ".c", source)
        subprocess.run([COMPILER, "-O2", "-shared", "-fPIC", "-I", os.path.join(ROOT, "include"), path, "-o", library], check=True, capture_output=True)
        return library

    def put_text(self, name, text):
        with open(self.path(name), "w", encoding="ascii") as file:
            file.write(text)
        return self.path(name)

    def samples(self, name, labels=True):
        draw = random.Random(7)
        made = []
        with open(self.path(name), "wb") as file:
            for _ in range(SAMPLES):
                kind = draw.randrange(CLASSES)
                x = [struct.unpack("<f", struct.pack("<f", draw.gauss(0, .4) + (at % CLASSES == kind)))[0] for at in range(INPUTS)]
                y = [float(at == kind) for at in range(CLASSES)]
                made.append((x, y))
                file.write(struct.pack(f"<{INPUTS}f", *x) + (struct.pack(f"<{CLASSES}f", *y) if labels else b""))
        return self.path(name), made

    def trained_in_double(self, made, weight, bias):
        """Weights and biases after the steps: y = softmax(x^3 W + b), the mean of |y - label|, plain SGD."""
        for _ in range(EPOCHS):
            for at in range(0, SAMPLES, BATCH):
                d_weight, d_bias = [[0.] * CLASSES for _ in range(INPUTS)], [0.] * CLASSES
                for x, label in made[at:at + BATCH]:
                    cubes = [v ** 3 for v in x]
                    scores = [bias[c] + sum(cubes[i] * weight[i][c] for i in range(INPUTS)) for c in range(CLASSES)]
                    most = max(scores)
                    exps = [math.exp(s - most) for s in scores]
                    y = [e / sum(exps) for e in exps]
                    g = [math.copysign(1, y[c] - label[c]) / (BATCH * CLASSES) for c in range(CLASSES)]
                    along = sum(a * b for a, b in zip(g, y))
                    for c in range(CLASSES):
                        d = y[c] * (g[c] - along)
                        d_bias[c] += d
                        for i in range(INPUTS):
                            d_weight[i][c] += cubes[i] * d
                for c in range(CLASSES):
                    bias[c] -= RATE * d_bias[c]
                    for i in range(INPUTS):
                        weight[i][c] -= RATE * d_weight[i][c]
        return weight, bias

    def test_the_layers_of_the_example_train_as_their_formulas_say(self):
        plugin = self.build("layer_client", os.path.join(EXAMPLE, "layer_client.c"))
        data, made = self.samples("train.dat")
        draw = random.Random(3)
        first = [struct.unpack("<f", struct.pack("<f", draw.gauss(0, .1)))[0] for _ in range(INPUTS * CLASSES + CLASSES)]
        with open(self.path("first.bin"), "wb") as file:
            file.write(struct.pack(f"<{len(first)}f", *first))
        words = ("--plugin", plugin, "--data", data, "--weights", self.path("first.bin"), "--shuffle", "off", "--effort", "1")
        self.succeed("train", NET, *words, "-o", self.path("net.bin"))
        with open(self.path("net.bin"), "rb") as file:
            trained = file.read()
        values = struct.unpack(f"<{len(first)}f", trained[:4 * len(first)])
        weight = [first[i * CLASSES:(i + 1) * CLASSES] for i in range(INPUTS)]
        weight, bias = self.trained_in_double(made, weight, first[INPUTS * CLASSES:])
        expected = [v for row in weight for v in row] + bias
        largest = max(map(abs, expected))
        self.assertLess(max(abs(a - b) for a, b in zip(values, expected)), 1e-5 * largest)
        self.assertGreater(max(abs(a - b) for a, b in zip(first, expected)), 1e-3 * largest, "it trained")
        self.succeed("train", NET, *words, "--kernels", "portable", "--ram", "14KiB", "-o", self.path("less.bin"))
        self.succeed("train", NET, *words, "--kernels", "portable", "-o", self.path("more.bin"))
        with open(self.path("less.bin"), "rb") as one, open(self.path("more.bin"), "rb") as other:
            self.assertEqual(one.read(), other.read(), "the same bits in the least RAM")
        with_plugin = ("--plugin", plugin, "--weights", self.path("net.bin"))
        self.assertIn("test loss", self.succeed("eval", NET, *with_plugin, "--data", data).stdout)
        inputs, _ = self.samples("inputs.dat", labels=False)
        self.succeed("predict", NET, *with_plugin, "--data", inputs, "-o", self.path("y.csv"))
        with open(self.path("y.csv"), encoding="ascii") as file:
            self.assertEqual(len(file.readlines()), SAMPLES + 1)
        plan = self.path("net.bin.plan.json")
        self.succeed("verify", plan, "--plugin", plugin)
        told = self.refuse(3, "E0214", "predict", plan, "--weights", self.path("net.bin"), "--data", inputs, "-o", self.path("z.csv")).stderr
        self.assertIn("layers of type 'custom_pow', 'mae_loss' are not read", told)
        self.assertIn("--plugin FILE.so", told)

    def test_keys_of_a_layer_are_checked(self):
        plugin = self.build("layer_client", os.path.join(EXAMPLE, "layer_client.c"))
        with open(NET, encoding="ascii") as file:
            text = file.read()
        for line, code, said in (("exponent = 65", "E0214", "above 64"), ("exponent = cube", "E0214", "no whole number"), ("exponent = 0", "E0214", "no whole number from 1"),
                                 ("exponnent = 3", "E0214", "did you mean exponent?")):
            net = self.put_text("wrong.ini", text.replace("exponent = 3", line))
            told = self.refuse(3, code, "inspect", net, "--plugin", plugin).stderr
            self.assertIn(said, told)
            self.assertIn("wrong.ini:17", told)

    def test_what_is_no_plugin_is_refused(self):
        empty = self.put_text("empty.so", "no library\n")
        cases = [(self.path("none.so"), "there is no such file"), (empty, "the plug-in cannot be used"), (self.build("bare", "int some_function(void) { return 1; }\n\n"), "without pantoum_plugin_open"),
                 (self.build("old", HEAD + "const unsigned pantoum_plugin_abi = 99;\nint pantoum_plugin_open(const pt_plugin_host* host) { (void)host; return 0; }\n"), "version 99 of the interface"),
                 (self.build("numberless", HEAD + "int pantoum_plugin_open(const pt_plugin_host* host) { (void)host; return 0; }\n"), "without pantoum_plugin_abi")]
        entries = {
            "fails": ('  (void)op;\n  host->refuse(host, "the moon is not full");\n  return 7;', "the moon is not full"),
            "silent": ("  (void)op, (void)host;\n  return 7;", "7"),
            "twice": ("  host->add_operator(host, &op);\n  return host->add_operator(host, &op);", "my.own::Op"),
            "null": ("  (void)op;\n  return host->add_operator(host, NULL);", "null pointer"),
            "ignored": ("  host->add_operator(host, NULL);\n  (void)op;\n  return 0;", "null pointer"),
            "short": ("  op.size = 8;\n  return host->add_operator(host, &op);", "8"),
            "nameless": ("  op.name = NULL;\n  return host->add_operator(host, &op);", "name"),
            "badname": ('  op.name = "no colons";\n  return host->add_operator(host, &op);', "a name is a domain and a type"),
            "rule": ("  op.shape = NULL;\n  return host->add_operator(host, &op);", "my.own::Op"),
            "gradients": ("  op.gradient_count = 4000000000u;\n  return host->add_operator(host, &op);", "gradients"),
            "settings": ("  op.int_count = 4000000000u;\n  return host->add_operator(host, &op);", "settings"),
            "known": ('  pt_plugin_layer layer = {.size = sizeof layer, .type = "conv2d", .operator_name = "my.own::Op"};\n'
                      "  host->add_operator(host, &op);\n  return host->add_layer(host, &layer);", "'conv2d' exists already"),
            "stranger": ('  pt_plugin_layer layer = {.size = sizeof layer, .type = "mine", .operator_name = "my.own::Other"};\n'
                         "  (void)op;\n  return host->add_layer(host, &layer);", "names no operator that was added before"),
            "key": ('  static const pt_plugin_key key = {.name = "size"};\n'
                    '  pt_plugin_layer layer = {.size = sizeof layer, .type = "mine", .operator_name = "my.own::Op", .keys = &key, .key_count = 1};\n'
                    "  host->add_operator(host, &op);\n  return host->add_layer(host, &layer);", "is no setting of that kind"),
        }
        cases += [(self.build(name, entry(body)), said) for name, (body, said) in entries.items()]
        for library, said in cases:
            with self.subTest(os.path.basename(library)):
                told = self.refuse(2, "E0106", "inspect", NET, "--plugin", library).stderr
                self.assertIn(said, told)
                self.assertIn(library, told)

    def test_a_kernel_that_fails_ends_the_step(self):
        layer = '  pt_plugin_layer layer = {.size = sizeof layer, .type = "custom_pow", .operator_name = "my.own::Op"};\n'
        loss = ('  static const pt_plugin_setting exponent = {.name = "exponent", .otherwise = 1};\n  static const pt_plugin_key key = {.name = "exponent", .kind = PT_PLUGIN_WHOLE};\n'
                "  op.ints = &exponent, op.int_count = 1;\n  layer.keys = &key, layer.key_count = 1;\n")
        library = self.build("failing", entry(layer + loss + "  return host->add_operator(host, &op) != 0 || host->add_layer(host, &layer) != 0;"))
        with open(NET, encoding="ascii") as file:
            net = self.put_text("failing.ini", file.read().replace("mae_loss", "mse"))
        data, _ = self.samples("train.dat")
        done = self.run_cli("train", net, "--plugin", library, "--data", data, "--effort", "1", "-o", self.path("none.bin"))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("it fails as it is told to", done.stderr)
        self.assertFalse(os.path.exists(self.path("none.bin")))


if __name__ == "__main__":
    unittest.main()
