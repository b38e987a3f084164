"""The site of docs/ builds without a warning, holds every page, and loads nothing from another host."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pages  # noqa: E402

sys.path.append(os.path.join(pages.ROOT, "tests", "report"))
import browser  # noqa: E402

MKDOCS = os.path.join(pages.ROOT, "build", "docs-venv", "bin", "mkdocs")
RESOURCE = re.compile(r"<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*?\b(?:src|data)=[\"']?(https?:|//)|"
                      r"<link\b(?=[^>]*\brel=[\"']?(?:stylesheet|preload|preconnect|icon|manifest|prefetch|dns-prefetch))[^>]*?href=[\"']?(https?:|//)|"
                      r"url\([\"']?(https?:|//)|@import")


def build(config, to):
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run([MKDOCS, "build", "--strict", "-f", config, "-d", to], env=quiet, capture_output=True, text=True, timeout=300)


class Resources(unittest.TestCase):
    """The test itself: what is a load, and what is a link."""

    def test_a_load_is_found(self):
        for text in ('<script src="https://a.org/x.js">', '<link rel="stylesheet" href="https://a.org/x.css">', "<img alt=a src=//a.org/x.png>",
                     "@import 'x'", "url(https://a.org/f.woff)", '<link href="https://a.org" rel="preconnect">'):
            self.assertTrue(RESOURCE.search(text), text)

    def test_a_link_is_none(self):
        for text in ('<a href="https://a.org">', '<script src="assets/x.js">', '<link rel="canonical" href="https://a.org">', "url(#tip)"):
            self.assertFalse(RESOURCE.search(text), text)


@unittest.skipUnless(os.path.exists(MKDOCS), "MkDocs is not here: make docs-tools (it needs PyPI)")
class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.done = build(os.path.join(pages.ROOT, "mkdocs.yml"), cls.folder)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def files(self, ending):
        return glob.glob(os.path.join(self.folder, "**", "*" + ending), recursive=True)

    def test_it_builds_without_a_warning(self):
        self.assertEqual(self.done.returncode, 0, self.done.stdout + self.done.stderr)
        self.assertNotRegex(self.done.stdout + self.done.stderr, "WARNING|ERROR")

    def test_every_page_is_in_it_and_in_the_search(self):
        with open(os.path.join(self.folder, "search", "search_index.json"), encoding="utf-8") as file:
            found = {entry["location"].split("#")[0] for entry in json.load(file)["docs"]}
        for page in pages.pages()[1:]:
            html = page[len("docs/"):-len(".md")].replace("README", "index") + ".html"
            self.assertTrue(os.path.exists(os.path.join(self.folder, html)), html)
            self.assertTrue({html, re.sub(r"index\.html$", "", html)} & found, html)

    def test_it_loads_nothing_from_another_host(self):
        self.assertGreater(len(self.files(".html")), 50)
        for path in self.files(".html") + self.files(".css"):
            with open(path, encoding="utf-8") as file:
                load = RESOURCE.search(file.read())
            self.assertIsNone(load, f"{os.path.relpath(path, self.folder)}: {load and load.group()[:120]}")

    @unittest.skipUnless(browser.find(), "no Chromium (apt-get install chromium): the site is not looked at")
    def test_it_is_light_or_dark_as_the_system_asks(self):
        """At the first visit, and at the next ones after the system has changed."""
        window = browser.Browser()
        scheme = """new Promise(done => { const until = Date.now() + 20000, wanted = %r;
          const ask = () => document.body.dataset.mdColorScheme === wanted || Date.now() > until ? done(document.body.dataset.mdColorScheme) : setTimeout(ask, 50); ask(); })"""
        try:
            for system, wanted in (("dark", "slate"), ("light", "default"), ("dark", "slate")):
                window.open(os.path.join(self.folder, "index.html"), 1280, system)
                self.assertEqual(window.run(scheme % wanted), wanted)
        finally:
            window.close()

    def test_links_and_pictures_lead_somewhere(self):
        for path in self.files(".html"):
            with open(path, encoding="utf-8") as file:
                links = re.findall(r"(?:href|src)=\"([^\"#?]+)", file.read())
            for link in links:
                if not re.match(r"[a-z]+:|/", link):
                    target = os.path.normpath(os.path.join(os.path.dirname(path), link))
                    self.assertTrue(os.path.exists(target), f"{os.path.relpath(path, self.folder)}: {link}")


@unittest.skipUnless(os.path.exists(MKDOCS), "MkDocs is not here: make docs-tools (it needs PyPI)")
class Strict(unittest.TestCase):
    def test_a_link_that_leads_nowhere_ends_the_build(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "docs"))
            text = pages.read("mkdocs.yml")
            config = re.sub(r"\nhooks: .*", "", text[:text.index("\nnav:")]).replace("extra_css: [assets/site.css]\n", "")
            with open(os.path.join(folder, "mkdocs.yml"), "w", encoding="utf-8") as file:
                file.write(config + "\n")
            with open(os.path.join(folder, "docs", "index.md"), "w", encoding="utf-8") as file:
                file.write("# Home\n\n[away](away.md)\n")
            done = build(os.path.join(folder, "mkdocs.yml"), os.path.join(folder, "site"))
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("away.md", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
