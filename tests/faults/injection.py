#!/usr/bin/env python3
"""Every call that a training makes fails once: system calls, allocations, thread starts; then limits, closed outputs and signals.

preload.c counts what a run does and makes the k-th fail; every run has one fault (or one that lasts), and is a process of its own.
"""
import errno
import os
import resource
import shutil
import signal
import subprocess
import time

from job import main  # first: it knows where the house is
from server import NUMBERS, Ended, Server, build_preload
from small_run import BATCH, SmallRun, contents, scratch, wrong_end

E = errno
TRANSIENT = (E.EINTR, "s")
FAILS = {  # what each call may fail with; s: it moves a part
    "read": (E.EIO, E.EINTR, "s"), "pread": (E.EIO, E.EINTR, "s"), "write": (E.EIO, E.ENOSPC, E.EINTR, "s"), "pwrite": (E.EIO, E.ENOSPC, E.EINTR, "s"),
    "openat": (E.EMFILE, E.EACCES, E.EINTR), "fsync": (E.EIO, E.ENOSPC, E.EINTR), "fdatasync": (E.EIO, E.EINTR), "ftruncate": (E.EIO, E.ENOSPC, E.EINTR),
    "fallocate": (E.ENOSPC, E.EINTR), "flock": (E.ENOLCK, E.EINTR), "getrandom": (E.ENOSYS, E.EINTR, "s"), "rename": (E.EIO, E.ENOSPC), "link": (E.EIO, E.EMLINK),
    "mmap": (E.ENOMEM,), "brk": (E.ENOMEM,), "mprotect": (E.ENOMEM,), "mremap": (E.ENOMEM,), "io_uring_setup": (E.ENOSYS, E.ENOMEM),
    "io_uring_enter": (E.EINTR, E.EAGAIN, E.EIO), "completion": (E.EIO, E.ENOSPC, E.EINTR, "s"), "lseek": (E.EINVAL,), "prlimit": (E.EPERM,)}
SYNCS = ("fsync", "fdatasync", "sync_file_range")
LASTS = {"write": E.ENOSPC, "pwrite": E.ENOSPC, "fsync": E.EIO, "openat": E.EMFILE, "rename": E.EIO, "mmap": E.ENOMEM}  # from the k-th on
# Cleaning up is what fails then: the file that was to go stays, and is in nobody's way. A .part or .lock that the system does not show may be another writer's.
STAYS = {"unlink": (".lock", ".part", ".initial"), "flock": (".part", ".lock"), "openat": (".part",), "fstatat": (".part", ".lock")}
RANDOM_CALLS = 500  # of planning
MOST_OF_A_FOLDER = 1200  # points: `emit` writes many files in one way
# Memory refused in a solver, or in a destructor (nlohmann's take some), ends the process there (docs/errors.md, E0910): these stay, in nobody's way.
ENDED_AT_ONCE_LEAVES = (".lock", ".initial")
NO_URING = "425:1:38:0;"  # io_uring is not there: the pager with a thread


def points_of(calls, quick):
    """(name, number, k, how) for every call of a run."""
    numbers = {number: calls.count(number) for number in sorted(set(calls))}
    for number, count in numbers.items():
        name = NUMBERS.get(number, str(number))
        for how in FAILS.get(name, (E.EIO,)):
            for k in range(1, count + 1):
                yield name, number, k, how
        if name in LASTS:
            for k in range(1, count + 1):
                yield name, number, k, f"{LASTS[name]}:0"


def sample(points, job, most):
    points = list(points)
    return points if not job.quick or len(points) <= most else job.draw.sample(points, most)


def with_values(words, values):
    """The words with other values of these options."""
    for option, value in values.items():
        at = words.index(option) + 1
        words = [*words[:at], value, *words[at + 1:]]
    return words


class Injection:
    def __init__(self, job):
        self.job, self.folder = job, scratch(job.folder)
        self.server = Server(job.pantoum, build_preload(self.folder), self.folder)
        self.small = SmallRun(self.folder, self.server.call)

    def end(self):
        self.server.end()
        shutil.rmtree(self.folder)

    def survived(self, name, ended, fault, how):
        if not fault and how in TRANSIENT and ended.code != 0 and name != "completion":  # a later transfer may have relied on it
            return "is not survived: " + ended.error.strip()
        return fault

    def inject(self, words, points, before=""):
        """Trainings with one fault each; how many, and what was wrong."""
        wrong = []
        for name, number, k, how in points:
            ended = self.server.call(words, f"FAULT_CALLS={before}{number}:{k}:{how}")
            fault = self.survived(name, ended, self.small.wrong(ended, STAYS.get(name, ())), how)
            if fault:
                wrong.append(f"{before}{name} {k}, {how}: {fault}")
        return len(points), wrong

    def inputs_and_outputs(self):
        counted, _ = self.server.count(self.small.train())
        self.small.clean()
        uring = [(f"completion", "u", k, how) for k in range(1, counted.calls.count(426) + 40) for how in FAILS["completion"]]
        points = list(points_of(counted.calls, self.job.quick))
        syncs = [point for point in points if point[0] in SYNCS]
        others = [point for point in points if point[0] not in SYNCS]
        threads, _ = self.server.count(self.small.train())
        self.small.clean()
        paged = [point for point in points_of([n for n in threads.calls if n in (17, 18)] + [17] * 60 + [18] * 60, self.job.quick) if point[2] > 0]
        tried, wrong = self.inject(self.small.train(), sample(others + uring, self.job, 60))
        more, worse = self.inject(self.small.train(), sample(paged, self.job, 20), NO_URING)
        third, worst = self.outputs()
        self.job.row("injected io", tried + more + third, wrong + worse + worst)
        tried, wrong = self.inject(self.small.train(), sample(syncs, self.job, 15))
        self.job.row("injected sync", tried, wrong)

    def other_verbs(self):
        """Words and the file that they write."""
        out, given = self.small.out, os.path.join(self.folder, "given")
        return [(["export", self.small.model, "--weights", given + ".weights", "-o", os.path.join(out, "e.onnx")], "e.onnx"),
                (["export", self.small.model, "--weights", given + ".weights", "-o", os.path.join(out, "e.onnx"), "--external-data"], "e.onnx"),
                (["emit", os.path.join(self.folder, "board.plan"), "--target", "posix", "-o", os.path.join(out, "fw")], "fw/main.c"),
                (["report", given + ".plan", "-o", os.path.join(out, "r.html")], "r.html"),
                (["plan", self.small.model, *self.small.question(), "-o", os.path.join(out, "p.json")], "p.json")]

    def outputs(self):
        """The same of the verbs that write one file, or a folder."""
        tried, wrong = 0, []
        for words, name in self.other_verbs():
            counted, ended = self.server.count(words)
            whole = contents(os.path.join(self.small.out, name))
            assert ended.code == 0 and whole, ended.error
            self.small.clean()
            points = sample(points_of(counted.calls, self.job.quick), self.job, 8)
            for point in points if len(points) < MOST_OF_A_FOLDER else self.job.draw.sample(points, MOST_OF_A_FOLDER):
                ended = self.server.call(words, "FAULT_CALLS={1}:{2}:{3}".format(*point))
                fault = self.survived(point[0], ended, wrong_end(ended) or self.wrong_output(name, whole, ended, STAYS.get(point[0], ())), point[3])
                self.small.clean()
                tried += 1
                if fault:
                    wrong.append(f"{words[0]}, {point[0]} {point[2]}, {point[3]}: {fault}")
        return tried, wrong

    def wrong_output(self, name, whole, ended, may_stay=()):
        found = contents(os.path.join(self.small.out, name))
        timed = name in ("p.json", "r.html")  # these tell when they were made
        if found is not None and (len(found) < len(whole) // 2 if timed else found != whole):
            return f"half of {name}"
        if ended.code == 0 and found is None:
            return f"no {name}"
        for _, _, names in os.walk(self.small.out):
            for each in names:
                if ".part" in each and not any(end in each for end in may_stay):
                    return f"left {each}"
        return ""

    # ---- memory ----

    def told_as_memory(self, ended, fault):
        if not fault and ended.code != 0 and not any(code in ended.error for code in ("E0910", "E0906", "E0905")):  # a thread takes memory
            return "is not told as memory: " + ended.error.strip()
        return fault

    def without_memory(self, words, ks, wrong_of):
        wrong = []
        for k in ks:
            ended = self.server.call(words, f"FAULT_ALLOC={k}")
            fault = self.told_as_memory(ended, wrong_of(ended))
            if fault:
                wrong.append(f"{words[0]}, allocation {k}: {fault}")
        return len(ks), wrong

    def places_once(self, places, first=0):
        """One allocation of each place."""
        where = {}
        for k, place in enumerate(places, 1):
            where.setdefault(place, []).append(k)
        return [self.job.draw.choice(ks) for ks in where.values() if ks[-1] > first]

    def allocations(self):
        """Every one that follows the reading of the command line, which is the same for all; of that, every place once."""
        line, _ = self.server.count(["--version"])
        tried, wrong = 0, []
        for words, name in [(self.small.train(), None)] + [(words, name) for words, name in self.other_verbs() if words[0] in ("export", "report") and "--external-data" not in words]:
            counted, _ = self.server.count(words)
            whole = contents(os.path.join(self.small.out, name)) if name else None
            self.small.clean()

            def wrong_of(ended, name=name, whole=whole):
                fault = wrong_end(ended) or self.wrong_output(name, whole, ended) if name else self.small.wrong(ended, ENDED_AT_ONCE_LEAVES)
                self.small.clean()
                return fault
            every = range(len(line.places) + 1, len(counted.places) + 1)
            ks = self.job.draw.sample(every, 60 if name is None else 10) if self.job.quick else list(every)
            more, worse = self.without_memory(words, ks, wrong_of)
            tried, wrong = tried + more, wrong + worse
        ks = self.places_once(line.places)
        more, worse = self.without_memory(["--version"], ks[:30] if self.job.quick else ks, wrong_end)
        third, worst = self.limits()
        self.job.row("injected allocation", tried + more + third, wrong + worse + worst)

    def limited(self, words, seconds=20, **limits):
        """In a process of its own with resource limits."""
        def set_limits():
            for name, value in limits.items():
                resource.setrlimit(getattr(resource, name), (value, value))
        done = subprocess.run([self.job.pantoum, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds, preexec_fn=set_limits)
        return Ended(done.returncode, done.stdout, done.stderr)

    def limits(self):
        tried, wrong = 0, []
        kib = 1 << 10
        points = [("RLIMIT_AS", size * 1024 * kib) for size in (*range(40, 200, 2), *range(200, 400, 10))]
        points += [("RLIMIT_DATA", size * 1024 * kib) for size in range(1, 30)]
        points += [("RLIMIT_STACK", size * kib) for size in (32, 64, 128, 192, 256, 384, 512, 1024, 2048, 8192)]
        points += [("RLIMIT_FSIZE", size) for size in (*range(0, 30000, 500), 1 << 20)] + [("RLIMIT_NOFILE", count) for count in range(3, 24)]
        for name, value in sample(points, self.job, 30):
            ended = self.limited(self.small.train(), **{name: value})
            if name in ("RLIMIT_AS", "RLIMIT_DATA", "RLIMIT_NOFILE") and ended.code == 127 and "loading shared libraries" in ended.error:
                continue  # the program was not even loaded
            fault = self.small.wrong(ended, ENDED_AT_ONCE_LEAVES)
            tried += 1
            if fault:
                wrong.append(f"{name} {value}: {fault}")
        return tried, wrong

    # ---- threads, outputs that are closed, signals ----

    def threads(self):
        tried, wrong = 0, []
        three = os.path.join(self.folder, "three.plan")
        ahead = ["--prefetch", 2]  # batches are made by one more thread, and their RAM is part of the plan
        wide = {"--threads": 3, "--ram": "32KiB"}
        planned = self.server.call(["plan", self.small.model, *with_values(self.small.question(), wide), *ahead, "-o", three])
        assert planned.code == 0, planned.error
        for words in (self.small.train(), [*with_values(self.small.train(), {**wide, "--plan": three}), *ahead]):
            counted, _ = self.server.count(words)
            self.small.clean()
            for k in range(1, counted.threads + 2):
                for lasts in ("", ":0"):
                    ended = self.server.call(words, f"FAULT_THREAD={k}{lasts}")
                    fault = self.small.wrong(ended)
                    if not fault and ended.code != 0 and "E0905" not in ended.error:
                        fault = "is not told as a thread: " + ended.error
                    tried += 1
                    if fault:
                        wrong.append(f"thread {k}{lasts}: {fault}")
        more, worse = self.planning_threads()
        third, worst = self.standard_files()
        fourth, last = self.signals()
        self.job.row("injected thread", tried + more, wrong + worse)
        self.job.row("injected output and signal", third + fourth, worst + last)

    def planning_threads(self):
        tried, wrong = 0, []
        for how in (["--effort", 1], ["--time-limit", "0.3s", "--measure", "off"]):
            words = ["plan", self.small.model, "--batch", BATCH, "--ram", "24KiB", *how, "--optimizer", "sgd,momentum=0.9", "--kernels", "portable", "-o", os.path.join(self.small.out, "p.json")]
            counted, _ = self.server.count(words)
            for k in range(1, min(counted.threads, 6) + 1):
                ended = self.server.call(words, f"FAULT_THREAD={k}:0")
                fault = wrong_end(ended)
                if not fault and ended.code != 0 and "E0905" not in ended.error:
                    fault = "is not told as a thread: " + ended.error
                tried += 1
                if fault:
                    wrong.append(f"plan, thread {k}: {fault}")
            self.small.clean()
        return tried, wrong

    def standard_files(self):
        """Outputs that are full, closed, or read by nobody: the training is done, its files are whole, and the result that was lost is told."""
        tried, wrong = 0, []
        for end in (">/dev/full", ">&-", "2>/dev/full", "2>&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-", "| true", "2>&1 | true", "--log /dev/full", "--log /dev/stdout >/dev/full"):
            for words, name in [(self.small.train(), "w")] + self.other_verbs():
                if name == "r.html" or (end.startswith("--log") and name != "w"):  # `report` prints nothing
                    continue
                text = " ".join(f"'{word}'" for word in [self.job.pantoum, *map(str, words)]) + " " + end
                done = subprocess.run(["bash", "-c", "set -o pipefail; " + text], capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL)
                lost = ">/dev/full" in end.replace("2>/dev/full", "") or end.startswith(">&-") or " >&-" in end or "| true" in end or "--log" in end
                tried += 1
                fault = ""
                if done.returncode not in ((0, 9) if "| true" in end else (9,) if lost else (0,)):
                    fault = f"exit code {done.returncode}: {done.stderr}"
                elif "2>" not in end and done.returncode and "error[E0901]" not in done.stderr:
                    fault = "is not told: " + done.stderr
                elif contents(os.path.join(self.small.out, name)) is None and not end.startswith("--log"):
                    fault = f"no {name}"
                elif name == "w" and not end.startswith("--log") and not self.small.has_final_bits():
                    fault = "other bits"
                self.small.clean()
                if fault:
                    wrong.append(f"{words[0]} {end}: {fault}")
        return tried, wrong

    def signals(self):
        """Once: a checkpoint, and the error that says so. Twice: at once. Before the program has begun: nothing is there."""
        tried, wrong = 0, []
        rounds = 4 if self.job.quick else 60
        begun = time.monotonic()
        self.limited(self.small.train())
        self.small.clean()
        seconds = time.monotonic() - begun
        for each in range(rounds):
            for kinds in ((signal.SIGHUP,), (signal.SIGTERM,), (signal.SIGINT,), (signal.SIGTERM, signal.SIGTERM), (signal.SIGHUP, signal.SIGTERM)):
                process = subprocess.Popen([self.job.pantoum, *map(str, self.small.train())], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                for kind in kinds:
                    time.sleep(self.job.draw.uniform(0, seconds * (1 if kind == kinds[0] else 0.1)))
                    process.send_signal(kind)
                out, error = process.communicate(timeout=30)
                ended = Ended(process.returncode, out, error)
                early = ended.code in [-kind for kind in kinds] and not os.listdir(self.small.out)
                fault = "" if early else self.small.wrong(ended, (".part", ".lock", ".initial") if len(kinds) > 1 else ())
                self.small.clean()
                tried += 1
                if fault:
                    wrong.append(f"{[kind.name for kind in kinds]}: {fault}")
        return tried, wrong

    # ---- planning ----

    def planning(self):
        """Every distinct place of an allocation once, and 500 more at random: the planner with its linear programs, and the integer programs.

        A place is the caller and those that called it: three or four of them.
        """
        tried, wrong, places = 0, [], 0
        path = os.path.join(self.small.out, "p.json")
        question = ["--batch", BATCH, "--effort", 1, "--kernels", "portable", "--threads", 1, "--optimizer", "sgd,momentum=0.9", "-o", path]
        for planner, model, ram, frames in (("pantoum", self.small.model, "24KiB", 4), ("checkmate-lp", self.small.model, "26KiB", 4),  # CLP
                                            ("checkmate", self.small.smaller, "14KiB", 3)):  # CBC: ten times as many allocations
            words = ["plan", model, *question, "--planner", planner, "--ram", ram]
            counted, ended = self.server.count(words, frames)
            assert ended.code in (0, 6), ended.error
            whole = contents(path)
            self.small.clean()
            once = self.places_once(counted.places)
            places += len(once)
            ks = once + [self.job.draw.randrange(len(counted.places)) + 1 for _ in range(RANDOM_CALLS // 3 + 1)]

            def wrong_of(ended, whole=whole, usual=ended.code):
                found = contents(path)
                fault = "" if ended.code == usual else wrong_end(ended)
                fault = fault or ("half a plan" if found is not None and whole is not None and len(found) < len(whole) // 2 else "")
                fault = fault or next((f"left {name}" for name in os.listdir(self.small.out) if ".part" in name), "")
                self.small.clean()
                return fault
            for k in sample(ks, self.job, 30):
                ended = self.server.call(words, f"FAULT_ALLOC={k}")
                fault = wrong_of(ended)
                fault = fault if fault or ended.code == 6 else self.told_as_memory(ended, fault)
                tried += 1
                if fault:
                    wrong.append(f"{planner}, allocation {k}: {fault}")
        self.job.row("injected planning", tried, wrong, note=f"{places} places of allocations")


def run(job):
    injection = Injection(job)
    injection.inputs_and_outputs()
    injection.allocations()
    injection.threads()
    injection.planning()
    injection.end()


if __name__ == "__main__":
    main(run)
