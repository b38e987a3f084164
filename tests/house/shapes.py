"""Places that share many lines of one shape: the same code with other names, texts and numbers. Standard library only."""
import re

from functions import code_of

WORD = re.compile(r"[A-Za-z_]\w*|\d[\w.']*|\"[^\"]*\"")
KEPT = {"for", "if", "else", "while", "switch", "case", "return", "const", "auto", "struct", "class", "void", "static", "template"}
TRIVIAL = re.compile(r"^(\W*|#\s*include.*|using\b.*|namespace\b.*|.*// *NOLINT.*)$")


def shape_of(line):
    return WORD.sub(lambda word: word.group() if word.group() in KEPT else "w", line.strip())


def lines_of(text):
    """[(line number, shape)] of the lines that say something."""
    return [(number, shape_of(line)) for number, line in enumerate(code_of(text).splitlines(), 1)
            if line.strip() and not TRIVIAL.match(line.strip())]


def repeated(files, least):
    """[(file, line, file, line, lines)]: runs of at least `least` lines of one shape that stand in two places.

    Tables (runs in which every line has one and the same shape, or at most two) are lists of facts, not repeated code.
    """
    shapes = {name: lines_of(text) for name, text in files.items()}
    seen, found, covered = {}, [], set()
    for name in sorted(shapes):
        lines = shapes[name]
        for at in range(len(lines) - least + 1):
            window = tuple(shape for _, shape in lines[at:at + least])
            if len(set(window)) <= 3:
                continue
            first = seen.setdefault(window, (name, at))
            if first == (name, at) or (first[0] == name and at - first[1] < least):
                continue
            if (first[0], first[1] - 1, name, at - 1) in covered:
                covered.add((first[0], first[1], name, at))
                continue
            covered.add((first[0], first[1], name, at))
            length = least
            other = shapes[first[0]]
            while (first[1] + length < len(other) and at + length < len(lines) and other[first[1] + length][1] == lines[at + length][1]):
                length += 1
            found.append((first[0], other[first[1]][0], name, lines[at][0], length))
    return found
