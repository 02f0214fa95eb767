#!/usr/bin/env python3
"""Measures what telemetry and shared rate limits add to whole requests: tools/bench-options.py BINARY [REQUESTS]

Servers with different options use one database. One client refreshes a session at each of them in turns, on connections that
are kept open. The added time is the median of the differences to the server without options in the same turn, so that other
programs, which slow all of them down, matter little. Needs redis-server.
"""

import http.client
import http.server
import json
import multiprocessing
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 5
KEYS = """[auth]
jwt_secret = "a secret that all servers of the measurement have"
publishable_key = "sb_publishable_0123456789abcdefghijkl"
secret_key = "sb_secret_0123456789abcdefghijkl"
external_url = "http://127.0.0.1:9"
[auth.rate_limit]
token_refresh = 1000000000
"""
TICKS = os.sysconf("SC_CLK_TCK")


class Collector(http.server.BaseHTTPRequestHandler):
    """Accepts what an exporter of telemetry sends."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):  # noqa: N802, the name is that of the library
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def collect(port):
    http.server.ThreadingHTTPServer(("127.0.0.1", port), Collector).serve_forever()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Server:
    """A server with a client that has a session."""

    def __init__(self, binary, folder, name, options, database_url, variables):
        config = folder / f"{name.replace(' ', '-')}.toml"
        config.write_text(KEYS + options, encoding="utf-8")
        command = [binary, "serve", "--ephemeral", "--port", "0", "--json", "--config", config]
        command += ["--database-url", database_url] if database_url else []
        inherited = {key: value for key, value in os.environ.items() if not key.startswith("OTEL_")}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=inherited | variables)
        announced = json.loads(self.process.stdout.readline())
        self.database_url = announced["database_url"]
        self.headers = {"apikey": announced["publishable_key"], "content-type": "application/json"}
        self.connection = http.client.HTTPConnection("127.0.0.1", int(announced["url"].rsplit(":", 1)[1]))
        credentials = {"email": f"{time.monotonic_ns()}@example.com", "password": "a long password"}
        self.token = self.ask("/signup", credentials)["refresh_token"]

    def ask(self, path, body):
        self.connection.request("POST", f"/auth/v1{path}", json.dumps(body), self.headers)
        response = self.connection.getresponse()
        content = response.read()
        if response.status != 200:
            sys.exit(f"{path}: {response.status} {content.decode()}")
        return json.loads(content)

    def measure(self):
        """Returns the seconds of a refresh."""
        started = time.perf_counter()
        self.token = self.ask("/token?grant_type=refresh_token", {"refresh_token": self.token})["refresh_token"]
        return time.perf_counter() - started

    def cpu(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def stop(self):
        self.process.terminate()
        self.process.wait()


def measure_round(servers, count):
    """Returns median, median of the differences and CPU time of a request in milliseconds, by server."""
    times = {name: [] for name in servers}
    before = {name: server.cpu() for name, server in servers.items()}
    names = list(servers)
    for _ in range(count):
        # Each server follows every other one as often.
        random.shuffle(names)
        for name in names:
            times[name].append(servers[name].measure() * 1e3)
    cpu = {name: (server.cpu() - before[name]) / count * 1e3 for name, server in servers.items()}
    added = {name: statistics.median(map(float.__sub__, times[name], times["none"])) for name in servers}
    return {name: (statistics.median(times[name]), added[name], cpu[name]) for name in servers}


def main():
    binary = Path(sys.argv[1]).resolve()
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    store, collector = free_port(), free_port()
    redis = subprocess.Popen(["redis-server", "--port", str(store), "--bind", "127.0.0.1", "--save", ""], stdout=subprocess.DEVNULL)
    sink = multiprocessing.Process(target=collect, args=(collector,), daemon=True)
    sink.start()
    exporting = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector}", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}
    metrics = "[basalt.metrics]\nport = {}\n"
    variants = {
        "metrics": (metrics.format(free_port()), {}),
        "metrics and all traces": (metrics.format(free_port()), exporting | {"OTEL_TRACES_SAMPLER": "always_on"}),
        "limits in Redis": (f'[basalt.limits]\nurl = "redis://127.0.0.1:{store}/0"\n', {}),
        "limits in PostgreSQL": ('[basalt.limits]\nurl = "postgres"\n', {}),
    }
    with tempfile.TemporaryDirectory() as folder:
        servers = {}
        try:
            servers["none"] = Server(binary, Path(folder), "none", "", None, {})
            database_url = servers["none"].database_url
            for name, (options, variables) in variants.items():
                servers[name] = Server(binary, Path(folder), name, options, database_url, variables)
            measure_round(servers, min(count, 200))
            rounds = [measure_round(servers, count) for _ in range(ROUNDS)]
        finally:
            for server in reversed(servers.values()):
                server.stop()
            redis.terminate()
            redis.wait()
            sink.terminate()
    print("| options | p50 ms | added p50 ms, by round | CPU ms |\n|---|---|---|---|")
    for name in rounds[0]:
        median, cpu = (statistics.median(one[name][at] for one in rounds) for at in (0, 2))
        added = ", ".join(f"{one[name][1]:.3f}" for one in rounds)
        print(f"| {name} | {median:.3f} | {added} | {cpu:.3f} |")


if __name__ == "__main__":
    main()
