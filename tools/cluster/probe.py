"""Small writes over each way to the database: since when, and until when, it accepts none."""

import bisect
import contextlib
import socket
import struct
import threading
import time

INTERVAL = 0.1
LIMIT = 1.0
"""Longest time of a write, in seconds."""


class Refused(Exception):
    """The database answered with an error."""


class Session:
    """A connection of the superuser, with trust authentication and the simple query protocol."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=LIMIT)
        parameters = b"user\0postgres\0database\0postgres\0\0"
        self.socket.sendall(struct.pack("!ii", len(parameters) + 8, 196608) + parameters)
        self.finish()

    def execute(self, text):
        content = text.encode() + b"\0"
        self.socket.sendall(b"Q" + struct.pack("!i", len(content) + 4) + content)
        self.finish()

    def finish(self):
        """Reads until the session is ready again."""
        failure = None
        while True:
            kind, length = struct.unpack("!ci", self.read(5))
            content = self.read(length - 4)
            if kind == b"E":
                failure = content.decode(errors="replace")
            elif kind == b"Z":
                break
        if failure:
            raise Refused(failure)

    def read(self, count):
        parts = b""
        while len(parts) < count:
            part = self.socket.recv(count - len(parts))
            if not part:
                raise ConnectionError("closed")
            parts += part
        return parts


class Probe(threading.Thread):
    """Writes again and again at one port, and records when a write was acknowledged."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port, self.times, self.ended = port, [], threading.Event()
        self.statement = (f"INSERT INTO public.probe VALUES ({port}, 1) "
                          "ON CONFLICT (port) DO UPDATE SET writes = probe.writes + 1")

    def run(self):
        session = None
        while not self.ended.is_set():
            try:
                session = session or Session(self.port)
                session.execute(self.statement)
                self.times.append(time.monotonic())
            except Refused:
                pass
            except (OSError, struct.error):
                if session:
                    with contextlib.suppress(OSError):
                        session.socket.close()
                session = None
            self.ended.wait(INTERVAL)


def longest_gap(times, begin, end):
    """Begin and end of the longest time without an event between two times."""
    inside = [begin, *times[bisect.bisect_left(times, begin):bisect.bisect_right(times, end)], end]
    return max(zip(inside, inside[1:]), key=lambda gap: gap[1] - gap[0])
