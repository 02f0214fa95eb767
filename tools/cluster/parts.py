"""Processes of the cluster, how they are signalled, and what is asked of them."""

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
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tools/soak")]
import postgres  # noqa: E402
from configuration import PATRONI  # noqa: E402

PROGRAMS = {"etcd": "etcd-server", "patroni": "patroni", "haproxy": "haproxy", "pgbouncer": "pgbouncer", "redis-server": "redis-server"}
START_LIMIT = 60
END_LIMIT = 15


class NotInTime(Exception):
    """A condition did not hold in time."""


def require_programs(names):
    """Ends with the packages to install if a program is missing."""
    missing = [PROGRAMS[name] for name in names if shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin") is None]
    if missing:
        raise SystemExit(f"install these packages first: apt-get install {' '.join(missing)} python3-etcd")


class Part:
    """One process and its children, which are signalled together."""

    def __init__(self, name, command, home, environment=None, account=None):
        self.name, self.command, self.home, self.account = name, [str(word) for word in command], home, account
        self.environment, self.process = environment, None
        self.log = home / f"{name}.log"

    def start(self):
        with open(self.log, "ab") as log:
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
        """Ends it in order; kills it if that takes too long."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(END_LIMIT)
        except subprocess.TimeoutExpired:
            self.kill()

    def log_from(self, offset):
        """The text of its log from a position on."""
        with open(self.log, "rb") as log:
            log.seek(offset)
            return log.read().decode(errors="replace")


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
            with urllib.request.urlopen(request, timeout=30 if body else 2) as response:
                return response.status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return None


def answer_of(port, path):
    """The status and the text of a GET; None without an answer."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=2) as response:
            return response.status, response.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        return error.code, ""
    except OSError:
        return None, ""


def wait_until(what, holds, limit=START_LIMIT):
    """Waits until the condition holds."""
    end = time.monotonic() + limit
    while not holds():
        if time.monotonic() > end:
            raise NotInTime(f"{what}: not within {limit} s")
        time.sleep(0.2)


def sql(port, text):
    """Runs SQL as the superuser; returns the lines of the result, None after an error."""
    url = f"postgres://postgres@127.0.0.1:{port}/postgres?sslmode=disable&connect_timeout=2"
    done = subprocess.run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", url, "-c", text], capture_output=True, text=True,
                          check=False)
    return done.stdout.splitlines() if done.returncode == 0 else None
