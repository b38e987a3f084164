"""What `cmake --install` makes, moved to another folder: whoever finds it there builds and runs with it.

The build is that of PANTOUM. Out-of-tree projects (tests/install/project, examples/c) are built against the moved tree, by find_package and by
pkg-config, with the shared and the static libraries.
"""
import functools
import glob
import gzip
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.join(ROOT, "tests", "install")
sys.path[:0] = [os.path.join(ROOT, "tests", "docs"), os.path.join(ROOT, "tests", "e2e")]
import house  # noqa: E402
import pages  # noqa: E402
PANTOUM = os.environ.get("PANTOUM", os.path.join(ROOT, "build", "release", "bin", "pantoum"))
BUILD = os.path.dirname(os.path.dirname(os.path.abspath(PANTOUM)))
MODEL = os.path.join(ROOT, "examples", "c", "spirals.onnx")
CMAKE = "/usr/bin/cmake"
LIBRARIES = ("pantoum_rt", "pantoum_train", "pantoum")
INSTALLED = tempfile.TemporaryDirectory(prefix="pantoum-installed-")


def run(*words, expect=0, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **options)
    if expect is not None and done.returncode != expect:
        raise AssertionError(f"{' '.join(map(str, words))}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done


def cached(name):
    with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as cache:
        return re.search(rf"^{name}:\w+=(.*)$", cache.read(), re.M)[1]


@functools.cache
def installed():
    """The prefix that was named, the moved tree, and a plan and its weights, which the moved program made."""
    names = ("first", os.path.join("moved", "to here"), "step.bin", "first.safetensors")  # a space, as folders of users have
    first, prefix, plan, weights = (os.path.join(INSTALLED.name, name) for name in names)
    run(CMAKE, "--install", BUILD, "--prefix", first)
    os.makedirs(os.path.dirname(prefix))
    os.rename(first, prefix)
    run(os.path.join(prefix, "bin", "pantoum"), "plan", MODEL, "--ram", "256KiB", "--batch", 8, "--kernels", "portable", "--measure", "off", "--binary-out", plan,
        "--weights-out", weights)
    return first, prefix, plan, weights


class Installed(unittest.TestCase):
    """All tests read one installed tree; what they make lies in a folder of each class."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="pantoum-install-")
        cls.first, cls.prefix, cls.plan, cls.weights = installed()
        cls.libraries = os.path.join(cls.prefix, cached("CMAKE_INSTALL_LIBDIR"))
        cls.program = os.path.join(cls.prefix, "bin", "pantoum")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    def files(self, folder=None):
        folder = folder or self.prefix
        return sorted(os.path.relpath(os.path.join(base, name), folder) for base, _, names in os.walk(folder) for name in names)

    def check_uses(self, folder, environment=None):
        """The programs that were built in the folder do what they say."""
        for name, words, said in (("use_rt", (self.plan,), r"^0 \d+\n$"), ("use_train", (self.plan, self.weights), r"^\d\.\d+ portable\n$"), ("use_pantoum", (), r"^\d+\.\d+\.\d+ 0\.00\d+\n$")):
            program = os.path.join(folder, name)
            if os.path.exists(program):
                self.assertRegex(run(program, *words, env=environment).stdout, said)


class Tree(Installed):
    """The files."""

    def test_headers_are_the_public_ones_and_stand_alone(self):
        headers = [name for name in self.files() if name.startswith("include/")]
        self.assertIn("include/pantoum/train.h", headers)
        self.assertNotIn("include/pantoum/result.h", headers)
        for name in headers:
            self.assertRegex(name, r"^include/pantoum/\w+\.(h|hpp)$")
            with open(os.path.join(self.prefix, name), encoding="utf-8") as file:
                outer = set(re.findall(r'^\s*#\s*include\s+[<"](\w+)/', file.read(), re.M)) - {"sys"}
            self.assertLessEqual(outer, {"pantoum"}, f"{name} needs headers of other libraries")
            words = ("gcc", "-x", "c", "-std=c99") if name.endswith(".h") else ("g++", "-x", "c++", "-std=c++20")
            run(*words, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", os.path.join(self.prefix, "include"), "-include", os.path.join(self.prefix, name), "/dev/null")
            if name.endswith(".h"):
                run("g++", "-x", "c++", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", os.path.join(self.prefix, "include"), os.path.join(self.prefix, name))

    def test_everything_is_there(self):
        files = self.files()
        wanted = ["bin/pantoum", "share/pantoum/devices/host.toml", "share/pantoum/schema/plan-2.schema.json", "share/doc/pantoum/LICENSE",
                  "share/doc/pantoum/docs/install.md", "share/doc/pantoum/examples/c/spirals.c"]
        place = os.path.relpath(self.libraries, self.prefix)
        wanted += [f"{place}/{name}" for name in ("cmake/pantoum/pantoum-config.cmake", "cmake/pantoum/pantoum-config-version.cmake", "pkgconfig/pantoum.pc",
                                                  "pkgconfig/pantoum-rt.pc", "pkgconfig/pantoum-train.pc")]
        for library in LIBRARIES:
            wanted += [f"{place}/lib{library}.a", f"{place}/lib{library}.so"]
        if os.path.exists(os.path.join(BUILD, "lib", "pantoum", "pantoum_onednn.so")):
            wanted.append(f"{place}/pantoum/pantoum_onednn.so")
        self.assertEqual([name for name in wanted if name not in files], [])

    def test_verbs_have_man_pages_and_shells_completions(self):
        if run(PANTOUM, "completion", "bash", expect=None).returncode != 0:
            self.skipTest("this program makes no completions")
        files = self.files()
        for name in ("share/man/man1/pantoum.1", "share/man/man1/pantoum-train.1", "share/bash-completion/completions/pantoum",
                     "share/zsh/vendor-completions/_pantoum", "share/fish/vendor_completions.d/pantoum.fish"):
            self.assertIn(name, files)

    def test_no_file_names_the_folders_of_the_build(self):
        """Debug information apart, of which a release has none; examples and docs included."""
        faults = []
        for name in self.files():
            with open(os.path.join(self.prefix, name), "rb") as file:
                contents = file.read()
            faults += [f"{name} names {folder}" for folder in (ROOT, BUILD, self.first) if folder.encode() in contents]
        self.assertEqual(faults, [])

    def test_nothing_has_a_run_path(self):
        for name in self.files():
            path = os.path.join(self.prefix, name)
            with open(path, "rb") as file:
                is_program = file.read(4) == b"\x7fELF"
            if is_program:
                self.assertNotRegex(run("readelf", "-d", path).stdout, "RUNPATH|RPATH", name)

    def test_components_and_destdir(self):
        """What is only run has no headers; DESTDIR stands before everything."""
        staged = self.path("staged")
        run(CMAKE, "--install", BUILD, "--prefix", "/opt/pantoum", "--component", "Runtime", env={**os.environ, "DESTDIR": staged})
        files = self.files(os.path.join(staged, "opt", "pantoum"))
        self.assertIn("bin/pantoum", files)
        self.assertEqual([name for name in files if name.startswith("include/") or name.endswith(".a") or "/cmake/" in name], [])


class Names(Installed):
    """What the shared libraries show: the lists of tests/install/abi. A name that goes is a new major version; a name that comes, or an
    intended change, is taken in with UPDATE_ABI=1."""

    def test_shared_libraries_show_their_interface_alone(self):
        for library in LIBRARIES:
            listing = run("nm", "-D", "--defined-only", os.path.join(self.libraries, f"lib{library}.so")).stdout
            shown = "".join(sorted(line.split(" ", 1)[1] + "\n" for line in listing.splitlines()))
            path = os.path.join(HERE, "abi", f"lib{library}.txt")
            if os.environ.get("UPDATE_ABI"):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(shown)
            with open(path, encoding="utf-8") as file:
                self.assertEqual(shown, file.read(), f"{library}: UPDATE_ABI=1 takes the change in")

    def test_no_name_of_another_library_is_shown(self):
        for library in LIBRARIES:
            names = run("nm", "-DC", "--defined-only", os.path.join(self.libraries, f"lib{library}.so")).stdout
            self.assertNotRegex(names, r"(?m)^\S+ \w (std|fmt|nlohmann|google|onnx|toml|tl)::")

    def test_a_device_s_library_needs_libc_and_libm_alone(self):
        needed = set(re.findall(r"NEEDED\)\s+Shared library: \[(\w+)", run("readelf", "-d", os.path.join(self.libraries, "libpantoum_rt.so")).stdout))
        self.assertLessEqual(needed, {"libc", "libm"})

    def test_the_trainer_has_no_compiler_in_it(self):
        needed = run("readelf", "-d", os.path.join(self.libraries, "libpantoum_train.so")).stdout
        self.assertNotRegex(needed, "protobuf|onnx|Clp|Cbc|sqlite|toml")


class Program(Installed):
    """The moved program and its back end."""

    def test_it_says_its_version(self):
        self.assertIn(cached("CMAKE_PROJECT_VERSION"), run(self.program, "--version").stdout)

    def plan_with_fast_kernels(self, program, **environment):
        return run(program, "plan", MODEL, "--ram", "256KiB", "--batch", 8, "--kernels", "onednn", "--measure", "off", expect=None,
                   env={**os.environ, **environment})

    def test_the_back_end_is_found_beside_it(self):
        if not os.path.exists(os.path.join(self.libraries, "pantoum", "pantoum_onednn.so")):
            self.skipTest("this build has no oneDNN")
        self.assertEqual(self.plan_with_fast_kernels(self.program).returncode, 0)

    def test_a_program_copied_out_of_the_build_finds_the_build_s(self):
        if not os.path.exists(os.path.join(BUILD, "lib", "pantoum", "pantoum_onednn.so")):
            self.skipTest("this build has no oneDNN")
        copied = self.path("copied")
        run("cp", PANTOUM, copied)
        self.assertEqual(self.plan_with_fast_kernels(copied).returncode, 0)

    def test_a_back_end_that_is_not_found_is_told_with_where_was_looked(self):
        if not os.path.exists(os.path.join(BUILD, "lib", "pantoum", "pantoum_onednn.so")):
            self.skipTest("this build has no oneDNN")
        nowhere = self.path("nowhere")
        refused = self.plan_with_fast_kernels(self.program, PANTOUM_BACKENDS=nowhere)
        self.assertEqual(refused.returncode, 4)
        self.assertIn(nowhere, refused.stderr)
        going_on = run(self.program, "plan", MODEL, "--ram", "256KiB", "--batch", 8, "--measure", "off", env={**os.environ, "PANTOUM_BACKENDS": nowhere})
        self.assertIn(nowhere, going_on.stderr)
        self.assertIn("the portable kernels alone", going_on.stderr)

    def test_a_back_end_of_another_version_is_not_opened(self):
        folder, source = self.path("other"), self.path("other.c")
        os.makedirs(folder)
        with open(source, "w", encoding="utf-8") as file:
            file.write('const char* pt_back_end_version(void) { return "0.0.9"; }\nvoid* pt_back_end_open(int threads) { (void)threads; return 0; }\n')
        run("gcc", "-shared", "-fPIC", "-o", os.path.join(folder, "pantoum_onednn.so"), source)
        refused = self.plan_with_fast_kernels(self.program, PANTOUM_BACKENDS=f"{self.path('nowhere')}:{folder}")
        self.assertEqual(refused.returncode, 4)
        self.assertIn("another version", refused.stderr)


class CMakePackage(Installed):
    def configure(self, name, *more, source=os.path.join(HERE, "project"), expect=0):
        folder = self.path(name)
        return folder, run(CMAKE, "-S", source, "-B", folder, f"-DCMAKE_PREFIX_PATH={self.prefix}", *more, expect=expect)

    def build(self, name, *more, **options):
        folder, _ = self.configure(name, *more, **options)
        run(CMAKE, "--build", folder)
        return folder

    def wanted(self):
        has_cxx = os.path.exists(os.path.join(self.prefix, "include", "pantoum", "pantoum.hpp"))
        return "rt;train;pantoum" if has_cxx else "rt;train"

    def test_a_project_of_c_links_shared_and_static_libraries(self):
        for kind in ("shared", "static"):
            with self.subTest(kind=kind):
                folder = self.build(f"c-{kind}", "-DLANGUAGES=C", "-DWANTED=rt;train", f"-DKIND={kind}")
                self.check_uses(folder)
                needs = run("readelf", "-d", os.path.join(folder, "use_train")).stdout
                self.assertEqual("libpantoum" in needs, kind == "shared")

    def test_a_project_of_cxx_links_shared_and_static_libraries(self):
        for kind in ("shared", "static"):
            with self.subTest(kind=kind):
                self.check_uses(self.build(f"cxx-{kind}", "-DLANGUAGES=C;CXX", f"-DWANTED={self.wanted()}", f"-DKIND={kind}"))

    def test_a_variable_chooses_static_libraries_too(self):
        folder = self.build("variable", "-DLANGUAGES=C", "-DWANTED=rt", "-DPANTOUM_STATIC=ON")
        self.assertNotIn("libpantoum", run("readelf", "-d", os.path.join(folder, "use_rt")).stdout)

    def test_what_is_not_there_is_told(self):
        _, other = self.configure("component", "-DLANGUAGES=C", "-DWANTED=trainer", expect=1)
        self.assertIn("pantoum has no component 'trainer'", other.stderr)
        project = self.path("later")
        os.makedirs(project)
        for version, expect in (("0.1", 0), ("0.1.0", 0), ("0.2", 1), ("1.0", 1), ("0.0", 1)):
            with open(os.path.join(project, "CMakeLists.txt"), "w", encoding="utf-8") as file:
                file.write(f"cmake_minimum_required(VERSION 3.16)\nproject(later LANGUAGES C)\nfind_package(pantoum {version} REQUIRED)\n")
            self.configure("later-build", source=project, expect=expect)

    def test_a_static_library_without_what_it_needs_is_told_of(self):
        absent = ("-DLANGUAGES=C", "-DWANTED=train", "-DKIND=static", "-DPANTOUM_LIBRARY_sodium=NOTFOUND", "-DCMAKE_FIND_LIBRARY_PREFIXES=none")
        _, said = self.configure("absent", *absent, expect=1)
        self.assertRegex(" ".join(said.stderr.split()), r"pantoum::train: its static library needs the libraries .*sodium")

    def test_the_example_in_c_learns(self):
        folder = self.build("spirals", source=os.path.join(self.prefix, "share", "doc", "pantoum", "examples", "c"))
        said = run(os.path.join(folder, "spirals"), "step.bin", "first.safetensors", 3000, "trained.safetensors", cwd=folder).stdout
        self.assertGreater(float(re.search(r"accuracy (\S+)", said)[1]), 0.95)
        self.assertTrue(os.path.exists(os.path.join(folder, "trained.safetensors")))
        again = run(os.path.join(folder, "spirals"), "step.bin", "trained.safetensors", 0, cwd=folder).stdout
        told = run(os.path.join(folder, "rings"), os.path.join(self.prefix, "share", "doc", "pantoum", "examples", "c", "rings.ini"), "12KiB", "rings.onnx", cwd=folder).stdout
        self.assertGreater(float(re.search(r"([\d.]+)% of 512 points", told)[1]), 95)
        self.assertTrue(os.path.exists(os.path.join(folder, "rings.onnx")))
        self.assertEqual(said.splitlines()[-1], again.splitlines()[-1])  # what was saved is what was trained


    def part_of(self, fashion, **counts):
        """A folder of the first samples."""
        part = self.path("part")
        os.makedirs(part)
        for split, count in counts.items():
            for name, dims in ((f"{split}-images-idx3-ubyte", (count, 28, 28)), (f"{split}-labels-idx1-ubyte", (count,))):
                with gzip.open(os.path.join(fashion, f"{name}.gz")) as file:
                    file.read(4 + 4 * len(dims))
                    house.idx(os.path.join(part, name), dims, file.read(math.prod(dims)))
        return part

    def test_the_examples_in_cxx_learn(self):
        folder = self.build("cpp", "-DCMAKE_BUILD_TYPE=Release", source=os.path.join(self.prefix, "share", "doc", "pantoum", "examples", "cpp"))
        first, last = re.search(r"loss (\S+) -> (\S+) in", run(os.path.join(folder, "custom_operator")).stdout).groups()
        self.assertLess(float(last), 0.5 * float(first))
        fashion = "/usr/share/datasets/fashion-mnist"
        if not os.path.isdir(fashion):
            self.skipTest("Fashion-MNIST is not installed (dataset-fashion-mnist)")
        part = self.part_of(fashion, train=20000, t10k=2000)
        said = re.search(r"peak (\d+) of (\d+) bytes, accuracy (\S+)", run(os.path.join(folder, "lenet"), part, 2, cwd=folder).stdout)
        self.assertLessEqual(int(said[1]), int(said[2]))
        self.assertEqual(int(said[2]), 2 << 20)
        self.assertGreater(float(said[3]), 0.7)
        self.assertTrue(os.path.exists(os.path.join(folder, "lenet.safetensors")))

    def test_the_program_of_the_pages_trains(self):
        """docs/install.md has the project, docs/cpp-library.md the program: no line of theirs is changed."""
        begin, project = time.monotonic(), self.path("mine")
        os.makedirs(project)
        (build_file,) = [code for _, language, code in pages.blocks(pages.read("docs/install.md")) if language == "cmake"]
        program = next(code for _, language, code in pages.blocks(pages.read("docs/cpp-library.md")) if language == "cpp")
        for name, text in (("CMakeLists.txt", build_file),
                           ("main.cc", "#include <iostream>\n#include <pantoum/pantoum.hpp>\nint main() {\n" + program + 'std::cout << summary.steps << "\\n";\n}\n')):
            with open(os.path.join(project, name), "w", encoding="utf-8") as file:
                file.write(text)
        folder = self.build("mine-build", source=project)
        shutil.copy(os.path.join(ROOT, "examples", "fashion", "cnn.onnx"), os.path.join(folder, "net.onnx"))
        house.make_data(os.path.join(folder, "data"), 256, 64)
        self.assertEqual(run(os.path.join(folder, "mine"), cwd=folder).stdout, "24\n")  # 3 epochs of 256 samples, 32 a step
        self.assertTrue(os.path.exists(os.path.join(folder, "trained.safetensors")))
        print(f"docs/install.md, docs/cpp-library.md: {time.monotonic() - begin:.1f} s", file=sys.stderr)

    def test_lenet_takes_25_lines(self):
        with open(os.path.join(ROOT, "examples", "cpp", "lenet.cpp"), encoding="utf-8") as file:
            lines = [line for line in file if line.strip() and not line.startswith("//")]
        self.assertLessEqual(len(lines), 25)


class PkgConfig(Installed):
    def flags(self, module, *words):
        environment = {**os.environ, "PKG_CONFIG_PATH": os.path.join(self.libraries, "pkgconfig")}
        return run("pkg-config", *words, module, env=environment).stdout

    def compile(self, source, program, flags):
        compiler = "g++ -std=c++20" if source.endswith(".cc") else "gcc -std=c99"
        run("bash", "-c", f"{compiler} '{os.path.join(HERE, 'project', source)}' -o '{program}' {flags}")

    def sources(self):
        found = {"pantoum-rt": "use_rt.c", "pantoum-train": "use_train.c", "pantoum": "use_pantoum.cc"}
        if not os.path.exists(os.path.join(self.prefix, "include", "pantoum", "pantoum.hpp")):
            del found["pantoum"]
        return found

    def test_modules_say_how_to_compile_and_link(self):
        folder = self.path("shared")
        os.makedirs(folder)
        for module, source in self.sources().items():
            self.compile(source, os.path.join(folder, os.path.splitext(source)[0]), self.flags(module, "--cflags", "--libs").strip())
        self.check_uses(folder, {**os.environ, "LD_LIBRARY_PATH": self.libraries})

    def test_static_libraries_link_with_what_they_need(self):
        folder = self.path("static")
        os.makedirs(folder)
        for module, source in self.sources().items():
            flags = self.flags(module, "--static", "--cflags", "--libs").strip()
            library = "pantoum" if module == "pantoum" else module.replace("-", "_")
            program = os.path.join(folder, os.path.splitext(source)[0])
            self.compile(source, program, re.sub(rf"-l{library}\b", f"-l:lib{library}.a", flags))
            self.assertNotIn("libpantoum", run("readelf", "-d", program).stdout)
        self.check_uses(folder)

    def test_versions_are_the_project_s(self):
        for path in glob.glob(os.path.join(self.libraries, "pkgconfig", "*.pc")):
            module = os.path.splitext(os.path.basename(path))[0]
            self.assertEqual(self.flags(module, "--modversion").strip(), cached("CMAKE_PROJECT_VERSION"))


if __name__ == "__main__":
    unittest.main()
