"""The answers that new users got, and the better ones: every row of answers.py on the command line."""
import json
import os
import re
import shutil
import subprocess
import time
import unittest

import answers
import mistakes
from house import PANTOUM, House

SLOWEST = 20  # seconds, on a machine that does other things


class Answers(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        mistakes.make_folder(cls.folder)
        answers.make_answers(cls.folder)
        shutil.copytree(cls.folder, cls.folder + "/kept", ignore=shutil.ignore_patterns("many"))

    def test_each_holds_the_facts_in_plain_words(self):
        for number, words, code, said, unsaid in answers.ANSWERS:
            with self.subTest(number=number, words=words):
                begun = time.monotonic()
                found, text = answers.told(self.folder, words)
                self.assertLess(time.monotonic() - begun, SLOWEST)
                self.assertEqual(found, code, text)
                for each in said:
                    self.assertRegex(text, re.compile(each, re.MULTILINE))
                for each in unsaid:
                    self.assertNotRegex(text, re.compile(each, re.MULTILINE))

    def test_a_pipe_that_is_closed_is_silence(self):  # 7
        for words in ("inspect net.onnx", "operators", "--help", "devices", f"plan net.onnx {answers.QUICK} --ram 4MiB"):
            with self.subTest(words=words):
                read, write = os.pipe()
                os.close(read)
                done = subprocess.run([PANTOUM, *words.split()], cwd=self.folder, stdout=write, stderr=subprocess.PIPE, text=True, timeout=60)
                os.close(write)
                self.assertNotIn("error", done.stderr)
                self.assertNotIn("Broken pipe", done.stderr)

    def test_a_budget_that_is_told_as_the_least_is_enough(self):  # 10
        for ram in ("100KiB", "0.1MiB", "200kB", "4096B"):
            _, text = answers.told(self.folder, f"plan net.onnx {answers.QUICK} --ram {ram}")
            number, unit = re.search(r"the least known is ([0-9.]+) (\w+)", text).groups()
            code, text = answers.told(self.folder, f"plan net.onnx {answers.QUICK} --ram {number}{unit}")
            self.assertEqual(code, 0, text)

    def test_no_plan_of_another_run_is_moved(self):  # 32
        folder = self.path("kept")
        for _ in range(2):
            code, text = answers.told(folder, f"{answers.TRAIN} --data images")
            self.assertEqual((code, "previous" in text), (0, False), text)
        self.assertIn("out.safetensors.plan.json", os.listdir(folder))
        self.assertEqual([name for name in os.listdir(folder) if name.endswith(".plan.json.previous") or name == "plan.json.previous"], [])

    def test_a_share_that_is_held_out_is_the_same_for_eval(self):  # 31
        words = f"{answers.TRAIN} --data column --val-split 0.25"
        self.assertEqual(answers.told(self.folder, words)[0], 0)
        for split, samples in (("train", 24), ("test", 8)):
            code, text = answers.told(self.folder, f"eval net.onnx --weights out.safetensors --data column --val-split 0.25 --split {split} --batch 8 --format json")
            self.assertEqual(code, 0, text)
            self.assertEqual(json.loads(text[text.index("{"):])["samples"], samples)

    def test_the_list_is_whole(self):
        numbers = {row[0] for row in answers.ANSWERS} | {7}
        python_alone = {5, 14, 15, 16, 17, 18, 19, 23, 24, 25, 34}  # python/tests/test_answers.py
        self.assertEqual(numbers | python_alone | {1}, set(range(35)))


if __name__ == "__main__":
    unittest.main()
