"""examples/check.py: it ends with 1 where a figure, or the budget, is missed."""
import json
import os
import subprocess
import sys
import unittest

from example import EXAMPLES, House

END = {"event": "end", "test_accuracy": 0.9, "arena_bytes": 1000, "budget_bytes": 2000, "unplanned_peak_bytes": 3000}
DEVICE = {"event": "device", "board": "b", "ram_bytes": 1000, "ram_total_bytes": 2000, "equal_bits": True}


class Check(House):
    def outcome(self, *events, asked=("test_accuracy", ">=", "0.9"), other=None):
        with open(self.path("run.jsonl"), "w", encoding="utf-8") as file:
            file.write("".join(json.dumps(event) + "\n" for event in events))
        more = []
        if other is not None:
            more = [self.path("other.json")]
            with open(more[0], "w", encoding="utf-8") as file:
                json.dump({"unplanned_peak_bytes": other}, file)
        return subprocess.run([sys.executable, os.path.join(EXAMPLES, "check.py"), self.path("run.jsonl"), *asked, *more], capture_output=True).returncode

    def test_it_misses_what_is_missed(self):
        self.assertEqual(self.outcome(END), 0)
        self.assertEqual(self.outcome({**END, "test_accuracy": 0.89}), 1)
        self.assertEqual(self.outcome({**END, "arena_bytes": 2001}), 1)
        self.assertEqual(self.outcome({**END, "unplanned_peak_bytes": 2000}), 1)
        self.assertEqual(self.outcome({**END, "unplanned_peak_bytes": 2000}, other=2001), 0)
        self.assertEqual(self.outcome({**END, "test_mae": 0.4}, asked=("test_mae", "<=", "0.4")), 0)
        self.assertEqual(self.outcome({**END, "test_mae": 0.41}, asked=("test_mae", "<=", "0.4")), 1)
        self.assertEqual(self.outcome(END, asked=("test_mae", "<=", "0.4")), 1)

    def test_it_holds_a_board_to_its_ram_and_to_its_bits(self):
        end = {key: END[key] for key in ("event", "test_accuracy")}
        self.assertEqual(self.outcome(DEVICE, end), 0)
        self.assertEqual(self.outcome({**DEVICE, "ram_bytes": 2001}, end), 1)
        self.assertEqual(self.outcome({**DEVICE, "equal_bits": False}, end), 1)


if __name__ == "__main__":
    unittest.main()
