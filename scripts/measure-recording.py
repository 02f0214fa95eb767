#!/usr/bin/env python3
"""Measure the latency that `basalt record` adds, and its memory.

Sends requests to a test server directly and through the recorder, in alternating blocks on one connection each, and prints
the ratio of the mean latencies. A step is a sign-in by password, a refresh or a read of the user.

    scripts/measure-recording.py --binary target/release/basalt [--steps 10000]
"""

import argparse
import http.client
import json
import os
import pathlib
import signal
import statistics
import subprocess
import tempfile
import time
import urllib.parse

BLOCK = 100


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


def start(command):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return process, json.loads(process.stdout.readline())


def memory(process):
    """Return the largest resident memory of a process in megabytes."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/release/basalt")
    parser.add_argument("--steps", type=int, default=10_000)
    arguments = parser.parse_args()
    binary = os.path.abspath(arguments.binary)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        server, ready = start([binary, "serve", "--test", "--json", "--port", "0"])
        recorder, proxy = start([binary, "record", "--upstream", ready["url"], "--port", "0", "--out", "flows", "--json"])
        try:
            key = ready["secret_key"]
            admin = Client(ready["url"], key)
            admin.request("POST", "/admin/users", {"email": admin.email, "password": "correct horse", "email_confirm": True})
            direct, recorded = Client(ready["url"], ready["publishable_key"]), Client(proxy["url"], ready["publishable_key"])
            times = {direct: [], recorded: []}
            for client in times:
                for _ in range(BLOCK):
                    client.step()
            while len(times[recorded]) < arguments.steps:
                for client, found in times.items():
                    found.extend(client.step() for _ in range(BLOCK))
            report(times[direct], times[recorded], recorder, pathlib.Path("flows"))
        finally:
            for process in (recorder, server):
                process.send_signal(signal.SIGTERM)
                process.wait(30)


def report(direct, recorded, recorder, folder):
    for name, times in (("direct", direct), ("recorded", recorded)):
        mean, median = statistics.fmean(times) * 1000, statistics.median(times) * 1000
        print(f"{name:9} {len(times)} steps, mean {mean:.3f} ms, median {median:.3f} ms")
    mean = statistics.fmean(recorded) / statistics.fmean(direct)
    median = statistics.median(recorded) / statistics.median(direct)
    size = sum(path.stat().st_size for path in folder.iterdir()) / 2**20
    print(f"ratio of the means {mean:.3f}, of the medians {median:.3f}; recorder {memory(recorder):.0f} MB, files {size:.1f} MB")


if __name__ == "__main__":
    main()
