#!/usr/bin/env python3
"""Says all kinds of things to HTTP servers: http_fuzz.py SECONDS SEED ADDRESS PATH...
Heads, bodies and hang-ups that are wrong in every way that chance finds; up to a hundred never read, and stay. Between them
every PATH must be answered with its code, CODE:PATH, within five seconds."""
import random
import socket
import sys
import time
import urllib.request

METHODS = [b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"OPTIONS", b"TRACE", b"CONNECT", b"get", b"", b"G\0T", b"X" * 5000]
PATHS = [b"/", b"/metrics", b"/api/events", b"/healthz", b"/readyz", b"/login", b"/api/runs", b"/api/run/0/status",
         b"/api/run/0/config",
         b"/api/run/0/lines?file=metrics&from=0", b"/api/run/0/lines?file=../key", b"/api/run/0/log?task=master.0",
         b"/api/run/0/tasks", b"/api/run/99999999999999999999/status", b"/api/run/-1/status", b"//", b"*", b"/%00",
         b"/api/run/0/lines?file=metrics&from=-9223372036854775808&tag=%ff%fe", b"/%2e%2e/%2e%2e/etc/passwd", b"", b"x"]
NAMES = [b"Host", b"Cookie", b"Authorization", b"Content-Length", b"Transfer-Encoding", b"Expect", b"Connection", b"Range",
         b"Upgrade", b"X", b"", b":", b"Host "]
VALUES = [b"localhost", b"127.0.0.1", b"example.org", b"close", b"keep-alive", b"chunked", b"100-continue", b"0", b"-1",
          b"5", b"99999999999999999999", b"Bearer ", b"Bearer " + b"0" * 64, b"tequio-1=" + b"a" * 64, b";;;=;", b"bytes=0-",
          b"\xff\xfe\0", b"a" * 20000, b""]
VERSIONS = [b"HTTP/1.1", b"HTTP/1.0", b"HTTP/9.9", b"HTTP/", b""]


def mutated(chance, data):
    data = bytearray(data)
    for _ in range(chance.choice([0, 0, 0, 1, 3, 20])):
        if not data:
            break
        at = chance.randrange(len(data))
        kind = chance.randrange(3)
        if kind == 0:
            data[at] = chance.randrange(256)
        elif kind == 1:
            del data[at:at + chance.randrange(1, 8)]
        else:
            data[at:at] = bytes(chance.randrange(256) for _ in range(chance.randrange(1, 8)))
    return bytes(data)


def request(chance):
    path = chance.choice(PATHS) + (b"?" + b"a=b&" * chance.randrange(3000) if chance.random() < 0.05 else b"")
    lines = [chance.choice(METHODS if chance.random() < 0.4 else METHODS[:2]) + b" " + path + b" " + chance.choice(VERSIONS)]
    if chance.random() < 0.7:
        lines.append(b"Host: localhost")
    lines += [chance.choice(NAMES) + b": " + chance.choice(VALUES) for _ in range(chance.choice([0, 1, 2, 5, 200]))]
    body = chance.choice([b"", b"", b"token=" + b"0" * 64, b"5\r\nhello\r\n0\r\n\r\n", b"x" * 100000])
    return mutated(chance, b"\r\n".join(lines) + b"\r\n\r\n" + body)


def bother(chance, place, kept):
    """One stranger: says some requests, at once or in pieces; reads, or not; hangs up, resets, or stays."""
    s = socket.create_connection(place, timeout=5)
    s.settimeout(0.02)
    try:
        for _ in range(chance.choice([1, 1, 2, 10])):
            text = request(chance)
            cut = chance.randrange(len(text) + 1)
            s.sendall(text[:cut])
            s.sendall(text[cut:] if chance.random() < 0.8 else b"")
        if chance.random() < 0.5:
            s.recv(65536)
    except OSError:
        pass
    if chance.random() < 0.1 and len(kept) < 100:
        kept.append(s)
        return
    if chance.random() < 0.3:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    s.close()


def check(opener, address, wanted):
    code, _, path = wanted.partition(":")
    start = time.monotonic()
    try:
        got = opener.open(address + path, timeout=5).status
    except urllib.error.HTTPError as refused:
        got = refused.status
    if str(got) != code or time.monotonic() - start > 5:
        sys.exit(f"{path}: {got} after {time.monotonic() - start:.1f} s, not {code}")


def main():
    seconds, seed, address, *wanted = sys.argv[1:]
    host, _, port = address.removeprefix("http://").rstrip("/").partition(":")
    chance, kept, n = random.Random(int(seed)), [], 0
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        for _ in range(200):
            bother(chance, (host, int(port)), kept)
        n += 200
        if len(kept) >= 100 or chance.random() < 0.1:
            for s in kept:
                s.close()
            kept.clear()
        for one in wanted:
            check(opener, f"http://{host}:{port}", one)
    print(f"{n} strangers in {seconds} s, seed {seed}")


main()
