#!/usr/bin/env python3
"""Names that try to be more than names, in models, files, columns and classes: every output holds them as they are, or they are refused.

The names and the checks are those of tests/e2e/test_names.py, which tries fewer.
"""
import unittest

import job  # first: it names the folder of the import below
import test_names

NAMES = 1000


def names(work):
    test_names.NAMES = test_names.PER_MODEL if work.quick else NAMES
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(test_names.Names).run(result)
    faults = [f"{test}: {text}" for test, text in result.failures + result.errors]
    ways = "models, file names, columns, classes; no UTF-8"
    work.row("names", test_names.NAMES, faults, "names", note=f"{result.testsRun} tests of {ways}")


if __name__ == "__main__":
    job.main(names)
