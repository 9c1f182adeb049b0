# SPDX-License-Identifier: MIT
"""Runs programs, interleaved: every round runs each system once on each row, in an order that rotates from round to
round, so that a slow minute of the machine hits all systems alike and cancels out of their ratios."""

import json
import os
import re
import resource
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


class Server:
    """A server on one CPU; its clients go to another (the definition pins them). Its CPU time comes from its exit."""

    def __init__(self, command, system, announcement, **more):
        self.cpus = sorted(os.sched_getaffinity(0))
        self.command, self.system, self.more = command, system, more
        self.announcement = announcement  # a regular expression for a line of its output; the group is its port
        self.cpu_us = 0.0

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        env=environment(self.system) | self.more, start_new_session=True,
                                        preexec_fn=lambda: (allow_many_descriptors(), os.sched_setaffinity(0, {self.cpus[0]})))
        ready, _, _ = select.select([self.process.stdout], [], [], 10)
        line = self.process.stdout.readline() if ready else ""
        found = re.search(self.announcement, line)
        if not found:
            self.__exit__()
            raise RunError("the server did not start" + (": " + line.strip()[:160] if line else ""))
        self.port = int(found.group(1))
        return self

    def __exit__(self, *_):
        end(self.process)
        self.process.stdout.close()
        _, _, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = 0
        self.cpu_us = (usage.ru_utime + usage.ru_stime) * 1e6

    def drive(self, client, timeout) -> str:
        try:
            done = subprocess.run(client, capture_output=True, text=True, timeout=timeout,
                                  preexec_fn=lambda: (allow_many_descriptors(), os.sched_setaffinity(0, {self.cpus[-1]})))
        except subprocess.TimeoutExpired:
            raise RunError("did not end within %d s" % timeout) from None
        if done.returncode != 0:
            raise RunError("client: " + explain(done.returncode, done.stderr))
        return done.stdout


def allow_many_descriptors():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def run_echo(command, client, system, procs, arguments, timeout) -> dict:
    words = command_line(command, system, procs, {"size": arguments["size"]})
    with Server(words, system, r'"port","value":(\d+)') as server:
        driver = list(client)
        for name, value in {"port": server.port, "server": server.process.pid, **arguments}.items():
            driver += ["--" + name, str(value)]
        used, start = cpu_us_of(server.process.pid), time.monotonic()
        values = parse(server.drive(driver, timeout))
        values["server_busy_percent"] = (cpu_us_of(server.process.pid) - used) / (time.monotonic() - start) / 1e4
    values["server_us"] = server.cpu_us / max(values.pop("all_messages"), 1)
    return values


WRK_UNITS = {"us": 1.0, "ms": 1e3, "s": 1e6, "m": 6e7}


def parse_wrk(text: str) -> dict:
    """Requests per second, their number, and the 99th percentile of `wrk --latency`. Answers that are errors spoil the run."""
    for trouble in ("Socket errors", "Non-2xx or 3xx responses"):
        found = re.search(trouble + r":.*", text)
        if found:
            raise RunError("wrk: " + found.group(0))
    rate = re.search(r"Requests/sec:\s*([\d.]+)", text)
    count = re.search(r"(\d+) requests in ", text)
    late = re.search(r"99%\s+([\d.]+)(us|ms|s|m)\b", text)
    if not (rate and count and late):
        raise RunError("wrk said something else: " + text.strip()[:160])
    return {"requests_per_s": float(rate.group(1)), "requests": float(count.group(1)),
            "p99_us": float(late.group(1)) * WRK_UNITS[late.group(2)]}


def run_http(command, wrk, system, procs, arguments, timeout) -> dict:
    """The server is told the number of Ps by the environment: weft's is one of its examples, with arguments of its own."""
    with Server([*command, "127.0.0.1:0"], system, r"listening on \S+:(\d+)", WEFT_MAXPROCS=str(procs), GOMAXPROCS=str(procs)) as server:
        url = "http://127.0.0.1:%d/plaintext" % server.port
        server.drive([wrk, "-t1", "-c%d" % arguments["connections"], "-d1s", url], timeout)  # not counted
        before = cpu_us_of(server.process.pid)
        values = parse_wrk(server.drive([wrk, "-t1", "-c%d" % arguments["connections"], "-d%ds" % arguments["seconds"], "--latency", url],
                                        timeout))
        used = cpu_us_of(server.process.pid) - before
    values["server_us"] = used / max(values.pop("requests"), 1)
    return values


def cpu_us_of(pid: int) -> float:
    with open("/proc/%d/stat" % pid, encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1e6 / os.sysconf("SC_CLK_TCK")


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
