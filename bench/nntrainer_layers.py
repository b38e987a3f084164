"""What layers of NNTrainer's model files have, worked out without the program: shapes, weights, and where an iteration of a recorded training has them.

An iteration has, for each layer in the order of a .bin file: its output, the derivative of its input, the gradients of its weights, its new weights; last the loss.
A layer that is a loss has none of them, nor has an activation that is joined with the loss, nor an identity.
"""
import math
import os
from dataclasses import dataclass, field

SETTINGS = ("model", "optimizer", "learningratescheduler", "dataset", "train_set", "valid_set", "test_set")
LOSSES = ("mse", "cross_softmax", "cross_sigmoid")
GATES = {"lstm": 4, "gru": 3, "rnn": 1}


@dataclass
class Layer:
    name: str
    keys: dict
    reads: list = field(default_factory=list)  # (name, output)
    shapes: list = field(default_factory=list)  # of its outputs: C, H, W
    weights: list = field(default_factory=list)  # shapes
    statistics: int = 0  # how many of the first weights have no gradient

    @property
    def type(self):
        return self.keys["type"].lower()


def sections_of(path):
    """name -> keys, in the order of the file."""
    found, keys = {}, None
    with open(path) as file:
        for line in file:
            line = line.strip()
            if line.startswith("["):
                keys = found.setdefault(line[1:line.index("]")].strip().lower(), {})
            elif "=" in line and not line.startswith(("#", ";")):
                key, value = (part.strip() for part in line.split("=", 1))
                keys[key.lower()] = value.split(value[0])[1] if value[:1] in ("'", '"') else value.split("#")[0].split(";")[0].strip()
    return found


def numbers(text, count=None):
    values = [int(each) for each in text.replace(":", ",").split(",")]
    return values * count if count and len(values) == 1 else values


def sample_shape(text):
    values = numbers(text)[-3:]
    return [1] * (3 - len(values)) + values


def read(path):
    """The layers of a file and of its backbones in the order of a .bin file: the reverse of the order in which a walk from reader to reader, depth first, leaves them."""
    layers = {}

    def add(path):
        last = None
        for name, keys in sections_of(path).items():
            if name in SETTINGS:
                continue
            if "backbone" in keys:
                last = add(os.path.join(os.path.dirname(path), keys["backbone"]))
                continue
            layer = layers[name] = Layer(name, keys)
            if "input_layers" in keys:
                for each in keys["input_layers"].lower().split(","):
                    source, _, output = each.strip().partition("(")
                    layer.reads.append((source, int(output.rstrip(")") or 0)))
            elif last and "input_shape" not in keys and layer.type != "input":
                layer.reads.append((last, 0))
            last = name
        return last

    add(path)
    left, open_, readers = [], set(), {name: [other.name for other in layers.values() if any(source == name for source, _ in other.reads)] for name in layers}
    for first in layers:
        walk = [] if first in open_ else [(first, iter(readers[first]))]
        open_.add(first)
        while walk:
            reader = next((each for each in walk[-1][1] if each not in open_), None)
            if reader is None:
                left.append(layers[walk.pop()[0]])
            else:
                open_.add(reader)
                walk.append((reader, iter(readers[reader])))
    order = left[::-1]
    for layer in order:
        give_shapes(layer, [layers[source].shapes[output if layers[source].type == "split" else 0] for source, output in layer.reads])
    return order


def windows(extent, kernel, stride, before_and_behind, same):
    return math.ceil(extent / stride) if same else (extent + before_and_behind - kernel) // stride + 1


def window_shape(channels, keys, kernel, shape):
    kernel, stride, padding = numbers(kernel, 2), numbers(keys.get("stride", "1"), 2), keys.get("padding", "valid").lower()
    pads = [0, 0]
    if padding not in ("valid", "same"):
        given = numbers(padding, 2)
        pads = [2 * each for each in given] if len(given) == 2 else [given[0] + given[1], given[2] + given[3]]
    return [channels] + [windows(shape[1 + d], kernel[d], stride[d], pads[d], padding == "same") for d in range(2)]


def give_shapes(layer, inputs):
    keys, type_ = layer.keys, layer.type
    shape = inputs[0] if inputs else sample_shape(keys["input_shape"])
    has_bias = keys.get("disable_bias") != "true"
    layer.shapes = [shape]
    if type_ == "fully_connected":
        units = int(keys["unit"])
        layer.shapes, layer.weights = [shape[:2] + [units]], [[shape[2], units]] + [[units]] * has_bias
    elif type_ == "conv2d":
        filters, kernel = int(keys["filters"]), numbers(keys["kernel_size"], 2)
        layer.shapes, layer.weights = [window_shape(filters, keys, keys["kernel_size"], shape)], [[filters, shape[0], *kernel]] + [[filters]] * has_bias
    elif type_ == "pooling2d":
        layer.shapes = [[shape[0], 1, 1] if keys["pooling"].startswith("global") else window_shape(shape[0], keys, keys["pool_size"], shape)]
    elif type_ == "batch_normalization":
        layer.weights, layer.statistics = [[shape[0] if shape[0] > 1 else shape[2]]] * 4, 2
    elif type_ == "embedding":
        rows, columns = int(keys["in_dim"]), int(keys["out_dim"])
        layer.shapes, layer.weights = [[1, math.prod(shape), columns]], [[rows, columns]]
    elif type_ in GATES:
        units = int(keys["unit"])
        columns = GATES[type_] * units
        layer.shapes = [[1, shape[1] if keys.get("return_sequences") == "true" else 1, units]]
        layer.weights = [[shape[2], columns], [units, columns]] + [[columns]] * (1 if keys.get("integrate_bias") == "true" else 2)
    elif type_ == "split":
        axis = int(keys.get("axis", 1)) - 1
        parts = int(keys.get("split_number", shape[axis]))
        layer.shapes = [[extent // parts if d == axis else extent for d, extent in enumerate(shape)]] * parts
    elif type_ == "concat":
        axis = int(keys.get("axis", 3 if shape[0] > 1 else 1)) - 1
        layer.shapes = [[sum(each[d] for each in inputs) if d == axis else shape[d] for d in range(3)]]
    elif type_ not in ("input", "activation", "flatten", "addition", "dropout", "identity", "multiout", "output", *LOSSES):
        raise ValueError(f"{layer.name}: what does a layer of type {type_} make?")
    if type_ == "flatten" or keys.get("flatten") == "true":
        layer.shapes = [[1, 1, math.prod(each)] for each in layer.shapes]


def elements(shapes):
    return sum(math.prod(shape) for shape in shapes)


def blocks(path, layers, batch):
    """(where the weights of each layer begin in an iteration, how many numbers they are), and how many numbers an iteration has."""
    cross = sections_of(path)["model"].get("loss", "").lower() == "cross" or any(layer.type.startswith("cross") for layer in layers)
    recorded = [layer for layer in layers if layer.type not in (*LOSSES, "identity")]
    if cross and recorded[-1].type == "activation":
        recorded.pop()
    at, found = 0, []
    for layer in recorded:
        shapes = {other.name: other.shapes[0] for other in layers}
        inputs = [shapes[source] for source, _ in layer.reads] or layer.shapes
        at += batch * elements(layer.shapes + inputs) + elements(layer.weights[layer.statistics:])
        found.append((at, elements(layer.weights)))
        at += found[-1][1]
    return found, at + 1
