"""README, get-started and the how-to pages: their marked commands run, in their order, and each page's in a folder of its own."""
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pages  # noqa: E402

sys.path.insert(0, os.path.join(pages.ROOT, "tests", "e2e"))
from house import MODEL, PANTOUM, House, make_data  # noqa: E402

FASHION = "/usr/share/datasets/fashion-mnist"
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

    def page(self, name):
        """Runs what is marked; blocks that need what is not here are told and left out."""
        marked = [(mark, language, code) for mark, language, code in pages.blocks(pages.read("docs", name)) if mark]
        self.assertTrue(marked, f"{name} has no marked block")
        self.assertFalse([mark for mark, _, _ in marked if not re.fullmatch(r"run|torch|numpy|fails \d+", mark)])
        make_data(os.path.join(self.work, "fashion"), 512, 128)
        for folder in ("examples", "devices"):
            os.symlink(os.path.join(pages.ROOT, folder), os.path.join(self.work, folder))
        absent = {name for mark, _, _ in marked for name in missing(mark)}
        if absent:
            self.skipTest(f"not on this machine: {', '.join(sorted(absent))}")
        for mark, language, code in marked:
            self.block(name, mark, language, code)

    def test_five_lines_of_the_readme(self):
        make_data(os.path.join(self.work, "fashion"), 512, 128)
        shutil.copy(MODEL, os.path.join(self.work, "net.onnx"))
        lines = [code for _, _, code in pages.blocks(pages.read("README.md")) if code.startswith("pantoum inspect")]
        self.assertEqual([len(code.splitlines()) for code in lines], [5])
        self.block("README.md", "run", "", lines[0].replace("DIR", FASHION))

    def test_get_started(self):
        self.page("get-started.md")
        self.assertTrue(os.path.getsize(os.path.join(self.work, "report.html")))
        self.assertTrue(os.path.getsize(os.path.join(self.work, "trained.onnx")))


def how_to(name):
    return lambda self: self.page(os.path.join("how-to", name))


for each in sorted(os.listdir(os.path.join(pages.ROOT, "docs", "how-to"))):
    setattr(Pages, f"test_{each[:-3].replace('-', '_')}", how_to(each))


class Readme(unittest.TestCase):
    def test_it_is_one_screen_and_what_follows(self):
        text = pages.read("README.md")
        self.assertLessEqual(len(text.splitlines()), 120)
        pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text.split("\n## ")[0])
        self.assertEqual([os.path.basename(picture) for picture in pictures], ["bench-resnet18.svg", "report-light.png"])
        self.assertNotIn("| what | figure |", text)


if __name__ == "__main__":
    unittest.main()
