#!/usr/bin/env python3
"""Files that lie, of every format that the program reads: refused, or taken, by a run that ends by itself within 2 s of processor time and 256 MiB beside the file.

The generators and the runs are those of tests/e2e/hostile_files.py, which keeps the files that broke a promise (--keep).
"""
import job  # first: it names the folder of the import below
import hostile_files

EACH = 300


def hostile(work):
    trial = hostile_files.Trial(work.folder)
    each = 3 if work.quick else EACH
    faults = trial.run(each, work.seed)
    work.row("hostile files", trial.runs, faults, "files", f"no crash, {hostile_files.SECONDS:g} s, {hostile_files.MEMORY >> 20} MiB",
             f"{each} of each of {len(trial.formats())} formats; at most {trial.slowest:.2f} s and {max(0, trial.largest - trial.base) >> 20} MiB")


if __name__ == "__main__":
    job.main(hostile)
