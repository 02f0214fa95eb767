#!/usr/bin/env python3
"""Restart four replicas in turns behind HAProxy and nginx while clients write over kept connections; count failed requests.

    tools/bench-rolling.py --command target/release/basalt [--restarts 20] [--requests 10000] [--drain 2]
                             [--proxies haproxy,nginx] [--reference /path/to/gotrue]

One restart is that of all four replicas, one after the other. Each request creates a user; a request fails if the client
gets no response or another status than 200. A client sends its next request over the same connection. The reference has
neither readiness nor a drain time: HAProxy checks its /health. Needs PostgreSQL 15 or newer, HAProxy, nginx.
"""

import argparse
import atexit
import collections
import contextlib
import http.client
import importlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
users = importlib.import_module("bench-users")
REPLICAS, CLIENTS = 4, 16
START_LIMIT, STOP_LIMIT = 30, 60


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Replica:
    """A server that can be stopped and started again on its port."""

    def __init__(self, command, health, cluster, drain):
        self.command, self.health, self.port = command, health, free_port()
        self.environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | {
            "PORT": str(self.port), "API_EXTERNAL_URL": "http://127.0.0.1:9999", "GOTRUE_API_HOST": "127.0.0.1",
            "DATABASE_URL": cluster.url("postgres", "supabase_auth_admin"), "GOTRUE_DB_DRIVER": "postgres",
            "DB_NAMESPACE": "auth", "GOTRUE_DB_MAX_POOL_SIZE": "10", "GOTRUE_SITE_URL": "http://localhost:3000",
            "GOTRUE_JWT_SECRET": users.SECRET, "GOTRUE_JWT_AUD": "authenticated", "GOTRUE_LOG_LEVEL": "error",
            "GOTRUE_JWT_DEFAULT_GROUP_NAME": "authenticated", "GOTRUE_SHUTDOWN_DRAIN": f"{drain}s",
        }
        self.process = None
        atexit.register(self.kill)

    def start(self):
        self.process = subprocess.Popen([*self.command, "serve"], env=self.environment, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + START_LIMIT
        while time.monotonic() < end:
            with contextlib.suppress(OSError, http.client.HTTPException):
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
                connection.request("GET", self.health)
                if connection.getresponse().status == 200:
                    return
            time.sleep(0.05)
        sys.exit(f"not healthy after {START_LIMIT} s: {' '.join(self.command)}")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_LIMIT)
        except subprocess.TimeoutExpired:
            print(f"not stopped after {STOP_LIMIT} s, killed: {' '.join(self.command)}", flush=True)
            self.kill()

    def kill(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def haproxy_config(port, replicas, health, _home):
    servers = "\n".join(f"    server r{i} 127.0.0.1:{replica.port} check" for i, replica in enumerate(replicas))
    return f"""
defaults
    mode http
    timeout connect 2s
    timeout client 60s
    timeout server 60s
    timeout check 2s
    option redispatch
    retries 3
    option httpchk GET {health}
    http-reuse always
frontend all
    bind 127.0.0.1:{port}
    default_backend replicas
backend replicas
    default-server inter 250ms fall 1 rise 1
{servers}
"""


def nginx_config(port, replicas, _health, home):
    servers = "\n".join(f"        server 127.0.0.1:{replica.port} max_fails=1 fail_timeout=1s;" for replica in replicas)
    paths = "\n".join(f"    {name}_temp_path {home}/{name};" for name in
                      ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    return f"""
daemon off;
worker_processes 1;
pid {home}/nginx.pid;
error_log {home}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off;
{paths}
    keepalive_requests 1000000;
    upstream replicas {{
{servers}
        keepalive 32;
    }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://replicas;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_next_upstream error timeout;
        }}
    }}
}}
"""


PROXIES = {"haproxy": (haproxy_config, ["haproxy", "-db", "-f"]), "nginx": (nginx_config, ["nginx", "-c"])}


class Load:
    """Clients that create users until they are stopped."""

    def __init__(self, port, rate):
        self.port, self.pause = port, CLIENTS / rate
        self.is_over, self.lock = threading.Event(), threading.Lock()
        self.answered, self.failures = 0, collections.Counter()
        self.admin = users.administrator()
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def run(self):
        connection = None
        headers = {"Authorization": f"Bearer {self.admin}", "Content-Type": "application/json"}
        while not self.is_over.is_set():
            body = json.dumps(dict(email=f"{uuid.uuid4()}@example.com", email_confirm=True))
            try:
                connection = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
                connection.request("POST", "/admin/users", body, headers)
                response = connection.getresponse()
                response.read()
                outcome = None if response.status == 200 else f"status {response.status}"
            except (OSError, http.client.HTTPException) as error:
                outcome, connection = type(error).__name__, None
            with self.lock:
                self.answered += 1
                if outcome:
                    self.failures[outcome] += 1
            time.sleep(self.pause)

    def stop(self):
        self.is_over.set()
        for thread in self.threads:
            thread.join()


def measure(name, proxy, command, health, arguments):
    build, start = PROXIES[proxy]
    with users.Cluster(free_port()) as cluster, tempfile.TemporaryDirectory() as home:
        cluster.sql("CREATE SCHEMA auth AUTHORIZATION supabase_auth_admin")
        cluster.sql("GRANT CREATE ON DATABASE postgres TO supabase_auth_admin")
        replicas = [Replica(command, health, cluster, arguments.drain) for _ in range(REPLICAS)]
        subprocess.run([arguments.command, "gotrue", "migrate"], env=replicas[0].environment, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for replica in replicas:
            replica.start()
        port = free_port()
        config = pathlib.Path(home, "config")
        config.write_text(build(port, replicas, health, home))
        running = subprocess.Popen([*start, str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(2)
        load, started = Load(port, arguments.rate), time.monotonic()
        for _ in range(arguments.restarts):
            for replica in replicas:
                replica.stop()
                replica.start()
                # The proxy must have seen the replica before the next one stops.
                time.sleep(1.2)
        while load.answered < arguments.requests:
            time.sleep(0.1)
        load.stop()
        seconds = time.monotonic() - started
        stored = cluster.sql("SELECT count(*) FROM auth.users")
        for replica in replicas:
            replica.kill()
        running.terminate()
        running.wait()
    failed = sum(load.failures.values())
    lost = load.answered - failed - int(stored)
    print(f"{name:10} {proxy:8} {arguments.restarts} restarts of {REPLICAS}, {seconds:.0f} s: {failed} failed of "
          f"{load.answered}, acknowledged and not stored: {max(lost, 0)} {dict(load.failures) or ''}", flush=True)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", required=True, help="the binary of Basalt")
    parser.add_argument("--reference", help="the binary of the reference")
    parser.add_argument("--restarts", type=int, default=20)
    parser.add_argument("--requests", type=int, default=10_000, help="at least this number of requests")
    parser.add_argument("--rate", type=float, default=60, help="requests per second, at most")
    parser.add_argument("--drain", type=int, default=2, help="seconds")
    parser.add_argument("--proxies", default="haproxy,nginx")
    arguments = parser.parse_args()
    failed = 0
    for proxy in arguments.proxies.split(","):
        failed += measure("basalt", proxy, [arguments.command, "gotrue"], "/readyz", arguments)
        if arguments.reference:
            measure("reference", proxy, [arguments.reference], "/health", arguments)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
