#!/usr/bin/env python3
"""Measure the data API beside pgbench, which sends the very statements that the server sends: both in turns, on one PostgreSQL.

    tools/bench-rest.py target/release/basalt [--seconds 10] [--rounds 3] [--callers 64] [--only single,rpc] [--other URL]

--other also measures another server of the same API on the same database, such as PostgREST, that is running already. Also measured are
the memory of an answer of 500 MB, that of `basalt serve` with and without the data API, and start and memory with a schema cache of 100
and of 10,000 tables.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import postgres  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROWS = 100_000
SCHEMA = f"""
CREATE ROLE web NOLOGIN; CREATE ROLE authenticator LOGIN NOINHERIT; GRANT web TO authenticator;
CREATE TABLE projects (id int PRIMARY KEY, name text NOT NULL, owner int NOT NULL);
CREATE TABLE tasks (id int PRIMARY KEY, title text NOT NULL, done bool NOT NULL, project int NOT NULL REFERENCES projects);
CREATE TABLE notes (id int PRIMARY KEY, body text NOT NULL, task int NOT NULL REFERENCES tasks);
CREATE TABLE events (id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, kind text NOT NULL, number bigint NOT NULL, at timestamptz NOT NULL DEFAULT now());
INSERT INTO projects SELECT n, 'project ' || n, n % 100 FROM generate_series(1, {ROWS}) n;
INSERT INTO tasks SELECT n, 'task ' || n, n % 3 = 0, (n - 1) / 3 + 1 FROM generate_series(1, {ROWS}) n;
INSERT INTO notes SELECT n, 'note ' || n, (n - 1) / 2 + 1 FROM generate_series(1, {ROWS}) n;
CREATE INDEX ON tasks (project); CREATE INDEX ON notes (task);
CREATE FUNCTION large(mb int) RETURNS SETOF text LANGUAGE sql STABLE AS $$ SELECT repeat('x', 1048573) FROM generate_series(1, mb) $$;
CREATE FUNCTION add(a int, b int) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT a + b $$;
GRANT ALL ON ALL TABLES IN SCHEMA public TO web; GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO web;
VACUUM ANALYZE;
"""
JSON = {"content-type": "application/json"}
BULK = json.dumps([{"kind": "bulk", "number": number} for number in range(1000)])


def request(path, method="GET", body="", expect=200, **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return {"method": method, "path": path, "headers": {**(JSON if body else {}), **named}, "body": body, "expect": expect}


CASES = {
    "single": request("/projects?id=eq.{random}"),
    "hundred": request("/tasks?id=gt.{random}&order=id&limit=100"),
    "embed": request("/projects?id=eq.{random}&select=id,name,tasks(id,title,notes(id,body))"),
    "insert": request("/events", "POST", '{"kind":"one","number":{random}}', 201, prefer="return=representation"),
    "bulk": request("/events", "POST", BULK, 201, prefer="return=minimal"),
    "rpc": request("/rpc/add", "POST", '{"a":{random},"b":1}'),
}


def fetch(url, method="GET", body=None, headers=None):
    found = urllib.request.Request(url, method=method, data=body.encode() if body else None, headers=headers or {})
    try:
        with urllib.request.urlopen(found, timeout=30) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def wait_for(what, holds, limit=120):
    end = time.time() + limit
    while not holds():
        if time.time() > end:
            sys.exit(f"timed out: {what}")
        time.sleep(0.005)


class Cluster(postgres.Cluster):
    """A PostgreSQL that logs statements when it is told to."""

    SETTINGS = {"shared_buffers": "512MB", "max_connections": 200}
    LOCALE = ("--no-locale",)


@contextlib.contextmanager
def serve(binary, folder, cluster, database="postgres", callers=64):
    """Start the data API alone; yields its address, its process and the seconds until it was ready."""
    port, admin = postgres.free_port(), postgres.free_port()
    config, url = folder / "postgrest.conf", cluster.url(database, "authenticator")
    config.write_text(
        f'db-uri = "{url}"\ndb-anon-role = "web"\ndb-pool = {min(callers, 32)}\nserver-host = "127.0.0.1"\n'
        f'server-port = {port}\nadmin-server-port = {admin}\nlog-level = "crit"\n'
    )
    began = time.time()
    process = subprocess.Popen([binary, "postgrest", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for("the data API starts", lambda: fetch(f"http://127.0.0.1:{admin}/ready") == 200 or process.poll() is not None)
        if process.poll() is not None:
            sys.exit("the data API did not start")
        yield f"127.0.0.1:{port}", process.pid, time.time() - began
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def resident(pid):
    """Return the resident memory in MB."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", text)[1]) / 1024


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def capture(cluster, address, case):
    """Return the statements of one request with their values, as the server sends them: of the last of several equal ones."""
    cluster.sql("ALTER ROLE authenticator SET log_statement = 'all'")
    sent = json.loads(json.dumps(case).replace("{random}", "4711"))
    try:
        with contextlib.ExitStack() as stack:
            address = stack.enter_context(address())[0]
            for _ in range(4):
                before = cluster.log.stat().st_size
                status = fetch(f"http://{address}{sent['path']}", sent["method"], sent["body"] or None, sent["headers"])
                if status != sent["expect"]:
                    sys.exit(f"{sent['path']}: status {status}")
            time.sleep(0.2)
            text = cluster.log.read_bytes()[before:].decode()
    finally:
        cluster.sql("ALTER ROLE authenticator RESET log_statement")
    sessions = {}
    parts = re.split(r"(?m)^\d{4}-\d\d-\d\d \S+ \S+ \[(\d+)\] ", text)
    for session, entry in zip(parts[1::2], parts[2::2]):
        statements = sessions.setdefault(session, [])
        if found := re.match(r"LOG:  (?:execute [^:]+|statement): (.*)", entry, re.S):
            statements.append([found[1].strip(), {}])
        elif (found := re.match(r"DETAIL:  parameters: (.*)", entry, re.S)) and statements:
            values = re.findall(r"\$(\d+) = (NULL|'(?:[^']|'')*')", found[1])
            statements[-1][1] = {number: None if value == "NULL" else value[1:-1].replace("''", "'") for number, value in values}
    # Another session may read the schema meanwhile.
    of_request = [statements for statements in sessions.values() if any("pgrst_source" in text for text, _ in statements)]
    if len(of_request) != 1:
        sys.exit(f"{sent['path']}: {len(of_request)} sessions sent the statement")
    return of_request[0]


def pgbench_script(statements, folder, name):
    """Write the statements as a script of pgbench; values become variables, the number of the request a random one."""
    lines, variables = ["\\set number random(1, %d)" % ROWS, "\\startpipeline"], {}
    for index, (text, values) in enumerate(statements):
        def place(found):
            value = values.get(found[1])
            if value == "4711":
                return ":number"
            # A variable of pgbench cannot be empty.
            if not value:
                return "NULL" if value is None else "''"
            key = f"v{index}_{found[1]}"
            variables[key] = value
            return f":{key}"
        text = re.sub(r"\$(\d+)", place, text)
        lines.append(" ".join(text.split()).rstrip(";") + ";")
    path = folder / f"{name}.sql"
    path.write_text("\n".join([*lines, "\\endpipeline"]) + "\n")
    return path, [part for key, value in variables.items() for part in ("-D", f"{key}={value}")]


def run_pgbench(cluster, script, variables, seconds, callers):
    """Return transactions per second, the 99th percentile of their time in ms, and what failed."""
    with tempfile.TemporaryDirectory(prefix="pgbench-") as logs:
        command = [str(cluster.bin / "pgbench"), "-n", "-M", "prepared", "-f", str(script), "-c", str(callers), "-j", "2", "-T", str(seconds),
                   "-l", "--log-prefix", f"{logs}/log", "-h", "127.0.0.1", "-p", str(cluster.port), "-U", "authenticator", *variables, "postgres"]
        done = subprocess.run(command, capture_output=True, text=True)
        found = re.search(r"tps = ([\d.]+)", done.stdout)
        if done.returncode != 0 or not found:
            return None, 0, done.stderr.strip().splitlines()[:3]
        times = sorted(int(line.split()[2]) for path in pathlib.Path(logs).iterdir() for line in path.read_text().splitlines())
    return float(found[1]), times[len(times) * 99 // 100] / 1000, None


def run_load(load, address, case, folder, seconds, callers):
    path = folder / "requests.json"
    path.write_text(json.dumps([case]))
    command = [load, "requests", "--target", address, "--file", str(path), "--connections", str(callers), "--seconds", str(seconds)]
    return json.loads(subprocess.check_output(command, text=True))


def build_load():
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target/bench"))
    command = ["cargo", "build", "--release", "--quiet", "--manifest-path", str(ROOT / "tools/bench/load/Cargo.toml")]
    subprocess.run(command, check=True, env={**os.environ, "CARGO_TARGET_DIR": target})
    return f"{target}/release/load"


def compare(options, cluster, folder, load):
    print(f"\n{'case':8} {'req/s':>8} {'pgbench':>8} {'ratio':>6} {'p50 ms':>7} {'p99 ms':>7} {'pgbench':>8} {'core/1000':>9} {'other':>8}")
    for name, case in CASES.items():
        if options.only and name not in options.only:
            continue
        statements = capture(cluster, lambda: serve(options.binary, folder, cluster, callers=1), case)
        script, variables = pgbench_script(statements, folder, name)
        rates, bench, p50, p99, bench_p99, cpu, other = [], [], [], [], [], [], []
        for _ in range(options.rounds):
            with serve(options.binary, folder, cluster, callers=options.callers) as (address, pid, _):
                run_load(load, address, case, folder, 1, options.callers)
                before = cpu_seconds(pid)
                figures = run_load(load, address, case, folder, options.seconds, options.callers)
                cpu.append((cpu_seconds(pid) - before) / max(figures["requests"], 1) * 1000)
            if figures["errors"]:
                sys.exit(f"{name}: {figures['errors']}")
            rates.append(figures["rps"])
            p50.append(figures["p50_ms"])
            p99.append(figures["p99_ms"])
            rate, slowest, problem = run_pgbench(cluster, script, variables, options.seconds, options.callers)
            if problem:
                print(f"{name}: pgbench: {problem}")
            bench.append(rate or 0)
            bench_p99.append(slowest)
            if options.other:
                other.append(run_load(load, options.other, case, folder, options.seconds, options.callers)["rps"])
        middle = statistics.median
        ratio = middle(rates) / middle(bench) if middle(bench) else 0
        print(f"{name:8} {middle(rates):8.0f} {middle(bench):8.0f} {ratio:6.2f} {middle(p50):7.2f} {middle(p99):7.2f} {middle(bench_p99):8.2f} {middle(cpu):9.3f} "
              f"{middle(other) if other else 0:8.0f}", flush=True)


def measure_cache(options, cluster, folder):
    print(f"\n{'tables':>8} {'ready ms':>9} {'memory MB':>10}")
    for tables in (0, 100, 10_000):
        database = f"tables_{tables}"
        cluster.sql(f"CREATE DATABASE {database}")
        for start in range(0, tables, 500):
            cluster.sql("".join(
                f"CREATE TABLE t{n} (id int PRIMARY KEY, name text, at timestamptz, parent int{f' REFERENCES t{n - 1}' if n else ''}, x numeric);"
                for n in range(start, min(start + 500, tables))), database)
        cluster.sql("GRANT ALL ON ALL TABLES IN SCHEMA public TO web; VACUUM ANALYZE", database)
        runs = []
        for _ in range(3):
            with serve(options.binary, folder, cluster, database) as (_, pid, seconds):
                runs.append((seconds * 1000, resident(pid)))
        print(f"{tables:8} {statistics.median(run[0] for run in runs):9.0f} {statistics.median(run[1] for run in runs):10.1f}", flush=True)


def measure_large(options, cluster, folder):
    """An answer of 500 MB: the most memory of the server beyond that of a small one."""
    print(f"\n{'MB':>8} {'seconds':>8} {'memory MB':>10}")
    with serve(options.binary, folder, cluster) as (address, pid, _):
        for size in (1, 500):
            pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5")
            before, began, read = resident(pid), time.time(), 0
            with urllib.request.urlopen(f"http://{address}/rpc/large?mb={size}", timeout=300) as response:
                while part := response.read(1 << 20):
                    read += len(part)
            if read != size * ((1 << 20) + 1):
                sys.exit(f"the answer has {read} bytes")
            peak = int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) / 1024
            print(f"{size:8} {time.time() - began:8.1f} {peak - before:10.1f}", flush=True)


def measure_idle(options, folder):
    print(f"\n{'data API':>8} {'idle memory MB':>15}")
    for is_enabled in (False, True):
        project = folder / f"project-{is_enabled}"
        (project / "supabase/migrations").mkdir(parents=True)
        (project / "supabase/migrations/20260101000000_a.sql").write_text("CREATE TABLE todos (id int PRIMARY KEY, title text);")
        config = project / "supabase/config.toml"
        config.write_text(f"[api]\nenabled = {str(is_enabled).lower()}\n")
        command = [options.binary, "serve", "--ephemeral", "--port", "0", "--json", "--config", str(config)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        process.stdout.readline()
        time.sleep(3)
        print(f"{'on' if is_enabled else 'off':>8} {resident(process.pid):15.1f}", flush=True)
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--callers", type=int, default=64)
    parser.add_argument("--only", type=lambda text: text.split(","))
    parser.add_argument("--other", metavar="HOST:PORT")
    parser.add_argument("--load", help="the load generator, if it is built already")
    parser.add_argument("--skip-cache", action="store_true")
    options = parser.parse_args()
    load = options.load or build_load()
    with tempfile.TemporaryDirectory(prefix="bench-rest-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        cluster = Cluster(folder / "postgres", postgres.free_port())
        cluster.start()
        try:
            cluster.sql(SCHEMA)
            compare(options, cluster, folder, load)
            measure_large(options, cluster, folder)
            measure_idle(options, folder)
            if not options.skip_cache:
                measure_cache(options, cluster, folder)
        finally:
            cluster.stop("immediate")


if __name__ == "__main__":
    main()
