#!/usr/bin/env python3
"""Replay recorded auth flows against a server and report every difference.

A scenario (scenarios/*.py) runs one flow over HTTP as a client: it signs up, reads the mail, follows
the link, enrols a factor. A profile (profiles/*.json) is the environment of the server. A recording
(golden/*.json) holds the responses of the reference server, with volatile values replaced by
placeholders that keep their identity (`<uuid1>` is the same id everywhere in a recording).

    replay.py check --server CMD [--only GLOB] [--verbose]    compare a server with the recordings
    replay.py record --server CMD [--only GLOB]               overwrite the recordings
    replay.py list                                            list scenarios, profiles and numbers of steps

CMD is a shell command that serves the auth API at its root path on 127.0.0.1:$PORT, configured by
the GOTRUE_* environment alone. It is started once per profile on a fresh database, in its own
process group, and ended with SIGTERM.
"""

import argparse
import fnmatch
import importlib.util
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
import traceback
import urllib.error
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor, as_completed

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
ONE_AT_A_TIME = threading.Lock()

from harness.client import Flow  # noqa: E402
from harness.compare import differences  # noqa: E402
from harness.sinks import HookSink, MailSink, ProviderSink  # noqa: E402


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def load_scenarios(only, folder):
    """Return the functions marked by @scenario that match one of the globs `only`, in file order."""
    from harness import registry

    registry.clear()
    for path in sorted(pathlib.Path(folder).glob("*.py")):
        if not any(fnmatch.fnmatch(path.stem, g.split(".")[0]) for g in only):
            continue
        spec = importlib.util.spec_from_file_location(f"scenarios_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        registry.area = path.stem
        spec.loader.exec_module(module)
    return [s for s in registry.all() if any(fnmatch.fnmatch(s.name, g) for g in only)]


class Database:
    """A new database on a running PostgreSQL, one per profile, accessed by psql."""

    def __init__(self, url, name, pooler=None):
        self.admin, self.name = url, name
        self.url = url.rsplit("/", 1)[0] + "/" + name
        server = urllib.parse.urlsplit(self.url)
        self.auth_url = f"postgres://supabase_auth_admin:root@{pooler or f'{server.hostname}:{server.port or 5432}'}/{name}"

    def psql(self, url, sql):
        done = subprocess.run(
            ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", url, "-c", sql],
            capture_output=True, text=True,
        )
        if done.returncode:
            raise RuntimeError(f"psql: {done.stderr.strip()}")
        return done.stdout.strip()

    def create(self):
        self.psql(self.admin, f'drop database if exists "{self.name}" with (force)')
        self.psql(self.admin, f'create database "{self.name}"')
        with ONE_AT_A_TIME:  # roles belong to the whole cluster
            self.psql(self.url, (HERE / "bootstrap.sql").read_text())

    def query(self, sql):
        return self.psql(self.url, sql)

    def drop(self):
        self.psql(self.admin, f'drop database if exists "{self.name}" with (force)')


class Server:
    """The server under test, started with a profile's environment."""

    def __init__(self, command, env, port, log):
        self.base = f"http://127.0.0.1:{port}"
        self.log = open(log, "wb")
        self.process = subprocess.Popen(
            ["bash", "-c", command], env={**os.environ, **env},
            stdout=self.log, stderr=subprocess.STDOUT, start_new_session=True,
        )

    def wait(self, seconds=60):
        end = time.time() + seconds
        while time.time() < end:
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended with {self.process.returncode}; see {self.log.name}")
            try:
                with urllib.request.urlopen(self.base + "/health", timeout=2) as answer:
                    if answer.status == 200:
                        return
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        raise RuntimeError(f"no answer from /health in {seconds} s; see {self.log.name}")

    def stop(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait(10)
        self.log.close()


def expand(value, names):
    for name, text in names.items():
        value = value.replace("{" + name + "}", text)
    return value


def load_profile(name, folders):
    """Load a profile; `extends` names the profile it starts from, null removes a variable."""
    for folder in folders:
        path = pathlib.Path(folder) / f"{name}.json"
        if path.exists():
            break
    else:
        raise RuntimeError(f"no profile {name}.json in {', '.join(map(str, folders))}")
    settings = json.loads(path.read_text())
    env = load_profile(settings["extends"], folders)["env"] if "extends" in settings else {}
    env.update(settings["env"])
    return {**settings, "env": {k: v for k, v in env.items() if v is not None}}


def run_profile(profile, scenarios, args):
    """Start one server and run the profile's scenarios on it; yields (scenario, transcript or error)."""
    settings = load_profile(profile, args.profiles)
    port = free_port()
    mail, hooks, provider = MailSink(), HookSink(), ProviderSink()
    provider.static = settings.get("static", {})
    database = Database(args.database, f"replay_{profile.replace('-', '_')}_{os.getpid()}", args.pooler)
    database.create()
    for statement in settings.get("sql", []):
        database.query(statement)
    names = {
        "port": str(port), "base": f"http://127.0.0.1:{port}", "database": database.url, "auth_database": database.auth_url,
        "smtp_port": str(mail.port), "hooks": hooks.base, "provider": provider.base, "replay": str(HERE),
    }
    env = {k: expand(v, names) for k, v in settings["env"].items()}
    os.makedirs(args.logs, exist_ok=True)
    server = Server(args.server, env, port, os.path.join(args.logs, f"{profile}.log"))
    try:
        server.wait()
        for scenario in scenarios:
            flow = Flow(scenario.name, server.base, env, mail, hooks, provider, database)
            try:
                scenario.run(flow)
                yield scenario, flow.transcript(), None
            except Exception:
                yield scenario, flow.transcript(), traceback.format_exc(limit=-4)
    finally:
        server.stop()
        for sink in (mail, hooks, provider):
            sink.close()
        database.drop()


def steps_of(path):
    return json.loads(path.read_text())["steps"] if path.exists() else []


class Report:
    """Collects and prints the outcome of each scenario."""

    def __init__(self, args):
        self.golden, self.verbose, self.recording = pathlib.Path(args.golden), args.verbose, args.action == "record"
        self.outcome, self.steps_same, self.steps_all = {}, 0, 0

    def no_server(self, profile, scenarios, error):
        print(f"FAIL  profile {profile}: {error}", flush=True)
        for scenario in scenarios:
            self.steps_all += len(steps_of(self.golden / f"{scenario.name}.json"))
            self.outcome[scenario.name] = "no server"

    def add(self, scenario, transcript, error):
        path = self.golden / f"{scenario.name}.json"
        outcome = self.record(path, transcript, error) if self.recording else self.compare(path, transcript, error)
        self.outcome[scenario.name], line = outcome
        print(line.format(name=scenario.name), flush=True)

    def record(self, path, transcript, error):
        if error:
            return "error", "FAIL  {name}\n" + escaped(error)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(transcript, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
        return "recorded", f"saved {{name}} ({len(transcript['steps'])} steps)"

    def compare(self, path, transcript, error):
        if not path.exists():
            return "no recording", "SKIP  {name}: no recording"
        expected = json.loads(path.read_text())
        found, steps = differences(expected, transcript), len(expected["steps"])
        same = steps - len({d.step for d in found if d.step < steps})
        self.steps_same, self.steps_all = self.steps_same + same, self.steps_all + steps
        if not found and not error:
            return "ok", f"ok    {{name}} ({steps} steps)"
        lines = [f"FAIL  {{name}}: {same} of {steps} steps as recorded"]
        lines += [f"        {escaped(d)}" for d in (found if self.verbose else found[:3])]
        if error and (self.verbose or not found):
            lines.append(escaped(error).replace("\n", "\n        "))
        return "differs", "\n".join(lines)

    def close(self, json_path):
        if json_path:
            pathlib.Path(json_path).write_text(json.dumps(self.outcome, indent=1, sort_keys=True))
        good = sum(1 for word in self.outcome.values() if word in ("ok", "recorded"))
        if not self.recording:
            print(self.by_area())
            print(f"{self.steps_same} of {self.steps_all} steps as recorded")
        print(f"{good} passed, {len(self.outcome) - good} failed")
        return 0 if good == len(self.outcome) else 1

    def by_area(self):
        areas = {}
        for name, word in self.outcome.items():
            areas.setdefault(name.split(".")[0], []).append(word == "ok")
        return "\n".join(f"{area:24} {sum(hits):3} of {len(hits):3}" for area, hits in sorted(areas.items()))


def escaped(text):
    return str(text).replace("{", "{{").replace("}", "}}")


def print_list(scenarios, golden):
    for s in scenarios:
        print(f"{s.name:64} {s.profile:24} {len(steps_of(pathlib.Path(golden) / f'{s.name}.json')):3} steps")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["check", "record", "list"])
    parser.add_argument("--server", help="shell command that starts the server under test")
    parser.add_argument("--only", action="append", help="a glob over scenario names; may be repeated")
    parser.add_argument("--jobs", type=int, default=1, help="number of profiles that run at once, each with its own server and database")
    parser.add_argument("--verbose", action="store_true", help="print every difference instead of the first three")
    parser.add_argument("--database", default=os.environ.get("REPLAY_DATABASE", "postgres://postgres@127.0.0.1:5432/postgres"),
                        help="a PostgreSQL superuser URL; databases are created and dropped on it")
    parser.add_argument("--pooler", help="HOST:PORT at which the server under test reaches the database; the scenarios do not use it")
    parser.add_argument("--scenarios", default=str(HERE / "scenarios"))
    parser.add_argument("--profiles", help="a folder of additional profiles, searched first")
    parser.add_argument("--golden", default=str(HERE / "golden"))
    parser.add_argument("--logs", default=os.path.join(tempfile.gettempdir(), "replay-logs"))
    parser.add_argument("--json", help="write the outcome of each scenario to this file")
    args = parser.parse_args()
    if args.action != "list" and not args.server:
        parser.error("--server is required")
    args.profiles = [p for p in (args.profiles, HERE / "profiles") if p]
    return args


def main():
    args = arguments()
    scenarios = load_scenarios(args.only or ["*"], args.scenarios)
    if args.action == "list":
        return print_list(scenarios, args.golden)
    by_profile = {}
    for s in scenarios:
        by_profile.setdefault(s.profile, []).append(s)
    report = Report(args)
    with ThreadPoolExecutor(args.jobs) as pool:
        running = {pool.submit(lambda p, g: list(run_profile(p, g, args)), *item): item for item in by_profile.items()}
        for done in as_completed(running):
            try:
                for result in done.result():
                    report.add(*result)
            except RuntimeError as error:
                report.no_server(*running[done], error)
    return report.close(args.json)


if __name__ == "__main__":
    sys.exit(main())
