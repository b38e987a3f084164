"""Leaves one place of docs/adding-an-operator.md out at a time, builds what its check needs, and wants the check to name it.

  make operator-page            all places: minutes each, as ops.h is read everywhere
  make operator-page ONLY=6,12  some

It changes a file of this checkout and puts it back, so it wants these files as they were committed.
"""
import os
import subprocess
import sys

from operator_page import PAGE, ROOT, places_of, text_of, without

BUILD = os.environ.get("BUILD", os.path.join(ROOT, "build", "release"))


def write(path, text):
    with open(os.path.join(ROOT, path), "w", encoding="utf-8") as file:
        file.write(text)


def told(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    return done.returncode, done.stdout + done.stderr


def check_of(place):
    """Its exit code, and all that was said."""
    code, text = told(["ninja", "-C", BUILD, place.target])
    if code != 0 or not place.run:
        return code, text
    program = os.path.join(BUILD, "bin", place.run[0])
    if place.run[0].endswith(".py"):
        tests = os.path.join(ROOT, os.path.dirname(place.run[0]))
        environment = {**os.environ, "PANTOUM": os.path.join(BUILD, "bin", "pantoum"), "PYTHONDONTWRITEBYTECODE": "1"}
        return told([sys.executable, os.path.join(ROOT, place.run[0]), place.run[1]], cwd=tests, env=environment)
    return told([program, *place.run[1:]])


def fault_of(place):
    """Why the place may be left out unseen; '' where it may not."""
    whole = text_of(place.file)
    write(place.file, without(place.code, whole))
    try:
        code, text = check_of(place)
    finally:
        write(place.file, whole)
    if code == 0:
        return "nothing fails"
    return "" if place.says in text else f"what fails does not say '{place.says}':\n{text[-2000:]}"


def main(chosen):
    places = places_of(text_of(PAGE))
    files = sorted({place.file for place in places})
    if told(["git", "-C", ROOT, "diff", "--quiet", "HEAD", "--", *files])[0] != 0:
        sys.exit("leave_one_out: commit these files first: " + " ".join(files))
    faults = 0
    for number, place in enumerate(places, 1):
        if chosen and number not in chosen:
            continue
        fault = fault_of(place)
        faults += bool(fault)
        print(f"{number:2} {place.file}: {fault or 'named'}", flush=True)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main({int(number) for number in sys.argv[1].split(",")} if len(sys.argv) > 1 and sys.argv[1] else set())
