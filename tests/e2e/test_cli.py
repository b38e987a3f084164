"""The command line as people use it: help, completion, manual, colours, progress, standard output, signals, early errors."""
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

import mistakes
from house import MODEL, PANTOUM, ROOT, House, some

ESCAPE = "\033["
# Plans for as long as it may: what the planner cannot prove.
LONG = ("plan", MODEL, "--batch", "128", "--ram", "9MiB", "--gap", "0%", "--measure", "off", "--kernels", "portable")


def on_terminal(words, columns=60, environment=None, until=None, cwd=None):
    """What a terminal of so many columns gets on stderr, as pieces with the times at which they came; the exit code. `until`: whether a text ends in Ctrl-C; after a minute, any does."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([PANTOUM, *words], stdout=subprocess.DEVNULL, stderr=slave, stdin=slave, start_new_session=True, cwd=cwd,
                               env={**os.environ, "TERM": "xterm", **(environment or {})})
    os.close(slave)
    begun, pieces, stopped = time.monotonic(), [], False
    while True:
        if until and not stopped and (until("".join(text for _, text in pieces)) or time.monotonic() - begun > 60):
            process.send_signal(signal.SIGINT)
            stopped = True
        if not select.select([master], [], [], 0.05)[0]:
            if process.poll() is None:
                continue
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        pieces.append((time.monotonic() - begun, piece.decode()))
    os.close(master)
    return pieces, process.wait(60)


def programs_of_group(group):
    """The process ids of pantoum in a process group."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as file:
                name, rest = file.read().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue
        if name == "pantoum" and int(rest.split()[2]) == group:
            found.append(int(pid))
    return found


class Help(House):
    def verbs(self):
        groups = self.succeed("--help").stdout.split("\nlook (")[1].split("\nhelp:")[0]
        return re.findall(r"^  ([a-z][\w-]*) ", groups, re.MULTILINE) + ["devices list", "devices show"]

    def help_of(self, verb):
        return self.succeed(*verb.split(), "--help").stdout

    def options_of(self, verb):
        text = self.succeed(*verb.split(), "--help-all").stdout
        return sorted(set(re.findall(r"^  (?:-\w, )?(--[a-z][\w-]*)", text, re.MULTILINE)) - {"--help-all"})

    def examples_of(self, verb):
        text = self.help_of(verb).split("\nexamples:\n")[1].replace("\\\n", " ")
        return [line.split() for line in text.splitlines()]

    def test_help_fits_and_is_the_same_however_it_is_asked_for(self):
        self.assertGreaterEqual(len(self.verbs()), 15)
        for verb in self.verbs():
            text = self.help_of(verb)
            self.assertEqual(self.succeed("help", *verb.split()).stdout, text)
            self.assertEqual(self.succeed(*verb.split(), "-h").stdout, text)
            self.assertEqual(self.succeed(*verb.split(), "--help", env={**os.environ, "COLUMNS": "300"}).stdout, text)
            self.assertEqual([line for line in text.splitlines() if len(line) > 80], [], verb)
            narrow = self.succeed(*verb.split(), "--help", env={**os.environ, "COLUMNS": "60"}).stdout
            self.assertEqual([line for line in narrow.splitlines() if len(line) > 60 and " " in line.strip() and not line.strip().startswith("pantoum")
                              and not line.startswith("usage")], [], verb)
            self.assertEqual(re.findall(r"\d{12}", text), [], "a number that says nothing")
            self.assertEqual(len(self.examples_of(verb)), 3, verb)
        self.assertEqual([line for line in self.succeed("--help").stdout.splitlines() if len(line) > 80], [])
        self.assertEqual(self.succeed("help").stdout, self.succeed("-h").stdout)
        self.assertEqual(self.succeed("-V").stdout, self.succeed("--version").stdout)
        self.assertRegex(self.succeed("-V").stdout, r"^\d+\.\d+\.\d+\n$")

    def test_help_has_defaults_and_groups(self):
        text = self.succeed("train", "--help-all").stdout
        for words in ("\nmodel:", "\ndata:", "\ntraining:", "\nlimits:", "\nplan:", "\ndevice:", "\noutput:", "\nresearch (", "(default sgd)", "cross_entropy)",
                      "(default host)", "(required)", "sgd, adam, adamw, rmsprop, adagrad or sparse_adam", "--ram BYTES", "--deadline DURATION", "(from 0 to 64)"):
            self.assertIn(words, text if words.startswith("\n") else " ".join(text.split()))
        self.assertNotIn("research", self.help_of("train"))
        self.assertNotIn("more options", "".join(self.help_of(verb) for verb in self.verbs() if verb != "report"))

    def test_examples_are_real(self):
        with tempfile.TemporaryDirectory() as folder:
            mistakes.make_folder(folder)
            for name, kept in (("step.plan.json", "kept.json"), ("refusal.json", "kept.json"), ("net.safetensors", "w0.safetensors"),
                               ("net.safetensors.checkpoint", "w0.safetensors.checkpoint"), ("net.safetensors.jsonl", "w0.safetensors.jsonl")):
                shutil.copy(os.path.join(folder, kept), os.path.join(folder, name))
            shutil.copy(os.path.join(ROOT, "devices", "m4.toml"), os.path.join(folder, "my-board.toml"))
            shutil.copy(os.path.join(folder, "graph.json"), os.path.join(folder, "costs.json"))
            for verb in self.verbs():
                for example in self.examples_of(verb):
                    self.assertEqual(example[0], "pantoum")
                    quick = ["--effort", "1", "--measure", "off"] if verb in ("plan", "sweep", "train") else []
                    if "--effort" in example:
                        quick = []
                    if verb == "run-firmware":
                        quick = ["--help"]  # of a compiler and an emulator
                    if "d.csv" in example or (verb == "emit" and "--steps" in example):
                        quick = ["--help"]
                    done = subprocess.run([PANTOUM, *example[1:], *quick], cwd=folder, capture_output=True, timeout=120)
                    usual = (0, 3, 5) if "--resume" in example else (0, 1) if verb == "doctor" else (0, 5)
                    self.assertIn(done.returncode, usual, f"{' '.join(example)}\n{done.stderr}")

    def test_the_reference_has_every_verb_and_option(self):
        text = self.succeed("reference").stdout
        for verb in self.verbs():
            part = text.split(f"\n## {verb}\n")[1].split("\n## ")[0]
            for option in self.options_of(verb):
                if option != "--help":
                    self.assertRegex(part, rf"`[^`]*{option}\b", f"{verb} {option}")

    def test_man_pages_have_every_option(self):
        self.succeed("man-pages", "-o", self.path("man"))
        pages = sorted(os.listdir(self.path("man")))
        self.assertEqual(pages, sorted(["pantoum.1"] + [f"pantoum-{verb.replace(' ', '-')}.1" for verb in self.verbs()]))
        for verb in self.verbs():
            with open(self.path("man", f"pantoum-{verb.replace(' ', '-')}.1"), encoding="utf-8") as file:
                text = file.read().replace("\\-", "-")
            for option in self.options_of(verb):
                if option != "--help":
                    self.assertRegex(text, rf"Fl {option[1:]}\b", f"{verb} {option}")
        if not shutil.which("mandoc"):
            self.skipTest("mandoc is not installed")
        done = subprocess.run(["mandoc", "-Tlint", "-Wwarning", *[self.path("man", page) for page in pages]], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def completed(self, *words):
        """What bash offers for the last of the words."""
        script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _pantoum; printf "%s\\n" "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "-c", script, "bash", self.path("pantoum.bash"), "pantoum", *words], capture_output=True, text=True, check=True, cwd=self.folder)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_completion_in_bash(self):
        with open(self.path("pantoum.bash"), "w") as file:
            file.write(self.succeed("completion", "bash").stdout)
        os.makedirs(self.path("folder"))
        self.assertEqual(sorted(self.completed("")), sorted([verb for verb in self.verbs() if " " not in verb] + ["help", "--help", "--version"]))
        self.assertEqual(self.completed("exp"), ["explain", "export"])
        for verb in self.verbs():
            offered = set(self.completed(*verb.split(), "--"))
            self.assertLessEqual(set(self.options_of(verb)), offered, verb)
        self.assertEqual(self.completed("plan", "net.onnx", "--object"), ["--objective"])
        self.assertEqual(self.completed("plan", "--objective", ""), ["energy", "time", "edp", "power"])
        self.assertEqual(self.completed("plan", "--optimizer", "=", "ada"), ["adam", "adamw", "adagrad"])
        self.assertEqual(self.completed("train", "net.onnx", "--device", "m"), ["m0", "m4", "m7"])
        self.assertEqual(self.completed("emit", "p.json", "--board", "mps3"), ["mps3-an547"])
        self.assertEqual(self.completed("devices", ""), ["list", "show"])
        self.assertEqual(self.completed("devices", "show", "a"), ["a53", "a72"])
        self.assertEqual(self.completed("completion", ""), ["bash", "zsh", "fish"])
        self.assertEqual(self.completed("train", "net.onnx", "--data", "fol"), ["folder"])
        self.assertIn("pantoum.bash", self.completed("inspect", ""))
        self.assertEqual(self.completed("plan", "--ram", ""), [])

    def test_completion_in_other_shells_names_every_option(self):
        for shell in ("zsh", "fish"):
            script = self.succeed("completion", shell).stdout
            for verb in self.verbs():
                for option in self.options_of(verb):
                    self.assertIn(option if shell == "zsh" else f"-l {option[2:]} " if option != "--help" else "", script, f"{shell} {verb}")
            if shutil.which(shell):
                done = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
            else:
                print(f"skipped: {shell} is not installed, its script is not parsed")


class Terminal(House):
    def message(self, **environment):
        return "".join(text for _, text in on_terminal(["plan", "--objective", "beauty", "x"], environment=environment)[0])

    def test_colours_are_for_terminals(self):
        self.assertIn(ESCAPE, self.message())
        self.assertNotIn(ESCAPE, self.message(NO_COLOR="1"))
        self.assertNotIn(ESCAPE, self.message(TERM="dumb"))
        self.assertIn(ESCAPE, self.message(NO_COLOR=""))
        for words in (("plan", "--objective", "beauty", "x"), ("--help",), ("plan", "--help")):
            done = self.run_cli(*words)
            self.assertNotIn(ESCAPE, done.stderr + done.stdout)
            forced = self.run_cli(*words, env={**os.environ, "CLICOLOR_FORCE": "1"})
            self.assertIn(ESCAPE, forced.stderr + forced.stdout)
            self.assertEqual(re.sub(r"\033\[[\d;]*m", "", forced.stderr + forced.stdout), done.stderr + done.stdout)

    def test_names_do_not_steer_the_terminal(self):
        pieces, _ = on_terminal(["inspect", "\033[31mred\033[0m.onnx"], columns=200)
        self.assertIn("\\x1b[31mred", "".join(text for _, text in pieces))

    def test_the_line_moves_fits_and_is_not_glued_to(self):
        def lines_of(text):
            return re.findall(r"\r\033\[K([^\r\n\033]*)", text)

        pieces, code = on_terminal([*LONG, "-o", self.path("p.json")], columns=50, until=lambda text: len(set(lines_of(text))) > 4)
        self.assertEqual(code, 130)
        text = "".join(piece for _, piece in pieces)
        lines = lines_of(text)
        self.assertGreaterEqual(len([line for line in lines if line]), 4, text)
        self.assertEqual([line for line in lines if len(line) >= 50], [])
        self.assertGreaterEqual(len(set(lines)), 4, "it moves")
        message = text.index("error")
        self.assertRegex(text[:message], r"(?:\r\033\[K|\n)(?:\033\[[\d;]*m)?$")

    def test_a_pipe_gets_no_line_of_a_terminal(self):
        done = self.run_cli(*LONG, "--time-limit", "2s")
        self.assertEqual(done.returncode, 0)
        self.assertNotIn("\r", done.stderr)
        self.assertNotIn(ESCAPE, done.stderr)


class Signals(House):
    def ended(self, pipe, send, whole_group, after=2.0, words=LONG, output="kept.json"):
        """The program in a pipe, a signal after some seconds: its exit code, what it said, whether the plan is there."""
        path = self.path(output)
        if os.path.exists(path):
            os.unlink(path)
        command = " ".join([PANTOUM, *words, "-o", path]) + (f" | {pipe}" if pipe else "")
        process = subprocess.Popen(["bash", "-c", f"{command}; exit ${{PIPESTATUS[0]}}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        time.sleep(after)
        if whole_group:
            os.killpg(process.pid, send)
        else:
            for pid in programs_of_group(process.pid):
                os.kill(pid, send)
        _, said = process.communicate(timeout=60)
        return process.returncode, said, os.path.exists(path)

    def test_the_plan_is_kept_in_a_pipe_too(self):
        for pipe, send, group in some((("", signal.SIGINT, False), ("cat", signal.SIGTERM, False), ("cat", signal.SIGINT, True), ("true", signal.SIGINT, False),
                                       ("head -c 1", signal.SIGHUP, False)), 3):
            code, said, kept = self.ended(pipe, send, group)
            with self.subTest(pipe=pipe, send=send):
                # bash dies of the signal of its group, its child says what it said all the same
                if not group:
                    self.assertEqual(code, 130, said)
                self.assertTrue(kept, said)
                self.assertEqual(said.count("error["), 1, said)
                self.assertIn("error[E0999]", said)
                self.succeed("verify", self.path("kept.json"))

    def test_a_reader_that_has_gone(self):
        done = subprocess.run(["bash", "-c", f"{PANTOUM} plan {MODEL} --batch 8 --ram 4MiB --effort 1 --measure off -o {self.path('q.json')} | true; exit ${{PIPESTATUS[0]}}"],
                              capture_output=True, text=True)
        self.assertIn(done.returncode, (0, 9))
        self.assertTrue(os.path.exists(self.path("q.json")))


class Streams(House):
    QUICK = ("plan", MODEL, "--batch", "8", "--device", "m4", "--ram", "2MiB", "--effort", "1")

    def test_one_file_may_be_standard_output(self):
        done = self.succeed(*self.QUICK, "-o", "-")
        self.assertEqual(json.loads(done.stdout)["schema"], "pantoum.plan/2")
        self.assertIn("plan     ", done.stderr)
        self.succeed(*self.QUICK, "-o", self.path("p.json"))
        with open(self.path("p.json")) as file:
            self.assertEqual(re.sub(r'"(seconds|timestamp)":[\d.e-]+', "", file.read()), re.sub(r'"(seconds|timestamp)":[\d.e-]+', "", done.stdout))
        self.assertEqual(json.loads(self.succeed(*self.QUICK, "--costgraph-out", "-").stdout)["schema"], "pantoum.costgraph/1")
        self.assertIn("<html", self.succeed("report", self.path("p.json"), "-o", "-").stdout[:400])
        binary = subprocess.run([PANTOUM, *self.QUICK, "--binary-out", "-"], capture_output=True, check=True).stdout
        self.succeed(*self.QUICK, "--binary-out", self.path("p.bin"))
        with open(self.path("p.bin"), "rb") as file:
            self.assertEqual(file.read(), binary)

    def test_a_plan_may_come_from_standard_input(self):
        plan = self.succeed(*self.QUICK, "-o", "-").stdout
        for verb in ("verify", "explain"):
            self.succeed(verb, "-", input=plan)
        refused = self.refuse(3, "E0230", "verify", "-", input=plan[:200])
        self.assertIn("standard input", refused.stderr)
        self.assertNotIn("/pantoum-", refused.stderr)

    def test_what_cannot_be_is_refused(self):
        both = self.run_cli(*self.QUICK, "-o", "-", "--format", "json")
        self.assertEqual((both.returncode, both.stdout, json.loads(both.stderr)["error"]), (2, "", "E0117"))
        for words in ((*self.QUICK, "-o", "-", "--binary-out", "-"),
                      ("train", MODEL, "--data", self.folder, "-o", "-"), ("sweep", MODEL, "--ram", "1MiB", "-o", "-")):
            self.assertEqual(self.refuse(2, "E0117", *words).stdout, "")

    def test_nothing_is_left_in_the_temporary_folder(self):
        os.makedirs(self.path("tmp"))
        self.succeed(*self.QUICK, "-o", "-", env={**os.environ, "TMPDIR": self.path("tmp")})
        self.assertEqual(os.listdir(self.path("tmp")), [])


class EarlyErrors(House):
    """Every option that names a file or a folder is looked at before anything is read or planned."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        mistakes.make_folder(cls.folder)

    def test_each_is_named(self):
        plan, wrong = "kept.json", "table.csv/x"  # a file is no folder
        usual = {"inspect": ["net.onnx"], "plan": ["net.onnx"], "sweep": ["net.onnx", "--ram", "1MiB", "--output", "s"],
                 "train": ["net.onnx", "--data", "images", "--output", "w"], "export": ["net.onnx", "--weights", "w0.safetensors", "--output", "o"],
                 "emit": [plan, "--target", "posix", "--output", "f"], "explain": [plan], "verify": [plan], "report": [plan, "--output", "r"]}
        asked = []
        for verb, words in usual.items():
            text = self.succeed(verb, "--help-all").stdout
            for option in re.findall(r"^  (?:-\w, )?(--[\w-]+) (?:FILE|DIR|PATH)\b", text, re.MULTILINE):
                given = list(words)
                if option in given:
                    given[given.index(option) + 1] = wrong
                else:
                    given += [option, wrong]
                done = self.run_cli(verb, *given, cwd=self.folder)
                self.assertIn(done.returncode, (2, 3, 9), f"{verb} {option}")
                self.assertIn(f"--> {option} {wrong}\n", done.stderr, f"{verb} {option}")
                asked.append((verb, option))
        self.assertGreater(len(asked), 35)

    def test_positionals_too(self):
        for verb in ("inspect", "plan", "explain", "verify", "run-firmware"):
            done = self.run_cli(verb, self.path("absent"))
            self.assertEqual(done.returncode, 3, verb)
            self.assertRegex(done.stderr, r"--> [A-Z]+ ")


if __name__ == "__main__":
    unittest.main()
