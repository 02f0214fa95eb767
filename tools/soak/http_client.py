"""A small HTTP/1.1 client: complete responses or an exception, source addresses below 127.0.0.0/8, connections kept for a while."""

import asyncio
import json
import random
import time

KEPT = 3.0
"""Longest time a connection is kept for the next request, in seconds: well below the server's own limit."""


class NoAnswer(Exception):
    """The connection failed before a whole answer was read: the outcome is unknown."""


class TimedOut(NoAnswer):
    """No data arrived within the limit."""


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def is_ok(self):
        return 200 <= self.status < 300

    def json(self):
        try:
            return json.loads(self.body)
        except ValueError:
            return {}

    def __str__(self):
        return f"{self.status} {self.body[:200].decode(errors='replace')}"


def source_address(chance):
    """Return one of 996 loopback addresses, so that limits by address apply to each client separately."""
    return f"127.{chance.randrange(1, 5)}.0.{chance.randrange(1, 250)}"


def encode(target, method, path, body=None, token=None, headers=()):
    """The bytes of a request."""
    content = b"" if body is None else json.dumps(body).encode()
    lines = [f"{method} {target.prefix if path.startswith('/') else ''}{path.lstrip('!')} HTTP/1.1",
             f"Host: 127.0.0.1:{target.port}", "Content-Type: application/json", f"Content-Length: {len(content)}"]
    if target.api_key:
        lines.append(f"apikey: {target.api_key}")
    if token:
        lines.append(f"Authorization: Bearer {token}")
    return "\r\n".join([*lines, *headers, "", ""]).encode() + content


class Client:
    """One client with at most one open connection."""

    def __init__(self, target, seed, source=None):
        self.target, self.chance = target, random.Random(seed)
        self.source, self.streams, self.used_at = source, None, 0.0

    async def ask(self, method, path, body=None, token=None, headers=(), limit=15.0):
        """Sends a request and reads the whole answer. A path that begins with `!` is not below the API's prefix."""
        request = encode(self.target, method, path, body, token, headers)
        try:
            return await asyncio.wait_for(self.exchange(request), limit)
        except asyncio.TimeoutError as error:
            self.close()
            raise TimedOut(f"no answer within {limit:.0f} s") from error
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError) as error:
            self.close()
            raise NoAnswer(f"{type(error).__name__}") from error

    async def exchange(self, request):
        if self.streams and (time.monotonic() - self.used_at > KEPT or self.chance.random() < 0.2):
            self.close()
        if self.streams is None:
            source = self.source or source_address(self.chance)
            self.streams = await asyncio.open_connection("127.0.0.1", self.target.port, local_addr=(source, 0))
        reader, writer = self.streams
        writer.write(request)
        await writer.drain()
        status, headers = parse_head(await reader.readuntil(b"\r\n\r\n"))
        body = await read_body(reader, status, headers)
        self.used_at = time.monotonic()
        if headers.get("connection", "").lower() == "close":
            self.close()
        return Answer(status, headers, body)

    def close(self):
        if self.streams:
            self.streams[1].transport.abort()
            self.streams = None


def parse_head(head):
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    return int(first.split(" ")[1]), headers


async def read_body(reader, status, headers):
    if status == 204 or status == 304:
        return b""
    if headers.get("transfer-encoding", "").lower() != "chunked":
        return await reader.readexactly(int(headers.get("content-length", "0")))
    parts = []
    for _ in range(100_000):
        size = int((await reader.readline()).split(b";")[0], 16)
        parts.append(await reader.readexactly(size))
        await reader.readline()
        if size == 0:
            return b"".join(parts)
    raise ValueError("too many chunks")
