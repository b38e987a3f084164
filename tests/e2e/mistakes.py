"""Mistakes of new users: (title, words behind `pantoum`), in a folder that make_folder fills. Standard library only."""
import gzip
import io
import os
import pickle
import shutil
import struct
import subprocess
import tarfile
import zipfile

from house import MODEL, PANTOUM, make_data, npy, onnx_model, onnx_node

QUICK = "--batch 8 --effort 1 --measure off --kernels portable"
TRAIN = f"train net.onnx --data images {QUICK} --ram 4MiB"

MISTAKES = [
    ("no words at all", ""),
    ("a verb with a slip", "trian net.onnx"),
    ("a verb of another tool", "compile net.onnx"),
    ("no verb", "net.onnx"),
    ("an option before the verb", "--ram 64MiB plan net.onnx"),
    ("a verb that is none", "frobnicate"),
    ("help of a verb that is none", "help trane"),
    ("train alone", "train"),
    ("plan alone", "plan"),
    ("an option with a slip", "plan net.onnx --batch 8 --optimzer adam"),
    ("an option of another tool", "train net.onnx --dataset images --batch-size 8 --learning-rate 0.1 -o w.safetensors"),
    ("an option of another verb", "inspect net.onnx --epochs 3"),
    ("one hyphen", "plan net.onnx -ram 1MiB"),
    ("capital letters", "plan net.onnx --RAM 1MiB"),
    ("a dash from a web page", "plan net.onnx \u2013\u2013ram 1MiB"),
    ("a dash from a word processor", "plan net.onnx \u2014ram 1MiB"),
    ("curly quotes", "plan \u201cnet.onnx\u201d"),
    ("a name with a space, not quoted", "plan my net.onnx --ram 1MiB"),
    ("an option twice", "plan net.onnx --ram 1MiB --ram 2MiB"),
    ("an option without its value", "plan net.onnx --ram --batch 8"),
    ("an option without its value at the end", "plan net.onnx --batch"),
    ("an empty value", "plan net.onnx --ram="),
    ("a value for a switch", "plan net.onnx --no-paging=true"),
    ("a slip in a value", f"plan net.onnx {QUICK} --optimizer admw"),
    ("a value in capitals", f"plan net.onnx {QUICK} --objective ENERGY"),
    ("a loss with a slip", f"plan net.onnx {QUICK} --loss crossentropy"),
    ("a planner with a slip", "plan net.onnx --planner checkmat"),
    ("a meter with a slip", f"{TRAIN} -o w.safetensors --meter powrcap"),
    ("a device with a slip", f"plan net.onnx {QUICK} --device m44"),
    ("a target that is none", "emit plan.json --target stm32 -o firmware"),
    ("a board with a slip", "emit plan.json --target cortex-m4f --board microbits -o firmware"),
    ("no unit", f"plan net.onnx {QUICK} --ram=64"),
    ("half a unit", f"plan net.onnx {QUICK} --ram 64M"),
    ("half a unit, apart", f"plan net.onnx {QUICK} --ram 64 M"),
    ("a unit in small letters", f"plan net.onnx {QUICK} --ram 64mb"),
    ("a comma", f"plan net.onnx {QUICK} --ram 1,5MiB"),
    ("bytes below 0", f"plan net.onnx {QUICK} --ram -4MiB"),
    ("no bytes at all", f"plan net.onnx {QUICK} --ram 0B"),
    ("seconds without a unit", f"plan net.onnx {QUICK} --ram 1MiB --deadline 3"),
    ("minutes as m", f"plan net.onnx {QUICK} --ram 1MiB --time-limit 5m"),
    ("a part in place of a percentage", f"plan net.onnx {QUICK} --ram 1MiB --gap 0.01"),
    ("a learning rate with a comma", f"plan net.onnx {QUICK} --ram 1MiB --lr 0,01"),
    ("a learning rate below 0", f"plan net.onnx {QUICK} --ram 1MiB --lr -0.1"),
    ("a learning rate that is no number", f"plan net.onnx {QUICK} --ram 1MiB --lr nan"),
    ("no epochs", f"{TRAIN} --epochs 0 -o w.safetensors"),
    ("half an epoch", f"{TRAIN} --epochs 0.5 -o w.safetensors"),
    ("a batch below 0", "plan net.onnx --batch -8 --ram 1MiB"),
    ("a number without end", "plan net.onnx --batch 99999999999999999999999 --ram 1MiB"),
    ("a setting of another optimizer", f"plan net.onnx {QUICK} --ram 1MiB --optimizer sgd,beta1=0.9"),
    ("a setting of an optimizer as an option", f"plan net.onnx {QUICK} --ram 1MiB --momentum 0.9"),
    ("a model that is not there", f"plan nett.onnx {QUICK} --ram 1MiB"),
    ("a folder as the model", f"plan models {QUICK} --ram 1MiB"),
    ("a PyTorch checkpoint as the model", "inspect net.pt"),
    ("an old PyTorch checkpoint as the model", "inspect old.pth"),
    ("a TorchScript program as the model", "inspect script.pt"),
    ("weights as the model", "inspect w0.safetensors"),
    ("a TFLite model that is damaged", "inspect net.tflite"),
    ("a Keras model", "inspect net.h5"),
    ("a SavedModel", "inspect saved"),
    ("an archive as the model", "inspect net.tar"),
    ("a packed model", "inspect net.onnx.gz"),
    ("an INI of NNTrainer as the model", "inspect net.ini"),
    ("an ONNX model as text", "inspect net.onnxtxt"),
    ("a plan as the model", f"train plan.json --data images {QUICK} -o w.safetensors"),
    ("a cost graph as the model", "plan graph.json --ram 1MiB"),
    ("an empty file as the model", "inspect empty.onnx"),
    ("half a model", "inspect half.onnx"),
    ("a pointer of Git LFS as the model", "inspect lfs.onnx"),
    ("an operator that is not known", f"plan odd.onnx --ram 1MiB {QUICK} --loss mse"),
    ("a model as the plan", "verify net.onnx"),
    ("a plan as the weights", f"plan net.onnx {QUICK} --weights plan.json"),
    ("a PyTorch checkpoint as the weights", f"plan net.onnx {QUICK} --weights net.pt"),
    ("data as the plan", "explain table.csv"),
    ("a model of any width", f"plan dynamic.onnx {QUICK} --ram 1MiB --loss mse"),
    ("far too little RAM", f"plan net.onnx {QUICK} --ram 16KiB --device m4"),
    ("no data there", f"train net.onnx --data imagse {QUICK} -o w.safetensors"),
    ("a folder without data", f"train net.onnx --data models {QUICK} -o w.safetensors"),
    ("data of another shape", f"train net.onnx --data small {QUICK} -o w.safetensors"),
    ("labels of another type", f"train net.onnx --data floats {QUICK} -o w.safetensors"),
    ("labels that count from 1", f"train net.onnx --data from_one {QUICK} -o w.safetensors"),
    ("an archive as the data", f"train net.onnx --data net.tar {QUICK} -o w.safetensors"),
    ("fewer samples than a batch", "train net.onnx --data images --batch 512 --effort 1 --measure off --kernels portable -o w.safetensors"),
    ("an output in a folder that is not there", f"{TRAIN} -o results/w.safetensors"),
    ("a folder as the output", f"{TRAIN} -o models"),
    ("two outputs in one file", f"{TRAIN} -o w.safetensors --report w.safetensors"),
    ("two files on standard output", f"plan net.onnx {QUICK} --ram 4MiB -o - --binary-out -"),
    ("a folder on standard output", "emit plan.json --target posix -o -"),
    ("nothing to resume", f"{TRAIN} -o w.safetensors --resume w.checkpoint"),
    ("weights in place of a checkpoint", f"{TRAIN} -o w.safetensors --resume foreign.safetensors"),
    ("a checkpoint of another batch", f"train net.onnx --data images --batch 16 --effort 1 --measure off --kernels portable --ram 4MiB -o w.safetensors --resume w0.safetensors.checkpoint"),
    ("a plan of another batch", f"train net.onnx --data images --batch 16 --kernels portable --ram 4MiB -o w.safetensors --plan kept.json"),
    ("a page file in no folder", f"{TRAIN} -o w.safetensors --page-file nowhere/pages"),
    ("a run log as the plan", "report w0.safetensors.jsonl -o r.html"),
    ("a project that is not there", "run-firmware firmware"),
    ("a shell that is not known", "completion tcsh"),
]


def archive(path, names):
    with zipfile.ZipFile(path, "w") as file:
        for name in names:
            file.writestr(name, b"0" * 64)


def make_weights(folder):
    """Two steps of the network, with a checkpoint, and a plan of them."""
    words = f"train net.onnx --data images {QUICK} --ram 4MiB -o w0.safetensors --plan-out plan.json --checkpoint-every 4"
    subprocess.run([PANTOUM, *words.split()], cwd=folder, capture_output=True, check=True)
    shutil.copy(os.path.join(folder, "plan.json"), os.path.join(folder, "kept.json"))
    words = f"plan net.onnx {QUICK} --ram 4MiB --costgraph-out graph.json"
    subprocess.run([PANTOUM, *words.split()], cwd=folder, capture_output=True, check=True)


def make_data_folders(path):
    make_data(path("images"), 32, test=16)
    for name, label in (("small", 0), ("floats", 0), ("from_one", 1)):
        os.makedirs(path(name))
        side, kind, values = (20 if name == "small" else 28), ("<f4" if name == "floats" else "<i8"), [label + at % 10 for at in range(32)]
        with open(path(name, "x_train.npy"), "wb") as file:
            file.write(npy("|u1", (32, 1, side, side), bytes(32 * side * side)))
        with open(path(name, "y_train.npy"), "wb") as file:
            file.write(npy(kind, (32,), struct.pack("<32f" if name == "floats" else "<32q", *values)))


def make_foreign_files(path, onnx):
    archive(path("net.pt"), ["net/data.pkl", "net/data/0"])
    archive(path("script.pt"), ["net/data.pkl", "net/constants.pkl", "net/code/__torch__.py"])
    files = {
        "old.pth": pickle.dumps({"conv.weight": [0.0]}, protocol=2),
        "net.tflite": b"\x1c\0\0\0TFL3" + bytes(64),
        "net.h5": b"\x89HDF\r\n\x1a\n" + bytes(64),
        "net.onnx.gz": gzip.compress(onnx, mtime=0),
        "net.ini": b"[Model]\nType = NeuralNetwork\nLoss = cross\n\n[inputlayer]\nType = input\n",
        "net.onnxtxt": b"<ir_version: 8, opset_import: [\"\" : 17]>\nagraph (float[N, 4] x) => (float[N, 4] y) { y = Relu(x) }\n",
        "empty.onnx": b"",
        "half.onnx": onnx[:len(onnx) // 2],
        "lfs.onnx": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
        "odd.onnx": onnx_model([onnx_node("Frobnicate", ["x"], ["y"], name="lonely")], ("N", 4)),
        "dynamic.onnx": onnx_model([onnx_node("Relu", ["x"], ["y"])], ("N", "width")),
        "foreign.safetensors": struct.pack("<Q", 2) + b"{}",
        "table.csv": b"a,b,label\n1,2,0\n",
    }
    for name, contents in files.items():
        with open(path(name), "wb") as file:
            file.write(contents)
    os.makedirs(path("saved"))
    with open(path("saved", "saved_model.pb"), "wb") as file:
        file.write(b"\x08\x01")
    with tarfile.open(path("net.tar"), "w") as file:
        info = tarfile.TarInfo("net.onnx")
        info.size = 4
        file.addfile(info, io.BytesIO(b"onnx"))


def make_folder(folder):
    def path(*names):
        return os.path.join(folder, *names)
    shutil.copy(MODEL, path("net.onnx"))
    with open(MODEL, "rb") as file:
        onnx = file.read()
    os.makedirs(path("models"))
    shutil.copy(MODEL, path("models", "tiny.onnx"))
    make_data_folders(path)
    make_foreign_files(path, onnx)
    make_weights(folder)
