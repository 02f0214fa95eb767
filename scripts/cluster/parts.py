"""The parts of the cluster: etcd, two PostgreSQL nodes under Patroni, pgbouncer, HAProxy, Redis and replicas of the server."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "replay"), str(ROOT / "scripts/soak")]
import postgres  # noqa: E402
from server_process import FOREIGN, GOTRUE, service_token  # noqa: E402,F401

PROGRAMS = {"etcd": "etcd-server", "patroni": "patroni", "haproxy": "haproxy", "pgbouncer": "pgbouncer", "redis-server": "redis-server"}
START_LIMIT = 60
ROLES = """
CREATE ROLE supabase_auth_admin LOGIN CREATEROLE; CREATE ROLE anon; CREATE ROLE authenticated; CREATE ROLE service_role;
CREATE SCHEMA auth AUTHORIZATION supabase_auth_admin; GRANT CREATE ON DATABASE postgres TO supabase_auth_admin;
ALTER ROLE supabase_auth_admin SET search_path = auth;
"""
PATRONI = """
scope: basalt
name: {name}
etcd3: {{hosts: "127.0.0.1:{etcd}"}}
restapi: {{listen: "127.0.0.1:{rest}", connect_address: "127.0.0.1:{rest}"}}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 2
    retry_timeout: 5
    synchronous_mode: true
    postgresql: {{use_pg_rewind: true, parameters: {{max_connections: 200, wal_keep_size: 256MB}}}}
  initdb: [{{encoding: UTF8}}, {{locale: C}}, {{auth: trust}}]
postgresql:
  listen: "127.0.0.1:{port}"
  connect_address: "127.0.0.1:{port}"
  data_dir: {data}
  bin_dir: {programs}
  pgpass: {home}/pgpass-{name}
  pg_hba: ["local all all trust", "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"]
  authentication:
    superuser: {{username: postgres}}
    replication: {{username: replicator}}
    rewind: {{username: postgres}}
  parameters: {{unix_socket_directories: "{home}"}}
"""
HAPROXY = """
global
  maxconn 2000
defaults
  mode tcp
  timeout connect 1s
  timeout client 30s
  timeout server 30s
  default-server inter 500ms fall 2 rise 1
frontend api
  mode http
  bind 127.0.0.1:{api}
  default_backend replicas
backend replicas
  mode http
  option httpchk GET /health
{replicas}
frontend primary
  bind 127.0.0.1:{primary}
  default_backend nodes
backend nodes
  option httpchk GET /primary
  default-server on-marked-down shutdown-sessions
{nodes}
"""
PGBOUNCER = """
[databases]
* = host=127.0.0.1 port={primary}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {pgbouncer}
unix_socket_dir =
auth_type = trust
auth_file = {users}
pool_mode = {mode}
max_client_conn = 500
default_pool_size = 40
"""


def require_programs(names):
    """Ends with the packages to install if a program is missing."""
    missing = [PROGRAMS[name] for name in names if shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin") is None]
    if missing:
        raise SystemExit(f"install these packages first: apt-get install {' '.join(missing)}")


class Part:
    """One process and its children, which are signalled together."""

    def __init__(self, name, command, home, environment=None, account=None):
        self.name, self.command, self.home, self.account = name, [str(word) for word in command], home, account
        self.environment, self.process = environment, None

    def start(self):
        with open(self.home / f"{self.name}.log", "ab") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.home,
                                            env=self.environment, start_new_session=True, **postgres.identity(self.account))

    def signal(self, number):
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, number)

    def kill(self):
        self.signal(signal.SIGKILL)
        if self.process:
            self.process.wait()

    def end(self):
        """Ends it in order; kills it after ten seconds."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.kill()


class Node(Part):
    """A PostgreSQL server under Patroni."""

    def __init__(self, name, home, etcd, account):
        self.port, self.rest, self.data = postgres.free_port(), postgres.free_port(), home / name
        text = PATRONI.format(name=name, etcd=etcd, rest=self.rest, port=self.port, data=self.data, home=home,
                              programs=postgres.find_programs())
        (home / f"{name}.yml").write_text(text)
        super().__init__(name, ["patroni", home / f"{name}.yml"], home, account=account)

    def postmaster(self):
        """The process id of PostgreSQL; None if it does not run."""
        try:
            return int((self.data / "postmaster.pid").read_text().split("\n")[0])
        except (OSError, ValueError):
            return None

    def signal_all(self, number):
        """Signals Patroni and every process of PostgreSQL, which has a session of its own."""
        self.signal(number)
        pid = self.postmaster()
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children") if pid else None
        pids = [pid, *map(int, children.read_text().split())] if children and children.exists() else []
        for one in pids:
            try:
                os.kill(one, number)
            except ProcessLookupError:
                pass

    def is_primary(self):
        return self.ask("/primary") == 200

    def is_standby(self):
        """Whether it may be promoted: in synchronous mode Patroni promotes no other standby."""
        return self.ask("/synchronous") == 200

    def ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.rest}{path}", data, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=20 if body else 0.5) as response:
                return response.status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return None


def wait_until(what, holds, limit=START_LIMIT):
    """Waits until the condition holds; ends the run if it does not."""
    end = time.monotonic() + limit
    while not holds():
        if time.monotonic() > end:
            raise SystemExit(f"{what}: not within {limit} s")
        time.sleep(0.1)


def sql(port, text):
    """Runs SQL as the superuser; returns the lines of the result, None after an error."""
    url = f"postgres://postgres@127.0.0.1:{port}/postgres?sslmode=disable&connect_timeout=2"
    done = subprocess.run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", url, "-c", text], capture_output=True, text=True,
                          check=False)
    return done.stdout.splitlines() if done.returncode == 0 else None
