#!/usr/bin/env python3
"""Compare one million users with ten thousand: both databases run at once and are measured in turns, so that other load
affects both. Needs PostgreSQL 15 or newer and a release build; prints medians and their ratio.

    tools/bench-users.py [--few 10000] [--many 1000000] [--rounds 20] [--reference "/path/to/gotrue serve"]

--reference also measures the paginated user list of the reference, with the exact count, on one million users.
"""

import argparse
import atexit
import base64
import contextlib
import hashlib
import hmac
import http.client
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import postgres  # noqa: E402

SECRET = "a secret for measuring that is long enough"
PASSWORD = "password1"
# bcrypt of that password at the lowest cost, so that hashing does not hide the look-up.
HASH = "$2b$04$IF2TMY3joum/3o1mpkWu6OzgaHAsDzoIujGuY5mJBFzRIuhQIMqIK"
# Dates, ids and names of all users are derived from a number, so that each can be requested.
SEED = """
SET search_path = auth;
INSERT INTO users (instance_id, id, aud, role, email, phone, encrypted_password, email_confirmed_at, phone_confirmed_at,
    confirmation_token, recovery_token, email_change_token_new, email_change, phone_change, phone_change_token,
    email_change_token_current, reauthentication_token, raw_app_meta_data, raw_user_meta_data, created_at, updated_at)
SELECT '00000000-0000-0000-0000-000000000000', md5('user' || n)::uuid, 'authenticated', 'authenticated',
    'user' || n || '@example.com', (15550000000 + n)::text, :'hash', now(), now(), '', '', '', '', '', '', '', '',
    '{"provider": "email", "providers": ["email"]}', jsonb_build_object('full_name', 'User ' || n),
    timestamptz '2024-01-01' + n * interval '1 second', now()
FROM generate_series(1, :users) n;
INSERT INTO identities (provider_id, user_id, identity_data, provider, last_sign_in_at, created_at, updated_at)
SELECT id, id, jsonb_build_object('sub', id, 'email', email), 'email', created_at, created_at, created_at FROM users;
INSERT INTO sessions (id, user_id, created_at, updated_at, aal)
SELECT md5('session' || id)::uuid, id, now(), now(), 'aal1' FROM users;
INSERT INTO refresh_tokens (instance_id, token, user_id, revoked, created_at, updated_at, session_id)
SELECT '00000000-0000-0000-0000-000000000000', substr(md5('token' || id), 1, 12), id::text, false, now(), now(),
    md5('session' || id)::uuid FROM users;
"""
ROLES = """
CREATE ROLE supabase_auth_admin LOGIN CREATEROLE PASSWORD 'root';
ALTER ROLE supabase_auth_admin SET search_path = auth;
CREATE ROLE supabase_admin; CREATE ROLE anon; CREATE ROLE authenticated; CREATE ROLE service_role;
"""


def part(data):
    return base64.urlsafe_b64encode(json.dumps(data).encode()).rstrip(b"=").decode()


def administrator():
    text = part(dict(alg="HS256", typ="JWT")) + "." + part(dict(role="service_role", exp=int(time.time()) + 86400))
    signature = hmac.new(SECRET.encode(), text.encode(), hashlib.sha256).digest()
    return text + "." + base64.urlsafe_b64encode(signature).rstrip(b"=").decode()


class Cluster(postgres.Cluster):
    """A PostgreSQL with the roles of the auth API, which is removed at the end."""

    SETTINGS = {"fsync": "off", "shared_buffers": "1GB", "max_wal_size": "8GB", "maintenance_work_mem": "256MB"}

    def __init__(self, port):
        super().__init__(pathlib.Path(tempfile.mkdtemp(prefix="bench-users-")), port)

    def __enter__(self):
        self.start()
        self.sql(ROLES)
        return self

    def __exit__(self, *_):
        self.stop("immediate")
        shutil.rmtree(self.home, ignore_errors=True)


class Server:
    """A server under test with one connection."""

    def __init__(self, command, cluster, database, port):
        environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | {
            "PORT": str(port), "API_EXTERNAL_URL": f"http://127.0.0.1:{port}", "GOTRUE_API_HOST": "127.0.0.1",
            "DATABASE_URL": cluster.url(database, "supabase_auth_admin"), "GOTRUE_DB_DRIVER": "postgres",
            "DB_NAMESPACE": "auth", "GOTRUE_DB_MAX_POOL_SIZE": "10", "GOTRUE_DB_MAX_IDLE_POOL_SIZE": "10",
            "GOTRUE_SITE_URL": "http://localhost:3000", "GOTRUE_JWT_SECRET": SECRET, "GOTRUE_JWT_AUD": "authenticated",
            "GOTRUE_JWT_DEFAULT_GROUP_NAME": "authenticated", "GOTRUE_EXTERNAL_PHONE_ENABLED": "true",
            "GOTRUE_EXPERIMENTAL_CURSOR_PAGINATION_ENABLED": "true",
            "GOTRUE_INDEX_WORKER_ENSURE_USER_SEARCH_INDEXES_EXIST": "true", "GOTRUE_LOG_LEVEL": "error",
            "GOTRUE_DB_CONN_MAX_IDLE_TIME": "1h",
        }
        self.process = subprocess.Popen(["sh", "-c", f"exec {command}"], env=environment, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=(log := tempfile.TemporaryFile()))
        atexit.register(self.process.kill)
        self.port, self.connection, self.admin = port, None, administrator()
        for _ in range(600):
            with contextlib.suppress(OSError):
                self.ask("GET", "/health")
                return
            self.connection = None
            time.sleep(0.05)
        log.seek(0)
        sys.exit(f"not healthy after 30 s: {command}\n{log.read()[-2000:].decode(errors='replace')}")

    def ask(self, method, path, body=None, token=None, expected=200):
        """Send a request as an administrator, or with another token; return its JSON."""
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Authorization": f"Bearer {token or self.admin}", "Content-Type": "application/json"}
        self.connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        response = self.connection.getresponse()
        content = response.read()
        if response.status != expected:
            sys.exit(f"{method} {path}: {response.status} {content.decode()}")
        return json.loads(content or b"null")

    def stop(self):
        self.process.terminate()
        self.process.wait()


def identifier(n):
    digest = hashlib.md5(f"user{n}".encode()).hexdigest()
    return "-".join((digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:]))


def token(n):
    return hashlib.md5(f"token{identifier(n)}".encode()).hexdigest()[:12]


# Requests about the n-th user in the k-th turn.
ASKED = {
    "by id": lambda s, n: s.ask("GET", f"/admin/users/{identifier(n)}"),
    "by e-mail (recover nobody)": lambda s, n: s.ask("POST", "/recover", dict(email=f"nobody{n}@example.com")),
    "sign-in by e-mail": lambda s, n: s.ask("POST", "/token?grant_type=password",
                                            dict(email=f"user{n}@example.com", password=PASSWORD)),
    "sign-in by phone": lambda s, n: s.ask("POST", "/token?grant_type=password",
                                           dict(phone=str(15550000000 + n), password=PASSWORD)),
    "refresh": lambda s, n: s.ask("POST", "/token?grant_type=refresh_token", dict(refresh_token=token(n))),
    "first page by cursor": lambda s, n: s.ask("GET", "/admin/users?limit=50"),
}
PER_TURN = 25


def turn(server, users, ask, start):
    """Return the median of a few requests in ms. Each uses another user, because a refresh token is single-use."""
    taken = []
    for k in range(PER_TURN):
        n = (start + k) * 7919 % users + 1
        began = time.perf_counter()
        ask(server, n)
        taken.append(time.perf_counter() - began)
    return statistics.median(taken) * 1000


def prepare(cluster, name, users, command):
    began = time.perf_counter()
    cluster.sql(f"CREATE DATABASE {name}")
    cluster.sql(f"GRANT CREATE ON DATABASE {name} TO supabase_auth_admin; CREATE SCHEMA auth AUTHORIZATION supabase_auth_admin", name)
    environment = os.environ | {"DATABASE_URL": cluster.url(name, "supabase_auth_admin"), "GOTRUE_DB_DRIVER": "postgres",
                                "API_EXTERNAL_URL": "http://localhost", "GOTRUE_SITE_URL": "http://localhost",
                                "GOTRUE_JWT_SECRET": SECRET, "DB_NAMESPACE": "auth", "GOTRUE_LOG_LEVEL": "error"}
    subprocess.run(["sh", "-c", command.replace("serve", "migrate")], env=environment, check=True, stdout=subprocess.DEVNULL)
    cluster.sql(SEED, name, users=users, hash=HASH)
    print(f"{users:,} accounts made in {time.perf_counter() - began:.0f} s", file=sys.stderr)


def wait_for_indexes(cluster, name):
    wanted = "SELECT count(*) FROM pg_indexes i JOIN pg_class c ON c.relname = i.indexname JOIN pg_index x ON x.indexrelid = c.oid " \
             "WHERE i.tablename = 'users' AND i.indexname LIKE 'idx_users_%' AND x.indisvalid"
    for _ in range(600):
        if int(cluster.sql(wanted, name)) >= 4:
            return
        time.sleep(1)
    sys.exit("the index worker has not made its four indexes after ten minutes")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--few", type=int, default=10_000)
    options.add_argument("--many", type=int, default=1_000_000)
    options.add_argument("--rounds", type=int, default=20)
    options.add_argument("--port", type=int, default=7310)
    options.add_argument("--command", default=f"{ROOT}/target/release/basalt gotrue serve")
    options.add_argument("--reference", help="the command that serves the reference")
    o = options.parse_args()
    with Cluster(o.port) as cluster:
        sizes = {"few": o.few, "many": o.many}
        for name, users in sizes.items():
            prepare(cluster, name, users, o.command)
        servers = {name: Server(o.command, cluster, name, o.port + 1 + k) for k, name in enumerate(sizes)}
        for name in sizes:
            wait_for_indexes(cluster, name)
            cluster.sql("VACUUM (ANALYZE); CHECKPOINT", name)
        if o.few < (o.rounds + 1) * PER_TURN * 2:
            sys.exit("--few is too small for so many rounds: a refresh token is good once")
        print(f"| | {o.few:,} ms | {o.many:,} ms | ratio |\n|---|---|---|---|")
        for what, ask in ASKED.items():
            medians = {name: [] for name in sizes}
            for k in range(o.rounds + 1):
                for name, users in sizes.items():
                    measured = turn(servers[name], users, ask, k * PER_TURN)
                    # The first turn is a warm-up.
                    if k:
                        medians[name].append(measured)
            few, many = (statistics.median(medians[name]) for name in sizes)
            print(f"| {what} | {few:.2f} | {many:.2f} | {many / few:.2f} |", flush=True)
        pages(o, cluster, servers["many"])
        for server in servers.values():
            server.stop()


def pages(o, cluster, ours):
    """Compare the paginated list with its exact count with the reference."""
    sides = {"ours": ours}
    if o.reference:
        sides["reference"] = Server(o.reference, cluster, "many", o.port + 5)
    for path in ("/admin/users?page=1&per_page=50", "/admin/users?page=100&per_page=50"):
        medians = {name: [] for name in sides}
        for _ in range(6):
            for name, server in sides.items():
                began = time.perf_counter()
                server.ask("GET", path)
                medians[name].append((time.perf_counter() - began) * 1000)
        summary = ", ".join(f"{name} {statistics.median(taken[1:]):.0f} ms" for name, taken in medians.items())
        print(f"\nGET {path} of {o.many:,}: {summary}")
    if o.reference:
        sides["reference"].stop()


if __name__ == "__main__":
    main()
