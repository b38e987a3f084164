"""Files that lie: whole ones of every format, changed where their headers tell sizes, counts, depths and checksums, or anywhere.

Run alone it tries as many as it is told of each format: hostile_files.py --count 300 [--only npz,png] [--seed 1]. Every run of the program ends by itself, with an
exit code of its own, within SECONDS of processor time and with MEMORY bytes beside the file's.
"""
import argparse
import io
import json
import os
import random
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib

from house import PANTOUM, npy, onnx_model, onnx_node, onnx_tensor

SECONDS = 2.0
MEMORY = 256 << 20
EXITS = {0, 2, 3, 4, 5, 6, 8}
EXTREMES = (0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 1 << 24, 0x7fffffff, 0x80000000, 0xffffffff, (1 << 62), (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
WIDTH, ROWS = 4, 8


def changed(draw, data):
    """Anywhere: a bit, a byte, a number of 2 to 8 bytes in either order, a piece away, twice, or moved."""
    data = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 2, 4, 16))):
        at, kind = draw.randrange(len(data) + 1), draw.randrange(7)
        near_start = draw.randrange(min(len(data), 128) + 1)
        if kind == 0 and data:
            data[at % len(data)] ^= 1 << draw.randrange(8)
        elif kind == 1 and data:
            data[near_start % len(data)] = draw.choice((0, 1, 0x7f, 0x80, 0xff, draw.randrange(256)))
        elif kind in (2, 3):
            size = draw.choice((2, 4, 8))
            number = draw.choice(EXTREMES) & (1 << 8 * size) - 1
            place = draw.choice((at, near_start, max(0, len(data) - draw.randrange(1, 80))))
            data[place:place + size] = number.to_bytes(size, draw.choice(("little", "big")))
        elif kind == 4:
            del data[at:]
        elif kind == 5:
            del data[at:at + draw.randrange(1, 16)]
        else:
            data[at:at] = data[at:at + draw.randrange(1, 64)] * draw.choice((1, 2, 200))
    return bytes(data)


def changed_text(draw, text):
    """A text whose numbers, words and brackets are others."""
    numbers = ["-1", "0", "1e999", "-1e999", "NaN", "1" + "0" * 400, "9223372036854775808", "18446744073709551616", "0.5", "true", "null", '""', '"x"', "[]", "{}",
               "[" * 200 + "]" * 200, "1e-320", "4294967296", "2147483648"]
    for _ in range(draw.choice((1, 1, 2, 5))):
        at = draw.randrange(len(text) + 1)
        digits = [each for each in range(len(text)) if text[each].isdigit()]
        kind = draw.randrange(5)
        if kind <= 1 and digits:
            first = last = draw.choice(digits)
            while last < len(text) and (text[last].isdigit() or text[last] in ".e-+"):
                last += 1
            text = text[:first] + draw.choice(numbers) + text[last:]
        elif kind == 2:
            text = text[:at] + text[at + draw.randrange(1, 40):]
        elif kind == 3:
            text = text[:at] + text[at:at + 200] * draw.choice((1, 3)) + text[at:]
        else:
            text = text[:at] + draw.choice(("{", "}", "[", "]", '"', ",", ":", "\\", "\0", "\x1b", "\ud7ff", "=", ".", "#", "\n", "-", "'''")) + text[at:]
    return text


def npy_files(draw):
    data = npy("<f4", (ROWS, WIDTH), bytes(4 * ROWS * WIDTH))
    def header(text, version=1):
        return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text)) + text.encode()
    yield from (header("{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }" % shape) + bytes(64) for shape in (
        "4294967296, 4294967296", "1," * 33, "1," * 20000, "-1, 4", "0, 4", "18446744073709551615,", "8, 4, " + "1," * 40, "9" * 5000 + ",", ""))
    yield from (b"\x93NUMPY\2\0" + struct.pack("<I", size) + b"{" for size in (0, 1 << 16, 0xffffffff, 0x7fffffff))
    yield header("{" * 30000)
    yield header("{'descr': '" + "<" * 60000)
    while True:
        yield changed(draw, data)


def zip_of(members, method):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as file:
        for name, data in members:
            file.writestr(name, data)
    return made.getvalue()


def npz_files(draw):
    rows = npy("<f4", (ROWS, WIDTH), bytes(range(128)))
    members = [("x_train.npy", rows), ("y_train.npy", npy("<i8", (ROWS,), bytes(8 * ROWS)))]
    stored, packed = zip_of(members, zipfile.ZIP_STORED), zip_of(members, zipfile.ZIP_DEFLATED)
    yield stored.replace(bytes(range(100, 128)), bytes(range(99, 127)))  # the checksum is of others
    bomb = bytes(1 << 26)
    yield zip_of([("x_train.npy", bomb), ("y_train.npy", bomb)], zipfile.ZIP_DEFLATED)
    lying = bytearray(zip_of([("x_train.npy", bomb), members[1]], zipfile.ZIP_DEFLATED))
    at = lying.rindex(b"PK\1\2", 0, lying.rindex(b"PK\1\2"))
    lying[at + 24:at + 28] = struct.pack("<I", 128)  # says that 64 MiB are 128 bytes
    yield bytes(lying)
    yield zip_of([(f"m{at}", b"") for at in range(20000)], zipfile.ZIP_STORED)
    entry = bytearray(stored[stored.index(b"PK\1\2"):stored.index(b"PK\1\2") + 46 + 11])
    yield bytes(entry) * 200000 + b"PK\5\6" + bytes(8) + struct.pack("<II", 57 * 200000, 0) + bytes(2)
    yield bytes(entry) * 400000 + b"PK\5\6" + bytes(8) + struct.pack("<II", 57 * 400000, 0) + bytes(2)
    yield b"PK\5\6" * 20000
    while True:
        yield changed(draw, draw.choice((stored, packed)))


def idx_files(draw):
    data = bytes([0, 0, 8, 2, 0, 0, 0, ROWS, 0, 0, 0, WIDTH]) + bytes(range(ROWS * WIDTH))
    yield from (bytes([0, 0, kind, rank]) + struct.pack(">I", extent) * rank + bytes(32) for kind in (8, 0xc, 0xd, 9) for rank in (0, 1, 3, 255)
                for extent in (0, 1, 0xffffffff, 0x10000))
    while True:
        yield changed(draw, data)


def cifar_files(draw):
    record = bytes([3]) + bytes(3072)
    yield b""
    yield record[:-1]
    yield record * 3 + b"\0"
    while True:
        yield changed(draw, record * draw.randrange(1, 9))


def csv_files(draw):
    rows = "a,b,c,d,label\n" + "1,2,3,4,0\n" * ROWS
    yield b"," * ((1 << 24) - 2)
    yield b"," * (1 << 22) + b"\n"
    yield b"1" * ((1 << 24) + 70000)
    yield b"\n" * (1 << 22)
    yield b"1,2,3,4,0\n" + b"1,2,3,4,1e400\n"
    yield ("x" * 100000 + ",b,c,d,e\n1,2,3,4,0\n").encode()
    yield b"1,2,3,4," + b"9" * 1000000 + b"\n"
    yield b"\xff\xfe1\0,\0002\0\n\0"
    while True:
        yield changed_text(draw, rows).encode("utf-8", "replace") if draw.random() < 0.5 else changed(draw, rows.encode())


def png_of(width, height, bits=8, colour=0, interlace=0, data=None, more=b""):
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    if data is None:
        data = zlib.compress((b"\0" + bytes(max(1, width * bits // 8))) * height) if width * height < 1 << 16 else zlib.compress(bytes(1 << 20))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, interlace)) + more + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def png_files(draw):
    def text(size):
        body = b"k\0\0" + zlib.compress(bytes(size))
        return struct.pack(">I", len(body)) + b"zTXt" + body + struct.pack(">I", zlib.crc32(b"zTXt" + body))
    yield from (png_of(*size, colour=colour, interlace=interlace) for size in ((30000, 30000), (32768, 32768), (32768, 1), (1, 32768), (0x7fffffff, 0x7fffffff), (0, 1), (8193, 8192))
                for colour in (0, 2) for interlace in (0, 1))
    yield png_of(8192, 8192, data=zlib.compress((b"\0" + bytes(8192)) * 8192))  # the largest that is read
    yield png_of(2, 2, more=text(1 << 25) * 3)
    yield png_of(2, 2, more=text(1 << 10) * 3000)
    small = png_of(4, 4)
    while True:
        yield changed(draw, small)


def jpeg_of(width, height, progressive=False, scans=1):
    """A gray JPEG of one Huffman code each; its pictures are flat."""
    def segment(mark, body):
        return bytes([0xff, mark]) + struct.pack(">H", len(body) + 2) + body
    tables = segment(0xdb, b"\0" + bytes([1] * 64)) + segment(0xc4, b"\0" + bytes([1] + [0] * 15) + b"\0") + segment(0xc4, b"\x10" + bytes([1] + [0] * 15) + (b"\xe0" if progressive else b"\0"))
    frame = segment(0xc2 if progressive else 0xc0, struct.pack(">BHHB", 8, height, width, 1) + b"\1\x11\0")
    blocks = ((width + 7) // 8) * ((height + 7) // 8)
    made = b"\xff\xd8" + tables + frame
    for scan in range(scans):
        first = not progressive or scan == 0
        made += segment(0xda, b"\1\1\0" + (b"\0\x3f\0" if not progressive else b"\0\0\0" if first else b"\1\x3f\0"))
        # 0 is the only code; in later scans each run of 16384 blocks without a coefficient is a code and 14 bits.
        made += bytes(blocks * (1 if progressive else 2) // 8 + 1) if first else bytes((blocks // 16384 + 1) * 15 // 8 + 1)
    return made + b"\xff\xd9"


def jpeg_files(draw):
    yield from (jpeg_of(*size, progressive=progressive) for size in ((30000, 30000), (65535, 65535), (65535, 1), (8, 8), (0, 8), (8192, 8192)) for progressive in (False, True))
    yield jpeg_of(4096, 4096, progressive=True, scans=3000)
    yield jpeg_of(64, 64, progressive=True, scans=3000)
    small = jpeg_of(16, 16)
    while True:
        yield changed(draw, draw.choice((small, jpeg_of(16, 16, True, 3))))


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


GOOD_PROFILE = 'name = "toy"\nram = "64KiB"\nalign_bytes = 4\n[compute]\nflops_per_s = 1e9\nflops_per_joule = 1e9\n[pager]\nmode = "sync"\nblock_bytes = 512\nin = { latency_s = 1e-3, bytes_per_s = 1e6, w = 0.5 }\nout = { latency_s = 2e-3, bytes_per_s = 5e5 }\n'


def toml_files(draw):
    good = GOOD_PROFILE
    yield from (text.encode() for text in (
        ".".join("a" * 50000) + " = 1\n", "[" + ".".join("a" * 50000) + "]\n", "x = " + "[" * 100000, "x = " + "{a=" * 100000, "[[" + ".".join("a" * 500) + "]]\n" * 1000,
        "x = [" + "{a.b.c.d.e.f.g.h = 1}," * 5000 + "]", "\n".join(f"[a{at}]" for at in range(20000)), '"' + "\\" * 100000, "x = '''" + "." * 60000, good * 2,
        "\n".join(".".join("ab"[at % 2] * 900) + f".k{at} = 1" for at in range(30)), "x = " + "1" * 60000, "#" * (1 << 22), "x-a = " + "[" * 240 + "]" * 240,
        "x-a = [" + "{" + ".".join("a" * 900) + " = 1}]\n"))
    while True:
        yield changed_text(draw, good).encode("utf-8", "replace") if draw.random() < 0.7 else changed(draw, good.encode())


def plan_files(draw, good):
    text = json.dumps(good)
    order = good["graph"]["order"]
    old = {"question": good["question"], "bound": 0, "order": order, "boundaries": [len(order) + 1], "rows": []}
    deep = {**old, "rows": [], "cases": [["paged_out", 0, 0]] * 60000 + [["rows"]] * 60001}
    yield json.dumps({**good, "x-certificate": deep}).encode()
    yield json.dumps({**good, "x-certificate": {**deep, "cases": [["in_ram", 0, 0], ["rows"]] * 60000}}).encode()
    yield json.dumps({**good, "x-certificate": {**old, "rows": [["work", 1e-9]] * 60000}}).encode()
    yield json.dumps({**good, "x-certificate": {**old, "boundaries": list(range(1, 200000))}}).encode()
    yield from (each.encode() for each in ("[" * 3000000, "[" * 31 + "0," * 5000000, '{"a":' * 200000, "[" + "{}," * 3000000, '"' + "x" * 50000000, "[" + "[]," * 3000000,
                                          "{" + ",".join(f'"k{at}":0' for at in range(1500000)) + "}", "1" * 3000000, "[" + ",".join(['"x"'] * 2000000) + "]"))
    yield json.dumps({**good, "instructions": good["instructions"] * 2000}).encode()
    yield json.dumps({**good, "graph": {**good["graph"], "tensors": good["graph"]["tensors"] * 5000}}).encode()
    while True:
        yield changed_text(draw, text).encode("utf-8", "replace") if draw.random() < 0.8 else changed(draw, text.encode())


class Trial:
    """Runs the program on each file and remembers what broke a promise."""
    def __init__(self, folder):
        self.folder, self.broken, self.runs, self.slowest, self.largest = folder, [], 0, 0.0, 0
        self.net = self.model("net.onnx", ("N", WIDTH), WIDTH)
        self.image = self.model("image.onnx", ("N", 1, 4, 4), 16)
        self.cifar = self.model("cifar.onnx", ("N", 3, 32, 32), 3072)
        self.plan = self.path("plan.json")
        subprocess.run([PANTOUM, "plan", self.net, "--batch", "4", "--ram", "1MiB", "--effort", "1", "-o", self.plan], check=True, capture_output=True)
        with open(self.plan) as file:
            self.good_plan = json.load(file)
        self.labels = npy("<i8", (ROWS,), bytes(8 * ROWS))
        self.base = self.measured([PANTOUM, "verify", self.plan])[2]

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def model(self, name, dims, features):
        nodes = [onnx_node("Flatten", ["x"], ["f"]), onnx_node("MatMul", ["f", "w"], ["y"])]
        with open(self.path(name), "wb") as file:
            file.write(onnx_model(nodes, dims, [onnx_tensor("w", (features, WIDTH), [0.1] * features * WIDTH)]))
        return self.path(name)

    def place(self, files):
        shutil.rmtree(self.path("case"), ignore_errors=True)
        for name, data in files.items():
            os.makedirs(os.path.dirname(self.path("case", name)), exist_ok=True)
            with open(self.path("case", name), "wb") as file:
                file.write(data)

    def train(self, model, data):
        return [PANTOUM, "train", model, "--data", self.path("case", data), "--batch", "4", "--ram", "1MiB", "--effort", "1", "-o", self.path("case", "w.safetensors")]

    def formats(self):
        """name: what makes files, the other files beside them, the command."""
        return {
            "npy": (npy_files, lambda data: {"x_train.npy": data, "y_train.npy": self.labels}, self.train(self.net, "")),
            "npz": (npz_files, lambda data: {"d.npz": data}, self.train(self.net, "d.npz")),
            "idx": (idx_files, lambda data: {"train-images-idx3-ubyte": data, "train-labels-idx1-ubyte": bytes([0, 0, 8, 1, 0, 0, 0, ROWS]) + bytes(ROWS)},
                    self.train(self.net, "")),
            "cifar": (cifar_files, lambda data: {"data_batch_1.bin": data}, self.train(self.cifar, "")),
            "csv": (csv_files, lambda data: {"train.csv": data}, self.train(self.net, "")),
            "png": (png_files, lambda data: {"train/a/1.png": data, **{f"train/b/{at}.png": png_of(4, 4) for at in range(3)}}, self.train(self.image, "")),
            "jpeg": (jpeg_files, lambda data: {"train/a/1.jpg": data, **{f"train/b/{at}.png": png_of(4, 4) for at in range(3)}}, self.train(self.image, "")),
            "safetensors": (safetensors_files, lambda data: {"w.safetensors": data},
                            [PANTOUM, "export", self.net, "--weights", self.path("case", "w.safetensors"), "-o", self.path("case", "out.onnx")]),
            "toml": (toml_files, lambda data: {"d.toml": data}, [PANTOUM, "devices", "show", self.path("case", "d.toml")]),
            "plan": (lambda draw: plan_files(draw, self.good_plan), lambda data: {"p.json": data}, [PANTOUM, "verify", self.path("case", "p.json")]),
        }

    def whole_files(self):
        """What each format's files are changed from."""
        rows = npy("<f4", (ROWS, WIDTH), bytes(4 * ROWS * WIDTH))
        return {"npy": rows, "npz": zip_of([("x_train.npy", rows), ("y_train.npy", self.labels)], zipfile.ZIP_STORED),
                "idx": bytes([0, 0, 8, 2, 0, 0, 0, ROWS, 0, 0, 0, WIDTH]) + bytes(ROWS * WIDTH), "cifar": (bytes([3]) + bytes(3072)) * 8,
                "csv": b"a,b,c,d,label\n" + b"1,2,3,4,0\n" * ROWS, "png": png_of(4, 4), "jpeg": jpeg_of(16, 16),
                "safetensors": tensors_file(GOOD_TENSORS), "toml": GOOD_PROFILE.encode(), "plan": json.dumps(self.good_plan).encode()}

    def accepts(self, name, data):
        _, beside, command = self.formats()[name]
        self.place(beside(data))
        return self.measured(command)

    def measured(self, command):
        """Exit code, processor seconds, bytes of RAM, what was said."""
        with open(self.path("said"), "wb") as said:
            process = subprocess.Popen(command, stdout=said, stderr=said, cwd=self.folder, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (20, 20)))
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        with open(self.path("said"), "rb") as said:
            return process.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10, said.read(4000)

    def judge(self, name, at, size, command):
        code, seconds, memory, said = self.measured(command)
        self.runs, self.slowest, self.largest = self.runs + 1, max(self.slowest, seconds), max(self.largest, memory - size)
        problems = [*([f"exit {code}"] if code not in EXITS else []), *([f"{seconds:.1f} s"] if seconds > SECONDS else []),
                    *([f"{memory >> 20} MiB"] if memory > self.base + MEMORY + size else []), *(["no code"] if code and b"error[E" not in said else []),
                    *(["internal"] if b"E0001" in said or b"E0910" in said else [])]
        if problems:
            self.broken.append(f"{name} {at}: {', '.join(problems)} ({size} bytes): {said[:300].decode('utf-8', 'replace')}")

    def run(self, count, seed, only=(), keep=None):
        for name, (make, beside, command) in self.formats().items():
            if only and name not in only:
                continue
            files = make(random.Random(f"{name} {seed}"))
            for at in range(count):
                before, data = len(self.broken), next(files)
                self.place(beside(data))
                self.judge(name, at, len(data), command)
                if keep and len(self.broken) > before:
                    shutil.copytree(self.path("case"), os.path.join(keep, f"{name}-{at}"), dirs_exist_ok=True)
        return self.broken


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=300, help="files of each format")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--only", default="", help="formats, with commas")
    options.add_argument("--keep", help="folder for files that broke a promise")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(folder)
        broken = trial.run(asked.count, asked.seed, [each for each in asked.only.split(",") if each], asked.keep)
    print("\n".join(broken))
    print(f"{trial.runs} files; at most {trial.slowest:.2f} s and {trial.largest >> 20} MiB beside the file; {len(broken)} broke a promise")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
