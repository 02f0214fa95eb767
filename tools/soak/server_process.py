"""The binary under test in one of its modes, with a clock that can be stepped if libfaketime is installed."""

import asyncio
import base64
import glob
import hashlib
import hmac
import json
import os
import pathlib
import re
import subprocess
import time

SECRET = "a-secret-of-the-soak-that-is-long-enough-for-hs256"
LIFE = 604_800
"""Life of access tokens in seconds: longer than any step of the clock."""
START_LIMIT, STOP_LIMIT = 60, 40
FOREIGN = re.compile(r"GOTRUE_|DATABASE_URL$|DB_|API_EXTERNAL_URL$|PORT$|PG|RUST_LOG$|LD_PRELOAD$|FAKETIME")

GOTRUE = {
    "GOTRUE_API_HOST": "127.0.0.1", "GOTRUE_DB_DRIVER": "postgres", "DB_NAMESPACE": "auth", "GOTRUE_DB_MAX_POOL_SIZE": "20",
    "GOTRUE_SITE_URL": "http://localhost:3000", "GOTRUE_JWT_SECRET": SECRET, "GOTRUE_JWT_EXP": str(LIFE),
    "GOTRUE_JWT_AUD": "authenticated", "GOTRUE_JWT_DEFAULT_GROUP_NAME": "authenticated",
    "GOTRUE_JWT_ADMIN_ROLES": "service_role", "GOTRUE_EXTERNAL_ANONYMOUS_USERS_ENABLED": "true",
    "GOTRUE_SMTP_HOST": "127.0.0.1", "GOTRUE_SMTP_ADMIN_EMAIL": "auth@example.com", "GOTRUE_SMTP_SENDER_NAME": "Soak",
    "GOTRUE_SMTP_MAX_FREQUENCY": "1us", "GOTRUE_RATE_LIMIT_EMAIL_SENT": "1000000000", "GOTRUE_LOG_LEVEL": "info",
}
SERVE = """
project_id = "soak"
[api]
port = {port}
[auth]
jwt_secret = "{secret}"
jwt_expiry = {life}
enable_anonymous_sign_ins = true
[auth.rate_limit]
email_sent = 1000000
anonymous_users = 1000000
token_refresh = 1000000
sign_in_sign_ups = 1000000
token_verifications = 1000000
[auth.email]
enable_confirmations = true
max_frequency = "1s"
[auth.email.smtp]
host = "127.0.0.1"
port = {smtp}
user = ""
pass = ""
admin_email = "auth@example.com"
sender_name = "Soak"
[functions.send-submission]
verify_jwt = false
[basalt]
host = "127.0.0.1"
log_format = "json"
[basalt.rate_limit]
wrong_passwords = 0
wrong_codes = 0
messages = 0
[basalt.shop]
owner = "owner@example.com"
[basalt.shop.payment]
allow_placeholder_links = true
"""


def service_token():
    """Return a service_role token."""
    def part(data):
        return base64.urlsafe_b64encode(json.dumps(data).encode()).rstrip(b"=").decode()
    text = part({"alg": "HS256", "typ": "JWT"}) + "." + part({"role": "service_role", "exp": int(time.time()) + 864_000})
    signature = hmac.new(SECRET.encode(), text.encode(), hashlib.sha256).digest()
    return text + "." + base64.urlsafe_b64encode(signature).rstrip(b"=").decode()


def faketime_library():
    """Return the path of libfaketime, or None."""
    found = sorted(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1"))
    return found[0] if found else None


class ServerProcess:
    """Starts, stops and kills the binary; restarts use the same port, database and clock."""

    def __init__(self, binary, mode, folder, ports, database, log):
        self.binary, self.mode, self.folder, self.log = binary, mode, pathlib.Path(folder), log
        self.port, self.database_port, self.smtp_port = ports
        self.database, self.process, self.api_key = database, None, None
        self.prefix = "/auth/v1" if mode == "serve" else ""
        self.service_token, self.clock_file = service_token(), self.folder / "clock"
        self.library, self.offset, self.starts, self.unexpected_exits = faketime_library(), 0, 0, []
        self.is_wanted = False
        self.step_clock(0)

    def step_clock(self, offset):
        """Shift the server's wall clock by this many seconds; takes effect within a second."""
        self.offset = offset
        scratch = self.clock_file.with_suffix(".new")
        scratch.write_text(f"{offset:+d}\n")
        scratch.rename(self.clock_file)

    def environment(self):
        ours = {name: value for name, value in os.environ.items() if not FOREIGN.match(name)}
        ours["DATABASE_URL"] = f"postgres://supabase_auth_admin@127.0.0.1:{self.database_port}/{self.database}?sslmode=disable"
        if self.library:
            ours |= {"LD_PRELOAD": self.library, "FAKETIME_TIMESTAMP_FILE": str(self.clock_file),
                     "FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_CACHE_DURATION": "1"}
        if self.mode == "serve":
            return ours
        url = f"http://127.0.0.1:{self.port}"
        return ours | GOTRUE | {"PORT": str(self.port), "API_EXTERNAL_URL": url, "GOTRUE_SMTP_PORT": str(self.smtp_port)}

    def command(self):
        if self.mode == "gotrue":
            return [self.binary, "gotrue"]
        config = self.folder / "config.toml"
        config.write_text(SERVE.format(port=self.port, secret=SECRET, life=LIFE, smtp=self.smtp_port))
        return [self.binary, "serve", "--config", config, "--data", self.folder / "data", "--json"]

    async def start(self):
        """Starts it and waits until it is healthy."""
        self.starts += 1
        out = self.folder / "announced"
        with open(self.log, "ab") as log, open(out, "wb") as announced:
            log.write(f"--- start {self.starts}\n".encode())
            log.flush()
            self.process = subprocess.Popen(self.command(), env=self.environment(), cwd=self.folder, stdin=subprocess.DEVNULL,
                                            stdout=announced if self.mode == "serve" else log, stderr=log)
        self.is_wanted = True
        for _ in range(START_LIMIT * 20):
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended with {self.process.returncode} at its start; see {self.log}")
            if await self.is_healthy(out):
                return
            await asyncio.sleep(0.05)
        raise RuntimeError(f"the server is not healthy after {START_LIMIT} s; see {self.log}")

    async def is_healthy(self, out):
        if self.mode == "serve":
            text = out.read_text().strip()
            if not text:
                return False
            self.api_key = json.loads(text)["publishable_key"]
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            writer.write(f"GET {self.prefix}/health HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nConnection: close\r\n\r\n".encode())
            head = await asyncio.wait_for(reader.read(64), 5)
            writer.transport.abort()
            return b" 200 " in head
        except (OSError, asyncio.TimeoutError):
            return False

    async def end(self, how):
        """Ends it by a signal and waits. Returns the seconds it took; None if it had to be killed."""
        self.is_wanted = False
        began = time.monotonic()
        self.process.send_signal(how)
        for _ in range(STOP_LIMIT * 20):
            if self.process.poll() is not None:
                return time.monotonic() - began
            await asyncio.sleep(0.05)
        self.kill()
        return None

    def resident_kib(self):
        """Resident memory in KiB; None if it does not run."""
        if self.process is None or self.process.poll() is not None:
            return None
        try:
            text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        except OSError:
            return None
        found = re.search(r"VmRSS:\s+(\d+)", text)
        return int(found[1]) if found else None

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
