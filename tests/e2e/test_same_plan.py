"""The same command with --effort gives the same bytes, however busy the machine is: plans, refusals, and what is printed."""
import pathlib
import subprocess
import sys
import unittest

from house import MODEL, House

BURN = "while True: pass"
COMMANDS = {
    "page and recompute": ("--ram", "700KiB"),
    "time": ("--ram", "700KiB", "--objective", "time"),
    "other graphs": ("--ram", "1MiB", "--optimizer", "adam", "--allow-numerics-change"),
    "deadline": ("--ram", "700KiB", "--deadline", "1.5x"),
    "of a board": ("--ram", "640KiB", "--device", "m4"),
    "too little": ("--ram", "100KiB"),
}


class SamePlan(House):
    def answers(self):
        """What each command printed and wrote."""
        found = {}
        for name, words in COMMANDS.items():
            out = pathlib.Path(self.path("plan.json"))
            out.unlink(missing_ok=True)
            done = self.run_cli("plan", MODEL, "--batch", 8, "--kernels", "portable", "--threads", 2, "--effort", 3, *words, "--format", "json", "-o", out)
            found[name] = (done.returncode, done.stdout, done.stderr, out.read_bytes() if out.exists() else b"")
        return found

    def test_load_changes_no_byte(self):
        expected = self.answers()
        self.assertEqual({name: answer[0] for name, answer in expected.items() if answer[0]}, {"too little": 5})
        burning = [subprocess.Popen([sys.executable, "-c", BURN]) for _ in range(6)]
        try:
            found = self.answers()
        finally:
            for process in burning:
                process.kill()
                process.wait()
        for name, answer in expected.items():
            with self.subTest(name):
                self.assertEqual(found[name], answer)


if __name__ == "__main__":
    unittest.main()
