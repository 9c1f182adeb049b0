#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# test-timeout: 240
"""cluster with a redis-server of its own and workers that are killed. Usage: cluster.py EXECUTABLE [CASE...]"""
import random
import re
import signal
import socket
import subprocess
import tempfile

from support import PATIENCE, eventually, main, run, tool


class Redis:
    """A server on a free port of this machine, with nothing on disk."""

    def __init__(self):
        server = tool("redis-server")
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        self.directory = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen([server, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
                                         "--dir", self.directory.name], stdout=subprocess.DEVNULL)
        eventually(self.answers, "redis-server does not answer")

    def answers(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.directory.cleanup()


class Fleet:
    def __init__(self, program, redis, patience_ms=300):
        self.program, self.redis, self.patience, self.workers, self.number = program, redis, str(patience_ms), [], 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for worker in self.workers:
            worker.kill()
            worker.communicate()

    def start(self):
        self.number += 1
        worker = subprocess.Popen([self.program, "work", self.redis.address, f"w{self.number}", "4", self.patience], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert worker.stdout.readline() == f"w{self.number} works\n"
        self.workers.append(worker)

    def report(self):
        text = run(self.program, "report", self.redis.address).decode()
        return dict((name, int(value)) for name, value in re.findall(r"(\w+) (\d+)", text))

    def produce(self, count):
        return subprocess.Popen([self.program, "produce", self.redis.address, str(count), "200"], stdout=subprocess.DEVNULL)

    def stop(self, worker):
        """Ends it gracefully; how many jobs it has done."""
        worker.send_signal(signal.SIGTERM)
        said, errors = worker.communicate(timeout=PATIENCE)
        assert worker.returncode == 0, (worker.returncode, errors)
        self.workers.remove(worker)
        return int(re.search(r"has done (\d+)", said).group(1))


def loses_nothing_when_workers_are_killed(program):
    count = 3000
    with Redis() as redis, Fleet(program, redis) as fleet:
        for _ in range(3):
            fleet.start()
        producer = fleet.produce(count)
        for kill in range(1, 7):
            eventually(lambda: fleet.report()["results"] >= kill * 200, "no progress")
            victim = random.choice(fleet.workers)
            victim.send_signal(signal.SIGKILL)
            victim.communicate()
            fleet.workers.remove(victim)
            fleet.start()
        assert fleet.report()["results"] < count, "killed too late"
        assert producer.wait(PATIENCE * 2) == 0
        eventually(lambda: fleet.report()["left"] == 0, f"jobs are left: {fleet.report()}")
        for worker in list(fleet.workers):
            fleet.stop(worker)
        said = fleet.report()
        assert said["results"] == count and said["right"] == count and said["left"] == 0, said


def ends_what_it_has_begun_on_sigterm(program):
    count = 1000
    # Nobody claims a job from a slow machine's worker, which would repeat it.
    with Redis() as redis, Fleet(program, redis, patience_ms=600_000) as fleet:
        fleet.start()
        producer = fleet.produce(count)
        done = 0
        for stop in range(1, 4):
            eventually(lambda: fleet.report()["results"] >= stop * 100, "no progress")
            fleet.start()
            done += fleet.stop(fleet.workers[0])
        assert producer.wait(PATIENCE * 2) == 0
        eventually(lambda: fleet.report()["left"] == 0, f"jobs are left: {fleet.report()}")
        done += fleet.stop(fleet.workers[0])
        said = fleet.report()
        assert said["results"] == said["right"] == count, said
        assert said["repeated"] == 0 and done == count, f"a job was left to others: {said}, {done} done"


def says_that_redis_has_gone(program):
    with Redis() as redis, Fleet(program, redis) as fleet:
        fleet.start()
        redis.process.kill()
        _, errors = fleet.workers[0].communicate(timeout=PATIENCE)
        assert fleet.workers[0].returncode == 1 and errors.startswith("cluster: "), errors
    refused = subprocess.run([program, "report", redis.address], capture_output=True, text=True, check=False)
    assert refused.returncode == 1 and "cluster: " in refused.stderr, refused


if __name__ == "__main__":
    main([loses_nothing_when_workers_are_killed, ends_what_it_has_begun_on_sigterm, says_that_redis_has_gone])
