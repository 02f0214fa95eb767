#!/usr/bin/env python3
"""Write the linker script that places functions that run at the start of `basalt gotrue`, and those of usual requests,
beside each other: server/link/functions.ld. `docs/size.md` says what that saves. Needs Valgrind and PostgreSQL.

    scripts/order-functions.py [--binary target/release/basalt]

The binary has symbols if CARGO_PROFILE_RELEASE_STRIP=none was set for its build. The linker script has names without the
compiler's hashes, which change with each build; a name can match further functions.
"""

import argparse
import collections
import http.client
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "server/link/functions.ld"
PORT = 9461
HEADER = """/* The order of functions in the release binary: those that run at the start, then those of usual requests.
   Written by scripts/order-functions.py. */
SECTIONS
{
  .text.first :
  {
"""
FOOTER = """  }
}
INSERT BEFORE .text;
"""
# The hash at the end of a name, and the one of a crate in a name of the other kind.
HASH, CRATE_HASH = re.compile(r"17h[0-9a-f]{16}E$"), re.compile(r"(?<=C)s[0-9A-Za-z]+_(?=[0-9])")


def bench_users():
    """Load `bench-users.py`, which starts a PostgreSQL."""
    spec = importlib.util.spec_from_file_location("bench_users", ROOT / "scripts/bench-users.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ask(connection, method, path, body=None, token=None, expected=200):
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    connection.request(method, path, json.dumps(body) if body is not None else None, headers)
    response = connection.getresponse()
    text = response.read()
    if response.status != expected:
        sys.exit(f"{method} {path}: {response.status} {text.decode(errors='replace')}")
    return json.loads(text or "null")


def connect():
    for _ in range(600):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)
            ask(connection, "GET", "/health")
            return connection
        except OSError:
            time.sleep(0.1)
    sys.exit("the server was not healthy after 60 s")


def usual_requests(connection, administrator):
    """Sign up, sign in, read and change the user, refresh, sign out; list users."""
    account = {"email": "ann@example.com", "password": "correct horse battery"}
    ask(connection, "POST", "/signup", account | {"data": {"full_name": "Ann"}})
    session = ask(connection, "POST", "/token?grant_type=password", account)
    for _ in range(5):
        ask(connection, "GET", "/user", token=session["access_token"])
    ask(connection, "PUT", "/user", {"data": {"full_name": "Ann Lee"}}, token=session["access_token"])
    for _ in range(3):
        session = ask(connection, "POST", "/token?grant_type=refresh_token", {"refresh_token": session["refresh_token"]})
    ask(connection, "GET", "/settings")
    ask(connection, "GET", "/.well-known/jwks.json")
    ask(connection, "GET", "/admin/users", token=administrator)
    ask(connection, "POST", "/token?grant_type=password", account | {"password": "wrong"}, expected=400)
    ask(connection, "POST", "/logout", token=session["access_token"], expected=204)


def functions(profile):
    """Return the names of the functions of a Callgrind profile in the order of the file."""
    found = re.findall(r"^c?fn=\(\d+\) (.+)$", profile.read_text(), re.MULTILINE)
    return [re.sub(r"'\d+$", "", name) for name in dict.fromkeys(found)]


def measure(binary, folder):
    """Run the server; return the functions that ran until it was idle, and those of requests."""
    users = bench_users()
    with users.Cluster(5449) as cluster:
        users.prepare(cluster, "ordered", 0, f"{binary} gotrue serve")
        environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | {
            "PORT": str(PORT), "API_EXTERNAL_URL": f"http://127.0.0.1:{PORT}", "GOTRUE_API_HOST": "127.0.0.1",
            "DATABASE_URL": cluster.url("ordered", "supabase_auth_admin"), "GOTRUE_DB_DRIVER": "postgres",
            "DB_NAMESPACE": "auth", "GOTRUE_SITE_URL": "http://localhost:3000", "GOTRUE_JWT_SECRET": users.SECRET,
            "GOTRUE_MAILER_AUTOCONFIRM": "true", "GOTRUE_SMTP_HOST": "127.0.0.1",
            "GOTRUE_SMTP_ADMIN_EMAIL": "admin@example.com", "GOTRUE_EXTERNAL_EMAIL_ENABLED": "true",
            "GOTRUE_JWT_DEFAULT_GROUP_NAME": "authenticated", "GOTRUE_JWT_AUD": "authenticated",
        }
        command = ["valgrind", "--tool=callgrind", "--demangle=no", f"--callgrind-out-file={folder}/profile",
                   binary, "gotrue", "serve"]
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        try:
            connection = connect()
            time.sleep(3)
            subprocess.run(["callgrind_control", "--dump", str(process.pid)], check=True, stdout=subprocess.DEVNULL)
            usual_requests(connection, users.administrator())
        finally:
            process.terminate()
            process.wait()
    return functions(pathlib.Path(f"{folder}/profile.1")), functions(pathlib.Path(f"{folder}/profile"))


def sections(binary):
    """Return size and address of each function of the binary."""
    lines = subprocess.check_output(["nm", "--print-size", binary], text=True).splitlines()
    words = [line.split() for line in lines]
    sizes = {word[3]: (int(word[1], 16), word[0]) for word in words if len(word) == 4 and word[2] in "tTwW"}
    if not sizes:
        sys.exit(f"{binary} has no symbols: build it with CARGO_PROFILE_RELEASE_STRIP=none")
    return sizes


def pattern(name):
    """Return the name of a function's section for the linker, without hashes."""
    return CRATE_HASH.sub("s*_", name) if name.startswith("_R") else HASH.sub("17h*", name)


def choose(names, sizes, chosen):
    """Return the patterns of functions; those that match most code that did not run are the last ones."""
    # Identical functions are one with several names, of which the profile has any.
    addresses = {sizes[name][1] for name in names if name in sizes}
    ran, whole = collections.defaultdict(dict), collections.defaultdict(dict)
    for name, (size, address) in sizes.items():
        whole[pattern(name)][address] = size
        if address in addresses:
            ran[pattern(name)][address] = size
    # In steps, so that the order changes little from build to build.
    share = {it: round(4 * sum(ran[it].values()) / max(sum(whole[it].values()), 1)) for it in ran}
    return sorted((it for it in ran if it not in chosen), key=lambda it: (-share[it], it))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "target/release/basalt")
    binary = parser.parse_args().binary.resolve()
    sizes = sections(binary)
    with tempfile.TemporaryDirectory() as folder:
        at_start, of_requests = measure(binary, folder)
    first = choose(set(at_start), sizes, set())
    second = choose(set(of_requests), sizes, set(first))
    with SCRIPT.open("w") as file:
        file.write(HEADER)
        for group in (first, second):
            file.writelines(f"    *(.text*.{name})\n" for name in group)
        file.write(FOOTER)
    print(f"{SCRIPT}: {len(first)} functions of the start, {len(second)} of requests")


if __name__ == "__main__":
    main()
