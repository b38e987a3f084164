"""PORT's Tables 1 and 2, and the unplanned peak of networks of convolutions, batch norms and ReLUs."""
import os
from statistics import median

from ask import PLENTY
from turns import in_turns, ratio

NORMED = [("resnet18", 32), ("resnet50", 4), ("mobilenet_v2", 8), ("inception_v3", 4), ("vgg16_bn", 32), ("vgg16_bn", 128)]
MOST = .7
# PORT, Tables 1 and 2: RAM against POET's, and speed. Its text swaps rows of Table 2 (VGG16: in place -94.24% and 11.51x faster there, -80.57% and
# 3.25x slower in the table).
PORT = {"resnet18": {"inplace": "-67.95%, 2.25x faster", "fused": "-31.60%, 1.03x faster", "cache": "-0.99%, 1.12x faster", "im2col": "-0.99%, 1.42x faster"},
        "vgg16": {"inplace": "-80.57%, 3.25x slower (the text: -94.24%, 11.51x faster)", "fused": "-20.38%, 1.00x", "cache": "0.00%, 23.15x slower",
                  "im2col": "0.00%, 1.00x"}}
# What is there with the optimization and what without; the others of the house stay on.
LAYERS = {"inplace": ((), ("--no-inplace",)), "fused": ((), ("--disable", "fusions")), "cache": ((), ("--disable", "layouts")),
          "im2col": (("--kernels", "portable"), ("--kernels", "portable", "--disable", "algorithms"))}


def peaks(bench, program):
    for at, (name, batch) in enumerate(NORMED):
        again = any(name == other for other, _ in NORMED[:at])
        row = f"peak {name}{f' b{batch}' if again else ''}"
        if not bench.table.wants(row):
            continue
        fused, apart = program.peaks([(name, batch), (name, batch, "--disable", "fusions")])
        bench.table.add(row, fused / apart, "x", f"<= {MOST}", fused <= MOST * apart, f"{fused / 2**20:.1f} of {apart / 2**20:.1f} MiB, batch {batch}")


def port(bench, program):
    for name, batch in (("resnet18", 8), ("vgg16", 8)):
        for layer, (on, off) in LAYERS.items():
            row = f"port layers {name} {layer}"
            if not bench.table.wants(row):
                continue
            peaks_of, asked = [], []
            for way, words in (("on", on), ("off", off)):
                path = os.path.join(program.folder, name, f"port-{way}.json")
                program.plan(name, batch, PLENTY, path, "--disable", "rewriting", *words)
                of_step = words if words[:1] != ("--kernels",) else words[:2]  # algorithms are of the plan alone
                peaks_of.append(program.peak(name, batch, *words))
                asked.append(program.steps(name, batch, path, *of_step))
            (on_peak, off_peak), (turns, _) = peaks_of, in_turns(asked, bench.seconds * 2, bench.until)
            (on_s, off_s), quicker = map(median, turns), ratio(turns[1], turns[0])
            bench.raw[row] = {"on_s": on_s, "off_s": off_s, "on_bytes": on_peak, "off_bytes": off_peak}
            bench.table.add(row, on_peak / off_peak - 1, "of RAM", "reported", True,
                            f"{quicker:.2f}x the speed ({on_s * 1e3:.4g} of {off_s * 1e3:.4g} ms); PORT: {PORT[name][layer]}")
        bench.table.skip(f"port layers {name} patch", "patches come with ops that stream their operands")
