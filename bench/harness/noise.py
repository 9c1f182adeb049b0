# SPDX-License-Identifier: MIT
"""--noise: a steady load on one CPU while a result is measured, and how a result says that it was there.

Run as a program, this file is the load: CPU and the harness's process id as its arguments."""

import os
import select
import signal
import subprocess
import sys
import time

QUIET, LOADED = "without --noise", "with --noise"  # kinds of results
START_S = 60  # for the load to start: a machine that is busy already takes its time


class Failure(Exception):
    pass


def usual_cpu() -> int:
    """The last CPU allowed: raw limits and OS threads that are given fewer CPUs get the first ones."""
    return max(os.sched_getaffinity(0))


class Load:
    """A busy process on one CPU for the time of a `with`. It ends by itself when the harness is gone, however that ended."""

    def __init__(self, cpu: int):
        self.cpu = cpu
        self.entry = None   # what the result's settings say about it, once it has ended

    def __enter__(self):
        # A session of its own: Ctrl-C reaches the harness alone, which then ends the load in its own time.
        self.process = subprocess.Popen([sys.executable, "-IS", os.path.abspath(__file__), str(self.cpu), str(os.getpid())],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, start_new_session=True)
        try:
            ready, _, _ = select.select([self.process.stdout], [], [], START_S)
            if not ready:
                raise Failure("the load on CPU %d did not start within %d s" % (self.cpu, START_S))
            if self.process.stdout.readline() != "busy\n":
                lines = self.process.stderr.read().strip().splitlines()
                raise Failure("the load on CPU %d did not start: %s" % (self.cpu, lines[-1] if lines else "no message"))
            self.start = time.monotonic()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_):
        seconds = time.monotonic() - self.start
        early, used = self._end()
        self.entry = {"cpu": self.cpu, "percent": round(100 * used / max(seconds, 1e-3))}
        if early:
            self.entry["ended_early"] = True

    def _end(self):
        """(whether it had ended before, CPU seconds it used). Waits, so that what it used counts as the harness's own."""
        found, _, usage = os.wait4(self.process.pid, os.WNOHANG)
        if not found:
            self.process.send_signal(signal.SIGKILL)
            _, _, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = -signal.SIGKILL
        self.process.stdout.close()
        self.process.stderr.close()
        return bool(found), usage.ru_utime + usage.ru_stime


def kind(result: dict) -> str:
    """Results of one kind may be compared and joined."""
    load = result["settings"].get("load")
    if not load:
        return QUIET
    return LOADED + ", which ended early" if load.get("ended_early") else LOADED


def sentence(result: dict) -> str:
    """For the head of whatever shows a result; nothing for a quiet one."""
    load = result["settings"].get("load")
    if not load:
        return ""
    return "Measured with --noise: beside a busy process on CPU %d, which got %d %% of it%s." % (
        load["cpu"], load["percent"], " and ended before the measurement did" if load.get("ended_early") else "")


def title(result: dict) -> str:
    """The same in a few words, for the titles of pages and pictures."""
    return " beside a busy process" if result["settings"].get("load") else ""


def burn(cpu: int, harness: int):
    os.sched_setaffinity(0, {cpu})
    print("busy", flush=True)
    while os.getppid() == harness:
        for _ in range(100_000):  # some milliseconds without a system call
            pass


if __name__ == "__main__":
    burn(int(sys.argv[1]), int(sys.argv[2]))
