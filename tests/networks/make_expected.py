#!/usr/bin/env python3
"""Writes the networks and expected values of networks_test.cc: NAME.onnx and NAME.dynamo.onnx (structure alone), NAME.json.

    python3 make_expected.py [NAME ...]      needs torch, onnx, onnxscript, numpy

Weights and batches come from the generator of ../values (README.md there). PyTorch trains in float64 on the float32 values of the generator; it
trains in float32 too, from weights moved by about a rounding, and a case is refused here when these trainings are further away than a fifth of
the tests' bound for losses and norms, or half of the one for changes: then the steps are too long to be compared, not the tolerance too tight.
"""
import contextlib
import io
import json
import os
import sys
import tempfile
import warnings

import numpy as np
import onnx
import torch
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "values"))
import chosen  # noqa: E402
import indices  # noqa: E402
import sequence  # noqa: E402
import vision  # noqa: E402
from make_reference import scale_of, uniform, words  # noqa: E402

BOUND = 1e-3
STEPS = 10


def image(*shape):
    return {"kind": "uniform", "shape": list(shape)}


def ids(bound, *shape):
    return {"kind": "ids", "shape": list(shape), "below": bound}


def case(kind, inputs, label, lr, momentum=0.9, loss="cross_entropy", dynamo=21, folds=False, quiet=None, bias=0.0, bound=BOUND):
    """`folds`: PyTorch's newer exporter folds batch norm and transposed weights away unless it is told not to optimize.
    `quiet`: the last normalization of every residual branch, or T5's queries: they begin with a fifth of the usual scale, as they are
    initialized in practice.
    `bias`: where those of normalizations begin; above 0 fewer kinks of ReLU are near.
    `bound`: of the losses; one integer that is wrong in a mask or an index moves them little."""
    return {"kind": kind, "inputs": inputs, "label": label, "lr": lr, "momentum": momentum, "loss": loss, "dynamo": dynamo, "folds": folds,
            "quiet": quiet, "bias": bias, "bound": bound}


NETWORKS = {
    "lenet5": case(vision.LeNet5, [image(8, 1, 28, 28)], ids(10, 8), 0.05, dynamo=18),
    "vgg16": case(vision.Vgg16, [image(2, 3, 32, 32)], ids(10, 2), 0.00005),
    "resnet18": case(vision.resnet18, [image(2, 3, 64, 64)], ids(10, 2), 0.000005, folds=True),
    "resnet50": case(vision.resnet50, [image(2, 3, 64, 64)], ids(10, 2), 0.00001, folds=True, quiet="bn3.weight"),
    "mobilenetv2": case(vision.MobileNetV2, [image(8, 3, 64, 64)], ids(10, 8), 0.000002, folds=True),
    "squeezenet": case(vision.SqueezeNet, [image(4, 3, 64, 64)], ids(10, 4), 0.003),
    "inceptionv3": case(vision.InceptionV3, [image(2, 3, 107, 107)], ids(10, 2), 0.000002, folds=True, bias=1.0),
    "densenet121": case(vision.DenseNet121, [image(2, 3, 64, 64)], ids(10, 2), 0.0000003, folds=True),
    "unet": case(vision.UNet, [image(2, 3, 36, 44)], ids(3, 2, 36, 44), 0.001, folds=True),
    "bert": case(sequence.Bert, [ids(120, 4, 16), ids(2, 4, 16), {"kind": "lengths", "shape": [4, 16]}], ids(4, 4), 0.0003, folds=True),
    "gpt2": case(sequence.Gpt2, [ids(96, 4, 16)], ids(96, 4, 16), 0.01, dynamo=18, folds=True),
    "gpt_fused": case(sequence.GptFused, [ids(96, 4, 16)], ids(96, 4, 16), 0.03, momentum=0, folds=True),
    "vit": case(sequence.ViT, [image(4, 3, 32, 32)], ids(10, 4), 0.0005, folds=True),
    "cf": case(sequence.CollaborativeFilter, [ids(400, 64), ids(300, 64)], {"kind": "uniform", "shape": [64, 1]}, 0.1, momentum=0, loss="mse",
               dynamo=18),
    "swin": case(indices.Swin, [image(4, 3, 32, 32)], ids(10, 4), 0.003, folds=True, bound=1e-5),
    "t5": case(indices.T5, [ids(64, 3, 12), ids(64, 3, 10)], ids(64, 3, 10), 0.0005, folds=True, quiet="q.weight",
               bound=1e-5),
    "dlrm": case(indices.Dlrm, [image(16, 6), ids(1000, 16, 4), ids(200, 16, 1)], {"kind": "uniform", "shape": [16, 1]}, 0.02, loss="mse",
                 bound=1e-5),
    "experts": case(chosen.Experts, [image(16, 12)], ids(5, 16), 0.05, bound=1e-5),
    "sampler": case(chosen.Sampler, [image(4, 3, 12, 12)], ids(10, 4), 0.006, bound=1e-4),
    "masked_mean": case(indices.MaskedMean, [ids(80, 6, 12), {"kind": "lengths", "shape": [6, 12]}], ids(4, 6), 0.05, bound=1e-5),
}


def values(spec, stream):
    """What `spec` describes, from the stream: numbers in [-1, 1), indices, or a mask that ends after a length of half or more."""
    shape, count = spec["shape"], int(np.prod(spec["shape"]))
    if spec["kind"] == "uniform":
        return torch.from_numpy(uniform(stream, count, 1.0, 0.0)).reshape(shape)
    if spec["kind"] == "ids":
        return torch.from_numpy((words(stream, count) % spec["below"]).astype(np.int64)).reshape(shape)
    rows, length = shape
    ends = length - words(stream, rows) % (length // 2)
    return torch.from_numpy((np.arange(length)[None, :] < ends[:, None]).astype(np.int64))


def strip(exported, path, offsets):
    """Weights become external data in weights.bin at their offsets; what only people read is left out."""
    model = onnx.load(exported)
    del model.metadata_props[:]
    for node in model.graph.node:
        node.doc_string = ""
        node.name = ""
        del node.metadata_props[:]
    del model.graph.value_info[:], model.graph.metadata_props[:]
    for tensor in model.graph.initializer:
        tensor.doc_string = ""
        if tensor.name not in offsets:
            assert tensor.ByteSize() < 4096, f"{path}: {tensor.name} is no weight"
            continue
        for field in ("raw_data", "float_data"):
            tensor.ClearField(field)
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", "weights.bin"), ("offset", str(offsets[tensor.name])), ("length", str(4 * int(np.prod(tensor.dims))))):
            entry = tensor.external_data.add()
            entry.key, entry.value = key, value
    onnx.save(model, path)


def export(name, settings, model, inputs, offsets):
    training = torch.onnx.TrainingMode.TRAINING
    names = {"input_names": [f"x{index}" for index in range(len(inputs))], "output_names": ["y"]}
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        paths = [os.path.join(folder, name + suffix) for suffix in (".onnx", ".dynamo.onnx")]
        torch.onnx.export(model, inputs, paths[0], training=training, do_constant_folding=False, opset_version=17, dynamo=False, **names)
        torch.onnx.export(model, inputs, paths[1], opset_version=settings["dynamo"], dynamo=True, external_data=False, verbose=False,
                          optimize=not settings["folds"], **names)
        for path in paths:
            strip(path, os.path.join(HERE, os.path.basename(path)), offsets)


def train(model, settings, inputs, label, dtype):
    """Losses of the steps, and per tensor the norm and the norm of what it changed by."""
    model.to(dtype)
    start = {key: value.clone() for key, value in model.state_dict().items()}
    inputs = [x.to(dtype) if x.is_floating_point() else x for x in inputs]
    label = label.to(dtype) if label.is_floating_point() else label
    loss_of = nn.functional.mse_loss if settings["loss"] == "mse" else nn.functional.cross_entropy
    optimizer = torch.optim.SGD(model.parameters(), lr=settings["lr"], momentum=settings["momentum"])
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(model(*inputs), label)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    tensors = {key: [value.double().norm().item(), (value - start[key]).double().norm().item()]
               for key, value in model.state_dict().items() if value.is_floating_point()}
    model.load_state_dict(start)
    return losses, tensors


def moved(model, state, seed):
    """The weights, moved by about a rounding of float32."""
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for key, value in model.state_dict().items():
            if key in state:
                value.copy_(state[key] * (1 + 2e-7 * torch.randn(value.shape, generator=draw)))
    return model


def check(name, exact, others, bound):
    """Is the case one that can be compared, and one that learns?"""
    largest = max(change for key, (_, change) in exact[1].items() if "running" not in key)
    far = norms = changes = 0
    for losses, tensors in others:
        far = max(far, *(abs(a - b) / abs(a) for a, b in zip(exact[0], losses)))
        norms = max(norms, *(abs(exact[1][key][0] - tensors[key][0]) / max(exact[1][key][0], 1e-12) for key in tensors))
        for key, (norm, change) in exact[1].items():
            allowed = 10 * BOUND * max(change, 1e-2 * largest) + 1e-6 * norm
            changes = max(changes, abs(change - tensors[key][1]) / allowed)
    print(f"{name}: loss {exact[0][0]:.4f} -> {exact[0][-1]:.4f}; float32 is {far:.1e} away in loss, {norms:.1e} in norms, {changes:.1e} of what changes may")
    if far > bound / 5 or norms > BOUND / 5 or changes > 0.5:
        raise SystemExit(f"{name}: its steps are too long to be compared")
    if abs(exact[0][-1] - exact[0][0]) < 20 * BOUND * abs(exact[0][0]):
        raise SystemExit(f"{name}: it hardly learns")


def make(name):
    settings = NETWORKS[name]
    torch.manual_seed(0)
    model = settings["kind"]().train()
    state = {key: value for key, value in model.state_dict().items() if value.is_floating_point()}
    offsets, end = {}, 0
    for key, value in state.items():
        offsets[key] = end
        end += 4 * value.numel()
    inputs = [values(spec, 1000 + index) for index, spec in enumerate(settings["inputs"])]
    label = values(settings["label"], 2000)
    export(name, settings, model, tuple(inputs), offsets)
    tensors = []
    for stream, (key, value) in enumerate(state.items(), start=1):
        scale, shift = scale_of(key, value)
        if settings["quiet"] and key.endswith(settings["quiet"]):
            scale, shift = scale / 5, shift / 5
        if key[:-4] + "running_mean" in state and key.endswith("bias"):
            shift += settings["bias"]
        scale = float(np.float32(scale))
        value.copy_(torch.from_numpy(uniform(stream, value.numel(), scale, shift)).reshape(value.shape))
        tensors.append([key, stream, offsets[key], value.numel(), scale, shift])
    model.load_state_dict({**model.state_dict(), **state})
    state = {key: value.clone() for key, value in state.items()}
    exact = train(model, settings, inputs, label, torch.float64)
    check(name, exact, [train(moved(model.float(), state, seed), settings, inputs, label, torch.float32) for seed in (1, 2)], settings["bound"])
    answer = {key: settings[key] for key in ("inputs", "label", "loss", "lr", "momentum", "bound")}
    answer["weights"] = tensors
    answer["losses"] = [float(f"{loss:.9g}") for loss in exact[0]]
    answer["after"] = {key: [float(f"{number:.9g}") for number in pair] for key, pair in exact[1].items()}
    with open(os.path.join(HERE, name + ".json"), "w") as file:
        json.dump(answer, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    for each in sys.argv[1:] or NETWORKS:
        make(each)
