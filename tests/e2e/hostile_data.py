"""Data sets that lie: arrays, archives, tables, pictures."""
import gzip
import io
import struct
import zipfile
import zlib

from hostile_change import changed, changed_text
from house import npy

WIDTH, ROWS = 4, 8


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


def packed_idx_files(draw):
    """gzip."""
    data = bytes([0, 0, 8, 2, 0, 0, 0, ROWS, 0, 0, 0, WIDTH]) + bytes(range(ROWS * WIDTH))
    whole = gzip.compress(data)
    yield gzip.compress(bytes([0, 0, 8, 2, 0, 0, 0, ROWS, 0, 0, 0, WIDTH]) + bytes(1 << 26))  # more than its header says
    yield whole * 1000
    yield whole[:10] + b"\0" * 100000
    yield whole[:-8] + bytes(8)  # of another length and sum
    yield whole[:3] + b"\x1f" + whole[4:10] + b"n" * 300000  # a name without an end
    yield b"\x1f\x8b"
    while True:
        yield changed(draw, whole) if draw.random() < 0.7 else gzip.compress(changed(draw, data))


def raw_files(draw):
    yield b""
    while True:
        yield draw.randbytes(draw.choice((4 * WIDTH * ROWS, 4 * WIDTH * ROWS - 1, 4 * WIDTH, draw.randrange(4096))))


def ppm_of(width, height, most=255, kind="P5", data=bytes(48)):
    return f"{kind} {width} {height} {most}\n".encode() + data


def ppm_files(draw):
    yield from (ppm_of(*size, kind=kind) for size in ((30000, 30000), (32768, 32768), (0, 4), ("9" * 5000, 4), (-1, 4), (1 << 32, 1 << 32), (4, "4" + " " * 100000), ("#" * 100000, 4))
                for kind in ("P5", "P6", "P4", "P7"))
    yield b"P5\n" + b"#" * 1000000
    yield b"P5"
    while True:
        yield changed(draw, ppm_of(4, 4, kind=draw.choice(("P5", "P6"))))


def class_list_files(draw):
    """Names of folders: each is a class."""
    while True:
        yield bytes(draw.choice((draw.randrange(1, 256), draw.choice(b"\xff\xc0\x80\x1b\n\t *'\"<&%$`\\-.~#"))) for _ in range(draw.choice((1, 2, 8, 60, 255)))).replace(b"/", b"_")
