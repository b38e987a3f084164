"""What a disk may hold after power was lost: the operations that preload.c recorded, each with the objects it is about, and any part of them applied."""
import collections

Op = collections.namedtuple("Op", "kind path other at bytes object")  # object: which file, whatever its name is now
NAMING = ("create", "empty", "rename", "link", "unlink")
BLOCKS = (512, 4096)


def read_record(path, folder):
    """The operations below `folder`, in their order."""
    with open(path, "rb") as file:
        text = file.read()
    operations, names, objects, at = [], {}, 0, 0
    while at < len(text):
        end = text.index(b"\n", at)
        kind, rest = text[at:end].decode().split(" ", 1)
        name, other, offset, length = rest.rsplit(" ", 3)  # a file without a name is "/folder/#12 (deleted)"
        at = end + 1
        data = b""
        if kind == "write":
            data, at = text[at:at + int(length)], at + int(length)
        if not (name + "/").startswith(folder + "/") or kind in ("open", "mkdir"):
            continue
        assert kind != "unknown", f"an operation that the model of a disk does not have: {name}, call {offset}"
        if kind in ("create", "empty") and name not in names:
            names[name], objects = objects, objects + 1
        elif kind == "create":
            continue  # it was there
        operations.append(Op(kind, name, other, int(offset), data, names.get(name)))
        if kind == "rename":
            names[other] = names.pop(name)
        elif kind == "link":
            names[other] = names[name]
        elif kind == "unlink":
            names.pop(name, None)
    return operations


def folder_of(path):
    return path[:path.rindex("/")]


def lasting(operations, count):
    """Which of the first `count` operations a sync that followed has made last. A file's sync keeps its bytes, a folder's its names."""
    kept, files, folders = set(), set(), set()
    for index in reversed(range(count)):
        op = operations[index]
        if op.kind == "sync":
            files.add(op.object)
            folders.add(op.path)
        elif op.kind in NAMING and folder_of(op.path) in folders:
            kept.add(index)
        if op.kind in ("write", "truncate", "empty") and op.object in files:
            kept.add(index)
    return kept


def state(operations, count, dropped=(), torn=None):
    """name -> bytes after the first `count`, without those `dropped`; `torn`: index -> how many bytes of a write got there."""
    names, data = {}, collections.defaultdict(bytearray)
    for index in range(count):
        op = operations[index]
        if index in dropped:
            continue
        if op.kind in ("create", "empty", "link"):
            names[op.other if op.kind == "link" else op.path] = op.object
            if op.kind == "empty":
                data[op.object].clear()
        elif op.kind == "rename":
            if names.get(op.path) == op.object:
                del names[op.path]
            names[op.other] = op.object
        elif op.kind == "unlink":
            names.pop(op.path, None)
        elif op.kind == "truncate":
            del data[op.object][op.at:]
            data[op.object].extend(bytes(op.at - len(data[op.object])))
        elif op.kind == "write":
            piece = op.bytes[:(torn or {}).get(index, len(op.bytes))]
            file = data[op.object]
            file.extend(bytes(max(0, op.at + len(piece) - len(file))))
            file[op.at:op.at + len(piece)] = piece
    return {name: bytes(data[found]) for name, found in names.items()}


def draw_loss(operations, count, draw):
    """What of the first `count` operations does not get there: some of those that no sync has made last yet."""
    kept = lasting(operations, count)
    open_ones = [index for index in range(count) if index not in kept and operations[index].kind != "sync"]
    share = draw.choice((0.1, 0.3, 0.5, 0.9))
    kinds = draw.choice((NAMING, ("write", "truncate"), NAMING + ("write", "truncate")))
    dropped = {index for index in open_ones if operations[index].kind in kinds and draw.random() < share}
    torn = {index: draw.randrange(0, len(operations[index].bytes) + 1, draw.choice(BLOCKS))
            for index in open_ones if index not in dropped and operations[index].kind == "write" and draw.random() < 0.3}
    return dropped, torn
