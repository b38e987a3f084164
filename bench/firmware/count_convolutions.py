"""Instructions of convolutions on a Cortex-M in QEMU, by kernel: figures of docs/costs.md.

usage: count_convolutions.py [--board mps2-an386] [--op conv2d] [--algorithms compact,shift_compact] [--only TEXT] [--flags FLAGS] [--folder FOLDER]
A line for each shape: instructions per multiply-accumulate of the definition, those with padding left out, the workspace in bytes, and "same" where
the bits are the first algorithm's. Kernels are compiled as emitted projects compile them. Needs arm-none-eabi-gcc, cc and qemu-system-arm.
"""
import argparse
import concurrent.futures
import glob
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "tests", "firmware")]
from workshop import INCLUDES, PROJECT, read_boards  # noqa: E402

COMPILE = ["-O2", "-std=gnu99", "-ffp-contract=off", "-ffunction-sections", "-fdata-sections", "-specs=nano.specs", "-I", os.path.join(ROOT, "src"), *INCLUDES]
WORKSPACE = 256 << 10
# samples, channels, outputs, height and width, kernel, stride, padding, dilation, groups
SHAPES = {
    "8, 14 x 14": (2, 8, 8, 14, 3, 1, 1, 1, 1),
    "16, 14 x 14": (2, 16, 16, 14, 3, 1, 1, 1, 1),
    "16, 7 x 7": (2, 16, 16, 7, 3, 1, 1, 1, 1),
    "32, 7 x 7": (2, 32, 32, 7, 3, 1, 1, 1, 1),
    "1 to 8, 28 x 28": (2, 1, 8, 28, 3, 1, 1, 1, 1),
    "16 to 32, 14 x 14, stride 2": (2, 16, 32, 14, 3, 2, 1, 1, 1),
    "8, 14 x 14, 5 x 5": (2, 8, 8, 14, 5, 1, 2, 1, 1),
    "16, 14 x 14, dilation 2": (2, 16, 16, 14, 3, 1, 2, 2, 1),
    "16, 14 x 14, no padding": (2, 16, 16, 14, 3, 1, 0, 1, 1),
    "16, 14 x 14, 4 groups": (2, 16, 16, 14, 3, 1, 1, 1, 4),
    "16, 28 x 28, depthwise": (2, 16, 16, 28, 3, 1, 1, 1, 16),
    "16, 14 x 14, depthwise": (2, 16, 16, 14, 3, 1, 1, 1, 16),
    "16, 7 x 7, depthwise": (2, 16, 16, 7, 3, 1, 1, 1, 16),
    "16, 4 x 4, depthwise": (2, 16, 16, 4, 3, 1, 1, 1, 16),
    "16, 28 x 28, depthwise, stride 2": (2, 16, 16, 28, 3, 2, 1, 1, 16),
    "16, 14 x 14, depthwise, stride 2": (2, 16, 16, 14, 3, 2, 1, 1, 16),
    "16, 14 x 14, depthwise, 5 x 5": (2, 16, 16, 14, 5, 1, 2, 1, 16),
    "16, 7 x 7, depthwise, 5 x 5": (2, 16, 16, 7, 5, 1, 2, 1, 16),
}
NAMES = ["SAMPLES", "CHANNELS", "OUTPUTS", "EXTENT", "KERNEL", "STRIDE", "PAD", "DILATION", "GROUPS"]
# operands, what is made, inputs, further attributes
OPS = {"conv2d": ("image, weight", "result", 2, ""), "conv2d_act": ("image, weight", "result", 2, "PT_OP_relu, PT_RESIDUAL_NONE"),
       "conv2d_dx": ("result, weight", "image", 2, ""), "conv2d_dz": ("result, weight", "image", 3, "PT_OP_relu_grad, 0"), "conv2d_dw": ("image, result", "weight", 2, "")}


def workspace_of(op, algorithm):
    if algorithm != "compact":
        return f"{op}_{algorithm}"
    return "no" if op in ("conv2d", "conv2d_dx", "conv2d_dw") else f"{op}_compact"


def macs(shape):
    """Multiply-accumulates of the definition, without those of the padding."""
    samples, channels, outputs, extent, kernel, stride, pad, dilation, groups = shape
    made = (extent + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1
    line = sum(0 <= at * stride - pad + tap * dilation < extent for at in range(made) for tap in range(kernel))
    return samples * outputs * (channels // groups) * line * line


class Counter:
    def __init__(self, board, folder, flags):
        self.board, self.folder = next(each for each in read_boards() if each.name == board), os.path.join(folder, board)
        if flags:
            self.board = self.board._replace(flags=flags.split())
        os.makedirs(self.folder, exist_ok=True)
        self.plugin = os.path.join(self.folder, "count.so")
        count = os.path.join(ROOT, "src", "emit", "count")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-fvisibility=hidden", os.path.join(count, "count.c"), "-o", self.plugin], check=True)
        sources = glob.glob(os.path.join(ROOT, "src", "kernels", "portable", "*.c")) + [os.path.join(PROJECT, name) for name in self.board.sources]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            self.objects = list(pool.map(self.compile, sources))

    def compile(self, source):
        made = os.path.join(self.folder, os.path.basename(source) + ".o")
        subprocess.run(["arm-none-eabi-gcc", *self.board.flags, *COMPILE, "-c", source, "-o", made], check=True)
        return made

    def count(self, op, shape, algorithms):
        """What each algorithm takes: instructions, bytes of workspace, "same", "other" or "none"."""
        operands, made, inputs, ints = OPS[op]
        defines = {**dict(zip(NAMES, shape)), "HEIGHT": "EXTENT", "WIDTH": "EXTENT", "WORKSPACE": WORKSPACE, "OPERANDS": operands, "MADE": made,
                   "INPUTS": inputs, "MORE_INTS": ints,
                   "KERNELS(ROW)": " ".join(f"ROW({op}_{name})" for name in algorithms),
                   "WORKSPACES(ROW)": " ".join(f"ROW({workspace_of(op, name)})" for name in algorithms)}
        place = lambda name: os.path.join(self.folder, name)  # noqa: E731
        board, elf = self.board, place("convolution.elf")
        symbols = {"ROM_ORIGIN": board.rom_origin, "ROM_SIZE": board.rom_bytes, "RAM_ORIGIN": board.ram_origin, "RAM_SIZE": board.ram_bytes, "STACK_SIZE": 8192}
        subprocess.run(["arm-none-eabi-gcc", *board.flags, *COMPILE, *[f"-D{name}={value}" for name, value in defines.items()],
                        os.path.join(HERE, "convolution.c"), *self.objects, "-nostartfiles", "-Wl,--gc-sections",
                        *[f"-Wl,--defsym={name}={value}" for name, value in symbols.items()], "-T", os.path.join(PROJECT, "firmware.ld"), "-lm", "-o", elf], check=True)
        with open(place("symbols"), "w", encoding="ascii") as file:
            subprocess.run(["arm-none-eabi-nm", "-nS", elf], stdout=file, check=True)
        with open(place("kernels"), "w", encoding="ascii") as file:
            file.writelines(f"pt_{op}_{name}_f32\n" for name in algorithms)
        plugin = f"{self.plugin},symbols={place('symbols')},out={place('counts')},kernels={place('kernels')},caller=compute,turn=turn"
        told = subprocess.run(["qemu-system-arm", "-M", board.machine, "-display", "none", "-monitor", "none", "-serial", "none", "-semihosting-config",
                               "enable=on,target=native,chardev=console", "-chardev", "stdio,id=console", "-kernel", elf, "-plugin", plugin],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=True).stdout.split()
        counts = {}
        with open(place("counts"), encoding="ascii") as file:
            for line in file:
                if line.startswith("#kernel"):
                    counts[line.split()[1]] = int(line.split()[2])
        return [(counts.get(f"pt_{op}_{name}_f32", 0), int(told[at]), told[len(algorithms) + at]) for at, name in enumerate(algorithms)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--board", default="mps2-an386")
    parser.add_argument("--folder", default=os.path.join(ROOT, "build", "count"))
    parser.add_argument("--only", default="", help="shapes whose name has this text")
    parser.add_argument("--flags", default="", help="for the compiler in place of the board's: -mcpu=cortex-m0 on mps2-an385, which has the RAM")
    parser.add_argument("--op", default="conv2d", choices=OPS)
    parser.add_argument("--algorithms", default="compact,shift_compact", help="the first is what others are held against")
    args = parser.parse_args()
    algorithms = args.algorithms.split(",")
    counter = Counter(args.board, args.folder, args.flags)
    for name, shape in SHAPES.items():
        if args.only not in name:
            continue
        counted = counter.count(args.op, shape, algorithms)
        cells = ["none" if bits == "none" else f"{instructions / macs(shape):.2f} ({workspace}) {bits}" for instructions, workspace, bits in counted]
        print(f"{name:36}", *[f"{cell:24}" for cell in cells], flush=True)


if __name__ == "__main__":
    main()
