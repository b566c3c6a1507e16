#!/usr/bin/env python3
"""Looks at `tequio top` on a terminal: top_terminal.py COMMAND..., with a line each on standard input:

    see TEXT            waits until a line of the screen has it
    order A B           waits until the line that has A stands above that with B
    press KEY           as s or \\x1b[B
    size COLUMNS ROWS   makes the terminal so large, and waits until what is shown fits
    colours yes|no      whether there have been any

At the end it must leave by itself, with the screen and the terminal as they were. Says what is wrong, and fails; ends with
the command's code."""
import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
import time

LIMIT_S = 60
FRAME = re.compile(r"\x1b\[H(.*?)\x1b\[J", re.DOTALL)
ENTER, LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"


class Terminal:
    def __init__(self, command):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.read(0, 1)       # until the terminal has its size
            os.environ["TERM"] = "xterm"
            os.execvp(command[0], command)
        self.text, self.all, self.frame = "", "", []
        self.modes = termios.tcgetattr(self.fd)
        self.size(100, 30)
        os.write(self.fd, b"\n")

    def size(self, columns, rows):
        self.columns, self.rows, self.frame = columns, rows, []
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def hear(self):
        """False: it has ended."""
        if not select.select([self.fd], [], [], 0.1)[0]:
            return True
        try:
            more = os.read(self.fd, 65536).decode()
        except OSError:
            return False
        self.text += more
        self.all += more
        for found in FRAME.finditer(self.text):
            self.frame = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", found[1]).split("\r\n")
        if FRAME.search(self.text):
            self.text = self.text[self.text.rindex("\x1b[J") + 3:]
        return True

    def until(self, is_so, what):
        end = time.monotonic() + LIMIT_S
        while not is_so():
            if not self.hear() or time.monotonic() > end:
                sys.exit(f"it does not come to: {what}; it shows:\n" + ("\n".join(self.frame) or self.all))

    def place(self, word):
        return next((i for i, line in enumerate(self.frame) if word in line), None)

    def above(self, one, other):
        at = self.place(one), self.place(other)
        return None not in at and at[0] < at[1]

    def fits(self):
        return len(self.frame) > 1 and len(self.frame) <= self.rows and all(len(s) < self.columns for s in self.frame)


def main():
    t = Terminal(sys.argv[1:])
    for line in map(str.strip, sys.stdin):
        verb, _, rest = line.partition(" ")
        if verb == "see":
            t.until(lambda: t.place(rest) is not None, line)
        elif verb == "order":
            t.until(lambda: t.above(*rest.split()), line)
        elif verb == "press":
            t.frame = []
            os.write(t.fd, rest.encode().decode("unicode_escape").encode())
        elif verb == "size":
            t.size(*map(int, rest.split()))
            t.until(t.fits, line)
        elif verb == "colours" and (rest == "yes") != bool(re.search(r"\x1b\[[1-9][0-9;]*m", t.all)):
            sys.exit(f"{line}: it is otherwise")
    while t.hear():
        pass
    if ENTER not in t.all or LEAVE not in t.all[t.all.index(ENTER):]:
        sys.exit(f"it leaves its screen behind: {t.all[-60:]!r}")
    if termios.tcgetattr(t.fd)[3] != t.modes[3]:
        sys.exit("it leaves the terminal otherwise than it was")
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(t.pid, 0)[1]))


main()
