"""What a model and its options alone make wrong is refused by every verb alike: the same exit code, error code and sentence.

The models are of kinds that trainers stumble over (another first dimension than the batch, no input, too many losses, types, shapes, roles), each with several losses and options. The
data always fit, so that what `train` refuses is never about the data."""
import itertools
import json
import os
import shutil
import struct
import unittest

from house import House, field, npy, onnx_node, onnx_tensor, some

F32, I32, I64, BOOL, U8 = 1, 6, 7, 9, 2
N, ROWS = 4, 12  # the batch, the samples


def value_info(name, dtype, dims):
    shape = b"".join(field(1, field(2, dim.encode()) if isinstance(dim, str) else field(1, dim)) for dim in dims)
    return field(1, name.encode()) + field(2, field(1, field(1, dtype) + field(2, shape)))


class Kind:
    """A model: nodes, inputs (name, type, dims; "N" is the batch), weights (name, dims), outputs with the shape of a target's sample for losses of numbers."""
    def __init__(self, name, nodes, inputs, weights, outputs, integers=(), options=((),)):
        self.name, self.nodes, self.inputs, self.weights, self.outputs, self.integers, self.options = name, nodes, inputs, weights, outputs, integers, options

    def onnx(self):
        tensors = [onnx_tensor(name, dims, [0.25] * count(dims)) for name, dims in self.weights] + [onnx_tensor(name, [len(v)] if v else [], v, 7) for name, v in self.integers]
        graph = b"".join([*(field(1, node) for node in self.nodes), field(2, b"g"), *(field(5, tensor) for tensor in tensors),
                          *(field(11, value_info(*each)) for each in self.inputs), *(field(12, field(1, name.encode())) for name, _ in self.outputs)])
        return field(1, 8) + field(7, graph) + field(8, field(1, b"") + field(2, 17))


def count(dims):
    product = 1
    for dim in dims:
        product *= dim
    return product


def node(op, inputs, output="y", **ints):
    return onnx_node(op, inputs.split(), output.split(), name=output, **ints)


def with_state(dims):
    """x [N,3] and a state: h = x W + mean over all but the last dimension of the state."""
    axes = list(range(len(dims) - 1))
    mean = [node("ReduceMean", "s", "m", axes=axes, keepdims=0)] if axes else [node("Identity", "s", "m")]
    return ([node("MatMul", "x w", "h"), *mean, node("Add", "h m")], [("x", F32, ["N", 3]), ("s", F32, dims)], [("w", [3, 2])], [("y", [2])])


def typed_input(dtype):
    return ([node("Cast", "x", "c", to=1), node("MatMul", "c w")], [("x", dtype, ["N", 3])], [("w", [3, 2])], [("y", [2])])


X3, W = [("x", F32, ["N", 3])], [("w", [3, 2])]
X = [("x", F32, ["N", 5, 3])]
LOSSES = (("--loss", "mse"), ("--loss", "cross_entropy"), ("--loss", "cross_entropy,classes_last"), ("--loss", "soft_cross_entropy"))
KINDS = [
    Kind("plain", [node("MatMul", "x w")], X3, W, [("y", [2])], options=[(), ("--accumulate", 3), ("--batch", 0), ("--freeze", "w"), ("--freeze", "none*"), ("--train", "none*"), ("--freeze-stats", "none*"),
                                                                       ("--optimizer", "adam", "--params-in", "aux"), ("--optimizer", "adum"), ("--disable", "none"), ("--device", "none")]),
    Kind("time-major output", [node("MatMul", "x w", "h"), node("Transpose", "h", perm=[1, 0, 2])], X, W, [("y", [N, 2])]),
    Kind("time-major input", [node("MatMul", "x w", "h"), node("ReduceMean", "h", axes=[0], keepdims=0)], [("x", F32, [5, "N", 3])], W, [("y", [2])]),
    Kind("rows joined with time", [node("MatMul", "x w", "h"), node("Reshape", "h s")], X, W, [("y", [2])], integers=[("s", [-1, 2])]),
    Kind("no batch in the output", [node("MatMul", "x w", "h"), node("ReduceMean", "h", axes=[0], keepdims=0)], X3, W, [("y", [])]),
    Kind("scalar output", [node("MatMul", "x w", "h"), node("ReduceMean", "h", keepdims=0)], X3, W, [("y", [])]),
    Kind("output of weights alone", [node("MatMul", "u w")], X3, [("u", [N, 3]), *W], [("y", [2])]),
    Kind("no input", [node("MatMul", "u w")], [], [("u", [N, 3]), *W], [("y", [2])]),
    *(Kind(f"state {dims}", *with_state(dims)) for dims in ([1, 4, 2], [2, 4, 2], ["N", 4, 2], [N, 2], [2], [1, 2], [1, "N", 2], [3, "N", 2])),
    Kind("scalar input", [node("MatMul", "x w", "h"), node("Mul", "h s")], [*X3, ("s", F32, [])], W, [("y", [2])]),
    *(Kind(f"input of type {dtype}", *typed_input(dtype)) for dtype in (BOOL, I32, I64, U8)),
    *(Kind(f"batch {n}", [node("MatMul", "x w")], [("x", F32, [n, 3])], W, [("y", [2])]) for n in (0, 1, N, 5)),
    Kind("an extent of nothing", [node("MatMul", "x w")], [("x", F32, ["N", 0])], [("w", [0, 2])], [("y", [2])]),
    Kind("another size of the batch inside", [node("Reshape", "x s", "h"), node("MatMul", "h w")], [("x", F32, ["N", 3])], W, [("y", [2])], integers=[("s", [5, 3])]),
    Kind("unknown operator", [node("MatMul", "x w", "h"), node("Frobnicate", "h")], X3, W, [("y", [2])]),
    Kind("nothing trains", [node("Relu", "x")], X3, [], [("y", [3])]),
    Kind("no gradient", [node("MatMul", "x w", "h"), node("ArgMax", "h", axis=1)], X3, W, [("y", [1])]),
    Kind("no way from a weight to the loss", [node("MatMul", "x w", "h"), node("Relu", "x")], X3, W, [("y", [3])]),
    Kind("an input is the output", [node("Identity", "x")], X3, [], [("y", [3])]),
    Kind("a weight named loss", [node("MatMul", "x loss")], X3, [("loss", [3, 2])], [("y", [2])]),
    Kind("an input named label", [node("MatMul", "label w")], [("label", F32, ["N", 3])], W, [("y", [2])]),
    Kind("a weight that fits nothing", [node("MatMul", "x w")], X3, [("w", [4, 2])], [("y", [2])]),
    Kind("two outputs", [node("MatMul", "x w"), node("ReduceMean", "y", "z", axes=[1], keepdims=1)], X3, W, [("y", [2]), ("z", [1])],
         options=[("--loss", "mse:z"), ("--loss", "mse:y,mse:z"), ("--loss", "mse:none"), ("--loss", "cross_entropy:z,mse:y")]),
    Kind("two outputs of other first dimensions", [node("MatMul", "x w"), node("Transpose", "y", "z", perm=[1, 0])], X3, W, [("y", [2]), ("z", [N])],
         options=[("--loss", "mse:z"), ("--loss", "mse:y,mse:z"), ("--loss", "mse:z,mse:y")]),
    *(Kind(f"{many} losses", [node("MatMul", "x w", "h"), *(node("Relu", "h", f"y{at}") for at in range(many))], X3, W, [(f"y{at}", [2]) for at in range(many)],
           options=[("--loss", ",".join(f"mse:y{at}" for at in range(many)))]) for many in (8, 9, 20)),
]
CASES = [(kind, (*loss, *more)) for kind in KINDS for loss, more in
         (itertools.product(LOSSES, kind.options) if not any("--loss" in option for option in kind.options) else itertools.product(((),), kind.options))]



class SameRefusals(House):
    def write(self, stem, dtype, dims):
        descr, code = {F32: ("<f4", "f"), I32: ("<i4", "i"), I64: ("<i8", "q"), BOOL: ("|b1", "B"), U8: ("|u1", "B")}[dtype]
        with open(self.path("data", f"{stem}_train.npy"), "wb") as file:
            file.write(npy(descr, (ROWS, *dims), bytes(struct.calcsize(code) * ROWS * count(dims))))

    def write_data(self, kind, words):
        """Samples for the model's inputs, and targets for the losses of the options."""
        shutil.rmtree(self.path("data"), ignore_errors=True)
        os.makedirs(self.path("data"))
        for name, dtype, dims in kind.inputs:
            self.write(name, dtype, [N if dim == "N" else dim for dim in dims[1:]])
        losses = dict(zip(words, words[1:], strict=False))["--loss"].split(",mse:")
        for number, loss in enumerate(losses, 1):
            name = loss.split(":")[-1] if ":" in loss or number > 1 else kind.outputs[0][0]
            sample = dict(kind.outputs).get(name, [])
            classes = loss.startswith("cross_entropy")
            position = sample[:-1] if "classes_last" in loss else sample[1:]
            self.write("y" if len(losses) == 1 else f"y{number}", I64 if classes else F32, position if classes else sample)

    def told(self, done):
        """(exit code, error code, message) of a verb that prints its error as JSON."""
        if done.returncode == 0:
            return (0, None, None)
        error = json.loads(done.stderr.splitlines()[-1])
        return (done.returncode, error["error"], error["message"])

    def inspected(self, model, words):
        done = self.run_cli("inspect", model, *words, "--format", "json")
        if not done.stdout:
            return self.told(done)
        report = json.loads(done.stdout)
        problem = report.get("training_problem") or {"error": report["refusal"], "message": None}
        return (done.returncode, problem["error"], problem["message"])

    def compare(self, kind, words):
        model = self.path("model.onnx")
        with open(model, "wb") as file:
            file.write(kind.onnx())
        self.write_data(kind, words)
        asked = ("--ram", "1MiB", "--measure", "off", "--effort", 1, "--kernels", "portable", "--format", "json")
        words = [*words, *(() if "--batch" in words else ("--batch", N))]
        train = self.told(self.run_cli("train", model, *words, *asked, "--data", self.path("data"), "-o", self.path("w")))
        self.assertNotIn(train[1], ("E0261", "E0262", "E0253"), f"the data of the test are wrong, or the trainer itself refuses: {train}")
        verbs = {"plan": self.told(self.run_cli("plan", model, *words, *asked)),
                 "sweep": self.told(self.run_cli("sweep", model, *words, *(() if "--params-in" in words else ("--params-in", "ram")), *asked, "-o", self.path("sweep")))}
        if "--device" not in words and "--disable" not in words:
            verbs["inspect"] = self.inspected(model, words)
        shutil.rmtree(self.path("sweep"), ignore_errors=True)
        for verb, found in verbs.items():
            expected = train if found[2] is not None or train[0] == 0 else (*train[:2], None)  # a problem of the file is told in another form
            self.assertEqual(found, expected, verb)
        return train

    def test_every_verb_refuses_what_train_refuses(self):
        trained = set()
        for kind, words in some(CASES, 60):
            with self.subTest(kind.name, words=words):
                trained.add(self.compare(kind, words)[0])
        self.assertEqual(trained, {0, 2, 3, 4})  # not all of the cases are of one sort

    def test_a_batch_of_one_does_not_hide_what_any_other_shows(self):
        """inspect without --batch looks at a step of one sample, where [1,N,H] and [N,1,H] are alike."""
        for dims in ([1, "M", 2], ["N", 1, 2]):
            kind = Kind("state", *with_state(dims))
            with open(self.path("state.onnx"), "wb") as file:
                file.write(kind.onnx().replace(b"M", b"N"))
            words = (self.path("state.onnx"), "--loss", "mse")
            self.assertEqual(self.inspected(words[0], words[1:])[:2], self.inspected(words[0], (*words[1:], "--batch", 3))[:2])


if __name__ == "__main__":
    unittest.main()
