#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# test-timeout: 240
"""kv_server by redis-cli and redis-benchmark. Usage: kv_server.py EXECUTABLE [CASE...]"""
import re

from support import Server, equal, eventually, main, read_all, run, tool

ANY = "127.0.0.1:0"


def answers_redis_cli(program):
    cli = tool("redis-cli", "redis-tools")
    with Server(program, ANY) as server:
        def ask(*words, **options):
            return run(cli, "-h", server.address[0], "-p", str(server.address[1]), *words, **options)
        equal(ask("SET", "key", "a value"), b"OK\n")
        equal(ask("GET", "key"), b"a value\n")
        equal(ask("INCR", "n"), b"1\n")
        equal(ask("GET", "nothing"), b"\n")
        equal(ask("DEL", "key", "n", "nothing"), b"2\n")
        binary = bytes(range(256)) * 4000
        equal(ask("-x", "SET", "binary", input=binary), b"OK\n")
        equal(ask("GET", "binary"), binary + b"\n")
        pairs = "".join(f"SET k{i} v{i}\r\n" for i in range(5000))
        assert b"errors: 0, replies: 5000" in ask("--pipe", input=pairs.encode())
        equal(ask("DBSIZE"), b"5001\n")


def serves_redis_benchmark(program):
    benchmark = tool("redis-benchmark", "redis-tools")
    with Server(program, ANY) as server:
        base = server.descriptors()
        for pipeline in ("1", "16"):
            said = run(benchmark, "-h", server.address[0], "-p", str(server.address[1]), "-t", "ping_mbulk,set,get,incr", "-n", "20000",
                       "-c", "50", "-r", "1000", "-P", pipeline, "-q").decode()
            equal(len(re.findall(r"requests per second", said)), 4)
        eventually(lambda: server.descriptors() <= base, "descriptors leak")


def refuses_nonsense_and_closes(program):
    with Server(program, ANY) as server:
        for text in (b"*1\r\n$-2\r\n", b"*99999999\r\n", b"*1\r\n:5\r\n", b"*1\r\n$1\r\nabc\r\n", b"a" * 70000, b"*1\r\n$" + b"1" * 70000):
            with server.connect() as connection:
                try:
                    connection.sendall(text)
                    reply = read_all(connection)
                except ConnectionResetError:  # closed with bytes of ours unread
                    continue
                assert reply.startswith(b"-ERR Protocol error"), reply


if __name__ == "__main__":
    main([answers_redis_cli, serves_redis_benchmark, refuses_nonsense_and_closes])
