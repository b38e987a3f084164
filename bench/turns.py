"""Steps of several plans and peers in turns, so that what else the machine does meets all of them alike: a process each, that takes a step when it is asked to."""
import contextlib
import json
import math
import statistics
import subprocess
import tempfile
import time

from ask import Refused

TURN = .06  # seconds of steps at least, where nothing else is said
FIRST = 3  # times another step, that the first may take beside programs that start
SHORT = .3  # seconds: a step that finds the caches as others left them does not count, unless it is so long that it hardly notices
LEAST, ROUNDS, MOST = 3, 5, 40  # rounds: when there is no time left, else, and where steps are short


class Steps:
    """Of a command that takes one for each line of standard input and answers with a line of JSON, its "seconds"; at the end of the input it may say more (`end`). Until it is
    closed. Several may start side by side; `begin` comes before turns."""

    def __init__(self, command):
        self.said = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([*map(str, command)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said, text=True)
        self.each, self.short = 1, False

    def begin(self, turn):
        """Waits until it is there, and sees how long its steps are."""
        took = self.step()
        if took < FIRST * SHORT:
            took = self.step()
        self.each, self.short = math.ceil(turn / took), took < SHORT

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

    def end(self):
        """What it says at its end."""
        self.process.stdin.close()
        return json.loads(self.process.stdout.readlines()[-1])


def in_turns(commands, seconds, until=math.inf, turn=TURN):
    """A list of turns for each command (of Steps), rounds of them for so many seconds, ROUNDS at least and MOST at most, and what each says at its end. From `until`
    (time.monotonic) on, LEAST rounds are enough where they take a quarter of the seconds. `turn`: seconds of steps of each in a round, at least."""
    running = []
    try:
        for command in commands:
            running.append(Steps(command))
        for steps in running:
            steps.begin(turn)
        begin, turns = time.monotonic(), [[] for _ in running]

        def is_another_wanted(rounds):
            now = time.monotonic()
            return rounds < LEAST or (rounds < ROUNDS and now < max(until, begin + seconds / 4)) or (rounds < MOST and now < min(until, begin + seconds))
        while running and is_another_wanted(len(turns[0])):
            for times, steps in zip(turns, running):
                times.append(steps.turn())
        return turns, [steps.end() for steps in running]
    finally:
        for steps in running:
            steps.close()


def predicted(ends):
    """Seconds of a step of each plan."""
    return [end["steps"]["predicted_s"] for end in ends]


def ratio(turns, base):
    """The median over rounds."""
    return statistics.median(one / other for one, other in zip(turns, base))
