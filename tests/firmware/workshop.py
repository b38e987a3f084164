"""Builds programs for every board of src/emit/project/boards.h and runs them in QEMU. Standard library only."""
import collections
import os
import re
import shutil
import struct
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROJECT = os.path.join(ROOT, "src", "emit", "project")
PROGRAMS = os.path.join(ROOT, "tests", "firmware", "board")
WARNINGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wshadow"]
INCLUDES = ["-I", os.path.join(ROOT, "include"), "-I", PROJECT]
STACK_BYTES = 2048

Board = collections.namedtuple(
    "Board", "name machine flags rom_origin rom_bytes ram_origin ram_bytes storage guard sources")


def missing_tools():
    tools = ["arm-none-eabi-gcc", "arm-none-eabi-nm", "qemu-system-arm", "gcc"]
    return " ".join(tool for tool in tools if not shutil.which(tool))


def plan_header(path):
    """A binary plan (docs/plan-format.md), how many tensors, ops and programs it has, and where its names begin."""
    with open(path, "rb") as file:
        plan = file.read()
    return plan, *struct.unpack_from("<3I", plan, 48), *struct.unpack_from("<I", plan, 84)


def tensor_names(path):
    """The names of a binary plan's tensors, in their order."""
    plan, tensors, _, programs, names_at = plan_header(path)
    offsets = struct.unpack_from(f"<{tensors}I", plan, names_at + 4 * programs)
    return [plan[names_at + at:plan.index(0, names_at + at)].decode() if at else "" for at in offsets]


def read_boards():
    with open(os.path.join(PROJECT, "boards.h"), encoding="ascii") as file:
        text = file.read().replace("\\\n", " ")
    common = re.search(r'#define PT_BOARD_SOURCES "(.*)"', text).group(1)
    boards = []
    for row in re.findall(r"ROW\((\".*?)\)", text):
        cells = [cell.strip().strip('"') for cell in row.split(",")]
        numbers = [int(cell.rstrip("u"), 16) for cell in cells[3:7]]
        boards.append(Board(*cells[:2], cells[2].split(), *numbers, cells[7], cells[8] == "1",
                            (common + " " + cells[9]).split()))
    return boards


class Workshop:
    """Objects are compiled once for a processor and those definitions that they mention; programs are links of them."""

    def __init__(self, folder):
        self.folder, self.objects, self.links = folder, {}, 0

    def compile(self, source, flags, defines):
        with open(source, encoding="ascii") as file:
            text = file.read()
        key = (source, *flags, *[define for define in defines if define[2:].split("=")[0] in text])
        if key not in self.objects:
            self.objects[key] = os.path.join(self.folder, f"{len(self.objects)}.o")
            subprocess.run(["arm-none-eabi-gcc", *key[1:], *WARNINGS, *INCLUDES, "-Os", "-ffunction-sections",
                            "-fdata-sections", "-c", source, "-o", self.objects[key]], check=True)
        return self.objects[key]

    def link(self, board, program, ram_size=None, defines=(), **symbols):
        """The path of an ELF, or what the linker complains about."""
        sources = [os.path.join(PROGRAMS, program)] + [os.path.join(PROJECT, name) for name in board.sources]
        objects = [self.compile(source, board.flags, defines) for source in sources]
        self.links += 1
        elf = os.path.join(self.folder, f"{self.links}.elf")
        symbols = {"ROM_ORIGIN": board.rom_origin, "ROM_SIZE": board.rom_bytes, "RAM_ORIGIN": board.ram_origin,
                   "RAM_SIZE": ram_size or board.ram_bytes, "STACK_SIZE": STACK_BYTES, **symbols}
        made = subprocess.run(["arm-none-eabi-gcc", *board.flags, *objects, "-nostartfiles", "-Wl,--gc-sections",
                               *[f"-Wl,--defsym={name}={value}" for name, value in symbols.items()],
                               "-T", os.path.join(PROJECT, "firmware.ld"), "-o", elf], capture_output=True, text=True)
        return elf if made.returncode == 0 else made.stderr

    def run(self, board, elf, *more):
        """(exit code, console) of a run in QEMU, inside the folder."""
        if not elf.endswith(".elf"):
            raise RuntimeError(elf)
        command = ["qemu-system-arm", "-M", board.machine, "-display", "none", "-monitor", "none", "-serial", "none",
                   "-semihosting-config", "enable=on,target=native,chardev=console", "-chardev", "stdio,id=console",
                   "-kernel", elf, *more]
        done = subprocess.run(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=60)
        return done.returncode, done.stdout

    def run_here(self, program, sources, options=(), environment=None, **symbols):
        """(exit code, output) of a program of this computer."""
        self.links += 1
        path = os.path.join(self.folder, f"{self.links}.here")
        subprocess.run(["gcc", *WARNINGS, *INCLUDES, *options, os.path.join(PROGRAMS, program), *sources, "-no-pie",
                        *[f"-Wl,--defsym={name}={value}" for name, value in symbols.items()], "-o", path], check=True)
        done = subprocess.run([path], env={**os.environ, **(environment or {})}, cwd=self.folder, capture_output=True,
                              text=True, timeout=60)
        return done.returncode, done.stdout
