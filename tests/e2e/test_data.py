"""The same samples in every format train the same parameters; pictures, augmentation and prefetching too."""
import os
import struct
import unittest
import zipfile
import zlib

from house import MODEL, House, idx, make_data, npy, tensors

BATCH = 8


def png(path, width, height, pixels):
    """8-bit gray."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes(pixels[row * width:(row + 1) * width]) for row in range(height))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Data(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = make_data(os.path.join(cls.folder, "idx"), 6 * BATCH, BATCH)
        cls.parts = {}
        for split, prefix in (("train", "train"), ("test", "t10k")):
            with open(os.path.join(folder, f"{prefix}-images-idx3-ubyte"), "rb") as images, open(os.path.join(folder, f"{prefix}-labels-idx1-ubyte"), "rb") as labels:
                cls.parts[split] = (images.read()[16:], labels.read()[8:])
        cls.expected = None

    def train(self, data, name, *words):
        out = self.path(name + ".safetensors")
        self.succeed("train", MODEL, "--data", data, "--batch", BATCH, "--effort", 1, "--ram", "8MiB", "--seed", 5, "--lr", "0.05", "--log", self.path(name + ".jsonl"),
                     "-o", out, *words)
        return tensors(out)

    def same(self, data, name, *words):
        if Data.expected is None:
            Data.expected = self.train(self.path("idx"), "expected"), self.log_of(self.path("expected.jsonl"))[-1]["test_loss"]
        self.assertEqual(self.train(data, name, *words), Data.expected[0])
        self.assertEqual(self.log_of(self.path(name + ".jsonl"))[-1]["test_loss"], Data.expected[1])

    def test_npz(self):
        for name, method in (("stored", zipfile.ZIP_STORED), ("deflated", zipfile.ZIP_DEFLATED)):
            path = self.path(name + ".npz")
            with zipfile.ZipFile(path, "w", method) as file:
                for split, (images, labels) in self.parts.items():
                    file.writestr(f"x_{split}.npy", npy("|u1", (len(labels), 28, 28), images))
                    file.writestr(f"y_{split}.npy", npy("|u1", (len(labels),), labels))
            self.same(path, name)

    def test_raw(self):
        os.makedirs(self.path("raw"))
        for split, (images, labels) in self.parts.items():
            for name, data in ((f"x_{split}.u8", images), (f"y_{split}.u8", labels)):
                with open(self.path("raw", name), "wb") as file:
                    file.write(data)
        self.same(self.path("raw"), "raw")

    def test_csv(self):
        for split, (images, labels) in self.parts.items():
            with open(self.path(split + ".csv"), "w") as file:
                file.write("label," + ",".join(f"p{pixel}" for pixel in range(784)) + "\n")
                for row, label in enumerate(labels):
                    pixels = (struct.unpack("<f", struct.pack("<f", pixel / 255))[0] for pixel in images[784 * row:784 * row + 784])
                    file.write(f"{label}," + ",".join(map(repr, pixels)) + "\n")
        self.same(self.path("train.csv"), "csv", "--test-data", self.path("test.csv"), "--label-column", "label")

    def test_an_image_folder(self):
        order = []  # the samples sorted by class, as the folder has them
        for split, (images, labels) in self.parts.items():
            for row, label in enumerate(labels):
                png(self.path("pictures", split, str(label), f"{row:03}.png"), 28, 28, images[784 * row:784 * row + 784])
        os.makedirs(self.path("sorted"))
        present = sorted(set(self.parts["train"][1]))
        self.assertEqual(set(self.parts["test"][1]) - set(present), set())
        for split, prefix in (("train", "train"), ("test", "t10k")):
            images, labels = self.parts[split]
            order = sorted(range(len(labels)), key=lambda row: (labels[row], row))
            idx(self.path("sorted", f"{prefix}-images-idx3-ubyte"), (len(order), 28, 28), b"".join(images[784 * row:784 * row + 784] for row in order))
            idx(self.path("sorted", f"{prefix}-labels-idx1-ubyte"), (len(order),), [present.index(labels[row]) for row in order])
        self.assertEqual(self.train(self.path("pictures"), "pictures"), self.train(self.path("sorted"), "sorted"))
        event = next(line for line in self.log_of(self.path("pictures.jsonl")) if line["event"] == "data")
        self.assertEqual((event["format"], event["train_samples"]), ("image folder", 6 * BATCH))
        self.assertEqual(event["classes"], [str(label) for label in present])

    def test_prefetching_changes_nothing_and_is_part_of_the_budget(self):
        words = ("--augment", "flip,flip_vertically,crop=3", "--normalize", "0.3,0.4", "--epochs", 3)
        expected = self.train(self.path("idx"), "augmented", *words)
        self.assertNotEqual(expected, self.train(self.path("idx"), "plain", "--normalize", "0.3,0.4", "--epochs", 3))
        for depth in (1, 4):
            self.assertEqual(self.train(self.path("idx"), "ahead", *words, "--prefetch", depth), expected)
            end = self.log_of(self.path("ahead.jsonl"))[-1]
            self.assertEqual(end["queue_bytes"], -(-depth * (BATCH * 784 * 4 + 64) // 4096) * 4096)
            self.assertEqual(end["budget_bytes"] + end["queue_bytes"], 8 << 20)
            self.assertLessEqual(end["rss_growth_bytes"], end["arena_bytes"] + end["queue_bytes"] + (1 << 20))

    def test_a_resume_with_augmentation_is_exact(self):
        words = ("--augment", "flip,crop=2", "--prefetch", 2, "--checkpoint-every", 4)
        expected = self.train(self.path("idx"), "straight", *words, "--epochs", 3)
        self.train(self.path("idx"), "begun", *words, "--epochs", 1)
        point = self.path("begun.safetensors.checkpoint")  # of step 4 of 6
        self.assertEqual(self.train(self.path("idx"), "resumed", *words, "--epochs", 3, "--resume", point), expected)

    def test_what_does_not_fit_is_refused(self):
        with open(self.path("narrow.csv"), "w") as file:
            file.write("1,2,3\n")
        words = ("train", MODEL, "--batch", BATCH, "--effort", 1, "--ram", "8MiB", "-o", self.path("w.safetensors"), "--data")
        self.assertIn("the model wants 784 and 1", self.refuse(3, "E0262", *words, self.path("narrow.csv")).stderr)
        self.refuse(3, "E0262", *words, self.path("nowhere"))
        with open(self.path("text.npz"), "w") as file:
            file.write("no archive")
        self.refuse(3, "E0261", *words, self.path("text.npz"))
        for more in (("--augment", "spin"), ("--augment", "crop"), ("--augment", "crop="), ("--normalize", "1"), ("--normalize", "0,0")):
            self.assertRegex(self.run_cli(*words, self.path("idx"), *more).stderr, r"^error\[E01(15|16|20)\]", more)
        self.assertIn("2 normalizations for the 1 channels", self.refuse(3, "E0262", *words, self.path("idx"), "--normalize", "0,1", "--normalize", "1,2").stderr)
        self.assertIn("out of sight", self.refuse(3, "E0262", *words, self.path("idx"), "--augment", "crop=28").stderr)


if __name__ == "__main__":
    unittest.main()
