"""Models that the front end is tested on: captured, compared with PyTorch, trained inside half of their memory."""

from . import adaptation, contrast, detection, fields, generation, language, networks, sequences, tables, vision
from .case import Case

FAMILIES = (adaptation, generation, language, vision, contrast, detection, fields, sequences, tables)
WRITTEN: dict[str, Case] = {name: case for family in FAMILIES for name, case in family.CASES.items()}
CASES: dict[str, Case] = {**WRITTEN, **networks.CASES}

__all__ = ["CASES", "FAMILIES", "WRITTEN", "Case"]
