"""Instructions of the portable kernels on aarch64 and on x86-64, counted in QEMU's user mode: rows `instructions NAME` of out/bench/aarch64.json.

usage: count.py [--only TEXT] [--machines aarch64,x86_64] [--algorithm blocked] [--onednn FOLDER] [--out FOLDER]
A kernel's own instructions, from its entry to its return, per multiply-accumulate of its definition (those on the padding count as work), or per element of a loss's first operand.
The counts are exact. Kernels are compiled as the release build compiles them. With --onednn, what
oneDNN takes on aarch64 for products and convolutions stands beside them, in layouts of its own choice: FOLDER has Debian's packages libdnnl2, libdnnl-dev and libgomp1 for arm64,
unpacked by dpkg-deb -x. Needs aarch64-linux-gnu-gcc, gcc, and qemu-aarch64 and qemu-x86_64 of QEMU 7.2 or later.
"""
import argparse
import concurrent.futures
import glob
import json
import math
import os
import shutil
import subprocess
import sys
from typing import NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FLAGS = ["-std=gnu99", "-O3", "-DNDEBUG", "-ffp-contract=off", "-fno-tree-loop-distribute-patterns", "-fno-semantic-interposition", "-fvisibility=hidden",
         "-I", os.path.join(ROOT, "include"), "-I", os.path.join(ROOT, "src")]
# A compiler, its nm, and an emulator: of a processor with NEON alone, and of one with AVX2, the widest vectors of x86-64 that QEMU has.
MACHINES = {"aarch64": ("aarch64-linux-gnu-gcc", "aarch64-linux-gnu-nm", ["qemu-aarch64", "-cpu", "cortex-a72"]), "x86_64": ("gcc", "nm", ["qemu-x86_64", "-cpu", "max"])}
# Instructions per multiply-accumulate: two for four lanes are .5. A depthwise convolution has one input per output, and ten columns are two vectors and a half: both
# have no target.
MOST = .75


class Case(NamedTuple):
    name: str
    op: str
    words: list
    work: int  # multiply-accumulates, or elements
    most: float | None  # instructions per unit of work
    onednn: tuple = ()  # what onednn.cc is asked


def tensor(role, *dims, below=0):
    return f"{role}={'i64' if below else 'f32'}:{'x'.join(map(str, dims))}{f'<{below}' if below else ''}"


def convolution(op, samples, channels, outputs, extent, kernel, stride=1, groups=1):
    """In one of three ways: forward, the gradient of the input, that of the weight."""
    pad = kernel // 2
    made = (extent + 2 * pad - kernel) // stride + 1
    x, w, y = (samples, channels, extent, extent), (outputs, channels // groups, kernel, kernel), (samples, outputs, made, made)
    inputs, output = {"conv2d": ((x, w), y), "conv2d_dx": ((y, w), x), "conv2d_dw": ((x, y), w)}[op]
    ints = f"ints={stride},{stride},{pad},{pad},{pad},{pad},1,1,{groups}"
    return [ints, *[tensor("in", *dims) for dims in inputs], tensor("out", *output)], math.prod(y) * channels // groups * kernel * kernel


def onednn_words(op, samples, channels, outputs, extent, kernel, stride=1, groups=1):
    return {"conv2d": "forward", "conv2d_dx": "data", "conv2d_dw": "weights"}[op], samples, channels, outputs, extent, kernel, stride, groups


def convolutions(network, shape, *sizes):
    for op, way in (("conv2d", ""), ("conv2d_dx", ", input gradient"), ("conv2d_dw", ", weight gradient")):
        if op == "conv2d_dx" and sizes[1] == 3:
            continue  # a step needs no gradient of its data
        words, work = convolution(op, *sizes)
        yield Case(f"{network}: {shape}{way}", op, words, work, MOST if len(sizes) < 7 else None, onednn_words(op, *sizes))


def products(network, rows, inputs, outputs):
    shape, work = f"{rows} x {inputs} to {outputs}", rows * inputs * outputs
    for way, ints, left, right, made in (("", "0,0", (rows, inputs), (inputs, outputs), (rows, outputs)),
                                         (", input gradient", "0,1", (rows, outputs), (inputs, outputs), (rows, inputs)),
                                         (", weight gradient", "1,0", (rows, inputs), (rows, outputs), (inputs, outputs))):
        yield Case(f"{network}: product {shape}{way}", "matmul", [f"ints={ints}", tensor("in", *left), tensor("in", *right), tensor("out", *made)], work, MOST if outputs >= 16 else None,
                   () if way else ("matmul", rows, inputs, outputs))


def attention(network, heads, places, width):
    """Scores that are scaled. Work is that of the products: two forward, five backward."""
    operand = (heads, places, width)
    words = ["ints=0,0,0,1,0,0", "reals=.125,0,0"]
    for op, way, inputs, outputs, products_of in (("attention", "", 3, 1, 2), ("attention_grad", ", gradient", 4, 3, 5)):
        yield Case(f"{network}: attention {heads} x {places} x {width}{way}", op, [*words, *[tensor("in", *operand)] * inputs, *[tensor("out", *operand)] * outputs],
                   products_of * heads * places * places * width, None)


def losses(rows, classes):
    dims = (rows, classes)
    for op, ints, reals, other in (("cross_entropy", ["ints=-100"], ["reals=0"], tensor("in", rows, below=classes)), ("mse", [], [], tensor("in", *dims)),
                                   ("bce_with_logits", [], [], tensor("in", *dims))):
        for grad in ("", "_grad"):
            made = tensor("out", *dims) if grad else tensor("out", 1)
            yield Case(f"loss: {op}{grad} {rows} x {classes}", op + grad, [*ints, *reals, tensor("in", *dims), other, made], rows * classes, None)


CASES = [
    *convolutions("ResNet-18", "3 to 64, 32 x 32, 3 x 3", 2, 3, 64, 32, 3),
    *convolutions("ResNet-18", "64, 32 x 32, 3 x 3", 1, 64, 64, 32, 3),
    *convolutions("ResNet-18", "128, 16 x 16, 3 x 3", 1, 128, 128, 16, 3),
    *convolutions("ResNet-18", "256, 8 x 8, 3 x 3", 2, 256, 256, 8, 3),
    *convolutions("ResNet-18", "512, 4 x 4, 3 x 3", 4, 512, 512, 4, 3),
    *convolutions("ResNet-18", "64 to 128, 32 x 32, 3 x 3, stride 2", 1, 64, 128, 32, 3, 2),
    *convolutions("ResNet-18", "64 to 128, 32 x 32, 1 x 1, stride 2", 2, 64, 128, 32, 1, 2),
    *convolutions("MobileNetV2", "24 to 144, 56 x 56, 1 x 1", 1, 24, 144, 56, 1),
    *convolutions("MobileNetV2", "144 to 24, 56 x 56, 1 x 1", 1, 144, 24, 56, 1),
    *convolutions("MobileNetV2", "160 to 960, 7 x 7, 1 x 1", 2, 160, 960, 7, 1),
    *convolutions("MobileNetV2", "144, 56 x 56, 3 x 3, depthwise", 1, 144, 144, 56, 3, 1, 144),
    *convolutions("MobileNetV2", "144, 56 x 56, 3 x 3, depthwise, stride 2", 1, 144, 144, 56, 3, 2, 144),
    *convolutions("MobileNetV2", "960, 7 x 7, 3 x 3, depthwise", 1, 960, 960, 7, 3, 1, 960),
    *products("BERT-mini", 256, 256, 256),
    *products("BERT-mini", 256, 256, 1024),
    *products("ResNet-18", 128, 512, 10),
    *attention("BERT-mini", 8, 128, 64),
    *losses(128, 1000),
]


class Counter:
    """Builds one program for a machine, and counts with it."""

    def __init__(self, machine, folder):
        compiler, nm, self.emulator = MACHINES[machine]
        self.compiler, self.folder = compiler, os.path.join(folder, machine)
        os.makedirs(self.folder, exist_ok=True)
        count = os.path.join(ROOT, "src", "emit", "count")
        self.plugin = os.path.join(self.folder, "count.so")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-fvisibility=hidden", os.path.join(count, "count.c"), "-o", self.plugin], check=True)
        headers = [path for part in ("include", "src/kernels/portable") for path in glob.glob(os.path.join(ROOT, part, "**", "*.h"), recursive=True)]
        self.changed = max(map(os.path.getmtime, headers))
        sources = [*glob.glob(os.path.join(ROOT, "src", "kernels", "portable", "*.c")), os.path.join(HERE, "kernel.c")]
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            objects = list(pool.map(self.compile, sources))
        self.program = os.path.join(self.folder, "kernel")
        subprocess.run([compiler, "-static", *objects, "-lm", "-o", self.program], check=True)
        with open(self.program + ".symbols", "w", encoding="ascii") as file:
            subprocess.run([nm, "-nS", self.program], stdout=file, check=True)

    def compile(self, source):
        made = os.path.join(self.folder, os.path.basename(source) + ".o")
        if not os.path.exists(made) or os.path.getmtime(made) < max(self.changed, os.path.getmtime(source)):
            subprocess.run([self.compiler, *FLAGS, "-c", source, "-o", made], check=True)
        return made

    def count(self, case, algorithm):
        """Instructions, and a sum of the bits."""
        names, counts = (os.path.join(self.folder, f"{kind}-{os.getpid()}") for kind in ("kernels", "counts"))
        with open(names, "w", encoding="ascii") as file:
            file.write(f"pt_{case.op}{'' if algorithm == 'reference' and plain(case.op) else '_' + algorithm}_f32\n")
        plugin = f"{self.plugin},symbols={self.program}.symbols,out={counts},kernels={names},caller=compute,turn=turn"
        done = subprocess.run([*self.emulator, "-plugin", plugin, self.program, case.op, algorithm, *case.words], capture_output=True, text=True, timeout=600)
        if done.returncode != 0:
            raise RuntimeError(f"{case.name}: {done.stderr.strip()[-400:]}")
        with open(counts, encoding="ascii") as file:
            counted = next(int(line.split()[2]) for line in file if line.startswith("#kernel"))
        os.remove(names)
        os.remove(counts)
        return counted, done.stdout.strip()


class OneDnn:
    """oneDNN of `unpacked` on the emulated processor."""

    def __init__(self, unpacked, folder):
        compiler, nm, self.emulator = MACHINES["aarch64"]
        place = os.path.join(folder, "onednn")
        self.program, self.plugin = place, os.path.join(folder, "aarch64", "count.so")
        libraries = os.path.join(unpacked, "usr", "lib", "aarch64-linux-gnu")
        subprocess.run([compiler.replace("gcc", "g++"), "-std=c++20", "-O2", "-no-pie", "-idirafter", os.path.join(unpacked, "usr", "include"), os.path.join(HERE, "onednn.cc"),
                        os.path.join(libraries, "libdnnl.so.2"), f"-Wl,-rpath-link,{libraries},--allow-shlib-undefined", "-o", place], check=True)
        self.emulator = [*self.emulator, "-L", "/usr/aarch64-linux-gnu", "-E", f"LD_LIBRARY_PATH={libraries}", "-E", "OMP_NUM_THREADS=1"]
        with open(place + ".symbols", "w", encoding="ascii") as file:
            subprocess.run([nm, "-nS", place], stdout=file, check=True)

    def count(self, words):
        """Instructions, and the name of the implementation that it chose."""
        with open(self.program + ".kernels", "w", encoding="ascii") as file:
            file.write("run_onednn\n")
        plugin = f"{self.plugin},symbols={self.program}.symbols,out={self.program}.counts,kernels={self.program}.kernels,caller=compute,turn=turn"
        done = subprocess.run([*self.emulator, "-plugin", plugin, self.program, *map(str, words)], capture_output=True, text=True, timeout=600)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip()[-400:])
        with open(self.program + ".counts", encoding="ascii") as file:
            return next(int(line.split()[2]) for line in file if line.startswith("#kernel")), done.stdout.strip()


def plain(op):
    """Has it one algorithm alone?"""
    return not op.startswith(("conv2d", "matmul", "attention"))


def missing(machines):
    """The programs that are not there."""
    needed = {word for machine in machines for word in (MACHINES[machine][0], MACHINES[machine][1], MACHINES[machine][2][0])}
    return sorted(each for each in {"cc", *needed} if shutil.which(each) is None)


def measure(cases, machines, folder, algorithm="blocked"):
    """For each case what each machine takes per unit of work, and whether the bits are the same."""
    counters = [Counter(machine, folder) for machine in machines]
    for case in cases:
        counted = [counter.count(case, "reference" if plain(case.op) else algorithm) for counter in counters]
        yield case, [instructions / case.work for instructions, _ in counted], len({bits for _, bits in counted}) == 1


def save(path, rows, raw):
    """Beside the rows of other benches of this file."""
    kept = {"rows": [], "raw": {}}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            kept = json.load(file)
    new = {row["name"] for row in rows}
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"rows": [row for row in kept["rows"] if row["name"] not in new] + rows, "raw": {**kept["raw"], **raw}}, file, indent=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cases whose name has this text")
    parser.add_argument("--machines", default=",".join(MACHINES))
    parser.add_argument("--algorithm", default="blocked")
    parser.add_argument("--onednn", default="")
    parser.add_argument("--folder", default=os.path.join(ROOT, "build", "aarch64-count"))
    parser.add_argument("--out", default=os.path.join(ROOT, "out", "bench"))
    args = parser.parse_args()
    machines = args.machines.split(",")
    if missing(machines):
        print(f"instructions are not counted: not installed: {', '.join(missing(machines))}")
        return
    sys.path.insert(0, os.path.dirname(HERE))
    from table import Table
    table, raw, onednn = Table(), {}, None
    for case, taken, same in measure([each for each in CASES if args.only in each.name], machines, args.folder, args.algorithm):
        others = ", ".join(f"{machine} {value:.3g}" for machine, value in zip(machines[1:], taken[1:]))
        name, good = f"instructions {case.name}", (case.most is None or taken[0] <= case.most) and same
        raw[name] = {**dict(zip(machines, taken)), "work": case.work, "same_bits": same}
        unit = "per element" if plain(case.op) else "per multiply-accumulate"
        table.add(name, taken[0], unit, "none" if case.most is None else f"<= {case.most}", good,
                  others + (", the same bits" if same else ", OTHER bits") * (len(machines) > 1))
        if args.onednn and case.onednn:
            onednn = onednn or OneDnn(args.onednn, args.folder)
            instructions, chosen = onednn.count(case.onednn)
            table.add(f"instructions of oneDNN {case.name}", instructions / case.work, unit, "none", True, chosen)
    save(os.path.join(args.out, "aarch64.json"), table.rows, raw)


if __name__ == "__main__":
    main()
