#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a CPU profile says, as a list and as an SVG flame graph: profile.py FILE.pb.gz [--svg OUTPUT] [--top N]."""
import argparse
import gzip
import html
import sys


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(field, number or bytes) of one protocol buffers message."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            raise ValueError("not a profile")
        yield tag >> 3, value


def packed(data):
    at, values = 0, []
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def read(path):
    """[(stack, outermost first; last value)], and the unit."""
    with gzip.open(path) as file:
        top = list(fields(file.read()))
    strings = [value.decode(errors="replace") for field, value in top if field == 6]
    functions, locations = {}, {}
    for field, value in top:
        if field == 5:
            function = dict(fields(value))
            functions[function[1]] = strings[function.get(2, 0)]
    for field, value in top:
        if field == 4:
            location = list(fields(value))
            lines = [dict(fields(v)) for f, v in location if f == 4]
            locations[dict(location)[1]] = [functions[line[1]] for line in reversed(lines)]
    samples = []
    for field, value in top:
        if field == 2:
            parts = list(fields(value))
            stack = [name for f, v in parts if f == 1 for i in reversed(packed(v)) for name in locations[i]]
            samples.append((stack or ["?"], [n for f, v in parts if f == 2 for n in packed(v)][-1]))
    types = [dict(fields(value)) for field, value in top if field == 1]
    return samples, strings[types[-1].get(2, 0)]


def shown(value, unit):
    return f"{value / 1e6:.0f}ms" if unit == "nanoseconds" else str(value)


def printable(text):
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def print_top(samples, unit, count):
    flat, whole, total = {}, {}, sum(value for _, value in samples)
    for stack, value in samples:
        flat[stack[-1]] = flat.get(stack[-1], 0) + value
        for name in set(stack):
            whole[name] = whole.get(name, 0) + value
    print(f"total {shown(total, unit)}\n{'flat':>10} {'flat%':>7} {'cum':>10} {'cum%':>7}")
    for name in sorted(whole, key=lambda n: (-flat.get(n, 0), -whole[n], n))[:count]:
        own = flat.get(name, 0)
        print(f"{shown(own, unit):>10} {100 * own / max(total, 1):6.1f}% {shown(whole[name], unit):>10} "
              f"{100 * whole[name] / max(total, 1):6.1f}%  {printable(name)}")


def write_svg(samples, unit, path, width=1200, height=17):
    root = {"name": "all", "value": 0, "below": {}}
    for stack, value in samples:
        node = root
        node["value"] += value
        for name in stack:
            node = node["below"].setdefault(name, {"name": name, "value": 0, "below": {}})
            node["value"] += value
    boxes, depth = [], 0
    pending = [(root, 0.0, 0)]
    total = max(root["value"], 1)
    while pending:
        node, left, level = pending.pop()
        wide = width * node["value"] / total
        if wide < 0.3:
            continue
        depth = max(depth, level)
        boxes.append((node, left, level, wide))
        for below in node["below"].values():
            pending.append((below, left, level + 1))
            left += width * below["value"] / total
    high = (depth + 1) * height
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{high}" font-family="sans-serif" font-size="11">']
    for node, left, level, wide in boxes:
        name = html.escape(printable(node["name"]))
        hue = sum(map(ord, node["name"])) % 60
        text = name if len(node["name"]) * 6.5 < wide else html.escape(printable(node["name"][:max(0, int(wide / 6.5) - 1)]))
        out.append(f'<g><title>{name}: {shown(node["value"], unit)} ({100 * node["value"] / total:.1f}%)</title>'
                   f'<rect x="{left:.1f}" y="{high - (level + 1) * height}" width="{wide:.1f}" height="{height - 1}" '
                   f'fill="hsl({hue},75%,68%)"/><text x="{left + 3:.1f}" y="{high - level * height - 5}">{text}</text></g>')
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n</svg>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--svg")
    parser.add_argument("--top", type=int, default=20)
    options = parser.parse_args()
    try:
        samples, unit = read(options.file)
    except (OSError, ValueError, IndexError, KeyError, EOFError) as error:
        sys.exit(f"weft profile: {options.file} cannot be read: {error}")
    print_top(samples, unit, options.top)
    if options.svg:
        write_svg(samples, unit, options.svg)


main()
