"""The PyTorch front end: a module becomes a torch graph, which the compiler reads. Imported late: `import pantoum`
needs no torch."""

from .bridge import capture_model
from .capture import capture
from .check import CheckReport, Difference, check
from .graph_file import TorchGraph
from .trainer import TorchTrainer

__all__ = [
    "CheckReport",
    "Difference",
    "TorchGraph",
    "TorchTrainer",
    "capture",
    "capture_model",
    "check",
]
