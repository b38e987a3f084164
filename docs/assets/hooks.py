"""Pages of the repository outside docs/, as parts of the site: what a page of docs/ links to is copied to repository/ in it.

A page becomes a page, any other file a text. A folder is its README (Home where it has none), docs/schema the page about formats. So every link of a page leads
somewhere in the built site, without a network, and `strict` finds one that does not. What the program itself says (its options, its operators) is appended to
the pages about it.
"""
import os
import posixpath
import re
import subprocess

from mkdocs.structure.files import File

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FENCE = re.compile(r"^( *)(```+|~~~+).*?^\1\2 *$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s#]+)(#[^)\s]*)?\)")
LIST = re.compile(r"(?m)^(?!\s|[*-] |\d+\. |#|>|\||$)(.+)\n(?=[*-] |\d+\. )")
PANTOUM = os.environ.get("PANTOUM", os.path.join(ROOT, "build", "release", "bin", "pantoum"))
MADE = {"cli.md": "reference", "operators.md": "operators"}  # pages of the site that end with what a verb of the program prints
FOLDERS = {"docs": "docs/index.md", "docs/schema": "docs/formats.md"}


def outside_fences(act, text):
    """`act` on the text between code blocks."""
    parts, end = [], 0
    for fence in FENCE.finditer(text):
        parts += [act(text[end:fence.start()]), fence.group()]
        end = fence.end()
    return "".join(parts) + act(text[end:])


def target_of(folder, link):
    """The file of the repository that a link of a page in `folder` means; None: a link to another host."""
    if "://" in link or link.startswith("mailto:"):
        return None
    path = posixpath.normpath(posixpath.join(folder, link))
    if os.path.isdir(os.path.join(ROOT, path)):
        path = FOLDERS.get(path, posixpath.join(path, "README.md"))
        if not os.path.exists(os.path.join(ROOT, path)):
            path = "docs/index.md"
    return path


def in_site(path):
    """Where a file of the repository is in the site's sources."""
    if path.startswith("docs/"):
        return path[len("docs/"):]
    return "repository/" + path + ("" if path.endswith((".md", ".svg", ".png")) else ".txt")


def in_repository(page):
    return page[len("repository/"):] if page.startswith("repository/") else "docs/" + page


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def links_of(path):
    """Files of the repository that a page links to and that exist."""
    found = []
    outside_fences(lambda text: found.extend(target_of(posixpath.dirname(path), link) for link, _ in LINK.findall(text)) or text, read(path))
    return [each for each in found if each and os.path.isfile(os.path.join(ROOT, each))]


def on_config(config):
    """The examples are a page of the how-to section, where they are."""
    if os.path.exists(os.path.join(ROOT, "examples", "README.md")):
        next(entry for entry in config.nav if "How-to" in entry)["How-to"].append({"Examples": "repository/examples/README.md"})
    return config


def on_files(files, config):
    waiting = [in_repository(file.src_uri) for file in files.documentation_pages()] + ["CHANGELOG.md"]
    seen = set(waiting)
    while waiting:
        path = waiting.pop()
        site = in_site(path)
        if files.get_file_from_path(site) is None:
            files.append(File.generated(config, site, abs_src_path=os.path.join(ROOT, path)))
        if path.endswith(".md"):
            new = set(links_of(path)) - seen
            seen |= new
            waiting += sorted(new)
    return files


def on_page_markdown(markdown, page, config, files):
    folder = posixpath.dirname(in_repository(page.file.src_uri))
    here = posixpath.dirname(page.file.src_uri)

    def site_link(match):
        path = target_of(folder, match.group(1))
        if path is None:
            return match.group()
        return f"]({posixpath.relpath(in_site(path), here or '.')}{match.group(2) or ''})"

    shown = outside_fences(lambda text: LIST.sub(r"\1\n\n", LINK.sub(site_link, text)), markdown)
    if page.file.src_uri == "formats.md":
        return shown + schemas()
    return shown + printed(MADE[page.file.src_uri]) if page.file.src_uri in MADE else shown


def printed(verb):
    """The tables that the built program prints, without the words before them; nothing where it is not built."""
    if not os.path.exists(PANTOUM):
        return ""
    text = subprocess.run([PANTOUM, verb], capture_output=True, text=True, check=True).stdout
    text = re.sub(r"\[([^\]]+)\]\(\.\./[^)]*\)", r"`\1`", text)  # files that no page in the repository names are not on the site
    return "\n" + text[re.search(r"^(\||## )", text, re.MULTILINE).start():]


def schemas():
    """What is in docs/schema, which GitHub shows as a folder."""
    names = sorted(os.listdir(os.path.join(ROOT, "docs", "schema")))
    return "\n\n" + "\n".join(f"* [{name}](schema/{name})" for name in names if name.endswith(".json")) + "\n"
