"""Models, cost graphs, plans, certificates, weights, profiles and logs that lie."""
import json
import os
import struct
import zlib

from hostile_change import EXTREMES, changed, changed_text
from house import ROOT, field, onnx_model, onnx_node, onnx_tensor

WIDTH = 4


def encoded(text):
    return text.encode("utf-8", "replace")


def linear(*before, tensors=(), value="x"):
    """x -> the nodes before, of which one makes `value` -> a linear layer."""
    return onnx_model([*before, onnx_node("MatMul", [value, "w"], ["y"])], ("N", WIDTH), [onnx_tensor("w", (WIDTH, WIDTH), [0.1] * WIDTH * WIDTH), *tensors])


def graph_in_graphs(depth):
    """A conditional in a conditional, and so on, as the bytes of the outermost graph's node."""
    inner = onnx_node("Identity", ["x"], ["y"])
    for _ in range(depth):
        graph = field(1, inner) + field(2, b"g") + field(12, field(1, b"y"))
        attributes = b"".join(field(5, field(1, name) + field(6, graph) + field(20, 5)) for name in (b"then_branch",))
        inner = onnx_node("If", ["c"], ["y"]) + attributes
    return inner


def growing_models():
    """Little files whose values are large, many or deep."""
    sizes = ((1 << 40,), (1 << 31, 1 << 31), (-1,), (1 << 20, 1 << 10), (1 << 26,), (0,), (1,) * 100, (1 << 62, 4), ())
    for dims in sizes:
        shape = onnx_tensor("s", (len(dims),), dims, 7)
        yield linear(onnx_node("ConstantOfShape", ["s"], ["c"]), onnx_node("Add", ["x", "c"], ["a"]), tensors=[shape], value="a")
        yield linear(onnx_node("Expand", ["x", "s"], ["a"]), tensors=[shape], value="a")
        yield linear(onnx_node("Expand", ["w", "s"], ["c"]), onnx_node("Add", ["x", "c"], ["a"]), tensors=[shape], value="a")
        yield linear(onnx_node("Reshape", ["x", "s"], ["a"]), tensors=[shape], value="a")
        yield linear(onnx_node("Tile", ["x", "s"], ["a"]), tensors=[shape], value="a")
        yield linear(onnx_node("Pad", ["x", "s"], ["a"]), tensors=[shape], value="a")
    for most in (1 << 26, 1 << 40, 1 << 62):
        ends = [onnx_tensor(name, (), (value,), 7) for name, value in (("from", 0), ("to", most), ("by", 1))]
        yield linear(onnx_node("Range", ["from", "to", "by"], ["r"]), onnx_node("Cast", ["r"], ["f"], to=1), onnx_node("Add", ["x", "f"], ["a"]), tensors=ends, value="a")
    for axis in (0, 1):
        doubled = [onnx_node("Concat", [f"v{at}"] * 2, [f"v{at + 1}"], axis=axis) for at in range(60)]
        yield linear(onnx_node("Identity", ["x"], ["v0"]), *doubled, value="v60")
        yield linear(onnx_node("Identity", ["w"], ["v0"]), *doubled, onnx_node("MatMul", ["x", "v60"], ["a"]), value="a")
    yield linear(onnx_node("Concat", ["w"] * 20000, ["v"], axis=1), onnx_node("MatMul", ["x", "v"], ["a"]), value="a")
    yield linear(*[onnx_node("Relu", [f"v{at}" if at else "x"], [f"v{at + 1}"]) for at in range(600)], value="v600")
    yield linear(*[onnx_node("Shape", ["x"], [f"v{at}"]) for at in range(20000)])
    yield from (linear(graph_in_graphs(depth)) for depth in (3, 40, 200))
    yield linear(onnx_node("Relu", ["a"], ["b"]), onnx_node("Relu", ["b"], ["a"]), value="a")
    yield linear(onnx_node("Relu", ["x" * 1000000], ["a"]), value="a")
    yield linear(onnx_node("Transpose", ["x"], ["a"], perm=[0] * 100000), value="a")
    for dims in ((1 << 40, 1 << 40), (-4, -4), (1 << 32, 1 << 32), (0, 1 << 62), (1,) * 100000, ((1 << 63) - 1,)):
        yield linear(onnx_node("Add", ["x", "t"], ["a"]), tensors=[b"".join(field(1, dim % (1 << 64)) for dim in dims) + field(2, 1) + field(8, b"t") + field(9, bytes(64))], value="a")
    yield onnx_model([onnx_node("Relu", ["x"], ["y"])], (1 << 40, 1 << 40))
    yield onnx_model([onnx_node("Relu", ["x"], ["y"])], (1,) * 50000)
    yield field(7, b"") * 100000
    yield field(8, field(1, b"") + field(2, 17)) * 100000
    yield b"\x3a" + b"\xff" * 9 + b"\1" + b"x" * 100


def good_model():
    """A convolution, a normalization, a layer, shapes that are constants."""
    def ones(name, *dims):
        count = 1
        for dim in dims:
            count *= dim
        return onnx_tensor(name, dims, [0.1] * count)
    nodes = [onnx_node("Reshape", ["x", "image"], ["i"]), onnx_node("Conv", ["i", "k"], ["c"], pads=[1, 1, 1, 1]),
             onnx_node("BatchNormalization", ["c", "g", "b", "m", "v"], ["n"]), onnx_node("Relu", ["n"], ["r"]), onnx_node("Flatten", ["r"], ["f"]),
             onnx_node("Gemm", ["f", "w"], ["y"], transB=1)]
    tensors = [onnx_tensor("image", (4,), (-1, 1, 2, 2), 7), ones("k", 2, 1, 3, 3), *(ones(name, 2) for name in "gbmv"), ones("w", 4, 8)]
    return onnx_model(nodes, ("N", WIDTH), tensors)


def model_files(draw):
    good = good_model()
    yield from growing_models()
    while True:
        yield changed(draw, good)


def good_tflite():
    """Small files of TensorFlow Lite, by name."""
    folder = os.path.join(ROOT, "tests", "fuzz", "seeds", "tflite")
    files = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            files[name] = file.read()
    return files


def tflite_files(draw):
    whole = list(good_tflite().values())
    while True:
        yield changed(draw, draw.choice(whole))


def model_with_data(location, offset, length):
    """Its weight lies in another file."""
    def entry(key, value):
        return field(13, field(1, key) + field(2, value))
    weight = field(1, WIDTH) * 2 + field(2, 1) + field(8, b"w") + entry(b"location", location) + entry(b"offset", offset) + entry(b"length", length) + field(14, 1)
    return onnx_model([onnx_node("MatMul", ["x", "w"], ["y"])], ("N", WIDTH), [weight])


def external_data_files(draw):
    numbers = [str(each).encode() for each in (0, 64, -1, 63, 1 << 31, 1 << 62, (1 << 64) - 1, 10 ** 30)] + [b"", b"x", b"1e3", b" 64", b"0x40", b"6" * 100000]
    places = [b"/etc/passwd", b"../net.onnx", b"/dev/zero", b"/dev/stdin", b".", b"", b"a\0b", b"\xff", b"x" * 100000, b"./w.data", b"case/../../w.data", b"/proc/self/mem", b"link"]
    yield from (model_with_data(place, b"0", b"64") for place in places)
    yield from (model_with_data(b"w.data", at, length) for at in numbers for length in numbers)
    while True:
        yield changed(draw, model_with_data(b"w.data", b"0", b"64"))


GOOD_TENSORS = {"w": {"dtype": "F32", "shape": [4, 4], "data_offsets": [0, 64]}}


def tensors_file(header, data=bytes(64)):
    text = header.encode() if isinstance(header, str) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def safetensors_files(draw):
    file, good = tensors_file, GOOD_TENSORS
    yield from (struct.pack("<Q", size) + b"{}" for size in EXTREMES)
    yield file("[" * 100000)
    yield file('{"a":' * 50000)
    yield file({f"t{at}": {"dtype": "F32", "shape": [0], "data_offsets": [64, 64]} for at in range(50000)})
    yield file({"w": {"dtype": "F32", "shape": [1] * 100000, "data_offsets": [0, 4]}})
    yield file({"w": {"dtype": "F32", "shape": [1 << 40, 1 << 40], "data_offsets": [0, 64]}})
    yield file({"x" * 1000000: good["w"]})
    while True:
        yield file(changed_text(draw, json.dumps(good)).encode("utf-8", "replace").decode()) if draw.random() < 0.5 else changed(draw, file(good))


def checkpoint_files(draw, good):
    """Of a checkpoint: its header is text, its tensors' bytes are not."""
    size = struct.unpack("<Q", good[:8])[0]
    text, data = good[8:8 + size].decode(), good[8 + size:]
    header = json.loads(text)
    for key in header["__metadata__"]:
        for value in ("", "-1", "1e999", "x" * 100000, "\0", str(1 << 64)):
            yield tensors_file({**header, "__metadata__": {**header["__metadata__"], key: value}}, data)
    yield tensors_file({**header, "__metadata__": {**header["__metadata__"], **{f"k{at}": "x" for at in range(100000)}}}, data)
    while True:
        yield tensors_file(encoded(changed_text(draw, text)).decode(), data) if draw.random() < 0.5 else changed(draw, good)


GOOD_PROFILE = 'name = "toy"\nram = "64KiB"\nalign_bytes = 4\n[compute]\nflops_per_s = 1e9\nflops_per_joule = 1e9\n[pager]\nmode = "sync"\nblock_bytes = 512\nin = { latency_s = 1e-3, bytes_per_s = 1e6, w = 0.5 }\nout = { latency_s = 2e-3, bytes_per_s = 5e5 }\n'


def toml_files(draw):
    good = GOOD_PROFILE
    yield from (text.encode() for text in (
        ".".join("a" * 50000) + " = 1\n", "[" + ".".join("a" * 50000) + "]\n", "x = " + "[" * 100000, "x = " + "{a=" * 100000, "[[" + ".".join("a" * 500) + "]]\n" * 1000,
        "x = [" + "{a.b.c.d.e.f.g.h = 1}," * 5000 + "]", "\n".join(f"[a{at}]" for at in range(20000)), '"' + "\\" * 100000, "x = '''" + "." * 60000, good * 2,
        "\n".join(".".join("ab"[at % 2] * 900) + f".k{at} = 1" for at in range(30)), "x = " + "1" * 60000, "#" * (1 << 22), "x-a = " + "[" * 240 + "]" * 240,
        "x-a = [" + "{" + ".".join("a" * 900) + " = 1}]\n"))
    while True:
        yield encoded(changed_text(draw, good)) if draw.random() < 0.7 else changed(draw, good.encode())


GOOD_INI = """[Model]
Loss = mse
batch_size = 4
[Optimizer]
Type = adam
Learning_rate = 0.01
[back]
backbone = b.ini
[conv]
Type = conv2d
filters = 2
kernel_size = 3,3
stride = 1,1
padding = same
Activation = relu
[norm]
Type = batch_normalization
[pool]
Type = pooling2d
pooling = average
pool_size = 2,2
[flat]
Type = flatten
[ends]
Type = split
axis = 3
split_number = 2
[sum]
Type = addition
input_layers = ends(0), ends(1)
[scores]
Type = fully_connected
Unit = 3
weight_regularizer = l2norm
"""
BACKBONE_INI = "[x]\nType = input\nInput_Shape = 1:5:3\n"


def ini_files(draw):
    """Beside them lies b.ini, which has BACKBONE_INI, and themselves as n.ini."""
    x, layer = "[x]\ntype=input\ninput_shape=1:1:4\n", "[{}]\ntype=flatten\n"
    ends = "[y]\ntype=addition\ninput_layers="
    sizes = ("2147483647", "2147483648", "-1", "0", "1e9", "9" * 400, "65536")
    yield from (text.encode("utf-8", "surrogateescape") for text in (
        "[a]\n" * 20001, "".join(f"[{at}]\n" for at in range(25000)), x + "".join(f"k{at}=1\n" for at in range(100000)), x + "k" * 2000 + "=1\n", "[" + "a" * 100000 + "]\n",
        x + "\\\n" * 200000, x + "a=b\\\n" * 1000, "[[[[" * 10000, "]" * 10000, "=" * 10000, "[x]\n" + "=\n" * 1000, x + "".join(layer.format(f"l{at}") for at in range(1500)),
        x + ends + ",".join(["x"] * 400) + "\n", x + ends + ",".join(["x(2147483647)"] * 60) + "\n", x + ends + "," * 900 + "\n", x + "[y]\ntype=split\naxis=3\nsplit_number=4\n",
        "[a]\nbackbone=n.ini\n", "[a]\nbackbone=b.ini\n[b]\nbackbone=b.ini\n", "[a]\nbackbone=/dev/zero\n", "[a]\nbackbone=/proc/self/mem.ini\n", "[a]\nbackbone=" + "../" * 300 + "b.ini\n",
        "[x]\ntype=input\ninput_shape=1:1:1048576\n[y]\ntype=split\naxis=3\n", "[a]\ntype=flatten\ninput_layers=b\n[b]\ntype=flatten\ninput_layers=a\n", "\xef\xbb\xbf" * 3 + x, "\0" + x,
        x + "[" + "\udcff" * 900 + "]\ntype=flatten\n", "[model]\nlabel_layers=" + "a," * 400 + "\n" + x))
    for size in sizes:
        for keys in (f"fully_connected\nunit={size}", f"conv2d\nfilters={size}\nkernel_size=1", f"conv2d\nfilters=1\nkernel_size={size},{size}\npadding={size}", f"embedding\nin_dim={size}\nout_dim={size}",
                     f"lstm\nunit={size}", f"pooling2d\npooling=max\npool_size={size}\nstride={size}\npadding=same", f"split\naxis=3\nsplit_number={size}"):
            yield f"{x}[y]\ntype={keys}\n".encode()
        yield f"[x]\ntype=input\ninput_shape={size}:{size}:{size}\n[y]\ntype=flatten\n".encode()
    while True:
        yield encoded(changed_text(draw, GOOD_INI)) if draw.random() < 0.8 else changed(draw, GOOD_INI.encode())


def broken_json():
    return ("[" * 3000000, "[" * 31 + "0," * 5000000, '{"a":' * 200000, "[" + "{}," * 3000000, '"' + "x" * 50000000, "[" + "[]," * 3000000,
            "{" + ",".join(f'"k{at}":0' for at in range(1500000)) + "}", "1" * 3000000, "[" + ",".join(['"x"'] * 2000000) + "]")


def plan_files(draw, good):
    text = json.dumps(good)
    yield json.dumps({**good, "instructions": good["instructions"] * 2000}).encode()
    yield json.dumps({**good, "graph": {**good["graph"], "tensors": good["graph"]["tensors"] * 5000}}).encode()
    yield from (each.encode() for each in broken_json())
    while True:
        yield encoded(changed_text(draw, text)) if draw.random() < 0.8 else changed(draw, text.encode())


def certificate_files(draw, good):
    """Plans whose certificate alone is changed."""
    order = good["graph"]["order"]
    old = {"question": good["question"], "bound": 0, "order": order, "boundaries": [len(order) + 1], "rows": []}
    deep = {**old, "rows": [], "cases": [["paged_out", 0, 0]] * 60000 + [["rows"]] * 60001}
    made = [deep, {**deep, "cases": [["in_ram", 0, 0], ["rows"]] * 60000}, {**old, "rows": [["work", 1e-9]] * 60000}, {**old, "boundaries": list(range(1, 200000))}]
    yield from (json.dumps({**good, "x-certificate": each}).encode() for each in made)
    text = json.dumps({**good, "x-certificate": 0})
    before, after = text.split('"x-certificate": 0')
    while True:
        yield encoded(before + '"x-certificate": ' + changed_text(draw, json.dumps(good["x-certificate"])) + after)


def refusal_files(draw, good, proved):
    text = json.dumps(good)
    yield json.dumps({**good, "graph": {**good["graph"], "tensors": good["graph"]["tensors"] * 5000}}).encode()
    yield json.dumps({**good, "certificate": proved["x-certificate"]}).encode()
    yield json.dumps({**good, "plan": {**{key: value for key, value in proved.items() if key != "graph"}, "instructions": proved["instructions"] * 2000}}).encode()
    pinned = [{"id": at, "name": "", "bytes": 8, "start": "ram", "pinned": True, "next": at + 20000} for at in range(20000)]
    updates = [{"id": at, "name": "", "inputs": [at], "outputs": [at + 20000], "choices": [{"time_s": 1, "energy_j": 1, "overwrites": [[0, 0]]}]} for at in range(20000)]
    many = {**good["graph"], "tensors": pinned + [{"id": at + 20000, "name": "", "bytes": 8} for at in range(20000)], "ops": updates, "order": list(range(20000))}
    yield json.dumps({**good, "plan": None, "certificate": None, "graph": many}).encode()
    yield from (each.encode() for each in broken_json())
    while True:
        yield encoded(changed_text(draw, text)) if draw.random() < 0.8 else changed(draw, text.encode())


def cost_graph_files(draw, good):
    text = json.dumps(good)
    yield from (each.encode() for each in broken_json())
    yield json.dumps({**good, "tensors": good["tensors"] * 5000}).encode()
    yield json.dumps({**good, "ops": good["ops"] * 5000}).encode()
    while True:
        yield encoded(changed_text(draw, text)) if draw.random() < 0.8 else changed(draw, text.encode())


def log_files(draw, good):
    """JSON lines."""
    yield from (each.encode() for each in broken_json())
    yield good.encode() * 2000
    yield b"\n" * 10000000
    yield b"\0" * 10000000
    while True:
        yield encoded(changed_text(draw, good)) if draw.random() < 0.8 else changed(draw, good.encode())


def database_files(draw, good):
    """SQLite: profile stores."""
    yield from (b"", b"x", good[:100], good[:4096], b"SQLite format 3\0" + bytes(1 << 20))
    while True:
        yield changed(draw, good)


def binary_plan_files(draw, good):
    """With the sum mended in some, so that what it guards is asked, too."""
    while True:
        data = bytearray(changed(draw, good))
        if draw.random() < 0.7 and len(data) > 16:
            data[8:12] = struct.pack("<I", len(data))
            data[12:16] = struct.pack("<I", zlib.crc32(data[16:]))
        yield bytes(data)


def text_files(draw, good):
    while True:
        yield encoded(changed_text(draw, good)) if draw.random() < 0.8 else changed(draw, good.encode())
