"""Instructions of the portable products on aarch64, which QEMU counts exactly, are at most what docs/benchmarks.md says; every algorithm gives the reference's bits there."""
import os
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench", "aarch64"))
import count  # noqa: E402

FOLDER = os.path.join(ROOT, "build", "aarch64-count")
# One of each kind of product; bench/aarch64 asks all.
ASKED = ("BERT-mini: product 256 x 256 to 256", "ResNet-18: 64, 32 x 32, 3 x 3", "ResNet-18: 256, 8 x 8, 3 x 3", "MobileNetV2: 160 to 960, 7 x 7, 1 x 1")
# samples, channels, outputs, height and width, kernel, stride, groups: tiles that are not full, phases without a part of the kernel, one channel
ODD = ((2, 5, 7, 9, 3, 1, 1), (1, 3, 13, 11, 3, 2, 1), (2, 6, 4, 8, 1, 2, 1), (1, 8, 8, 10, 5, 3, 2), (1, 6, 6, 7, 3, 2, 6), (1, 70, 66, 6, 3, 2, 1), (1, 17, 65, 5, 3, 1, 1))


@unittest.skipIf(count.missing(["aarch64"]), "a cross compiler or QEMU is not installed")
class Instructions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.counter = count.Counter("aarch64", FOLDER)

    def test_a_multiply_accumulate_takes_at_most_three_quarters_of_an_instruction(self):
        asked = [case for case in count.CASES if case.name.startswith(ASKED) and case.most is not None]
        self.assertEqual(12, len(asked))
        for case in asked:
            with self.subTest(case.name):
                instructions, _ = self.counter.count(case, "blocked")
                self.assertGreater(instructions, .5 * case.work)  # a multiplication and an addition for each four
                self.assertLessEqual(instructions, case.most * case.work)

    def test_every_algorithm_of_a_convolution_gives_the_same_bits(self):
        for sizes in ODD:
            for op in ("conv2d", "conv2d_dx", "conv2d_dw"):
                with self.subTest(op, sizes=sizes):
                    words, work = count.convolution(op, *sizes)
                    case = count.Case(str(sizes), op, words, work, None)
                    self.assertEqual(1, len({self.counter.count(case, algorithm)[1] for algorithm in ("reference", "blocked", "compact")}))

    def test_every_algorithm_of_a_product_gives_the_same_bits(self):
        for rows, inputs, outputs in ((1, 7, 3), (5, 70, 33), (12, 3, 47), (9, 130, 8)):
            for case in count.products("odd", rows, inputs, outputs):
                with self.subTest(case.name):
                    self.assertEqual(1, len({self.counter.count(case, algorithm)[1] for algorithm in ("reference", "blocked", "compact")}))


if __name__ == "__main__":
    unittest.main()
