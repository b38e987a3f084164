"""Small networks as TensorFlow Lite files, written with the classes of the PyPI package tflite: f32, f16 constants, int8 with one scale a tensor or one a channel.

Scales of activations come from the ranges that the f32 file gives on the same samples.
"""
import flatbuffers
import numpy
import tflite

TYPES = {"float32": 0, "float16": 1, "int32": 2, "int8": 9}
ACTIVATIONS = {None: 0, "relu": 1, "relu6": 3}
SAME_SCALE = {"AVERAGE_POOL_2D", "MAX_POOL_2D", "RESHAPE", "PAD", "TRANSPOSE", "RESIZE_NEAREST_NEIGHBOR"}


class Tensor:
    def __init__(self, name, shape, dtype, data=None, scales=None, zeros=None, axis=0):
        self.name, self.shape, self.dtype, self.data, self.scales, self.zeros, self.axis = name, tuple(shape), dtype, data, scales, zeros, axis


class Net:
    """kind: float32, float16, int8 or channel (int8 with a scale for each channel of a weight); `ranges`: of activations, by name; `plain`: write the numbers that int8 stands for as f32."""

    def __init__(self, kind="float32", ranges=None, plain=False, seed=1):
        self.kind, self.ranges, self.plain = kind, ranges, plain
        self.tensors, self.operators, self.inputs, self.outputs = [], [], [], []
        self.draw = numpy.random.default_rng(seed)

    # ---- Tensors.

    @property
    def is_int8(self):
        return self.kind in ("int8", "channel")

    def add(self, tensor):
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def activation(self, shape, like=None, fixed=None):
        name = f"t{len(self.operators)}"
        if not self.is_int8:
            return self.add(Tensor(name, shape, "float32"))
        if like is not None:
            scale, zero = self.tensors[like].scales[0], self.tensors[like].zeros[0]
        elif fixed is not None:
            scale, zero = fixed
        else:
            least, most = (min(self.ranges[name][0], 0.0), max(self.ranges[name][1], 0.0)) if self.ranges else (-1.0, 1.0)
            scale = max(most - least, 1e-6) / 255
            zero = int(round(-128 - least / scale))
        return self.add(Tensor(name, shape, "float32" if self.plain else "int8", None, [scale], [zero]))

    def input(self, *shape):
        tensor = self.activation(shape, fixed=(1 / 64, 0))
        self.tensors[tensor].name = "input"
        self.inputs.append(tensor)
        return tensor

    def integers(self, values, shape=None):
        data = numpy.array(values, "<i4")
        return self.add(Tensor(f"list{len(self.tensors)}", shape or data.shape, "int32", data))

    def constant(self, name, values, axis=0, bias_of=None):
        """bias_of: the input and the weight of a bias."""
        values = numpy.asarray(values, "f4")
        if self.is_int8 and bias_of is not None:
            scales = numpy.float32(self.tensors[bias_of[0]].scales[0]) * numpy.array(self.tensors[bias_of[1]].scales, "f4")
            stored = numpy.round(values / scales).astype("<i4")
            if self.plain:
                return self.add(Tensor(name, values.shape, "float32", (stored * scales).astype("<f4")))
            return self.add(Tensor(name, values.shape, "int32", stored, [float(each) for each in scales], [0] * len(scales)))
        if self.is_int8:
            others = tuple(d for d in range(values.ndim) if d != axis)
            most = numpy.abs(values).max(axis=others) if self.kind == "channel" and values.ndim in (4, 2) else numpy.abs(values).max(keepdims=True).reshape(1)
            scales = numpy.maximum(most, 1e-6).astype("f4") / numpy.float32(127)
            spread = scales.reshape([-1 if d == axis else 1 for d in range(values.ndim)]) if len(scales) > 1 else scales[0]
            stored = numpy.clip(numpy.round(values / spread), -127, 127).astype("i1")
            told = [float(each) for each in scales], [0] * len(scales), axis if len(scales) > 1 else 0
            if self.plain:
                return self.add(Tensor(name, values.shape, "float32", (stored * spread).astype("<f4"), *told))
            return self.add(Tensor(name, values.shape, "int8", stored, *told))
        if self.kind == "float16":
            half = self.add(Tensor(name, values.shape, "float16", values.astype("<f2")))
            whole = self.add(Tensor(name + "/f32", values.shape, "float32"))
            self.operators.append(("DEQUANTIZE", [half], [whole], None))
            return whole
        return self.add(Tensor(name, values.shape, "float32", values.astype("<f4")))

    def random(self, *shape):
        return self.draw.standard_normal(shape, "f4") * numpy.float32((2 / max(numpy.prod(shape[1:]), 1)) ** 0.5)

    # ---- Operators.

    def emit(self, code, inputs, shape, options=None, fixed=None):
        made = self.activation(shape, like=inputs[0] if code in SAME_SCALE else None, fixed=fixed)
        self.operators.append((code, inputs, [made], options))
        return made

    def shape(self, x):
        return self.tensors[x].shape

    @staticmethod
    def windows(extent, kernel, stride, same, dilation=1):
        return -(-extent // stride) if same else (extent - (kernel - 1) * dilation - 1) // stride + 1

    def weights(self, x, name, values, axis, count):
        weight = self.constant(name + "/weight", values, axis)
        return [x, weight, self.constant(name + "/bias", self.draw.standard_normal(count, "f4") * numpy.float32(0.1), bias_of=(x, weight))]

    def conv(self, x, channels, kernel, stride=1, same=True, act=None, dilation=1):
        n, h, w, c = self.shape(x)
        name = f"conv{len(self.operators)}"
        operands = self.weights(x, name, self.random(channels, kernel, kernel, c), 0, channels)
        options = ("Conv2DOptions", {"Padding": 0 if same else 1, "StrideW": stride, "StrideH": stride, "FusedActivationFunction": ACTIVATIONS[act], "DilationWFactor": dilation,
                                   "DilationHFactor": dilation})
        return self.emit("CONV_2D", operands, (n, self.windows(h, kernel, stride, same, dilation), self.windows(w, kernel, stride, same, dilation), channels), options)

    def depthwise(self, x, kernel, stride=1, same=True, act=None, multiplier=1):
        n, h, w, c = self.shape(x)
        name = f"depthwise{len(self.operators)}"
        values = self.random(1, kernel, kernel, c * multiplier) * numpy.float32(c ** 0.5)
        operands = self.weights(x, name, values, 3, c * multiplier)
        options = ("DepthwiseConv2DOptions", {"Padding": 0 if same else 1, "StrideW": stride, "StrideH": stride, "DepthMultiplier": multiplier, "FusedActivationFunction": ACTIVATIONS[act]})
        return self.emit("DEPTHWISE_CONV_2D", operands, (n, self.windows(h, kernel, stride, same), self.windows(w, kernel, stride, same), c * multiplier), options)

    def linear(self, x, units, act=None):
        n, count = self.shape(x)[0], int(numpy.prod(self.shape(x)[1:]))
        operands = self.weights(x, f"linear{len(self.operators)}", self.random(units, count), 0, units)
        return self.emit("FULLY_CONNECTED", operands, (n, units), ("FullyConnectedOptions", {"FusedActivationFunction": ACTIVATIONS[act]}))

    def pool(self, x, code, kernel, stride, same=False):
        n, h, w, c = self.shape(x)
        options = ("Pool2DOptions", {"Padding": 0 if same else 1, "StrideW": stride, "StrideH": stride, "FilterWidth": kernel, "FilterHeight": kernel})
        return self.emit(code, [x], (n, self.windows(h, kernel, stride, same), self.windows(w, kernel, stride, same), c), options)

    def two(self, code, x, y, act=None):
        shape = numpy.broadcast_shapes(self.shape(x), self.shape(y))
        return self.emit(code, [x, y], shape, (code.capitalize() + "Options", {"FusedActivationFunction": ACTIVATIONS[act]}))

    def mean(self, x, keep=False):
        n, _, _, c = self.shape(x)
        return self.emit("MEAN", [x, self.integers([1, 2])], (n, 1, 1, c) if keep else (n, c), ("ReducerOptions", {"KeepDims": keep}))

    def pad(self, x, paddings):
        shape = [extent + sum(pair) for extent, pair in zip(self.shape(x), paddings)]
        return self.emit("PAD", [x, self.integers(paddings)], shape, ("PadOptions", {}))

    def reshape(self, x, *shape):
        return self.emit("RESHAPE", [x, self.integers(shape)], shape, ("ReshapeOptions", {}))

    def softmax(self, x):
        return self.emit("SOFTMAX", [x], self.shape(x), ("SoftmaxOptions", {"Beta": 1.0}), fixed=(1 / 256, -128))

    def one(self, code, x):
        return self.emit(code, [x], self.shape(x), fixed=(1 / 256, -128) if code == "LOGISTIC" else None)

    # ---- The file.

    def bytes(self, outputs, intermediate=False):
        self.outputs = [op[2][0] for op in self.operators if op[0] != "DEQUANTIZE"] if intermediate else outputs
        builder = flatbuffers.Builder(1 << 16)
        buffers, places = [b""], {}
        for at, tensor in enumerate(self.tensors):
            if tensor.data is not None:
                places[at] = len(buffers)
                buffers.append(numpy.ascontiguousarray(tensor.data).tobytes())
        made = [self.buffer(builder, data) for data in buffers]
        tensors = [self.tensor(builder, tensor, places.get(at, 0)) for at, tensor in enumerate(self.tensors)]
        codes = sorted({op[0] for op in self.operators})
        operators = [self.operator(builder, codes.index(code), inputs, made_, options) for code, inputs, made_, options in self.operators]
        inputs, outputs = self.vector(builder, self.inputs), self.vector(builder, self.outputs)
        all_tensors, all_operators = self.offsets(builder, tensors), self.offsets(builder, operators)
        name = builder.CreateString("main")
        tflite.SubGraphStart(builder)
        tflite.SubGraphAddTensors(builder, all_tensors)
        tflite.SubGraphAddInputs(builder, inputs)
        tflite.SubGraphAddOutputs(builder, outputs)
        tflite.SubGraphAddOperators(builder, all_operators)
        tflite.SubGraphAddName(builder, name)
        graph = tflite.SubGraphEnd(builder)
        code_tables = []
        for code in codes:
            number = getattr(tflite.BuiltinOperator, code)
            tflite.OperatorCodeStart(builder)
            tflite.OperatorCodeAddDeprecatedBuiltinCode(builder, min(number, 127))
            tflite.OperatorCodeAddVersion(builder, self.version(code))
            tflite.OperatorCodeAddBuiltinCode(builder, number)
            code_tables.append(tflite.OperatorCodeEnd(builder))
        all_codes, graphs, all_buffers = self.offsets(builder, code_tables), self.offsets(builder, [graph]), self.offsets(builder, made)
        tflite.ModelStart(builder)
        tflite.ModelAddVersion(builder, 3)
        tflite.ModelAddOperatorCodes(builder, all_codes)
        tflite.ModelAddSubgraphs(builder, graphs)
        tflite.ModelAddBuffers(builder, all_buffers)
        builder.Finish(tflite.ModelEnd(builder), file_identifier=b"TFL3")
        return bytes(builder.Output())

    def version(self, code):
        int8 = {"CONV_2D": 3, "DEPTHWISE_CONV_2D": 3, "FULLY_CONNECTED": 4, "ADD": 2, "MUL": 2, "SUB": 2, "AVERAGE_POOL_2D": 2, "MAX_POOL_2D": 2, "MEAN": 2, "SOFTMAX": 2, "PAD": 2,
                "LOGISTIC": 2, "RESHAPE": 1, "RESIZE_NEAREST_NEIGHBOR": 2}
        return 3 if code == "DEQUANTIZE" else int8.get(code, 1) if self.is_int8 and not self.plain else 1

    @staticmethod
    def offsets(builder, items):
        builder.StartVector(4, len(items), 4)
        for item in reversed(items):
            builder.PrependUOffsetTRelative(item)
        return builder.EndVector()

    @staticmethod
    def vector(builder, items, dtype="<i4"):
        return builder.CreateNumpyVector(numpy.array(items, dtype))

    def buffer(self, builder, data):
        vector = builder.CreateByteVector(data) if data else None
        tflite.BufferStart(builder)
        if vector is not None:
            tflite.BufferAddData(builder, vector)
        return tflite.BufferEnd(builder)

    def tensor(self, builder, tensor, buffer):
        name, shape = builder.CreateString(tensor.name), self.vector(builder, tensor.shape)
        quantization = None
        if tensor.scales and tensor.dtype != "float32":
            scales, zeros = self.vector(builder, tensor.scales, "<f4"), self.vector(builder, tensor.zeros, "<i8")
            tflite.QuantizationParametersStart(builder)
            tflite.QuantizationParametersAddScale(builder, scales)
            tflite.QuantizationParametersAddZeroPoint(builder, zeros)
            tflite.QuantizationParametersAddQuantizedDimension(builder, tensor.axis)
            quantization = tflite.QuantizationParametersEnd(builder)
        tflite.TensorStart(builder)
        tflite.TensorAddShape(builder, shape)
        tflite.TensorAddType(builder, TYPES[tensor.dtype])
        tflite.TensorAddBuffer(builder, buffer)
        tflite.TensorAddName(builder, name)
        if quantization is not None:
            tflite.TensorAddQuantization(builder, quantization)
        return tflite.TensorEnd(builder)

    def operator(self, builder, code, inputs, outputs, options):
        table, kind = None, 0
        if options is not None:
            name, settings = options
            getattr(tflite, f"{name}Start")(builder)
            for setting, value in settings.items():
                getattr(tflite, f"{name}Add{setting}")(builder, value)
            table = getattr(tflite, f"{name}End")(builder)
            kind = getattr(tflite.BuiltinOptions, name)
        operands, made = self.vector(builder, inputs), self.vector(builder, outputs)
        tflite.OperatorStart(builder)
        tflite.OperatorAddOpcodeIndex(builder, code)
        tflite.OperatorAddInputs(builder, operands)
        tflite.OperatorAddOutputs(builder, made)
        if table is not None:
            tflite.OperatorAddBuiltinOptionsType(builder, kind)
            tflite.OperatorAddBuiltinOptions(builder, table)
        return tflite.OperatorEnd(builder)


# ---- Networks: each adds itself and returns its outputs.

def mobilenet_v1(net):
    x = net.conv(net.input(1, 32, 32, 3), 8, 3, 2, act="relu6")
    for channels, stride in ((16, 1), (32, 2), (32, 1), (64, 2)):
        x = net.conv(net.depthwise(x, 3, stride, act="relu6"), channels, 1, act="relu6")
    x = net.pool(x, "AVERAGE_POOL_2D", 4, 4)
    return [net.softmax(net.linear(net.reshape(x, 1, 64), 2))]


def mobilenet_v2(net):
    x = net.conv(net.input(1, 32, 32, 3), 8, 3, 2, act="relu6")
    for channels, stride in ((8, 1), (16, 2), (16, 1), (24, 2), (24, 1)):
        y = net.conv(x, 4 * net.shape(x)[3], 1, act="relu6")
        y = net.conv(net.depthwise(y, 3, stride, act="relu6"), channels, 1)
        x = net.two("ADD", x, y) if net.shape(x) == net.shape(y) else y
    return [net.softmax(net.linear(net.mean(net.conv(x, 64, 1, act="relu6")), 10))]


def mcunet(net):
    x = net.pad(net.input(1, 40, 40, 3), [[0, 0], [0, 1], [0, 1], [0, 0]])
    x = net.conv(x, 8, 3, 2, same=False, act="relu6")
    for channels, kernel, stride in ((8, 5, 1), (16, 7, 2), (16, 3, 1), (24, 5, 2)):
        y = net.conv(x, 3 * net.shape(x)[3], 1, act="relu6")
        if stride == 2:
            before = kernel // 2
            y = net.pad(y, [[0, 0], [before, before], [before, before], [0, 0]])
        y = net.conv(net.depthwise(y, kernel, stride, same=stride == 1, act="relu6"), channels, 1)
        if net.shape(x) == net.shape(y):
            x = net.two("ADD", x, net.two("MUL", y, net.one("LOGISTIC", net.conv(net.mean(y, keep=True), channels, 1))))
        else:
            x = y
    return [net.linear(net.mean(x), 5)]


def resnet8(net):
    x = net.conv(net.input(1, 32, 32, 3), 16, 3, act="relu")
    for channels, stride in ((16, 1), (32, 2), (64, 2)):
        y = net.conv(net.conv(x, channels, 3, stride, act="relu"), channels, 3)
        x = net.two("ADD", y, net.conv(x, channels, 1, stride) if stride > 1 else x, act="relu")
    return [net.softmax(net.linear(net.reshape(net.pool(x, "AVERAGE_POOL_2D", 8, 8), 1, 64), 10))]


def ds_cnn(net):
    x = net.conv(net.input(1, 49, 10, 1), 16, 4, 2, act="relu")
    for _ in range(4):
        x = net.conv(net.depthwise(x, 3, act="relu"), 16, 1, act="relu")
    x = net.pool(x, "MAX_POOL_2D", 5, 5, same=True)
    return [net.softmax(net.linear(x, 12))]


def others(net):
    """Every operator that no network above has."""
    image = net.input(1, 12, 10, 4)
    x = net.one("TANH", net.conv(image, 6, 3, dilation=2, same=False))
    x = net.emit("PRELU", [x, net.constant("slope", net.draw.random((1, 1, 6), "f4"))], net.shape(x))
    x = net.two("SUB", x, net.constant("offset", net.draw.random(6, "f4")))
    x = net.two("DIV", x, net.constant("divisor", 1 + net.draw.random((1, 8, 1, 1), "f4")))
    small = net.pool(x, "MAX_POOL_2D", 2, 2)
    n, h, w, c = net.shape(x)
    sizes = [("RESIZE_BILINEAR", "ResizeBilinearOptions", {"AlignCorners": corners, "HalfPixelCenters": centers}) for corners, centers in ((0, 0), (1, 0), (0, 1))]
    sizes += [("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions", {"AlignCorners": corners, "HalfPixelCenters": centers}) for corners, centers in ((0, 0), (1, 0), (0, 1))]
    parts = [x] + [net.emit(code, [small, net.integers([h, w])], (n, h, w, c), (options, settings)) for code, options, settings in sizes]
    x = net.emit("CONCATENATION", parts, (n, h, w, c * len(parts)), ("ConcatenationOptions", {"Axis": -1, "FusedActivationFunction": 0}))
    x = net.emit("LEAKY_RELU", [net.one("HARD_SWISH", x)], net.shape(x), ("LeakyReluOptions", {"Alpha": 0.1}))
    x = net.one("RELU", net.one("TANH", x))
    x = net.depthwise(x, 3, 2, multiplier=2, act="relu6")
    n, h, w, c = net.shape(x)
    x = net.emit("STRIDED_SLICE", [x, net.integers([0, 1, 0, 0]), net.integers([0, h, w, c]), net.integers([1, 1, 2, 3])], (n, h - 1, -(-w // 2), -(-c // 3)),
                 ("StridedSliceOptions", {"BeginMask": 9, "EndMask": 9}))
    n, h, w, c = net.shape(x)
    x = net.emit("TRANSPOSE", [x, net.integers([0, 3, 2, 1])], (n, c, w, h), ("TransposeOptions", {}))
    rows = net.reshape(x, n, c, w * h)
    made = net.emit("BATCH_MATMUL", [rows, rows], (n, c, c), ("BatchMatMulOptions", {"AdjX": False, "AdjY": True}))
    made = net.emit("GATHER", [made, net.integers([3, 0, 5])], (n, c, 3), ("GatherOptions", {"Axis": 2, "BatchDims": 0}))
    return [net.emit("SOFTMAX", [made], net.shape(made), ("SoftmaxOptions", {"Beta": 0.5})), x]


NETWORKS = {"MobileNetV1-like": mobilenet_v1, "MobileNetV2-like": mobilenet_v2, "MCUNet-like": mcunet, "ResNet-8": resnet8, "DS-CNN": ds_cnn}


def small(net):
    """The seed of the fuzzer: a convolution by depth, an addition, a mean and a layer."""
    x = net.conv(net.input(1, 6, 6, 2), 4, 3, 2, act="relu6")
    x = net.two("ADD", x, net.depthwise(x, 3))
    return [net.softmax(net.linear(net.mean(x), 3))]


if __name__ == "__main__":  # writes the seeds of tests/fuzz into a folder
    import os
    import sys
    for kind in ("float32", "float16", "int8", "channel"):
        made = Net(kind)
        with open(os.path.join(sys.argv[1], f"small_{kind}.tflite"), "wb") as out:
            out.write(made.bytes(small(made)))
    made = Net()
    with open(os.path.join(sys.argv[1], "others.tflite"), "wb") as out:
        out.write(made.bytes(others(made)))
