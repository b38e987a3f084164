"""The program under test with preload.c in it: one call after the other, each with its faults, in a child of a process that has loaded it."""
import collections
import os
import select
import signal
import struct
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
CALLS, PLACES = 1 << 20, 1 << 21  # kMostCalls, kMostAllocations of preload.c

Ended = collections.namedtuple("Ended", "code out error")  # code: minus a signal; None: it did not end
Counted = collections.namedtuple("Counted", "calls places threads")  # numbers of the calls in their order; a hash for each allocation

# Of x86-64: what a run makes, by what it is told as.
NUMBERS = {0: "read", 1: "write", 2: "open", 3: "close", 4: "stat", 5: "fstat", 6: "lstat", 8: "lseek", 9: "mmap", 10: "mprotect", 12: "brk",
           17: "pread", 18: "pwrite", 19: "readv", 20: "writev", 21: "access", 25: "mremap", 72: "fcntl", 73: "flock", 74: "fsync", 75: "fdatasync",
           76: "truncate", 77: "ftruncate", 79: "getcwd", 82: "rename", 83: "mkdir", 84: "rmdir", 85: "creat", 86: "link", 87: "unlink",
           89: "readlink", 91: "fchmod", 137: "statfs", 138: "fstatfs", 204: "sched_getaffinity", 217: "getdents", 257: "openat", 258: "mkdirat",
           262: "fstatat", 263: "unlinkat", 264: "renameat", 265: "linkat", 277: "sync_file_range", 285: "fallocate", 295: "preadv",
           296: "pwritev", 302: "prlimit", 316: "renameat2", 318: "getrandom", 332: "statx", 425: "io_uring_setup", 426: "io_uring_enter",
           427: "io_uring_register"}


def build_preload(folder):
    """The library, compiled into `folder`."""
    library = os.path.join(folder, "preload.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", library, os.path.join(HERE, "preload.c"), "-ldl", "-lgcc_s"], check=True)
    return library


class Server:
    def __init__(self, pantoum, library, folder):
        self.pantoum, self.library, self.folder = pantoum, library, folder
        self.process = None

    def variables(self, **more):
        return {**os.environ, "LD_PRELOAD": self.library, "FAULT_FOLDER": self.folder, **more}

    def start(self):
        self.process = subprocess.Popen([self.pantoum], env=self.variables(FAULT_SERVER="1"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        cwd=self.folder, bufsize=0)

    def line(self, seconds):
        text = b""
        while not text.endswith(b"\n"):
            if not select.select([self.process.stdout], [], [], seconds)[0]:
                return None
            text += os.read(self.process.stdout.fileno(), 1)
        return int(text)

    def call(self, words, fault="", seconds=20):
        """`fault`: one variable of preload.c, NAME=VALUE."""
        if self.process is None:
            self.start()
        out, error = os.path.join(self.folder, ".out"), os.path.join(self.folder, ".error")
        self.process.stdin.write("\x1f".join([out, error, fault, "pantoum", *map(str, words)]).encode() + b"\n")
        pid, status = self.line(seconds), self.line(seconds)
        if status is None:
            os.kill(pid, signal.SIGKILL)
            self.line(seconds)
        texts = []
        for path in (out, error):
            with open(path, errors="replace") as file:
                texts.append(file.read())
            os.unlink(path)
        code = None if status is None else os.waitstatus_to_exitcode(status)
        return Ended(code, *texts)

    def count(self, words, frames=6):
        """What a call of these words makes, and how it ended."""
        path = os.path.join(self.folder, ".log")
        done = subprocess.run([self.pantoum, *map(str, words)], env=self.variables(FAULT_LOG=path, FAULT_FRAMES=str(frames)), cwd=self.folder,
                              capture_output=True, text=True, timeout=120)
        with open(path, "rb") as file:
            calls, places, threads = struct.unpack("<3Q", file.read(24))
            numbers = struct.unpack(f"<{min(calls, CALLS)}I", file.read(4 * min(calls, CALLS)))
            file.seek(24 + 4 * CALLS)
            hashes = struct.unpack(f"<{min(places, PLACES)}Q", file.read(8 * min(places, PLACES)))
        os.unlink(path)
        return Counted(numbers, hashes, threads), Ended(done.returncode, done.stdout, done.stderr)

    def end(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()
            self.process.stdout.close()
            self.process = None
