"""examples/reinforcement-learning: one C program predicts and trains until a pole stands."""
import os
import re
import shutil
import unittest

from example import PANTOUM, Example, main

LIBRARY = os.path.join(os.path.dirname(os.path.dirname(PANTOUM)), "lib", "libpantoum.so")


class ReinforcementLearning(Example):
    name = "reinforcement-learning"

    @unittest.skipUnless(shutil.which("cc") and os.path.exists(LIBRARY), "no cc, or libpantoum is not built")
    def test_the_pole_stands(self):
        said = self.run_script()
        after, before = (float(each) for each in re.search(r"stands for ([\d.]+) of 500 moments, before for ([\d.]+)", said).groups())
        self.assertGreaterEqual(after, 195)
        self.assertLess(before, 60)
        arena, unplanned = (float(each) for each in re.search(r"RAM ([\d.]+) KiB, without a plan ([\d.]+) KiB", said).groups())
        self.assertLess(arena, unplanned)
        self.assertGreater(os.path.getsize(self.path("my run", "trained.safetensors")), 4000)


if __name__ == "__main__":
    main()
