#!/usr/bin/env python3
"""So many browsers at a page: listeners.py ADDRESS COUNT. Each listens to what changes, and is told how all runs stand and
which files they have; one of them reads nothing. Meanwhile others are answered within five seconds."""
import socket
import sys
import time
import urllib.request

LIMIT_S = 60


def dial(host, port):
    s = socket.create_connection((host, port), timeout=LIMIT_S)
    s.sendall(b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return s


def main(address, count):
    host, _, port = address.removeprefix("http://").rstrip("/").partition(":")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    runs = opener.open(address + "api/runs", timeout=LIMIT_S).read().count(b'"dir"')
    deaf, *others = [dial(host, int(port)) for _ in range(int(count))]
    began = time.monotonic()
    opener.open(address + "api/runs", timeout=5).read()
    for s in others:
        heard = b""
        while heard.count(b"event: status") < runs or heard.count(b"event: files") < runs:
            more = s.recv(1 << 16)
            if not more:
                sys.exit(f"it hangs up on a listener: {heard[:200]}")
            heard += more
    opener.open(address + "api/runs", timeout=5).read()
    print(f"{count} listeners are told of {runs} runs within {time.monotonic() - began:.1f} s")
    deaf.close()


main(*sys.argv[1:])
