#!/usr/bin/env python3
"""Compare two auth servers, A and B, on one PostgreSQL with the same seed, settings and load. See README.md."""

import argparse
import base64
import contextlib
import hashlib
import hmac
import http.client
import json
import os
import pathlib
import resource
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import postgres  # noqa: E402

ADMIN = "supabase_auth_admin"
PASSWORD = "correct horse battery"
TICKS = os.sysconf("SC_CLK_TCK")

# Workload: subcommand and options of the load generator; `rtt` is added to each round trip to PostgreSQL, in seconds.
WORKLOADS = {
    "W1": ("user", dict(connections=64)),
    "W1o": ("user", dict(connections=256, rate=200)),
    "W2": ("refresh", dict(connections=64)),
    "W2s": ("storm", dict(connections=256, rate=200)),
    "W2r": ("refresh", dict(connections=64, rtt=0.0005)),
    "W3": ("password", dict(connections=8)),
    "W4": ("signup", dict(connections=8)),
    "W5": ("otp", dict(connections=16)),
    "W5d": ("otp", dict(connections=64, smtp_delay_ms=200)),
    "W6": ("static", dict(connections=64)),
    "W7": ("day", dict(connections=256, rate=100)),
    "W8": ("interference", dict(connections=32, rate=200)),
}
# Requests per kind in the part `counts`: one caller, through the proxy.
COUNTED = {"user": 200, "refresh": 200, "login": 60, "signup": 60, "otp": 200, "static": 60}
FIGURES = ["rps", "p50_ms", "p90_ms", "p99_ms", "p99.9_ms", "server_cpu", "postgres_cpu", "rss_mb"]
QUIET = 0.20  # a run is noisy if other processes use more than this share of the CPU


class Cluster(postgres.Cluster):
    """A PostgreSQL with durable commits, which the next run uses again."""

    SETTINGS = dict(fsync="on", synchronous_commit="on", full_page_writes="on", shared_buffers="512MB",
                    max_connections=200, autovacuum="off", checkpoint_timeout="1h", max_wal_size="8GB", jit="off")

    def __enter__(self):
        self.start()
        self.pid = int((self.data / "postmaster.pid").read_text().split()[0])
        return self

    def __exit__(self, *_):
        self.stop()

    def clone(self, template, database):
        self.sql(f"drop database if exists {database} with (force);")
        self.sql(f"create database {database} template {template};")

    def settle(self, database):
        self.sql("vacuum; checkpoint;", database)

    def wal(self):
        return int(self.sql("select pg_current_wal_insert_lsn() - '0/0'::pg_lsn").split(".")[0])


class Server:
    """A server under test: a command that serves the auth API on $PORT."""

    def __init__(self, command, port, database_url, options):
        self.address = f"127.0.0.1:{port}"
        environment = {k: os.environ[k] for k in ("PATH", "HOME", "TMPDIR") if k in os.environ}
        environment |= settings(options.set) | dict(PORT=str(port), API_EXTERNAL_URL=f"http://{self.address}",
                                         DATABASE_URL=database_url, GOTRUE_SMTP_PORT=str(options.smtp_port))
        self.log = open(options.logs / f"{port}.log", "a") if options.logs else subprocess.DEVNULL
        began = time.perf_counter()
        self.process = subprocess.Popen(["sh", "-c", f"exec {command}"], env=environment, stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log)
        while not self.healthy():
            if self.process.poll() is not None or time.perf_counter() - began > 30:
                sys.exit(f"not healthy: {command} (see --logs)")
            time.sleep(0.001)
        self.cold_start = time.perf_counter() - began
        self.binary_size = os.stat(f"/proc/{self.process.pid}/exe").st_size

    def healthy(self):
        connection = http.client.HTTPConnection(self.address, timeout=1)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def cpu(self):
        return tree_cpu(self.process.pid)

    def rss(self):
        """Return the resident memory of the process tree in MB."""
        pages = sum(int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in tree(self.process.pid))
        return pages * os.sysconf("SC_PAGESIZE") / 1e6

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Proxy:
    """A proxy that counts, and can delay, the traffic of a server to PostgreSQL."""

    def __init__(self, load, port, upstream, delay=0.0):
        self.port = port
        self.process = subprocess.Popen([load, "proxy", f"--listen={port}", f"--upstream={upstream}",
                                         f"--delay-us={round(delay * 1e6)}"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def counts(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def __enter__(self):
        self.counts()
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


def settings(changes=()):
    lines = (HERE / "settings.env").read_text().splitlines() + list(changes)
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def stat(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def tree(root):
    parents = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            parents.setdefault(int(stat(pid)[1]), []).append(int(pid))
    found = [root]
    for pid in found:
        found += parents.get(pid, [])
    return found


def tree_cpu(root):
    """Return user and system seconds of a process and its descendants, including ended ones."""
    ticks = 0
    for pid in tree(root):
        with contextlib.suppress(OSError):
            ticks += sum(map(int, stat(pid)[11:15]))
    return ticks / TICKS


def machine_cpu():
    """Return the busy seconds of all cores, including time stolen by the host."""
    fields = list(map(int, pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:9]))
    return (sum(fields) - fields[3] - fields[4]) / TICKS


def own_cpu():
    usages = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(u.ru_utime + u.ru_stime for u in usages)


def token(secret, user_id, session_id, email):
    """Return an access token as issued by the reference, valid for ten years."""
    now = int(time.time())
    claims = dict(
        iss="http://127.0.0.1/auth", sub=user_id, aud="authenticated", exp=now + 315_360_000, iat=now, email=email,
        phone="", app_metadata=dict(provider="email", providers=["email"]),
        user_metadata=dict(email=email, email_verified=True, phone_verified=False, sub=user_id),
        role="authenticated", aal="aal1", amr=[dict(method="password", timestamp=now)],
        session_id=session_id, is_anonymous=False)

    def encode(raw):
        return base64.urlsafe_b64encode(raw).rstrip(b"=")

    def part(value):
        return encode(json.dumps(value, separators=(",", ":")).encode())

    signed = part(dict(alg="HS256", typ="JWT")) + b"." + part(claims)
    return (signed + b"." + encode(hmac.digest(secret.encode(), signed, hashlib.sha256))).decode()


class Bench:
    def __init__(self, options, cluster):
        self.o, self.cluster = options, cluster
        self.template = f"auth_seed_{options.users}"
        self.seed_file = options.home / f"{self.template}.tsv"
        self.commands = dict(A=options.a, B=options.b)

    # Seed

    def prepare(self):
        existing = self.cluster.sql(f"select 1 from pg_database where datname = '{self.template}'")
        if existing and self.seed_file.exists():
            return
        if not self.o.migrate:
            sys.exit("there is no seed: pass --migrate CMD with the migration command of the reference")
        say(f"seeding {self.o.users} users")
        draft = "auth_draft"
        self.cluster.sql(f"drop database if exists {draft} with (force);")
        self.cluster.sql(f"drop database if exists {self.template} with (force);")
        self.cluster.sql(f"create database {draft};")
        self.cluster.sql((HERE / "roles.sql").read_text(), draft)
        environment = os.environ | settings() | dict(DATABASE_URL=self.cluster.url(draft, ADMIN),
                                                     API_EXTERNAL_URL="http://127.0.0.1")
        subprocess.run(["sh", "-c", f"exec {self.o.migrate}"], env=environment, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        rows = self.cluster.sql((HERE / "seed.sql").read_text(), draft, users=self.o.users, password=PASSWORD)
        secret = settings()["GOTRUE_JWT_SECRET"]
        with open(self.seed_file, "w") as out:
            for row in rows.splitlines():
                email, user_id, session_id, refresh = row.split("\t")
                out.write(f"{email}\t{token(secret, user_id, session_id, email)}\t{refresh}\n")
        self.cluster.sql(f"alter database {draft} rename to {self.template};")

    # One run of the load generator

    def load(self, what, server, run=0, skip=0, **options):
        options.pop("rtt", None)
        words = [self.o.load, what, f"--target={server.address}", f"--seed={self.seed_file}", f"--skip={skip}",
                 f"--password={PASSWORD}", f"--run={run}", f"--smtp-port={self.o.smtp_port}"]
        words += [f"--{key.replace('_', '-')}={value}" for key, value in options.items()]
        done = subprocess.run(words, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(f"the load generator failed: {shlex.join(map(str, words))}")
        return json.loads(done.stdout)

    @contextlib.contextmanager
    def serve(self, side, database, port, rtt=0.0, proxy_port=None):
        """Run a server on a new copy of the seed, behind the proxy if `proxy_port` is given."""
        self.cluster.clone(self.template, database)
        with contextlib.ExitStack() as stack:
            proxy = None
            if proxy_port:
                proxy = stack.enter_context(Proxy(self.o.load, proxy_port, self.cluster.port, rtt))
            url = self.cluster.url(database, ADMIN, proxy_port)
            server = stack.enter_context(Server(self.commands[side], port, url, self.o))
            yield server, proxy

    # Rounds of two blocks, AB BA, each with new databases and processes, because processes differ by chance.

    def compare(self, name):
        blocks = []
        while len(blocks) < self.o.blocks:
            blocks += self.abba(name, len(blocks))
        what, options = WORKLOADS[name]
        return dict(what=what, options=options, blocks=blocks, summary=summarise(blocks))

    def abba(self, name, done):
        what, options = WORKLOADS[name]
        rtt = options.get("rtt", 0.0)
        per_run = {"refresh": options["connections"], "day": 500,
                   "storm": round(options.get("rate", 0) * self.o.seconds)}.get(what, 0)
        if 3 * per_run > self.o.users:
            sys.exit(f"{name} needs more sessions than the seed has: --users {3 * per_run}")
        with contextlib.ExitStack() as stack:
            sides = {}
            for number, side in enumerate("AB"):
                port = self.o.port + number
                proxy_port = self.o.port + 10 + number if rtt else None
                sides[side], _ = stack.enter_context(self.serve(side, f"auth_{side.lower()}", port, rtt, proxy_port))
            for server in sides.values():
                self.load(what, server, seconds=min(2, self.o.seconds), **options)
            blocks = []
            for number, order in enumerate(("AB", "BA"), 1):
                block = {side: self.measured(what, sides[side], f"auth_{side.lower()}", run=done + number,
                                             skip=number * per_run, **options) for side in order}
                blocks.append(block)
                say(f"{name} block {done + number}: " + "  ".join(
                    f"{side} {block[side]['rps']:.0f} rps p50 {block[side]['p50_ms']} p99 {block[side]['p99_ms']} ms "
                    f"cpu {block[side]['server_cpu']:.2f}+{block[side]['postgres_cpu']:.2f} "
                    f"outside {block[side]['outside']:.0%} errors {block[side]['errors']}" for side in "AB"))
            return blocks

    def measured(self, what, server, database, **options):
        self.cluster.settle(database)
        began = time.perf_counter()
        before = dict(server=server.cpu(), postgres=tree_cpu(self.cluster.pid), own=own_cpu(), machine=machine_cpu())
        run = self.load(what, server, seconds=self.o.seconds, **options)
        after = dict(server=server.cpu(), postgres=tree_cpu(self.cluster.pid), own=own_cpu(), machine=machine_cpu())
        used = {key: after[key] - before[key] for key in before}
        elapsed = time.perf_counter() - began
        answered = sum(part["requests"] - part["errors"] for part in (run, run.get("logins")) if part)
        thousands = max(answered, 1) / 1000
        outside = used["machine"] - used["server"] - used["postgres"] - used["own"]
        return run | dict(
            server_cpu=used["server"] / thousands, postgres_cpu=used["postgres"] / thousands,
            load_cpu=used["own"] / thousands, rss_mb=server.rss(), double_tokens=self.double_tokens(database),
            outside=max(0.0, outside / elapsed / os.cpu_count()), loadavg=os.getloadavg()[0],
            pressure=pathlib.Path("/proc/pressure/cpu").read_text().split()[1])

    def double_tokens(self, database):
        """Count the sessions with two active refresh tokens; must be 0."""
        return int(self.cluster.sql("select count(*) from (select from auth.refresh_tokens where not revoked "
                                    "group by session_id having count(*) > 1) x", database))

    # Counts per request: one caller, the proxy between server and PostgreSQL.

    def counts(self, side):
        out = {}
        self.cluster.sql("alter system set full_page_writes = off;")
        self.cluster.sql("select pg_reload_conf();")
        with self.serve(side, "auth_count", self.o.port + 2, proxy_port=self.o.port + 12) as (server, proxy):
            for number, (what, requests) in enumerate(COUNTED.items()):
                once = dict(connections=1, seconds=60)
                self.load(what, server, run=number * 2, skip=number * 2, requests=20, **once)
                before, wal = proxy.counts(), self.cluster.wal()
                again = number * 2 + 1
                run = self.load(what, server, run=again, skip=again, requests=requests, **once)
                after = proxy.counts()
                out[what] = {key: round((after[key] - before[key]) / requests, 2) for key in after}
                out[what] |= dict(wal=round((self.cluster.wal() - wal) / requests), errors=run["errors"],
                                  p50_ms=run["p50_ms"])
        self.cluster.sql("alter system reset full_page_writes;")
        self.cluster.sql("select pg_reload_conf();")
        say(f"{side} round trips: " + ", ".join(f"{k} {v['round_trips']}" for k, v in out.items()))
        return out

    # Size, start and memory

    def footprint(self, side):
        starts, rss = [], {}
        for _ in range(self.o.starts):
            with self.serve(side, "auth_count", self.o.port + 2) as (server, _):
                starts.append(round(server.cold_start * 1000, 1))
        with self.serve(side, "auth_count", self.o.port + 2) as (server, _):
            time.sleep(2)
            rss["idle"] = server.rss()
            for what in ("user", "refresh"):
                self.load(what, server, connections=64, seconds=self.o.seconds)
            rss["after load"] = server.rss()
        with self.serve(side, "auth_count", self.o.port + 2) as (server, _):
            for count in self.o.idle_connections:
                idle = subprocess.Popen([self.o.load, "idle", f"--target={server.address}", f"--connections={count}"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                opened = json.loads(idle.stdout.readline())
                time.sleep(1)
                rss[f"{count} connections"] = server.rss() if not opened["errors"] else None
                idle.stdin.close()
                idle.wait()
        say(f"{side} start {starts} ms, RSS {({k: v and round(v, 1) for k, v in rss.items()})}")
        return dict(cold_start_ms=starts, rss_mb=rss, binary_mb=server.binary_size / 1e6)


def spread(values):
    return dict(median=statistics.median(values), min=min(values), max=max(values))


def summarise(blocks):
    """Return per figure the spread of each side and of B/A over the quiet blocks, or all if too few are quiet."""
    quiet = [b for b in blocks if max(b["A"]["outside"], b["B"]["outside"]) <= QUIET]
    noisy = len(quiet) < max(2, len(blocks) / 2)
    kept = blocks if noisy else quiet
    out = dict(noisy=noisy, blocks=len(kept), void=any(
        b[s]["errors"] > 0.001 * b[s]["requests"] for b in kept for s in "AB"))
    for figure in FIGURES:
        ratios = [b["B"][figure] / b["A"][figure] for b in kept if b["A"][figure] > 0]
        out[figure] = {s: spread([b[s][figure] for b in kept]) for s in "AB"}
        out[figure]["ratio"] = spread(ratios) | dict(above_1=sum(r > 1 for r in ratios)) if ratios else None
    return out


def say(text):
    print(text, file=sys.stderr, flush=True)


def short(x):
    return f"{x:.0f}" if abs(x) >= 100 else f"{x:.3g}"


def cell(values):
    return f"{short(values['median'])} [{short(values['min'])}..{short(values['max'])}]"


def tables(result):
    """Format the report as Markdown."""
    heads = ["req/s", "p50 ms", "p90 ms", "p99 ms", "p99.9 ms", "server CPU s/1k", "postgres CPU s/1k",
             "RSS MB", ""]
    lines = []
    for title, pick in (("A", "A"), ("B", "B"), ("B/A", "ratio")):
        lines += [f"### {title}", "", "| | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
        for name, workload in result["workloads"].items():
            s = workload["summary"]
            signs = [sign for sign in ("noisy", "void") if s[sign]]
            runs = [block[pick] for block in workload["blocks"]] if pick in "AB" else []
            if doubled := max((run["double_tokens"] for run in runs), default=0):
                signs.append(f"{doubled} sessions with two active tokens")
            if runs and "logins" in runs[0]:
                signs.append("logins/s " + cell(spread([run["logins"]["rps"] for run in runs])))
            cells = [cell(s[f][pick]) if s[f][pick] else "" for f in FIGURES] + [", ".join(signs)]
            lines.append(f"| {name} {workload['what']} | " + " | ".join(cells) + " |")
        lines.append("")
    for side, counted in result["counts"].items():
        lines += [f"### {side}: counts per request", "", "| | round trips | Sync + simple | Parse | WAL B |",
                  "|---|---|---|---|---|"]
        lines += [f"| {what} | {c['round_trips']} | {c['syncs']} | {c['parses']} | {c['wal']} |"
                  for what, c in counted.items()]
        lines.append("")
    for side, f in result["footprint"].items():
        rss = ", ".join(f"{k} {v:.1f}" if v else f"{k} failed" for k, v in f["rss_mb"].items())
        lines += [f"{side}: cold start {cell(spread(f['cold_start_ms']))} ms; RSS MB: {rss}; "
                  f"binary {f['binary_mb']:.1f} MB", ""]
    return "\n".join(lines)


def arguments():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--a", required=True, help="command of server A (the reference)")
    p.add_argument("--b", required=True, help="command of server B; for the A/A control, the same as --a")
    p.add_argument("--migrate", help="migration command of the reference; needed on the first run")
    p.add_argument("--only", help=f"parts to run: {','.join(WORKLOADS)}, counts, footprint")
    p.add_argument("--blocks", type=int, default=8, help="number of pairs of runs, AB BA AB BA ...; even")
    p.add_argument("--seconds", type=float, default=10.0, help="length of a run")
    p.add_argument("--quick", action="store_true", help="2 blocks of 2 seconds, 3 starts, 1000 idle connections")
    p.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="overrides settings.env for both servers")
    p.add_argument("--users", type=int, default=10_000)
    p.add_argument("--starts", type=int, default=7)
    p.add_argument("--idle-connections", type=int, nargs="*", default=[1000, 10_000])
    p.add_argument("--load", help="the load generator's binary (default: built with cargo)")
    p.add_argument("--home", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "bench-pg")
    p.add_argument("--pg-port", type=int, default=5440)
    p.add_argument("--port", type=int, default=9400, help="first port of the servers")
    p.add_argument("--smtp-port", type=int, default=9425)
    p.add_argument("--logs", type=pathlib.Path, help="directory for server logs (default: no logs)")
    p.add_argument("--out", type=pathlib.Path, help="JSON file of the results")
    o = p.parse_args()
    if o.quick:
        o.blocks, o.seconds, o.starts, o.idle_connections = 2, 2.0, 3, [1000]
    if not o.load:
        build = ["cargo", "build", "--release", "--quiet", "--message-format=json",
                 "--manifest-path", HERE / "load/Cargo.toml"]
        messages = subprocess.run(build, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
        o.load = next(m["executable"] for m in map(json.loads, messages) if m.get("executable"))
    if o.logs:
        o.logs.mkdir(parents=True, exist_ok=True)
    return o


def main():
    o = arguments()
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    parts = o.only.split(",") if o.only else [*WORKLOADS, "counts", "footprint"]
    result = dict(a=o.a, b=o.b, blocks=o.blocks, seconds=o.seconds, users=o.users, cores=os.cpu_count(),
                  workloads={}, counts={}, footprint={})
    with Cluster(o.home, o.pg_port) as cluster:
        bench = Bench(o, cluster)
        bench.prepare()
        for side in "AB":
            if "counts" in parts:
                result["counts"][side] = bench.counts(side)
            if "footprint" in parts:
                result["footprint"][side] = bench.footprint(side)
        for name in filter(WORKLOADS.get, parts):
            result["workloads"][name] = bench.compare(name)
            if o.out:
                o.out.write_text(json.dumps(result, indent=1))
    if o.out:
        o.out.write_text(json.dumps(result, indent=1))
    print(tables(result))


if __name__ == "__main__":
    main()
