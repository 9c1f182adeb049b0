# SPDX-License-Identifier: MIT
"""Runs programs, interleaved: every round runs each system once on each row, in an order that rotates from round to
round, so that a slow minute of the machine hits all systems alike and cancels out of their ratios."""

import json
import os
import select
import signal
import subprocess
import time


class RunError(Exception):
    pass


def environment(system) -> dict:
    # Nothing that the caller happens to have set may change what is measured.
    clean = {key: value for key, value in os.environ.items()
             if not key.startswith(("WEFT_", "GO", "TOKIO_", "RUST", "MALLOC_", "GLIBC_TUNABLES", "LD_PRELOAD"))}
    clean["LC_ALL"] = "C"
    clean.update(dict(system.environment))
    return clean


def command_line(command, system, procs, arguments) -> list:
    words = list(command)
    for name, value in {"procs": procs, **arguments}.items():
        words += ["--" + name, str(value)]
    return words + list(system.extra)


def parse(text: str) -> dict:
    values = {}
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                entry = json.loads(line)
                values[entry["metric"]] = float(entry["value"])
            except (ValueError, KeyError, TypeError) as error:
                raise RunError("unreadable output: " + line[:80]) from error
    return values


def end(process):
    """Ends the process group that this harness started for the program."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def explain(status: int, stderr: str) -> str:
    lines = [line for line in stderr.strip().splitlines() if line.strip()]
    reason = "killed by signal %d (%s)" % (-status, signal.Signals(-status).name) if status < 0 else "exit status %d" % status
    return reason + (": " + lines[0][:160] if lines else "")


def run_program(command, system, timeout) -> dict:
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                          env=environment(system), start_new_session=True) as process:
        try:
            stdout, stderr = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            end(process)
            process.communicate()
            raise RunError("did not end within %d s" % timeout) from None
        except BaseException:
            end(process)
            raise
    if process.returncode != 0:
        raise RunError(explain(process.returncode, stderr))
    return parse(stdout)


def run_echo(server, client, system, procs, arguments, timeout) -> dict:
    """Server on one CPU, client on another (the definition pins them); the server's CPU time comes from its exit."""
    cpus = sorted(os.sched_getaffinity(0))
    command = command_line(server, system, procs, {"size": arguments["size"]})
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               env=environment(system), start_new_session=True,
                               preexec_fn=lambda: os.sched_setaffinity(0, {cpus[0]}))
    try:
        ready, _, _ = select.select([process.stdout], [], [], 10)
        port = parse(process.stdout.readline()).get("port") if ready else None
        if not port:
            raise RunError("the server did not start")
        words = list(client)
        for name, value in {"port": int(port), **arguments}.items():
            words += ["--" + name, str(value)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=timeout,
                              preexec_fn=lambda: os.sched_setaffinity(0, {cpus[-1]}))
        if done.returncode != 0:
            raise RunError("client: " + explain(done.returncode, done.stderr))
        values = parse(done.stdout)
    except subprocess.TimeoutExpired:
        raise RunError("did not end within %d s" % timeout) from None
    finally:
        end(process)
        process.stdout.close()
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = 0
    messages = values.pop("all_messages")
    values["server_us"] = (usage.ru_utime + usage.ru_stime) * 1e6 / max(messages, 1)
    return values


class Cell:
    """What one system did on one job (a workload, or a point of a curve, at one P)."""

    def __init__(self, system, run):
        self.system = system
        self.run = run          # () -> {metric: value}
        self.samples = []       # (round, {metric: value})
        self.error = ""
        self.failures = 0

    def step(self, number: int):
        if self.failures >= 2:  # it will not recover: leave the time to the others
            return
        try:
            self.samples.append((number, self.run()))
            self.error = ""
        except RunError as error:
            self.failures += 1
            self.error = str(error)


class Job:
    def __init__(self, label, cells, rounds=None):
        self.label = label
        self.cells = cells
        self.rounds = rounds


def measure(jobs, rounds, seconds, progress):
    """At least `rounds` rounds, more until `seconds` have passed. Returns (rounds done, whether it was interrupted)."""
    start = time.monotonic()
    done = 0
    jobs = [job for job in jobs if job.cells]
    if not jobs:
        return 0, False
    try:
        while done < rounds or time.monotonic() - start < seconds:
            for index, job in enumerate(jobs):
                if job.rounds is not None and done >= job.rounds:
                    continue
                turn = done % len(job.cells)
                for cell in job.cells[turn:] + job.cells[:turn]:
                    progress(done, index, len(jobs), job, cell)
                    cell.step(done)
            done += 1
    except KeyboardInterrupt:
        return done, True
    return done, False
