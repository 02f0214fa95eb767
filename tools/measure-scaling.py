#!/usr/bin/env python3
"""Measures what docs/scaling.md calculates with: tools/measure-scaling.py [--users 200000] [--requests 4000]

Prints, for a database of its own with fsync: bytes of a user with identity, session and refresh token, and of each kind of
request WAL, growth, CPU time of server and PostgreSQL, and the time that it occupies a connection. Then the same load on one
server and on four, with the waits of the database's sessions. Needs PostgreSQL 15 or newer and a release build.
"""

import argparse
import collections
import importlib.util
import os
import pathlib
import subprocess
import sys
import threading
import time

SCRIPTS = pathlib.Path(__file__).resolve().parent
spec = importlib.util.spec_from_file_location("bench_users", SCRIPTS / "bench-users.py")
bench = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bench)

TICKS = os.sysconf("SC_CLK_TCK")
UNAUDITED = "GOTRUE_AUDIT_LOG_DISABLE_POSTGRES=true"
CONFIRMED = "GOTRUE_MAILER_AUTOCONFIRM=true"
VERSION_2 = "GOTRUE_SECURITY_REFRESH_TOKEN_ALGORITHM_VERSION=2"
TABLES = ("users", "identities", "sessions", "refresh_tokens", "audit_log_entries")
WAITS = """SELECT coalesce(wait_event_type || ' ' || wait_event, 'running') FROM pg_stat_activity
           WHERE datname = 'many' AND pid <> pg_backend_pid() AND backend_type = 'client backend'
             AND state IN ('active', 'idle in transaction')"""


class Durable(bench.Cluster):
    """A PostgreSQL that writes as in production; vacuum would add to what requests write."""

    SETTINGS = {"fsync": "on", "shared_buffers": "1GB", "max_wal_size": "8GB", "max_connections": 200, "checkpoint_timeout": "1h",
                "autovacuum": "off"}

    def write_pages(self, is_on):
        """Sets whether the first change of a page after a checkpoint writes the whole page."""
        self.sql(f"ALTER SYSTEM SET full_page_writes = {'on' if is_on else 'off'}")
        self.sql("SELECT pg_reload_conf()")
        time.sleep(0.5)


def stat(pid):
    """Returns parent, own CPU seconds and those of ended children of a process."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own, ended = (sum(int(fields[at]) for at in places) / TICKS for places in ((11, 12), (13, 14)))
    return int(fields[1]), own, ended


def cpu_of_tree(root):
    """Returns the CPU seconds of a process and its children, the ended ones included."""
    _, own, ended = stat(root)
    total = own + ended
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent, own, ended = stat(entry.name)
            except (OSError, IndexError):
                continue
            total += own + ended if parent == root else 0
    return total


class Probe:
    """Reads what the database and the processes have used so far."""

    def __init__(self, cluster, servers):
        self.cluster, self.servers = cluster, servers
        self.postmaster = int((cluster.home / "data/postmaster.pid").read_text().split()[0])

    def number(self, sql):
        return float(self.cluster.sql(sql, "many"))

    def read(self):
        sizes = {table: self.number(f"SELECT pg_total_relation_size('auth.{table}')") for table in TABLES}
        return {
            "wal": self.number("SELECT pg_current_wal_lsn() - '0/0'"),
            "growth": sum(sizes.values()),
            "busy": self.number("SELECT active_time + idle_in_transaction_time FROM pg_stat_database WHERE datname = 'many'"),
            "server": sum(stat(server.process.pid)[1] for server in self.servers),
            "postgres": cpu_of_tree(self.postmaster),
        }


def run_clients(servers, clients, requests, ask):
    """Sends the requests from several threads, each with a connection to one server; returns the seconds."""
    numbers, lock, failures = iter(range(requests)), threading.Lock(), []

    def work(server):
        own = bench.Server.__new__(bench.Server)
        own.port, own.connection, own.admin = server.port, None, server.admin
        while not failures:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            try:
                ask(own, number)
            except BaseException as error:
                failures.append(error)

    threads = [threading.Thread(target=work, args=(servers[k % len(servers)],)) for k in range(clients)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        sys.exit(f"a request failed: {failures[0]!r}")
    return time.perf_counter() - began


class Users:
    """Gives each request another user, because a refresh token is used once."""

    def __init__(self, users):
        self.users, self.next = users, 0

    def take(self, count):
        first = self.next
        self.next += count
        if self.next > self.users:
            sys.exit("--users is too small for so many requests")
        return lambda number: (first + number) * 7919 % self.users + 1


def sign_in(server, users, count, clients):
    """Returns as many refresh tokens of the server's version."""
    known, tokens = users.take(count), {}

    def ask(client, number):
        answer = client.ask("POST", "/token?grant_type=password",
                            dict(email=f"user{known(number)}@example.com", password=bench.PASSWORD))
        tokens[number] = answer["refresh_token"]

    run_clients([server], clients, count, ask)
    return tokens


def kinds(users, requests, tokens, unaudited):
    """The kinds of requests, each with a function that sends the n-th one. The tokens are of version 2."""
    refreshed, read, known = users.take(requests), users.take(requests), users.take(requests)
    few = max(requests // 10, 100)
    return {
        "refresh": (requests, lambda s, n: s.ask("POST", "/token?grant_type=refresh_token",
                                                 dict(refresh_token=bench.token(refreshed(n))))),
        "refresh, version 2": (requests, lambda s, n: s.ask("POST", "/token?grant_type=refresh_token",
                                                            dict(refresh_token=tokens[n]))),
        "refresh, version 2, no audit rows": (requests, lambda s, n: s.ask("POST", "/token?grant_type=refresh_token",
                                                                           dict(refresh_token=unaudited[n]))),
        "read a user": (requests, lambda s, n: s.ask("GET", f"/admin/users/{bench.identifier(read(n))}")),
        "sign-in by password (bcrypt 4)": (few, lambda s, n: s.ask(
            "POST", "/token?grant_type=password", dict(email=f"user{known(n)}@example.com", password=bench.PASSWORD))),
        "sign-up (bcrypt 10)": (few, lambda s, n: s.ask("POST", "/signup", dict(
            email=f"new{time.monotonic_ns()}-{n}@example.com", password=bench.PASSWORD))),
    }


def print_sizes(cluster, users):
    print("\n| table | rows | table bytes a row | index bytes a row |\n|---|---|---|---|")
    for table in TABLES[:4]:
        rows, heap, indexes = cluster.sql(
            f"SELECT count(*), pg_table_size('auth.{table}'), pg_indexes_size('auth.{table}') FROM auth.{table}", "many").split("|")
        print(f"| {table} | {int(rows):,} | {int(heap) / int(rows):.0f} | {int(indexes) / int(rows):.0f} |")
    total = sum(int(cluster.sql(f"SELECT pg_total_relation_size('auth.{table}')", "many")) for table in TABLES[:4])
    print(f"\na user with one identity, session and token: {total / users:.0f} bytes")


def print_requests(cluster, servers, users, requests, clients):
    """Measures each kind of request at the first server, and refreshes of version 2 at the other two."""
    first, second, third = servers
    tokens, unaudited = (sign_in(server, users, requests, clients) for server in (second, third))
    print("\n| request | WAL bytes | WAL bytes with whole pages | growth bytes | server CPU ms | PostgreSQL CPU ms | connection ms |")
    print("|---|---|---|---|---|---|---|")
    for name, (count, ask) in kinds(users, requests, tokens, unaudited).items():
        server = third if "no audit" in name else second if "version 2" in name else first
        probe, half, measured = Probe(cluster, [server]), count // 2, []
        # The first half writes a whole page for each change, because few pages are changed twice.
        for offset in (0, half):
            cluster.write_pages(offset == 0)
            cluster.sql("CHECKPOINT", "many")
            before = probe.read()
            run_clients([server], clients, half, lambda s, n, offset=offset: ask(s, offset + n))
            # The database publishes its statistics once a second.
            time.sleep(1.2)
            after = probe.read()
            measured.append({key: (after[key] - before[key]) / half for key in after})
        cluster.write_pages(True)
        early, late = measured
        print(f"| {name} | {late['wal']:.0f} | {early['wal']:.0f} | {late['growth']:.0f} | {late['server'] * 1000:.2f} "
              f"| {late['postgres'] * 1000:.2f} | {late['busy']:.2f} |", flush=True)


def sample_waits(cluster, is_over, waits):
    """Counts the waits of busy sessions 20 times a second, over one connection."""
    command = ["psql", "-XqAt", cluster.url("many", "postgres")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as session:
        while not is_over.is_set():
            print(WAITS + ";\n\\echo end", file=session.stdin, flush=True)
            for line in iter(session.stdout.readline, "end\n"):
                waits[line.strip()] += 1
            time.sleep(0.05)
        session.stdin.close()


def print_servers(cluster, servers, users, requests, clients):
    print("\n| servers | refreshes/s | server CPU ms | PostgreSQL CPU ms | waits of busy sessions |\n|---|---|---|---|---|")
    for used in (servers[:1], servers, servers[:1], servers):
        number_of, probe = users.take(requests), Probe(cluster, used)
        waits, is_over = collections.Counter(), threading.Event()
        sampler = threading.Thread(target=sample_waits, args=(cluster, is_over, waits))
        before = probe.read()
        sampler.start()
        ask = lambda s, n: s.ask("POST", "/token?grant_type=refresh_token", dict(refresh_token=bench.token(number_of(n))))
        seconds = run_clients(used, clients, requests, ask)
        is_over.set()
        sampler.join()
        after = probe.read()
        cpu = {key: (after[key] - before[key]) / requests * 1000 for key in ("server", "postgres")}
        total = sum(waits.values()) or 1
        shown = ", ".join(f"{name} {count / total:.0%}" for name, count in waits.most_common(6))
        print(f"| {len(used)} | {requests / seconds:.0f} | {cpu['server']:.2f} | {cpu['postgres']:.2f} | {shown} |", flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--users", type=int, default=200_000)
    options.add_argument("--requests", type=int, default=4_000, help="refreshes of each measurement")
    options.add_argument("--clients", type=int, default=16)
    options.add_argument("--port", type=int, default=7330)
    options.add_argument("--command", default=f"{bench.ROOT}/target/release/basalt gotrue serve")
    o = options.parse_args()
    with Durable(o.port) as cluster:
        bench.prepare(cluster, "many", o.users, o.command)
        cluster.sql("VACUUM (ANALYZE); CHECKPOINT", "many")
        servers = [bench.Server(f"env {CONFIRMED} {o.command}", cluster, "many", o.port + 1 + k) for k in range(4)]
        bench.wait_for_indexes(cluster, "many")
        print_sizes(cluster, o.users)
        users = Users(o.users)
        # Warms connections, prepared statements and caches up.
        warm_up = users.take(500)
        run_clients(servers, 16, 500, lambda s, n: s.ask("POST", "/token?grant_type=refresh_token",
                                                         dict(refresh_token=bench.token(warm_up(n)))))
        second = bench.Server(f"env {VERSION_2} {o.command}", cluster, "many", o.port + 5)
        third = bench.Server(f"env {VERSION_2} {UNAUDITED} {o.command}", cluster, "many", o.port + 6)
        print_requests(cluster, (servers[0], second, third), users, o.requests, o.clients)
        second.stop()
        third.stop()
        print_servers(cluster, servers, users, o.requests, o.clients)
        for server in servers:
            server.stop()


if __name__ == "__main__":
    main()
