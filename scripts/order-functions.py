#!/usr/bin/env python3
"""Write the linker script that places functions that run at the start of `basalt gotrue`, and those of usual requests,
beside each other: server/link/functions.ld. `docs/size.md` says what that saves. Needs Valgrind and PostgreSQL.

    scripts/order-functions.py [--binary target/release/basalt]

The binary has symbols if CARGO_PROFILE_RELEASE_STRIP=none was set for its build. The linker script has names without the
compiler's hashes, which change with each build; a name can match further functions.
"""

import argparse
import collections
import importlib.util
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


def usual_requests(server):
    """Sign up, sign in, read and change the user, refresh, sign out; list users."""
    account = {"email": "ann@example.com", "password": "correct horse battery"}
    server.ask("POST", "/signup", account | {"data": {"full_name": "Ann"}})
    session = server.ask("POST", "/token?grant_type=password", account)
    for _ in range(5):
        server.ask("GET", "/user", token=session["access_token"])
    server.ask("PUT", "/user", {"data": {"full_name": "Ann Lee"}}, token=session["access_token"])
    for _ in range(3):
        session = server.ask("POST", "/token?grant_type=refresh_token", {"refresh_token": session["refresh_token"]})
    server.ask("GET", "/settings")
    server.ask("GET", "/.well-known/jwks.json")
    server.ask("GET", "/admin/users")
    server.ask("POST", "/token?grant_type=password", account | {"password": "wrong"}, expected=400)
    server.ask("POST", "/logout", token=session["access_token"], expected=204)


def functions(profile):
    """Return the names of the functions of a Callgrind profile in the order of the file."""
    found = re.findall(r"^c?fn=\(\d+\) (.+)$", profile.read_text(), re.MULTILINE)
    return [re.sub(r"'\d+$", "", name) for name in dict.fromkeys(found)]


def measure(binary, folder):
    """Run the server; return the functions that ran until it was idle, and those of requests."""
    users = bench_users()
    with users.Cluster(5449) as cluster:
        users.prepare(cluster, "ordered", 0, f"{binary} gotrue serve")
        settings = "GOTRUE_LOG_LEVEL=info GOTRUE_INDEX_WORKER_ENSURE_USER_SEARCH_INDEXES_EXIST=false " \
                   "GOTRUE_MAILER_AUTOCONFIRM=true GOTRUE_EXTERNAL_EMAIL_ENABLED=true " \
                   "GOTRUE_SMTP_HOST=127.0.0.1 GOTRUE_SMTP_ADMIN_EMAIL=admin@example.com"
        callgrind = f"valgrind --tool=callgrind --demangle=no --callgrind-out-file={folder}/profile"
        server = users.Server(f"env {settings} {callgrind} {binary} gotrue serve", cluster, "ordered", PORT)
        time.sleep(3)
        subprocess.run(["callgrind_control", "--dump", str(server.process.pid)], check=True, stdout=subprocess.DEVNULL)
        usual_requests(server)
        server.stop()
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
