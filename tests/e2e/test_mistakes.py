"""Mistakes of new users, and what they are told: what is wrong, where, what next. mistakes.txt holds the messages; --update writes it anew."""
import os
import re
import subprocess
import sys
import time
import unittest

import mistakes
from house import PANTOUM, ROOT, House

GOLDEN = os.path.join(ROOT, "tests", "e2e", "mistakes.txt")
SLOWEST = 20  # seconds, on a machine that does other things; nothing is planned for long


def told(folder, words):
    """(exit code, what it says), without what differs from machine to machine."""
    done = subprocess.run([PANTOUM, *words.split()], cwd=folder, capture_output=True, text=True, timeout=60)
    text = "".join(line for line in done.stderr.splitlines(True) if not line.startswith(("note: ", "warning: ")))
    return done.returncode, re.sub(r"\b(?=[0-9]*[a-f])[0-9a-f]{16}\b", "HASH", text)


def block(title, words, exit_code, text):
    return f"# {title}\n$ pantoum {words}\n{text}exit {exit_code}\n"


class Mistakes(House):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        mistakes.make_folder(cls.folder)

    def test_each_is_told_as_it_is_written(self):
        blocks, spent = [], {}
        for title, words in mistakes.MISTAKES:
            begun = time.monotonic()
            blocks.append(block(title, words, *told(self.folder, words)))
            spent[title] = time.monotonic() - begun
        self.assertLess(max(spent.values()), SLOWEST, max(spent, key=spent.get))
        if "--update" in UPDATE:
            with open(GOLDEN, "w", encoding="utf-8") as file:
                file.write("\n".join(blocks))
        with open(GOLDEN, encoding="utf-8") as file:
            written = file.read().split("\n\n")
        self.assertEqual(len(written), len(blocks), "run this program with --update, and read the difference")
        for now, then in zip(blocks, written):
            self.assertEqual(now.rstrip("\n"), then.rstrip("\n"))

    def test_each_says_what_where_and_what_next(self):
        with open(GOLDEN, encoding="utf-8") as file:
            blocks = file.read().split("\n\n")
        self.assertGreaterEqual(len(blocks), 40)
        for each in blocks:
            self.assertRegex(each, r"\nerror\[E0\d{3}\]: \S", each)
            self.assertRegex(each, r"\n  --> \S", each)
            self.assertRegex(each, r"\n  help: \S", each)
            self.assertRegex(each, r"\nexit [1-9]", each)
            self.assertNotRegex(each, r"\d{20}", "a number that says nothing") if "99999" not in each else None

    def test_nothing_is_left_behind(self):
        before = sorted(os.listdir(self.folder))
        for _, words in mistakes.MISTAKES[-20:]:
            told(self.folder, words)
        self.assertEqual(sorted(os.listdir(self.folder)), before)


UPDATE = [word for word in sys.argv if word == "--update"]

if __name__ == "__main__":
    sys.argv = [word for word in sys.argv if word != "--update"]
    unittest.main()
