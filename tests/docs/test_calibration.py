"""The graphs of PORT's combinations of engines have the sums that PORT publishes, whatever the network is (bench/engine_port.py)."""
import os
import random
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench"))
import engine_port  # noqa: E402


def network(seed, ops=120):
    """Names and seconds of ops, a few of them most of the step."""
    draw = random.Random(seed)
    return [f"op{seed}.{number}" for number in range(ops)], [draw.lognormvariate(0, 1.5) for _ in range(ops)]


class Calibration(unittest.TestCase):
    def test_sums_are_the_published_ones(self):
        for seed in range(10):
            names, weights = network(seed)
            for step, published in engine_port.STEPS.items():
                seconds = engine_port.calibrated(names, weights, published["ms"])
                for engines, ms in published["ms"].items():
                    if engines.count("+") == 2:  # PORT's own is no optimum
                        self.assertLessEqual(1e3 * engine_port.lesser(*seconds.values()), ms * (1 + engine_port.EXACT), step)
                        continue
                    self.assertAlmostEqual(1e3 * engine_port.lesser(*(seconds[engine] for engine in engines.split("+"))), ms, places=6, msg=f"{step} {engines}")
                self.assertGreater(min(min(column) for column in seconds.values()), 0)

    def test_gains_of_the_orin(self):
        for seed in range(10):
            names, weights = network(seed)
            for gain in engine_port.ORIN.values():
                for slower in engine_port.SLOWER:
                    seconds = engine_port.calibrated_pair(names, weights, gain, slower)
                    self.assertAlmostEqual(sum(seconds["gpu"]), engine_port.UNIT)
                    self.assertAlmostEqual(sum(seconds["cpu"]), slower * engine_port.UNIT)
                    self.assertAlmostEqual(engine_port.lesser(seconds["cpu"], seconds["gpu"]), engine_port.UNIT / gain)

    def test_sums_that_no_times_have_are_refused(self):
        names, weights = network(1)
        for pair in (41.03, 0):  # more than the faster engine alone; nothing
            with self.assertRaises(ValueError):
                engine_port.calibrated(names, weights, {"cpu": 41.02, "gpu": 119.18, "ane": 74.27, "cpu+ane": pair})


if __name__ == "__main__":
    unittest.main()
