"""A run of the program that is killed, and how it goes on."""
import os
import subprocess


def killed_after(words, seconds, **more):
    """Whether the run was still there to be killed after so many seconds. What it printed is gone, unless it ended badly by itself."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **more)
    try:
        _, said = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return True
    if process.returncode != 0:
        raise RuntimeError(f"ended with {process.returncode}: {said}")
    return False


def resume_words(out):
    """From the checkpoint where the run left one, else from the start."""
    point = out + ".checkpoint"
    return ("--resume", point) if os.path.exists(point) else ()
