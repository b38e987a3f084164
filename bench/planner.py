"""Benchmark of the planner on two cores: a table of one row per question, and out/bench/planner.json with the rows and all answers.

usage: planner.py --pantoum BINARY --placement BINARY --plan-test BINARY [--reference FOLDER] [--out FOLDER] [--only TEXT] [--quick]
                  [--time-limit S] [--long [--part k/N]]
The first word of a row's name says what it is: README.md, "The planner's benchmark". --only: questions whose name contains it.
--long: all questions, part k of N of them; each one's rows are kept in planner-long/COMMIT/*.json in the folder of --out, and
are read from there in place of asking again. --time-limit: of families, deadlines and measured, 30 s without it. --quick: two
questions of each kind, of 5 s, and nothing kept.
The reference questions, their tools and the synthetic cost graphs are not part of this repository: --reference names the
folder that holds tools/run_reference.py, tools/gen_costgraph.py and anchors/. What is missing is skipped, which counts as missed.
Standard library only.
"""
import argparse
import glob
import hashlib
import json
import os
import re
import subprocess
import time

import planner_always
import planner_deadlines
import planner_exhaustive
import planner_families
import planner_forged
import planner_layered
import planner_measured
import planner_reference
import planner_storage
import planner_time
from planner_ask import Asker, Question
from table import Table

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SUMMARIES = (planner_layered.summarise, planner_measured.summarise, planner_families.summarise)
PLACEMENT, LIMIT = 30, 30  # s of an instance, and of a question whose kind has no limit of its own


def placement(table, raw, binary):
    files = sorted(glob.glob(os.path.join(ROOT, "src", "place", "testdata", "*.csv")))
    done = subprocess.run([binary, str(PLACEMENT), *files], capture_output=True, text=True)
    raw["placement"] = done.stdout.splitlines()
    for line in raw["placement"]:
        found = re.match(r"\s*([0-9.]+) s\s+(\S+\.csv)\s+(.*)", line)
        if found:
            table.add(f"placement {found[2]}", float(found[1]), "s", f"<= {PLACEMENT}", float(found[1]) <= PLACEMENT and "placed" in line, found[3])


def all_questions(asker, args):
    yield from planner_time.questions(asker, args.long)
    yield from planner_measured.questions(asker, args)
    yield Question("placement", PLACEMENT, lambda table, raw: placement(table, raw, args.placement))
    yield from planner_reference.questions(asker, args.long)
    yield from planner_exhaustive.questions(asker, args.plan_test, args.long)
    yield from planner_forged.questions(asker, args.plan_test, args.long)
    yield from planner_layered.questions(asker, args.long)
    yield from planner_storage.questions(asker, args.long)
    yield from planner_always.questions(asker, args.long)
    if args.long:
        yield from planner_families.questions(asker, args.time_limit)
        yield from planner_deadlines.questions(asker, args.time_limit)


def few(questions):
    """Of each kind the first and the one in the middle."""
    kinds = {}
    for question in questions:
        words = question.name.split()
        kinds.setdefault(" ".join(words[:2 if words[0] in ("time", "reference") else 1]), []).append(question)
    return [question for kind in kinds.values() for question in (kind if len(kind) < 3 else (kind[0], kind[len(kind) // 2]))]


class Bench:
    """Asks questions one after another; with a folder to keep their rows in, each only once."""

    def __init__(self, table, kept=None):
        self.table, self.kept, self.raw = table, kept, {}

    def path(self, question):
        return os.path.join(self.kept, re.sub(r"[^\w.-]+", "-", question.name) + ".json") if self.kept else None

    def known(self, question):
        return self.kept is not None and os.path.exists(self.path(question))

    def take(self, question):
        with open(self.path(question)) as file:
            found = json.load(file)
        self.table.take(found["rows"])
        self.raw.update(found["raw"])

    def ask(self, question):
        """A question that breaks off is a row that misses, and is not kept."""
        raw, before = {}, len(self.table.rows)
        try:
            question.ask(self.table, raw)
        except (RuntimeError, OSError, ValueError, KeyError, IndexError, subprocess.SubprocessError) as error:
            return self.table.add(question.name, 0.0, "", "an answer", False, f"failed: {type(error).__name__}: {str(error)[:300]}")
        self.raw.update(raw)
        rows = self.table.rows[before:]
        if self.kept and rows and not any(row["skipped"] for row in rows):
            with open(self.path(question) + ".part", "w") as file:
                json.dump({"rows": rows, "raw": raw}, file, indent=1)
            os.replace(self.path(question) + ".part", self.path(question))

    def run(self, questions, part, parts):
        """Those known and those of the part; how many are left to the other parts."""
        left = 0
        for number, question in enumerate(questions):
            if self.known(question):
                self.take(question)
            elif number % parts == part - 1:
                self.ask(question)
            else:
                left += 1
        return left


def folder_of(args):
    """Where the long form keeps its rows; those with another limit apart."""
    limit = "" if args.time_limit == LIMIT else f"-{args.time_limit:g}s"
    return os.path.join(args.out, "planner-long", commit(args.pantoum) + limit) if args.long and not args.quick else None


def commit(binary):
    """What the rows are of: the commit, and the program too where files were changed since."""
    done = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"], capture_output=True, text=True)
    name = done.stdout.strip() or "no-commit"
    if done.returncode == 0 and not name.endswith("-dirty"):
        return name
    with open(binary, "rb") as file:
        return f"{name}-{hashlib.sha256(file.read()).hexdigest()[:12]}"


def on_two_cores(table):
    """Keeps this process and all that it starts on two cores."""
    given = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, given[:2])
    if table.wants("cores"):
        table.add("cores", min(2, len(given)), "cores", "2", len(given) >= 2, f"of {len(given)}: nothing is asked on more")


def part_of(text):
    found = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", text)
    if not found or int(found[1]) > int(found[2]):
        raise argparse.ArgumentTypeError(f"{text} is not k/N with 1 <= k <= N")
    return int(found[1]), int(found[2])


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--pantoum", "--placement", "--plan-test"):
        parser.add_argument(name, required=True)
    parser.add_argument("--reference", default=os.path.join(ROOT, "..", "shared"))
    parser.add_argument("--out", default=os.path.join(ROOT, "out", "bench"))
    parser.add_argument("--only", default="")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--part", type=part_of, default=(1, 1))
    parser.add_argument("--time-limit", type=float, default=LIMIT)
    args = parser.parse_args()
    if args.quick:
        args.time_limit = 5
    return args


def needs_reference(question):
    return not question.name.startswith(("placement", "measured", "exhaustive", "forged"))


def skipping(table, asker, questions):
    """Those that can be asked; without the reference's tools, a row says which cannot."""
    why = asker.missing()
    if not why:
        return questions
    for kind in ("time", "reference", "layered", "no storage", "always"):
        if table.wants(kind) or any(kind in question.name for question in questions):
            table.skip(kind, f"no {why}")
    return [question for question in questions if not needs_reference(question)]


def main():
    args = arguments()
    kept = folder_of(args)
    os.makedirs(kept or args.out, exist_ok=True)
    table, asker = Table(args.only), Asker(args)
    on_two_cores(table)
    bench, found = Bench(table, kept), [question for question in all_questions(asker, args) if table.wants(question.name)]
    if args.quick:
        found = few(found)
    found = skipping(table, asker, found)
    part, parts = args.part
    due = [question for number, question in enumerate(found) if number % parts == part - 1 and not bench.known(question)]
    print(f"{len(due)} of {len(found)} questions are asked, in at most {sum(question.seconds for question in due) / 60:.0f} minutes", flush=True)
    begin = time.monotonic()
    left = bench.run(found, part, parts)
    for summarise in SUMMARIES:
        summarise(table, bench.raw)
    path = os.path.join(args.out, "planner-long.json" if args.long else "planner.json")
    with open(path, "w") as file:
        json.dump({"rows": table.rows, "raw": bench.raw}, file, indent=1)
    missed, skipped = sum(not row["ok"] for row in table.rows), sum(row["skipped"] for row in table.rows)
    print(f"{len(table.rows)} rows, {missed} missed ({skipped} of them skipped), {left} questions left to other parts, {(time.monotonic() - begin) / 60:.1f} minutes; {path}")


if __name__ == "__main__":
    main()
