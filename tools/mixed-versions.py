#!/usr/bin/env python3
"""Run an older and the current version of basalt on one database: together, alternately, and after a downgrade.

    tools/mixed-versions.py --new target/debug/basalt [--revision v0.1.0] [--old /path/to/older/basalt] [--rounds 20]

Without --old the older version is built from --revision in a temporary work tree (default: the latest tag, else the commit
before this one). MIXED_VERSIONS_TARGET keeps its build in a folder, which must not be the target folder of this work tree:
cargo takes the crates of both for the same. Users sign up, sign in and refresh their sessions at both servers in turns; each
server is restarted while the other one runs. Exit status 1 if a request or a start fails, 2 if the older version could not
be built. Needs PostgreSQL.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
PUBLISHABLE, SECRET = "sb_publishable_0123456789abcdefghijkl", "sb_secret_0123456789abcdefghijkl"
CONFIG = f"""
[auth]
site_url = "http://127.0.0.1:3000"
external_url = "http://127.0.0.1:9"
jwt_secret = "a secret for mixed versions that is long enough"
publishable_key = "{PUBLISHABLE}"
secret_key = "{SECRET}"

[auth.rate_limit]
sign_in_sign_ups = 100000
token_refresh = 100000
"""
START_LIMIT = 60


def git(*arguments):
    return subprocess.run(["git", "-C", str(ROOT), *arguments], check=True, capture_output=True, text=True).stdout.strip()


def find_revision():
    tags = git("tag", "--list", "v*", "--sort=-version:refname", "--merged", "HEAD^").splitlines()
    return tags[0] if tags else "HEAD^"


def build(revision, home):
    """Builds a revision; the shop of this work tree is embedded, because versions differ in the server only."""
    tree = home / "tree"
    git("worktree", "add", "--detach", str(tree), revision)
    try:
        if (ROOT / "frontend/dist").is_dir():
            shutil.copytree(ROOT / "frontend/dist", tree / "frontend/dist", dirs_exist_ok=True)
        target = os.environ.get("MIXED_VERSIONS_TARGET", str(home / "target"))
        built = subprocess.run(["cargo", "build", "--bin", "basalt"], cwd=tree, check=False,
                               env=os.environ | {"CARGO_TARGET_DIR": target})
        if built.returncode:
            print(f"{revision} does not build", file=sys.stderr)
            sys.exit(2)
        return shutil.copy2(pathlib.Path(target, "debug/basalt"), home / "old")
    finally:
        git("worktree", "remove", "--force", str(tree))


class Server:
    """A server with a data folder of its own; it can be stopped and started again."""

    def __init__(self, name, command, home, database):
        self.name, self.command, self.database = name, command, database
        self.data = home / f"data-{name}"
        self.config = home / "config.toml"
        self.config.write_text(CONFIG)
        self.process, self.url, self.starts = None, "", 0

    def start(self):
        place = ["--database-url", self.database] if self.database else ["--ephemeral"]
        folder = ["--data", str(self.data)] if self.database else []
        environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
        self.process = subprocess.Popen(
            [self.command, "serve", "--json", "--port", "0", "--config", str(self.config), *folder, *place],
            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.name} does not start: {self.process.stderr.read()}")
        announced = json.loads(line)
        self.process.stderr.close()
        self.url, self.starts = announced["url"], self.starts + 1
        return announced

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(START_LIMIT)

    def post(self, path, body):
        request = urllib.request.Request(f"{self.url}/auth/v1{path}", json.dumps(body).encode(), {
            "Content-Type": "application/json", "apikey": PUBLISHABLE})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            sys.exit(f"{self.name}, POST {path}: {error.code} {error.read().decode()}")


def run_round(number, first, second):
    """A user signs up at one server and continues at the other, and back."""
    body = {"email": f"user{number}@example.com", "password": "a long password"}
    first.post("/signup", body)
    session = second.post("/token?grant_type=password", body)
    for server in (first, second, first):
        session = server.post("/token?grant_type=refresh_token", {"refresh_token": session["refresh_token"]})
    return 5


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--new", required=True, help="the current binary")
    parser.add_argument("--old", help="an older binary")
    parser.add_argument("--revision", help="the older revision to build")
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="basalt-mixed-") as folder:
        home = pathlib.Path(folder)
        os.chmod(home, 0o755)
        revision = options.revision or find_revision()
        old_binary = options.old or build(revision, home)
        servers = []
        try:
            run(options, servers, home, old_binary)
        finally:
            for server in reversed(servers):
                server.stop()


def run(options, servers, home, old_binary):
    # The older version creates the schemas, as it did for the operator.
    host = Server("database", old_binary, home, None)
    servers.append(host)
    database = host.start()["database_url"]
    old, new = (Server(name, command, home, database) for name, command in (("old", old_binary), ("new", options.new)))
    servers += [old, new]
    old.start()
    new.start()
    requests = 0
    for number in range(options.rounds):
        requests += run_round(number, *((old, new) if number % 2 else (new, old)))
        restarted = old if number % 4 < 2 else new
        restarted.stop()
        restarted.start()
    # A downgrade: the newer version ends, the older one restarts and is the only one.
    new.stop()
    old.stop()
    old.start()
    requests += run_round(options.rounds, old, old)
    new.start()
    requests += run_round(options.rounds + 1, new, old)
    print(f"{requests} requests succeeded; starts: {old.starts} of the older version, {new.starts} of the current one")


if __name__ == "__main__":
    main()
