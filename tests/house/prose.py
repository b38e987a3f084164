"""The parts of a file that a person reads: all of a page, the comments of a program. Standard library only.

Everything else becomes blanks, so that what is left keeps its line.
"""
import io
import re
import tokenize

C_TOKEN = re.compile(r"""
    (?P<raw> R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)" )
  | (?P<text> "(?:\\.|[^"\\\n])*" )
  | (?P<char> (?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])*' )
  | (?P<comment> //[^\n]* | /\*.*?\*/ )""", re.VERBOSE | re.DOTALL)
C_MARKS = re.compile(r"^\s*//+|^/\*+|\*/$|^\s*\*(?!/)", re.MULTILINE)
PAGE = re.compile(r"docs/[\w./-]+\.md")  # in a text that a program prints, a page is a reference too


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def keep(pattern, text):
    """`text` with everything blank but what the pattern matches."""
    kept, end = [], 0
    for match in pattern.finditer(text):
        kept += [blank(text[end:match.start()]), match.group()]
        end = match.end()
    return "".join(kept) + blank(text[end:])


def c_prose(text):
    kept, end = [], 0
    for match in C_TOKEN.finditer(text):
        kept.append(blank(text[end:match.start()]))
        if match.lastgroup == "comment":
            kept.append(C_MARKS.sub(lambda mark: blank(mark.group()), match.group()))
        else:
            kept.append(keep(PAGE, match.group()))
        end = match.end()
    return "".join(kept) + blank(text[end:])


def python_prose(text):
    """Comments and docstrings: a docstring is a string that begins a statement."""
    lines = text.splitlines(keepends=True)
    kept = [blank(line) for line in lines]
    begins = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and begins):
            (first, start), (last, stop) = token.start, token.end
            for line in range(first - 1, last):
                low = start if line == first - 1 else 0
                high = stop if line == last - 1 else len(lines[line].rstrip("\n"))
                kept[line] = kept[line][:low] + lines[line][low:high].replace("#", " ") + kept[line][high:]
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            begins = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)
    return "".join(kept)


def hash_prose(text):
    """Comments of make, CMake and shell."""
    return keep(re.compile(r"(?<![^\s;])#[^\n]*"), text).replace("#", " ")


def prose_of(path, text):
    if path.endswith(".md"):
        return text
    if path.endswith((".h", ".hpp", ".c", ".cc")):
        return c_prose(text)
    if path.endswith(".py"):
        return python_prose(text)
    return hash_prose(text)
