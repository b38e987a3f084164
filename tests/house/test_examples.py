"""Every example in a public header compiles, without a warning, as the language of that header; and it runs where it can.

An example begins after a line of a comment that ends with "Example:". It is the lines behind that are blank or indented by two columns
more than the comment's text. It stands at file scope, behind an #include of its own header. What a header takes beside that stands in
PREAMBLES, what runs its example in DRIVERS. Every public header of C has an example.
"""
import glob
import os
import re
import subprocess
import tempfile
import textwrap
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(ROOT, "include", "pantoum")

C = ("/usr/bin/gcc", "-x", "c", "-std=c99")
CXX = ("/usr/bin/g++", "-x", "c++", "-std=c++20")
STRICT = ("-Wall", "-Wextra", "-Werror", "-I", os.path.join(ROOT, "include"))

PREAMBLES = {"result.hpp": "#include <cstdlib>\n", "train.h": "#include <stdio.h>\n", "compile.h": "#include <stdio.h>\n"}

# A program around the example, and the libraries of the build that it is linked with.
DRIVERS = {
    "pantoum.h": ("""
        #include <stdlib.h>
        static void* allocate(size_t align, size_t bytes) { return align > 16 ? NULL : malloc(bytes); }
        int main(void) {
          static const char no_plan[64] = "not a plan";
          return train_once(no_plan, sizeof no_plan, allocate) == PT_E_PLAN ? 0 : 1;
        }""", ("libpantoum_rt.a",)),
    "train.h": ("""
        int main(void) { return train(NULL, NULL, 0, 0, 1) == 201 ? 0 : 1; }""", ("libpantoum_train.so",)),
    "compile.h": ("""
        int main(void) {
          pt_trainer* trainer = NULL;
          return open_trainer(&trainer, "no such file", "1KiB") == 201 ? 0 : 1;
        }""", ("libpantoum.so",)),
    "plugin.h": ("""
        static int add(const pt_plugin_host* host, const pt_plugin_operator* op) { return host->abi != PT_PLUGIN_ABI || op->size != sizeof *op; }
        int main(void) {
          const pt_plugin_host host = {.size = sizeof host, .abi = PT_PLUGIN_ABI, .add_operator = add};
          return pantoum_plugin_open(&host);
        }""", ()),
    "export.h": ("""
        int main(void) { return answer() == 42 ? 0 : 1; }""", ()),
    "ops.h": ("""
        #include <string.h>
        int main(void) { return strcmp(op_name(PT_OP_conv2d), "conv2d"); }""", ()),
    "result.hpp": ("""
        int main() {
          const auto whole = parse_batch("4"), none = parse_batch("-4");
          return whole && *whole == 4 && !none && none.error().code == "E0105" && !tell("-4").empty() && tell("4").empty() ? 0 : 1;
        }""", ("libpantoum.so",)),
    "pantoum.hpp": ("""
        int main() { return train("no such file", "").error().code == "E0201" ? 0 : 1; }""", ("libpantoum.so",)),
    "model_builder.hpp": ("""
        int main() { return small() ? 0 : 1; }""", ("libpantoum.so",)),
}


def comment_lines(text):
    """The lines of the comments, without their marks; None for a line of code."""
    lines, block = [], False
    for line in text.splitlines():
        if block or line.startswith("/*"):
            block = "*/" not in line
            lines.append(re.sub(r"^ ?/?\* ?|^ ?\*/|\s*\*/$", "", line))
        else:
            lines.append(line[3:] if line.startswith("// ") else "" if line == "//" else None)
    return lines


def examples_of(text):
    """The examples of a header; an empty one where "Example:" is followed by none."""
    examples, current = [], None
    for line in comment_lines(text):
        if current is not None and line is not None and (not line.strip() or line.startswith("  ")):
            current.append(line)
            continue
        if current is not None:
            examples.append(textwrap.dedent("\n".join(current)).strip())
            current = None
        if line is not None and line.endswith("Example:"):
            current = []
    return examples + ([textwrap.dedent("\n".join(current)).strip()] if current is not None else [])


def is_cxx(text):
    return "#pragma once" in text


def compile_example(name, text, example, driver="", more=("-fsyntax-only",)):
    """What the compiler says; "" where it takes the example."""
    source = f'#include "pantoum/{name}"\n{PREAMBLES.get(name, "")}{example}\n{textwrap.dedent(driver)}\n'
    words = [*(CXX if is_cxx(text) else C), *STRICT, "-", "-x", "none", *more]
    run = subprocess.run(words, input=source, capture_output=True, text=True, check=False)
    return "" if run.returncode == 0 else run.stderr or f"exit status {run.returncode}"


def faults_of(name, text):
    """What is wrong with a header's examples, as sentences."""
    examples = examples_of(text)
    if not examples:
        return [f"{name} has no example"]
    said = [compile_example(name, text, example) if example else f'"Example:" in {name} is followed by none' for example in examples]
    return [each for each in said if each]


def built(libraries):
    """These libraries, as paths, of BUILD; without it of the newest build that has them all. None: there is none."""
    folders = sorted(glob.glob(os.path.join(ROOT, "build", "*", "lib")), key=os.path.getmtime, reverse=True)
    for folder in [os.path.join(os.environ["BUILD"], "lib")] if "BUILD" in os.environ else folders:
        paths = [os.path.join(folder, library) for library in libraries]
        if all(os.path.exists(path) for path in paths):
            return paths
    return None if libraries else []


def public_headers():
    """Of C every one; of C++ those that say "Example:"."""
    for path in sorted(glob.glob(os.path.join(FOLDER, "*.h")) + glob.glob(os.path.join(FOLDER, "*.hpp"))):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if path.endswith(".h") or "Example:" in text:
            yield os.path.basename(path), text


class Finding(unittest.TestCase):
    """The test itself: what it finds, and that it finds what is broken."""

    def test_an_example_ends_where_the_indentation_does(self):
        text = "/* What it is. Example:\n *\n *   int one(void);\n *\n *     int two(void);\n *\n * More. */\nint three(void);\n"
        self.assertEqual(examples_of(text), ["int one(void);\n\n  int two(void);"])
        self.assertEqual(examples_of("// What it is. Example:\n//\n//   int one();\n\nint two();\n"), ["int one();"])

    def test_a_broken_example_is_a_fault(self):
        text = "/* Example:\n *\n *   pt_status status = pt_plan_open(1, 2;\n */\n"
        self.assertIn("error", faults_of("pantoum.h", text)[0])

    def test_a_call_with_too_few_operands_is_a_fault(self):
        text = "/* Example:\n *\n *   pt_status f(pt_plan* p) { return pt_plan_open(p); }\n */\n"
        self.assertIn("too few arguments", faults_of("pantoum.h", text)[0])

    def test_a_warning_is_a_fault(self):
        text = "#pragma once\n// Example:\n//\n//   int f() { int unused; return 1; }\n"
        self.assertIn("unused", faults_of("result.hpp", text)[0])

    def test_an_example_that_is_promised_and_not_there_is_a_fault(self):
        self.assertEqual(faults_of("pantoum.h", "/* Example: */\nint f(void);\n"), ['"Example:" in pantoum.h is followed by none'])

    def test_a_header_without_an_example_is_a_fault(self):
        self.assertEqual(faults_of("pantoum.h", "/* What it is. */\nint f(void);\n"), ["pantoum.h has no example"])


class Examples(unittest.TestCase):
    def test_every_one_compiles(self):
        for name, text in public_headers():
            with self.subTest(header=name):
                self.assertEqual(faults_of(name, text), [])

    def test_every_one_runs(self):
        for name, text in public_headers():
            driver, libraries = DRIVERS[name]
            paths = built(libraries)
            with self.subTest(header=name), tempfile.TemporaryDirectory() as folder:
                if paths is None:
                    self.skipTest(f"{' '.join(libraries)} is not built")
                program = os.path.join(folder, "example")
                runpaths = [f"-Wl,-rpath,{os.path.dirname(path)}" for path in paths if path.endswith(".so")]
                said = compile_example(name, text, "\n".join(examples_of(text)), driver, (*paths, *runpaths, "-lm", "-o", program))
                self.assertEqual(said, "")
                self.assertEqual(subprocess.run([program], check=False).returncode, 0)


if __name__ == "__main__":
    unittest.main()
