"""The functions of a C or C++ file that clang-format has laid out, and their lengths in lines. Standard library only.

A function is a brace at the end of a line that closes a parameter list (const, noexcept, override, a trailing return type or an
initializer list may stand between), at the level of a namespace or a class. Its length is what stands between its braces; a body
on the line of its head has one line.
"""
import re

from prose import C_TOKEN, blank

HEAD_END = re.compile(r"(\)|\bconst|\bnoexcept|\boverride|\bfinal|->\s*[\w:<>,&* ]+|[\w:>]+\(.*\)|[\w:>]+\{.*\})\s*\{$")
SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b[^();=]*\{$")


def code_of(text):
    """The text with comments and strings blank."""
    kept, end = [], 0
    for match in C_TOKEN.finditer(text):
        kept += [text[end:match.start()], blank(match.group())]
        end = match.end()
    return "".join(kept) + text[end:]


def _without_preprocessor(code):
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda found: blank(found.group()), code, flags=re.M)


def functions_of(text):
    """[(line of the head, lines of the body)], lines counted from 1."""
    code = _without_preprocessor(code_of(text))
    found, scopes, head, line, head_line = [], [], "", 1, 1
    for part in re.split(r"([{};\n])", code):
        if part == "\n":
            line += 1
            head += " "
        elif part == "{":
            inside = any(kind == "function" for kind, _, _ in scopes)
            flat = re.sub(r"\s+", " ", head).strip() + "{"
            if inside or re.search(r"(=|\(|,|return)\s*\{$", flat):
                kind = "block"
            elif SCOPE.search(flat) and not re.search(r"\)\s*(const|noexcept|override)?\s*\{$", flat):
                kind = "scope"
            elif HEAD_END.search(flat) and "(" in flat:
                kind = "function"
            else:
                kind = "block"
            scopes.append((kind, head_line, line))
            if kind in ("scope", "function"):
                head, head_line = "", line
            else:
                head += "{"
        elif part == "}":
            if scopes:
                kind, begun, opened = scopes.pop()
                if kind == "function":
                    found.append((begun, max(1, line - opened - 1)))
                head = head + "}" if kind == "block" else ""
            head_line = line
        elif part == ";":
            if not any(kind == "block" for kind, _, _ in scopes) or any(kind == "function" for kind, _, _ in scopes):
                head, head_line = "", line
        else:
            if not head.strip() and part.strip():
                head_line = line
            head += part
    return sorted(found)
