"""Models of tests/values and tests/networks beside weights that are drawn from fixed seeds, and data for them."""
import json
import os
import random
import shutil
import struct
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def floats(count, seed, scale=1.0, shift=0.0):
    draw = random.Random(seed)
    return struct.pack(f"<{count}f", *(shift + scale * (2 * draw.random() - 1) for _ in range(count)))


def model(folder, name, to):
    """Copies tests/`folder`/`name`.onnx into the folder `to`, its weights.bin beside it; returns its path."""
    os.makedirs(to, exist_ok=True)
    source = os.path.join(ROOT, "tests", folder, name)
    with open(source + ".json", encoding="utf-8") as file:
        expected = json.load(file)
    # (offset, count, scale, shift), as the folder's README has them
    tensors = [(t["offset"], t["count"], t["scale"], t["shift"]) for t in expected.get("tensors", [])] or \
              [tuple(entry[2:6]) for entry in expected["weights"]]
    with open(os.path.join(to, "weights.bin"), "wb") as file:
        for offset, count, scale, shift in tensors:
            file.seek(offset)
            file.write(floats(count, offset, scale, shift))
    return shutil.copy(source + ".onnx", os.path.join(to, "net.onnx"))


def classes(folder, shape, samples, seed=5):
    """A data set of uniform numbers of that shape, in ten classes; returns its folder."""
    os.makedirs(folder, exist_ok=True)
    size = 1
    for extent in shape:
        size *= extent
    with open(os.path.join(folder, "x_train.f32"), "wb") as file:
        file.write(floats(samples * size, seed))
    draw = random.Random(seed)
    with open(os.path.join(folder, "y_train.i64"), "wb") as file:
        file.write(struct.pack(f"<{samples}q", *(draw.randrange(10) for _ in range(samples))))
    return folder


def words_for(binary, words):
    """The words as this build reads them: builds before settings stood in --optimizer have an option for each."""
    words = [str(word) for word in words]
    if "--momentum" not in subprocess.run([binary, "plan", "--help"], capture_output=True, text=True).stdout:
        return words
    old = []
    for before, word in zip(["", *words], words):
        name, *settings = word.split(",") if before == "--optimizer" else [word]
        old.append(name)
        for key, _, value in (setting.partition("=") for setting in settings):
            old += [f"--{key.replace('_', '-')}", *([value] if value else [])]
    return old
