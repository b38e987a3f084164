#!/usr/bin/env python3
"""Writes the networks and expected values of networks_test.cc: NAME.onnx and NAME.dynamo.onnx (structure alone), NAME.json;
NAME.default.onnx where the newer exporter's default call changes what trains.

    python3 make_expected.py [NAME ...]      needs torch, onnx, onnxscript, numpy

Weights and batches come from the generator of ../values (README.md there). PyTorch trains in float64 on the float32 values of the generator; it
trains in float32 too, from weights moved by about a rounding, and a case is refused here when these trainings are further away than a fifth of
the tests' bound for losses and norms, or half of the one for changes: then the steps are too long to be compared, not the tolerance too tight.
"""
import contextlib
import copy
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
from cases import BOUND, NETWORKS  # noqa: E402
from make_reference import scale_of, uniform, words  # noqa: E402

STEPS = 10
# What tells parameters from buffers, and what the optimizer did to them.
KEPT = ("pkg.torch.export.graph_signature.InputSpec.kind", "pkg.onnxscript.optimizer.folded_from", "pkg.torch.onnx.fx_node",
        "pkg.onnxscript.rewriter.rule_name", "pkg.torch.export.ExportedProgram.graph_signature")
LARGEST_DEFAULT = 110_000  # bytes of a file of the default call: what is folded has its contents there


def values(spec, stream):
    """What `spec` describes, from the stream: numbers in [-1, 1), indices, 0 or 1, or a mask that ends after a length of half or more."""
    shape, count, stream = spec["shape"], int(np.prod(spec["shape"])), spec.get("stream", stream)
    if spec["kind"] == "uniform":
        return torch.from_numpy(uniform(stream, count, 1.0, 0.0)).reshape(shape)
    if spec["kind"] == "ids":
        return torch.from_numpy((words(stream, count) % spec["below"]).astype(np.int64)).reshape(shape)
    if spec["kind"] == "flags":
        return torch.from_numpy((words(stream, count) % 2).astype(np.float32)).reshape(shape)
    if spec["kind"] == "zeros":
        return torch.zeros(shape)
    rows, length = shape
    ends = length - words(stream, rows) % (length // 2)
    return torch.from_numpy((np.arange(length)[None, :] < ends[:, None]).astype(np.int64))


def keep(properties, keys):
    kept = [entry for entry in properties if entry.key in keys]
    del properties[:]
    properties.extend(kept)


def strip_nodes(graph, whole):
    for node in graph.node:
        node.doc_string = ""
        node.name = node.name if whole else ""
        keep(node.metadata_props, KEPT if whole else ())
        for attribute in node.attribute:
            strip_nodes(attribute.g, whole)


def strip(exported, path, offsets, whole=False):
    """Weights become external data in weights.bin at their offsets; what only people read is left out. `whole`: other contents may be large."""
    model = onnx.load(exported)
    del model.metadata_props[:]
    strip_nodes(model.graph, whole)
    keep(model.graph.metadata_props, KEPT if whole else ())
    contents = {tensor.name: tensor for tensor in model.graph.initializer}
    marked = [value for value in model.graph.value_info if value.name in contents]
    del model.graph.value_info[:]
    model.graph.value_info.extend(marked)
    for value in model.graph.value_info:
        keep(value.metadata_props, KEPT)
    for tensor in model.graph.initializer:
        tensor.doc_string = ""
        if tensor.name not in offsets:
            assert whole or tensor.ByteSize() < 4096, f"{path}: {tensor.name} is no weight"
            continue
        for field in ("raw_data", "float_data"):
            tensor.ClearField(field)
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", "weights.bin"), ("offset", str(offsets[tensor.name])), ("length", str(4 * int(np.prod(tensor.dims))))):
            entry = tensor.external_data.add()
            entry.key, entry.value = key, value
    onnx.save(model, path)


def contents_of(path):
    """Names and shapes of the floating-point tensors of a model."""
    return {(tensor.name, tuple(tensor.dims)) for tensor in onnx.load(path).graph.initializer if tensor.data_type == onnx.TensorProto.FLOAT and tensor.dims}


def export_default(name, model, inputs, names, folder, offsets):
    """The newer exporter's default call, kept where its tensors are not those of the call without its optimizer."""
    made, path = os.path.join(folder, "default.onnx"), os.path.join(HERE, name + ".default.onnx")
    torch.onnx.export(model, inputs, made, dynamo=True, external_data=False, verbose=False, **names)
    if os.path.exists(path):
        os.remove(path)
    if contents_of(made) != contents_of(os.path.join(folder, name + ".dynamo.onnx")):
        strip(made, path, offsets, whole=True)
        if os.path.getsize(path) > LARGEST_DEFAULT:
            os.remove(path)
            print(f"{name}: the default call's file is too large to be kept", file=sys.stderr)


def export(name, settings, model, inputs, offsets):
    training = torch.onnx.TrainingMode.TRAINING
    outputs = ["y"] + [f"y{index}" for index in range(1, len(settings["terms"] or [0]))]
    names = {"input_names": [f"x{index}" for index in range(len(inputs))], "output_names": outputs}
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        paths = [os.path.join(folder, name + suffix) for suffix in (".onnx", ".dynamo.onnx")]
        torch.onnx.export(copy.deepcopy(model), inputs, paths[0], training=training, do_constant_folding=False, opset_version=17, dynamo=False, **names)
        torch.onnx.export(copy.deepcopy(model), inputs, paths[1], opset_version=settings["dynamo"], dynamo=True, external_data=False, verbose=False,
                          optimize=not settings["folds"], **names)
        for path in paths:
            strip(path, os.path.join(HERE, os.path.basename(path)), offsets)
        if settings["default"]:
            export_default(name, copy.deepcopy(model), inputs, names, folder, offsets)


def terms_of(settings):
    return settings["terms"] or [{"loss": settings["loss"], "label": settings["label"], "weight": 1.0}]


def loss_of(settings, outputs, labels):
    kinds = {"mse": nn.functional.mse_loss, "l1": nn.functional.l1_loss, "smooth_l1": nn.functional.smooth_l1_loss,
             "bce_with_logits": nn.functional.binary_cross_entropy_with_logits, "cross_entropy": nn.functional.cross_entropy}
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    return sum(term["weight"] * kinds[term["loss"]](output, label) for term, output, label in zip(terms_of(settings), outputs, labels))


def train(model, settings, inputs, labels, given, dtype):
    """Losses of the steps, and per given tensor the norm and the norm of what it changed by."""
    model.to(dtype)
    start = {key: value.clone() for key, value in model.state_dict().items()}
    inputs, labels = ([x.to(dtype) if x.is_floating_point() else x for x in batch] for batch in (inputs, labels))
    optimizer = torch.optim.SGD(model.parameters(), lr=settings["lr"], momentum=settings["momentum"])
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(settings, model(*inputs), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    state = model.state_dict()
    tensors = {key: [state[key].double().norm().item(), (state[key] - start[key]).double().norm().item()] for key in given}
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
    if not (far <= bound / 5 and norms <= BOUND / 5 and changes <= 0.5 and np.isfinite(exact[0]).all()):
        raise SystemExit(f"{name}: its steps are too long to be compared")
    if abs(exact[0][-1] - exact[0][0]) < 20 * BOUND * abs(exact[0][0]):
        raise SystemExit(f"{name}: it hardly learns")


def given_of(model):
    """Names of what the generator makes: parameters, a tied one once, and running statistics. Other buffers keep their contents, in the file."""
    parameters = {key for key, _ in model.named_parameters()}
    return [key for key in model.state_dict() if key in parameters or key.endswith(("running_mean", "running_var"))]


def aliases_of(model, given):
    """Other names of tied parameters: an exporter may choose any."""
    first = {parameter.data_ptr(): key for key, parameter in model.named_parameters()}
    return {key: first[value.data_ptr()] for key, value in model.state_dict().items() if key not in given and value.data_ptr() in first}


def fill(model, settings):
    """The generator's values into the model; returns name, stream, offset, count, scale, shift of each tensor."""
    state, given, tensors, end = model.state_dict(), given_of(model), [], 0
    for stream, key in enumerate(given, start=1):
        value = state[key]
        scale, shift = scale_of(key, value)
        if settings["quiet"] and key.endswith(settings["quiet"]):
            scale, shift = scale / 5, shift / 5
        if key[:-4] + "running_mean" in state and key.endswith("bias"):
            shift += settings["bias"]
        scale = float(np.float32(scale))
        value.copy_(torch.from_numpy(uniform(stream, value.numel(), scale, shift)).reshape(value.shape))
        tensors.append([key, stream, end, value.numel(), scale, shift])
        end += 4 * value.numel()
    return tensors


def compute(name, settings):
    """The model, its inputs, its tensors, and what ten steps of it give: in float64, and twice in float32."""
    torch.manual_seed(0)
    model = settings["kind"]().train()
    tensors = fill(model, settings)
    given = [tensor[0] for tensor in tensors]
    state = {key: value.clone() for key, value in model.state_dict().items()}
    inputs = [values(spec, 1000 + index) for index, spec in enumerate(settings["inputs"])]
    labels = [values(term["label"], 2000 + index) for index, term in enumerate(terms_of(settings))]
    exact = train(model, settings, inputs, labels, given, torch.float64)
    weights = {key: state[key] for key in given}
    others = [train(moved(model.float(), weights, seed), settings, inputs, labels, given, torch.float32) for seed in (1, 2)]
    model.load_state_dict(state)
    return model, inputs, tensors, exact, others


def make(name):
    settings = NETWORKS[name]
    model, inputs, tensors, exact, others = compute(name, settings)
    check(name, exact, others, settings["bound"])
    offsets = {tensor[0]: tensor[2] for tensor in tensors}
    aliases = aliases_of(model, offsets)
    export(name, settings, model, tuple(inputs), offsets | {key: offsets[first] for key, first in aliases.items()})
    answer = {key: settings[key] for key in ("inputs", "label", "loss", "lr", "momentum", "bound")}
    if settings["terms"]:
        answer["terms"] = settings["terms"]
    if settings["default"]:
        answer["default"] = settings["default"]
    answer["fixed"] = [key for key, value in model.named_buffers() if value.is_floating_point() and key not in offsets]
    if aliases:
        answer["aliases"] = aliases
    answer["weights"] = tensors
    answer["losses"] = [float(f"{loss:.9g}") for loss in exact[0]]
    answer["after"] = {key: [float(f"{number:.9g}") for number in pair] for key, pair in exact[1].items()}
    with open(os.path.join(HERE, name + ".json"), "w") as file:
        json.dump(answer, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    for each in sys.argv[1:] or NETWORKS:
        make(each)
