"""What a benchmark asks, section after section, within so many minutes."""
import json
import os
import subprocess
import time

from ask import Refused
from table import Table


class Sections:
    """`until` (time.monotonic) is when the present section has had its share of the time. The file OUT/NAME.json is written after each."""

    def __init__(self, name, args):
        self.table, self.raw, self.quick = Table(args.only), {}, args.quick
        self.folder, self.file = os.path.join(args.out, name), os.path.join(args.out, name + ".json")
        self.end = time.monotonic() + 60 * args.minutes
        self.until = self.end
        os.makedirs(self.folder, exist_ok=True)

    def run(self, sections):
        """Each (weight, name, act). What is left of the time is shared by weight."""
        weights = sum(weight for weight, _, _ in sections)
        for weight, name, act in sections:
            begin = time.monotonic()
            self.until = begin + max(0, self.end - begin) * weight / weights
            weights -= weight
            self.section(name, act)
            self.raw.setdefault("seconds", {})[name] = time.monotonic() - begin
            self.save()
        self.save()  # also where there is none

    def section(self, name, act):
        """One that fails says so, and the others go on."""
        try:
            act()
        except (Refused, OSError, ValueError, KeyError, subprocess.CalledProcessError) as error:
            self.table.add(name, float("nan"), "", "", False, f"failed: {error}")

    def save(self):
        with open(self.file, "w") as file:
            json.dump({"rows": self.table.rows, "raw": self.raw}, file, indent=1)

    def tell(self):
        missed = sum(not row["ok"] for row in self.table.rows)
        print(f"{len(self.table.rows)} rows, {missed} missed; {self.file}")
