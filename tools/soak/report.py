"""Formats the records as a report and collects violations."""

import collections

from monitor import RSS_SHARE, RSS_SLACK

OVERLOADED = 0.5
"""Median of the probes in seconds above which the machine is overloaded."""
EVERYONE = ("database", "server", "network")
SAMPLES = 2
SHOWN = 90
"""Characters of a response shown in a sample."""


class Report:
    """Prints sections and collects violations."""

    def __init__(self, mode):
        self.mode, self.violations = mode, []

    def violation(self, text):
        self.violations.append(f"{self.mode}: {text}")

    def line(self, name, text):
        print(f"  {name:<34}{text}")

    def writes(self, ledger, lost, seen_lost):
        self.line("acknowledged", ", ".join(f"{count} {kind}" for kind, count in ledger.acknowledged().items()))
        self.line("lost", ", ".join(f"{count} {kind}" for kind, (count, _) in lost.items()) or "nothing")
        if seen_lost:
            self.line("missing while running", f"{len(seen_lost)} acknowledged rows were not there when looked up")
            self.violation(f"{len(seen_lost)} acknowledged rows were missing while running, e.g. {sorted(seen_lost)[0]}")
        for kind, (count, samples) in lost.items():
            self.violation(f"{count} lost: {kind}, e.g. " + "; ".join(samples))

    def statuses(self, ledger, faults):
        """Report the statuses that honest clients got. Every status other than 2xx needs a fault that explains it."""
        by_status = collections.Counter()
        for (_, status), count in ledger.counts.items():
            by_status[{0: "connection failed", -1: "no answer in time"}.get(status, str(status))] += count
        self.line("answers", ", ".join(f"{status}: {count}" for status, count in sorted(by_status.items())))
        slowest = sorted(ledger.slowest.items(), key=lambda row: -row[1])[:4]
        self.line("slowest answers", ", ".join(f"{what} {seconds:.1f} s" for what, seconds in slowest))
        wrong = collections.defaultdict(list)
        for event in ledger.events:
            violation = self.judge(event, faults)
            if violation:
                wrong[violation].append(event)
        for violation, events in sorted(wrong.items()):
            samples = [self.sample(event, faults) for event in events[:SAMPLES]]
            self.violation(f"{len(events)} × {violation}: " + "; ".join(samples))

    def sample(self, event, faults):
        met = faults.met(event.began, event.ended, (*EVERYONE, "mail", "clock"))
        return (f"at {event.began - faults.started:.1f} s, answered after {event.ended - event.began:.1f} s: "
                f"{event.text[:SHOWN]} ({', '.join(met[-3:]) or 'no fault'})")

    def judge(self, event, faults):
        """Return a violation for one response, or None if a fault explains it."""
        groups = (*EVERYONE, "mail") if event.sends_mail else EVERYONE
        met = faults.met(event.began, event.ended, groups)
        if event.status == 429:
            return None
        if event.status == -1:
            return f"{event.what}: no answer in time"
        if event.status == 0:
            is_server = faults.met(event.began, event.ended, ("server",))
            return None if is_server else f"{event.what}: connection failed while the server was running"
        if event.status == 503:
            return None if met else f"{event.what}: 503 without a fault"
        # As recorded: the mail is sent within the request, whose response is its failure.
        by_mail = event.sends_mail and self.mode == "gotrue" and faults.met(event.began, event.ended, ("mail",))
        if by_mail and (event.status == 504 or event.status == 500 and "mail" in event.text):
            return None
        return f"{event.what}: status {event.status}"

    def recoveries(self, monitor):
        """Report per kind of fault the time until a request succeeded."""
        taken = collections.defaultdict(list)
        for fault, limit, seconds, late in monitor.recoveries():
            at = f"{fault.name}, at {fault.began - monitor.faults.started:.0f} s"
            taken[fault.name].append(seconds)
            if seconds is None or (seconds > limit and fault.group == "database"):
                first = "no success" if seconds is None else f"first success after {seconds:.1f} s"
                self.violation(f"no recovery within {limit:.1f} s: {at}: {first}")
            if late:
                seen = [f"{probe.began - fault.cleared:.1f} s later, after {probe.ended - probe.began:.1f} s: {probe.text[:SHOWN]}"
                        for probe in late[:SAMPLES]]
                self.violation(f"{len(late)} requests failed later than {limit:.1f} s after: {at}: " + "; ".join(seen))
        for name, seconds in sorted(taken.items()):
            known = [s for s in seconds if s is not None]
            longest = f"{max(known):.2f} s" if known else "never"
            self.line(f"{name}", f"× {len(seconds)}, first success after at most {longest}")
        ends = [fault.ended_after for fault in monitor.faults.faults if fault.ended_after is not None]
        if ends:
            self.line("server ended", f"after at most {max(ends):.1f} s")
        succeeded, usual = sum(probe.is_ok for probe in monitor.probes), monitor.usual()
        self.line("probes", f"{succeeded} of {len(monitor.probes)} succeeded, median outside of faults {usual * 1000:.0f} ms")
        if usual > OVERLOADED:
            self.line("NOTICE", "the machine is overloaded: times are not comparable; use a lower --rate")

    def sessions(self, monitor, at_the_end):
        self.line("idle in a transaction", f"{len(monitor.idle)} sessions for too long, {monitor.samples} samples; "
                                           f"at the end {len(at_the_end)}")
        for pid, (seconds, query) in list(monitor.idle.items())[:SAMPLES]:
            self.violation(f"session {pid} was idle in a transaction for {seconds:.1f} s, last statement {query!r}")
        if len(monitor.idle) > SAMPLES:
            self.violation(f"{len(monitor.idle)} sessions were idle in a transaction for too long")
        if at_the_end:
            self.violation(f"{len(at_the_end)} sessions are in a transaction after everything is quiet, e.g. {at_the_end[0]}")

    def memory(self, monitor, began):
        peak = max((kib for _, _, kib in monitor.memory), default=0) / 1024
        thirds = monitor.memory_thirds(began)
        if thirds is None:
            self.line("memory", f"at most {peak:.1f} MiB; too short a run to compare its thirds")
            return
        middle, last = thirds
        self.line("memory", f"middle third {middle:.1f} MiB, last third {last:.1f} MiB ({last / middle - 1:+.1%}), "
                            f"at most {peak:.1f} MiB")
        if last - middle > max(RSS_SHARE * middle, RSS_SLACK / 1024):
            self.violation(f"memory grew from {middle:.1f} MiB in the middle third to {last:.1f} MiB in the last")
