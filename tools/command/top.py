#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Shows a running program in the terminal, refreshed: top.py PID|URL [--once]."""
import json
import os
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request


def listening_ports(pid):
    """TCP ports on which the process listens on this machine's loopback address."""
    inodes = set()
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            match = re.match(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{name}"))
        except OSError:
            continue
        if match:
            inodes.add(match.group(1))
    ports = []
    for file, loopback in (("tcp", "0100007F"), ("tcp6", "00000000000000000000000001000000")):
        try:
            with open(f"/proc/{pid}/net/{file}", encoding="ascii") as lines:
                rows = [line.split() for line in lines][1:]
        except OSError:
            continue
        for row in rows:
            address, port = row[1].split(":")
            if row[3] == "0A" and row[9] in inodes and address in (loopback, "0" * len(loopback)):
                ports.append(("[::1]" if file == "tcp6" else "127.0.0.1", int(port, 16)))
    return ports


def ask(url):
    parts = urllib.parse.urlsplit(url)
    with urllib.request.urlopen(parts._replace(path="/data").geturl(), timeout=5) as answer:
        return json.load(answer)


def address_of(target):
    if not target.isdigit():
        return target if "://" in target else "http://" + target
    try:
        ports = listening_ports(target)
    except OSError as error:
        sys.exit(f"weft top: process {target}: {error.strerror}")
    token = os.environ.get("WEFT_DEBUG_TOKEN")
    for host, port in ports:
        url = f"http://{host}:{port}/" + (f"?token={urllib.parse.quote(token)}" if token else "")
        try:
            if "groups" in ask(url):
                return url
        except (OSError, ValueError):
            continue
    sys.exit(f"weft top: process {target} has no debug server; start it with WEFT_DEBUG_ADDR=127.0.0.1:0, "
             "or call weft::debug::serve() in it")


def printable(text):
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in str(text))


def duration(ms):
    return f"{ms} ms" if ms < 1000 else f"{ms / 1000:.1f} s" if ms < 120_000 else f"{ms // 60_000} min"


def screen(data, last):
    now = data["now"]
    seconds = max(now["time_ms"] - last["time_ms"], 1) / 1000 if last else 0
    rate = lambda name: f"{(now[name] - last[name]) / seconds:.0f}/s" if last else "-"
    used = f"{(now['cpu_ms'] - last['cpu_ms']) / 1000 / seconds:.2f}" if last else "-"
    lines = [f"{printable(data['program'])} ({data['pid']})  {data['maxprocs']} processors, policy {printable(data['policy'])}",
             f"goroutines {now['goroutines']}: {now['running']} running, {now['runnable']} runnable, {now['waiting']} waiting, "
             f"{now['in_call']} in calls    CPUs {used}    threads {now['threads']}",
             f"started {rate('spawns')}  switches {rate('switches')}  steals {rate('steals')}  preemptions {rate('preemptions')}",
             "", f"{'COUNT':>8}  {'STATE':<24}  {'LONGEST':>9}  STARTED AT"]
    for group in data["groups"]:
        lines.append(f"{group['count']:>8}  {printable(group['state']):<24}  {duration(group['longest_ms']):>9}  "
                     f"{printable(group['site']) or '?'}")
    return lines


def main():
    targets = [argument for argument in sys.argv[1:] if argument != "--once"]
    if len(targets) != 1:
        sys.exit("usage: weft top PID|URL [--once]")
    once = len(targets) != len(sys.argv) - 1 or not sys.stdout.isatty()
    url, last = address_of(targets[0]), None
    while True:
        try:
            data = ask(url)
        except urllib.error.HTTPError as error:
            sys.exit(f"weft top: {error.read().decode(errors='replace').strip()}")
        except (OSError, ValueError) as error:
            sys.exit(f"weft top: no answer: {error}")
        size = os.get_terminal_size() if sys.stdout.isatty() else None
        lines = screen(data, last)
        if size:
            lines = [line[:size.columns] for line in lines[:size.lines - 1]]
        print(("" if once else "\x1b[H\x1b[2J") + "\n".join(lines), flush=True)
        if once:
            return
        last = data["now"]
        time.sleep(1)


try:
    main()
except KeyboardInterrupt:
    pass
