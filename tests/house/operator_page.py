"""Reads docs/adding-an-operator.md: the places of an operator, and who names each when it is left out."""
import collections
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = "docs/adding-an-operator.md"

# file: where; code: its pieces; build: the target that fails or is run; run: the words of the check, none: building it is the check
Place = collections.namedtuple("Place", "title file code target run says")

SECTION = re.compile(r"^## \d+\. (.+?)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
CHECK = re.compile(r"^Left out: (?:the compiler at `(\w+)`|`([^`]+)`) says \"([^\"]+)\"\.$", re.MULTILINE)


def text_of(path, root=ROOT):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def places_of(page):
    return [place_of(title, body) for title, body in SECTION.findall(page)]


def place_of(title, body):
    file = os.path.normpath(os.path.join("docs", re.search(r"\]\(([^)#]+)\)", body).group(1)))
    code = [piece.strip() for fence in FENCE.findall(body) for piece in re.split(r"\n\s*\n", fence) if piece.strip()]
    target, command, says = CHECK.search(body).groups()
    run = command.split() if command else []
    return Place(title, file, code, target or ("pantoum" if run[0].endswith(".py") else run[0]), run, says)


def spot_of(piece, text):
    """Where the piece stands, whatever the white space; None where it does not, or not once."""
    found = list(re.finditer(r"(?<![\w{])" + r"\s+".join(re.escape(word) for word in piece.split()), text))
    return found[0].span() if len(found) == 1 else None


def without(pieces, text):
    for piece in pieces:
        begin, end = spot_of(piece, text)
        text = text[:begin] + text[end:]
    return text
