"""Draws the pictures of docs/report.md anew: python3 tests/report/pictures.py (PANTOUM: the program). Needs Chromium, Pillow and DejaVu."""
import io
import os
import tempfile

from PIL import Image

import browser
import pages

OUT = os.path.join(os.path.dirname(os.path.dirname(pages.HERE)), "docs", "images")
# name, page, width, height, scheme, element at the top
VIEWS = (("report-light", "page", 1280, 1330, "light", None), ("report-dark", "page", 1280, 1000, "dark", "#schedule"), ("report-phone", "page", 360, 800, "light", None),
         ("report-compared", "compared", 1280, 1000, "light", None), ("report-costs", "page", 1280, 1000, "light", "#costs"), ("report-training", "page", 1280, 1000, "dark", "#training"),
         ("sweep-light", "page", 900, 900, "light", "#more-ram figure"), ("sweep-dark", "page", 900, 900, "dark", "#more-ram figure"))


def main():
    with tempfile.TemporaryDirectory() as folder:
        browser.use_one_font(folder)
        paths = {"page": os.path.join(folder, "page.html"), "compared": os.path.join(folder, "compared.html")}
        pages.pantoum("report", "plan.json", "run.jsonl", "--sweep", "sweep", "-o", paths["page"])
        window = browser.Browser()
        pages.pantoum("report", "--compare", *pages.two_runs(folder), "-o", paths["compared"])
        for name, page, width, height, scheme, top in VIEWS:
            window.open(paths[page], width, scheme, height)
            if top:
                window.run(f"document.querySelector('{top}').scrollIntoView(), new Promise(done => setTimeout(done, 200))")
            picture = Image.open(io.BytesIO(window.screenshot())).convert("RGB")
            picture.quantize(160, dither=0).save(os.path.join(OUT, name + ".png"), optimize=True)
        window.close()


if __name__ == "__main__":
    main()
