"""Trains with the Debian package for 64-bit Arm: deb.py PACKAGE.deb [--out FOLDER]

No system of another architecture can be installed without binfmt_misc: programs that an installation runs, as those of debootstrap's second stage, would need
the kernel to start QEMU. So apt finds for arm64 what the package depends on, from the mirrors of this machine; package and dependencies, and nothing else, are
unpacked into an empty folder, and the program trains from there under QEMU's user emulation. Row `package deb` of OUT/aarch64.json.
"""
import argparse
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path += [str(HERE), str(ROOT / "bench")]
from run import keep  # noqa: E402
from table import Table  # noqa: E402

ROW, TARGET = "package deb", "<= 0.2"
TRIPLET = "aarch64-linux-gnu"
UNFETCHED = 75  # cmake/sysroot.sh: packages cannot be fetched


def installed():
    """tests/install/package.py, which does this for the machine's own architecture."""
    spec = importlib.util.spec_from_file_location("package", ROOT / "tests" / "install" / "package.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ends(table, package, folder):
    """The row: the loss that a training from the unpacked package ends with."""
    own = installed()
    architecture, depends = (own.run("dpkg-deb", "-f", package, field).strip() for field in ("Architecture", "Depends"))
    if architecture != "arm64":
        raise RuntimeError(f"the package is for {architecture}")
    (folder / "names").mkdir()
    own.check_names(str(package), str(folder / "names"))
    root = folder / "root"
    laid = subprocess.run([ROOT / "cmake" / "sysroot.sh", "arm64", TRIPLET, root, package], capture_output=True, text=True, check=False)
    if laid.returncode == UNFETCHED:
        return table.skip(ROW, f"Debian's packages for arm64 cannot be fetched: {laid.stdout.strip().splitlines()[-1]}")
    if laid.returncode != 0:
        raise RuntimeError(laid.stdout + laid.stderr)
    emulated = ("qemu-aarch64", "-L", str(root))
    for library in sorted(root.glob(f"usr/lib/{TRIPLET}/libpantoum*.so")):
        if "not found" in own.run(*emulated, str(root / "lib" / "ld-linux-aarch64.so.1"), "--list", str(library)):
            raise RuntimeError(f"{library.name} needs a library that no dependency has")
    program = " ".join([*emulated, str(root / "usr" / "bin" / "pantoum")])
    own.points(folder / "points.csv")
    words = own.TRAIN.format(model=own.MODEL, data="points.csv", kernels="portable", out="trained.safetensors")
    said = own.run("bash", "-c", words.replace("pantoum", program, 1), cwd=folder)
    end = json.loads(said.strip().splitlines()[-1])
    unpacked = len((root / "var/lib/dpkg/status").read_text(encoding="utf-8").split("\n\n")) - 2
    note = f"{package.name} ({package.stat().st_size >> 10} KiB, {len(depends.split(','))} dependencies) unpacked with the {unpacked} packages that apt finds, not installed; {end['steps']} steps"
    return table.add(ROW, end["final_loss"], "loss", TARGET, end["final_loss"] <= 0.2, note)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("package", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "out" / "bench")
    options = parser.parse_args()
    table = Table()
    with tempfile.TemporaryDirectory(prefix="pantoum-package-", dir="/var/tmp") as folder:
        try:
            ends(table, options.package.resolve(), pathlib.Path(folder))
        except RuntimeError as error:
            table.add(ROW, 0.0, "loss", TARGET, False, str(error)[-600:])
    keep(table, options.out / "aarch64.json", ROW)
    return 0 if table.rows[0]["ok"] or table.rows[0]["skipped"] else 1


if __name__ == "__main__":
    sys.exit(main())
