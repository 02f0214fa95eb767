#!/usr/bin/env python3
"""Measure the storage API: upload of 1 kB and 10 MB, download by public URL, list of 10,000 objects, signed URLs.

    tools/bench-storage.py target/release/basalt [--seconds 5] [--rounds 3] [--callers 8] [--only upload-1k,list]
        [--other URL --other-key KEY] [--large-size 5GB]

--other measures another server of the same API in turns with this one, such as Supabase Storage, that runs already: KEY is its service
key, the URL that of its API (http://host:port or …/storage/v1). Then a column has the ratio of the rates; a case that it does not answer
in time has "no answer", and the others go on. Downloads are also compared with nginx, which serves the same content from a file, if it is
installed. The column `trips` has the transactions per request that the database of this server counts.

The case `large`, which runs only when it is named, sends one object of 5 GB up and down, and fails if the resident memory of the server
grows by more than 16 MB. Its content is generated; on the disk of TMPDIR it has to have room.
"""

import argparse
import contextlib
import http.client
import json
import multiprocessing
import os
import pathlib
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import postgres  # noqa: E402

# In development each read asks the database, so that changes by SQL are seen at once.
PUBLIC_SERVER = "[basalt]\ndevelopment_pages = false\n"
BUCKET = "bench-storage"
# Idle sessions of PostgreSQL report their transactions after ten seconds.
REPORTED = 11
FOLDER = "list"
LISTED = 10_000
SMALL, LARGE = b"x" * 1_000, b"y" * 10_000_000
# How long a request may take, in seconds: this server, and another one, which may hang.
PATIENCE, OTHER_PATIENCE = 120, 20
# How much the resident memory may grow while a large object goes up and down, in bytes.
MORE_MEMORY = 16_000_000


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


# The files of nginx, by the cases whose content they have.
STATIC = {"get-1k": ("small", SMALL), "get-10m": ("large", LARGE)}


class NoAnswer(Exception):
    """A server did not answer a request as it should, or not in time."""


class Api:
    """A server: the address of its API, and the key of the service role."""

    def __init__(self, url, key, patience=PATIENCE):
        parts = urllib.parse.urlsplit(url)
        self.host, self.path, self.key, self.patience = parts.netloc, parts.path.rstrip("/"), key, patience

    def connect(self):
        return http.client.HTTPConnection(self.host, timeout=self.patience)

    def send(self, connection, it, serial):
        headers = {"content-type": it["kind"]} if it["body"] else {}
        if it["has_key"]:
            headers |= {"authorization": f"Bearer {self.key}", "apikey": self.key}
        end = time.monotonic() + self.patience
        try:
            connection.request(it["method"], self.path + it["path"].replace("{serial}", serial), it["body"] or None, headers)
            response = connection.getresponse()
            size = 0
            while part := response.read(1 << 20):
                size += len(part)
                if time.monotonic() > end:
                    raise TimeoutError("the content takes too long")
        except (OSError, http.client.HTTPException) as error:
            raise NoAnswer(f"{self.host}: {it['method']} {it['path']}: {error}") from error
        return response.status, size

    def expect(self, it, *accepted):
        with contextlib.closing(self.connect()) as connection:
            status, _ = self.send(connection, it, "0")
        if status not in (200, *accepted):
            raise NoAnswer(f"{self.host}: {it['method']} {it['path']}: status {status}")

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
                raise NoAnswer(f"{api.host}: filling the list: status {status}")


def call(api, it, seconds, name):
    """Send requests until the time is over; return their durations."""
    durations = []
    with contextlib.closing(api.connect()) as connection:
        end = time.perf_counter() + seconds
        while (began := time.perf_counter()) < end:
            status, _ = api.send(connection, it, f"{name}-{len(durations)}")
            if status != 200:
                raise NoAnswer(f"{api.host}: {it['method']} {it['path']}: status {status}")
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
        raise NoAnswer(f"{api.host}: {it['path']}: no request ended in time")
    return len(durations) / elapsed, durations[len(durations) // 2] * 1000, durations[len(durations) * 99 // 100] * 1000


class Basalt:
    """`basalt serve` with a database of its own."""

    def __init__(self, binary, settings):
        self.folder = tempfile.TemporaryDirectory()
        config = pathlib.Path(self.folder.name) / "config.toml"
        config.write_text(settings)
        command = [binary, "serve", "--ephemeral", "--port", "0", "--json", "--config", str(config)]
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
        self.folder.cleanup()


class Nginx:
    """nginx with the contents of the downloads in files."""

    def __init__(self, binary):
        self.folder = tempfile.TemporaryDirectory()
        root = pathlib.Path(self.folder.name)
        for name, content in STATIC.values():
            (root / name).write_bytes(content)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        user = "user root;" if os.geteuid() == 0 else ""
        folders = "".join(f"{kind}_temp_path {root}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        config = root / "nginx.conf"
        config.write_text(
            f"{user} daemon off; pid {root}/pid; error_log {root}/errors; worker_processes auto; events {{ worker_connections 256; }}\n"
            f"http {{ access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000; default_type text/plain; {folders}\n"
            f"server {{ listen 127.0.0.1:{port}; root {root}; }} }}\n"
        )
        self.process = subprocess.Popen([binary, "-c", str(config), "-e", f"{root}/errors"], stderr=subprocess.DEVNULL)
        self.api = Api(f"http://127.0.0.1:{port}", "")
        for _ in range(100):
            with contextlib.suppress(NoAnswer):
                self.api.expect(case("GET", "/small", has_key=False))
                return
            time.sleep(0.05)
        self.stop()
        sys.exit("nginx does not answer")

    def stop(self):
        self.process.terminate()
        self.process.wait(30)
        self.folder.cleanup()


def find_nginx():
    """Return the path of nginx, None if there is none."""
    return shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


class ResidentMemory:
    """The greatest resident memory of a process while the value is in use, in bytes, and that before."""

    def __init__(self, process):
        self.status = pathlib.Path(f"/proc/{process}/status")
        self.before = self.greatest = self.read()
        self.ended = threading.Event()
        self.sampler = threading.Thread(target=self.sample, daemon=True)

    def read(self):
        line = next(line for line in self.status.read_text().splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) * 1024

    def sample(self):
        while not self.ended.wait(0.05):
            self.greatest = max(self.greatest, self.read())

    def __enter__(self):
        self.sampler.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.sampler.join()

    @property
    def growth(self):
        return self.greatest - self.before


def parse_size(text):
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("", 1)):
        if text.endswith(unit):
            return int(float(text.removesuffix(unit)) * factor)
    raise ValueError(text)


def send_large(api, size):
    """Upload generated content; return the seconds."""
    block, began = os.urandom(1 << 20), time.perf_counter()
    parts = (block[: min(len(block), size - sent)] for sent in range(0, size, len(block)))
    headers = {"authorization": f"Bearer {api.key}", "apikey": api.key, "content-length": str(size)}
    with contextlib.closing(api.connect()) as connection:
        connection.request("PUT", f"{api.path}/object/{BUCKET}/huge", parts, headers | {"content-type": "text/plain"})
        response = connection.getresponse()
        answer = response.read()
    if response.status != 200:
        sys.exit(f"uploading {size} bytes: status {response.status}: {answer.decode(errors='replace')}")
    return time.perf_counter() - began


def read_large(api, size):
    """Download the large object; return the seconds."""
    began = time.perf_counter()
    with contextlib.closing(api.connect()) as connection:
        connection.request("GET", f"{api.path}/object/public/{BUCKET}/huge")
        response, read = connection.getresponse(), 0
        while part := response.read(1 << 20):
            read += len(part)
    if (response.status, read) != (200, size):
        sys.exit(f"downloading {size} bytes: status {response.status}, {read} bytes")
    return time.perf_counter() - began


def measure_large(own, size):
    """Send one large object up and down; return whether the memory of the server stays within its limit."""
    # What the first requests need stays: connections, threads, buffers.
    for transfer in (send_large, read_large):
        transfer(own.api, 20_000_000)
    is_within = True
    for name, transfer in (("upload", send_large), ("download", read_large)):
        with ResidentMemory(own.process.pid) as memory:
            seconds = transfer(own.api, size)
        is_within &= memory.growth <= MORE_MEMORY
        print(
            f"large {name:8} {size / 1e6:,.0f} MB in {seconds:,.1f} s ({size / 1e6 / seconds:,.0f} MB/s): resident memory "
            f"{memory.before / 1e6:.1f} MB, + {memory.growth / 1e6:.1f} MB (limit + {MORE_MEMORY / 1e6:.0f} MB)",
            flush=True,
        )
    return is_within


def measure_case(name, own, others, options):
    """Measure this server and the others in turns; return the figures of each, None for one that does not answer."""
    rounds = [[] for _ in range(1 + len(others))]
    for index in range(options.rounds):
        for place, (api, it) in enumerate([(own.api, CASES[name]), *others]):
            if rounds[place] is None:
                continue
            try:
                rounds[place].append(measure(api, it, options, f"{name}-{index}"))
            except NoAnswer as error:
                if place == 0:
                    sys.exit(str(error))
                print(f"# {error}", file=sys.stderr, flush=True)
                rounds[place] = None
    return [found and [statistics.median(figures) for figures in zip(*found)] for found in rounds]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--callers", type=int, default=8)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(CASES))
    parser.add_argument("--other", metavar="URL")
    parser.add_argument("--other-key", metavar="KEY")
    parser.add_argument("--other-timeout", type=float, default=OTHER_PATIENCE, metavar="SECONDS")
    parser.add_argument("--large-size", type=parse_size, default="5GB", metavar="SIZE")
    options = parser.parse_args()
    postgres.psql()
    known = [*CASES, "large"]
    if unknown := set(options.only) - set(known):
        sys.exit(f"no such case: {', '.join(sorted(unknown))}; known are {', '.join(known)}")
    has_large = "large" in options.only
    settings = PUBLIC_SERVER + (f'[storage]\nfile_size_limit = "{options.large_size}"\n' if has_large else "")
    own = Basalt(options.binary, settings)
    nginx = None
    try:
        own.api.prepare()
        if has_large and not measure_large(own, options.large_size):
            sys.exit("the memory of the server grew beyond its limit")
        cases = [name for name in options.only if name != "large"]
        if not cases:
            return
        other = prepare_other(options)
        if "list" in cases:
            own.api.fill(options.callers)
        if any(name in STATIC for name in cases):
            if binary := find_nginx():
                nginx = Nginx(binary)
            else:
                print("# downloads are not compared with nginx: it is not installed (Debian: apt install nginx)", file=sys.stderr)
        heads = f"{'other':>9} {'ratio':>6} {'nginx':>9} {'ratio':>6}"
        print(f"{'case':10} {'req/s':>9} {'p50 ms':>8} {'p99 ms':>8} {'trips':>6} {heads}")
        for name in cases:
            others = []
            if other:
                others.append((other, CASES[name]))
            if nginx and name in STATIC:
                others.append((nginx.api, case("GET", f"/{STATIC[name][0]}", has_key=False)))
            found = measure_case(name, own, others, options)
            rate, middle, late = found[0]
            beside = found[1:]
            columns = [
                describe(rate, beside[0] if other else None, options.other),
                describe(rate, beside[-1], True) if nginx and name in STATIC else describe(rate, None, False),
            ]
            print(f"{name:10} {rate:9.1f} {middle:8.2f} {late:8.2f} {own.count_trips(CASES[name]):6.2f} {' '.join(columns)}", flush=True)
    except NoAnswer as error:
        sys.exit(str(error))
    finally:
        if nginx:
            nginx.stop()
        own.stop()


def prepare_other(options):
    """Return the other server when it is ready, None if there is none or it does not answer."""
    if not options.other:
        return None
    other = Api(options.other, options.other_key, options.other_timeout)
    try:
        other.prepare()
        if "list" in options.only:
            other.fill(options.callers)
    except NoAnswer as error:
        print(f"# the other server is left out: {error}", file=sys.stderr, flush=True)
        return None
    return other


def describe(rate, figures, is_measured):
    """Return the columns of another server: its rate and the ratio."""
    if figures:
        return f"{figures[0]:9.1f} {rate / figures[0]:6.2f}"
    return f"{'no answer' if is_measured else '-':>9} {'-':>6}"


if __name__ == "__main__":
    main()
