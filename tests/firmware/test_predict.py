"""A board that classifies after it has trained: the outputs' bits are those of this machine, and of an evaluation on the board."""
import os
import re
import shutil
import subprocess
import sys
import unittest

import workshop
from projects import Projects

sys.path.insert(0, os.path.join(workshop.ROOT, "tests", "e2e"))


class Predict(Projects):
    def told(self, plan, name, target, *words):
        folder, _ = self.emit(plan, name, target, *words)
        shutil.copy(os.path.join(workshop.PROGRAMS, "classify.c"), os.path.join(folder, "main.c"))
        done = self.make_run(folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("status 0", done.stdout)
        return done.stdout

    def test_outputs_on_a_board_are_the_bits_of_this_machine(self):
        for batch, *more in (4,), (1, "--params-in", "aux"):  # a board that learns one sample at a time; parameters in storage
            plan = self.plan(f"classify-{batch}", "--batch", batch, "--ram", "64KiB", "--reserve", "8KiB", *more)
            here = self.told(plan, f"here-{batch}", ("posix",), "--ram", "256KiB")
            board = self.told(plan, f"board-{batch}", ("cortex-m4f",), "--ram", "128KiB")
            scores = re.findall(r"^scores.*", here, re.MULTILINE)
            self.assertEqual(len(scores), 8)
            self.assertGreater(len(set(scores)), 1)
            self.assertEqual(re.findall(r"^scores.*", board, re.MULTILINE), scores)
            for text in here, board:
                right, alone, count = map(int, re.search(r"^classified right (\d+) alone as in its batch (\d+) of (\d+)", text, re.MULTILINE).groups())
                self.assertEqual(alone, count)
                self.assertIn(f"right {right} of {count}", re.sub(r" +", " ", text.split("classified", 1)[1].split("\n", 1)[1]))


if __name__ == "__main__":
    unittest.main()
