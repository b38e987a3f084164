"""The program parses every command line of every page: its verb, its options, and their values."""
import functools
import glob
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pages  # noqa: E402

sys.path.insert(0, os.path.join(pages.ROOT, "tests", "e2e"))
from house import PANTOUM, House  # noqa: E402

# Pages that name options of other programs.
OF_OTHERS = ("bench/", "tests/")
# A mention need not be a whole command line: what it leaves out is no fault of it.
INCOMPLETE = re.compile(r"error\[E0100\]: [^\n]*( (is|are) missing| needs a value: \w+)$", re.MULTILINE)
VERBS = ("train", "plan", "sweep", "profile", "inspect", "emit", "run-firmware", "report", "export", "explain", "verify", "doctor", "devices", "completion")


@functools.cache
def refusal(words, incomplete=False):
    """What the program says against a command line; "": nothing. With `incomplete`, words may be missing."""
    done = subprocess.run([PANTOUM, "--only-parse", *words], capture_output=True, text=True)
    return "" if done.returncode == 0 or (incomplete and INCOMPLETE.search(done.stderr)) else done.stderr


def refusal_of_mention(words):
    if not words[0].startswith("--"):
        return "" if len(words) == 1 else refusal(words, incomplete=True)
    reasons = [refusal((verb, *words), incomplete=True) for verb in VERBS[:1]]
    if reasons[0]:
        reasons += [refusal((verb, *words), incomplete=True) for verb in VERBS[1:]]
    return "" if "" in reasons else min(reasons, key=lambda reason: "is not an option of" in reason)


class Finding(unittest.TestCase):
    """The test itself."""

    def test_calls_in_blocks(self):
        text = "```sh\npantoum train net.onnx --lr 1 \\\n  --freeze 'fc.*'  # --not-this\n```\n"
        self.assertEqual(pages.calls(text), [["train", "net.onnx", "--lr", "1", "--freeze", "fc.*"]])

    def test_mentions(self):
        text = "see `pantoum plan net.onnx --ram 1KiB`, `--early-stop N` and `make run`\n\n```sh\npantoum doctor `x`\n```\n"
        self.assertEqual(pages.mentions(text), [["plan", "net.onnx", "--ram", "1KiB"], ["--early-stop", "1"]])

    def test_marks(self):
        text = "<!-- test: run -->\n```sh\npantoum doctor\n```\n\n```\nanswer\n```\n<!-- test: fails 5 -->\n```sh\npantoum plan\n```\n"
        self.assertEqual(pages.blocks(text), [("run", "sh", "pantoum doctor\n"), ("", "", "answer\n"), ("fails 5", "sh", "pantoum plan\n")])

    def test_calls_behind_others(self):
        text = "```sh\n$ A=1 pantoum plan --ram 1B && time pantoum doctor; x=$(pantoum devices --format json) | pantoum verify - > out.txt\n```\n"
        self.assertEqual([words[0] for words in pages.calls(text)], ["plan", "doctor", "devices", "verify"])
        self.assertEqual(pages.calls(text)[3], ["verify", "-"])

    def test_paths_and_packages_are_no_calls(self):
        self.assertEqual(pages.calls("```\nbuild/release/bin/pantoum plan\ngit clone URL pantoum && cd pantoum\npkg-config --libs pantoum pantoum-rt\n```\n"), [])


class Commands(House):
    maxDiff = None

    def test_what_is_wrong_is_found(self):
        for words in (("plan", "net.onnx", "--rum", "1KiB"), ("plan", "net.onnx", "--seed", "x"), ("plan", "net.onnx", "--gap"), ("plann", "net.onnx"), ("plan", "a", "b")):
            self.assertTrue(refusal(words), words)
        for words in (("--rum", "1KiB"), ("--seed", "x"), ("plan", "--rum", "1"), ("plann", "net.onnx")):
            self.assertTrue(refusal_of_mention(words), words)
        for words in (("--ram",), ("--seed", "1"), ("plan", "--ram", "1KiB"), ("--target", "cortex-m3")):
            self.assertEqual(refusal_of_mention(words), "", words)

    def test_every_command_line_is_parsed(self):
        wrong, found = [], 0
        for page in pages.every_page():
            text = pages.read(page)
            for words in pages.calls(text):
                found += 1
                wrong.append((page, "pantoum " + " ".join(words), refusal(tuple(words))))
            for words in pages.mentions(text):
                if words[0] != "help" and not (words[0].startswith("--") and page.startswith(OF_OTHERS)):
                    wrong.append((page, " ".join(words), refusal_of_mention(tuple(words))))
        self.assertGreater(found, 60)
        self.assertEqual("\n".join(f"{page}: {line}\n  {reason}" for page, line, reason in wrong if reason), "")

    def test_no_index_is_asked_for_this_package(self):
        asks = re.compile(r"pip install [^\n`]*(?<![\w./-])pantoum(?![\w/-])")
        self.assertTrue(asks.search("pip install 'pantoum[torch]'") and not asks.search("pip install out/wheel/pantoum-0.1.0-cp311.whl"))
        beside = [os.path.relpath(path, pages.ROOT) for folder in ("examples", "python/pantoum") for path in
                  glob.glob(os.path.join(pages.ROOT, folder, "**", "*.*"), recursive=True) if path.endswith((".py", ".sh", ".toml", ".ipynb", ".cmake"))]
        self.assertGreater(len(beside), 60)
        self.assertEqual([page for page in pages.every_page() + beside if asks.search(pages.read(page))], [])


if __name__ == "__main__":
    unittest.main()
