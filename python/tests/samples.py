"""What tests use: models of examples/, types, and options that make the same plan everywhere."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import numpy.typing as npt

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPIRALS = ROOT / "examples" / "c" / "spirals.onnx"
RECOMMENDER = ROOT / "examples" / "recommender" / "model.onnx"
IMAGES = ROOT / "examples" / "fashion" / "cnn.onnx"
BATCH = 16
MODELLED: dict[str, Any] = {"kernels": "portable", "measure": "off", "effort": 1}

Floats = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]
