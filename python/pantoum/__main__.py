"""`python -m pantoum`, and the console script `pantoum`: becomes the program of this package."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Replaces this process by the program, with the words of the command line."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pantoum")
    os.execv(program, ["pantoum", *sys.argv[1:]])


if __name__ == "__main__":
    main()
