"""Keeps what a bench measured in docs/results, with the command, the day and the machine in words.

usage: keep.py out/bench/NAME.json --command TEXT [--note TEXT]
Rows of the same name are replaced; others stay, so that a bench may be asked in parts.
"""
import argparse
import datetime
import json
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def machine():
    """The processor's kind and how many cores of it: no name of a host."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        kind = re.search(r"^model name\s*: (.*)$", file.read(), re.MULTILINE)
    return f"{kind.group(1) if kind else os.uname().machine}, {len(os.sched_getaffinity(0))} cores"


def merged(kept, new, run):
    names = {row["name"] for row in new["rows"]}
    commands = [each for each in kept.get("measured", []) if each["command"] != run["command"]]
    return {"measured": commands + [run], "rows": [row for row in kept.get("rows", []) if row["name"] not in names] + new["rows"],
            "raw": {**kept.get("raw", {}), **new.get("raw", {})}}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--command", required=True)
    parser.add_argument("--note", default="")
    args = parser.parse_args()
    path = os.path.join(ROOT, "docs", "results", os.path.basename(args.file))
    kept = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            kept = json.load(file)
    with open(args.file, encoding="utf-8") as file:
        new = json.load(file)
    day = datetime.date.fromtimestamp(os.path.getmtime(args.file)).isoformat()
    run = {"command": args.command, "date": day, "machine": machine(), "note": args.note}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(merged(kept, new, run), file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
