# SPDX-License-Identifier: MIT
"""The workloads: one definition each, the same for every system. A system takes part when it has a program for it."""

import dataclasses
from typing import Mapping, Optional, Sequence


@dataclasses.dataclass(frozen=True)
class Metric:
    key: str                # as the programs print it
    title: str
    unit: str
    better: str = "lower"   # or "higher"
    floor: float = 0.0      # resolution: anything below counts as this when ratios are formed
    headline: bool = False  # shown in the table of docs/bench/README.md and in the overview picture
    short: str = ""         # the headline's name there


@dataclasses.dataclass(frozen=True)
class Workload:
    name: str
    group: str
    title: str
    program: str
    what: str               # what one reads off the row
    limit: str              # what bounds it physically
    metrics: Sequence[Metric]
    args: Mapping[str, int] = dataclasses.field(default_factory=dict)
    quick: Mapping[str, int] = dataclasses.field(default_factory=dict)   # instead of args under --quick
    procs: Sequence[int] = (1, 2)
    min_procs: int = 1
    max_procs: int = 1024
    overrides: Mapping[str, Mapping[str, int]] = dataclasses.field(default_factory=dict)  # per system, instead of args
    without: Mapping[str, str] = dataclasses.field(default_factory=dict)                  # system -> why it is left out
    only_procs: Mapping[str, Sequence[int]] = dataclasses.field(default_factory=dict)     # system -> its P values
    notes: Mapping[str, str] = dataclasses.field(default_factory=dict)                    # system -> what differs there
    kanal: bool = False     # the Tokio program also has a kanal form
    rounds: Optional[int] = None  # fewer rounds than asked for: deterministic or long rows
    need_mb: int = 0        # free memory without which the row is skipped
    kind: str = "program"   # or one of CLIENTS: a server, driven by a client
    timeout: int = 120

    def arguments(self, system: str, quick: bool) -> dict:
        values = dict(self.args)
        values.update(self.overrides.get(system, {}))
        if quick:
            for key, value in self.quick.items():
                values[key] = min(value, values.get(key, value))
        return values

    def takes(self, system: str, procs: int) -> bool:
        if system in self.without or (system == "kanal" and not self.kanal):
            return False
        return procs in self.only_procs.get(system, (procs,))


GROUPS = {
    "switch": "Switching and starting",
    "channels": "Channels",
    "together": "Sharing channels and locks",
    "parallel": "Fork-join and parallel work",
    "memory": "Memory",
    "time": "Timers, waking, idling",
    "sharing": "Fairness and blocking calls",
    "io": "Network",
}

# Kinds of rows in which a client drives a server, and how to get the client.
CLIENTS = {"echo": "raw/echo_client did not build", "http": "apt-get install wrk"}

NO_RENDEZVOUS = "Tokio has no unbuffered channel: mpsc(1)"
JOIN_SUMS = "no channels: each node sums what its children return"
GO_ANNOUNCES = "syscall.Nanosleep: Go announces every system call by itself"


def per_operation(title):
    """What a Meter reports."""
    return [Metric("ns", title, "ns"), Metric("cpu_ns", title + ", CPU", "ns")]


def wake_calls(us):
    return Workload(
        "wake-calls-%dus" % us, "sharing", "two announced calls of %d us" % us, "wake_calls",
        what="a task starts another, both block their thread for %d us in an announced call, then they meet" % us,
        limit="the call itself, which the kernel's timer ends 50 to 90 us late; one after the other they take twice that",
        metrics=per_operation("two announced %d us calls, side by side" % us),
        args={"count": 3_000, "delay-us": us}, quick={"count": 100}, procs=(2,), notes={"go": GO_ANNOUNCES})


def plain_calls(ms, announced):
    kind = "announced" if announced else "plain"
    return Workload(
        "%s-calls-%dms" % (kind, ms), "sharing", "%s calls of %d ms" % (kind, ms), "plain_calls",
        what="200 tasks block their thread for %d ms again and again%s; another task wakes every millisecond" % (
            ms, ", announced as blocking" if announced else " without announcing it"),
        limit="%d calls/s if every task had a thread; the tick: the kernel's timer" % (200 * 1000 // ms),
        metrics=[Metric("calls_per_s", "%s %d ms calls" % (kind, ms), "/s", "higher"),
                 Metric("late_p99_ms", "tick beside %s %d ms calls, late p99" % (kind, ms), "ms"),
                 Metric("late_max_ms", "tick beside %s %d ms calls, latest" % (kind, ms), "ms")],
        args={"tasks": 200, "call-us": ms * 1000, "ms": 2_000, "announced": int(announced)},
        quick={"tasks": 20, "ms": 100}, procs=(1, 2, 4), notes={"go": GO_ANNOUNCES})


WORKLOADS = [
    Workload(
        "yield-1", "switch", "yield, one task", "yield",
        what="one task yields with nobody else to run",
        limit="a function call: a scheduler may notice that nothing else is ready. The raw column is a real switch.",
        metrics=[Metric("ns", "yield, 1 task", "ns", headline=True)],
        args={"tasks": 1, "count": 5_000_000}, quick={"count": 50_000},
        overrides={"threads": {"count": 200_000}, "tokio": {"count": 1_000_000}, "asio": {"count": 1_000_000}},
        only_procs={"raw": (1,)}, notes={"raw": "a bare switch between two stacks"}),
    Workload(
        "yield-2", "switch", "yield, two tasks", "yield",
        what="two tasks yield to each other; with two Ps each may have one to itself",
        limit="one context switch: saving and loading the callee-saved registers and one mispredicted return",
        metrics=[Metric("ns", "yield, 2 tasks", "ns", headline=True)],
        args={"tasks": 2, "count": 1_000_000}, quick={"count": 20_000},
        overrides={"threads": {"count": 100_000}},
        only_procs={"raw": (1,)}, notes={"raw": "a bare switch between two stacks"}),
    Workload(
        "yield-1000", "switch", "yield, 1000 tasks", "yield",
        what="1000 tasks yield in turn: the same with stacks that no longer fit the first-level cache",
        limit="one switch plus the cache misses of the next stack",
        metrics=[Metric("ns", "yield, 1000 tasks", "ns", headline=True)],
        args={"tasks": 1000, "count": 2000}, quick={"count": 20},
        overrides={"threads": {"count": 200}},
        only_procs={"raw": (1,)}, notes={"raw": "a bare switch along a chain of 1000 stacks"}),
    Workload(
        "spawn", "switch", "spawn a million", "spawn",
        what="a million empty tasks are started, then all waited for",
        limit="allocating and freeing a closure, about 10 ns; a task that gets a fresh stack pays 2 us for its first page",
        metrics=[Metric("warm_ns", "spawn 1 M, warm", "ns", headline=True),
                 Metric("cold_ns", "spawn 1 M, cold", "ns")],
        args={"tasks": 1_000_000}, quick={"tasks": 20_000},
        overrides={"fiber": {"tasks": 100_000}},
        only_procs={"raw": (1,)},
        notes={"raw": "malloc, link, call, free", "fiber": "100,000 tasks: a million need 8 GB of stacks"}),
    Workload(
        "spawn-burst", "switch", "spawn in bursts of 100", "spawn",
        what="a hundred empty tasks are started and waited for, again and again",
        limit="as spawn, but everything stays in the cache",
        metrics=[Metric("warm_ns", "spawn, bursts of 100", "ns")],
        args={"tasks": 1_000_000, "burst": 100}, quick={"tasks": 20_000},
        only_procs={"raw": (1,)}, notes={"raw": "malloc, link, call, free"}),
    Workload(
        "spawn-join", "switch", "spawn and join", "spawn_join",
        what="one task is started and waited for, again and again",
        limit="two switches, or one call when the unstarted child may run inside the join",
        metrics=[Metric("ns", "spawn + join", "ns", headline=True)],
        args={"count": 1_000_000}, quick={"count": 20_000},
        overrides={"threads": {"count": 10_000}}),
    Workload(
        "pingpong", "channels", "ping-pong", "pingpong",
        what="a round trip between two tasks over two unbuffered channels",
        limit="two context switches on one core, two cache-line transfers between cores",
        metrics=[Metric("ns", "channel ping-pong, round trip", "ns", headline=True, short="ping-pong")],
        args={"count": 1_000_000}, quick={"count": 20_000}, kanal=True,
        overrides={"threads": {"count": 100_000}},
        notes={"tokio": NO_RENDEZVOUS, "raw": "P1: two bare switches; P2: two spinning threads pass a cache line",
               "threads": "two semaphores"}),
    Workload(
        "buffered-1-1", "channels", "buffered channel, 1 to 1", "buffered",
        what="integers through a channel of 128 places, one sender, one receiver",
        limit="a ring of two indices: about 1 ns on one core, 2 to 10 ns between cores",
        metrics=[Metric("ns", "buffered channel 1:1, per item", "ns", headline=True, short="buffered 1:1")],
        args={"producers": 1, "consumers": 1, "capacity": 128, "count": 4_000_000}, quick={"count": 50_000}, kanal=True,
        notes={"raw": "single-producer single-consumer ring"}),
    Workload(
        "buffered-4-4", "channels", "buffered channel, 4 to 4", "buffered",
        what="the same with four senders and four receivers",
        limit="every item is at least one atomic read-modify-write on a shared line",
        metrics=[Metric("ns", "buffered channel 4:4, per item", "ns", headline=True, short="buffered 4:4")],
        args={"producers": 4, "consumers": 4, "capacity": 128, "count": 4_000_000}, quick={"count": 50_000}, kanal=True,
        without={"tokio": "Tokio's mpsc has one receiver", "raw": "the ring is for one sender and one receiver"}),
    Workload(
        "select", "channels", "select", "select",
        what="one receiver selects between two unbuffered channels with a sender each",
        limit="one switch and one queue operation per channel looked at",
        metrics=[Metric("ns", "select of 2 channels", "ns", headline=True)],
        args={"count": 1_000_000}, quick={"count": 20_000}, notes={"tokio": NO_RENDEZVOUS}),
    Workload(
        "sieve", "channels", "prime sieve", "sieve",
        what="the first 2000 primes by a growing chain of filter tasks: 2.8 million messages",
        limit="messages times the cost of a rendezvous, divided by the cores",
        metrics=[Metric("s", "prime sieve, 2000 primes", "s", headline=True, short="sieve")],
        args={"primes": 2000}, quick={"primes": 200}, kanal=True, notes={"tokio": NO_RENDEZVOUS}),
    Workload(
        "ring", "channels", "ring of 10,000", "ring",
        what="a token goes round 10,000 tasks that all wait: one hop",
        limit="one switch to a stack that has left the near caches",
        metrics=[Metric("ns", "ring of 10,000 tasks, per hop", "ns", headline=True, short="ring")],
        args={"tasks": 10_000, "hops": 1_000_000}, quick={"tasks": 500, "hops": 20_000}, kanal=True,
        notes={"tokio": NO_RENDEZVOUS}),
    Workload(
        "mutex", "channels", "mutex", "mutex",
        what="eight tasks lock one mutex, add one, unlock",
        limit="one atomic exchange when nobody else is there, a line transfer when somebody is",
        metrics=[Metric("ns", "mutex, 8 tasks", "ns", headline=True)],
        args={"tasks": 8, "count": 1_000_000}, quick={"count": 20_000},
        only_procs={"raw": (1,)},
        notes={"tokio": "tokio::sync::Mutex, which can wait without blocking its thread",
               "raw": "one exchange, one store, no contention"}),
    Workload(
        "count", "together", "one mailbox", "count",
        what="a producer fills a mailbox of 1024 places, a counter empties it",
        limit="as buffered-1-1",
        metrics=per_operation("mailbox of 1024, per message"),
        args={"count": 1_000_000, "capacity": 1024}, quick={"count": 20_000}),
    Workload(
        "popular", "together", "a popular channel", "popular",
        what="1000 tasks select between a channel that all share and one of their own; one sender serves their own in turn",
        limit="a switch, and entering and leaving two queues: leaving the shared one must not search its 1000 waiters",
        metrics=per_operation("select beside 1000 others, per message"),
        args={"tasks": 1000, "rounds": 300}, quick={"tasks": 100, "rounds": 20}),
    Workload(
        "token-ring-4", "together", "four tokens in a ring of 256", "token_ring",
        what="four tokens go round 256 tasks over unbuffered channels: one hop",
        limit="a switch on one core; with two, a line transfer whenever a token changes cores",
        metrics=per_operation("ring of 256 tasks with 4 tokens, per hop"),
        args={"tokens": 4, "cycles": 1024}, quick={"cycles": 20}),
    Workload(
        "big", "together", "random pings", "big",
        what="120 tasks ping random others and wait for the answer",
        limit="two messages and about two switches",
        metrics=per_operation("random ping among 120 tasks"),
        args={"tasks": 120, "pings": 2000}, quick={"tasks": 30, "pings": 50}),
    Workload(
        "bounded-buffer", "together", "bounded buffer", "bounded_buffer",
        what="40 producers and 40 consumers, 1 us of work an item on each side, around a manager with a buffer of 50",
        limit="2 us of work an item, divided by the cores, or the manager's two selects, whichever is more",
        metrics=per_operation("bounded buffer 40:40, per item"),
        args={"pairs": 40, "items": 1000, "work-us": 1, "buffer": 50}, quick={"pairs": 8, "items": 50}),
    Workload(
        "create", "together", "actors for one message", "create",
        what="40,000 tasks are started; each gets one message over a channel of its own and computes 100 steps",
        limit="spawn, a channel's allocation, one message and 0.1 us of work, divided by the cores",
        metrics=per_operation("actor for one message"),
        args={"tasks": 40_000, "steps": 100, "rounds": 5}, quick={"tasks": 2_000, "rounds": 2}),
    Workload(
        "banking", "together", "banking", "banking",
        what="transfers between 1000 accounts, 500 at a time; an account debits itself, tells the other and waits",
        limit="four messages and about four switches, divided by the cores",
        metrics=per_operation("transfer between 1000 accounts"),
        args={"tasks": 1000, "count": 50_000, "open": 500}, quick={"tasks": 100, "count": 2_000, "open": 50}),
    Workload(
        "smokers", "together", "smokers", "smokers",
        what="an arbiter tells one of 200 tasks to compute for up to 1 us and waits until that task has begun",
        limit="two switches and 0.5 us of work; with two Ps the arbiter may go on meanwhile",
        metrics=per_operation("smokers, per round"),
        args={"tasks": 200, "count": 20_000, "steps": 1000}, quick={"tasks": 50, "count": 1_000}),
    Workload(
        "skynet", "parallel", "skynet", "skynet",
        what="a tree of 1,111,111 tasks with ten children each that report over a channel",
        limit="tasks times spawn, channel and end, divided by the cores",
        metrics=[Metric("warm_s", "skynet, 1 M leaves, warm", "s", headline=True, short="skynet"),
                 Metric("cold_s", "skynet, 1 M leaves, cold", "s")],
        args={"leaves": 1_000_000}, quick={"leaves": 10_000}, kanal=True,
        without={"fiber": "about 9 s and 10 GB of stacks"},
        notes={"tokio": NO_RENDEZVOUS, "tbb": JOIN_SUMS}),
    Workload(
        "fib", "parallel", "fork-join fib(27)", "fib",
        what="fib(27) with a task for every call, no cut-off: the cost of one task in a deep tree",
        limit="a call and a queue operation; the work itself is 2 ns",
        metrics=[Metric("warm_ns", "fib(27), per task, warm", "ns", headline=True, short="fork-join fib"),
                 Metric("cold_ns", "fib(27), per task, cold", "ns")],
        args={"n": 27}, quick={"n": 15}, overrides={"fiber": {"n": 23}},
        notes={"fiber": "fib(23)"}),
    Workload(
        "fanout-1us", "parallel", "fan-out 1000 x 1 us", "fanout",
        what="1000 tasks of 1 us each: speed-up over a loop",
        limit="the number of Ps, less the tens of microseconds until a sleeping core is awake",
        metrics=[Metric("speedup", "fan-out 1000 x 1 us, speed-up", "x", "higher", headline=True, short="fan-out 1000 x 1 us")],
        args={"tasks": 1000, "work-us": 1, "repeat": 100}, quick={"repeat": 5}, procs=(2,), min_procs=2,
        notes={"raw": "threads that never sleep, one atomic counter"}),
    Workload(
        "fanout-10us", "parallel", "fan-out 1000 x 10 us", "fanout",
        what="1000 tasks of 10 us each: speed-up over a loop",
        limit="the number of Ps",
        metrics=[Metric("speedup", "fan-out 1000 x 10 us, speed-up", "x", "higher", headline=True, short="fan-out 1000 x 10 us")],
        args={"tasks": 1000, "work-us": 10, "repeat": 20}, quick={"repeat": 2}, procs=(2,), min_procs=2,
        notes={"raw": "threads that never sleep, one atomic counter"}),
    Workload(
        "fanout-2x200us", "parallel", "fan-out 2 x 200 us", "fanout",
        what="two tasks of 200 us, the other core asleep: speed-up over a loop",
        limit="20 to 50 us to wake a core: 1.6 to 1.8",
        metrics=[Metric("speedup", "fan-out 2 x 200 us, speed-up", "x", "higher")],
        args={"tasks": 2, "work-us": 200, "repeat": 300}, quick={"repeat": 20}, procs=(2,), min_procs=2,
        notes={"raw": "threads that never sleep, one atomic counter"}),
    Workload(
        "loops", "parallel", "parallel loops", "loops",
        what="loops without a grain: a million iterations of 10 ns; 2000 of 0 to 20 us, the long ones last; 1000 of 1 ns; a sum of four million",
        limit="the number of Ps; for the loop of a microsecond, starting nobody",
        metrics=[Metric("even_speedup", "loop of 1 M x 10 ns, speed-up", "x", "higher"),
                 Metric("uneven_speedup", "loop of 2000 x 0 to 20 us, speed-up", "x", "higher"),
                 Metric("short_ns", "loop of 1000 x 1 ns", "ns"),
                 Metric("reduce_speedup", "sum of 4 M, speed-up", "x", "higher")],
        args={"repeat": 20}, quick={"repeat": 2}, procs=(2,), min_procs=2),
    Workload(
        "half", "parallel", "spawn 500 us, compute 500 us, join", "half",
        what="one task is started, its parent computes as long, then joins: does the other core take the task?",
        limit="the wake-up of a core: about 1.9",
        metrics=[Metric("speedup", "spawn one 500 us task, compute 500 us: speed-up", "x", "higher", headline=True,
                        short="spawn one, compute, join")],
        args={"work-us": 500, "repeat": 200}, quick={"repeat": 10}, procs=(2,), min_procs=2),
    Workload(
        "busy", "parallel", "one busy core", "busy",
        what="one task computes, nothing else to do: what the runtime burns on the other cores",
        limit="nothing: 0 %. Looking whether work has come costs something.",
        metrics=[Metric("beyond_percent", "CPU beyond one busy core", "%", floor=0.05)],
        args={"ms": 1000}, quick={"ms": 100}, procs=(2,), min_procs=2),
    Workload(
        "parked", "memory", "a million parked tasks", "parked",
        what="a million tasks wait for one event: resident memory and time to make them, to end them, and what stays",
        limit="a task with a stack of its own has at least one page, 4096 bytes, and its first touch costs 2 us; "
              "stackless tasks have neither",
        metrics=[Metric("bytes", "parked task, resident", "B", headline=True, short="bytes per parked task"),
                 Metric("create_ns", "parked task, create", "ns"),
                 Metric("exit_ns", "parked task, wake and end", "ns"),
                 Metric("after_mb", "resident 10 s after all ended", "MB")],
        args={"tasks": 1_000_000, "settle-ms": 10_000}, quick={"tasks": 5_000, "settle-ms": 100},
        overrides={"fiber": {"tasks": 100_000}, "threads": {"tasks": 5_000}},
        procs=(2,), rounds=3, need_mb=8_000,
        notes={"raw": "one private page, touched once", "fiber": "100,000 tasks", "threads": "5000 threads",
               "tokio": "stackless", "asio": "stackless"}),
    Workload(
        "sleepers-1k", "time", "1000 sleepers", "sleepers",
        what="1000 tasks sleep ten times for random 1 to 50 ms: how late they wake, and the CPU time",
        limit="the kernel's timer: 50 to 90 us late when every sleep is a system call",
        metrics=[Metric("late_p50_us", "1000 sleepers, late p50", "us", headline=True, short="timer lateness p50"),
                 Metric("late_p99_us", "1000 sleepers, late p99", "us"),
                 Metric("cpu_s", "1000 sleepers, CPU", "s")],
        args={"tasks": 1000, "count": 10}, quick={"tasks": 100, "count": 2}, procs=(2,)),
    Workload(
        "sleepers-100k", "time", "100,000 sleepers", "sleepers",
        what="the same with 100,000 tasks: a million timers in half a second",
        limit="about 0.45 s if no wake-up were late: ten sleeps take 0.26 s on average, the longest sum of 100,000 decides",
        metrics=[Metric("wall_s", "100,000 sleepers, wall", "s"),
                 Metric("cpu_s", "100,000 sleepers, CPU", "s"),
                 Metric("late_p99_us", "100,000 sleepers, late p99", "us")],
        args={"tasks": 100_000, "count": 10}, quick={"tasks": 2_000, "count": 2}, procs=(2,),
        without={"threads": "100,000 threads", "fiber": "its sleep queue is a sorted list under one lock"}, need_mb=2_000),
    Workload(
        "timers", "time", "a million timers", "timers",
        what="create a million timers, stop them, then create and stop one at a time",
        limit="an allocation and a heap or wheel operation; most of a million heap entries are out of the cache",
        metrics=[Metric("create_ns", "timer, create", "ns"),
                 Metric("stop_ns", "timer, stop", "ns"),
                 Metric("churn_ns", "timer, create and stop", "ns", headline=True)],
        args={"count": 1_000_000}, quick={"count": 20_000}, procs=(2,),
        overrides={"asio": {"count": 200_000}}, notes={"asio": "200,000 timers"}),
    Workload(
        "wake-2ms", "time", "wake from 2 ms of quiet", "wake",
        what="every core has slept for 2 ms, then A wakes B and goes on computing: time until B runs elsewhere",
        limit="a futex wake of a sleeping core: 20 to 50 us",
        metrics=[Metric("p50_us", "wake after 2 ms idle, p50", "us", headline=True, short="wake an idle core, p50"),
                 Metric("p99_us", "wake after 2 ms idle, p99", "us")],
        args={"count": 200, "gap-us": 2000, "sleep": 1}, quick={"count": 20}, procs=(2,), min_procs=2,
        notes={"raw": "two threads pinned to two CPUs",
               "threads": "not pinned: the kernel often puts the woken thread behind its waker"}),
    Workload(
        "wake-20us", "time", "wake after 20 us", "wake",
        what="A computes for 20 us, wakes B, goes on computing: time until B runs elsewhere",
        limit="nothing if the other core still spins, a futex wake if it sleeps",
        metrics=[Metric("p50_us", "wake after 20 us, p50", "us"),
                 Metric("p99_us", "wake after 20 us, p99", "us")],
        args={"count": 200, "gap-us": 20, "sleep": 0}, quick={"count": 20}, procs=(2,), min_procs=2,
        notes={"raw": "two threads pinned to two CPUs"}),
    Workload(
        "idle", "time", "idle process", "idle",
        what="CPU time of a process with 10,000 waiting tasks",
        limit="0: nothing has to happen",
        metrics=[Metric("cpu_ms_per_s", "idle with 10,000 parked tasks, CPU", "ms/s", floor=0.1, headline=True,
                        short="idle CPU")],
        args={"tasks": 10_000, "ms": 2000}, quick={"tasks": 500, "ms": 100}, procs=(2,)),
    Workload(
        "tick", "time", "one wake-up per millisecond", "tick",
        what="CPU time of a process in which one task wakes every millisecond, and its lateness",
        limit="a thread in nanosleep: about 20 ms of CPU per second",
        metrics=[Metric("cpu_ms_per_s", "1 ms tick, CPU", "ms/s", headline=True),
                 Metric("late_p50_us", "1 ms tick, late p50", "us")],
        args={"ms": 1500}, quick={"ms": 100}, procs=(2,)),
    Workload(
        "preempt", "sharing", "hogs", "preempt",
        what="as many tasks as Ps compute without calling the runtime; another wants to wake every millisecond. A missed "
             "tick counts with its full lateness.",
        limit="OS threads: 0.1 ms. A runtime waits for its time slice, 10 ms.",
        metrics=[Metric("late_p50_ms", "tick beside hogs, late p50", "ms", headline=True, short="1 ms tick beside hogs"),
                 Metric("late_p99_ms", "tick beside hogs, late p99", "ms")],
        args={"ms": 2000}, quick={"ms": 200}, procs=(2,),
        notes={"tokio": "does not preempt: until the hogs end", "fiber": "does not preempt: until the hogs end"}),
    Workload(
        "blocking", "sharing", "blocking calls beside CPU work", "blocking",
        what="two computing tasks beside eight that block a thread for 1 ms again and again: how much computing is left",
        limit="OS threads keep 85 to 90 %: every blocking call costs the kernel two switches",
        metrics=[Metric("kept_percent", "CPU work kept beside 8 blockers", "%", "higher", headline=True,
                        short="work kept beside blocking calls"),
                 Metric("calls_per_s", "blocking calls", "/s", "higher")],
        args={"blockers": 8, "ms": 1000}, quick={"ms": 100}, procs=(2,),
        notes={"fiber": "cannot announce a blocking call", "tokio": "spawn_blocking"}),
    Workload(
        "blocking-short", "sharing", "short blocking calls", "blocking_short",
        what="getpid announced as a call that may block: cost beyond the call, and sleeps of any thread per 1000 calls",
        limit="an atomic operation each way",
        metrics=[Metric("beyond_ns", "blocking(getpid) beyond the call", "ns", floor=1, headline=True,
                        short="short blocking call"),
                 Metric("switches", "thread sleeps per 1000 short calls", "", floor=1)],
        args={"count": 100_000}, quick={"count": 5_000},
        overrides={"tokio": {"count": 50_000}},
        notes={"tokio": "P1 spawn_blocking, else block_in_place", "go": "Syscall against RawSyscall"}),
    Workload(
        "tick-reads", "sharing", "1 ms tick beside blocking reads", "tick_reads",
        what="eight tasks wait in blocking reads of pipes that get a byte every 3 ms; another wakes every millisecond",
        limit="OS threads: the kernel's timer. A runtime whose P sits in a read finds out after its monitor's next look.",
        metrics=[Metric("late_p99_ms", "tick beside blocking reads, late p99", "ms"),
                 Metric("late_max_ms", "tick beside blocking reads, latest", "ms")],
        args={"ms": 2000, "readers": 8, "period-us": 3000}, quick={"ms": 100}, procs=(2,)),
    *(wake_calls(us) for us in (5, 20, 100)),
    *(plain_calls(ms, announced) for announced in (False, True) for ms in (2, 5)),
    Workload(
        "hog-pairs", "sharing", "pairs of hogs", "hog_pairs",
        what="two tasks hand over to each other after every 1 ms of computing, two others after every 1 us, all on one P: "
             "how many times more computing the favoured pair gets",
        limit="1: both pairs get the same",
        metrics=[Metric("unfairness", "computing of one pair against the other", "x", floor=1)],
        args={"heavy": 1_000_000, "light": 1_000, "ms": 1_000}, quick={"heavy": 100_000, "ms": 100},
        procs=(1,), max_procs=1),
    Workload(
        "echo", "io", "TCP echo", "echo", kind="echo",
        what="64 connections send 1 KiB and wait for it; server on one P and one CPU, the client on another CPU",
        limit="two system calls per message; the epoll loop in C++ is the floor",
        metrics=[Metric("messages_per_s", "TCP echo", "msg/s", "higher", headline=True),
                 Metric("server_us", "TCP echo, server CPU per message", "us"),
                 Metric("server_busy_percent", "TCP echo, of its CPU the server uses", "%", "higher"),
                 Metric("trip_p99_us", "TCP echo, round trip p99", "us")],
        args={"connections": 64, "size": 1024, "ms": 1500}, quick={"connections": 8, "ms": 100},
        procs=(1,), max_procs=1, notes={"raw": "one thread around epoll", "threads": "a thread per connection"}),
    Workload(
        "echo-idle", "io", "TCP echo beside 10,000 idle connections", "echo", kind="echo",
        what="the same before and after 10,000 more connections have sent one message each and fallen silent: what a silent one costs, "
             "and whether the others feel them",
        limit="a page for the stack of whoever waits; stackless tasks need some hundred bytes. 1: nobody feels them",
        metrics=[Metric("idle_kib", "idle connection, resident", "KiB", floor=0.1, headline=True),
                 Metric("p99_ratio", "round trip p99 beside 10,000 idle connections, against without", "x", floor=1),
                 Metric("trip_p99_us", "round trip p99 beside 10,000 idle connections", "us")],
        args={"connections": 64, "size": 1024, "ms": 1000, "idle": 10_000}, quick={"connections": 8, "ms": 100, "idle": 500},
        procs=(1,), max_procs=1, without={"threads": "10,000 threads"},
        notes={"raw": "one thread around epoll, one buffer for all"}),
    Workload(
        "http", "io", "HTTP", "http", kind="http",
        what="`wrk -t1 -c64` asks for a short text and gets it with Date, Content-Type and Content-Length; server on one P and one CPU, "
             "wrk on another CPU",
        limit="two system calls per request; the epoll loop that answers without reading is the floor",
        metrics=[Metric("requests_per_s", "HTTP, requests", "req/s", "higher", headline=True, short="HTTP requests"),
                 Metric("server_us", "HTTP, server CPU per request", "us"),
                 Metric("p99_us", "HTTP, latency p99", "us")],
        args={"connections": 64, "seconds": 2}, quick={"connections": 8, "seconds": 1},
        procs=(1,), max_procs=1,
        notes={"weft": "examples/http_server.cpp, with its limits and time-outs", "go": "net/http, without time-outs",
               "raw": "one thread around epoll, the same bytes for whatever it reads"}),
]

BY_NAME = {workload.name: workload for workload in WORKLOADS}
