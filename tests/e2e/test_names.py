"""Names are data: whatever a model's or a data folder's names hold, no output reads them as its own, and each gives them back unchanged.

`test_names.py --names 1000` tries as many names; `make test` some."""
import html.parser
import json
import math
import os
import random
import shutil
import struct
import subprocess
import sys

import hostile_names
from hostile_names import one_line
from house import PANTOUM, House, field, npy, onnx_model, onnx_node, onnx_tensor, tensors

NAMES = 60
PER_MODEL = 20
WIDTH = 4
TAGS = {"html", "head", "meta", "title", "style", "script", "body", "a", "div", "p", "nav", "ul", "li", "wbr", "button", "main", "header", "footer", "section", "span", "b", "small",
        "h1", "h2", "h3", "dl", "dt", "dd", "figure", "figcaption", "details", "summary", "pre", "code", "table", "caption", "thead", "tbody", "tr", "th", "td",
        "svg", "g", "rect", "line", "path", "polygon", "polyline", "circle", "text"}
SCRIPTS = 3  # of the page's own: the scheme, the data, the charts


def node(op, inputs, output, name):
    return b"".join([*(field(1, each.encode()) for each in inputs), field(2, output.encode()), field(3, name.encode()), field(4, op.encode())])


def value_info(name, dims):
    shape = b"".join(field(1, field(2, d.encode()) if isinstance(d, str) else field(1, d)) for d in dims)
    return field(1, name.encode()) + field(2, field(1, field(1, 1) + field(2, shape)))


class Model:
    """A chain of linear layers whose every name is given. Some of the names are of nodes alone, where an empty one is allowed, too."""
    def __init__(self, path, given, seed):
        draw, rest = random.Random(seed), list(given)
        self.graph, self.producer, self.batch, self.input = (rest.pop() for _ in range(4))
        self.weights, self.nodes, value, nodes, made = [], [], self.input, [], []
        while len(rest) >= 5:
            weight, bias, product, output, name = (rest.pop() for _ in range(5))
            made += [onnx_tensor(weight, (WIDTH, WIDTH), [draw.gauss(0, 0.3) for _ in range(WIDTH * WIDTH)]), onnx_tensor(bias, (WIDTH,), [0.1] * WIDTH)]
            nodes += [node("MatMul", [value, weight], product, name), node("Add", [product, bias], output, draw.choice(["", name + "'"]))]
            self.weights += [weight, bias]
            self.nodes.append(name)
            value = output
        graph = b"".join(field(1, each) for each in nodes) + field(2, self.graph.encode()) + b"".join(field(5, each) for each in made)
        graph += field(11, value_info(self.input, (self.batch, WIDTH))) + field(12, value_info(value, (self.batch, WIDTH)))
        with open(path, "wb") as file:
            file.write(field(1, 8) + field(2, self.producer.encode()) + field(7, graph) + field(8, field(1, b"") + field(2, 17)))


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.cells, self.text, self.scripts = set(), set(), [], "", 0
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag == "wbr":  # the text goes on
            return
        self.scripts += tag == "script"
        self.attributes |= {name for name, _ in attrs}
        self.text = ""

    def handle_data(self, data):
        self.text += data

    def handle_endtag(self, tag):
        self.cells.append(self.text)
        self.text = ""

    def handle_comment(self, data):
        self.tags.add("comment")

    def handle_pi(self, data):
        self.tags.add("instruction")


class Names(House):
    def say(self, *words, exits=(0,)):
        """Runs a verb; what it prints is text that steers no terminal."""
        done = subprocess.run([PANTOUM, *map(str, words)], capture_output=True, timeout=300, cwd=self.folder)
        self.assertIn(done.returncode, exits, f"{words}\n{done.stdout}\n{done.stderr}")
        for stream in (done.stdout, done.stderr):
            unseen = [hex(ord(letter)) for letter in stream.decode("utf-8") if hostile_names.is_unseen(letter) and letter != "\n"]
            self.assertFalse(unseen, f"{words} prints {unseen}")
        return done.stdout.decode()

    def models(self):
        count, seed = math.ceil(NAMES / PER_MODEL), 1
        given = [each for each in hostile_names.names(count * PER_MODEL + 1, seed) if each != "loss"]  # of training's own result
        for at in range(count):
            part = given[at * PER_MODEL:(at + 1) * PER_MODEL]
            if part[-4].startswith("label"):  # no input is called as training calls its targets
                part[-4], part[-1] = part[-1], part[-4]
            yield at, part

    def setUp(self):
        os.makedirs(self.path("data"), exist_ok=True)
        draw = random.Random(5)
        with open(self.path("data", "x_train.npy"), "wb") as file:
            file.write(npy("<f4", (8, WIDTH), struct.pack(f"<{8 * WIDTH}f", *(draw.random() for _ in range(8 * WIDTH)))))
        with open(self.path("data", "y_train.npy"), "wb") as file:
            file.write(npy("<i8", (8,), struct.pack("<8q", *(draw.randrange(WIDTH) for _ in range(8)))))

    def files(self):
        return {os.path.join(folder, name) for folder, _, names in os.walk(self.folder) for name in names}

    def inspect(self, path, model):
        told = json.loads(self.say("inspect", path, "--nodes", "--format", "json"))
        self.assertEqual(told["graph"], model.graph)
        self.assertEqual(told["producer"], model.producer)
        self.assertEqual(told["batch_name"], model.batch)
        self.assertLessEqual(set(model.weights), {each["name"] for each in told["tensors"]})
        self.assertLessEqual(set(model.nodes), {each["name"] for each in told["nodes"]})
        self.assertEqual(told["inputs"], [f"{model.input} f32[{model.batch},{WIDTH}]"])
        text = self.say("inspect", path, "--nodes")
        for name in model.weights + model.nodes:
            self.assertIn("  " + one_line(name), text)

    def plan_and_tell(self, path, model):
        plan = self.path("plan.json")
        self.say("plan", path, "--batch", 4, "--ram", "1MiB", "--device", "m4", "--effort", 1, "-o", plan)
        with open(plan, encoding="ascii") as file:
            graph = json.load(file)["graph"]
        self.assertEqual(graph["name"], model.graph)
        self.assertLessEqual({model.input, *model.weights}, {each["name"] for each in graph["tensors"]})
        self.say("verify", plan)
        self.say("explain", plan)
        self.assertEqual(json.loads(self.say("explain", plan, "--format", "json"))["name"], model.graph)
        self.say("plan", path, "--batch", 4, "--ram", "1MiB", "--dump-after", "import", "--effort", 1)
        return plan

    def report(self, plan, model):
        self.say("report", plan, self.path("run.jsonl"), "-o", self.path("page.html"))
        with open(self.path("page.html"), encoding="utf-8", newline="") as file:
            page = Page(file.read())
        self.assertLessEqual(page.tags, TAGS)
        self.assertFalse([name for name in page.attributes if name.startswith("on")])
        self.assertEqual(page.scripts, SCRIPTS)
        self.assertIn(f"{one_line(model.graph)} on m4", page.cells)
        with open(plan, encoding="ascii") as file:
            names = {one_line(each["name"]) for each in json.load(file)["graph"]["tensors"]}
        peak = json.loads(self.say("report", plan, "--format", "json"))["memory"]["peak"]
        self.assertTrue(peak["holds"])
        for held in peak["holds"]:
            self.assertIn(one_line(held["name"]), page.cells)
            self.assertTrue(one_line(held["name"]) in names or held["kind"] in ("workspace", "staging"))

    def train(self, path, model):
        weights = self.path("w.safetensors")
        self.say("train", path, "--data", self.path("data"), "--batch", 8, "--ram", "1MiB", "--effort", 1, "--epochs", 1, "--log", self.path("run.jsonl"),
                 "-o", weights)
        self.assertEqual(set(tensors(weights)), set(model.weights))
        with open(self.path("run.jsonl"), encoding="ascii") as file:
            self.assertTrue(all(json.loads(line) for line in file))
        self.say("export", path, "--weights", weights, "-o", self.path("out.onnx"))
        with open(self.path("out.onnx"), "rb") as file:
            exported = file.read()
        for name in [model.input, *model.weights]:
            self.assertIn(name.encode(), exported)

    def emit(self, plan, model, project):
        self.say("emit", plan, "--target", "posix", "--data", self.path("data"), "--steps", 1, "--ram", "4MiB", "-o", project)
        with open(os.path.join(project, "model", "run.json"), encoding="ascii") as file:
            self.assertEqual(json.load(file)["batch"][0]["name"], model.input)
        told = json.loads(self.say("run-firmware", project, "--format", "json"))
        self.assertTrue(told["equal"])
        self.names_of_the_project(project, model)

    def names_of_the_project(self, project, model):
        """The project's own interpreter finds them in the plan that is kept for this machine; the one that is compiled in has none."""
        source = os.path.join(project, "build", "names.c")
        with open(source, "w", encoding="ascii") as file:
            file.write("#include <stdio.h>\n#include \"model.h\"\nint main(void) {\n  static unsigned char bytes[1 << 20];\n  pt_plan plan;\n  uint32_t at;\n  pt_tensor_info info;\n"
                       "  if (pt_plan_open(&plan, pt_model_description.plan, pt_model_description.plan_bytes) != PT_OK) return 1;\n"
                       "  for (at = 0; at < plan.tensor_count; ++at)\n    if (pt_plan_tensor_info(&plan, at, &info) != PT_OK || info.name[0] != 0) return 2;\n"
                       "  if (pt_plan_program(&plan, \"train\") != -1) return 3;\n"
                       "  if (pt_plan_open(&plan, bytes, fread(bytes, 1, sizeof bytes, stdin)) != PT_OK) return 4;\n"
                       "  for (at = 0; at < plan.tensor_count; ++at)\n    if (pt_plan_tensor_info(&plan, at, &info) != PT_OK || fputs(info.name, stdout) < 0 || putchar(0)) "
                       "return 5;\n  return 0;\n}\n")
        program = os.path.join(project, "build", "names")
        flags = ["-std=gnu99", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers", "-ffunction-sections", "-fdata-sections",
                 "-Ipantoum/include", "-Ipantoum/src", "-Iboard", "-Imodel"]
        objects = [os.path.relpath(os.path.join(folder, each), project) for folder, _, names in os.walk(os.path.join(project, "build")) for each in names
                   if each.endswith(".o") and each not in ("main.o", "model.o")]
        subprocess.run(["cc", *flags, "-o", program, source, "model/model.c", *objects, "-lm"], cwd=project, check=True, capture_output=True)
        with open(os.path.join(project, "model", "plan.bin"), "rb") as plan:
            printed = subprocess.run([program], stdin=plan, capture_output=True, check=True).stdout.decode().split("\0")
        self.assertIn(model.input, printed)

    def test_every_output_holds_names_as_they_are(self):
        project = self.path("project")
        for at, given in self.models():
            path = self.path(f"model{at}.onnx")
            model = Model(path, given, at)
            with self.subTest(model=at):
                before = self.files()
                self.inspect(path, model)
                self.train(path, model)
                plan = self.plan_and_tell(path, model)
                self.report(plan, model)
                self.emit(plan, model, project)
                made = {os.path.relpath(each, self.folder) for each in self.files() - before}
                self.assertFalse([each for each in made if "canary" in each])
                strange = {each for each in made if not each.startswith("project/")} - {"plan.json", "page.html", "w.safetensors", "w.safetensors.plan.json", "run.jsonl", "out.onnx"}
                self.assertFalse(strange)

    def test_names_of_results_are_told(self):
        path = self.path("taken.onnx")
        for at, taken in ((-4, "loss"), (-4, "label"), (-4, "label.y"), (-5, "eval.loss"), (-5, "loss"), (-6, "accumulate.loss"), (-5, "optim.m"), (-6, "accumulated.w")):
            given = [f"n{each}" for each in range(PER_MODEL)]
            given[at] = taken
            Model(path, given, 1)
            done = self.refuse(3, "E0207", "plan", path, "--batch", 4, "--ram", "1MiB", "--effort", 1)
            self.assertIn("rename it", done.stderr)

    def test_names_that_no_file_can_hold_are_refused(self):
        """A tensor, a node, the graph, the batch; what is printed about them steers nothing either."""
        path = self.path("bytes.onnx")
        Model(path, ["QQQQ" + str(at) for at in range(PER_MODEL)], 1)
        with open(path, "rb") as file:
            contents = file.read()
        for at in range(PER_MODEL - 1, -1, -1):
            name = f"QQQQ{at}".encode()
            bad = hostile_names.UNWRITABLE[at % len(hostile_names.UNWRITABLE)]
            with open(path, "wb") as file:
                file.write(contents.replace(name, bad + name[4:]) if at > 9 else contents.replace(b"QQQQ", bad))
            exits = (3,) if at != PER_MODEL - 2 else (0,)  # the producer's name is none of the model's
            self.say("inspect", path, exits=exits)
            self.say("plan", path, "--batch", 4, "--ram", "1MiB", "--effort", 1, "-o", self.path("b.json"), exits=exits)

    def test_files_bear_these_names(self):
        """Whatever bytes a path has, the files lie where it says, and are read again from there."""
        model, kinds = self.path("plain.onnx"), ("plan", "page", "w", "out")
        Model(model, [f"n{at}" for at in range(PER_MODEL)], 1)
        wanted = [os.fsencode(each.replace("/", "_")) for each in hostile_names.names(max(6, NAMES // 10), 21)] + list(hostile_names.UNWRITABLE)
        for name in (each.replace(b"\0", b"").replace(b"/", b"_") for each in wanted if len(each) <= 200):
            folder = os.path.join(os.fsencode(self.folder), b"files")
            os.makedirs(folder)
            plan, page, weights, out = (os.path.join(folder, kind.encode() + name) for kind in kinds)
            self.say_bytes("plan", model, "--batch", "8", "--ram", "1MiB", "--effort", "1", "-o", plan)
            self.say_bytes("verify", plan)
            self.say_bytes("train", model, "--data", self.path("data"), "--batch", "8", "--ram", "1MiB", "--effort", "1", "--checkpoint-every", "1", "--plan", plan,
                           "--log", weights + b".jsonl", "--plan-out", plan, "--report", page, "-o", weights)
            self.say_bytes("export", model, "--weights", weights, "-o", out)
            self.say_bytes("inspect", out)
            self.assertEqual(set(os.listdir(folder)), {plan[len(folder) + 1:], page[len(folder) + 1:], out[len(folder) + 1:], *(weights[len(folder) + 1:] + ending for ending in (
                b"", b".checkpoint", b".jsonl"))})
            shutil.rmtree(folder)

    def say_bytes(self, *words):
        return self.say(*(os.fsdecode(word) for word in words))

    def test_classes_bear_these_names(self):
        model = self.path("image.onnx")
        with open(model, "wb") as file:
            file.write(onnx_model([onnx_node("Flatten", ["x"], ["f"]), onnx_node("MatMul", ["f", "w"], ["y"])], ("N", 1, 2, 2), [onnx_tensor("w", (4, WIDTH), [0.1] * 4 * WIDTH)]))
        given = [each for each in hostile_names.names(max(8, NAMES // 4), 31) if "/" not in each and not each.startswith(".") and len(each.encode()) < 200]
        for first in range(0, len(given) - WIDTH + 1, WIDTH):
            classes = given[first:first + WIDTH]
            data, log = self.path("by-class"), self.path("classes.jsonl")
            for name in classes:
                for at in range(2):
                    os.makedirs(os.path.join(data, "train", name), exist_ok=True)
                    with open(os.path.join(data, "train", name, f"{at}.pgm"), "wb") as file:
                        file.write(b"P5 2 2 255\n" + bytes(range(4)))
            self.say("train", model, "--data", data, "--batch", 4, "--ram", "1MiB", "--effort", 1, "--log", log, "-o", self.path("i.safetensors"))
            told = [line["classes"] for line in self.log_of(log) if line["event"] == "data"]
            self.assertEqual(told, [sorted(classes, key=os.fsencode)])
            shutil.rmtree(data)

    def test_columns_bear_these_names(self):
        model = self.path("plain.onnx")
        Model(model, [f"n{at}" for at in range(PER_MODEL)], 1)
        for name in hostile_names.names(max(6, NAMES // 10), 41):
            name = name.replace("\n", " ").replace("\r", " ").replace('"', "'").replace(",", ".").strip()
            if not name or name.replace("-", "").isdigit():
                continue
            with open(self.path("table.csv"), "w", encoding="utf-8", newline="") as file:
                file.write(f'"{name}",a,b,c,d\n' + "1,1,2,3,4\n" * 8)
            self.say("train", model, "--data", self.path("table.csv"), f"--label-column={name}", "--batch", 8, "--ram", "1MiB", "--effort", 1, "-o", self.path("c.safetensors"))

    def test_names_of_files_and_columns_steer_nothing(self):
        for at, name in enumerate(each.replace("/", "_") for each in hostile_names.names(30, 9)):
            if len(name.encode()) > 200 or name in (".", ".."):
                continue
            self.say("inspect", "./" + name, exits=(3,))
            self.say("devices", "show", "./" + name, exits=(2, 3))
            self.say("plan", self.path("absent.onnx"), "--ram", name if not name.startswith("-") else "1", exits=(2, 3))
            folder = self.path("csv", str(at))
            os.makedirs(folder)
            quoted = name.replace("\n", " ").replace("\r", " ").replace(",", ".").replace('"', "'")
            with open(os.path.join(folder, "train.csv"), "w", encoding="utf-8", newline="") as file:
                file.write(f"{quoted},b,c,d,label\n" + "1,2,3,4,0\n" * 8)
            model = self.path("csv.onnx")
            Model(model, [f"n{each}" for each in range(PER_MODEL)], 1)
            self.say("train", model, "--data", folder, "--label-column", "none" + name, "--batch", 8, "--ram", "1MiB", "-o", self.path("c.safetensors"), exits=(3,))
        self.assertFalse([each for each in self.files() if "canary" in os.path.basename(each)])

    def test_names_of_classes_steer_nothing(self):
        names = [each for each in hostile_names.names(40, 11) if "/" not in each and not each.startswith(".") and len(each.encode()) < 200][:WIDTH]
        pixels = b"P5 2 2 255\n" + bytes(range(4))
        for name in names:
            for split in ("train", "test"):
                os.makedirs(self.path("classes", split, name))
                with open(self.path("classes", split, name, "a.pgm"), "wb") as file:
                    file.write(pixels)
        os.makedirs(self.path("classes", "test", "\x1b[31m$(touch canary)"))
        with open(self.path("classes", "test", "\x1b[31m$(touch canary)", "a.pgm"), "wb") as file:
            file.write(pixels)
        with open(self.path("image.onnx"), "wb") as file:
            file.write(onnx_model([onnx_node("Flatten", ["x"], ["f"]), onnx_node("MatMul", ["f", "w"], ["y"])], ("N", 1, 2, 2),
                                  [onnx_tensor("w", (4, WIDTH), [0.1] * 4 * WIDTH)]))
        self.say("train", self.path("image.onnx"), "--data", self.path("classes"), "--batch", 4, "--ram", "1MiB", "-o", self.path("i.safetensors"), exits=(3,))
        self.assertFalse(os.path.exists(self.path("canary")))


if __name__ == "__main__":
    import unittest
    if "--names" in sys.argv:
        at = sys.argv.index("--names")
        NAMES = int(sys.argv[at + 1])
        del sys.argv[at:at + 2]
    unittest.main()
