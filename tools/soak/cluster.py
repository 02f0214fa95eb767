"""A private PostgreSQL with fsync on, which can be stopped hard and started again on the same port and data."""

import asyncio
import contextlib
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import postgres  # noqa: E402  (tools/postgres.py finds and runs PostgreSQL for this repository)

Missing = postgres.Missing
free_port = postgres.free_port

ROLES = """
CREATE ROLE supabase_auth_admin LOGIN CREATEROLE SUPERUSER;
ALTER ROLE supabase_auth_admin SET search_path = auth;
CREATE ROLE supabase_admin; CREATE ROLE anon; CREATE ROLE authenticated; CREATE ROLE service_role;
"""
SCHEMA = "CREATE SCHEMA auth AUTHORIZATION supabase_auth_admin"
PSQL_LIMIT = 30


class Cluster(postgres.Cluster):
    """One data folder and the process that serves it."""

    SETTINGS = {
        "max_connections": "200", "fsync": "on", "synchronous_commit": "on", "full_page_writes": "on",
        "log_min_messages": "warning",
    }
    LOCALE = ("--locale=C",)

    def __init__(self):
        super().__init__(pathlib.Path(tempfile.mkdtemp(prefix="basalt-soak-")), free_port())
        self.process = None
        self.create()

    def start(self):
        """Starts PostgreSQL as a child, also after a crash, and waits until it accepts connections."""
        with contextlib.suppress(FileNotFoundError):
            (self.data / "postmaster.pid").unlink()
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [self.bin / "postgres", "-D", self.data, *self.options()],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", start_new_session=True,
                **postgres.identity(self.account),
            )
        postgres.wait_until_ready(self.process, self.data, self.log)

    def stop(self, mode):
        """Stops PostgreSQL: `fast` aborts transactions in order, `immediate` is a crash."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGQUIT if mode == "immediate" else signal.SIGINT)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def create_database(self, name):
        for statement, database in ((f"CREATE DATABASE {name}", "postgres"), (SCHEMA, name)):
            subprocess.run(self.command(statement, database), check=True, stdout=subprocess.DEVNULL, timeout=PSQL_LIMIT)

    def create_roles(self):
        subprocess.run(self.command(ROLES, "postgres"), check=True, stdout=subprocess.DEVNULL, timeout=PSQL_LIMIT)

    def command(self, sql, database):
        url = f"postgres://postgres@127.0.0.1:{self.port}/{database}?sslmode=disable&application_name=soak"
        return ["psql", "-XqAt", "-F", "\t", "-v", "ON_ERROR_STOP=1", url, "-c", sql]

    async def rows(self, sql, database):
        """Return the rows of a query as lists of strings, or None if PostgreSQL does not respond."""
        process = await asyncio.create_subprocess_exec(
            *self.command(sql, database), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            out, err = await asyncio.wait_for(process.communicate(), PSQL_LIMIT)
        except asyncio.TimeoutError:
            process.kill()
            await process.wait()
            return None
        if process.returncode == 0:
            return [line.split("\t") for line in out.decode().splitlines()]
        if process.returncode == 2:  # psql: the connection could not be made or was lost
            return None
        text = err.decode(errors="replace")
        if any(word in text for word in ("terminating connection", "server closed", "recovery mode", "starting up")):
            return None
        raise RuntimeError(f"psql: {text.strip()}")

    def remove(self):
        self.stop("immediate")
        shutil.rmtree(self.home, ignore_errors=True)
