#!/usr/bin/env python3
"""Measures the time that the gateway of `basalt serve` adds to a request: tools/bench-gateway.py BINARY [REQUESTS]

One client asks a service directly and through the server, in turns, on connections that are kept open. The difference of
the medians is the added time; the lowest of several rounds counts, because other programs only make it longer.
"""

import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT_MS = 0.15
ROUNDS = 5
BODY = b'[{"id":1,"title":"first"}]'
RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)


def serve_forever(listener: socket.socket) -> None:
    """Answers every request of every connection, each connection in a process of its own."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        connection, _ = listener.accept()
        if os.fork() != 0:
            connection.close()
            continue
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        unread = b""
        while part := connection.recv(65536):
            unread += part
            while (end := unread.find(b"\r\n\r\n")) >= 0:
                unread = unread[end + 4 :]
                connection.sendall(RESPONSE)
        os._exit(0)


def start_service() -> tuple[int, int]:
    """Starts the service; returns its port and process id."""
    listener = socket.create_server(("127.0.0.1", 0))
    process = os.fork()
    if process == 0:
        serve_forever(listener)
    port = listener.getsockname()[1]
    listener.close()
    return port, process


class Client:
    """A client on one connection."""

    def __init__(self, port: int, path: str, key: str) -> None:
        self.connection = socket.create_connection(("127.0.0.1", port))
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\napikey: {key}\r\n\r\n".encode()

    def measure(self) -> float:
        """Returns the seconds from a request to its response."""
        started = time.perf_counter()
        self.connection.sendall(self.request)
        received = b""
        while not received.endswith(BODY):
            part = self.connection.recv(65536)
            if not part:
                sys.exit(f"the connection ended: {received!r}")
            received += part
        return time.perf_counter() - started


def measure_round(direct: Client, forwarded: Client, count: int) -> tuple[float, float]:
    """Returns the medians of both in milliseconds."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(count):
        times[0].append(direct.measure())
        times[1].append(forwarded.measure())
    return statistics.median(times[0]) * 1e3, statistics.median(times[1]) * 1e3


def main() -> None:
    binary = Path(sys.argv[1]).resolve()
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 4000
    service_port, service = start_service()
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "config.toml"
        config.write_text(f'[basalt.upstreams]\nrest = "http://127.0.0.1:{service_port}"\n', encoding="utf-8")
        command = [binary, "serve", "--ephemeral", "--port", "0", "--json", "--config", config]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            announced = json.loads(server.stdout.readline())
            port = int(announced["url"].rsplit(":", 1)[1])
            key = announced["publishable_key"]
            direct = Client(service_port, "/todos?select=*", key)
            forwarded = Client(port, "/rest/v1/todos?select=*", key)
            measure_round(direct, forwarded, 500)
            rounds = [measure_round(direct, forwarded, count) for _ in range(ROUNDS)]
        finally:
            server.terminate()
            server.wait()
            os.kill(service, signal.SIGTERM)
    for without, through in rounds:
        print(f"p50 direct {without:.3f} ms, through the gateway {through:.3f} ms, added {through - without:.3f} ms")
    added = min(through - without for without, through in rounds)
    print(f"added p50: {added:.3f} ms (limit {LIMIT_MS} ms)")
    sys.exit(0 if added <= LIMIT_MS else 1)


if __name__ == "__main__":
    main()
