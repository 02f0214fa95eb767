#!/usr/bin/env python3
"""Compares `basalt gotrue` with what the reference auth server was recorded to answer, and holds it to two lists.

    replay/passing.json    scenarios that must be as recorded; the list only grows
    replay/waiting.json    scenario -> the first thing it needs that is not served yet; the list only shrinks

Every recorded scenario is in exactly one of them. The recordings are kept beside the repository, in ../shared/replay.

    check.py             the passing scenarios: fails naming each that fell out
    check.py --all       the waiting ones too: says which of them pass by now
    check.py --route 'POST /recover'    the ones that wait for a route, which may be a glob
    check.py --only 'user.*' --verbose  some scenarios, whichever list they are in, with every difference

With --update those that waited and pass are moved from waiting.json to passing.json.
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
RECORDINGS = REPOSITORY.parent / "shared" / "replay"
PASSING, WAITING = HERE / "passing.json", HERE / "waiting.json"
SHOWN = 25


def main():
    options = arguments()
    if not (RECORDINGS / "replay.py").exists():
        return fail("../shared/replay is missing: it holds the recordings and lies beside the repository. Put it there and run again.")
    if not options.server.exists():
        return fail(f"{options.server} is missing: build it with `cargo build`.")
    passing, waiting = json.loads(PASSING.read_text()), json.loads(WAITING.read_text())
    recorded = sorted(path.name.removesuffix(".json") for path in (RECORDINGS / "golden").glob("*.json"))
    complaints = check_lists(passing, waiting, recorded)
    wanted = [name for name in recorded if is_wanted(name, waiting.get(name), options)]
    outcome, said = run(wanted, options) if wanted else ({}, {})
    complaints += check_outcome(outcome, said, passing)
    now_passing = sorted(name for name, word in outcome.items() if word == "ok" and name in waiting)
    if now_passing:
        report_new(now_passing, options.update)
    if options.update:
        write_lists(passing + now_passing, {name: route for name, route in waiting.items() if name not in now_passing})
    good = sum(word == "ok" for word in outcome.values())
    print(f"{good} of {len(outcome)} scenarios as recorded; {len(passing)} must be, {len(waiting)} wait")
    return fail("\n".join(complaints)) if complaints else 0


def is_wanted(name, route, options):
    """Whether a scenario is to run; `route` is what it waits for, if it does."""
    if not (options.all or options.only or options.route):
        return route is None
    named = any(fnmatch.fnmatch(name, glob) for glob in options.only)
    return options.all or named or bool(route) and any(fnmatch.fnmatch(route, glob) for glob in options.route)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="run the waiting scenarios too: a quarter of an hour, spent waiting for mails that never come")
    parser.add_argument("--route", action="append", default=[], help="a glob over what scenarios wait for; may be repeated")
    parser.add_argument("--only", action="append", default=[], help="a glob over scenario names; may be repeated")
    parser.add_argument("--update", action="store_true", help="move scenarios that waited and pass to passing.json")
    parser.add_argument("--verbose", action="store_true", help="print every difference of a scenario")
    parser.add_argument("--jobs", default="2", help="how many servers run at once")
    parser.add_argument("--server", type=pathlib.Path, default=REPOSITORY / "target" / "debug" / "basalt", help="the binary")
    options = parser.parse_args()
    options.server = options.server.resolve()
    return options


def fail(text):
    print(text, file=sys.stderr)
    return 1


def check_lists(passing, waiting, recorded):
    """Complaints about the lists themselves."""
    names, wait, known = set(passing), set(waiting), set(recorded)
    complaints = [f"{name}: in both passing.json and waiting.json" for name in sorted(names & wait)]
    complaints += [f"{name}: recorded, but in neither passing.json nor waiting.json" for name in sorted(known - names - wait)]
    complaints += [f"{name}: listed, but not recorded" for name in sorted((names | wait) - known)]
    if passing != sorted(names):
        complaints.append("passing.json is not sorted, or names a scenario twice: check.py --update writes it anew")
    for earlier in ("HEAD", "HEAD~1"):
        before = committed(earlier, WAITING)
        complaints += [f"{name}: waits again since {earlier}; waiting.json only shrinks" for name in sorted(wait - before)] if before else []
    return complaints


def committed(revision, path):
    """The names in a list as it was committed; none where there is no such commit."""
    shown = subprocess.run(
        ["git", "show", f"{revision}:{path.relative_to(REPOSITORY)}"], cwd=REPOSITORY, capture_output=True, text=True
    )
    return set(json.loads(shown.stdout)) if shown.returncode == 0 else set()


def run(names, options):
    """Runs scenarios; gives the outcome of each and what was printed about it."""
    postgres.psql()
    with tempfile.TemporaryDirectory(prefix="basalt-replay-out-") as folder, postgres.server() as database:
        result, log = pathlib.Path(folder) / "result.json", pathlib.Path(folder) / "log"
        command = [sys.executable, RECORDINGS / "replay.py", "check", "--jobs", options.jobs, "--json", result]
        command += ["--server", f"exec '{options.server}' gotrue", "--database", database, "--logs", server_logs(), "--verbose"]
        command += [word for name in names for word in ("--only", name)]
        print(f"{len(names)} scenarios against {options.server}; the servers' logs are in {server_logs()}", flush=True)
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


def end_with_descendants(process):
    """Where we are interrupted, the servers under test must not outlive us; they are in sessions of their own."""
    if process.poll() is not None:
        return
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True).stdout
    parents = {int(pid): int(parent) for pid, parent in map(str.split, listed.splitlines())}
    ours = {process.pid}
    for _ in range(4):  # replay.py, bash, the server
        ours |= {pid for pid, parent in parents.items() if parent in ours}
    process.kill()
    for pid in ours - {process.pid}:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    process.wait()


def server_logs():
    return str(pathlib.Path(tempfile.gettempdir()) / "basalt-replay-logs")


def environment():
    """Ours, without what would configure the servers from outside their profiles."""
    foreign = re.compile(r"GOTRUE_|DATABASE_URL$|DB_|API_EXTERNAL_URL$|PORT$|PG|RUST_LOG$")
    return {**{name: value for name, value in os.environ.items() if not foreign.match(name)}, "PYTHONDONTWRITEBYTECODE": "1"}


def by_scenario(printed, whole):
    """What the replay said of each scenario that differs, and of each profile whose server did not start."""
    said, name = {}, None
    for line in printed.splitlines():
        start = re.match(r"(ok|FAIL|SKIP) +(profile \S+|[\w.-]+)", line)
        if start:
            name = start[2].rstrip(":") if start[1] != "ok" else None
        elif not line.startswith(" "):
            name = None
        if name:
            said.setdefault(name, []).append(line)
    # A scenario that broke off says why at the end.
    shown = lambda lines: lines if whole or len(lines) <= 5 else [*lines[:4], lines[-1]]
    return {name: "\n".join(shown(lines)) for name, lines in said.items()}


def check_outcome(outcome, said, passing):
    """Complaints about scenarios that must pass and did not."""
    must = set(passing)
    fallen = [name for name in sorted(outcome) if name in must and outcome[name] != "ok"]
    without_server = [name for name in said if name.startswith("profile ")]
    others = sorted(said.keys() - must - set(without_server)) if len(outcome) < SHOWN else []
    for name in [*without_server, *fallen[:SHOWN], *others]:
        if name in said:
            print(said[name])
    return [f"{name}: must be as recorded, and is not ({outcome[name]})" for name in fallen]


def report_new(names, moved):
    print(f"{len(names)} scenarios pass that waited until now" + (":" if moved else "; `--update` moves them to passing.json:"))
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
