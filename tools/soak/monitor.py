"""Monitors sessions inside a transaction, memory, and the time until requests succeed after a fault."""

import asyncio
import dataclasses
import statistics
import time

from http_client import Client, NoAnswer

PROBE_EVERY, PROBE_LIMIT, PROBES_OPEN = 0.25, 15.0, 80
IDLE_LIMIT = 2.0
"""Longest time a session may be idle in a transaction, in seconds."""
MAIL_LIMIT = 12.0
"""The same in `gotrue` while the mail server is slow: as in the reference, a mail is sent within its transaction, until
the request's deadline of 10 s."""
RECOVERY_LIMIT = 5.0
USUAL_REQUESTS = 3
"""The limit of recovery is extended by the time of so many usual requests: it is meant for a machine that has time."""
SLOW_NETWORK = 2.0
"""And by so many seconds where messages to PostgreSQL are delayed as well."""
IN_TRANSACTION = r"""
SELECT pid, client_port, extract(epoch FROM clock_timestamp() - state_change),
    left(regexp_replace(query, '\s+', ' ', 'g'), 60)
FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'
"""
RSS_SHARE, RSS_SLACK = 0.10, 2048
FEWEST = 40
"""Fewest samples of memory in a third of the run."""


@dataclasses.dataclass
class Probe:
    began: float
    ended: float
    is_ok: bool
    text: str


class Monitor:
    """Samples once a second and probes four times a second."""

    def __init__(self, cluster, relay, server, faults, until):
        self.cluster, self.relay, self.server, self.faults, self.until = cluster, relay, server, faults, until
        self.probes, self.memory, self.idle, self.samples, self.most_idle = [], [], {}, 0, 0

    async def run(self, user):
        """Watches until the deadline; `user` is the id of a user to read."""
        await asyncio.gather(self.watch_process(), self.watch_sessions(), self.probe(user))

    async def watch_process(self):
        for _ in range(36_000):
            if time.monotonic() >= self.until:
                return
            kib = self.server.resident_kib()
            if kib:
                self.memory.append((time.monotonic(), self.server.process.pid, kib))
            if self.server.is_wanted and kib is None and not self.server.unexpected_exits:
                self.server.unexpected_exits.append(self.server.process.poll())
            await asyncio.sleep(1)

    async def watch_sessions(self):
        for _ in range(36_000):
            if time.monotonic() >= self.until:
                return
            await self.look_at_sessions()
            await asyncio.sleep(1)

    async def look_at_sessions(self):
        rows = await self.sessions_in_transaction()
        if rows is None:
            return
        self.samples += 1
        self.most_idle = max(self.most_idle, len(rows))
        for pid, seconds, query in rows:
            if seconds > self.idle_limit(seconds):
                self.idle[pid] = max(self.idle.get(pid, (0, ""))[0], seconds), query

    def idle_limit(self, seconds):
        now = time.monotonic()
        waits_for_mail = self.server.mode == "gotrue" and self.faults.met(now - seconds, now, ("mail",))
        return MAIL_LIMIT if waits_for_mail else IDLE_LIMIT

    async def sessions_in_transaction(self):
        """Sessions that are idle in a transaction, without those behind a frozen connection."""
        rows = await self.cluster.rows(IN_TRANSACTION, self.server.database)
        if rows is None:
            return None
        frozen = {str(port) for port in self.relay.frozen_ports}
        return [(pid, float(seconds), query) for pid, port, seconds, query in rows if port not in frozen]

    async def probe(self, user):
        """Read a user and sign up in turns, each on a new connection, independent of pending ones."""
        tasks = set()
        for number in range(1_000_000):
            if time.monotonic() >= self.until:
                break
            if len(tasks) < PROBES_OPEN:
                asked = ("GET", f"/admin/users/{user}", None, self.server.service_token) if number % 2 else ("POST", "/signup", {})
                task = asyncio.create_task(self.one_probe(number, asked))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            await asyncio.sleep(PROBE_EVERY)
        await asyncio.gather(*tasks)

    async def one_probe(self, number, asked):
        began = time.monotonic()
        client = Client(self.server, number)
        try:
            answer = await client.ask(*asked, limit=PROBE_LIMIT)
            is_ok, text = answer.is_ok, str(answer)
        except NoAnswer as error:
            is_ok, text = False, str(error)
        client.close()
        self.probes.append(Probe(began, time.monotonic(), is_ok, text))

    def usual(self):
        """Return the median time of a successful probe outside of faults in seconds, or 0."""
        groups = ("database", "server", "network")
        quiet = [probe.ended - probe.began for probe in self.probes
                 if probe.is_ok and not self.faults.met(probe.began, probe.ended, groups)]
        return statistics.median(quiet) if quiet else 0.0

    def limit(self, fault):
        """Return the seconds within which requests must succeed after a fault."""
        slowed = self.faults.met(fault.began, fault.cleared + RECOVERY_LIMIT, ("network",))
        return RECOVERY_LIMIT + USUAL_REQUESTS * self.usual() + (SLOW_NETWORK if slowed else 0.0)

    def recoveries(self):
        """For each hard fault: its limit, seconds from its end to the first success, and the probes that failed later."""
        hard = [fault for fault in self.faults.faults if fault.group in ("database", "server") and fault.cleared]
        for fault, following in zip(hard, [*hard[1:], None]):
            end = following.began if following else self.until
            after = [probe for probe in self.probes if fault.began < probe.began < end]
            first = min((probe.ended for probe in after if probe.is_ok and probe.ended > fault.cleared), default=None)
            # Only probes that ended before the next fault are attributed to this one.
            limit = self.limit(fault)
            late = [probe for probe in after if probe.began > fault.cleared + limit and not self.was_quick(probe, end)]
            if end - fault.cleared >= limit:
                yield fault, limit, (None if first is None else first - fault.cleared), late

    def was_quick(self, probe, end):
        return probe.ended > end or (probe.is_ok and probe.ended - probe.began < RECOVERY_LIMIT)

    def memory_thirds(self, began):
        """Median memory in MiB of the middle and the last third; None if the process changed or there are few samples."""
        length = (self.until - began) / 3
        third = lambda k: [row for row in self.memory if began + k * length <= row[0] < began + (k + 1) * length]
        middle, last = third(1), third(2)
        pids = {pid for _, pid, _ in middle + last}
        if len(pids) != 1 or min(len(middle), len(last)) < FEWEST:
            return None
        return tuple(statistics.median(kib for _, _, kib in part) / 1024 for part in (middle, last))
