#!/usr/bin/env python3
"""Measure the release binary: size by part, memory of an idle `basalt gotrue`, and memory with 10,000 idle keep-alive
connections. Fails if a limit is exceeded. Needs PostgreSQL 15 or newer.

    tools/bench-size.py [--binary target/release/basalt] [--symbols BINARY] [--connections 10000]

--symbols: the same build with symbols (CARGO_PROFILE_RELEASE_STRIP=none); also prints the code size of each crate.
"""

import argparse
import collections
import contextlib
import gzip
import importlib.util
import os
import pathlib
import re
import resource
import socket
import struct
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# In megabytes (10^6 bytes).
LIMITS = {"binary": 40.0, "idle": 24.0, "connections": 100.0}
PICTURES = {".avif", ".webp", ".png", ".jpg", ".ico", ".svg"}
REQUEST = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
SECTIONS = {
    ".text": "machine code",
    ".rodata": "constants, without the shop's files",
    ".eh_frame": "unwinding: panics are contained",
    ".eh_frame_hdr": "unwinding: panics are contained",
    ".gcc_except_table": "unwinding: panics are contained",
    ".rela.dyn": "relocations",
    ".relr.dyn": "relocations",
    ".data.rel.ro": "tables of addresses",
}


def bench_users():
    """Load `bench-users.py`, which starts a PostgreSQL."""
    spec = importlib.util.spec_from_file_location("bench_users", ROOT / "tools/bench-users.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sections(binary):
    """Return names and sizes of the sections in the file (ELF64, little-endian)."""
    data = binary.read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        sys.exit(f"{binary} is no 64-bit ELF file")
    offset, = struct.unpack_from("<Q", data, 0x28)
    entry_size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", data, offset + entry_size * number) for number in range(count)]
    table = headers[names][4]
    nobits = 8
    for name, kind, _, _, _, size in headers:
        if kind != nobits:
            yield data[table + name:data.index(b"\0", table + name)].decode(), size


def embedded():
    """Return the bytes of embedded shop files: images, and other files. `crates/basalt/build.rs` says which files are embedded."""
    dist = ROOT / "frontend/dist"
    files = [
        path for path in dist.rglob("*")
        if path.is_file() and "development" not in path.relative_to(dist).parts
        and not (path.suffix in {".js", ".css"} and path.with_name(f"{path.name}.gz").exists())
    ]
    def size(path):
        is_page = path.parent == dist / "pages" and path.suffix == ".html"
        return len(gzip.compress(path.read_bytes())) if is_page else path.stat().st_size

    pictures = sum(size(path) for path in files if path.suffix in PICTURES)
    return pictures, sum(size(path) for path in files) - pictures


def parts(binary):
    total = binary.stat().st_size
    pictures, pages = embedded()
    sizes = collections.Counter({"the shop's pictures": pictures, "the shop's scripts, styles and pages": pages})
    for name, size in sections(binary):
        sizes[SECTIONS.get(name, "everything else")] += size - (pictures + pages if name == ".rodata" else 0)
    sizes["everything else"] += total - sum(sizes.values())
    return sizes


def crates(binary):
    """Return the code size of each crate by its symbols. Generic code counts for the defining crate."""
    listing = subprocess.check_output(["nm", "--demangle", "--print-size", "--defined-only", binary], text=True)
    sizes = collections.Counter()
    for line in listing.splitlines():
        words = line.split(" ", 3)
        if len(words) == 4 and words[2] in "tTwW":
            # `<alloc::vec::Vec<T> as Trait>::method`, `<&mut T as Trait>::method`, `crate::function`.
            found = re.match(r"[<&\s(\[*]*(?:mut |const |dyn )*[<&]*([A-Za-z_]\w*)(?:\[\w+\])?::", words[3])
            sizes[found[1] if found else "C and assembler"] += int(words[1], 16)
    return sizes


def resident(pid):
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


def connect(port):
    connection = socket.create_connection(("127.0.0.1", port))
    connection.sendall(REQUEST)
    if not connection.recv(4096).startswith(b"HTTP/1.1 200"):
        sys.exit("an idle connection was not answered with 200")
    return connection


@contextlib.contextmanager
def serving(binary, users, cluster, port):
    """Run an idle `basalt gotrue` with minimal settings."""
    users.prepare(cluster, "idle", 0, f"{binary} gotrue serve")
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | {
        "PORT": str(port), "API_EXTERNAL_URL": f"http://127.0.0.1:{port}", "GOTRUE_API_HOST": "127.0.0.1",
        "DATABASE_URL": cluster.url("idle", "supabase_auth_admin"), "GOTRUE_DB_DRIVER": "postgres", "DB_NAMESPACE": "auth",
        "GOTRUE_SITE_URL": "http://localhost:3000", "GOTRUE_JWT_SECRET": users.SECRET, "GOTRUE_SMTP_HOST": "127.0.0.1",
        "GOTRUE_SMTP_ADMIN_EMAIL": "admin@example.com", "GOTRUE_EXTERNAL_EMAIL_ENABLED": "true",
    }
    process = subprocess.Popen([binary, "gotrue", "serve"], env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            with contextlib.suppress(OSError):
                connect(port).close()
                break
            time.sleep(0.05)
        else:
            sys.exit(f"not healthy after 30 s: {binary} gotrue serve")
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def memory(binary, count):
    """Return the resident memory of `basalt gotrue` in MB: idle, and with idle connections."""
    users = bench_users()
    with users.Cluster(5449) as cluster, serving(binary, users, cluster, 9449) as pid:
        time.sleep(2)
        idle = resident(pid)
        held = [connect(9449) for _ in range(count)]
        time.sleep(2)
        loaded = resident(pid)
        for connection in held:
            connection.close()
    return idle, loaded


def table(title, sizes, total):
    print(f"\n| {title} | kB | share |\n|---|---:|---:|")
    for name, size in sizes:
        print(f"| {name} | {size / 1000:,.0f} | {size / total:.1%} |")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--binary", type=pathlib.Path, default=ROOT / "target/release/basalt")
    arguments.add_argument("--symbols", type=pathlib.Path)
    arguments.add_argument("--connections", type=int, default=10_000)
    arguments.add_argument("--no-memory", action="store_true", help="the size alone: needs no PostgreSQL")
    options = arguments.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    size = options.binary.stat().st_size
    table("part of the binary", parts(options.binary).most_common(), size)
    if options.symbols:
        code = crates(options.symbols)
        top = code.most_common(40)
        rest = sum(code.values()) - sum(size for _, size in top)
        table("code of a crate", [*top, ("all others", rest)], sum(code.values()))
    measured = {"binary": size / 1e6}
    if not options.no_memory:
        measured["idle"], measured["connections"] = memory(options.binary, options.connections)
    labels = {"binary": "the binary", "idle": "resident, idle",
              "connections": f"resident, {options.connections:,} idle connections"}
    print("\n| | MB | limit |\n|---|---:|---:|")
    for name, value in measured.items():
        print(f"| {labels[name]} | {value:.1f} | {LIMITS[name]:.0f} |")
    exceeded = [labels[name] for name, value in measured.items() if value > LIMITS[name]]
    if exceeded:
        sys.exit("over the limit: " + ", ".join(exceeded))


if __name__ == "__main__":
    main()
