#!/usr/bin/env python3
"""Measure the latency that `basalt record` adds, its processor time, its memory and its files.

Sends requests to a server directly, through a plain TCP relay, and through the recorder, in alternating blocks on one
connection each, and prints the ratios of the latencies to the direct ones. The relay copies bytes and nothing else: its ratio
is what any process between client and server costs on the machine. A step is a sign-in by password, a refresh or a read of
the user. After a block the recorder finishes its work, so that it does not burden the next block. The server is `basalt serve`
with passwords hashed as usual; with --test-server it is a test server, whose cheap hashes make each step as short as it can be.

    tools/measure-recording.py --binary target/release/basalt [--steps 10000] [--test-server]
"""

import argparse
import http.client
import json
import multiprocessing
import os
import pathlib
import signal
import socket
import statistics
import subprocess
import tempfile
import threading
import time
import urllib.parse

# The limits do not refuse the requests of one client.
CONFIG = """
[auth.rate_limit]
sign_in_sign_ups = 1000000
token_refresh = 1000000
"""
BLOCK = 100
# Nanoseconds of processor time in which nothing is recorded.
IDLE = 200_000


class Client:
    """One connection to an auth API."""

    def __init__(self, url, key):
        parts = urllib.parse.urlsplit(url)
        self.connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
        self.headers = {"apikey": key, "content-type": "application/json", "x-flow-name": "measured"}
        self.session, self.steps = None, 0
        self.email = "ann@example.com"

    def request(self, method, path, body=None, token=None):
        headers = dict(self.headers, **({"authorization": f"Bearer {token}"} if token else {}))
        self.connection.request(method, "/auth/v1" + path, json.dumps(body) if body is not None else None, headers)
        response = self.connection.getresponse()
        answer = json.loads(response.read() or "null")
        if response.status != 200:
            raise SystemExit(f"{method} {path}: {response.status} {answer}")
        return answer

    def step(self):
        """Send the next request; returns its latency in seconds."""
        kind, self.steps = self.steps % 3, self.steps + 1
        started = time.perf_counter()
        if kind == 0:
            body = {"email": self.email, "password": "correct horse"}
            self.session = self.request("POST", "/token?grant_type=password", body)
        elif kind == 1:
            self.session = self.request("POST", "/token?grant_type=refresh_token", {"refresh_token": self.session["refresh_token"]})
        else:
            self.request("GET", "/user", token=self.session["access_token"])
        return time.perf_counter() - started


class Relay:
    """A process that copies bytes between its clients and a server."""

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        self.process = multiprocessing.Process(target=self.serve, args=(listener, (parts.hostname, parts.port)), daemon=True)
        self.process.start()

    @staticmethod
    def serve(listener, address):
        while True:
            client, _ = listener.accept()
            server = socket.create_connection(address)
            for source, target in ((client, server), (server, client)):
                target.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=Relay.copy, args=(source, target), daemon=True).start()

    @staticmethod
    def copy(source, target):
        # A blocking read and a write per part: the fewest system calls.
        while part := source.recv(1 << 16):
            target.sendall(part)
        target.shutdown(socket.SHUT_WR)


def start(command):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return process, json.loads(process.stdout.readline())


def memory(process):
    """Return the largest resident memory of a process in megabytes."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


def processor_time(process):
    """Return the processor time of a process in nanoseconds."""
    threads = pathlib.Path(f"/proc/{process.pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads)


def wait_until_idle(process):
    """Wait until the recorder has nothing left to record, for which it looks every 25 ms; returns its processor time."""
    before = -IDLE
    while (now := processor_time(process)) - before >= IDLE:
        before = now
        time.sleep(0.05)
    return now


def measure(ways, recorder, steps):
    """Return the latencies of each way and the processor time of the recorder, in seconds."""
    times, used = {name: [] for name in ways}, 0
    for client in ways.values():
        for _ in range(BLOCK):
            client.step()
    names = list(ways)
    while len(times["recorded"]) < steps:
        for name in names:
            before = wait_until_idle(recorder)
            times[name].extend(ways[name].step() for _ in range(BLOCK))
            used += wait_until_idle(recorder) - before if name == "recorded" else 0
        # Each way follows each other one.
        names.reverse()
    return times, used / 1e9


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/release/basalt")
    parser.add_argument("--recorder", help="another binary for the recorder [default: the one of the server]")
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--test-server", action="store_true", help="record a test server, whose steps are the shortest")
    arguments = parser.parse_args()
    binary = os.path.abspath(arguments.binary)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        pathlib.Path("config.toml").write_text(CONFIG)
        kind = ["--test"] if arguments.test_server else ["--ephemeral", "--config", "config.toml"]
        server, ready = start([binary, "serve", *kind, "--json", "--port", "0"])
        command = [os.path.abspath(arguments.recorder) if arguments.recorder else binary, "record"]
        recorder, proxy = start([*command, "--upstream", ready["url"], "--port", "0", "--out", "flows", "--json"])
        relay = Relay(ready["url"])
        try:
            admin = Client(ready["url"], ready["secret_key"])
            admin.request("POST", "/admin/users", {"email": admin.email, "password": "correct horse", "email_confirm": True})
            urls = {"direct": ready["url"], "relayed": relay.url, "recorded": proxy["url"]}
            ways = {name: Client(url, ready["publishable_key"]) for name, url in urls.items()}
            times, used = measure(ways, recorder, arguments.steps)
            report(times, used, recorder, pathlib.Path("flows"))
        finally:
            relay.process.terminate()
            for process in (recorder, server):
                process.send_signal(signal.SIGTERM)
                process.wait(30)


def report(times, used, recorder, folder):
    figures = {name: (statistics.fmean(each), statistics.median(each)) for name, each in times.items()}
    for name, (mean, median) in figures.items():
        ratios = f"ratio of the means {mean / figures['direct'][0]:.3f}, of the medians {median / figures['direct'][1]:.3f}"
        print(f"{name:9} {len(times[name])} steps, mean {mean * 1000:.3f} ms, median {median * 1000:.3f} ms; {ratios}")
    size = sum(path.stat().st_size for path in folder.iterdir()) / 2**20
    per_step = used / len(times["recorded"]) * 1000
    print(f"recorder: {per_step:.3f} ms of processor time per step, {memory(recorder):.0f} MB, files {size:.1f} MB")


if __name__ == "__main__":
    main()
