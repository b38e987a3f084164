"""Small networks as other exporters than PyTorch's write them, what trains in each, and data. Standard library only.

A network is a list of nodes (operator, inputs, output, attributes), tensors by name, those that stand in Constant nodes, and the role that `inspect` gives each."""
import random
import struct

from house import field, onnx_model, onnx_node, onnx_tensor


class Network:
    def __init__(self, name, producer, shape, nodes, tensors, trains, constants=(), loss="mse", classes=0, integers=False):
        self.name, self.producer, self.shape, self.nodes, self.trains = name, producer, shape, nodes, trains
        self.constants, self.loss, self.classes, self.integers = set(constants), loss, classes, integers
        draw = random.Random(name)
        self.tensors = {}
        for key, (dims, values) in tensors.items():
            count = 1
            for dim in dims:
                count *= dim
            if values is None:
                values = [round(draw.uniform(-0.7, 0.7), 3) for _ in range(count)]
            self.tensors[key] = (dims, values)
        size = 1
        for dim in shape[1:]:
            size *= dim
        self.x = [draw.randrange(5) if integers else round(draw.uniform(-1, 1), 3) for _ in range(shape[0] * size)]
        self.y = [draw.randrange(classes) for _ in range(shape[0])] if classes else [round(draw.uniform(-1, 1), 3) for _ in range(shape[0] * 2)]

    def onnx(self):
        def constant(name):
            dims, values = self.tensors[name]
            return field(2, name.encode()) + field(4, b"Constant") + field(5, field(1, b"value") + field(5, encoded("", dims, values)) + field(20, 4))
        def encoded(name, dims, values):
            return onnx_tensor(name, dims, values, 7 if all(isinstance(value, int) for value in values) else 1)
        nodes = [constant(name) for name in self.tensors if name in self.constants]
        nodes += [onnx_node(op, inputs, [output], f"node_{output}", **attributes) for op, inputs, output, attributes in self.nodes]
        tensors = [encoded(name, *tensor) for name, tensor in self.tensors.items() if name not in self.constants]
        return onnx_model(nodes, ["N", *self.shape[1:]], tensors, dtype=7 if self.integers else 1) + field(2, self.producer.encode())

    def bytes_of(self, values):
        return struct.pack(f"<{len(values)}{'q' if isinstance(values[0], int) else 'f'}", *values)


def chain(*nodes):
    """Nodes without the braces where there are no attributes."""
    return [node if len(node) == 4 else (*node, {}) for node in nodes]


def softmax(x, y, axis=-1, maximum=True, keeps=True):
    """ReduceMax, Sub, Exp, ReduceSum, Div; where nothing keeps the dimension, with Unsqueeze."""
    nodes = [("ReduceMax", [x], x + ".max", {"axes": [axis], "keepdims": 1}), ("Sub", [x, x + ".max"], x + ".low", {})] if maximum else []
    low = x + ".low" if maximum else x
    nodes += [("Exp", [low], x + ".exp", {}), ("ReduceSum", [x + ".exp", "axis"], x + (".total" if keeps else ".flat"), {"keepdims": int(keeps)})]
    if not keeps:
        nodes.append(("Unsqueeze", [x + ".flat", "axis"], x + ".total", {}))
    return [*nodes, ("Div", [x + ".exp", x + ".total"], y, {})]


AXIS = ([1], [-1])
RANDOM = None
NETWORKS = [
    Network("leaky_by_max", "tf2onnx", [4, 6],
            chain(("MatMul", ["x", "dense/kernel"], "a"), ("Add", ["a", "dense/bias"], "h"), ("Mul", ["h", "alpha"], "small"), ("Max", ["h", "small"], "l"),
                  ("Max", ["l", "floor"], "m"), ("MatMul", ["m", "out/kernel"], "b"), ("Add", ["b", "out/bias"], "y")),
            {"dense/kernel": ([6, 5], RANDOM), "dense/bias": ([5], RANDOM), "alpha": ([], [0.25]), "floor": ([], [-0.5]), "out/kernel": ([5, 2], RANDOM), "out/bias": ([2], RANDOM)},
            {"dense/kernel": "yes", "dense/bias": "yes", "alpha": "no", "floor": "no", "out/kernel": "yes", "out/bias": "yes"}),
    Network("channels_last", "tf2onnx", [4, 4, 4, 2],
            chain(("Transpose", ["x"], "t", {"perm": [0, 3, 1, 2]}), ("Conv", ["t", "W"], "c"), ("Transpose", ["c"], "u", {"perm": [0, 2, 3, 1]}), ("Add", ["u", "B"], "h"),
                  ("Max", ["h", "zero"], "r"), ("ReduceMean", ["r"], "pooled", {"axes": [1, 2], "keepdims": 0}), ("MatMul", ["pooled", "K"], "logits"), *softmax("logits", "y")),
            {"W": ([3, 2, 2, 2], RANDOM), "B": ([3], RANDOM), "zero": ([1], [0.0]), "K": ([3, 4], RANDOM), "axis": AXIS},
            {"W": "yes", "B": "yes", "zero": "no", "K": "yes", "axis": "no"}, loss="cross_entropy", classes=4),
    Network("constants_as_nodes", "PaddlePaddle", [4, 2, 4, 4],
            chain(("Conv", ["x", "conv2d_0.w_0"], "c"), ("Reshape", ["conv2d_0.b_0", "channels"], "b"), ("Add", ["c", "b"], "h"), ("Relu", ["h"], "r"), ("Reshape", ["r", "rows"], "f"),
                  ("MatMul", ["f", "linear_0.w_0"], "m"), ("Add", ["m", "linear_0.b_0"], "l"), ("Softmax", ["l"], "y", {"axis": 1})),
            {"conv2d_0.w_0": ([2, 2, 3, 3], RANDOM), "conv2d_0.b_0": ([2], RANDOM), "channels": ([4], [1, 2, 1, 1]), "rows": ([2], [0, 8]), "linear_0.w_0": ([8, 3], RANDOM), "linear_0.b_0": ([3], RANDOM)},
            {"conv2d_0.w_0": "yes", "conv2d_0.b_0": "yes", "channels": "no", "rows": "no", "linear_0.w_0": "yes", "linear_0.b_0": "yes"},
            constants=["conv2d_0.w_0", "conv2d_0.b_0", "channels", "rows", "linear_0.w_0", "linear_0.b_0"], loss="cross_entropy", classes=3),
    Network("batch_norm_written_out", "keras", [4, 5],
            chain(("MatMul", ["x", "k"], "h"), ("Add", ["moving_variance", "epsilon"], "v"), ("Sqrt", ["v"], "s"), ("Reciprocal", ["s"], "i"), ("Mul", ["i", "gamma"], "scale"),
                  ("Mul", ["h", "scale"], "scaled"), ("Mul", ["moving_mean", "scale"], "m"), ("Sub", ["beta", "m"], "shift"), ("Add", ["scaled", "shift"], "y")),
            {"k": ([5, 2], RANDOM), "moving_variance": ([2], [0.5, 1.5]), "epsilon": ([1], [0.001]), "gamma": ([2], [1.25, 0.75]), "moving_mean": ([2], RANDOM), "beta": ([2], RANDOM)},
            {"k": "yes", "moving_variance": "no", "epsilon": "no", "gamma": "yes", "moving_mean": "no", "beta": "yes"}),
    Network("layer_norm_written_out", "keras", [4, 5],
            chain(("ReduceMean", ["x"], "mean", {"axes": [-1], "keepdims": 1}), ("Sub", ["x", "mean"], "d"), ("Mul", ["d", "d"], "q"), ("ReduceMean", ["q"], "var", {"axes": [-1], "keepdims": 1}),
                  ("Add", ["var", "epsilon"], "v"), ("Sqrt", ["v"], "s"), ("Div", ["d", "s"], "n"), ("Mul", ["n", "gamma"], "g"), ("Add", ["g", "beta"], "h"), ("Tanh", ["h"], "t"),
                  ("MatMul", ["t", "w"], "m"), ("Add", ["m", "b"], "o"), ("Concat", ["o", "o"], "y", {"axis": 1})),
            {"epsilon": ([], [0.001]), "gamma": ([5], RANDOM), "beta": ([5], RANDOM), "w": ([5, 1], RANDOM), "b": ([1], RANDOM)},
            {"epsilon": "no", "gamma": "yes", "beta": "yes", "w": "yes", "b": "yes"}),
    Network("perceptron", "skl2onnx", [4, 3],
            chain(("Cast", ["x"], "c", {"to": 1}), ("MatMul", ["c", "coefficient"], "m"), ("Add", ["m", "intercepts"], "a"), ("Relu", ["a"], "r"), ("MatMul", ["r", "coefficient1"], "n"),
                  ("Add", ["n", "intercepts1"], "y")),
            {"coefficient": ([3, 4], RANDOM), "intercepts": ([1, 4], RANDOM), "coefficient1": ([4, 2], RANDOM), "intercepts1": ([1, 2], RANDOM)},
            {"coefficient": "yes", "intercepts": "yes", "coefficient1": "yes", "intercepts1": "yes"}, constants=["coefficient1", "intercepts1"]),
    Network("leaky_by_where", "CNTK", [4, 3, 2],
            chain(("Flatten", ["x"], "f", {"axis": 1}), ("Gemm", ["f", "Parameter5", "Parameter6"], "h", {"transB": 1}), ("Greater", ["h", "Constant7"], "above"), ("Mul", ["h", "Constant8"], "small"),
                  ("Where", ["above", "h", "small"], "l"), ("Add", ["l", "Constant9"], "e"), ("Min", ["e", "limits"], "c"), ("MatMul", ["c", "Parameter10"], "y")),
            {"Parameter5": ([4, 6], RANDOM), "Parameter6": ([4], RANDOM), "Constant7": ([], [0.0]), "Constant8": ([], [0.1]), "Constant9": ([1], [1e-3]), "limits": ([4], [0.4, 0.5, 0.6, 0.7]),
             "Parameter10": ([4, 2], RANDOM)},
            {"Parameter5": "yes", "Parameter6": "yes", "Constant7": "no", "Constant8": "no", "Constant9": "no", "limits": "no", "Parameter10": "yes"}),
    Network("embedding", "mxnet", [4, 3],
            chain(("Gather", ["table", "x"], "e"), ("Mul", ["e", "root"], "s"), ("ReduceMean", ["s"], "p", {"axes": [1], "keepdims": 0}), ("MatMul", ["p", "w"], "logits"),
                  *softmax("logits", "y", maximum=False, keeps=False)),
            {"table": ([5, 4], RANDOM), "root": ([], [2.0]), "w": ([4, 3], RANDOM), "axis": AXIS},
            {"table": "yes", "root": "no", "w": "yes", "axis": "no"}, constants=["table", "w"], loss="cross_entropy", classes=3, integers=True),
    Network("splines", "tf2onnx", [4, 3],
            chain(("Unsqueeze", ["x", "axis"], "u"), ("Greater", ["u", "low"], "a"), ("Less", ["u", "high"], "b"), ("And", ["a", "b"], "in"), ("Cast", ["in"], "i", {"to": 1}),
                  ("Sub", ["u", "low"], "d"), ("Mul", ["d", "i"], "basis"), ("Reshape", ["basis", "rows"], "f"), ("MatMul", ["f", "coefficients"], "y")),
            {"axis": AXIS, "low": ([4], [-1.0, -0.5, 0.0, 0.5]), "high": ([4], [0.0, 0.5, 1.0, 1.5]), "rows": ([2], [-1, 12]), "coefficients": ([12, 2], RANDOM)},
            {"axis": "no", "low": "no", "high": "no", "rows": "no", "coefficients": "yes"}),
    Network("attention", "tf2onnx", [4, 3, 4],
            chain(("MatMul", ["x", "query"], "q"), ("MatMul", ["x", "key"], "k"), ("Transpose", ["k"], "kt", {"perm": [0, 2, 1]}), ("MatMul", ["q", "kt"], "qk"), ("Div", ["qk", "root"], "scores"),
                  *softmax("scores", "weights"), ("MatMul", ["weights", "x"], "mixed"), ("ReduceMean", ["mixed"], "p", {"axes": [1], "keepdims": 0}), ("MatMul", ["p", "out"], "m"),
                  ("Add", ["m", "bias"], "z"), ("Exp", ["z"], "e"), ("ReduceSum", ["e", "axis"], "t", {"keepdims": 1}), ("Log", ["t"], "l"), ("Sub", ["z", "l"], "y")),
            {"query": ([4, 4], RANDOM), "key": ([4, 4], RANDOM), "root": ([], [2.0]), "out": ([4, 3], RANDOM), "bias": ([3], RANDOM), "axis": AXIS},
            {"query": "yes", "key": "yes", "root": "no", "out": "yes", "bias": "yes", "axis": "no"}, loss="cross_entropy", classes=3),
]
