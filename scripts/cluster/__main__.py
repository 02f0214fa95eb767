"""Kills, stops, freezes and switches over every part of a cluster under load, and prints what clients saw of it.

    make bench-cluster CLUSTER="--rounds 10"
    make bench-cluster CLUSTER="--rounds 10 --through pgbouncer --reference /path/of/the/reference"

Needs the Debian packages etcd-server, patroni, pgbouncer, haproxy and redis-server.
"""

import argparse
import asyncio
import os
import pathlib
import shutil
import signal
import tempfile
import time

import parts
from load import Load, longest_gap
from part_faults import FAULTS, Recovery
from parts import FOREIGN, GOTRUE, HAPROXY, PGBOUNCER, ROOT, Node, Part, postgres, sql, wait_until

ROW = "{:<28} {:>7} {:>6} {:>6} {:>6} {:>9} {:>9} {:>8} {:>8}"


class Cluster:
    """All parts, started in their order."""

    def __init__(self, options, binary):
        self.options, self.account = options, postgres.unprivileged()
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="basalt-cluster-"))
        self.home.chmod(0o755)
        if self.account:
            os.chown(self.home, self.account.pw_uid, self.account.pw_gid)
        names = ["etcd", "peer", "api", "primary", "pgbouncer", "redis", "r1", "r2", "r3", "r4"]
        self.ports = {name: postgres.free_port() for name in names}
        client, peer = (f"http://127.0.0.1:{self.ports[name]}" for name in ("etcd", "peer"))
        self.etcd = Part("etcd", ["etcd", "--data-dir", self.home / "etcd-data", "--listen-client-urls", client,
                                  "--advertise-client-urls", client, "--listen-peer-urls", peer,
                                  "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"],
                         self.home, account=self.account)
        self.nodes = [Node(name, self.home, self.ports["etcd"], self.account) for name in ("node1", "node2")]
        self.redis = Part("redis", ["redis-server", "--port", self.ports["redis"], "--bind", "127.0.0.1", "--save", ""], self.home)
        self.haproxy = Part("haproxy", ["/usr/sbin/haproxy", "-db", "-f", self.write_haproxy()], self.home)
        self.pgbouncer = Part("pgbouncer", ["/usr/sbin/pgbouncer", self.write_pgbouncer()], self.home, account=self.account)
        self.replicas = [self.replica(binary, name) for name in ("r1", "r2", "r3", "r4")]

    def write_haproxy(self):
        replicas = "\n".join(f"  server {name} 127.0.0.1:{self.ports[name]} check" for name in ("r1", "r2", "r3", "r4"))
        nodes = "\n".join(f"  server {node.name} 127.0.0.1:{node.port} check port {node.rest}" for node in self.nodes)
        path = self.home / "haproxy.cfg"
        path.write_text(HAPROXY.format(api=self.ports["api"], primary=self.ports["primary"], replicas=replicas, nodes=nodes))
        return path

    def write_pgbouncer(self):
        path = self.home / "pgbouncer.ini"
        users = self.home / "pgbouncer.users"
        users.write_text('"supabase_auth_admin" ""\n"postgres" ""\n')
        ports = {name: self.ports[name] for name in ("primary", "pgbouncer")}
        path.write_text(PGBOUNCER.format(**ports, mode=self.options.pool_mode, users=users))
        return path

    def database_url(self):
        hosts = {"direct": ",".join(f"127.0.0.1:{node.port}" for node in self.nodes),
                 "haproxy": f"127.0.0.1:{self.ports['primary']}", "pgbouncer": f"127.0.0.1:{self.ports['pgbouncer']}"}
        target = "&target_session_attrs=read-write" if self.options.through == "direct" else ""
        return f"postgres://supabase_auth_admin@{hosts[self.options.through]}/postgres?sslmode=disable{target}"

    def replica(self, binary, name):
        url = f"http://127.0.0.1:{self.ports['api']}"
        environment = {key: value for key, value in os.environ.items() if not FOREIGN.match(key)} | GOTRUE
        environment |= {"PORT": str(self.ports[name]), "API_EXTERNAL_URL": url, "DATABASE_URL": self.database_url(),
                        "GOTRUE_MAILER_AUTOCONFIRM": "true", "GOTRUE_RATE_LIMIT_ANONYMOUS_USERS": "1000000"}
        for setting in self.options.env:
            key, _, value = setting.partition("=")
            environment[key] = value.format(redis=f"redis://127.0.0.1:{self.ports['redis']}")
        command = [binary] if binary.name != "basalt" else [binary, "gotrue"]
        return Part(name, command, self.home, environment)

    def start(self):
        self.etcd.start()
        self.redis.start()
        for node in self.nodes:
            node.start()
            wait_until("the first node is the primary", self.primary)
        wait_until("the second node is a standby", lambda: any(node.is_standby() for node in self.nodes))
        port = self.primary().port
        if sql(port, parts.ROLES) is None:
            raise SystemExit("the roles could not be created")
        self.haproxy.start()
        self.pgbouncer.start()
        time.sleep(2)
        for replica in self.replicas:
            replica.start()
            wait_until(f"{replica.name} is healthy", lambda replica=replica: self.is_healthy(replica))

    def is_healthy(self, replica):
        url = f"http://127.0.0.1:{self.ports[replica.name]}/health"
        try:
            with parts.urllib.request.urlopen(url, timeout=1) as response:
                return response.status == 200
        except OSError:
            return False

    def primary(self):
        """The node that is the primary; None while there is none."""
        return next((node for node in self.nodes if node.is_primary()), None)

    def is_whole(self):
        """Whether there are a primary and a standby, and every replica is healthy."""
        return self.primary() and any(node.is_standby() for node in self.nodes) and all(map(self.is_healthy, self.replicas))

    def end(self):
        for part in (*self.replicas, self.pgbouncer, self.haproxy, self.redis, *self.nodes, self.etcd):
            part.signal(signal.SIGCONT)
            part.end()
        if not self.options.keep:
            shutil.rmtree(self.home, ignore_errors=True)


async def run_round(cluster, load, fault):
    """Injects a fault and waits until the cluster is whole again; returns the row's numbers."""
    record = load.record
    before = (len(record.signed_out), len(record.wrong), record.requests, record.failed)
    recovery = Recovery(cluster)
    watching = asyncio.create_task(asyncio.to_thread(recovery.watch))
    began = time.monotonic()
    try:
        await asyncio.to_thread(fault, cluster)
        await asyncio.to_thread(wait_until, "the cluster is whole again", cluster.is_whole, 120)
        await asyncio.sleep(3)
    finally:
        recovery.stop()
        await watching
    gap = longest_gap(record.acknowledged_at, began, time.monotonic())
    after = (len(record.signed_out), len(record.wrong), record.requests, record.failed)
    return [*(later - earlier for earlier, later in zip(before, after)), gap, recovery.longest]


async def measure(options, binary):
    cluster = Cluster(options, binary)
    try:
        await asyncio.to_thread(cluster.start)
        load = Load(cluster.ports["api"], parts.service_token(), options.clients)
        await load.start()
        await asyncio.sleep(5)
        print(f"\n{binary}, {options.through}, {options.rounds} rounds each\n")
        print(ROW.format("fault", "rounds", "out", "wrong", "failed", "of", "writes s", "primary s", "worst +s"))
        for name, fault in FAULTS.items():
            if options.only and name not in options.only:
                continue
            rows = [await run_round(cluster, load, fault) for _ in range(options.rounds)]
            out, wrong, requests, failed = (sum(row[index] for row in rows) for index in range(4))
            gap, down = max(row[4] for row in rows), max(row[5] for row in rows)
            added = max(row[4] - row[5] for row in rows)
            print(ROW.format(name, len(rows), out, wrong, failed, requests, f"{gap:.1f}", f"{down:.1f}", f"{added:.1f}"), flush=True)
        await load.finish()
        return report(cluster, load.record)
    finally:
        await asyncio.to_thread(cluster.end)


def report(cluster, record):
    """Compares the record with the database; returns whether nothing was lost and no user was signed out."""
    stored = set(sql(cluster.primary().port, "SELECT email FROM auth.users WHERE email IS NOT NULL") or [])
    lost = [email for email in record.created if email not in stored]
    print(f"\nacknowledged writes lost: {len(lost)} of {len(record.created)}; users signed out: {len(record.signed_out)}; "
          f"wrong answers: {len(record.wrong)}; failed requests: {record.failed} of {record.requests}")
    for text in (*lost[:3], *record.signed_out[:3], *record.wrong[:3]):
        print(f"  {text}")
    return not lost and not record.signed_out and not record.wrong


def main():
    parser = argparse.ArgumentParser(prog="make bench-cluster", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10, help="faults of each kind")
    parser.add_argument("--clients", type=int, default=8, help="clients that create users, and as many with a session")
    parser.add_argument("--through", choices=("direct", "haproxy", "pgbouncer"), default="direct", help="how replicas reach PostgreSQL")
    parser.add_argument("--pool-mode", choices=("session", "transaction"), default="transaction", help="mode of pgbouncer")
    parser.add_argument("--only", nargs="*", choices=tuple(FAULTS), help="these faults only")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="a variable of each replica; {redis} is its URL")
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "target/release/basalt")
    parser.add_argument("--reference", type=pathlib.Path, help="the reference's binary, measured after Basalt")
    parser.add_argument("--keep", action="store_true", help="keep the folder with logs and data")
    options = parser.parse_args()
    parts.require_programs(parts.PROGRAMS)
    is_right = asyncio.run(measure(options, options.binary.resolve()))
    if options.reference:
        asyncio.run(measure(options, options.reference.resolve()))
    raise SystemExit(0 if is_right else 1)


main()
