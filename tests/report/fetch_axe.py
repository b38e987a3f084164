"""Lays axe-core (of the Python package that bundles it) under build/axe, once; quiet where it is there.

    python3 tests/report/fetch_axe.py

The wheel's checksum is pinned. Without network the check that needs it is skipped; the tests' own checks are not.
"""
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TARGET = os.path.join(ROOT, "build", "axe", "axe.min.js")
RELEASE = "0.1.0"
SHA256 = "f99f6bd674726c631c5e20b876983b44dff2b8f452a0ccf08f3c23ee45d0aac3"


def main():
    if os.path.exists(TARGET):
        return
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--dest", folder, f"axe-core-python=={RELEASE}"]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=120)
        except (OSError, subprocess.SubprocessError):
            print("no axe-core, the check that needs it is skipped: pip could not download it")
            return
        wheel = os.path.join(folder, next(name for name in os.listdir(folder) if name.endswith(".whl")))
        with open(wheel, "rb") as file:
            if hashlib.sha256(file.read()).hexdigest() != SHA256:
                sys.exit(f"axe-core-python {RELEASE} has another checksum than the one that is pinned")
        with zipfile.ZipFile(wheel) as archive:
            text = archive.read("axe_core_python/axe.min.js")
    os.makedirs(os.path.dirname(TARGET), exist_ok=True)
    with open(TARGET + ".part", "wb") as file:
        file.write(text)
    os.rename(TARGET + ".part", TARGET)


if __name__ == "__main__":
    main()
