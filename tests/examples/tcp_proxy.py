#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# test-timeout: 240
"""tcp_proxy between sockets of this program, and between two socats. Usage: tcp_proxy.py EXECUTABLE [CASE...]"""
import hashlib
import os
import socket
import struct
import subprocess
import threading

from support import PATIENCE, Server, equal, eventually, main, read_all, tool

ANY = "127.0.0.1:0"


def listen(backlog=128):
    listener = socket.create_server(("127.0.0.1", 0), backlog=backlog)
    listener.settimeout(PATIENCE)
    return listener


def name(listener):
    return "%s:%d" % listener.getsockname()


def accept(listener):
    connection = listener.accept()[0]
    connection.settimeout(PATIENCE)
    return connection


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def is_reset(connection):
    try:
        return connection.recv(1) and False
    except ConnectionResetError:
        return True


def carries_both_directions_at_once(program):
    with listen() as backend, Server(program, ANY, name(backend)) as server:
        with server.connect() as client, accept(backend) as target:
            blobs = os.urandom(20_000_000), os.urandom(15_000_000)
            got = [None, None]

            def send(connection, blob):
                connection.sendall(blob)
                connection.shutdown(socket.SHUT_WR)

            def receive(connection, index):
                got[index] = hashlib.sha256(read_all(connection)).digest()
            threads = [threading.Thread(target=send, args=(client, blobs[0])), threading.Thread(target=send, args=(target, blobs[1])),
                       threading.Thread(target=receive, args=(target, 0)), threading.Thread(target=receive, args=(client, 1))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            equal(got, [hashlib.sha256(blob).digest() for blob in blobs])
    assert "to the target: 20000000, back: 15000000, failed: 0" in server.output, server.output


def passes_half_closes_on(program):
    with listen() as backend, Server(program, ANY, name(backend)) as server:
        for first in (True, False):  # the client's direction ends first, or the target's
            with server.connect() as client, accept(backend) as target:
                one, other = (client, target) if first else (target, client)
                one.sendall(b"question")
                one.shutdown(socket.SHUT_WR)
                equal(read_all(other), b"question")
                other.sendall(b"the answer, later")
                other.close()
                equal(read_all(one), b"the answer, later")


def passes_resets_on(program):
    with listen() as backend, Server(program, ANY, name(backend)) as server:
        base = server.descriptors()
        for first in (True, False):
            client, target = server.connect(), accept(backend)
            one, other = (client, target) if first else (target, client)
            one.sendall(b"x")
            equal(other.recv(1), b"x")
            reset(one)
            assert is_reset(other), "it ended as if all was well"
            other.close()
        eventually(lambda: server.descriptors() <= base, "descriptors leak")


def tells_that_the_target_refuses(program):
    with listen() as backend:
        where = name(backend)
    with Server(program, ANY, where) as server:
        for _ in range(100):
            try:
                with server.connect() as client:
                    assert is_reset(client)
            except ConnectionResetError:  # before connect() had returned
                pass
    assert "failed: 100" in server.output, server.output


def gives_up_on_a_target_that_does_not_answer(program):
    with listen(backlog=0) as backend, socket.socket() as filler, socket.socket() as second:
        for one in (filler, second):  # the queue is full: the kernel drops further attempts
            one.setblocking(False)
            one.connect_ex(backend.getsockname())
        with Server(program, "--dial", "300", ANY, name(backend)) as server, server.connect() as client:
            assert is_reset(client)


def ends_silent_connections_only(program):
    with listen() as backend, Server(program, "--idle", "1000", ANY, name(backend)) as server:
        with server.connect() as silent, accept(backend) as _, server.connect() as busy, accept(backend) as talker:
            got = bytearray()
            silent.settimeout(0.05)
            ended = False
            while not ended:  # only one direction of this connection is used
                talker.sendall(b"t")
                got += busy.recv(1)
                try:
                    ended = silent.recv(1) == b""
                except TimeoutError:
                    continue
                except ConnectionResetError:
                    ended = True
            talker.sendall(b"still")
            equal(busy.recv(5), b"still")


def lets_connections_end(program):
    with listen() as backend, Server(program, ANY, name(backend)) as server:
        with server.connect() as client, accept(backend) as target:
            client.sendall(b"before")
            equal(target.recv(6), b"before")
            base = server.descriptors()
            server.stop()
            eventually(lambda: server.descriptors() < base, "it listens after SIGTERM")
            with socket.socket() as late:
                assert late.connect_ex(server.address) != 0, "it accepts after SIGTERM"
            client.sendall(b"after")
            equal(target.recv(5), b"after")
    with listen() as backend, Server(program, "--grace", "200", ANY, name(backend)) as server:
        with server.connect() as client, accept(backend) as target:
            client.sendall(b"before")
            equal(target.recv(6), b"before")
            server.stop()
            assert is_reset(client), "cut off without a sign"
    assert "cut off" in server.errors, server.errors


def stands_between_two_socats(program):
    socat = tool("socat")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with subprocess.Popen([socat, f"TCP-LISTEN:{port},bind=127.0.0.1,fork,reuseaddr", "EXEC:rev"], stderr=subprocess.PIPE) as backend:
        try:
            def up():
                with socket.socket() as attempt:
                    return attempt.connect_ex(("127.0.0.1", port)) == 0
            eventually(up, "socat does not listen")
            with Server(program, ANY, f"127.0.0.1:{port}") as server:
                text = "".join(f"line {i}\n" for i in range(50_000))
                clients = [subprocess.Popen([socat, "-t60", "-", "TCP:%s:%d" % server.address], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, text=True) for _ in range(4)]
                threads = []
                results = [None] * len(clients)

                def talk(index):
                    results[index] = clients[index].communicate(text, timeout=PATIENCE)[0]
                for index in range(len(clients)):
                    threads.append(threading.Thread(target=talk, args=(index,)))
                    threads[-1].start()
                for thread in threads:
                    thread.join()
                wanted = "".join(line[::-1] + "\n" for line in text.splitlines())
                for result in results:
                    assert result == wanted, f"{len(result or '')} characters instead of {len(wanted)}"
        finally:
            backend.terminate()


if __name__ == "__main__":
    main([carries_both_directions_at_once, passes_half_closes_on, passes_resets_on, tells_that_the_target_refuses,
          gives_up_on_a_target_that_does_not_answer, ends_silent_connections_only, lets_connections_end, stands_between_two_socats])
