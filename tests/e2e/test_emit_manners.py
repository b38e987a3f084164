"""Where `emit` writes: nothing but its project, over nobody else's files, through no link, from any folder."""
import gzip
import os
import shutil
import subprocess
import unittest

from house import PANTOUM, House, make_data, onnx_model, onnx_node, onnx_tensor


def contents(folder):
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(place, name), "rb") as file:
                found[os.path.relpath(os.path.join(place, name), folder)] = file.read()
    return found


class EmitManners(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        data = make_data(os.path.join(cls.folder, "data"), 40, 16)
        for name in os.listdir(data):  # compressed data cannot be read in place
            path = os.path.join(data, name)
            with open(path, "rb") as file, gzip.open(path + ".gz", "wb") as packed:
                packed.write(file.read())
            os.remove(path)
        weight = onnx_tensor("w", (784, 10), [0.01 * (at % 7 - 3) for at in range(7840)])
        with open(os.path.join(cls.folder, "net.onnx"), "wb") as file:
            file.write(onnx_model([onnx_node("Flatten", ["x"], ["f"]), onnx_node("MatMul", ["f", "w"], ["y"])], ("N", 1, 28, 28), [weight]))
        subprocess.run([PANTOUM, "plan", os.path.join(cls.folder, "net.onnx"), "--device", "m4", "--batch", "2", "--ram", "1MiB", "--effort", "1", "-o",
                        os.path.join(cls.folder, "plan.json")], check=True, capture_output=True)

    def words(self, output, steps=2):
        return ("emit", self.path("plan.json"), "--target", "posix", "--data", self.path("data"), "--steps", steps, "--ram", "2MiB", "-o", output)

    def test_every_spelling_of_the_folder_gives_the_same_project_and_nothing_else(self):
        here, temporary = self.path("here"), self.path("temporary")
        os.makedirs(temporary)
        first = None
        for at, output in enumerate(("fw", "./fw/", "../here/fw", "a b/it's $(x)/fw", "-C", self.path("here", "fw"), self.path("here", "fw") + "//")):
            os.makedirs(here)
            self.succeed(*self.words(output if not output.startswith("-") else "./" + output), cwd=here, env={**os.environ, "TMPDIR": temporary})
            made = os.path.normpath(os.path.join(here, output))
            told = contents(made)
            first = first or told
            self.assertEqual(told, first, output)
            self.assertEqual(len(contents(here)), len(first), output)  # no cache beside it
            self.assertFalse(contents(temporary))
            self.assertFalse([name for name in told if ".cache" in name or ".part" in name])
            if at in (3, 4):  # in a folder with a quote, and in one that looks like an option
                self.succeed("run-firmware", made if at == 3 else "./-C", cwd="/" if at == 3 else here)
            shutil.rmtree(here)

    def test_others_files_are_left_alone(self):
        folder = self.path("theirs")
        os.makedirs(folder)
        with open(os.path.join(folder, "Makefile"), "w") as file:
            file.write("theirs")
        done = self.refuse(3, "E0294", *self.words(folder))
        self.assertIn("empty folder", done.stderr)
        self.assertEqual(contents(folder), {"Makefile": b"theirs"})

    def test_a_project_is_replaced_and_what_was_added_stays(self):
        folder = self.path("again")
        self.succeed(*self.words(folder))
        for name, text in (("main.c", "mine"), ("notes.txt", "mine"), ("board/own.c", "mine")):
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
        with open(os.path.join(folder, "Makefile"), "w") as file:
            file.write("half")
        self.succeed(*self.words(folder, 3))
        told = contents(folder)
        self.assertEqual([told[name] for name in ("main.c", "notes.txt", "board/own.c")], [b"mine"] * 3)
        self.assertIn(b"STEPS := 3", told["Makefile"])

    def test_a_binary_plan_of_another_format_is_told(self):
        folder = self.path("older")
        self.succeed(*self.words(folder))
        path = os.path.join(folder, "model", "plan.bin")
        for at, value, said in (4, 2, "has format 2, and this version reads format 3"), (7, 0x80, "has features that this version does not know"):
            with open(path, "rb") as file:
                plan = bytearray(file.read())
            with open(path, "wb") as file:
                file.write(plan[:at] + bytes([value]) + plan[at + 1:])
            done = self.refuse(3, "E0251", "run-firmware", folder)
            self.assertIn(said, done.stderr)
            self.assertIn("emit the project again", done.stderr)
            with open(path, "wb") as file:
                file.write(plan)
        self.succeed("run-firmware", folder)

    def test_no_link_is_followed(self):
        folder, elsewhere = self.path("linked"), self.path("elsewhere")
        self.succeed(*self.words(folder))
        os.makedirs(elsewhere)
        shutil.move(os.path.join(folder, "model"), elsewhere)
        os.symlink(os.path.join(elsewhere, "model"), os.path.join(folder, "model"))
        before = contents(elsewhere)
        self.refuse(9, "E0901", *self.words(folder, 5))
        self.assertEqual(contents(elsewhere), before)
        os.symlink(elsewhere, self.path("link"))
        for output in (self.path("link"), self.path("link") + "/"):
            self.refuse(9, "E0901", *self.words(output))
        self.assertEqual(contents(elsewhere), before)

    def test_a_file_that_is_a_link_is_replaced_itself(self):
        folder, target = self.path("file-link"), self.path("target")
        self.succeed(*self.words(folder))
        with open(target, "w") as file:
            file.write("theirs")
        for name in ("Makefile", "model/plan.bin", "model/contents.safetensors"):
            os.remove(os.path.join(folder, name))
            os.symlink(target, os.path.join(folder, name))
        self.succeed(*self.words(folder))
        with open(target) as file:
            self.assertEqual(file.read(), "theirs")
        self.assertFalse(os.path.islink(os.path.join(folder, "Makefile")))


if __name__ == "__main__":
    unittest.main()
