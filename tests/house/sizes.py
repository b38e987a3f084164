"""Reports what is long, what stands twice, and which headers most files include: `make sizes`. Nothing fails for its size: the style page's numbers are aims.
Tests and fixtures are not asked."""
import os

import functions
import rooms
import shapes

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LONG_FUNCTION, LONG_FILE, ALIKE, WIDE = 60, 800, 13, 60


def house():
    """{path: text} of src/ without tests and fixtures, and of include/."""
    found = {f"src/{path}": text for path, text in rooms.files_below(os.path.join(ROOT, "src")).items()}
    found |= {f"include/{path}": text for path, text in rooms.files_below(os.path.join(ROOT, "include")).items()}
    return {path: text for path, text in found.items() if not rooms.is_test(path) and not path.startswith("src/testing/")}


def long_functions(files):
    return [f"{path}:{line}: {lines} lines" for path, text in files.items() for line, lines in functions.functions_of(text) if lines > LONG_FUNCTION]


def long_files(files):
    return [f"{path}: {text.count(chr(10))} lines" for path, text in files.items() if text.count("\n") > LONG_FILE]


def places_alike(files):
    return [f"{one}:{at} and {other}:{again}: {lines} lines" for one, at, other, again, lines in shapes.repeated(files, ALIKE)]


def wide_headers():
    users = rooms.rebuilt_by(rooms.closures(rooms.files_below(os.path.join(ROOT, "src"))))
    wide = sorted(((len(sources), header) for header, sources in users.items() if len(sources) > WIDE), reverse=True)
    return [f"src/{header}: {count} files" for count, header in wide]


def main():
    files = house()
    lengths = sorted(lines for text in files.values() for _, lines in functions.functions_of(text))
    print(f"{len(files)} files, {len(lengths)} functions; median {lengths[len(lengths) // 2]} lines, 99 of 100 at most {lengths[int(0.99 * len(lengths))]}")
    for title, found in ((f"functions of more than {LONG_FUNCTION} lines", long_functions(files)), (f"files of more than {LONG_FILE} lines", long_files(files)),
                         (f"places of one shape, {ALIKE} lines or more", places_alike(files)), (f"headers that more than {WIDE} files include", wide_headers())):
        print(f"\n{title}: {len(found)}" + "".join(f"\n  {line}" for line in found))


if __name__ == "__main__":
    main()
