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
SHORT = .3  # seconds: a step that finds the caches as others left them does not count, unless it is so long that it hardly notices
ROUNDS, MOST = 5, 40


class Steps:
    """Of one plan, by `pantoum profile --on-request`, until it is closed."""

    def __init__(self, program, name, batch, plan, *words):
        self.said = tempfile.TemporaryFile("w+")
        command = [program.pantoum, "profile", program.model(name), "--batch", batch, "--plan", plan, "--on-request", "--steps", 100000, "--measure", "known",
                   "--ram", PLENTY, "--format", "json", *program.times(), *words]
        self.process = subprocess.Popen([*map(str, command)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said, text=True)
        try:
            took = self.step()
            self.each, self.short = math.ceil(TURN / took), took < SHORT
        except BaseException:
            self.close()
            raise

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
    """A list of turns for each of `asked` (arguments of Steps), rounds of them for so many seconds, ROUNDS at least and MOST at most, and what each plan predicts. After
    `until` (time.monotonic) there are but ROUNDS."""
    running = []
    try:
        for words in asked:
            running.append(Steps(*words))
        begin, turns = time.monotonic(), [[] for _ in running]
        while running and (len(turns[0]) < ROUNDS or (len(turns[0]) < MOST and time.monotonic() < min(until, begin + seconds))):
            for times, steps in zip(turns, running):
                times.append(steps.turn())
        return turns, [steps.predicted() for steps in running]
    finally:
        for steps in running:
            steps.close()


def ratio(turns, base):
    """The median over rounds."""
    return statistics.median(one / other for one, other in zip(turns, base))
