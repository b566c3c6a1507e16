#!/usr/bin/env python3
"""Asks a page: ask_page.py ADDRESS PATH [HEADER VALUE], or ask_page.py ADDRESS --login TOKEN PATH, which logs in first.
Prints the code and the body, of events the first line. Certificates are not checked: those of tests are signed by nobody."""
import http.cookiejar
import ssl
import sys
import urllib.error
import urllib.request


class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def first_event(answer):
    """Its first line. One that begins with a colon only shows that the stream lives, and may come before."""
    line = answer.readline()
    while line.startswith(b":") or line == b"\n":
        line = answer.readline()
    return line


def main():
    address, *words = sys.argv[1:]
    base = address.partition("#")[0]
    insecure = ssl.create_default_context()
    insecure.check_hostname = False
    insecure.verify_mode = ssl.CERT_NONE
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), Stay, urllib.request.HTTPSHandler(context=insecure),
                                         urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
    try:
        if words[0] == "--login":
            opener.open(base + "login", data=f"token={words[1]}".encode(), timeout=60)
            words = words[2:]
        request = urllib.request.Request(base + words[0])
        if len(words) > 2:
            request.add_header(words[1], words[2])
        answer = opener.open(request, timeout=60)
    except urllib.error.HTTPError as refused:
        answer = refused
    is_endless = answer.status == 200 and words[0] == "api/events"
    body = first_event(answer) if is_endless else answer.read()
    sys.stdout.write(f"{answer.status}\n{body.decode()}")


main()
