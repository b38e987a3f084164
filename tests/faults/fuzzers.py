#!/usr/bin/env python3
"""Every fuzzer of tests/fuzz for ten minutes, side by side: no finding. `make faults` builds them (build/asan) before."""
import os
import re
import subprocess

import job

SECONDS = 600
RUNS = re.compile(r"^(fuzz_\w+) +(\d+) runs, no finding$", re.MULTILINE)


def fuzzers(work):
    seconds = 2 if work.quick else SECONDS
    here = os.path.join(job.ROOT, "tests", "fuzz")
    wanted = {name[:-3] for name in os.listdir(here) if name.startswith("fuzz_") and name.endswith(".cc")}
    done = subprocess.run([os.path.join(here, "run.sh"), os.path.join(job.ROOT, "build", "asan", "bin"), str(seconds)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    runs = {name: int(count) for name, count in RUNS.findall(done.stdout)}
    faults = [f"{name}: a finding, or it was not built" for name in sorted(wanted - set(runs))]
    if faults:
        print(done.stdout, flush=True)
    work.row("fuzzers", len(runs), faults, "fuzzers", "no finding", f"{sum(runs.values()):,} runs in {seconds} s")


if __name__ == "__main__":
    job.main(fuzzers)
