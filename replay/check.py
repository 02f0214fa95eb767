#!/usr/bin/env python3
"""Compare `basalt gotrue` with the recorded responses of the reference, and check two lists of scenarios.

    replay/passing.json    scenarios that must match their recording; entries are only added
    replay/waiting.json    scenario -> first endpoint it needs that is not served yet; entries are only removed

Every recorded scenario is in exactly one list.

    check.py                            run the passing scenarios and fail on each difference
    check.py --all                      run the waiting ones too and list those that pass now
    check.py --route 'POST /recover'    run the scenarios that wait for an endpoint (a glob)
    check.py --only 'user.*' --verbose  run some scenarios of both lists and print every difference
    check.py --pgbouncer                connect the server through pgbouncer in transaction mode

--update moves waiting scenarios that pass from waiting.json to passing.json.
"""

import argparse
import contextlib
import fnmatch
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

import postgres

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parent
RECORDINGS = HERE / "golden"
PASSING, WAITING = HERE / "passing.json", HERE / "waiting.json"
SHOWN = 25


def main():
    options = arguments()
    if not options.server.exists():
        return fail(f"{options.server} is missing: build it with `cargo build --package server`.")
    passing, waiting = json.loads(PASSING.read_text()), json.loads(WAITING.read_text())
    recorded = sorted(path.name.removesuffix(".json") for path in RECORDINGS.glob("*.json"))
    problems = check_lists(passing, waiting, recorded)
    selected = [name for name in recorded if is_selected(name, waiting.get(name), options)]
    outcome, output = run(selected, options) if selected else ({}, {})
    problems += check_outcome(outcome, output, passing)
    now_passing = sorted(name for name, word in outcome.items() if word == "ok" and name in waiting)
    if now_passing:
        report_new(now_passing, options.update)
    if options.update:
        write_lists(passing + now_passing, {name: route for name, route in waiting.items() if name not in now_passing})
    matching = sum(word == "ok" for word in outcome.values())
    print(f"{matching} of {len(outcome)} scenarios as recorded; {len(passing)} are required, {len(waiting)} are waiting")
    return fail("\n".join(problems)) if problems else 0


def is_selected(name, route, options):
    """Return whether to run a scenario; `route` is the endpoint it waits for, or None."""
    if not (options.all or options.only or options.route):
        return route is None
    is_named = any(fnmatch.fnmatch(name, glob) for glob in options.only)
    return options.all or is_named or bool(route) and any(fnmatch.fnmatch(route, glob) for glob in options.route)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="run the waiting scenarios too; takes up to 15 minutes because of timeouts")
    parser.add_argument("--route", action="append", default=[], help="a glob over the endpoints that scenarios wait for; may be repeated")
    parser.add_argument("--only", action="append", default=[], help="a glob over scenario names; may be repeated")
    parser.add_argument("--update", action="store_true", help="move waiting scenarios that pass to passing.json")
    parser.add_argument("--verbose", action="store_true", help="print every difference of a scenario")
    parser.add_argument("--pgbouncer", action="store_true", help="connect the server through pgbouncer in transaction mode")
    parser.add_argument("--jobs", default="2", help="number of servers that run at once")
    parser.add_argument("--server", type=pathlib.Path, default=REPOSITORY / "target" / "debug" / "basalt", help="the binary")
    options = parser.parse_args()
    options.server = options.server.resolve()
    return options


def fail(text):
    print(text, file=sys.stderr)
    return 1


def check_lists(passing, waiting, recorded):
    """Return the problems of the lists themselves."""
    names, wait, known = set(passing), set(waiting), set(recorded)
    problems = [f"{name}: in both passing.json and waiting.json" for name in sorted(names & wait)]
    problems += [f"{name}: recorded, but in neither passing.json nor waiting.json" for name in sorted(known - names - wait)]
    problems += [f"{name}: listed, but not recorded" for name in sorted((names | wait) - known)]
    if passing != sorted(names):
        problems.append("passing.json is not sorted or names a scenario twice: run check.py --update")
    for earlier in ("HEAD", "HEAD~1"):
        before = committed(earlier, WAITING)
        problems += [f"{name}: was added to waiting.json since {earlier}; entries are only removed" for name in sorted(wait - before)] if before else []
    return problems


def committed(revision, path):
    """Return the names of a list at a revision; empty if the revision does not exist."""
    shown = subprocess.run(
        ["git", "show", f"{revision}:{path.relative_to(REPOSITORY)}"], cwd=REPOSITORY, capture_output=True, text=True
    )
    return set(json.loads(shown.stdout)) if shown.returncode == 0 else set()


def run(names, options):
    """Run scenarios. Returns the outcome and the output of each."""
    postgres.psql()
    with tempfile.TemporaryDirectory(prefix="basalt-replay-out-") as folder, postgres.server() as database, pooler(database, options) as address:
        result, log = pathlib.Path(folder) / "result.json", pathlib.Path(folder) / "log"
        command = [sys.executable, HERE / "replay.py", "check", "--jobs", options.jobs, "--json", result]
        command += ["--server", f"exec '{options.server}' gotrue", "--database", database, "--logs", server_logs(), "--verbose"]
        command += ["--pooler", address] if address else []
        command += [word for name in names for word in ("--only", name)]
        print(f"{len(names)} scenarios against {options.server}; server logs are in {server_logs()}", flush=True)
        with open(log, "wb") as out:
            replay = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=environment(), cwd=folder, start_new_session=True)
        try:
            replay.wait()
        finally:
            end_with_descendants(replay)
        printed = log.read_text(errors="replace")
        if not result.exists():
            raise postgres.Missing(f"the replay ended early:\n{printed[-2000:]}")
        return json.loads(result.read_text()), by_scenario(printed, options.verbose)


def pooler(database, options):
    """Return a context with the address of pgbouncer, or with None if the server connects directly."""
    return postgres.pgbouncer(database) if options.pgbouncer else contextlib.nullcontext()


def end_with_descendants(process):
    """End the replay and its servers after an interruption; the servers have their own process groups."""
    if process.poll() is not None:
        return
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True).stdout
    parents = {int(pid): int(parent) for pid, parent in map(str.split, listed.splitlines())}
    descendants = {process.pid}
    for _ in range(4):  # replay.py, bash, the server
        descendants |= {pid for pid, parent in parents.items() if parent in descendants}
    process.kill()
    for pid in descendants - {process.pid}:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    process.wait()


def server_logs():
    return str(pathlib.Path(tempfile.gettempdir()) / "basalt-replay-logs")


def environment():
    """Return this environment without variables that configure servers."""
    excluded = re.compile(r"GOTRUE_|DATABASE_URL$|DB_|API_EXTERNAL_URL$|PORT$|PG|RUST_LOG$")
    return {**{name: value for name, value in os.environ.items() if not excluded.match(name)}, "PYTHONDONTWRITEBYTECODE": "1"}


def by_scenario(printed, is_verbose):
    """Return the output for each scenario that differs and each profile whose server did not start."""
    output, name = {}, None
    for line in printed.splitlines():
        start = re.match(r"(ok|FAIL|SKIP) +(profile \S+|[\w.-]+)", line)
        if start:
            name = start[2].rstrip(":") if start[1] != "ok" else None
        elif not line.startswith(" "):
            name = None
        if name:
            output.setdefault(name, []).append(line)
    # The last line holds the reason of an aborted scenario.
    shown = lambda lines: lines if is_verbose or len(lines) <= 5 else [*lines[:4], lines[-1]]
    return {name: "\n".join(shown(lines)) for name, lines in output.items()}


def check_outcome(outcome, output, passing):
    """Return the required scenarios that do not match."""
    required = set(passing)
    failed = [name for name in sorted(outcome) if name in required and outcome[name] != "ok"]
    without_server = [name for name in output if name.startswith("profile ")]
    others = sorted(output.keys() - required - set(without_server)) if len(outcome) < SHOWN else []
    for name in [*without_server, *failed[:SHOWN], *others]:
        if name in output:
            print(output[name])
    return [f"{name}: does not match its recording ({outcome[name]})" for name in failed]


def report_new(names, moved):
    print(f"{len(names)} waiting scenarios pass" + (":" if moved else "; `--update` moves them to passing.json:"))
    print("\n".join(f"  {name}" for name in names))


def write_lists(passing, waiting):
    PASSING.write_text(json.dumps(sorted(set(passing)), indent=1) + "\n")
    WAITING.write_text(json.dumps(waiting, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(main())
    except postgres.Missing as missing:
        sys.exit(fail(str(missing)))
