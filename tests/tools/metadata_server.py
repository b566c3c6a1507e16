#!/usr/bin/env python3
"""Compute Engine's metadata server, or what may stand in its place.

    metadata_server.py FOLDER MODE...

Serves each mode on a port of its own until it is killed, and writes the ports into FOLDER/ports, in
their order. Modes:

    google   the values of instance/maintenance-event and instance/preempted are the files of these
             names in FOLDER; waits for a change as the real one does; 403 without Metadata-Flavor
    calm     likewise, but nothing ever happens
    absent   no page is found
    other    some web server, which answers whatever is asked
    babble   says it is Google's, but the value is none
    endless  says it is Google's, and does not come to an end
    closes   takes the connection and closes it
    silent   takes the connection, and says nothing
"""
import hashlib
import http.server
import os
import sys
import threading
import time
from urllib.parse import parse_qs, urlparse

folder = sys.argv[1]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, code, text, google=True, etag=None):
        body = text.encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        if google:
            self.send_header("Metadata-Flavor", "Google")
        if etag:
            self.send_header("ETag", etag)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        getattr(self, "do_" + self.server.mode)()

    def do_google(self):
        if self.headers["Metadata-Flavor"] != "Google":
            return self.answer(403, "the header Metadata-Flavor is missing")
        url = urlparse(self.path)
        place, _, name = url.path.rpartition("/")
        if place != "/computeMetadata/v1/instance" or name not in ("maintenance-event", "preempted"):
            return self.answer(404, "no such value")
        query = {key: value[0] for key, value in parse_qs(url.query).items()}
        until = time.monotonic() + int(query.get("timeout_sec", 0))
        while True:
            value = self.server.value(name)
            etag = hashlib.sha256(value.encode()).hexdigest()[:16]
            if query.get("last_etag") != etag or time.monotonic() > until:
                return self.answer(200, value, etag=etag)
            time.sleep(0.02)

    def do_absent(self):
        self.answer(404, "not found", google=False)

    def do_other(self):
        self.answer(200, "NONE", google=False)

    def do_babble(self):
        self.answer(200, "<html>\033[31m", etag="1")

    def do_endless(self):
        self.answer(200, "NONE " * 1000, etag="1")

    def do_closes(self):
        self.close_connection = True

    def do_silent(self):
        threading.Event().wait()


def from_file(name):
    with open(os.path.join(folder, name), encoding="ascii") as file:
        return file.read().strip()


ports = []
for mode in sys.argv[2:]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.mode = "google" if mode == "calm" else mode
    server.value = {"maintenance-event": "NONE", "preempted": "FALSE"}.get if mode == "calm" else from_file
    ports.append(str(server.server_address[1]))
    threading.Thread(target=server.serve_forever, daemon=True).start()
with open(os.path.join(folder, "ports.new"), "w", encoding="ascii") as file:
    file.write(" ".join(ports) + "\n")
os.rename(os.path.join(folder, "ports.new"), os.path.join(folder, "ports"))
threading.Event().wait()
