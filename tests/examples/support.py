# SPDX-License-Identifier: MIT
"""What the drivers of the examples share: a server as a child process, raw sockets, cases that are counted or skipped."""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import traceback

# Sanitizers and loaded machines are slow: this only decides when a test gives up.
PATIENCE = 60


class Server:
    """`command` runs until the block ends; it says `listening on HOST:PORT` on its standard error."""

    def __init__(self, *command, environment=None):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=os.environ | (environment or {}))
        self.said = self.process.stderr.readline()
        match = re.search(r"listening on (\S+):(\d+)", self.said)
        if not match:
            self.process.kill()
            raise AssertionError(f"{command}: said {self.said!r}{self.process.stderr.read()}")
        self.address = match.group(1), int(match.group(2))
        self.url = f"http://{match.group(1)}:{match.group(2)}"

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL if kind else signal.SIGTERM)
        try:
            self.output, self.errors = self.process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGQUIT)  # a dump of its goroutines
            try:
                _, errors = self.process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                _, errors = self.process.communicate()
            raise AssertionError(f"the server did not end after SIGTERM\n{errors}") from None
        if kind is None:
            assert self.process.returncode == 0, f"the server ended with {self.process.returncode}: {self.errors}"

    def stop(self):
        self.process.send_signal(signal.SIGTERM)

    def connect(self):
        return socket.create_connection(self.address, timeout=PATIENCE)

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


def read_all(connection):
    """Up to the end of the stream. A reset is an error."""
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


def eventually(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def equal(got, wanted):
    assert got == wanted, f"got {got!r:.2000}, wanted {wanted!r:.2000}"


class Skip(Exception):
    pass


def tool(name, package=None):
    """The path of a client that somebody else wrote."""
    path = shutil.which(name) or shutil.which(name, path="/usr/sbin")
    if path is None:
        raise Skip(f"no {name} here (Debian: {package or name})")
    return path


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE * 2, **options)
    assert done.returncode == 0, f"{command} ended with {done.returncode}: {done.stdout!r:.1000} {done.stderr!r:.1000}"
    return done.stdout


def main(cases):
    """Runs the functions, or those of them that are named on the command line; prints one line each, as gtest does."""
    failed = []
    for case in cases:
        if len(sys.argv) > 2 and case.__name__ not in sys.argv[2:]:
            continue
        start = time.monotonic()
        try:
            case(os.path.abspath(sys.argv[1]))
            result = "  OK  "
        except Skip as skip:
            result = " SKIP "
            print(f"         {skip}")
        except Exception:
            traceback.print_exc(file=sys.stdout)
            failed.append(case.__name__)
            result = "FAILED"
        print(f"[{result}] {case.__name__} ({time.monotonic() - start:.2f} s)", flush=True)
    sys.exit(1 if failed else 0)
