"""Models that the front end is tested on: captured, compared with PyTorch, trained inside half of their memory."""

from . import adaptation, generation, language, networks, vision
from .case import Case

WRITTEN: dict[str, Case] = {**adaptation.CASES, **generation.CASES, **language.CASES, **vision.CASES}
CASES: dict[str, Case] = {**WRITTEN, **networks.CASES}

__all__ = ["CASES", "WRITTEN", "Case"]
