"""Fault-injection soak of the binary: every acknowledged write must survive.

    python3 tools/soak [--minutes 10] [--mode gotrue|serve|both] [--seed N] [--rate 60] [--basalt PATH]

Hostile clients reset connections during requests; honest clients record every acknowledged write; PostgreSQL is
restarted, frozen and slowed, the mail server is slow or silent, the clock is stepped, the server is killed. At the end
every acknowledged write is looked up in the database and by the API. Exits with 1 and prints each violation.
"""

import argparse
import asyncio
import pathlib
import random
import signal
import sys
import tempfile
import time

sys.dont_write_bytecode = True

from attack import Attack
from chaos import CLOCK, HARD, RESTARTS, SOFT, Chaos
from cluster import Cluster, Missing, free_port
from faults import FaultLog
from honest import crew
from http_client import Client
from ledger import Ledger
from mail_sink import FAST, MailSink
from monitor import Monitor
from relay import Relay
from report import Report
from server_process import ServerProcess, faketime_library
from verify import Verifier

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
LONGEST = 24 * 60
CHECK_EVERY, QUIET = 20, 4


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10, help="length of the run of each mode")
    parser.add_argument("--mode", choices=("gotrue", "serve", "both"), default="both")
    parser.add_argument("--seed", type=int, default=None, help="of the schedule and of the clients; default: random")
    parser.add_argument("--rate", type=float, default=60, help="hostile requests a second")
    parser.add_argument("--no-faults", action="store_true", help="hostile and honest clients alone")
    names = (*HARD, *RESTARTS, *SOFT, *CLOCK, "clock_hour")
    parser.add_argument("--only", default="", help="faults between commas: " + ", ".join(names))
    parser.add_argument("--basalt", type=pathlib.Path, default=REPOSITORY / "target" / "debug" / "basalt")
    options = parser.parse_args()
    options.minutes = min(max(options.minutes, 0.25), LONGEST)
    options.seed = random.randrange(1_000_000) if options.seed is None else options.seed
    options.basalt = options.basalt.resolve()
    return options


class Soak:
    """One run in one mode."""

    def __init__(self, options, mode, cluster, folder):
        self.options, self.mode, self.cluster, self.seed = options, mode, cluster, f"{options.seed} {mode}"
        self.log = pathlib.Path(tempfile.gettempdir()) / f"basalt-soak-{mode}.log"
        self.log.write_bytes(b"")
        self.folder = pathlib.Path(folder) / mode
        self.folder.mkdir()
        self.report = Report(mode)

    async def run(self):
        """Run it. Returns the violations."""
        self.cluster.create_database(self.mode)
        self.relay, self.sink = Relay(self.cluster.port, self.seed), MailSink(self.seed)
        await self.relay.start()
        await self.sink.start()
        ports = (free_port(), self.relay.port, self.sink.port)
        self.server = ServerProcess(self.options.basalt, self.mode, self.folder, ports, self.mode, self.log)
        try:
            await self.server.start()
            await self.work()
        finally:
            self.server.kill()
            await self.relay.stop()
            await self.sink.stop()
        return self.report.violations

    async def work(self):
        began = time.monotonic()
        until = began + self.options.minutes * 60
        print(f"\n{self.mode}: {self.options.minutes:g} min, seed {self.options.seed}, log {self.log}", flush=True)
        ledger, faults = Ledger(), FaultLog(began)
        monitor = Monitor(self.cluster, self.relay, self.server, faults, until)
        only = [name for name in self.options.only.split(",") if name]
        chaos = Chaos((self.cluster, self.relay, self.sink, self.server), faults, until,
                      began + self.options.minutes * 20, only, self.seed)
        attack = Attack(self.server, self.options.rate, until - QUIET, self.seed)
        verifier = Verifier(self.cluster, self.server, ledger, self.sink, attack, self.seed)
        user = await self.first_user()
        tasks = [*crew(self.server, ledger, until, self.seed), asyncio.create_task(attack.run()),
                 asyncio.create_task(monitor.run(user)), asyncio.create_task(self.check_now_and_then(verifier, until))]
        if not self.options.no_faults:
            tasks.append(asyncio.create_task(chaos.run()))
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
        at_the_end = await self.settle(monitor, faults)
        lost = await verifier.final()
        self.print(ledger, faults, monitor, verifier, attack, chaos, at_the_end, lost, began)

    async def first_user(self):
        answer = await Client(self.server, 0).ask("POST", "/signup", {})
        if not answer.is_ok:
            raise RuntimeError(f"the first sign-up: {answer}")
        return answer.json()["user"]["id"]

    async def check_now_and_then(self, verifier, until):
        for _ in range(LONGEST * 60 // CHECK_EVERY):
            await asyncio.sleep(min(CHECK_EVERY, max(0, until - time.monotonic())))
            if time.monotonic() >= until:
                return
            missing = await verifier.interim()
            found = "database away" if missing is None else f"{missing} missing"
            counts = ", ".join(f"{count} {kind}" for kind, count in verifier.ledger.acknowledged().items() if count)
            print(f"    {time.monotonic() - until + self.options.minutes * 60:6.1f} s  acknowledged {counts}: {found}", flush=True)

    async def settle(self, monitor, faults):
        """Wait until no request is running, check the sessions, and restart the server in both ways."""
        self.sink.mode, self.relay.delay, self.relay.freezes_new = FAST, 0.0, False
        await asyncio.sleep(QUIET)
        sessions = await monitor.sessions_in_transaction()
        if sessions is None:
            self.report.violation("PostgreSQL does not answer at the end")
        if not self.options.no_faults:
            for how, name in ((signal.SIGKILL, "server killed"), (signal.SIGTERM, "server restarted in order")):
                fault = faults.begin(name, "server")
                fault.ended_after = await self.server.end(how)
                if fault.ended_after is None:
                    self.report.violation(f"{name}: it did not end and was killed")
                await self.server.start()
                faults.clear(fault)
        return sessions or []

    def print(self, ledger, faults, monitor, verifier, attack, chaos, at_the_end, lost, began):
        report = self.report
        print(f"\n{self.mode}: result")
        report.line("hostile requests", f"{attack.sent} reset, {attack.unsent} not sent")
        report.line("connections to PostgreSQL", f"{self.relay.accepted}")
        report.writes(ledger, lost, verifier.seen_lost)
        report.statuses(ledger, faults)
        report.recoveries(monitor)
        report.sessions(monitor, at_the_end)
        report.memory(monitor, began)
        for failure in chaos.failures:
            report.violation(f"schedule: {failure}")
        for status in self.server.unexpected_exits:
            report.violation(f"the server ended by itself with {status}")
        if sum(ledger.acknowledged().values()) == 0:
            report.violation("nothing was acknowledged: the run proves nothing")


async def run_all(options):
    cluster = Cluster()
    try:
        cluster.start()
        cluster.create_roles()
        violations = []
        with tempfile.TemporaryDirectory(prefix="basalt-soak-run-") as folder:
            for mode in ("gotrue", "serve") if options.mode == "both" else (options.mode,):
                violations += await Soak(options, mode, cluster, folder).run()
        return violations
    finally:
        cluster.remove()


def main():
    options = arguments()
    if not options.basalt.exists():
        print(f"{options.basalt} is missing: build it with `cargo build --package basalt`.", file=sys.stderr)
        return 1
    if faketime_library() is None:
        print("NOTICE: libfaketime is not installed (Debian: apt install libfaketime): the clock is not stepped in this run.")
    try:
        violations = asyncio.run(run_all(options))
    except Missing as missing:
        print(missing, file=sys.stderr)
        return 1
    print(f"\n{len(violations)} violations" if violations else "\nNo violation.")
    for violation in violations:
        print(f"  - {violation}")
    return 1 if violations else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
