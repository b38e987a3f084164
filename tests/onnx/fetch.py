"""Lays out the node tests of the Python package onnx under build/onnx-node-tests, once; quiet where they are there.

    python3 tests/onnx/fetch.py [FOLDER]

The release is the last whose operators are of opset 21, so that each case has the form that opset 21 gives its operator.
The wheel is a zip file of which the data alone are taken: one wheel serves every machine, and its checksum is pinned.
"""
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RELEASE = "1.16.2"
SHA256 = "7b98aa9733bd4b781eb931d33b4078ff2837e7d68062460726d6dd011f332bd4"
DOWNLOAD = ["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:",
            "--platform", "manylinux2014_x86_64", "--implementation", "cp", "--python-version", "3.11"]
CASES = ("onnx/backend/test/data/node/", "onnx/backend/test/data/simple/")


def download(folder):
    """The path of the wheel, or None where it cannot be had."""
    command = [sys.executable, *DOWNLOAD, "--dest", folder, f"onnx=={RELEASE}"]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=300)
    except (OSError, subprocess.SubprocessError) as error:
        output = getattr(error, "stderr", None) or str(error).encode()
        told = output.decode(errors="replace").strip().splitlines() or ["pip said nothing"]
        print(f"no node tests of onnx, the test of theirs is skipped: {told[-1]}")
        return None
    return os.path.join(folder, os.listdir(folder)[0])


def lay_out(wheel, target):
    """All files of a case stand under its name; the folder appears when it is whole."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith(CASES) and not name.endswith("/")]
        archive.extractall(os.path.dirname(wheel), names)
    whole = os.path.join(os.path.dirname(wheel), "whole")
    os.makedirs(whole)
    for kind in CASES:
        folder = os.path.join(os.path.dirname(wheel), kind)
        for case in os.listdir(folder):
            os.rename(os.path.join(folder, case), os.path.join(whole, case))
    os.replace(whole, target)


def main():
    target = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "build", "onnx-node-tests")
    if os.path.exists(target):
        return 0
    print(f"set-up: the node tests of onnx {RELEASE} into {os.path.relpath(target)}")
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(target)) as folder:
        wheel = download(folder)
        if wheel is None:
            return 0
        with open(wheel, "rb") as file:
            found = hashlib.sha256(file.read()).hexdigest()
        if found != SHA256:
            print(f"the wheel of onnx {RELEASE} has the checksum {found}, not {SHA256}: not used")
            return 1
        lay_out(wheel, target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
