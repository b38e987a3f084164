"""Answers to mistakes of new users: (number in the list of issue 43, words behind `pantoum`, exit code, what is said, what is not said), in the
folder of mistakes.py with the data sets of make_answers. Standard library only."""
import os
import re
import struct
import subprocess
import zipfile

from house import PANTOUM, npy, onnx_model, onnx_node, onnx_tensor

QUICK = "--batch 8 --effort 1 --measure off --kernels portable"
TRAIN = f"train net.onnx {QUICK} --ram 4MiB -o out.safetensors"
TRAIN_ANY = f"train net.onnx {QUICK} -o out.safetensors"
PLANNED = "train --plan kept.json -o out.safetensors --data images"
SIZE = r"[0-9]+(\.[0-9]+)?"

ANSWERS = [
    # 2, 26: what is not finite is named with its sample and file, before a smaller rate is advised
    (2, f"{TRAIN} --data nan", 3, [r"sample 5 is NaN\n  --> nan/x_train\.npy", "help: clean the data"], ["smaller --lr"]),
    (2, f"{TRAIN} --data infinite", 3, [r"sample 7 is infinite\n  --> infinite/x_train\.npy", "help: clean the data"], ["smaller --lr"]),
    # 3, 4, 22: labels of another kind
    (3, f"{TRAIN} --data one_hot", 3, [r"help: these labels are one-hot: save y\.argmax\(1\), or use --loss soft_cross_entropy\n"], ["classes=last"]),
    (3, f"{TRAIN} --data one_hot_f32", 3, [r"help: these labels are one-hot: save y\.argmax\(1\), or use --loss soft_cross_entropy\n"], ["classes=last"]),
    (4, f"{TRAIN} --data floats", 3, [r"help: these labels are whole numbers: save y\.astype\(numpy\.int64\)\n"], ["scale"]),
    (4, f"{TRAIN} --data halves", 3, ["a class is a whole number", "--loss mse"], ["scale", "astype"]),
    (22, f"{TRAIN} --data column", 0, ["trained  4 steps"], ["error"]),
    (22, f"train rgb.onnx {QUICK} --loss cross_entropy -o out.safetensors --data channels_last", 3, [r"numpy\.transpose\(x, \(0, 3, 1, 2\)\)"], []),
    # 6: an open batch
    (6, "plan net.onnx --effort 1 --measure off --kernels portable --ram 4MiB", 0, ["warning: the model leaves its batch open, and no --batch was given: a step has 1 sample"], []),
    (6, f"plan net.onnx {QUICK} --ram 4MiB", 0, ["^plan "], ["leaves its batch open"]),
    # 8: a checkpoint of another model, before its batch and its data; of another optimizer, of another batch
    (8, "train other.onnx --batch 16 --effort 1 --measure off --kernels portable --loss mse --data small -o out.safetensors --resume w0.safetensors.checkpoint", 3,
     ["the resume point is of another model", r"   = it (has|lacks) '\S+' f32 \[", "help: resume with the model"], ["--batch 8", "data set"]),
    (8, f"{TRAIN} --data images --optimizer adam --resume w0.safetensors.checkpoint", 3,
     ["the resume point is of another optimizer", r"it keeps nothing \(sgd without momentum\), and the optimizer of this run adam_m, adam_v"], ["another model", "^plan "]),
    (8, f"{TRAIN} --data images --optimizer sgd,momentum=0.9 --resume w0.safetensors.checkpoint", 3, ["of another optimizer", "of this run momentum"], ["^plan "]),
    (8, "train net.onnx --data images --batch 16 --effort 1 --measure off --kernels portable --ram 4MiB -o out.safetensors --resume w0.safetensors.checkpoint", 3,
     ["the resume point was made with batches of 8, this run has 16", "help: resume with --batch 8"], ["another model", "^plan "]),
    (8, f"{TRAIN} --data images --shuffle off --resume w0.safetensors.checkpoint", 3,
     ["the resume point shuffles the samples, and --shuffle is off here", "help: leave --shuffle out"], ["another model", "^plan "]),
    # 9: a plan of another step
    (9, f"{PLANNED} --batch 16", 3, ["--batch is 16 here, and the plan was made with 8"], []),
    (9, f"{PLANNED} --optimizer adam", 3, ["--optimizer is adam here, and the plan was made with sgd"], []),
    (9, f"{PLANNED} --loss mse", 3, ["--loss is mse here, and the plan was made with cross_entropy"], []),
    (9, f"{PLANNED} --accumulate 2", 3, ["--accumulate is 2 here, and the plan was made with 1"], []),
    (9, PLANNED, 0, ["trained  4 steps"], ["leaves its batch open"]),
    # 10: sizes in the unit that the user wrote
    (10, f"plan net.onnx {QUICK} --ram 100KiB", 5, [rf"100 KiB is too little: the least known is {SIZE} KiB; below {SIZE} KiB nothing fits\n", r"help: --ram \d+KiB"], ["102400"]),
    (10, f"plan net.onnx {QUICK} --ram 0.1MiB", 5, [rf"0\.1 MiB is too little: the least known is {SIZE} MiB; below {SIZE} MiB nothing fits\n"], ["104857"]),
    (10, f"plan net.onnx {QUICK} --ram 200kB", 5, [rf"200 kB is too little: the least known is {SIZE} kB; below {SIZE} kB nothing fits\n"], ["200000"]),
    (10, f"plan net.onnx {QUICK} --ram 100KiB --reserve 10KiB", 5, [rf"100 KiB is too little: the least known is {SIZE} KiB; below {SIZE} KiB nothing fits\n"], ["90", "add "]),
    # 11, 12: shares and bare numbers
    (11, f"plan net.onnx {QUICK} --ram 50%", 2, [rf"'50%' is a share, and no number of bytes", rf"help: the unplanned step takes {SIZE} \w+: 50% of it is {SIZE} \w+\n"], ["unknown unit", "no known unit"]),
    (11, f"train net.onnx {QUICK} --data images -o out.safetensors --ram 12.5%", 2, [r"'12\.5%' is a share", rf": 12\.5% of it is {SIZE} \w+\n"], []),
    *[(11, f"{words} --ram {ram}", 2, [f"'{re.escape(ram)}' (is a share|has no unit)", rf"help: the unplanned step takes {SIZE} \w+: 50% of it is {SIZE} \w+\n"],
       ["0B", "here, and", "KiB or"]) for ram in ("50%", "0.5", ".5") for words in (
        f"plan net.onnx {QUICK}", "plan --costgraph graph.json --effort 1", f"sweep net.onnx {QUICK} -o swept", "sweep --costgraph graph.json --effort 1 -o swept",
        f"profile net.onnx {QUICK}", f"{TRAIN_ANY} --data images", PLANNED, "verify kept.json", "emit kept.json --target posix --data images -o firmware",
        *[f"{verb} net.onnx --batch 8 --weights w0.safetensors --data images{more}" for verb, more in (("predict", " -o out.npy"), ("eval", ""))])],
    *[(11, f"sweep net.onnx {QUICK} -o swept --ram {ram}", 2, [rf"help: the unplanned step takes {SIZE} \w+: {part} of it is {SIZE} \w+\n"], [])
      for ram, part in (("20%:80%:4", "20%"), ("4MiB,50%", "50%"), ("64KiB:0.9:4", "90%"))],
    (11, f"sweep net.onnx {QUICK} -o swept --ram 64KiB:1MiB:0.5", 2, ["'0.5' is no number of budgets"], ["unplanned"]),
    *[(11, f"{words} --ram {ram}", 2, said, []) for words in (f"plan net.onnx {QUICK}", f"{TRAIN_ANY} --data images", PLANNED, "verify kept.json")
      for ram, said in (("auto", ["'auto' is no number of bytes", "leave --ram out", "`pantoum sweep` takes auto"]), ("2MiB,4MiB", ["are several budgets", "pantoum sweep"]),
                        ("2MiB:4MiB:3", ["are several budgets"]), ("0", ["as in 64KiB"]))],
    (11, "emit kept.json --target cortex-m0 --data images --ram 1e6GiB -o firmware", 3, [r"1000000\.00 GiB of RAM are asked for, and the board microbit has \S+ KiB"], ["bytes"]),
    (12, f"plan net.onnx {QUICK} --ram 1e6", 2, ["did you mean 1000000B"], ["1000000MiB", "1000000KiB"]),
    (12, f"plan net.onnx {QUICK} --ram 4194304", 2, [r"did you mean 4194304B\? It is 4\.00 MiB"], ["4194304MiB"]),
    # 13: what is there, and how it would have to be called
    (13, f"{TRAIN} --data upper", 3, [r"the folder has X\.npy, y\.npy", r"help: rename: mv upper/X\.npy upper/x_train\.npy; mv upper/y\.npy upper/y_train\.npy\n"], ["looked for"]),
    (13, f"{TRAIN} --data words", 3, [r"mv words/train_images\.npy words/x_train\.npy; mv words/train_labels\.npy words/y_train\.npy; mv words/test_images\.npy words/x_test\.npy"], ["looked for"]),
    (13, f"{TRAIN} --data zipped", 3, [r"the folder has all\.npz", r"help: rename: mv zipped/all\.npz zipped/train\.npz\n"], ["looked for"]),
    (13, f"{TRAIN} --data zipped/all.npz", 3, ["the file has the arrays x, y", r"numpy\.savez\('zipped/renamed\.npz', x_train=z\['x'\], y_train=z\['y'\]\)"], []),
    (13, f"{TRAIN} --data tables", 3, [r"help: name the file: --data tables/iris\.csv"], []),
    (13, f"{TRAIN} --data keras", 3, [r"train\.h5 is an HDF5 file"], []),
    (13, f"{TRAIN} --data hollow", 3, ["the folder is empty"], []),
    # 20: files of other frameworks as the model
    (20, "inspect net.pt", 3, ["'net.pt' is a PyTorch checkpoint, not an ONNX model", r"torch\.onnx\.export", r"pantoum\.compile"], []),
    (20, "inspect net.h5", 3, ["an HDF5 file, as Keras writes", "tf2onnx"], []),
    (20, "inspect net.tflite", 3, ["E0215", "no whole model of TensorFlow Lite"], []),
    (20, "inspect saved", 3, ["folder|SavedModel"], []),
    # 21: a folder that is not there
    (21, f"{TRAIN.replace('out.safetensors', 'nodir/out.safetensors')} --data images", 9, [r"help: make it: mkdir -p nodir\n"], ["free some space"]),
    # 26: a column that counts the rows
    (26, f"train table.onnx {QUICK} --loss cross_entropy --data index.csv -o out.safetensors", 0, ["warning: the column 'id' of index.csv counts up by one", r"train loss \d\.\d+e\+\d+|train loss \S+"], [r"\d{20}"]),
    (26, f"train table.onnx {QUICK} --loss cross_entropy --data plain.csv -o out.safetensors", 0, ["train loss"], ["counts up"]),
    # 27: a run that was done
    (27, f"{TRAIN.replace('out.', 'w0.')} --data images --resume w0.safetensors.checkpoint", 0, ["nothing to train: all 4 steps were done before"], [r"\d steps in"]),
    # 28: more samples than the board has room for
    (28, "emit kept.json --target cortex-m4f --data many -o firmware", 3, [r"8192 samples of \d+ B take [5-9]\.\d+ MiB, and the board mps2-an386 has 4\.00 MiB of ROM", r"help: emit fewer than \d+ of them with --samples"], []),
    (28, "emit kept.json --target cortex-m0 --data many --samples 1000 -o firmware", 3, ["1000 samples of .* the board microbit has 256.0 KiB|RAM on a board"], []),
    # 29: a report says what it wrote
    (29, "report kept.json -o page.html", 0, [r"wrote page\.html"], []),
    # 30: names of other frameworks and other tools
    *[(30, f"plan net.onnx {QUICK} --loss {name}", 2, [says, "use one of cross_entropy"], []) for name, says in (
        ("sparse_categorical_crossentropy", "cross_entropy takes logits, and labels as numbers of classes"), ("categorical_crossentropy", "soft_cross_entropy takes one-hot labels"),
        ("binary_crossentropy", "bce_with_logits takes the output before the sigmoid"), ("mae", "the mean absolute error is l1"), ("huber", "smooth_l1"), ("hinge", r"pantoum\.compile"))],
    *[(30, f"plan net.onnx {QUICK} --optimizer {name}", 2, [says, "use one of sgd"], []) for name, says in (
        ("lion", "adamw is the nearest"), ("nadam", "adamw is the nearest"), ("momentum", "sgd,momentum=0.9"))],
    *[(30, f"plan net.onnx {QUICK} --device {name}", 3, [says], []) for name, says in (
        ("esp32", "copy the one of m7"), ("stm32f4", "m4 is a Cortex-M4"), ("rp2040", "m0 is a Cortex-M0"), ("raspberrypi", "a53, pi4 and pi5"), ("cuda", "only processors compute here"), ("laptop", "host is this machine"))],
    *[(30, f"emit kept.json -o firmware --target {name}", 2, [says], []) for name, says in (("esp32", "posix writes plain C99"), ("stm32", "cortex-m4f"), ("pico", "cortex-m0"))],
    (30, "convert net.onnx", 2, ["models are read as ONNX: .*pantoum export"], ["did you mean"]),
    (30, "quantize net.onnx", 2, ["pantoum export", "int8"], []),
    (30, "infer net.onnx", 2, ["did you mean 'pantoum predict'"], []),
    (30, "evaluate net.onnx", 2, ["did you mean 'pantoum eval'"], []),
    (30, f"{TRAIN} --data images --quite", 2, [r"did you mean --quiet\?"], []),
    # 31: no test set
    (31, f"{TRAIN} --data column", 0, ["note: the data hold no test set, so that nothing is evaluated: .*--test-data, .*--val-split 0.1"], ["test loss"]),
    (31, f"{TRAIN} --data column --val-split 0.25", 0, ["trained  3 steps", "test accuracy"], ["no test set"]),
    (31, f"{TRAIN} --data images --val-split 0.25", 2, ["the data have a test set of 16 samples", "leave --val-split out"], []),
    (31, f"{TRAIN} --data column --val-split 1.5", 2, ["--val-split"], []),
    # 32: the plan of a run stands beside its output
    (32, f"{TRAIN} --data images", 0, ["trained"], ["previous"]),
    # 33: no RAM was asked for
    (33, f"plan net.onnx {QUICK}", 0, [rf"no --ram was given: 8\.00 GiB is the RAM of the profile host; this machine has {SIZE} [GM]iB\n"], []),
    (33, f"plan table.onnx {QUICK} --device m4", 0, [r"no --ram was given: \S+ KiB is the RAM of the profile m4\n"], ["this machine"]),
    # texts
    (0, "--help", 0, ["inside a RAM budget: by computing tensors again,\\s+or moving them to disk"], ["tensors return"]),
    (0, f"plan net.onnx {QUICK} --ram 4MiB", 0, ["proved optimal, for any order"], ["1e-", "gap"]),
    (0, "operators", 0, [], ["a test holds this file"]),
]


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def array(kind, shape, values):
    codes = {"<f4": "f", "<i8": "q", "|u1": "B"}
    return npy(kind, shape, struct.pack(f"<{len(values)}{codes[kind]}", *values))


def make_answers(folder):
    """The data sets and models of ANSWERS, beside those of mistakes.make_folder."""
    def put(name, data):
        write(os.path.join(folder, name), data)
    count, pixels = 32, 784
    classes = [at % 10 for at in range(count)]
    images, labels = array("|u1", (count, 1, 28, 28), [0] * (count * pixels)), array("<i8", (count,), classes)
    one_hot = [int(column == label) for label in classes for column in range(10)]
    for name, x, y in (("column", images, array("<i8", (count, 1), classes)), ("one_hot", images, array("<i8", (count, 10), one_hot)),
                       ("one_hot_f32", images, array("<f4", (count, 10), one_hot)), ("halves", images, array("<f4", (count,), [label + 0.5 for label in classes])),
                       ("channels_last", array("|u1", (count, 8, 8, 3), [0] * (count * 192)), array("<i8", (count,), [at % 3 for at in range(count)]))):
        put(f"{name}/x_train.npy", x)
        put(f"{name}/y_train.npy", y)
    for name, sample, value in (("nan", 5, float("nan")), ("infinite", 7, float("inf"))):
        values = [0.0] * (count * pixels)
        values[sample * pixels + 99] = value
        put(f"{name}/x_train.npy", array("<f4", (count, 1, 28, 28), values))
        put(f"{name}/y_train.npy", labels)
    for name, x, y in (("upper", "X.npy", "y.npy"), ("words", "train_images.npy", "train_labels.npy"), ("words", "test_images.npy", "test_labels.npy")):
        put(f"{name}/{x}", images)
        put(f"{name}/{y}", labels)
    os.makedirs(os.path.join(folder, "zipped"))
    with zipfile.ZipFile(os.path.join(folder, "zipped", "all.npz"), "w") as file:
        file.writestr("x.npy", images)
        file.writestr("y.npy", labels)
    os.makedirs(os.path.join(folder, "hollow"))
    put("tables/iris.csv", b"1,2,0\n")
    put("keras/train.h5", b"\x89HDF\r\n\x1a\n" + bytes(64))
    put("many/x_train.npy", npy("|u1", (8192, 1, 28, 28), bytes(8192 * pixels)))
    put("many/y_train.npy", npy("<i8", (8192,), bytes(8 * 8192)))
    rows = [f"{{}}{at % 7},{at % 3},{at % 3}\n" for at in range(64)]
    put("index.csv", ("id,a,b,label\n" + "".join(row.format(f"{1000000 + at},") for at, row in enumerate(rows))).encode())
    put("plain.csv", ("c,a,b,label\n" + "".join(row.format(f"{at % 5},") for at, row in enumerate(rows))).encode())
    make_models(folder)


def make_models(folder):
    """Linear classifiers of tables and of pictures with three channels, and one that fits no other file here."""
    def dense(inputs, outputs):
        return onnx_tensor("w", (inputs, outputs), [0.01 * (at % 7 - 3) for at in range(inputs * outputs)])
    models = {"table.onnx": onnx_model([onnx_node("MatMul", ["x", "w"], ["y"])], ("N", 3), [dense(3, 3)]),
              "other.onnx": onnx_model([onnx_node("MatMul", ["x", "w"], ["y"])], ("N", 5), [dense(5, 5)]),
              "rgb.onnx": onnx_model([onnx_node("Flatten", ["x"], ["flat"]), onnx_node("MatMul", ["flat", "w"], ["y"])], ("N", 3, 8, 8), [dense(192, 3)])}
    for name, model in models.items():
        write(os.path.join(folder, name), model)


def told(folder, words):
    """(exit code, what it says on both streams)."""
    done = subprocess.run([PANTOUM, *words.split()], cwd=folder, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr
