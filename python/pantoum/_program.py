"""The program `pantoum` of the wheel, as a console script."""

from __future__ import annotations

import os
import sys


def path() -> str:
    """Of the program that was installed with this package."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "pantoum")


def main() -> None:
    """Becomes the program, with the words of the command line."""
    os.execv(path(), ["pantoum", *sys.argv[1:]])
