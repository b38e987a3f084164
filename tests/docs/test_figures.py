"""Figures of the pages for users have a source: an expression over recorded results or over the code that is true, a code block, or a test that prints them."""
import fnmatch
import glob
import json
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pages  # noqa: E402

HOLDS = re.compile(r"<!-- holds: (.*?) -->", re.DOTALL)
TABLE = re.compile(r"<!-- ([\w-]+) -->\n.*?<!-- end \1 -->", re.DOTALL)  # written by bench/charts/tables.py; test_charts.py compares it
FIGURE = re.compile(r"(?<![\w.])(\d[\d,]*(?:\.\d+)?)(?= ?(?:[kKMG]i?B|[num]?s|min|(?:minute|hour|second)s?|mJ|J|W|%)(?![\w/]))|(?<![\w.])(\d[\d,]*\.\d+)(?![\w.]*\w)")
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")
# Pages for developers have what was measured once and decided a design, and say so.
DEVELOPERS = ("docs/design/*", "docs/adding-*", "docs/limits.md", "docs/switches.md", "docs/substitutions.md", "docs/plan-format.md", "docs/algorithms.md",
              "docs/torch-graph.md")


def rows():
    found = {}
    for path in sorted(glob.glob(os.path.join(pages.ROOT, "docs", "results", "*.json"))):
        with open(path, encoding="utf-8") as file:
            found |= {row["name"]: row["value"] for row in json.load(file).get("rows", []) if "name" in row}
    return found


def sources():
    """What an expression may ask for: value("row"), values("rows by *"), text("file"), files("pattern"); saving("row of {}", "a", "b"): how many percent a is below b,
    of two overheads in percent."""
    known = rows()

    def values(pattern):
        found = [value for name, value in known.items() if fnmatch.fnmatchcase(name, pattern)]
        if not found:
            raise KeyError(pattern)
        return found

    def saving(row, less, more):
        return round(100 - 100 * (100 + known[row.format(less)]) / (100 + known[row.format(more)]), 1)

    return {"saving": saving, "value": known.__getitem__, "values": values, "text": pages.read, "files": lambda pattern: glob.glob(os.path.join(pages.ROOT, pattern))}


def figures(paragraph):
    """The numbers of a paragraph that measure something: those with a unit, and decimals. What stands in `code` or in a link is none."""
    prose = re.sub(r"`[^`]*`|\]\([^)]*\)|<!--.*?-->", " ", paragraph, flags=re.DOTALL)
    return {(found.group(1) or found.group(2)).replace(",", "") for found in FIGURE.finditer(prose)}


def numbers(text):
    return {each.replace(",", "") for each in NUMBER.findall(text)}


def of_prose(text):
    """The figures of a page outside of its blocks and tables, but for those of which an expression tells."""
    prose = TABLE.sub("", pages.BLOCK.sub("", text))
    return {each for paragraph in re.split(r"\n\s*\n", prose) for each in figures(paragraph) if not HOLDS.search(paragraph)}


def unsourced(text):
    """The figures of a page that no expression and no code block has."""
    in_blocks = {number for _, _, body in pages.blocks(text) for number in re.findall(r"\d+(?:\.\d+)?", body)}
    in_code = {number for body in pages.INLINE.findall(text) for number in re.findall(r"\d+(?:\.\d+)?", body)}
    prose = TABLE.sub("", pages.BLOCK.sub("", text))
    prose = re.sub(r"\n+(<!-- holds)", r"\n\1", prose)  # an expression belongs to what is before it
    found = []
    for paragraph in re.split(r"\n\s*\n", prose):
        said = {number for expression in HOLDS.findall(paragraph) for number in numbers(expression)}
        found += sorted(figures(paragraph) - said - in_blocks - in_code)
    return found


class Finding(unittest.TestCase):
    """The test itself."""

    def test_figures(self):
        self.assertEqual(figures("in 10 MiB, 3.5 times, 20% of 12 steps, `64MiB`, 1,024 KiB, at 0.69."), {"10", "3.5", "20", "1024", "0.69"})
        self.assertEqual(figures("Debian 12, PyTorch 2, opset 11 to 21, E0301, [x](a.md#10-mib)"), set())

    def test_a_figure_without_a_source_is_found(self):
        self.assertEqual(unsourced("It takes 10 MiB.\n"), ["10"])
        self.assertEqual(unsourced("It takes 10 MiB. <!-- holds: value('x') <= 10 -->\n"), [])
        self.assertEqual(unsourced("It takes 10 MiB.\n\n<!-- holds: value('x') <= 10 -->\n\nAnd 11 MiB.\n"), ["11"])
        self.assertEqual(unsourced("It takes 10 MiB.\n\n```sh\npantoum plan --ram 10MiB\n```\n"), [])


class Figures(unittest.TestCase):
    def users_pages(self):
        return [page for page in pages.pages() if not any(fnmatch.fnmatch(page, pattern) for pattern in DEVELOPERS)]

    def test_every_expression_holds(self):
        known, found = sources(), 0
        for page in pages.pages():
            for expression in HOLDS.findall(pages.read(page)):
                found += 1
                with self.subTest(f"{page}: {expression}"):
                    self.assertIs(bool(eval(expression, {**known})), True)  # written in this repository
        self.assertGreater(found, 20)

    def test_every_figure_has_a_source(self):
        wrong = {page: unsourced(pages.read(page)) for page in self.users_pages()}
        self.assertEqual({page: found for page, found in wrong.items() if found}, {})


if __name__ == "__main__":
    unittest.main()
