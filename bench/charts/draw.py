"""The charts of docs/, and the tables of docs/benchmarks.md, from what the benches measured.

usage: draw.py [--from FOLDER] [--to FOLDER] [--tables PAGE]
FOLDER has the benches' JSON: docs/results, which is checked in, or out/bench of a run of your own. A chart whose file or rows are not there is
left out, and said.
"""
import argparse
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import rows  # noqa: E402
import style  # noqa: E402
import tables  # noqa: E402
from matplotlib import pyplot  # noqa: E402

NAMES = {"lenet5": "LeNet-5", "vgg16": "VGG16", "resnet18": "ResNet-18", "resnet50": "ResNet-50", "mobilenet_v2": "MobileNetV2", "bert_mini": "BERT-mini", "lstm": "LSTM"}


def bars(axis, labels, values, colours, texts, hatches):
    shown = axis.barh(range(len(labels)), values, color=colours, height=0.62)
    for bar, hatch, value, text in zip(shown, hatches, values, texts):
        bar.set_hatch(hatch)
        if hatch:
            bar.set_edgecolor(style.PAPER)
        axis.annotate(text, (value, bar.get_y() + bar.get_height() / 2), xytext=(5, 0), textcoords="offset points", va="center")
    axis.set_yticks(range(len(labels)), labels)
    axis.set_ylim(len(labels) - 0.5, -0.5)
    axis.grid(axis="x")
    axis.set_axisbelow(True)
    axis.tick_params(length=0)
    axis.set_xlim(0, max(values) * 1.22)


def colour_of(way):
    if way.startswith("Pantoum"):
        return style.OURS if "8 GiB" in way else style.HELD
    return style.PEER if way == "PyTorch" else style.OTHER


def side_by_side(results, network, path):
    """Memory and time of a step in every way to train one network."""
    ways = rows.side_by_side(results, network)
    labels, colours = [way.label for way in ways], [colour_of(way.label) for way in ways]
    hatches = ["///" if way.elsewhere else "" for way in ways]
    figure, (memory, time) = pyplot.subplots(1, 2, figsize=(10, 0.55 * len(ways) + 1.5), sharey=True, width_ratios=[1.25, 1])
    bars(memory, labels, [way.mib for way in ways], colours, [f"{way.mib:.0f} MiB" if way.mib >= 100 else f"{way.mib:.1f} MiB" for way in ways], hatches)
    bars(time, labels, [way.ratio for way in ways], colours, [f"{way.ratio:.2f}" for way in ways], hatches)
    memory.set_title("Peak memory of the whole process")
    time.set_title("Time of a step over PyTorch's")
    figure.suptitle(f"{NAMES[network]}, batch {ways[0].batch}, one thread, float32", x=0.02, ha="left", weight="bold")
    figure.tight_layout()
    if any(hatches):
        figure.text(0.02, -0.02, "Hatched: measured on another machine, beside PyTorch there", color=style.FAINT, fontsize=10)
    style.save(figure, path, f"{NAMES[network]}: " + "; ".join(f"{way.label}: {way.mib:.0f} MiB, {way.ratio:.2f} of PyTorch's step" for way in ways))


def step_times(results, path):
    """Seven networks against PyTorch: time and memory of one step as shares of PyTorch's."""
    found = rows.step_times(results, 1)
    figure, axis = pyplot.subplots(figsize=(8.4, 0.62 * len(found) + 1.3))
    for at, row in enumerate(found):
        for shift, share, colour, text in [(-0.2, row.time, style.OURS, row.times), (0.2, row.memory, style.HELD, row.memories)]:
            axis.barh(at + shift, share, height=0.36, color=colour, hatch="" if shift < 0 else "..", edgecolor=style.PAPER)
            axis.annotate(f"{share:.2f}  ({text})", (share, at + shift), xytext=(5, 0), textcoords="offset points", va="center", fontsize=9)
    axis.axvline(1, color=style.GRID, linewidth=1.5, zorder=0)
    axis.annotate("PyTorch", (1, -0.62), xytext=(4, 0), textcoords="offset points", fontsize=10)
    axis.set_yticks(range(len(found)), [f"{NAMES[row.network]}, b{row.batch}" for row in found])
    axis.set_ylim(len(found) - 0.4, -0.8)
    axis.set_xlim(0, 1.25)
    axis.tick_params(length=0)
    axis.set_title("One thread, over PyTorch's: time of a step (plain), peak memory (dotted)", pad=10)
    style.save(figure, path, "; ".join(f"{NAMES[row.network]}: time {row.time:.2f}, memory {row.memory:.2f} of PyTorch's" for row in found))


def table_4(results, path):
    """NNTrainer's ten cases: the paper's ideal memory, what a plan with all retained takes, and the least."""
    found = rows.table_4(results)
    figure, axis = pyplot.subplots(figsize=(8.4, 0.72 * len(found) + 1.2))
    for at, row in enumerate(found):
        parts = [(-0.26, row.paper, style.PEER, ""), (0, row.kept, style.OURS, ""), (0.26, row.least, style.HELD, "..")]
        for shift, kib, colour, hatch in parts:
            axis.barh(at + shift, kib / 1024, height=0.24, color=colour, hatch=hatch, edgecolor=style.PAPER)
            axis.annotate(f"{kib / 1024:.1f}", (kib / 1024, at + shift), xytext=(4, 0), textcoords="offset points", va="center", fontsize=9)
    axis.set_yticks(range(len(found)), [row.case for row in found])
    axis.invert_yaxis()
    axis.tick_params(length=0)
    axis.set_xlabel("MiB of one step, batch 64")
    axis.set_title("Top: the paper's ideal. Middle: planned, all retained. Bottom (dotted): least with recomputing and paging", loc="right", fontsize=10)
    style.save(figure, path, "; ".join(f"{row.case}: paper {row.paper / 1024:.1f}, all retained {row.kept / 1024:.1f}, least {row.least / 1024:.1f} MiB" for row in found))


def streams(results, path):
    """ResNet-18's step on m4 by its RAM, in slices from the least RAM on: energy and time."""
    found = rows.curve(results, "curve resnet18 on m4")
    kib = [row["ram_bytes"] / 1024 for row in found]
    figure, (energy, time) = pyplot.subplots(1, 2, figsize=(10, 3.6))
    for axis, key, title, colour in ((energy, "energy_j", "Joules of a step", style.OURS), (time, "time_s", "Seconds of a step", style.HELD)):
        axis.plot(kib, [row[key] for row in found], marker="o", color=colour, drawstyle="steps-post")
        axis.set_xscale("log", base=2)
        axis.set_ylim(bottom=0)
        axis.set_xlabel("KiB of RAM")
        axis.set_title(title)
        axis.grid(axis="y")
    figure.suptitle("ResNet-18, images of 32 x 32, batch 1, momentum, modelled on m4", x=0.02, ha="left", weight="bold")
    figure.tight_layout()
    style.save(figure, path, "; ".join(f"{row['ram_bytes'] / 1024:.0f} KiB: {row['energy_j']:.4g} J, {row['time_s']:.4g} s" for row in found))


CHARTS = {
    "bench-resnet18.svg": ("runtime.json", lambda results, path: side_by_side(results, "resnet18", path)),
    "bench-vgg16.svg": ("runtime.json", lambda results, path: side_by_side(results, "vgg16", path)),
    "bench-lenet5.svg": ("runtime.json", lambda results, path: side_by_side(results, "lenet5", path)),
    "bench-step-times.svg": ("runtime.json", step_times),
    "bench-table-4.svg": ("runtime.json", table_4),
    "bench-streams.svg": ("streams.json", streams),
}


def draw(folder, to):
    drawn = 0
    for name, (source, act) in CHARTS.items():
        try:
            act(rows.read(folder, source), os.path.join(to, name))
            drawn += 1
        except rows.Missing as missing:
            print(f"left out: {name}: {missing}")
    print(f"{drawn} of {len(CHARTS)} charts in {to}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--from", dest="source", default=os.path.join(ROOT, "docs", "results"))
    parser.add_argument("--to", default=os.path.join(ROOT, "docs", "images"))
    parser.add_argument("--tables", help="a page whose tables are written anew")
    args = parser.parse_args()
    os.makedirs(args.to, exist_ok=True)
    draw(args.source, args.to)
    if args.tables:
        tables.write(args.source, args.tables)


if __name__ == "__main__":
    main()
