"""Emitted projects of the target posix on 32-bit Arm (armhf): Debian's cross compiler builds them, QEMU's user emulation runs them.

Their Makefile is used as it is: CC is a script that compiles, and that makes each program it links a script that runs it under QEMU.
"""
import os
import pathlib
import shutil

COMPILER, EMULATOR, LIBRARIES = "arm-linux-gnueabihf-gcc", "qemu-arm", "/usr/arm-linux-gnueabihf"
SCRIPT = """#!/bin/sh
out= before=
for word; do
  [ "$before" != -o ] || out=$word
  before=$word
done
{compiler} "$@" || exit 1
case " $* " in *" -c "*) exit 0 ;; esac
mv "$out" "$out.arm" || exit 1
printf '#!/bin/sh\\nexec {emulator} -L {libraries} "$0.arm" "$@"\\n' > "$out"
chmod +x "$out"
"""


def missing():
    """The programs that are not installed, by their names; "" where all are."""
    return " ".join(program for program in (COMPILER, EMULATOR, "make") if not shutil.which(program))


def write_compiler(folder):
    path = pathlib.Path(folder) / "cc-armhf"
    path.write_text(SCRIPT.format(compiler=COMPILER, emulator=EMULATOR, libraries=LIBRARIES), encoding="ascii")
    path.chmod(0o755)
    return path


def environment(compiler):
    """In which make, and so `pantoum run-firmware`, builds for armhf."""
    return {**os.environ, "MAKEFLAGS": f"CC={compiler}"}
