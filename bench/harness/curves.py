# SPDX-License-Identifier: MIT
"""The curves of --scaling: programs of the workloads, measured over the number of tasks or of Ps."""

import dataclasses
from typing import Mapping, Sequence


@dataclasses.dataclass(frozen=True)
class Scaling:
    """A curve: one metric of a program over the number of tasks (or of Ps)."""
    name: str
    title: str
    program: str
    metric: str
    unit: str
    axis: str                       # "tasks" or "procs"
    points: Sequence[Mapping[str, int]]  # arguments of each point; "x" is its place on the axis
    procs: Sequence[int] = (1, 2)
    systems: Sequence[str] = ("weft", "go", "tokio")
    kanal: bool = False
    limits: Mapping[str, int] = dataclasses.field(default_factory=dict)  # system -> largest x


def _tasks(total, largest=1_000_000, least_rounds=2, **fixed):
    points, x = [], 100
    while x <= largest:
        points.append({"x": x, "tasks": x, "count": max(total // x, least_rounds), **fixed})
        x *= 10
    return points


def _procs(**fixed):
    return [{"x": p, **fixed} for p in (1, 2, 4, 8)]


SCALING = [
    Scaling("yield-tasks", "yield: cost against the number of ready tasks", "yield", "ns", "ns", "tasks",
            _tasks(2_000_000), systems=("weft", "go", "tokio", "fiber"), limits={"fiber": 10_000}),
    Scaling("spawn-tasks", "spawn: cost against the size of the burst", "spawn", "warm_ns", "ns", "tasks",
            [{"x": n, "tasks": max(n, 1_000_000 // n * n), "burst": n} for n in (100, 1000, 10_000, 100_000, 1_000_000)],
            systems=("weft", "go", "tokio", "tbb")),
    Scaling("ring-tasks", "ring: cost of a hop against the number of waiting tasks", "ring", "ns", "ns", "tasks",
            [{"x": n, "tasks": n, "hops": max(1_000_000, 2 * n)} for n in (100, 1000, 10_000, 100_000, 1_000_000)]),
    Scaling("parked-tasks", "parked tasks: resident bytes each", "parked", "bytes", "B", "tasks",
            [{"x": n, "tasks": n, "settle-ms": 0} for n in (100, 1000, 10_000, 100_000, 1_000_000)], procs=(2,)),
    Scaling("mutex-tasks", "mutex: cost against the number of contenders", "mutex", "ns", "ns", "tasks",
            [{"x": n, "tasks": n, "count": 2_000_000 // n} for n in (1, 2, 8, 100, 1000, 10_000)]),
    Scaling("yield-procs", "yield of 1000 tasks against Ps", "yield", "ns", "ns", "procs", _procs(tasks=1000, count=2000)),
    Scaling("spawn-procs", "spawn of a million against Ps", "spawn", "warm_ns", "ns", "procs", _procs(tasks=1_000_000)),
    Scaling("fib-procs", "fork-join fib(27) against Ps", "fib", "warm_ns", "ns", "procs", _procs(n=27),
            systems=("weft", "go", "tokio", "tbb")),
    Scaling("pingpong-procs", "ping-pong against Ps", "pingpong", "ns", "ns", "procs", _procs(count=500_000)),
    Scaling("buffered-procs", "buffered channel 4:4 against Ps", "buffered", "ns", "ns", "procs",
            _procs(producers=4, consumers=4, capacity=128, count=2_000_000), systems=("weft", "go", "kanal")),
    Scaling("mutex-procs", "mutex with 8 tasks against Ps", "mutex", "ns", "ns", "procs", _procs(tasks=8, count=500_000)),
    Scaling("sieve-procs", "prime sieve against Ps", "sieve", "s", "s", "procs", _procs(primes=1000),
            systems=("weft", "go", "tokio", "kanal")),
]
