"""No output takes the place of an input or of another output, by whatever name: every pair of every verb, made from the
command line's own tables of options. What is refused changes nothing."""
import ctypes
import hashlib
import itertools
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import unittest

from house import MODEL, PANTOUM, ROOT, House, m4_costgraph, make_data

SAME_STEP = ["--batch", "8", "--effort", "1", "--measure", "off", "--kernels", "portable", "--ram", "4MiB"]
DERIVED = ["", ".plan.json", ".checkpoint", ".checkpoint.previous", ".jsonl", ".initial", ".part", ".lock", ".checkpoint.part", ".jsonl.part"]

# A file of each option that reads one; "MODEL" and such are positional. A name that only some verb reads: "verb --option".
INPUTS = {
    "MODEL": "net.onnx", "--model": "net.onnx", "PLAN": "plan.json", "--plan": "plan.json", "LOG": "run.jsonl", "--costgraph": "graph.json",
    "--weights": "w.safetensors", "--warm-start": "plan.json", "--resume": "c.safetensors", "--data": "data", "--test-data": "tests",
    "--profile-store": "times.db", "--sweep": "swept", "DIR": "project", "--meter": "joules.csv", "--import": "times.csv", "--device": "board.toml",
}
OUTPUTS = {"--output", "--binary-out", "--weights-out", "--costgraph-out", "--write-min-plan", "--write-refusal", "--plan-out", "--log", "--report", "--export",
           "--checkpoint", "--keep-best", "--trace"}
# Neither: folders for files with names of their own, and no file of theirs is replaced.
OTHER = {"--page-file", "--cache", "NAME"}
# What goes on by design.
CONTINUED = {("--resume", "--checkpoint"), ("--plan", "--plan-out"), ("--warm-start", "--plan-out"), ("plan --warm-start", "--output")}
# What each verb needs beside the pair.
NEEDED = {
    "plan": {"MODEL": "net.onnx"}, "profile": {}, "sweep": {"MODEL": "net.onnx", "--output": "new", "--ram": "4MiB"},
    "train": {"MODEL": "net.onnx", "--data": "data", "--output": "new.safetensors"},
    "export": {"MODEL": "net.onnx", "--weights": "w.safetensors", "--output": "new.onnx"},
    "emit": {"PLAN": "plan.json", "--output": "new", "--target": "posix"}, "run-firmware": {"DIR": "project"},
    "report": {"PLAN": "plan.json", "--output": "new.html"},
    "predict": {"MODEL": "net.onnx", "--weights": "w.safetensors", "--data": "data", "--output": "new.npy"},
    "eval": {"MODEL": "net.onnx", "--weights": "w.safetensors", "--data": "data"},
}


def options_of(page):
    """verb -> its options that name files, of docs/cli.md's text."""
    verbs = {}
    for part in re.split(r"(?m)^## ", page)[1:]:
        name, text = part.split("\n", 1)
        named = re.findall(r"\| `(?:-\w, )?(--[\w-]+) (?:FILE|PATH|DIR|DEVICE|METER)[^`]*`", text)
        named += re.findall(r"(?m)^\* `([A-Z]+)`", text) + [each for each in ("--export", "--import") if f"`{each} TEXT" in text]
        verbs[name] = named
    return verbs


def state_of(folder):
    """Every name below, with what it is: the contents, a link's text; and the inode, so that a copy is no original."""
    found = {}
    for top, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(top, name)
            status = os.lstat(path)
            what = os.readlink(path) if os.path.islink(path) else hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest() if os.path.isfile(path) else ""
            found[path] = (status.st_ino, status.st_nlink if os.path.isfile(path) else 0, what)
    return found


class Creations:
    """The names of files that are created in a folder while this lives, or moved there."""
    CREATE, MOVED_TO, NONBLOCK = 0x100, 0x80, os.O_NONBLOCK

    def __init__(self, folder):
        self.folder, self.names = folder, set()

    def __enter__(self):
        system = ctypes.CDLL(None, use_errno=True)
        self.file = system.inotify_init1(self.NONBLOCK)
        if self.file < 0 or system.inotify_add_watch(self.file, self.folder.encode(), self.CREATE | self.MOVED_TO) < 0:
            raise OSError(ctypes.get_errno(), "inotify")
        return self

    def __exit__(self, *_):
        while True:
            try:
                events = os.read(self.file, 1 << 16)
            except BlockingIOError:
                break
            while events:
                _, mask, _, size = struct.unpack_from("iIII", events)
                if not mask & 0x40000000:  # a folder
                    self.names.add(events[16:16 + size].rstrip(b"\0").decode())
                events = events[16 + size:]
        os.close(self.file)


class OutputsOntoInputs(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        at = lambda name: cls.path(cls, name)
        shutil.copy(MODEL, at("net.onnx"))
        make_data(at("data"), 32, 16)
        make_data(at("tests"), 32, 16)
        shutil.copy(m4_costgraph(cls.folder)[0], at("costs"))
        os.replace(at("costs"), at("graph.json"))
        run = House.succeed.__get__(cls())
        run("plan", "net.onnx", *SAME_STEP, "-o", "plan.json", "--weights-out", "w.safetensors", cwd=cls.folder)
        run("train", "net.onnx", *SAME_STEP, "--data", "data", "--epochs", "1", "-o", "c.safetensors", "--log", "run.jsonl", "--checkpoint", "c", "--checkpoint-every", "1", "--plan-out", "p",
            cwd=cls.folder)
        os.replace(at("c"), at("c.safetensors"))
        os.remove(at("p"))
        run("sweep", "--costgraph", "graph.json", "--ram", "1GiB", "--planners", "pantoum", "--effort", "1", "-o", "swept", cwd=cls.folder)
        run("emit", "plan.json", "--target", "posix", "-o", "project", cwd=cls.folder)
        pathlib.Path(at("times.csv")).write_text("machine,op,algorithm,operands,seconds\nm4,relu,reference,f32[4]->f32[4],1e-3\n")
        run("profile", "--profile-store", "times.db", "--import", "times.csv", cwd=cls.folder)
        shutil.copy(os.path.join(ROOT, "devices", "m4.toml"), at("board.toml"))
        pathlib.Path(at("joules.csv")).write_text("time_s,power_w,trigger\n0,1,0\n1,1,1\n")
        os.symlink("/nowhere/there", at("dangling"))
        cls.options = options_of(run("reference").stdout)

    def names_of(self, name):
        """The file by its name, a hard link, a symbolic link and a linked folder."""
        os.makedirs(self.path("names"))
        os.symlink("..", self.path("names", "folder"))
        os.link(self.path(name), self.path("names", "hard"))
        os.symlink(os.path.join("..", name), self.path("names", "soft"))
        return [name, "names/hard", "names/soft", f"names/folder/{name}", f"./names/../{name}"]

    def words(self, verb, options):
        """Positional words come first."""
        given = [value for option, value in options.items() if not option.startswith("-")]
        for option, value in options.items():
            if option.startswith("-"):
                given += [option, f"csv:{value},trigger=trigger" if option == "--meter" else value]
        return [verb, *given]

    def refuse_unchanged(self, verb, options):
        before = state_of(self.folder)
        self.refuse(2, "E0125", *self.words(verb, options), cwd=self.folder)
        self.assertEqual(before, state_of(self.folder), self.words(verb, options))

    def inputs_of(self, verb):
        for option in self.options[verb]:
            if option not in INPUTS or (verb, option) == ("profile", "--plan"):
                continue
            name = INPUTS[option]
            inside = {"data": "train-images-idx3-ubyte", "tests": "t10k-labels-idx1-ubyte", "swept": "sweep.jsonl", "project": "model/plan.bin"}.get(name)
            yield option, name, os.path.join(name, inside) if inside else name

    def given_to(self, verb, option, name):
        options = dict(NEEDED[verb])
        if option == "--costgraph":
            options.pop("MODEL")
        if option == "--plan" and verb == "train":
            options.pop("MODEL")
        if verb == "profile" and option not in ("--import", "--profile-store"):
            options["MODEL"] = "net.onnx"
        options[option] = name
        return options

    def test_every_option_that_names_a_file_is_known_here(self):
        for verb, options in self.options.items():
            for option in options:
                if verb in NEEDED:
                    self.assertIn(option, {*INPUTS, *OUTPUTS, *OTHER}, verb)
                else:
                    self.assertNotIn(option, OUTPUTS, verb)

    def test_every_output_onto_every_input(self):
        pairs = 0
        for verb in NEEDED:
            for option, name, file in self.inputs_of(verb):
                for alias in self.names_of(file):
                    for output in self.options[verb]:
                        is_folder = verb in ("emit", "sweep") and output == "--output"
                        if output not in OUTPUTS or is_folder or {(option, output), (f"{verb} {option}", output)} & CONTINUED:
                            continue
                        if option == "--costgraph" and output in ("--weights-out", "--binary-out", "--costgraph-out"):
                            continue  # E0118: a cost graph has none of them
                        with self.subTest(verb=verb, input=option, output=output, alias=alias):
                            self.refuse_unchanged(verb, {**self.given_to(verb, option, name), output: alias})
                            pairs += 1
                shutil.rmtree(self.path("names"))
        self.assertGreater(pairs, 300)

    def test_pipes_sockets_and_devices_are_refused_at_once(self):
        os.mkfifo(self.path("pipe"))
        server = socket.socket(socket.AF_UNIX)
        self.addCleanup(server.close)
        server.bind(self.path("socket"))
        os.symlink("pipe", self.path("link"))
        seen = set()
        for verb, options in self.options.items():
            for option in dict.fromkeys(options):
                reads = option in INPUTS
                if (not reads and option not in OUTPUTS) or (verb, option) == ("profile", "--plan"):
                    continue
                is_folder = verb in ("emit", "sweep") and option == "--output"
                needed = dict({"inspect": {"MODEL": "net.onnx"}, "verify": {"PLAN": "plan.json"}}.get(verb, NEEDED.get(verb, {})))
                if verb == "profile" and option != "MODEL":
                    needed["MODEL"] = "net.onnx"
                if (option == "--costgraph" and verb != "verify") or (verb, option) == ("train", "--plan"):
                    needed.pop("MODEL", None)
                # An output takes the place of a link, and /dev/null takes an output.
                for name in ("pipe", "socket", "/dev/zero", *(("link", "/dev/null") if reads else ())):
                    with self.subTest(verb, option=option, name=name):
                        words = self.words(verb, {**needed, option: name})
                        done = subprocess.run([PANTOUM, *words], cwd=self.folder, capture_output=True, text=True, timeout=20, check=False, stdin=subprocess.DEVNULL)
                        self.assertIn(done.returncode, (2, 3, 9), done.stderr)
                        self.assertRegex(done.stderr, "named pipe|socket|device|it is a file|this is a file|no regular file" if not is_folder else "it is a file|pipe|socket|device")
                        self.assertIn(name, done.stderr)
                seen.add((verb, option))
        self.assertGreater(len(seen), 40)
        for name in ("pipe", "socket", "link"):
            os.remove(self.path(name))

    def test_pipes_at_the_names_of_side_files_are_refused_at_once(self):
        """Every file that a verb makes, by inotify's word; then a pipe stands at each of these names in turn."""
        train = ["train", "net.onnx", *SAME_STEP, "--data", "data", "--epochs", "2", "--checkpoint-every", "1"]
        verbs = {
            "plan": ["plan", "net.onnx", *SAME_STEP, "-o", "made/p", "--binary-out", "made/b", "--weights-out", "made/w", "--costgraph-out", "made/c"],
            "refused plan": ["plan", "net.onnx", *SAME_STEP[:-2], "--ram", "10KiB", "--write-min-plan", "made/p", "--write-refusal", "made/r"],
            "train": [*train, "-o", "made/w", "--keep-best", "made/best", "--report", "made/r", "--plan-out", "made/p"],
            "resumed": [*train, "-o", "made/w", "--resume", "c.safetensors"],
            "sweep": ["sweep", "--costgraph", "graph.json", "--ram", "1GiB", "--planners", "pantoum", "--effort", "1", "-o", "made"],
            "emit": ["emit", "plan.json", "--target", "posix", "-o", "made"],
            "export": ["export", "net.onnx", "--weights", "w.safetensors", "-o", "made/n.onnx", "--external-data"],
            "predict": ["predict", "net.onnx", "--weights", "w.safetensors", "--data", "data", "-o", "made/y.npy"],
            "report": ["report", "plan.json", "-o", "made/r"],
            "store": ["profile", "--profile-store", "made/s", "--import", "times.csv"],
            "times": ["profile", "--profile-store", "times.db", "--export", "made/t.csv"],
        }
        seen = set()
        for verb, words in verbs.items():
            os.makedirs(self.path("made"))
            with Creations(self.path("made")) as creations:
                done = self.run_cli(*words, cwd=self.folder)
            self.assertEqual(done.returncode, 5 if verb == "refused plan" else 0, done.stderr)
            shutil.rmtree(self.path("made"))
            # A random name cannot be foreseen.
            names = {name for name in creations.names if not re.search(r"\.part-[0-9a-f]{16}$|XXXXXX|pantoum-page-", name)}
            self.assertTrue(names, verb)
            for name in sorted(names):
                with self.subTest(verb, name=name):
                    os.makedirs(self.path("made"))
                    os.mkfifo(self.path("made", name))
                    done = self.run_cli(*words, cwd=self.folder, timeout=20, stdin=subprocess.DEVNULL)
                    self.assertIn(done.returncode, (2, 3, 9), done.stderr)
                    # A folder of a project with foreign files is refused as a whole.
                    self.assertRegex(done.stderr, "did not write" if verb == "emit" else f"(named pipe|no regular file)[^$]*{re.escape(name)}")
                    self.assertEqual(os.listdir(self.path("made")), [name])
                shutil.rmtree(self.path("made"))
                seen.add((verb, name))
        # What this list knows of today; a new side file joins by itself.
        self.assertGreaterEqual({name for verb, name in seen if verb == "train"},
                                {"w", "w.part", "w.lock", "w.jsonl", "w.jsonl.part", "w.checkpoint", "w.checkpoint.part", "w.checkpoint.previous", "w.initial", "best", "best.part", "r", "p"})
        self.assertIn(("store", "s-journal"), seen)
        self.assertIn(("export", "n.onnx.data.part"), seen)

    def test_what_a_shell_has_opened_is_read_and_written(self):
        shell = lambda text: subprocess.run(["bash", "-c", text], cwd=self.folder, capture_output=True, timeout=60, check=True).stdout
        plan = shell(f"{PANTOUM} plan net.onnx {' '.join(SAME_STEP)} -o - 2>/dev/null")
        self.assertGreater(len(plan), 1000)
        self.assertEqual(len(shell(f"{PANTOUM} plan net.onnx {' '.join(SAME_STEP)} -o >(cat >written; echo >done) >/dev/null; until [ -e done ]; do sleep 0.1; done; cat written")), len(plan))
        self.assertIn(b"bound", shell(f"{PANTOUM} verify <(cat plan.json)"))
        self.assertIn(b"bound", shell(f"{PANTOUM} verify /dev/stdin <plan.json"))

    def test_files_that_a_training_makes_beside_its_output(self):
        for option, name, file in self.inputs_of("train"):
            if option in ("--resume", "--profile-store", "--meter", "--device", "--test-data"):
                continue
            for end in DERIVED[1:]:
                if option in ("--plan", "--warm-start") and end == ".plan.json":
                    continue  # a plan may be written onto the one that it was made from
                with self.subTest(input=option, end=end):
                    os.makedirs(self.path("names"))
                    os.link(self.path(file), self.path("names", "w" + end))
                    self.refuse_unchanged("train", {**self.given_to("train", option, name), "--output": "names/w"})
                    shutil.rmtree(self.path("names"))

    def test_the_plan_and_the_log_of_another_run_beside_the_output(self):
        os.makedirs(self.path("names"))
        os.link(self.path("net.onnx"), self.path("names", "w.plan.json"))
        self.refuse_unchanged("train", {**NEEDED["train"], "--output": "names/w"})
        shutil.rmtree(self.path("names"))

    def test_the_model_and_the_weights_that_a_plan_names(self):
        for output in ("--output", "--log", "--report", "--checkpoint", "--keep-best", "--plan-out"):
            self.refuse_unchanged("train", {"--data": "data", "--output": "new", "--plan": "plan.json", output: "net.onnx"})

    def test_weights_that_lie_beside_the_model(self):
        self.succeed("export", "net.onnx", "--weights", "w.safetensors", "-o", "apart.onnx", "--external-data", cwd=self.folder)
        for verb, output in (("plan", "--output"), ("train", "--output"), ("train", "--log"), ("export", "--output")):
            self.refuse_unchanged(verb, {**NEEDED[verb], "MODEL": "apart.onnx", output: "apart.onnx.data"})
        before = state_of(self.folder)
        os.link(self.path("net.onnx"), self.path("again.onnx.data"))
        self.refuse(2, "E0125", "export", "net.onnx", "--weights", "w.safetensors", "-o", "again.onnx", "--external-data", cwd=self.folder)
        os.remove(self.path("again.onnx.data"))
        self.assertEqual(before, state_of(self.folder))

    def test_files_of_a_folder_that_is_written(self):
        for verb, names in (("sweep", ["sweep.csv", "sweep.jsonl", "sweep.json", "sweep.svg", "x.part", "plans/old.plan.json"]),
                            ("emit", ["README.md", "model/plan.bin", "model/model.c", "Makefile"])):
            for option, name, file in self.inputs_of(verb):
                if os.path.isdir(self.path(file)) or option in ("--warm-start", "--profile-store", "--data"):
                    continue
                for inside in names:
                    for make in (os.link, os.symlink):
                        with self.subTest(verb=verb, input=option, inside=inside, make=make.__name__):
                            shutil.copytree(self.path("swept" if verb == "sweep" else "project"), self.path("folder"))
                            taken = self.path("folder", inside)
                            if os.path.exists(taken):
                                os.remove(taken)
                            make(self.path(file), taken)
                            self.refuse_unchanged(verb, {**self.given_to(verb, option, name), "--output": "folder"})
                            shutil.rmtree(self.path("folder"))

    def test_two_outputs_are_one_file(self):
        pathlib.Path(self.path("there")).write_text("old")
        for verb in NEEDED:
            outputs = [each for each in self.options[verb] if each in OUTPUTS and not (verb in ("emit", "sweep") and each == "--output")]
            self.names_of("there")
            for one, other in itertools.combinations(outputs, 2):
                for first, second in (("made", "./made"), ("made", "names/folder/made"), *(("there", f"names/{name}") for name in ("hard", "soft", "folder/there"))):
                    with self.subTest(verb=verb, one=one, other=other, first=first, second=second):
                        options = dict(NEEDED[verb]) or {"MODEL": "net.onnx"}
                        self.refuse_unchanged(verb, {**options, one: first, other: second})
            shutil.rmtree(self.path("names"))

    def test_what_goes_on_by_design(self):
        train = ["train", "net.onnx", *SAME_STEP, "--data", "data", "--checkpoint-every", "1", "--epochs"]
        self.succeed(*train, "1", "-o", "goes.safetensors", cwd=self.folder)
        self.succeed(*train, "2", "-o", "goes.safetensors", "--resume", "goes.safetensors.checkpoint", cwd=self.folder)
        self.assertTrue(os.path.exists(self.path("goes.safetensors.checkpoint.previous")))
        self.succeed(*train, "1", "-o", "goes.safetensors", cwd=self.folder)
        self.succeed("train", "--plan", "plan.json", "--data", "data", "--epochs", "1", "-o", "goes.safetensors", cwd=self.folder)
        for _ in range(2):
            self.succeed("plan", "net.onnx", *SAME_STEP, "--warm-start", "plan.json", "-o", "plan.json", cwd=self.folder)
        # The run's files lie in the folder of its data, and are written again.
        for _ in range(2):
            self.succeed(*train, "1", "-o", "data/w.safetensors", cwd=self.folder)


if __name__ == "__main__":
    unittest.main()
