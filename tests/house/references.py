"""Finds the references in prose and comments that lead nowhere. Standard library only.

These are references:

* A link of a page. Its file must exist, and its #anchor must be a heading of that file, by GitHub's rule.
* A path: a word whose first folder is a folder of the repository (`tests/e2e`), or that ends as a source file or a page
  ends (`plan/solver.h`, `semantics.md`). The path may start at the root, in src/ or include/, in the folder of the file that
  names it, or in a folder above that one. A bare page must be there or below docs/; any other bare name must exist somewhere.
  `*`, `<family>` and NAME stand for any name, `{a,b}` for each name in it.
* A section, as in: semantics.md, "The plan".
* `make TARGET`, and a program `build/PRESET/bin/NAME`.
* In the README of a folder of src/ or tests/: the names at the beginning of a list item, and every `folder/`. Each is a file or a
  folder of that folder, or a name that its sources use. A `snake_case` name elsewhere in it is used by some source.

These are not:

* what begins with `/`, `~`, `$` or NAME/: it is on somebody else's machine, or in the user's folder;
* what .gitignore lists: it is built;
* what the sources include in <>: it belongs to other libraries;
* what src/emit, or the Python program itself, has as a string: it is written at run time;
* what another project owns, as in Pillow's src/Resample.c;
* ALLOWED, below.
"""
import collections
import functools
import os
import re
import shlex
import subprocess
import urllib.parse

from prose import blank, prose_of

Fault = collections.namedtuple("Fault", "path line what why")

# The planner's benchmark takes its reference questions and their tools from a folder that is not part of the repository.
ALLOWED = {"bench/planner.py": ("tools/run_reference.py", "tools/gen_costgraph.py"), "bench/planner_ask.py": ("check_plan.py",),
           "bench/planner_deadlines.py": ("check_plan.py",), "bench/planner_reference.py": ("tools/run_reference.py", "run_reference.py")}

READ = (".md", ".h", ".hpp", ".c", ".cc", ".py", ".txt", ".cmake", ".sh", ".toml", "Makefile")
SOURCE = (".md", ".h", ".hpp", ".c", ".cc", ".py", ".cmake", ".sh", "CMakeLists.txt")
BASES = ("", "src", "include")
TARGET = re.compile(r"^([\w-]+(?: [\w-]+)*):(?!=)", re.MULTILINE)
HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*$", re.MULTILINE)
FENCE = re.compile(r"^ *(```+|~~~+)[^\n]*\n(.*?)^ *\1", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"\]\(\s*<?([^\s()<>]+)>?(?:\s+\"[^\"]*\")?\s*\)|^\[[^\]]+\]:[ \t]+(\S+)", re.MULTILINE)
UNIT = r"(?:[\w*+-]|\.(?=[\w*<{/.])|<\w+>|\{[\w,]*\})"
WORD = re.compile(rf"(?<![\w$~@%.:/\\])/?{UNIT}+(?:/{UNIT}*)*")
OTHERS = re.compile(r"\b(?!Pantoum)[A-Z]\w*['’]s\s+$")
SECTION = re.compile(r"([\w./-]+\.md)`?(?:\]\([^)]*\))?(?:,\s+|['’]s\s+|\s+)(section\s+)?\"([^\"]{2,80})\"")
SECTION_OF = re.compile(r"\"([^\"]{2,80})\"\s+(?:in|of)\s+[`\[]*([\w./-]+\.md)")
MAKE = re.compile(r"(?<![\w-])make(?=\s)([^`]*)")
BARE_MAKE = re.compile(r"(?<![\w`-])make\s+(([a-z]+)-[a-z][a-z-]*)")
PROGRAM = re.compile(r"\bbuild/[\w<>$()-]+/bin/(\w+)")
ITEM = re.compile(r"(?:^[*-]|;)\s((?:`[^`\n]+`(?:, | and )?)+)", re.MULTILINE)
NAME = re.compile(r"(?<![A-Z])[A-Z]{2,}(?![a-z])")  # stands for any name


def tracked(root):
    """The files of git, those not yet added too; without git, all."""
    command = ["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        return sorted(path for path in set(listed.stdout.split("\0")) if path and os.path.exists(os.path.join(root, path)))
    found = []
    for folder, _, names in os.walk(root):
        found += [os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/") for name in names]
    return sorted(path for path in found if not path.startswith((".git/", "build/", "out/")))


def folders_above(path):
    """The folder of the file, then those that hold it; the root is ''."""
    folder = os.path.dirname(path)
    while folder:
        yield folder
        folder = os.path.dirname(folder)
    yield ""


def slug(heading):
    """The anchor that GitHub gives a heading."""
    heading = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def file_strings(text):
    """The strings of a program that are names of files, and their last names."""
    names = set(re.findall(r'"([\w./-]+\.(?:c|h|md|txt))"', text))
    return names | {os.path.basename(name) for name in names}


def spellings(word):
    """Two words, where a brace holds two names."""
    brace = re.search(r"\{([^{}]*)\}", word)
    if not brace:
        return [word]
    return [each for part in brace.group(1).split(",") for each in spellings(word[:brace.start()] + part + word[brace.end():])]


class Repository:
    def __init__(self, root):
        self.root = root
        self.files = tracked(root)
        self.folders = {folder for path in self.files for folder in folders_above(path)}
        self.known = set(self.files) | self.folders
        self.names = {os.path.basename(path) for path in self.files}
        self.capitals = {name for each in self.names for name in NAME.findall(each)}  # README and its like are no placeholders
        self.top = {path.split("/")[0] for path in self.files if "/" in path}
        self.built = {line.strip("/\n*") for line in self.text(".gitignore").splitlines() if line.startswith("/")}

    @functools.lru_cache(maxsize=None)
    def text(self, path):
        try:
            with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def texts(self, *endings, under=""):
        return [self.text(path) for path in self.files if path.endswith(endings) and path.startswith(under)]

    @functools.cached_property
    def foreign(self):
        """Headers of other libraries, as the sources include them."""
        names = {name for text in self.texts(".h", ".hpp", ".c", ".cc") for name in re.findall(r"^\s*#\s*include\s*<([^>]+)>", text, re.MULTILINE)}
        return names | {os.path.basename(name) for name in names}

    @functools.cached_property
    def emitted(self):
        """Files that src/emit has as strings: an emitted project contains them."""
        return {name for text in self.texts(".cc", under="src/emit/") for name in file_strings(text)}

    @functools.cached_property
    def targets(self):
        return {name for names in TARGET.findall(self.text("Makefile")) for name in names.split()}

    @functools.cached_property
    def programs(self):
        """Those that CMake builds: each add_executable, ROOM_STEM for the unit tests of a room, and the tests of tests/."""
        lists = "\n".join(self.texts("CMakeLists.txt", ".cmake"))
        named = set(re.findall(r"(?:add_executable|OUTPUT_NAME)\s*\(?\s*(\w+)", lists))
        rooms = set(re.findall(r"pantoum_(?:room|unit_test)\(\s*(\w+)", lists))
        tests = [path for path in self.files if path.endswith("_test.cc")]
        stems = {os.path.basename(path)[:-3] for path in tests}
        return named | {f"{room}_{stem}" for room in rooms for stem in stems} | {
            os.path.basename(path)[:-3] for path in tests if path.startswith("tests/")}

    @functools.lru_cache(maxsize=None)
    def exists(self, path):
        """A file or folder by its whole path."""
        return self.matches(path.rstrip("/"), self.known)

    @functools.lru_cache(maxsize=None)
    def named(self, name):
        """A file somewhere, by its last name."""
        return self.matches(name, self.names)

    def matches(self, word, names):
        """Is the word one of the names? `test_NAME.py`, `ops_<family>.cc` and `lower_*.cc` are when any name fits."""
        if word in names or word + ".in" in names:
            return True
        parts = re.split(r"(\*|<\w+>|" + NAME.pattern + ")", word)
        anything = [at % 2 == 1 and part not in self.capitals for at, part in enumerate(parts)]
        pattern = re.compile("".join("[^/]+" if any_name else re.escape(part) for part, any_name in zip(parts, anything)))
        return any(anything) and any(map(pattern.fullmatch, names))

    def anchors(self, page):
        """The anchors of a page, numbered where headings are alike."""
        found, seen = set(), collections.Counter()
        for heading in self.headings(page):
            anchor = slug(heading)
            found.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
            seen[anchor] += 1
        return found | set(re.findall(r"<a\s+(?:name|id)=\"([^\"]+)\"", self.text(page)))

    @functools.lru_cache(maxsize=None)
    def headings(self, page):
        return HEADING.findall(FENCE.sub(lambda match: blank(match.group()), self.text(page)))

    @functools.lru_cache(maxsize=None)
    def words_of(self, folder):
        """The names of what lies in a folder ("": the root), with and without endings, and all words of its programs."""
        inside = [path for path in self.files if path.startswith(folder + "/" if folder else "")]
        words = {part for path in inside for name in path[len(folder):].split("/") for part in (name, name.split(".")[0])}
        return words.union(*(self.words_in(path) for path in inside if path.endswith(READ) and not path.endswith(".md")))

    @functools.lru_cache(maxsize=None)
    def words_in(self, path):
        return frozenset(re.findall(r"\w+", self.text(path)))


class Page:
    """One file and its references. `prose`: what is read of it."""

    def __init__(self, repository, path):
        self.repository, self.path = repository, path
        self.is_page = path.endswith(".md")
        self.written = file_strings(repository.text(path)) if path.endswith(".py") else set()
        self.prose = re.sub(r"\b[a-z]+://[^\s)>\"`]+", lambda match: blank(match.group()), prose_of(path, repository.text(path)))

    def faults(self):
        rules = (self.links, self.paths, self.sections, self.make_targets, self.programs, self.items)
        return [Fault(self.path, self.prose.count("\n", 0, at) + 1, what, why) for rule in rules for at, what, why in rule()]

    # ---- links ------------------------------------------------------------------------------------

    def links(self):
        if not self.is_page:
            return
        text = SPAN.sub(lambda match: blank(match.group()), self.prose)  # code blocks too
        for match in LINK.finditer(text):
            target = urllib.parse.unquote(match.group(1) or match.group(2))
            path, _, anchor = target.partition("#")
            if ":" in path.split("/")[0]:
                continue
            page = os.path.normpath(os.path.join(os.path.dirname(self.path), path)) if path else self.path
            if page not in self.repository.known and page != ".":
                yield match.start(), target, "there is no such file"
            elif anchor and page.endswith(".md") and anchor not in self.repository.anchors(page):
                yield match.start(), target, "the page has no such heading"

    # ---- paths ------------------------------------------------------------------------------------

    def paths(self):
        text = LINK.sub(lambda match: blank(match.group()), self.prose) if self.is_page else self.prose
        text = re.sub(r"#include[^\n]*", lambda match: blank(match.group()), text)
        for match in WORD.finditer(text):
            word = match.group().rstrip("-+")
            quoted = text[match.start() - 1:match.start()] == "`" == text[match.end():match.end() + 1]
            if not self.is_reference(word, quoted) or OTHERS.search(text, max(0, match.start() - 60), match.start()):
                continue
            for spelling in spellings(word):
                if not self.leads_somewhere(spelling):
                    yield match.start(), spelling, "there is no such file"

    def is_reference(self, word, quoted=False):
        first = word.split("/")[0]
        if word.startswith("/") or first in self.repository.built or NAME.fullmatch(first) and "/" in word:
            return False
        if word in ALLOWED.get(self.path, ()):
            return False
        if word.endswith(SOURCE):
            return not os.path.basename(word).startswith((".", "*."))
        return "/" in word and (first in self.repository.top or quoted and "src/" + first in self.repository.folders)

    def leads_somewhere(self, word):
        repository = self.repository
        if word.startswith("."):
            return repository.exists(os.path.normpath(os.path.join(os.path.dirname(self.path), word)))
        if word in repository.foreign or word in repository.emitted or word in self.written:
            return True
        if "/" not in word and not word.endswith(".md"):
            return repository.named(word)
        bases = [*BASES, *folders_above(self.path)]
        if "/" not in word:
            bases = [*folders_above(self.path), *(folder for folder in repository.folders if (folder + "/").startswith("docs/"))]
        return any(repository.exists(f"{base}/{word}" if base else word) for base in bases)

    # ---- sections ---------------------------------------------------------------------------------

    def sections(self):
        for match in SECTION.finditer(self.prose):
            if match.group(2) or match.group(0)[len(match.group(1)):].lstrip("`")[:1] in (",", "'", "’", "]"):
                yield from self.section(match.start(), match.group(1), match.group(3))
        for match in SECTION_OF.finditer(self.prose):
            yield from self.section(match.start(), match.group(2), match.group(1))

    def section(self, at, name, heading):
        pages = [path for path in self.repository.files if path == name or path.endswith("/" + name)]
        wanted = re.sub(r"\s+", " ", heading).strip(" .,:").lower()
        headings = {re.sub(r"[`*]", "", each).strip(" .,:").lower() for page in pages for each in self.repository.headings(page)}
        if pages and wanted not in headings:
            yield at, f'{name}, "{heading}"', "the page has no such heading"

    # ---- commands ---------------------------------------------------------------------------------

    def make_targets(self):
        for at, words in self.make_commands():
            if "-C" in words or "-f" in words:
                continue
            for word in words:
                if re.fullmatch(r"[a-z][\w-]*", word) and word not in self.repository.targets:
                    yield at, f"make {word}", "the Makefile has no such target"

    def make_commands(self):
        """Where each command begins, and its words."""
        fences = [(match.start(2), match.group(2)) for match in FENCE.finditer(self.prose)] if self.is_page else []
        for start, text in fences:
            for match in re.finditer(r"^\s*(?:\$ )?make[ \t]+([^\n]*)", text, re.MULTILINE):
                yield start + match.start(), command_words(match.group(1))
        rest = FENCE.sub(lambda match: blank(match.group()), self.prose) if self.is_page else self.prose
        for span in SPAN.finditer(rest):
            for match in MAKE.finditer(span.group(2)):
                yield span.start(), command_words(match.group(1))
        for match in BARE_MAKE.finditer(rest):
            if any(target.split("-")[0] == match.group(2) for target in self.repository.targets):
                yield match.start(), [match.group(1)]
        if not self.is_page:
            for match in re.finditer(r"^ *make ([a-z][\w-]*)  ", rest, re.MULTILINE):
                yield match.start(), [match.group(1)]

    def programs(self):
        for match in PROGRAM.finditer(self.prose):
            if match.group(1) not in self.repository.programs and not NAME.fullmatch(match.group(1)):
                yield match.start(), match.group(), "CMake builds no such program"

    # ---- the README of a folder -------------------------------------------------------------------

    def items(self):
        folder = os.path.dirname(self.path)
        if os.path.basename(self.path) != "README.md" or folder.split("/")[0] not in ("src", "tests"):
            return
        here, anywhere = self.repository.words_of(folder), self.repository.words_of("")
        for match in ITEM.finditer(self.prose):
            for name in re.findall(r"`([a-z]\w*)`", match.group(1)):
                if name not in here:
                    yield match.start(), name, f"{folder} has nothing of that name"
        for match in re.finditer(r"`([a-z]+)/`", self.prose):
            if match.group(1) not in self.repository.top and f"{folder}/{match.group(1)}" not in self.repository.folders:
                yield match.start(), match.group(1) + "/", f"{folder} has no such folder"
        for match in re.finditer(r"`([a-z]+(?:_[a-z0-9]+)+)`", self.prose):
            if match.group(1) not in anywhere:
                yield match.start(), match.group(1), "no source has that name"


def command_words(text):
    """The words of a command line, without what follows a #."""
    try:
        return shlex.split(text, comments=True)
    except ValueError:
        return text.split("#")[0].split()


def faults_of(root):
    """Every reference of the repository that leads nowhere, by file and line."""
    repository = Repository(root)
    pages = [path for path in repository.files if path.endswith(READ) and "/testdata/" not in path]
    return sorted(fault for path in pages for fault in Page(repository, path).faults())
