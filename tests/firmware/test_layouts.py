"""`emit --layout`: the folder of CMake is built and run here; Zephyr's module has the documented form, and its files are built where Zephyr reads them."""
import itertools
import os
import re
import shutil
import subprocess
import unittest

import workshop
from projects import Projects
from house import some

CMAKE = shutil.which("cmake", path="/usr/bin") or "cmake"
# docs.zephyrproject.org, "Modules", "Module yaml file description": the keys of each place.
MODULE = {"": {"name", "build", "samples", "tests", "security", "blobs", "package-managers", "runners"},
          "build": {"cmake", "kconfig", "cmake-ext", "kconfig-ext", "sysbuild-cmake", "sysbuild-kconfig", "depends", "settings"}}


def module_of(text):
    """The scalars, maps and lists of a YAML file of two levels."""
    made, place = {}, None
    for line in text.splitlines():
        key = re.fullmatch(r"([\w-]+):(?: (.+))?", line)
        inner, item = re.fullmatch(r"  ([\w-]+): (.+)", line), re.fullmatch(r"  - (.+)", line)
        if key:
            place, made[key.group(1)] = key.group(1), key.group(2)
        elif inner:
            made[place] = {**(made[place] or {}), inner.group(1): inner.group(2)}
        elif item:
            made[place] = [*(made[place] or []), item.group(1)]
        else:
            raise ValueError(line)
    return made


class Layouts(Projects):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.of_ram = cls().plan("layouts", "--batch", 4, "--ram", "64KiB", "--reserve", "8KiB")
        cls.of_storage = cls().plan("layouts-stored", "--batch", 4, "--ram", "64KiB", "--reserve", "8KiB", "--params-in", "aux")

    def tool(self, folder, *words, **more):
        alone = {name: word for name, word in os.environ.items() if not name.startswith("CMAKE_")}
        done = subprocess.run([str(word) for word in words], cwd=folder, env={**alone, **more}, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, f"{words}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def check_run(self, text):
        self.assertRegex(text, r"(?m)^step 12 loss ")
        right = re.search(r"(?m)^test right (\d+) of 8 ", text).group(1)
        self.assertIn(f"predicted {right} of 8 right\n", text)
        return re.search(r"(?m)^state (0x\w{8})$", text).group(1)

    def wanted(self, plan):
        folder, _ = self.emit(plan, f"make-{self._testMethodName}-{os.path.basename(plan)}", ("posix",), "--ram", "256KiB")
        done = self.make_run(folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return self.check_run(done.stdout)

    def test_a_cmake_project_is_built_and_learns_the_same(self):
        targets, plans = (("posix", "host"), ("cortex-m4f", "board")), ((self.of_ram, False), (self.of_storage, True))
        for (plan, storage), (target, preset) in some(itertools.product(plans, targets), 2):
            folder, _ = self.emit(plan, f"cmake-{target}-{storage}", (target,), "--ram", "256KiB", "--layout", "cmake")
            self.assertFalse(os.path.exists(os.path.join(folder, "Makefile")))
            self.tool(folder, CMAKE, "--preset", preset)
            self.tool(folder, CMAKE, "--build", "--preset", preset)
            self.assertEqual(self.check_run(self.tool(folder, CMAKE, "--build", "--preset", preset, "--target", "run")), self.wanted(plan))

    def test_another_cmake_project_takes_the_library(self):
        folder, _ = self.emit(self.of_ram, "library", ("posix",), "--ram", "256KiB", "--layout", "cmake")
        os.makedirs(self.path("user"))
        with open(self.path("user", "CMakeLists.txt"), "w", encoding="ascii") as file:
            file.write("cmake_minimum_required(VERSION 3.21)\nproject(user C)\nadd_subdirectory(../library model)\n"
                       "add_executable(user user.c ../library/board/posix.c ../library/board/fail_writes.c)\ntarget_link_libraries(user PRIVATE pantoum_model)\n")
        with open(self.path("user", "user.c"), "w", encoding="ascii") as file:
            file.write('#include <stdio.h>\n#include "model.h"\nint main(void) {\n  static pt_trainer trainer;\n  float loss = 0;\n'
                       "  const pt_samples samples = pt_samples_of(&pt_model_training);\n"
                       "  if (pt_trainer_open(&trainer, &pt_model_description, &pt_model_memory, NULL) != PT_OK) return 1;\n"
                       '  if (pt_trainer_step(&trainer, &samples, &loss) != PT_OK) return 2;\n  printf("loss %f\\n", loss);\n  return 0;\n}\n')
        self.tool(self.path("user"), CMAKE, "-B", "build", "-G", "Unix Makefiles")
        self.tool(self.path("user"), CMAKE, "--build", "build")
        self.assertRegex(self.tool(self.path("user"), "build/user"), r"^loss \d\.\d+\n$")

    def test_an_emission_again_leaves_the_users_main_alone(self):
        for layout, main in ("cmake", "src/main.c"), ("zephyr", "samples/train/src/main.c"):
            folder, _ = self.emit(self.of_ram, f"again-{layout}", ("cortex-m4f",), "--ram", "128KiB", "--layout", layout, stack="0B")
            with open(os.path.join(folder, main), "a", encoding="ascii") as file:
                file.write("/* mine */\n")
            _, sizes = self.emit(self.of_ram, f"again-{layout}", ("cortex-m4f",), "--ram", "128KiB", "--layout", layout, stack="0B")
            self.assertTrue(sizes["stack_calls"], "the stack is computed with the user's own file")
            with open(os.path.join(folder, main), encoding="ascii") as file:
                self.assertTrue(file.read().endswith("/* mine */\n"))

    def test_a_layout_that_run_firmware_cannot_build_is_told(self):
        folder, _ = self.emit(self.of_ram, "other", ("posix",), "--ram", "256KiB", "--layout", "cmake")
        told = self.run_cli("run-firmware", folder)
        self.assertIn("E0294", told.stderr)
        self.assertIn("--layout", told.stderr)
        told = self.run_cli("emit", self.of_ram, "--target", "posix", "--ram", "256KiB", "--layout", "zephyr", "-o", folder)
        self.assertIn("the folder holds a project of the layout cmake", told.stderr)

    def test_zephyrs_module_has_the_documented_form(self):
        folder, _ = self.emit(self.of_storage, "module", ("cortex-m4f",), "--ram", "128KiB", "--layout", "zephyr")

        def read(*names):
            with open(os.path.join(folder, *names), encoding="ascii") as file:
                return file.read()
        module = module_of(read("zephyr", "module.yml"))
        self.assertLessEqual(set(module), MODULE[""])
        self.assertLessEqual(set(module["build"]), MODULE["build"])
        self.assertRegex(module["name"], r"^[\w-]+$")
        self.assertTrue(os.path.isfile(os.path.join(folder, module["build"]["cmake"], "CMakeLists.txt")))  # beside the folder zephyr/, as the page says
        kconfig = read(module["build"]["kconfig"])
        symbols = re.findall(r"^config (\w+)$", kconfig, re.MULTILINE)
        for block in re.split(r"^config ", kconfig, flags=re.MULTILINE)[1:]:
            self.assertRegex(block, r'^\w+\n\t(bool|int) "[^"\n]+"\n')
        self.assertEqual(len(re.findall(r"^if ", kconfig, re.MULTILINE)), len(re.findall(r"^endif", kconfig, re.MULTILINE)))
        lists = read("CMakeLists.txt")
        self.assertEqual(set(re.findall(r"CONFIG_(PANTOUM_\w+)", lists + read("samples", "train", "prj.conf") + read("samples", "train", "CMakeLists.txt"))), set(symbols))
        for source in re.findall(r"\$\{CMAKE_CURRENT_SOURCE_DIR\}/(\S+?)\)?$", lists, re.MULTILINE):
            self.assertTrue(os.path.isfile(os.path.join(folder, source)), source)
        self.assertNotIn("startup_arm.c", lists)
        for line in read("samples", "train", "prj.conf").splitlines():
            self.assertRegex(line, r"^(#.*|CONFIG_\w+=(y|n|\d+))$")
        sample = read("samples", "train", "sample.yaml")
        self.assertRegex(sample, r"\Asample:\n  name: .+\n")
        self.assertRegex(sample, r"(?m)^tests:\n  sample\.[\w.]+: ")
        self.assertIn("find_package(Zephyr REQUIRED HINTS $ENV{ZEPHYR_BASE})\nproject(", read("samples", "train", "CMakeLists.txt"))
        self.assertIn("Not built here", read("README.md"))
        self.assertFalse(os.path.exists(os.path.join(folder, "Makefile")))

    def test_zephyrs_files_build_and_learn_where_zephyr_reads_them(self):
        """A stand-in for Zephyr's build system on this machine (tests/firmware/zephyr): the module's sources are whole, and the sample trains."""
        stand_in = os.path.join(workshop.ROOT, "tests", "firmware", "zephyr")
        for plan, name in (self.of_ram, "here"), (self.of_storage, "here-stored"):
            folder, _ = self.emit(plan, name, ("cortex-m4f",), "--ram", "128KiB", "--layout", "zephyr")
            sample = os.path.join(folder, "samples", "train")
            self.tool(sample, CMAKE, "-B", "build", "-G", "Unix Makefiles", f"-DZephyr_DIR={stand_in}", ZEPHYR_BASE=stand_in)
            self.tool(sample, CMAKE, "--build", "build")
            self.assertEqual(self.check_run(self.tool(sample, os.path.join("build", "zephyr_image"))), self.wanted(plan))


if __name__ == "__main__":
    unittest.main()
