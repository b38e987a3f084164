"""A file that lies is refused in bounded time and memory: some of each format (hostile_files.py tries as many as it is told)."""
import unittest

import hostile_files
from house import House


class HostileFiles(House):
    def test_what_is_changed_is_whole_before(self):
        trial = hostile_files.Trial(self.folder)
        for name, data in trial.whole_files().items():
            code, _, _, said = trial.accepts(name, data)
            self.assertEqual(code, 0, f"{name}: {said}")

    def test_every_format_in_bounded_time_and_memory(self):
        trial = hostile_files.Trial(self.folder)
        self.assertFalse(trial.run(7, 1), "see hostile_files.py")
        self.assertEqual(trial.runs, 7 * len(trial.formats()))


if __name__ == "__main__":
    unittest.main()
