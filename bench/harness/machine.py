# SPDX-License-Identifier: MIT
"""What a result was measured on."""

import datetime
import os
import platform
import re

from . import systems


def read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def describe() -> dict:
    cpuinfo = read("/proc/cpuinfo")
    model = re.search(r"^(?:model name|CPU part|Model)\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    release = read("/etc/os-release")
    name = re.search(r'^PRETTY_NAME="?([^"\n]+)', release, re.MULTILINE)
    memory = re.search(r"MemTotal:\s+(\d+)", read("/proc/meminfo"))
    virtual = bool(re.search(r"^flags\s*:.*\bhypervisor\b", cpuinfo, re.MULTILINE))
    return {
        "cpu": model.group(1).strip() if model else platform.machine(),
        "architecture": platform.machine(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_gb": round(int(memory.group(1)) / 1e6, 1) if memory else 0,
        "virtual": virtual,
        "kernel": platform.release(),
        "system": name.group(1) if name else platform.system(),
        "governor": read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").strip(),
        "compiler": systems.compiler_version(),
    }


def summary(machine: dict) -> str:
    kind = " VM" if machine.get("virtual") else ""
    return "%d x %s%s, %s GB, Linux %s, %s" % (
        machine["cpus"], machine["cpu"], kind, machine["memory_gb"], machine["kernel"], machine["system"])


def today() -> str:
    return datetime.datetime.now().astimezone().isoformat(timespec="seconds")


def available_mb() -> int:
    found = re.search(r"MemAvailable:\s+(\d+)", read("/proc/meminfo"))
    return int(found.group(1)) // 1000 if found else 1 << 30


class CpuWatch:
    """How much of the machine others used: CPU time of everything that is not ours, and time the hypervisor took."""

    def __init__(self):
        self.start = self._read()

    @staticmethod
    def _read():
        first = read("/proc/stat").splitlines()[0].split()[1:] if read("/proc/stat") else []
        values = [int(value) for value in first] + [0] * 10
        busy = values[0] + values[1] + values[2] + values[5] + values[6]
        times = os.times()
        tick = os.sysconf("SC_CLK_TCK")
        ours = (times.user + times.system + times.children_user + times.children_system) * tick
        return {"busy": busy, "steal": values[7], "total": sum(values[:8]), "ours": ours}

    def report(self) -> dict:
        end = self._read()
        total = max(end["total"] - self.start["total"], 1)
        others = (end["busy"] - self.start["busy"]) - (end["ours"] - self.start["ours"])
        return {"others_percent": round(max(others, 0) * 100 / total, 1),
                "steal_percent": round((end["steal"] - self.start["steal"]) * 100 / total, 1)}
