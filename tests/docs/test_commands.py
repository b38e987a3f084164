"""Every command of every page: the verb exists, and so does each option of it."""
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pages  # noqa: E402

sys.path.insert(0, os.path.join(pages.ROOT, "tests", "e2e"))
from house import House  # noqa: E402

NO_VERBS = {"verb", "help"}  # `pantoum VERB --help`, `pantoum help VERB`
EVERYWHERE = {"--help", "--version", "--format"}


def words_of(help_text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", help_text))


class Finding(unittest.TestCase):
    """The test itself."""

    def test_calls_in_blocks_and_in_code(self):
        text = "see `pantoum plan net.onnx --ram 1KiB`\n\n```sh\npantoum train net.onnx --lr 1 \\\n  --epochs 2  # --not-this\n```\n"
        self.assertEqual([(verb, sorted(words_of(words))) for verb, words in pages.calls(text)], [("train", ["--epochs", "--lr"]), ("plan", ["--ram"])])

    def test_marks(self):
        text = "<!-- test: run -->\n```sh\npantoum doctor\n```\n\n```\nanswer\n```\n<!-- test: fails 5 -->\n```sh\npantoum plan\n```\n"
        self.assertEqual(pages.blocks(text), [("run", "sh", "pantoum doctor\n"), ("", "", "answer\n"), ("fails 5", "sh", "pantoum plan\n")])

    def test_calls_behind_others(self):
        text = "```sh\n$ A=1 pantoum plan --ram 1B && time pantoum doctor; x=$(pantoum devices --format json) | pantoum verify -\n```\n"
        self.assertEqual([verb for verb, _ in pages.calls(text)], ["plan", "doctor", "devices", "verify"])

    def test_paths_and_packages_are_no_calls(self):
        self.assertEqual(pages.calls("```\nbuild/release/bin/pantoum plan\ngit clone URL pantoum && cd pantoum\npkg-config --libs pantoum pantoum-rt\n```\n"), [])


class Commands(House):
    def test_verbs_and_options_of_every_page_exist(self):
        verbs = {name.replace("_", "-") for name in re.findall(r"^void add_(\w+)\(CommandLine& line\);", pages.read("src", "cli", "cli.h"), re.MULTILINE)}
        self.assertIn("train", verbs)
        known = {verb: words_of(self.succeed(verb, "--help").stdout) | EVERYWHERE for verb in verbs}
        self.assertIn("--ram", known["train"])
        wrong, found = [], 0
        for page in pages.pages():
            for verb, words in pages.calls(pages.read(page)):
                found += 1
                if verb not in verbs | NO_VERBS:
                    wrong.append(f"{page}: pantoum {verb}")
                wrong += [f"{page}: pantoum {verb} {option}" for option in words_of(words) - known.get(verb, set()) if verb in verbs]
        self.assertGreater(found, 60)
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
