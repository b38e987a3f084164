"""The look of every chart: one palette, and colours that follow the reader's light or dark scheme."""
import io

import matplotlib
from matplotlib import pyplot

matplotlib.use("svg")

PAPER, INK, FAINT, GRID = "#fdfdfc", "#1d232a", "#5b6672", "#d9dee3"
# Okabe and Ito's colours, which people with colour-blindness tell apart; shapes and words say the same.
PEER, OTHER, OURS, HELD = "#9aa5b1", "#c98a1b", "#0072b2", "#009e73"
DARK = {PAPER: "#15191e", INK: "#e8ecf0", FAINT: "#a2adb9", GRID: "#323a43", PEER: "#7d8894", OTHER: "#e0a63a", OURS: "#4aa8e0", HELD: "#2cc295"}

pyplot.rcParams.update({
    "svg.fonttype": "none", "svg.hashsalt": "pantoum", "font.family": "sans-serif", "font.size": 11, "figure.facecolor": PAPER,
    "axes.facecolor": PAPER, "axes.edgecolor": GRID, "axes.labelcolor": INK, "axes.titlecolor": INK, "text.color": INK, "xtick.color": FAINT,
    "ytick.color": INK, "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 12, "axes.titlelocation": "left",
    "grid.color": GRID, "hatch.linewidth": 0.6, "legend.frameon": False})


def scheme():
    """A style sheet that changes each colour of the palette where the reader prefers dark."""
    rules = [f'[style*="{part}: {light}"] {{ {part}: {dark} !important }}' for light, dark in DARK.items() for part in ("fill", "stroke")]
    fonts = "text { font-family: system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif !important }"
    return f"<style>{fonts} @media (prefers-color-scheme: dark) {{ {' '.join(rules)} }}</style>"


def save(figure, path, title):
    """The figure as one SVG file with a title for who cannot see it; the same bytes for the same data."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None, "Title": title}, bbox_inches="tight", pad_inches=0.2)
    pyplot.close(figure)
    head, body = text.getvalue().split("<defs>", 1)
    head = head.replace("<svg ", '<svg role="img" ', 1)
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(line.rstrip() for line in f"{head}<title>{title}</title>{scheme()}<defs>{body}".splitlines()) + "\n")
