#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# test-timeout: 240
"""http_server by raw bytes, slow clients, curl, ab, wrk and nginx. Usage: http_server.py EXECUTABLE [CASE...]"""
import hashlib
import os
import re
import socket
import struct
import tempfile
import time
import subprocess

from support import PATIENCE, Server, eventually, equal, main, read_all, run, tool

ANY = "127.0.0.1:0"


def ask(server, request):
    """All that comes back until the server closes; the client keeps its side open."""
    with server.connect() as connection:
        connection.sendall(request)
        return read_all(connection)


def statuses(reply):
    return re.findall(rb"HTTP/1\.1 (\d{3}) ", reply)


def request(path="/plaintext", method="GET", fields="", body=b""):
    return f"{method} {path} HTTP/1.1\r\nHost: a\r\n{fields}\r\n".encode() + body


def answers_pipelined_requests_in_order(program):
    with Server(program, ANY) as server:
        bodies = [os.urandom(i % 50) for i in range(2000)]
        everything = b"".join(request("/echo", "POST", f"Content-Length: {len(b)}\r\n", b) for b in bodies)
        last = request("/plaintext", fields="Connection: close\r\n")
        with server.connect() as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            # Not all at once: a server that is not read from stops reading, and this client would never get to reading.
            reply = b""
            for at in range(0, len(everything), 16384):
                connection.sendall(everything[at:at + 16384])
                reply += connection.recv(1 << 20)
            connection.sendall(last)
            reply += read_all(connection)
        for body in bodies:
            head, _, reply = reply.partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 OK"), head
            assert f"\r\nContent-Length: {len(body)}".encode() in head, head
            equal(reply[:len(body)], body)
            reply = reply[len(body):]
        assert reply.startswith(b"HTTP/1.1 200 OK") and reply.endswith(b"Hello, World!"), reply


def refuses_bad_requests_and_closes(program):
    post = "POST /echo HTTP/1.1\r\nHost: a\r\n"
    smuggled = "0\r\n\r\nGET /plaintext HTTP/1.1\r\nHost: a\r\n\r\n"
    cases = {
        "400": [post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + smuggled,
                post + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n" + smuggled,
                post + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n" + smuggled,
                post + "Content-Length: 5\r\nContent-Length: 5\r\n\r\n" + smuggled,
                post + "Content-Length: 5,5\r\n\r\n" + smuggled,
                post + "Content-Length : 5\r\n\r\n" + smuggled,
                post + "X: a\r\n Content-Length: 5\r\n\r\n" + smuggled,
                post + "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n" + smuggled,
                post + "Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n" + smuggled,
                post + "Transfer-Encoding: chunked\r\n\r\n1\na\r\n" + smuggled,
                post + "Transfer-Encoding: chunked, chunked\r\n\r\n" + smuggled,
                "GET / HTTP/1.1\nHost: a\n\n" + smuggled,
                "GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n" + smuggled,
                "GET / HTTP/1.1\r\n\r\n" + smuggled,
                "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" + smuggled,
                "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n" + smuggled,
                "GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n" + smuggled, "\x16\x03\x01\x02\x00\r\n\r\n"],
        "413": [post + "Content-Length: 1048577\r\n\r\n" + smuggled,
                post + "Content-Length: 99999999999999999999999\r\n\r\n" + smuggled,
                post + "Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFFF\r\n" + smuggled],
        "414": ["GET /" + "a" * 9000 + " HTTP/1.1\r\nHost: a\r\n\r\n" + smuggled, "GET /" + "a" * 9000],
        "417": [post + "Expect: more\r\n\r\n" + smuggled],
        "431": ["GET / HTTP/1.1\r\nHost: a\r\n" + "X: y\r\n" * 101 + "\r\n" + smuggled,
                "GET / HTTP/1.1\r\nHost: a\r\nX: " + "y" * 17000 + "\r\n\r\n" + smuggled,
                "GET / HTTP/1.1\r\nHost: a\r\nX: " + "y" * 17000],
        "501": [post + "Transfer-Encoding: gzip, chunked\r\n\r\n" + smuggled],
        "505": ["GET / HTTP/2.0\r\nHost: a\r\n\r\n" + smuggled, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    }
    with Server(program, ANY) as server:
        for status, requests in cases.items():
            for text in requests:
                reply = ask(server, text.encode("latin-1"))
                assert statuses(reply) == [status.encode()], f"{text[:300]!r}: {reply!r}, not {status}"
                assert b"\r\nConnection: close\r\n" in reply, reply
        base = server.descriptors()
        eventually(lambda: server.descriptors() <= base, "connections were left open")


def answers_methods_and_paths(program):
    with Server(program, ANY) as server:
        close = "Connection: close\r\n"
        for method, path, status in [("DELETE", "/", b"405"), ("POST", "/", b"405"), ("GET", "/echo", b"405"),
                                     ("BREW", "/", b"501"), ("CONNECT", "a:80", b"501"), ("GET", "/nothing", b"404"),
                                     ("GET", "/files/x", b"404"), ("GET", "http://a/plaintext?x", b"200"),
                                     ("GET", "plaintext", b"400"), ("GET", "/lines/x", b"404"), ("HEAD", "/lines/9", b"200")]:
            equal(statuses(ask(server, request(path, method, close))), [status])
        assert b"Allow: POST, PUT\r\n" in ask(server, request("/echo", "GET", close))
        # A wrong method is the client's mistake about this resource, not about where requests begin: the connection stays.
        equal(statuses(ask(server, request("/", "DELETE") + request(fields=close))), [b"405", b"200"])
        reply = ask(server, b"GET /lines/2000 HTTP/1.0\r\n\r\n")
        assert b"chunked" not in reply and reply.endswith(b"\nline 2000\n"), reply[-200:]


def does_without_slow_clients(program):
    with Server(program, "--slow", "300", "--idle", "600", "--unread", "500", ANY) as server:
        base = server.descriptors()
        silent = server.connect()
        deaf = server.connect()
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.sendall(request("/lines/1000000"))
        for part in (b"GET / HTTP/1.1\r\nHo", request("/echo", "POST", "Content-Length: 100000\r\n", b"some"),
                     request("/echo", "POST", "Transfer-Encoding: chunked\r\n", b"5000\r\nab")):
            with server.connect() as slow:
                slow.sendall(part)
                start = time.monotonic()
                reply = bytearray()
                slow.settimeout(0.02)
                while True:  # a byte now and then must not earn it more time
                    try:
                        got = slow.recv(65536)
                        if not got:
                            break
                        reply += got
                    except TimeoutError:
                        slow.send(b"1")
                        assert time.monotonic() < start + PATIENCE
                    except OSError:
                        break
                equal(statuses(bytes(reply)), [b"408"])
        equal(statuses(ask(server, request(fields="Connection: close\r\n"))), [b"200"])
        equal(read_all(silent), b"")
        eventually(lambda: server.descriptors() <= base, "a client that reads nothing was not dropped")
        silent.close()
        deaf.close()


def survives_resets_and_a_flood(program):
    with Server(program, "--connections", "50", ANY) as server:
        base = server.descriptors()
        for i in range(300):
            connection = server.connect()
            connection.sendall(request("/lines/5000")[:7 + i % 60])
            if i % 2:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
        many = [server.connect() for _ in range(200)]  # only 50 are served at a time
        for connection in many:
            connection.sendall(request(fields="Connection: close\r\n"))
        for connection in many:
            equal(statuses(read_all(connection)), [b"200"])
            connection.close()
        eventually(lambda: server.descriptors() <= base, "descriptors leak")


def ends_gracefully(program):
    with Server(program, ANY) as server:
        idle, busy, half = server.connect(), server.connect(), server.connect()
        busy.sendall(request("/sleep/700"))
        half.sendall(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab")
        idle.sendall(request())
        assert idle.recv(65536).endswith(b"Hello, World!")
        server.stop()
        equal(read_all(idle), b"")
        try:
            late = server.connect()
            late.sendall(request())
            assert late.recv(1) == b""
        except (ConnectionRefusedError, ConnectionResetError, BrokenPipeError):
            pass
        half.sendall(b"cd")
        for connection, body in ((busy, b"slept\n"), (half, b"abcd")):
            reply = read_all(connection)
            assert reply.endswith(b"\r\n\r\n" + body) and b"\r\nConnection: close\r\n" in reply, reply
    assert re.search(r"^requests: 3, of them refused: 0$", server.output, re.M), server.output


def ends_in_time_whatever_is_under_way(program):
    with Server(program, "--grace", "200", ANY) as server:
        stuck, slow = server.connect(), server.connect()
        slow.sendall(request("/sleep/60000"))
        stuck.sendall(request("/echo", "POST", "Content-Length: 4\r\n"))
        eventually(lambda: server.descriptors() >= 5, "not accepted")
        time.sleep(0.1)
        start = time.monotonic()
        server.stop()
        server.process.wait(timeout=PATIENCE)
        assert time.monotonic() - start < 30
    assert "cut short" in server.errors, server.errors


def serves_curl(program):
    curl = tool("curl")
    with tempfile.TemporaryDirectory() as root:
        blob = os.urandom(5_000_000)
        for name, content in (("blob", blob), ("empty.txt", b""), ("with space.html", b"<p>")):
            with open(os.path.join(root, name), "wb") as file:
                file.write(content)
        with open(os.path.join(root, "million"), "wb") as file:
            file.write(blob[:1_000_000])
        with Server(program, "--root", root, ANY) as server:
            def fetch(*arguments):
                return run(curl, "-sS", "--max-time", str(PATIENCE), *arguments)
            equal(fetch(server.url + "/plaintext", server.url + "/plaintext"), b"Hello, World!" * 2)
            equal(hashlib.sha256(fetch(server.url + "/files/blob")).hexdigest(), hashlib.sha256(blob).hexdigest())
            equal(fetch(server.url + "/files/empty.txt"), b"")
            assert b"text/html" in fetch("-I", server.url + "/files/with%20space.html")
            million = os.path.join(root, "million")
            for how in ([], ["-H", "Transfer-Encoding: chunked"], ["-H", "Expect: 100-continue"], ["-0"]):
                equal(fetch(*how, "--data-binary", "@" + million, server.url + "/echo"), blob[:1_000_000])
            equal(fetch("-T", million, server.url + "/echo"), blob[:1_000_000])
            lines = b"".join(b"line %d\n" % i for i in range(1, 20001))
            equal(fetch(server.url + "/lines/20000"), lines)
            equal(fetch("-0", server.url + "/lines/20000"), lines)
            def status(*arguments):
                return fetch("-o", os.devnull, "-w", "%{http_code}", *arguments)
            for path in ("/files/../" + os.path.basename(root), "/files/%2e%2e/x", "/files/a/%2E%2E/%2e%2e/etc/passwd", "/files/%00",
                         "/files/%zz", "/files/%4"):
                equal(status("--path-as-is", server.url + path), b"400")
            equal(status(server.url + "/files/"), b"404")
            equal(status("--data-binary", "@" + os.path.join(root, "blob"), server.url + "/echo"), b"413")


def serves_https(program):
    curl, openssl = tool("curl"), tool("openssl")
    usage = subprocess.run([program, "--what"], capture_output=True, text=True, check=False).stderr
    assert "--certificate" in usage, usage
    with tempfile.TemporaryDirectory() as root:
        def path(name):
            return os.path.join(root, name)
        run(openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
            "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", path("key"), "-out", path("pem"))
        blob = os.urandom(3_000_000)
        with open(path("blob"), "wb") as file:
            file.write(blob)
        secured = ("--certificate", path("pem"), "--key", path("key"))
        refused = subprocess.run([program, *secured[:2], ANY], capture_output=True, text=True, check=False, timeout=PATIENCE)
        if "needs weft::tls" in refused.stderr:
            raise Skip("built without weft::tls (Debian: libssl-dev)")
        assert refused.returncode == 1 and "no PEM key" in refused.stderr, refused
        with Server(program, "--root", root, "--slow", "1000", *secured, ANY) as server:
            url = server.url.replace("http:", "https:")
            def fetch(*arguments):
                return run(curl, "-sS", "--max-time", str(PATIENCE), "--cacert", path("pem"), *arguments)
            def fails(code, *arguments):
                done = subprocess.run([curl, "-sS", "--max-time", str(PATIENCE), *arguments], capture_output=True, check=False)
                equal(done.returncode, code)
            equal(fetch(url + "/plaintext", url + "/plaintext"), b"Hello, World!" * 2)
            equal(fetch("--tls-max", "1.2", "-w", "%{http_version}", url + "/plaintext"), b"Hello, World!1.1")
            equal(hashlib.sha256(fetch(url + "/files/blob")).hexdigest(), hashlib.sha256(blob).hexdigest())
            equal(fetch("--data-binary", "@" + path("pem"), url + "/echo"), open(path("pem"), "rb").read())
            fails(60, url + "/plaintext")  # who does not trust the certificate
            fails(60, "--cacert", path("pem"), "--connect-to", "::127.0.0.1:%d" % server.address[1], "https://other.example/")
            fails(35, "-k", "--tls-max", "1.1", "--ciphers", "ALL:@SECLEVEL=0", url + "/plaintext")
            plain = subprocess.run([curl, "-sS", "--max-time", str(PATIENCE), server.url], capture_output=True, check=False)
            assert plain.returncode != 0, plain
            def shake(*arguments):
                return subprocess.run([openssl, "s_client", "-connect", "%s:%d" % server.address, "-CAfile", path("pem"),
                                       "-verify_return_error", "-servername", "localhost", "-brief", *arguments], input=b"",
                                      capture_output=True, check=False, timeout=PATIENCE)
            for version in ("-tls1_2", "-tls1_3"):
                done = shake(version, "-alpn", "h2,http/1.1")
                assert done.returncode == 0 and b"Verification: OK" in done.stderr, done
            for wrong in (["-tls1_1"], ["-tls1"], ["-alpn", "h2"], ["-tls1_2", "-cipher", "NULL,aNULL:@SECLEVEL=0"]):
                assert shake(*wrong).returncode != 0, wrong
            # Garbage, silence and bytes that drip in are no reason to keep a connection.
            for first in (b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\xff\xff", b""):
                with server.connect() as connection:
                    connection.sendall(first)
                    try:
                        while connection.recv(4096):
                            pass
                    except ConnectionResetError:
                        pass
            equal(fetch(url + "/plaintext"), b"Hello, World!")


def serves_ab(program):
    ab = tool("ab", "apache2-utils")
    with Server(program, ANY) as server:
        for arguments in (["-k"], []):
            said = run(ab, "-q", "-n", "3000", "-c", "40", *arguments, server.url + "/plaintext").decode()
            assert re.search(r"Complete requests: +3000\n", said) and re.search(r"Failed requests: +0\n", said), said
            assert "Non-2xx" not in said, said


def serves_wrk(program):
    wrk = tool("wrk")
    with Server(program, ANY) as server:
        said = run(wrk, "-t1", "-c64", "-d2s", server.url + "/plaintext").decode()
        assert "Socket errors" not in said and "Non-2xx" not in said and re.search(r"[1-9]\d+ requests in", said), said


def stands_behind_nginx(program):
    nginx = tool("nginx", "nginx-light")
    with tempfile.TemporaryDirectory() as home, Server(program, ANY) as server, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        with open(os.path.join(home, "nginx.conf"), "w", encoding="utf-8") as file:
            paths = "".join(f"{kind}_temp_path {home}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
            file.write(f"""daemon off; master_process off; pid {home}/pid; error_log stderr;
                events {{}} http {{ access_log off; client_max_body_size 2m; {paths}
                upstream weft {{ server {server.address[0]}:{server.address[1]}; keepalive 8; }}
                server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://weft; proxy_http_version 1.1;
                proxy_set_header Connection ""; proxy_request_buffering off; }} }} }}""")
        with subprocess.Popen([nginx, "-p", home, "-c", os.path.join(home, "nginx.conf")], stderr=subprocess.PIPE) as front:
            try:
                def up():
                    assert front.poll() is None, front.stderr.read()
                    with socket.socket() as attempt:
                        return attempt.connect_ex(("127.0.0.1", port)) == 0
                eventually(up, "nginx does not listen")
                for i in range(200):
                    body = os.urandom(i * 37)
                    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
                        chunks = b"".join(b"%x\r\n%s\r\n" % (len(body[at:at + 999]), body[at:at + 999]) for at in range(0, len(body), 999))
                        connection.sendall(request("/echo", "POST", "Transfer-Encoding: chunked\r\nConnection: close\r\n",
                                                   chunks + b"0\r\n\r\n"))
                        reply = read_all(connection)
                    assert reply.startswith(b"HTTP/1.1 200 ") and reply.partition(b"\r\n\r\n")[2] == body, reply[:300]
            finally:
                front.terminate()


if __name__ == "__main__":
    main([answers_pipelined_requests_in_order, refuses_bad_requests_and_closes, answers_methods_and_paths, does_without_slow_clients,
          survives_resets_and_a_flood, ends_gracefully, ends_in_time_whatever_is_under_way, serves_curl, serves_https, serves_ab, serves_wrk,
          stands_behind_nginx])
