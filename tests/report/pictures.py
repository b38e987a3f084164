"""Draws the pictures of docs/report.md anew: python3 tests/report/pictures.py (PANTOUM: the program). Needs Chromium, Pillow and DejaVu."""
import io
import os
import shutil
import subprocess
import tempfile

from PIL import Image

import browser
import pages

OUT = os.path.join(os.path.dirname(os.path.dirname(pages.HERE)), "docs", "images")
# name, page, width, height, scheme, element at the top
VIEWS = (("report-light", "page", 1280, 1330, "light", None), ("report-dark", "page", 1280, 1000, "dark", "#schedule"), ("report-phone", "page", 360, 800, "light", None),
         ("report-costs", "page", 1280, 1000, "light", "#costs"), ("report-training", "page", 1280, 1000, "dark", "#training"),
         ("sweep-light", "sweep", 900, 860, "light", None), ("sweep-dark", "sweep", 900, 860, "dark", None))


def main():
    with tempfile.TemporaryDirectory() as folder:
        browser.use_one_font(folder)
        paths = {"page": os.path.join(folder, "page.html"), "sweep": os.path.join(folder, "sweep.svg")}
        pages.pantoum("report", "plan.json", "run.jsonl", "--sweep", "sweep", "-o", paths["page"])
        window = browser.Browser()
        draw_sweep(paths["sweep"])
        for name, page, width, height, scheme, top in VIEWS:
            window.open(paths[page], width, scheme, height)
            if top:
                window.run(f"document.querySelector('{top}').scrollIntoView(), new Promise(done => setTimeout(done, 200))")
            picture = Image.open(io.BytesIO(window.screenshot())).convert("RGB")
            picture.quantize(160, dither=0).save(os.path.join(OUT, name + ".png"), optimize=True)
        window.close()


def draw_sweep(path):
    """The picture of the sweep among the data, made again."""
    root = os.path.dirname(os.path.dirname(pages.HERE))
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([pages.PANTOUM, "sweep", os.path.join(root, "examples", "fashion", "cnn.onnx"), "--batch", "128", "--device", "host", "--measure", "off", "--kernels", "portable",
                        "--threads", "2", "--optimizer", "sgd,momentum=0.9", "--lr", "0.05", "--weight-decay", "1e-4", "--seed", "1", "--ram", "4MiB:24MiB:11",
                        "--planners", "pantoum,pantoum-paging-only,pantoum-remat-only", "--effort", "5", "-o", folder], check=True, capture_output=True)
        shutil.copy(os.path.join(folder, "sweep.svg"), path)


if __name__ == "__main__":
    main()
