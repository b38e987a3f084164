"""The networks and examples that are trained on both processors, and small data for them."""
import dataclasses
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Examples that train in seconds: their run.sh is run whole.
EXAMPLES = ("logistic-regression", "multi-input", "product-ratings")


@dataclasses.dataclass(frozen=True)
class Network:
    name: str
    about: str
    example: str  # whose model and data it has
    data: str     # a file of that example
    samples: int  # of the training set; a quarter as many of the test set
    step: tuple   # what a plan is made for
    run: tuple = ()
    effort: int = 5

    @property
    def model(self):
        return ROOT / "examples" / self.example / "model.onnx"


NETWORKS = (
    Network("residual paged", "convolutions and batch norm; parameters and activations are paged", "image-classification", "clothes.npz", 64,
            ("--batch", 16, "--ram", "640KiB", "--optimizer", "adamw", "--lr", 0.005, "--params-in", "aux")),
    Network("residual", "convolutions and batch norm; a part is computed again", "image-classification", "clothes.npz", 64,
            ("--batch", 16, "--ram", "1MiB", "--optimizer", "sgd,momentum=0.9", "--lr", 0.01)),
    Network("lstm", "a recurrent network over 14 words", "sequence-tagging", "messages.npz", 128,
            ("--batch", 32, "--ram", "700KiB", "--loss", "cross_entropy,classes_last", "--optimizer", "adam", "--lr", 0.01)),
    Network("transformer", "attention, layer norm and GELU", "text-classification", "reviews.npz", 128,
            ("--batch", 32, "--ram", "1536KiB", "--train", "place", "--optimizer", "adamw", "--lr", 0.003)),
    Network("embedding", "tables of embeddings, paged", "recommender", "ratings.npz", 512,
            ("--batch", 64, "--ram", "160KiB", "--loss", "mse", "--train", "mean", "--params-in", "aux", "--optimizer", "adam", "--lr", 0.01)),
)


# A head on a frozen part, whose features are kept.
FEATURES = Network("features", "", "transfer-learning", "new.npz", 48,
                   ("--batch", 4, "--ram", "320KiB", "--optimizer", "adam", "--freeze", "backbone.*", "--freeze-stats", "*", "--feature-cache", "2MiB"))

# Plans that are compared: name, what is planned, and how the planner ends: "proved" with a proof, "simple" without any linear program, "gap" by its effort.
CNN = ("fashion/cnn.onnx", "--batch", 16, "--ram", "1600KiB", "--effort", 2)
PLANS = (
    ("logistic regression", "proved", ("logistic-regression/classes.ini", "--ram", "3KiB", "--effort", 5)),
    ("multi-input", "proved", ("multi-input/machine.ini", "--ram", "164KiB", "--no-paging", "--effort", 5)),
    ("residual", "proved", ("image-classification/model.onnx", "--batch", 16, "--ram", "2MiB", "--effort", 5)),
    ("transformer", "proved", ("text-classification/model.onnx", "--batch", 32, "--train", "place", "--optimizer", "adamw", "--ram", "2200KiB", "--effort", 5)),
    ("embedding", "proved", ("recommender/model.onnx", "--batch", 64, "--loss", "mse", "--train", "mean", "--optimizer", "adam", "--ram", "280KiB", "--effort", 5)),
    ("dtr", "simple", (*CNN, "--planner", "dtr")),
    ("capuchin", "simple", (*CNN, "--planner", "capuchin")),
    ("lstm", "gap", ("sequence-tagging/model.onnx", "--batch", 32, "--loss", "cross_entropy,classes_last", "--optimizer", "adam", "--ram", "900KiB", "--effort", 5)),
    ("paged", "gap", ("image-classification/model.onnx", "--batch", 16, "--optimizer", "adamw", "--params-in", "aux", "--ram", "640KiB", "--effort", 5)),
)


def write_data(folder):
    """Each example's data, cut to as many samples as the network is trained on, into FOLDER/data."""
    import numpy  # what is planned alone needs none
    (folder / "data").mkdir()
    for network in (*NETWORKS, FEATURES):
        if (folder / "data" / network.data).exists():
            continue
        whole = folder / "data" / f"{network.example}.whole"
        whole.mkdir()
        subprocess.run([sys.executable, ROOT / "examples" / network.example / "data.py", whole], check=True, stdout=subprocess.DEVNULL)
        arrays = numpy.load(whole / network.data)
        counts = {"train": network.samples, "test": network.samples // 4}
        numpy.savez(folder / "data" / network.data, **{name: values[:counts[name.rsplit("_", 1)[1]]] for name, values in arrays.items() if name.endswith(("_train", "_test"))})
