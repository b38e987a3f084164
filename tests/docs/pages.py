"""The pages of a reader: their code blocks, their command lines, their figures. Standard library only.

Code blocks. A block behind `<!-- test: run -->` runs as it stands; behind `<!-- test: fails N -->` it ends with exit code N; behind `<!-- test: torch -->` or
`<!-- test: numpy -->` it runs where that package is. A block behind `<!-- test: prints -->` is what the last block that ran printed: every line of it stands
in that output, where `...` stands for any text and a number may differ by the share in `<!-- test: prints within 20% -->`.

Command lines. Words in capitals are placeholders: N, K, B and V are numbers, all others are names of files.

Figures. `<!-- holds: EXPRESSION -->` behind a paragraph or a table gives the source of its figures: an expression of Python that is true, over the functions of
test_figures.py. Every figure of the paragraph stands in an expression, or in a code block of the page.
"""
import glob
import os
import re
import shlex

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BLOCK = re.compile(r"(?:<!-- test: (?P<mark>[\w %]+) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`\n]+)`")
CALL = re.compile(r"(?:^ *(?:[$#] )?|[;&|] *|[$]\()(?:\w+=\S+ |sudo |time )*pantoum ([a-z][a-z-]*(?:\\\n|[^\n|;&#`])*)", re.MULTILINE)
NUMBERS = {"N", "K", "B", "V"}


def read(*names):
    with open(os.path.join(ROOT, *names), encoding="utf-8") as file:
        return file.read()


def pages():
    """README and docs/, by their paths from the root."""
    return ["README.md"] + sorted(os.path.relpath(path, ROOT) for path in glob.glob(os.path.join(ROOT, "docs", "**", "*.md"), recursive=True))


def every_page():
    """Those, and the pages beside code and examples."""
    beside = [path for folder in ("bench", "devices", "examples", "include", "packaging", "python", "src", "tests")
              for path in glob.glob(os.path.join(ROOT, folder, "**", "*.md"), recursive=True)]
    return pages() + ["CONTRIBUTING.md", "CHANGELOG.md"] + sorted(os.path.relpath(path, ROOT) for path in beside)


def blocks(text):
    """(mark, language, code) of every block; the mark is "" where there is none."""
    return [(found["mark"] or "", found["language"], found["text"]) for found in BLOCK.finditer(text)]


def words_of(line):
    """The words of a command line as a program gets them; redirections, `...` and what follows are left out, placeholders of numbers are 1."""
    line = re.split(r"\s(?:\d?>|\.\.\.)", line.replace("\\\n", " "))[0]
    try:
        return ["1" if word in NUMBERS else word for word in shlex.split(line)]
    except ValueError:  # a quotation mark alone
        return [line]


def calls(text):
    """The words behind `pantoum` of every command line in the code blocks of a page."""
    code = "\n".join(body for _, language, body in blocks(text) if language in ("", "sh", "bash", "console", "text"))
    return [words_of(line) for line in CALL.findall(code)]


def mentions(text):
    """What a page has in `code` outside of blocks: the words behind `pantoum`, and those of options that stand alone."""
    inline = INLINE.findall(BLOCK.sub("", text))
    return [words_of(each.removeprefix("pantoum ")) for each in inline if re.match(r"pantoum [a-z]|--[a-z]", each)]
