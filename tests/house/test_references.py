"""Every page, file, section and target that prose or a comment names is there (references.py says what counts).

Each kind of broken reference is first made in a small folder and must be found; only then is the repository itself read.
"""
import os
import tempfile
import unittest

import references
from prose import prose_of

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# A small repository without a fault.
SOUND = {
    ".gitignore": "/build/\n/out/\n",
    "Makefile": "# make run    trains\nrun: build\n\t@echo run\nbuild bench-all:\n\t@echo build\n",
    "README.md": "# House\n\n## The plan\n\n[semantics](docs/design/semantics.md#how-it-runs), `make run`, `plan/solver.h`.\n",
    "docs/design/semantics.md": "# What it means\n\n## How it runs\n\ntext\n\n## How it runs\n\n## `ops`, and more\n",
    "src/CMakeLists.txt": "pantoum_room(plan)\nadd_executable(tool main.cc)\n",
    "src/plan/README.md": "# plan\n\n* `solver` answers; `cut_rule` is a cut\n",
    "src/plan/solver.h": "#include <zlib.h>\n// As semantics.md says.\nint solver();\nint cut_rule();\n",
    "src/plan/solver_test.cc": "// See solver.h.\n",
    "src/emit/firmware.cc": 'const char* made = "model/weights.c";\n',
    "bench/run.py": '"""Writes table.md."""\nopen("table.md", "w")\n',
}


class Folder(unittest.TestCase):
    """Tests on a small folder: SOUND, with some files in place of its own."""

    def faults(self, files):
        """What is found in the folder with these files, as (path, line, what)."""
        with tempfile.TemporaryDirectory() as root:
            for path, text in {**SOUND, **files}.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            return [(fault.path, fault.line, fault.what) for fault in references.faults_of(root)]

    def found(self, path, text):
        """What is found in one file of this text, by line and then by name."""
        return [what for at, _, what in self.faults({path: text}) if at == path]


class BrokenReferences(Folder):
    def test_a_sound_folder_has_none(self):
        self.assertEqual(self.faults({}), [])

    def test_links(self):
        self.assertEqual(self.found("docs/a.md", "[x](design/gone.md) [y](../README.md)"), ["design/gone.md"])
        self.assertEqual(self.found("docs/a.md", "![figure](curve.svg)"), ["curve.svg"])
        self.assertEqual(self.found("docs/a.md", "[page]: gone.md\n"), ["gone.md"])
        self.assertEqual(self.found("docs/a.md", "[x](https://example.org/gone.md) `[x](gone.svg)`\n```\n[x](gone.svg)\n```\n"), [])

    def test_anchors(self):
        page = "design/semantics.md"
        self.assertEqual(self.found("docs/a.md", f"[x]({page}#how-it-ran)"), [f"{page}#how-it-ran"])
        self.assertEqual(self.found("docs/a.md", f"[x]({page}#how-it-runs) [y]({page}#how-it-runs-1) [z]({page}#ops-and-more)"), [])
        self.assertEqual(self.found("docs/a.md", f"[x]({page}#how-it-runs-2)"), [f"{page}#how-it-runs-2"])
        self.assertEqual(self.found("docs/a.md", "# Here\n\n[up](#here) [up](#there)"), ["#there"])

    def test_a_heading_inside_a_code_block_is_none(self):
        self.assertEqual(self.found("docs/a.md", "```\n# Here\n```\n[x](#here)"), ["#here"])

    def test_pages_in_comments(self):
        self.assertEqual(self.found("src/plan/cut.h", "// semantics.md has it.\n"), [])
        self.assertEqual(self.found("src/plan/cut.h", "// rules.md has it.\n"), ["rules.md"])
        self.assertEqual(self.found("src/plan/cut.h", "/* docs/rules.md */ int cut;\n"), ["docs/rules.md"])
        self.assertEqual(self.found("src/plan/cut.c", '/* x */ tell("docs/rules.md tells");\n'), ["docs/rules.md"])
        self.assertEqual(self.found("bench/cut.py", "# rules.md has it\n"), ["rules.md"])
        self.assertEqual(self.found("bench/cut.py", '"""As in rules.md."""\n'), ["rules.md"])
        self.assertEqual(self.found("bench/CMakeLists.txt", "# rules.md has it\n"), ["rules.md"])

    def test_a_page_must_be_near_or_below_docs(self):
        self.assertEqual(self.found("src/plan/cut.h", "// README.md and src/plan/README.md\n"), [])
        self.assertEqual(self.faults({"src/plan/rules.md": "", "bench/cut.py": "# rules.md\n"}), [("bench/cut.py", 1, "rules.md")])

    def test_paths(self):
        for word in ("plan/gone.h", "src/plan/gone", "tests/e2e/gone.py", "bench/gone.sh", "./gone.h", "../gone/solver.h"):
            self.assertEqual(self.found("src/plan/cut.h", f"// (see {word})\n"), [word])
            self.assertIn(word, self.found("docs/a.md", f"see `{word}`."))
        for word in ("plan/solver.h", "src/plan/solver.h", "src/plan", "solver.h", "bench/run.py", "./solver.h", "../plan/solver.h"):
            self.assertEqual(self.found("src/plan/cut.h", f"// (see {word}).\n"), [])

    def test_bare_names(self):
        self.assertEqual(self.found("bench/cut.py", "# solver.h, then removed.h\n"), ["removed.h"])
        self.assertEqual(self.found("docs/a.md", "`removed.py` and removed.cc"), ["removed.cc", "removed.py"])

    def test_placeholders(self):
        self.assertEqual(self.found("docs/a.md", "`src/plan/*_test.cc` `NAME_test.cc` `<room>/solver.h` `src/{plan,emit}/`"), [])
        self.assertEqual(self.found("docs/a.md", "`src/place/*_test.cc`"), ["src/place/*_test.cc"])
        self.assertEqual(self.found("docs/a.md", "`NAME_bench.cc`"), ["NAME_bench.cc"])
        self.assertEqual(self.found("docs/a.md", "`src/{plan,place}/`"), ["src/place/"])
        self.assertEqual(self.found("docs/a.md", "`docs/design/README.md`"), ["docs/design/README.md"])  # no placeholder

    def test_folders_of_the_house_in_code_spans(self):
        self.assertEqual(self.found("docs/a.md", "`plan/search` and plan/drop"), ["plan/search"])

    def test_sections(self):
        for text in ('semantics.md, "How it ran"', 'semantics.md, section "How it ran"', '"How it ran" of semantics.md',
                     'semantics.md\'s "How it ran"'):
            self.assertEqual(self.found("src/plan/cut.h", f"// {text}\n"), ['semantics.md, "How it ran"'])
            self.assertEqual(self.found("src/plan/cut.h", f"// {text}\n".replace("ran", "runs")), [])
        self.assertEqual(self.found("src/plan/cut.h", '// as semantics.md,\n// "How it\n// ran", says\n'),
                         ['semantics.md, "How it\n   ran"'])
        self.assertEqual(self.found("docs/a.md", '[semantics.md](design/semantics.md), "The plan"'), ['semantics.md, "The plan"'])

    def test_make_targets(self):
        self.assertEqual(self.found("docs/a.md", "`make gone` and make it so, or make bench-gone"), ["make bench-gone", "make gone"])
        self.assertEqual(self.found("docs/a.md", "```\nmake run gone # not this\n```\n"), ["make gone"])
        self.assertEqual(self.found("docs/a.md", "`taskset -c 0,1 make run BENCH='--only \"one run\"'`, `make -C firmware all`"), [])
        self.assertEqual(self.found("src/plan/cut.h", "// `make gone`\n"), ["make gone"])
        self.assertEqual(self.found("bench/cut.cmake", "# make gone   explains it\n"), ["make gone"])

    def test_programs(self):
        self.assertEqual(self.found("docs/a.md", "`build/release/bin/gone`"), ["build/release/bin/gone"])
        self.assertEqual(self.found("docs/a.md", "`build/release/bin/tool` `build/PRESET/bin/plan_solver_test` `build/release/bin/NAME`"), [])

    def test_lists_of_a_readme(self):
        self.assertEqual(self.found("src/plan/README.md", "* `gone` is not; `solver`, `away` are\n"), ["away", "gone"])
        self.assertEqual(self.found("src/plan/README.md", "the rule `no_such_rule`, below `inner/`; in src/plan\n"), ["inner/", "no_such_rule"])

    def test_the_line_is_told(self):
        self.assertEqual(self.faults({"src/plan/cut.h": 'int a;\n/* one\n * two: gone.h */\n'}), [("src/plan/cut.h", 3, "gone.h")])


class WhatIsNoReference(Folder):
    def test_names_of_others(self):
        self.assertEqual(self.found("src/plan/cut.h", '#include <zlib.h>\n#include "gone.h"\n// zlib.h needs it\n'), [])
        self.assertEqual(self.found("docs/a.md", "/usr/share/gone.h ~/gone.h out/gone.md build/gone.cc https://a.org/gone.h"), [])
        self.assertEqual(self.found("docs/a.md", "Pillow's src/Resample.c"), [])
        self.assertEqual(self.found("docs/a.md", "Pantoum's src/Resample.c"), ["src/Resample.c"])

    def test_files_of_users(self):
        self.assertEqual(self.found("docs/a.md", "`net.onnx` -> plan.json, curve.svg, DIR/table.md, FOLDER/, bytes/s"), [])

    def test_files_that_a_program_writes(self):
        self.assertEqual(self.found("docs/a.md", "`model/weights.c` beside `weights.c`"), [])
        self.assertEqual(self.found("bench/run.py", '"""Writes table.md, gone.md."""\nopen("table.md")\n'), ["gone.md"])

    def test_what_is_allowed_is_allowed_in_that_file_alone(self):
        for path, names in references.ALLOWED.items():
            text = "".join(f"# {name}\n" for name in names)
            self.assertEqual(self.found(path, text), [])
            self.assertEqual(self.found("bench/other.py", text), list(names))

    def test_code_and_its_strings(self):
        self.assertEqual(self.found("src/plan/cut.cc", 'open("gone.h"); auto raw = R"(// gone.h)"; int x = 1\'000; a.h(b.c);\n'), [])
        self.assertEqual(self.found("bench/cut.py", 'open("gone.py")\ntext = "# gone.py"\n'), [])


class Prose(unittest.TestCase):
    def test_lines_stay_where_they_are(self):
        text = 'int a; // one\nconst char* b = "// none"; /* two\n   three */ int c;\n'
        self.assertEqual([line.split() for line in prose_of("a.cc", text).splitlines()], [["one"], ["two"], ["three"]])

    def test_docstrings_and_comments_of_python(self):
        text = 'a = "none"  # one\ndef f():\n    """Two\n    three"""\n    return {"none": "none"}\n'
        self.assertEqual(prose_of("a.py", text).split(), ["one", '"""Two', 'three"""'])


class ThisRepository(unittest.TestCase):
    def test_it_has_pages_and_sources_to_read(self):
        repository = references.Repository(ROOT)
        self.assertGreater(len(repository.files), 500)
        self.assertLess({"run", "test", "build"}, repository.targets)
        self.assertIn("values_test", repository.programs)
        self.assertIn("how-an-instruction-stream-runs", repository.anchors("docs/design/semantics.md"))

    def test_what_is_allowed_is_still_said(self):
        repository = references.Repository(ROOT)
        for path, names in references.ALLOWED.items():
            for name in names:
                self.assertIn(name, repository.text(path), f"{path} is allowed to name it and does not")

    def test_every_reference_leads_somewhere(self):
        faults = [f"{fault.path}:{fault.line}: {fault.what}: {fault.why}" for fault in references.faults_of(ROOT)]
        if faults:
            self.fail(f"{len(faults)} references lead nowhere\n" + "\n".join(faults))


if __name__ == "__main__":
    unittest.main()
