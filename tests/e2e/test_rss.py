"""RAM grows by the budget and what docs/concepts/ram-budget.md names: 12 runs here, 200 by `make rss`."""
import unittest

import rss
from house import House


class Growth(House):
    def test_ram_grows_as_promised(self):
        found = rss.worst_of(12, seed=2)
        self.assertEqual(len(found), 12)
        self.assertLessEqual(found[0][0], rss.CONSTANT, found[0][1])


if __name__ == "__main__":
    unittest.main()
