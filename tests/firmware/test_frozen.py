"""Frozen layers on a device: read from flash in place, and computed once for every sample."""
import json
import re
import subprocess
import unittest

import test_firmware

FROZEN = ("--freeze", "w0", "--freeze", "b0", "--freeze", "w1")


@unittest.skipIf(test_firmware.ABSENT, f"not on this machine: {test_firmware.ABSENT}")
class ReadInPlace(test_firmware.Projects):
    def test_frozen_weights_stay_in_flash(self):
        words = ("--batch", 2, "--reserve", "8KiB", "--momentum", "0.9", *FROZEN)
        told = {}
        for name, ram, rom in (("flash", "28KiB", ()), ("ram", "48KiB", ("--rom", "0B"))):
            folder, sizes = self.emit(self.plan(name, *words, "--ram", ram, *rom), name, ("cortex-m4f",))
            told[name] = self.run_equal(folder), sizes
        self.assertEqual(told["flash"][0]["state"], told["ram"][0]["state"])
        self.assertEqual(told["flash"][0]["test"], told["ram"][0]["test"])
        frozen = 4 * (8 * 9 + 8 + 8 * 8 * 9)
        self.assertEqual(told["flash"][1]["read_in_place_bytes"], frozen)
        self.assertEqual(told["flash"][1]["weight_bytes"], told["ram"][1]["weight_bytes"])
        self.assertEqual(told["ram"][1]["read_in_place_bytes"], 0)
        symbols = subprocess.run(["arm-none-eabi-nm", "-S", self.path("flash", "firmware.elf")], capture_output=True, text=True, check=True).stdout
        at, size = re.search(r"^(\S+) (\S+) [rt] rom$", symbols, re.MULTILINE).groups()
        self.assertEqual(int(size, 16), frozen)
        self.assertLess(int(at, 16), 0x20000000)

    def test_the_plan_needs_less_ram_by_just_these_bytes(self):
        def arena(*words):
            path = self.plan("roomy", "--batch", 2, "--ram", "1MiB", *FROZEN, *words)
            with open(path) as file:
                return json.load(file)["predicted"]["arena_bytes"]
        self.assertEqual(arena("--rom", "0B") - arena(), 4 * (8 * 9 + 8 + 8 * 8 * 9))


if __name__ == "__main__":
    unittest.main()
