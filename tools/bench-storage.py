#!/usr/bin/env python3
"""Measure the storage API: upload of 1 kB and 10 MB, download by public URL, list of 10,000 objects, signed URLs.

    tools/bench-storage.py target/release/basalt [--seconds 5] [--rounds 3] [--callers 8] [--only upload-1k,list]
        [--other URL --other-key KEY]

--other measures another server of the same API in turns with this one, such as Supabase Storage, that runs already: KEY is its service
key, the URL that of its API (http://host:port or …/storage/v1). Then a column has the ratio of the rates. The column `trips` has the
transactions per request that the database of this server counts.
"""

import argparse
import contextlib
import http.client
import json
import multiprocessing
import pathlib
import signal
import statistics
import subprocess
import sys
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import postgres  # noqa: E402

BUCKET = "bench-storage"
# Idle sessions of PostgreSQL report their transactions after ten seconds.
REPORTED = 11
FOLDER = "list"
LISTED = 10_000
SMALL, LARGE = b"x" * 1_000, b"y" * 10_000_000


def list_body():
    return json.dumps({"prefix": FOLDER, "limit": LISTED, "sortBy": {"column": "name", "order": "asc"}}).encode()


def case(method, path, body=b"", kind="application/json", has_key=True):
    return {"method": method, "path": path, "body": body, "kind": kind, "has_key": has_key}


CASES = {
    "upload-1k": case("POST", f"/object/{BUCKET}/up/{{serial}}", SMALL, "text/plain"),
    "upload-10m": case("POST", f"/object/{BUCKET}/up/{{serial}}", LARGE, "text/plain"),
    "get-1k": case("GET", f"/object/public/{BUCKET}/small", has_key=False),
    "get-10m": case("GET", f"/object/public/{BUCKET}/large", has_key=False),
    "list": case("POST", f"/object/list/{BUCKET}", list_body()),
    "sign": case("POST", f"/object/sign/{BUCKET}/small", b'{"expiresIn": 60}'),
}


class Api:
    """A server: the address of its API, and the key of the service role."""

    def __init__(self, url, key):
        parts = urllib.parse.urlsplit(url)
        self.host, self.path, self.key = parts.netloc, parts.path.rstrip("/"), key

    def connect(self):
        return http.client.HTTPConnection(self.host, timeout=120)

    def send(self, connection, it, serial):
        headers = {"content-type": it["kind"]} if it["body"] else {}
        if it["has_key"]:
            headers |= {"authorization": f"Bearer {self.key}", "apikey": self.key}
        connection.request(it["method"], self.path + it["path"].replace("{serial}", serial), it["body"] or None, headers)
        response = connection.getresponse()
        size = 0
        while part := response.read(1 << 20):
            size += len(part)
        return response.status, size

    def expect(self, it, *accepted):
        with contextlib.closing(self.connect()) as connection:
            status, _ = self.send(connection, it, "0")
        if status not in (200, *accepted):
            sys.exit(f"{self.host}{it['path']}: status {status}")

    def prepare(self):
        self.expect(case("POST", "/bucket", json.dumps({"name": BUCKET, "public": True}).encode()), 400, 409)
        # Of an earlier run: a server that refuses an upload before its end may close the connection.
        for name, content in [("small", SMALL), ("large", LARGE)]:
            self.expect(case("DELETE", f"/object/{BUCKET}/{name}"), 400, 404)
            self.expect(case("POST", f"/object/{BUCKET}/{name}", content, "text/plain"))

    def fill(self, callers):
        """Upload the objects of the list."""
        with multiprocessing.Pool(callers) as pool:
            pool.starmap(upload_listed, [(self, first, callers) for first in range(callers)])


def upload_listed(api, first, step):
    with contextlib.closing(api.connect()) as connection:
        for number in range(first, LISTED, step):
            status, _ = api.send(connection, case("POST", f"/object/{BUCKET}/{FOLDER}/{number:06}", b"x", "text/plain"), "")
            if status not in (200, 400, 409):
                sys.exit(f"filling the list: status {status}")


def call(api, it, seconds, name):
    """Send requests until the time is over; return their durations."""
    durations = []
    with contextlib.closing(api.connect()) as connection:
        end = time.perf_counter() + seconds
        while (began := time.perf_counter()) < end:
            status, _ = api.send(connection, it, f"{name}-{len(durations)}")
            if status != 200:
                sys.exit(f"{it['method']} {it['path']}: status {status}")
            durations.append(time.perf_counter() - began)
    return durations


def measure(api, it, options, name):
    """Return requests a second, and the median and the 99th percentile of the durations in ms."""
    with multiprocessing.Pool(options.callers) as pool:
        began = time.perf_counter()
        found = pool.starmap(call, [(api, it, options.seconds, f"{name}-{caller}") for caller in range(options.callers)])
        elapsed = time.perf_counter() - began
    durations = sorted(duration for of_caller in found for duration in of_caller)
    if not durations:
        sys.exit(f"{it['path']}: no request ended in time")
    return len(durations) / elapsed, durations[len(durations) // 2] * 1000, durations[len(durations) * 99 // 100] * 1000


class Basalt:
    """`basalt serve` with a database of its own."""

    def __init__(self, binary):
        command = [binary, "serve", "--ephemeral", "--port", "0", "--json"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        if not line:
            sys.exit("basalt serve did not start")
        ready = json.loads(line)
        self.database = ready["database_url"]
        self.api = Api(f"{ready['url']}/storage/v1", ready["service_role_key"])

    def count_transactions(self):
        """Return the transactions of the database, after the time in which idle sessions report theirs."""
        time.sleep(REPORTED)
        statement = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
        return int(subprocess.check_output(["psql", "-qAtX", self.database, "-c", statement], text=True))

    def count_trips(self, it, requests=40):
        """Return the transactions of a request, without those that the server makes meanwhile on its own."""
        idle, before = self.count_transactions(), self.count_transactions()
        with contextlib.closing(self.api.connect()) as connection:
            for number in range(requests):
                self.api.send(connection, it, f"trip-{time.time_ns()}-{number}")
        after = self.count_transactions()
        return max((after - before) - (before - idle), 0) / requests

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--callers", type=int, default=8)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(CASES))
    parser.add_argument("--other", metavar="URL")
    parser.add_argument("--other-key", metavar="KEY")
    options = parser.parse_args()
    postgres.psql()
    if unknown := set(options.only) - set(CASES):
        sys.exit(f"no such case: {', '.join(sorted(unknown))}; known are {', '.join(CASES)}")
    own = Basalt(options.binary)
    try:
        apis = [own.api] + ([Api(options.other, options.other_key)] if options.other else [])
        for api in apis:
            api.prepare()
            if "list" in options.only:
                api.fill(options.callers)
        print(f"{'case':10} {'req/s':>9} {'p50 ms':>8} {'p99 ms':>8} {'trips':>6} {'other':>9} {'ratio':>6}")
        for name in options.only:
            it = CASES[name]
            rounds = [[measure(api, it, options, f"{name}-{index}") for api in apis] for index in range(options.rounds)]
            rate, middle, late = (statistics.median(each[0][figure] for each in rounds) for figure in range(3))
            other = statistics.median(each[1][0] for each in rounds) if options.other else 0
            ratio = f"{rate / other:6.2f}" if other else f"{'-':>6}"
            print(f"{name:10} {rate:9.1f} {middle:8.2f} {late:8.2f} {own.count_trips(it):6.2f} {other:9.1f} {ratio}", flush=True)
    finally:
        own.stop()


if __name__ == "__main__":
    main()
