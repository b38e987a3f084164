"""The rooms of src/ in the order of docs/design/architecture.md, and who includes whom."""
import os
import re

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def order_of(page):
    """["kernels", "runtime", ..., "plan/simulate", ..., "plan", ...] from the block of the page that lists src/."""
    for block in re.findall(r"^```\n(.*?)^```", page, re.S | re.M):
        if re.search(r"^src/", block, re.M):
            return _order_of_block(block)
    raise ValueError("the page has no block that lists the rooms of src/")


def _order_of_block(block):
    order, parent, inner = [], None, []

    def close():
        if parent is not None:
            order.extend(inner + [parent])

    for line in block.splitlines():
        if match := re.match(r"src/([\w/]+)/ ", line):
            close()
            parent, inner = match[1], []
        elif (match := re.match(r"\s+(\w+)/", line)) and parent is not None:
            inner.append(f"{parent}/{match[1]}")  # what stands inside a room comes before it
    close()
    return order


def room_of(path, order):
    """The room of a path below src/ ("plan/bound/branch.cc"); None where no room holds it."""
    folders = path.split("/")[:-1]
    for depth in range(len(folders), 0, -1):
        if "/".join(folders[:depth]) in order:
            return "/".join(folders[:depth])
    return None


def includes_of(text):
    return INCLUDE.findall(text)


def closures(files):
    """{source below src/: every header below src/ that it includes, directly or through others}."""
    reached = {}

    def headers_of(path):
        if path not in reached:
            reached[path] = set()  # a circle ends here
            for target in includes_of(files[path]):
                beside = "/".join(path.split("/")[:-1] + [target])
                for header in (target, beside):
                    if header in files:
                        reached[path] |= {header} | headers_of(header)
        return reached[path]

    return {path: headers_of(path) for path in files if path.endswith((".cc", ".c"))}


def rebuilt_by(closures):
    """{header: {sources that include it}}."""
    users = {}
    for source, headers in closures.items():
        for header in headers:
            users.setdefault(header, set()).add(source)
    return users


def is_test(path):
    return path.endswith("_test.cc")


# The trainer's library links without the compiler, so its rooms see nothing of it, whatever the order allows.
TRAINER = {"base", "data", "weights", "host", "train"}
STRICT = {"check": {"base", "problem"}, "capi": TRAINER} | {room: TRAINER for room in TRAINER}
OPEN = {"kernels", "runtime"}  # their C headers


def faults(files, order):
    """Lines "who includes whom: why not". `files`: {path below src/: text}."""
    found = []
    for path, text in sorted(files.items()):
        room = room_of(path, order)
        if room is None:
            found.append(f"src/{path}: no room of the page holds it")
            continue
        if is_test(path) or room == "testing":
            continue
        for target in includes_of(text):
            if target not in files:
                continue  # the same folder's (C), public, generated, or the system's
            other = room_of(target, order)
            if other == room or (other in OPEN and target.endswith(".h")):
                continue
            if other == "testing":
                found.append(f"src/{path} includes {target}: fixtures are for tests")
            elif order.index(other) > order.index(room):
                found.append(f"src/{path} includes {target}: {other} stands after {room}")
            elif other not in STRICT.get(room, {other}):
                found.append(f"src/{path} includes {target}: {room} includes {', '.join(sorted(STRICT[room]))} alone")
    return found


def files_below(folder):
    """{path below `folder`: text} of its C and C++ files."""
    found = {}
    for base, _, names in os.walk(folder):
        for name in names:
            if name.endswith((".h", ".c", ".cc", ".hpp")):
                path = os.path.join(base, name)
                with open(path, encoding="utf-8", errors="replace") as file:
                    found[os.path.relpath(path, folder)] = file.read()
    return found
