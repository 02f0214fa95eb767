"""The cluster: etcd, two PostgreSQL nodes under Patroni, pgbouncer, HAProxy, Redis and four replicas of the server."""

import os
import pathlib
import shutil
import signal
import tempfile
import time

from configuration import EVERY_REPLICA, HAPROXY, METRICS, PGBOUNCER, ROLES
from parts import Node, Part, answer_of, postgres, sql, wait_until
from probe import Probe
from server_process import FOREIGN, GOTRUE

REPLICAS = ("r1", "r2", "r3", "r4")
MIXED = {"r1": "direct", "r2": "direct", "r3": "haproxy", "r4": "pgbouncer"}
"""How each replica reaches PostgreSQL unless all take the same way."""
ROOM = 2_000_000_000
"""Bytes that the cluster may need in memory."""


def make_home():
    """A folder in memory where there is room: a slow disk delays etcd, and Patroni with it."""
    memory = pathlib.Path("/dev/shm")
    has_room = "TMPDIR" not in os.environ and memory.is_dir() and shutil.disk_usage(memory).free > ROOM
    home = pathlib.Path(tempfile.mkdtemp(prefix="basalt-cluster-", dir=memory if has_room else None))
    home.chmod(0o755)
    return home


class Cluster:
    """All parts, started in their order."""

    def __init__(self, options, binary, is_reference=False):
        self.options, self.binary, self.is_reference = options, binary, is_reference
        self.account, self.home = postgres.unprivileged(), make_home()
        if self.account:
            os.chown(self.home, self.account.pw_uid, self.account.pw_gid)
        names = ["etcd", "peer", "api", "primary", "pgbouncer", "redis", *REPLICAS, *(f"metrics-{name}" for name in REPLICAS)]
        self.ports = {name: postgres.free_port() for name in names}
        client, peer = (f"http://127.0.0.1:{self.ports[name]}" for name in ("etcd", "peer"))
        self.etcd = Part("etcd", ["etcd", "--enable-v2=true", "--data-dir", self.home / "etcd-data", "--listen-client-urls", client,
                                  "--advertise-client-urls", client, "--listen-peer-urls", peer,
                                  "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"],
                         self.home, account=self.account)
        self.nodes = [Node(name, self.home, self.ports["etcd"], self.account) for name in ("node1", "node2")]
        self.redis = Part("redis", ["redis-server", "--port", self.ports["redis"], "--bind", "127.0.0.1", "--save", ""], self.home)
        self.haproxy = Part("haproxy", ["/usr/sbin/haproxy", "-db", "-f", self.write_haproxy()], self.home)
        self.pgbouncer = Part("pgbouncer", ["/usr/sbin/pgbouncer", self.write_pgbouncer()], self.home, account=self.account)
        self.replicas = [self.replica(name) for name in REPLICAS]
        ways = {"node1": self.nodes[0].port, "node2": self.nodes[1].port} | {name: self.ports[name] for name in ("primary", "pgbouncer")}
        self.probes = {way: Probe(port) for way, port in ways.items()}

    def write_haproxy(self):
        replicas = "\n".join(f"  server {name} 127.0.0.1:{self.ports[name]} check" for name in REPLICAS)
        nodes = "\n".join(f"  server {node.name} 127.0.0.1:{node.port} check port {node.rest}" for node in self.nodes)
        ready, live = ("/health", "/health") if self.is_reference else ("/readyz", "/livez")
        path = self.home / "haproxy.cfg"
        path.write_text(HAPROXY.format(api=self.ports["api"], primary=self.ports["primary"], replicas=replicas, nodes=nodes,
                                       ready=ready, live=live))
        return path

    def write_pgbouncer(self):
        path, users = self.home / "pgbouncer.ini", self.home / "pgbouncer.users"
        users.write_text('"supabase_auth_admin" ""\n"postgres" ""\n')
        ports = {name: self.ports[name] for name in ("primary", "pgbouncer")}
        path.write_text(PGBOUNCER.format(**ports, mode=self.options.pool_mode, users=users))
        return path

    def way_of(self, name):
        """How a replica reaches PostgreSQL; the reference knows one server only, and no pooler in transaction mode."""
        if self.is_reference:
            return "haproxy"
        return MIXED[name] if self.options.through == "mixed" else self.options.through

    def database_url(self, name):
        way = self.way_of(name)
        hosts = {"direct": ",".join(f"127.0.0.1:{node.port}" for node in self.nodes),
                 "haproxy": f"127.0.0.1:{self.ports['primary']}", "pgbouncer": f"127.0.0.1:{self.ports['pgbouncer']}"}
        target = "&target_session_attrs=read-write" if way == "direct" else ""
        return f"postgres://supabase_auth_admin@{hosts[way]}/postgres?sslmode=disable{target}"

    def replica(self, name):
        environment = {key: value for key, value in os.environ.items() if not FOREIGN.match(key)} | GOTRUE | EVERY_REPLICA
        environment |= {"PORT": str(self.ports[name]), "API_EXTERNAL_URL": f"http://127.0.0.1:{self.ports['api']}",
                        "DATABASE_URL": self.database_url(name)}
        if self.is_reference:
            environment["GOTRUE_DB_MIGRATIONS_PATH"] = str(self.options.reference_migrations)
            return Part(name, [self.binary], self.home, environment)
        environment |= METRICS | {"OTEL_EXPORTER_PROMETHEUS_PORT": str(self.ports[f"metrics-{name}"]), "GOTRUE_SHUTDOWN_DRAIN": "2s",
                                  "GOTRUE_RATE_LIMIT_STORE_URL": f"redis://127.0.0.1:{self.ports['redis']}"}
        for setting in self.options.env:
            key, _, value = setting.partition("=")
            environment[key] = value
        return Part(name, [self.binary, "gotrue"], self.home, environment)

    def start(self):
        self.etcd.start()
        self.redis.start()
        for node in self.nodes:
            node.start()
            wait_until("the first node is the primary", self.primary)
        wait_until("the second node is a standby", lambda: any(node.is_standby() for node in self.nodes))
        if sql(self.primary().port, ROLES) is None:
            raise SystemExit("the roles could not be created")
        self.haproxy.start()
        self.pgbouncer.start()
        time.sleep(2)
        for replica in self.replicas:
            replica.start()
            self.wait_for(replica)
        for probe in self.probes.values():
            probe.start()
        wait_until("every way to the database works", lambda: all(self.times(way) for way in ("direct", "primary", "pgbouncer")))

    def times(self, way):
        """When writes over a way were acknowledged; `direct` is that of both nodes."""
        if way == "direct":
            return sorted([*self.probes["node1"].times, *self.probes["node2"].times])
        return self.probes[way].times

    def times_of(self, replica):
        """When writes over a replica's way to the database were acknowledged."""
        return self.times({"haproxy": "primary"}.get(self.way_of(replica.name), self.way_of(replica.name)))

    def is_healthy(self, replica):
        return answer_of(self.ports[replica.name], "/health" if self.is_reference else "/readyz")[0] == 200

    def wait_for(self, replica):
        wait_until(f"{replica.name} is healthy", lambda: self.is_healthy(replica))

    def metrics(self, replica):
        """The metrics of a replica; None if it does not answer."""
        status, text = answer_of(self.ports[f"metrics-{replica.name}"], "/metrics")
        return text if status == 200 else None

    def primary(self):
        """The node that is the primary; None while there is none."""
        return next((node for node in self.nodes if node.is_primary()), None)

    def is_whole(self):
        """Whether there are a primary and a standby, and every replica is healthy."""
        return self.primary() and any(node.is_standby() for node in self.nodes) and all(map(self.is_healthy, self.replicas))

    def describe(self):
        """The last lines of the logs, for a run that failed."""
        parts = (self.etcd, *self.nodes, self.haproxy, *self.replicas)
        last = {part.name: part.log_from(0).splitlines()[-8:] for part in parts if part.log.exists()}
        return "\n".join(f"--- {name}\n" + "\n".join(line[:200] for line in lines) for name, lines in last.items())

    def end(self):
        for probe in self.probes.values():
            probe.ended.set()
        for part in (*self.replicas, self.pgbouncer, self.haproxy, self.redis):
            part.signal(signal.SIGCONT)
            part.end()
        for node in self.nodes:
            node.signal_all(signal.SIGCONT)
        for part in (*self.nodes, self.etcd):
            part.signal(signal.SIGCONT)
            part.end()
        if not self.options.keep:
            shutil.rmtree(self.home, ignore_errors=True)
