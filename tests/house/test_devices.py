"""Every constant of every device profile says where it comes from, and how sure it is; the reader's words are this test's."""
import glob
import os
import re
import tomllib
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WORDS = {"name", "description", "source", "host", "sources"}  # no constants; nor are texts, but quantities with their units


def kinds():
    with open(os.path.join(ROOT, "src", "cost", "device.h")) as file:
        return re.findall(r'"(\w+)"', re.search(r"kSourceKinds\[\] = \{(.*?)\};", file.read(), re.S).group(1))


def is_constant(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) or isinstance(value, str) and re.fullmatch(r"[\d.]+ *[KMGT]?i?B", value)


def constants(table, path=""):
    """The keys of a profile's constants as `sources` names them."""
    for key, value in table.items():
        name = f"{path}{key}"
        if not path and key in WORDS:
            continue
        if name == "engine":
            for engine in value:
                yield from (field for field in constants(engine, f"engine.{engine['name']}.") if not field.endswith(".name"))
        elif name == "clock":
            for level in value:
                yield from (f"clock.{level['name']}.{field}" for field in level if field != "name")
        elif isinstance(value, dict):
            yield from constants(value, name + ".")
        elif isinstance(value, list):
            for number, entry in enumerate(value):
                yield from constants(entry, f"{name}[{number}].")
        elif is_constant(value):
            yield name


def faults(text, known):
    profile = tomllib.loads(text)
    sources = profile.get("sources", {})
    found = [f"no source for {name}" for name in constants(profile) if name not in sources]
    found += [f"{name}: '{source}' does not begin with one of {', '.join(known)}, and then say what" for name, source in sources.items()
              if not re.match(rf"(?:{'|'.join(known)}): \w.{{3}}", source)]
    return found


class Devices(unittest.TestCase):
    def test_every_constant_has_a_source(self):
        profiles = sorted(glob.glob(os.path.join(ROOT, "devices", "*.toml")))
        self.assertGreaterEqual(len(profiles), 12)
        for path in profiles:
            with open(path) as file:
                text = file.read()
            self.assertEqual(faults(text, kinds()), [], os.path.basename(path))
            self.assertGreaterEqual(len(list(constants(tomllib.loads(text)))), 5, path)

    def test_a_missing_or_vague_source_is_found(self):
        self.assertEqual(kinds(), ["published", "measured", "derived", "assumed"])
        text = 'ram = "1MiB"\n[compute]\nactive_w = 1\n[[compute.cache]]\nbytes = "1KiB"\n[[clock]]\nname = "a"\nactive_w = 2\n[[engine]]\nname = "g"\nidle_w = 3\n'
        self.assertEqual(faults(text, kinds()), ["no source for ram", "no source for compute.active_w", "no source for compute.cache[0].bytes",
                                                 "no source for clock.a.active_w", "no source for engine.g.idle_w"])
        self.assertEqual(len(faults('ram = "1MiB"\n[sources]\nram = "somewhere"\n', kinds())), 1)
        self.assertEqual(len(faults('ram = "1MiB"\n[sources]\nram = "measured: "\n', kinds())), 1)


if __name__ == "__main__":
    unittest.main()
