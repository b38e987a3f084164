"""The cases of the firmware's benchmark: networks, samples, boards, budgets, steps."""
import dataclasses

import data

KIB = 1 << 10


@dataclasses.dataclass
class Case:
    name: str
    network: str
    samples: object            # a function of data.py
    ram: int                   # in all: the linker's limit
    reserve: int               # of it: stack, tables
    stack: int
    steps: int
    targets: list              # words of --target
    plan: list                 # further options
    emit: list
    counted: int = 3           # steps of the run whose instructions are counted
    parameters: int = 0        # at least so many
    accuracy: float = 0        # on the test set, at least
    paged: list = dataclasses.field(default_factory=list)  # kinds of tensors that must be
    weights: str = ""          # the network whose training here makes the first weights
    needs_twice: bool = False  # unplanned at least 2 times the budget


EPOCHS, DIGITS_BATCH, DIGITS = 20, 4, 1438  # of 1797, a fifth is held out
M4F = [["cortex-m4f"]]
IMAGES = ["--normalize", "0.286,0.353"]  # mean and deviation of Fashion-MNIST

CASES = [
    Case("MLP on digits", "mlp", data.digits, 16 * KIB, 4 * KIB, 2 * KIB, EPOCHS * DIGITS // DIGITS_BATCH, [["cortex-m0", "--board", "microbit"]],
         ["--device", "m0", "--batch", DIGITS_BATCH, "--lr", 0.05],
         ["--normalize", "0.0191,0.0235", "--test-samples", 359], counted=50, accuracy=0.9),
    Case("CNN, batch 1", "cnn_3k", data.fashion, 32 * KIB, 6 * KIB, 3 * KIB, 200, [["cortex-m0", "--board", "mps2-an385"]],
         ["--device", "m0", "--batch", 1, "--lr", 0.02, "--params-in", "aux"],
         [*IMAGES, "--samples", 200, "--test-samples", 100], parameters=3000),
    Case("CNN paged to an SD card", "cnn_sd", data.fashion, 64 * KIB, 8 * KIB, 3 * KIB, 60, [["cortex-m3", "--board", "lm3s6965evb"]],
         ["--device", "m4", "--batch", 4, "--lr", 0.003, "--optimizer", "adam", "--params-in", "aux"],
         [*IMAGES, "--samples", 128, "--test-samples", 40], paged=["optimizer state", "activations"], needs_twice=True),
    Case("CNN with Adam in storage", "cnn_30k", data.fashion, 256 * KIB, 12 * KIB, 4 * KIB, 50, M4F,
         ["--device", "m4", "--batch", 4, "--lr", 0.001, "--optimizer", "adam", "--params-in", "aux"],
         [*IMAGES, "--samples", 200, "--test-samples", 80], parameters=30000, paged=["parameters", "optimizer state"], needs_twice=True),
    Case("transformer block", "transformer", data.text, 256 * KIB, 12 * KIB, 4 * KIB, 20, [["cortex-m4f"], ["cortex-m7"], ["cortex-m55"]],
         ["--device", "m4", "--batch", 2, "--lr", 0.05, "--optimizer", "sgd,momentum=0.9", "--params-in", "aux", "--objective", "time"],
         ["--test-samples", 16], needs_twice=True),
    Case("transfer learning", "transfer", data.two_classes, 256 * KIB, 12 * KIB, 4 * KIB, 100, M4F,
         ["--device", "m4", "--batch", 5, "--lr", 0.05, "--freeze", "backbone*", "--feature-cache", "64KiB"],
         ["--test-samples", 40], accuracy=0.8, weights="backbone"),
]
