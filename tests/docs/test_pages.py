"""The marked blocks of every page run, in their order, and each page's in a folder of its own; what a page says that they print, they print."""
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pages  # noqa: E402
import test_figures  # noqa: E402

sys.path.insert(0, os.path.join(pages.ROOT, "tests", "e2e"))
from house import MODEL, PANTOUM, House, make_data  # noqa: E402

FASHION = "/usr/share/datasets/fashion-mnist"
# What a new user reads first: a figure of their prose is one that stands in a command of the page or that the commands print.
FIRST = ("docs/get-started.md", "docs/how-to/own-network.md")
NEEDS = {"torch": ("torch", "onnx", "numpy"), "numpy": ("numpy",)}


def missing(mark):
    return [name for name in NEEDS.get(mark, ()) if importlib.util.find_spec(name) is None]


class Pages(House):
    def setUp(self):
        self.work = tempfile.mkdtemp(dir=self.folder)

    def block(self, page, mark, language, code):
        code = code.replace(FASHION, os.path.join(self.work, "fashion"))
        words = [sys.executable, "-c", code] if language == "python" else ["bash", "-euo", "pipefail", "-c", code]
        with_pantoum = {**os.environ, "PATH": os.path.dirname(PANTOUM) + os.pathsep + os.environ["PATH"]}
        done = subprocess.run(words, cwd=self.work, env=with_pantoum, capture_output=True, text=True, timeout=600)
        wanted = int(mark.split()[1]) if mark.startswith("fails ") else 0
        self.assertEqual(done.returncode, wanted, f"{page}\n{code}\n{done.stdout}\n{done.stderr}")
        return done.stdout + done.stderr

    def page(self, name):
        """Runs what is marked; blocks that need what is not here are told and left out."""
        marked = [(mark, language, code) for mark, language, code in pages.blocks(pages.read(name)) if mark]
        self.assertFalse([mark for mark, _, _ in marked if not re.fullmatch(r"run|torch|numpy|fails \d+|prints( within \d+%)?", mark)])
        make_data(os.path.join(self.work, "fashion"), 512, 128)
        for folder in ("examples", "devices"):
            os.symlink(os.path.join(pages.ROOT, folder), os.path.join(self.work, folder))
        absent = {each for mark, _, _ in marked for each in missing(mark)}
        if absent:
            self.skipTest(f"not on this machine: {', '.join(sorted(absent))}")
        printed, said, begin = "", "", time.monotonic()
        for mark, language, code in marked:
            if mark.startswith("prints"):
                share = int(re.search(r"\d+|$", mark).group() or 0) / 100
                self.assertEqual([line for line in code.splitlines() if not any(agrees(line, other, share) for other in printed.splitlines())], [],
                                 f"{name} has lines that were not printed:\n{printed}")
            else:
                printed = self.block(name, mark, language, code)
                said += code + printed
        print(f"{name}: {time.monotonic() - begin:.1f} s", file=sys.stderr)
        if name in FIRST:
            self.assertEqual(sorted(test_figures.of_prose(pages.read(name)) - set(re.findall(r"\d+(?:\.\d+)?", said))), [], f"{name} has figures that no command has or prints")

    def test_five_lines_of_the_readme(self):
        make_data(os.path.join(self.work, "fashion"), 512, 128)
        shutil.copy(MODEL, os.path.join(self.work, "net.onnx"))
        lines = [code for _, _, code in pages.blocks(pages.read("README.md")) if code.startswith("pantoum inspect")]
        self.assertEqual([len(code.splitlines()) for code in lines], [5])
        self.block("README.md", "run", "", lines[0].replace("DIR", FASHION))

    def test_lines_agree(self):
        self.assertTrue(agrees("peak ... MiB", "  peak 12.5 MiB ", 0))
        self.assertTrue(agrees("peak 12.0 MiB", "peak 12.5 MiB", 0.05))
        self.assertFalse(agrees("peak 12.0 MiB", "peak 12.5 MiB", 0))
        self.assertFalse(agrees("peak 12.0 MiB", "peaks 12.0 MiB", 0.05))


def agrees(said, printed, share):
    """Whether a line that was printed is the one of the page: `...` is any text, a number may differ by the share."""
    number = r"\d+(?:\.\d+)?"
    said, printed = said.split("..."), printed
    pattern = ".*".join(f"({number})".join(re.escape(part) for part in re.split(number, each)) for each in said)
    found = re.fullmatch(rf"\s*{pattern}\s*", printed)
    wanted = [float(each) for part in said for each in re.findall(number, part)]
    return bool(found) and all(abs(float(got) - want) <= share * want + 1e-9 for got, want in zip(found.groups(), wanted))


def runs(page):
    return lambda self: self.page(page)


for each in pages.pages():
    if any(mark for mark, _, _ in pages.blocks(pages.read(each))):
        setattr(Pages, "test_" + re.sub(r"\W", "_", each.removeprefix("docs/")[:-3]), runs(each))


class Readme(unittest.TestCase):
    def test_it_is_one_screen_and_what_follows(self):
        text = pages.read("README.md")
        self.assertLessEqual(len(text.splitlines()), 120)
        pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text.split("\n## ")[0])
        self.assertEqual([os.path.basename(picture) for picture in pictures], ["bench-resnet18.svg", "report-light.png"])
        self.assertNotIn("| what | figure |", text)


if __name__ == "__main__":
    unittest.main()
