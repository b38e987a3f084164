"""Steps of several plans in turns, so that what else the machine does meets all of them alike: a process each, that takes a step when it is asked to."""
import contextlib
import json
import math
import statistics
import subprocess
import tempfile
import time

from ask import PLENTY, Refused

TURN = .06  # seconds of steps at least
FIRST = 3  # times another step, that the first may take beside programs that start
SHORT = .3  # seconds: a step that finds the caches as others left them does not count, unless it is so long that it hardly notices
LEAST, ROUNDS, MOST = 3, 5, 40  # rounds: when there is no time left, else, and where steps are short


class Steps:
    """Of one plan, by `pantoum profile --on-request`, until it is closed. Several may start side by side; `begin` comes before turns."""

    def __init__(self, program, name, batch, plan, *words):
        self.said = tempfile.TemporaryFile("w+")
        command = [program.pantoum, "profile", program.model(name), "--batch", batch, "--plan", plan, "--on-request", "--steps", 100000, "--measure", "known",
                   "--ram", PLENTY, "--format", "json", *program.times(), *words]
        self.process = subprocess.Popen([*map(str, command)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said, text=True)
        self.each, self.short = 1, False

    def begin(self):
        """Waits until it is there, and sees how long its steps are."""
        took = self.step()
        if took < FIRST * SHORT:
            took = self.step()
        self.each, self.short = math.ceil(TURN / took), took < SHORT

    def close(self):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.said):
            with contextlib.suppress(OSError):  # a line that nobody will read
                stream.close()

    def step(self):
        return self.answer("\n")["seconds"]

    def answer(self, words):
        try:
            self.process.stdin.write(words)
            self.process.stdin.flush()
        except OSError:
            pass  # it has ended, and said why
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            self.said.seek(0)
            raise Refused(Refused.first_error(self.said.read(), self.process.returncode))
        return json.loads(line)

    def turn(self):
        """The median of its steps."""
        if self.short:
            self.step()
        return statistics.median(self.step() for _ in range(self.each))

    def predicted(self):
        """Ends it."""
        self.process.stdin.close()
        return json.loads(self.process.stdout.readlines()[-1])["steps"]["predicted_s"]


def in_turns(asked, seconds, until=math.inf):
    """A list of turns for each of `asked` (arguments of Steps), rounds of them for so many seconds, ROUNDS at least and MOST at most, and what each plan predicts. From
    `until` (time.monotonic) on, LEAST rounds are enough where they take a quarter of the seconds."""
    running = []
    try:
        for words in asked:
            running.append(Steps(*words))
        for steps in running:
            steps.begin()
        begin, turns = time.monotonic(), [[] for _ in running]

        def is_another_wanted(rounds):
            now = time.monotonic()
            return rounds < LEAST or (rounds < ROUNDS and now < max(until, begin + seconds / 4)) or (rounds < MOST and now < min(until, begin + seconds))
        while running and is_another_wanted(len(turns[0])):
            for times, steps in zip(turns, running):
                times.append(steps.turn())
        return turns, [steps.predicted() for steps in running]
    finally:
        for steps in running:
            steps.close()


def ratio(turns, base):
    """The median over rounds."""
    return statistics.median(one / other for one, other in zip(turns, base))
