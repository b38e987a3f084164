"""The pages of a reader, and the code blocks in them. Standard library only.

A block that stands after `<!-- test: run -->` is a command that runs as it stands; after `<!-- test: fails N -->` it ends with exit code N;
after `<!-- test: torch -->` it runs where PyTorch is. Others are checked by their options alone.
"""
import glob
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BLOCK = re.compile(r"(?:<!-- test: (?P<mark>[\w ]+) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(pantoum [a-z-]+[^`]*)`")
CALL = re.compile(r"(?:^ *(?:[$#] )?|[;&|] *|[$]\()(?:\w+=\S+ |sudo |time )*pantoum ([a-z][a-z-]*)((?:\\\n|[^\n|;&#`])*)", re.MULTILINE)


def read(*names):
    with open(os.path.join(ROOT, *names), encoding="utf-8") as file:
        return file.read()


def pages():
    """README and docs/, by their paths from the root."""
    return ["README.md"] + sorted(os.path.relpath(path, ROOT) for path in glob.glob(os.path.join(ROOT, "docs", "**", "*.md"), recursive=True))


def blocks(text):
    """(mark, language, code) of every block; the mark is "" where there is none."""
    return [(found["mark"] or "", found["language"], found["text"]) for found in BLOCK.finditer(text)]


def calls(text):
    """(verb, the words after it) of every command line of a page, in blocks and in `code`."""
    code = [body for _, language, body in blocks(text) if language in ("", "sh", "bash", "console")]
    code += INLINE.findall(BLOCK.sub("", text))
    return [(verb, words) for each in code for verb, words in CALL.findall(each)]
