"""The schedule of faults: two sequences side by side, one of the database and the server, one of mail, clock and network."""

import asyncio
import random
import signal
import time

from mail_sink import FAST, SILENT, SLOW

GAP = (6.0, 9.0)
"""Seconds without a new fault of the database, in which the recovery is measured."""


HARD = ("postgres_immediate", "postgres_fast", "freeze_existing", "freeze_all", "reset_connections")
RESTARTS = ("server_kill", "server_terminate")
SOFT = ("slow_mail", "silent_mail", "slow_network")
CLOCK = ("clock_forward", "clock_back")


class Chaos:
    """Inject faults until the deadline and revert each."""

    def __init__(self, parts, faults, until, restarts_until, only, seed):
        self.cluster, self.relay, self.sink, self.server = parts
        self.faults, self.until, self.restarts_until = faults, until, restarts_until
        self.chance = random.Random(f"{seed} chaos")
        self.failures, self.hours, self.only = [], 0, only

    async def run(self):
        await asyncio.gather(self.sequence(self.hard_faults, GAP), self.sequence(self.soft_faults, (1.0, 4.0)))

    async def sequence(self, faults, gap):
        await asyncio.sleep(self.chance.uniform(3, 6))
        for _ in range(1000):
            names = [name for name in faults() if not self.only or name in self.only]
            if not names:
                return
            self.chance.shuffle(names)
            for name in names:
                if time.monotonic() > self.until - 12:
                    return
                # Later restarts would end the process whose memory is compared.
                if name in RESTARTS and time.monotonic() > self.restarts_until:
                    continue
                try:
                    await getattr(self, name)()
                except Exception as error:  # a fault that cannot be reverted is a violation and ends the sequence
                    self.failures.append(f"{name}: {error}; the sequence breaks off")
                    return
                await asyncio.sleep(self.chance.uniform(*gap))

    def hard_faults(self):
        return [*RESTARTS, *HARD]

    def soft_faults(self):
        clock = [*CLOCK, *(["clock_hour"] if self.hours < 2 else [])] if self.server.library else []
        return [*SOFT, *clock]

    async def postgres_immediate(self):
        await self.restart_postgres("immediate")

    async def postgres_fast(self):
        await self.restart_postgres("fast")

    async def restart_postgres(self, mode):
        fault = self.faults.begin(f"PostgreSQL {mode} restart", "database")
        await asyncio.to_thread(self.cluster.stop, mode)
        await asyncio.sleep(self.chance.uniform(0, 2))
        await asyncio.to_thread(self.cluster.start)
        self.faults.clear(fault)

    async def freeze_existing(self):
        fault = self.faults.begin("connections frozen", "database")
        self.relay.freeze()
        self.faults.clear(fault, fault.began)

    async def freeze_all(self):
        fault = self.faults.begin("connections frozen, new ones too", "database")
        self.relay.freezes_new = True
        self.relay.freeze()
        await asyncio.sleep(self.chance.uniform(2, 4))
        self.relay.freezes_new = False
        self.faults.clear(fault)

    async def reset_connections(self):
        fault = self.faults.begin("connections reset", "database")
        self.relay.reset_all()
        self.faults.clear(fault, fault.began)

    async def server_kill(self):
        await self.restart_server(signal.SIGKILL, "server killed")

    async def server_terminate(self):
        await self.restart_server(signal.SIGTERM, "server restarted in order")

    async def restart_server(self, how, name):
        fault = self.faults.begin(name, "server")
        seconds = await self.server.end(how)
        if seconds is None:
            self.failures.append(f"{name}: it did not end and was killed")
        fault.ended_after = seconds
        await self.server.start()
        self.faults.clear(fault)

    async def slow_network(self):
        """Delays every message to and from PostgreSQL."""
        fault = self.faults.begin("slow network to PostgreSQL", "network")
        self.relay.delay = self.chance.uniform(0.02, 0.08)
        await asyncio.sleep(self.chance.uniform(3, 6))
        self.relay.delay = 0.0
        self.faults.clear(fault)

    async def slow_mail(self):
        await self.mail_fault("slow mail server", SLOW)

    async def silent_mail(self):
        await self.mail_fault("silent mail server", SILENT)

    async def mail_fault(self, name, mode):
        fault = self.faults.begin(name, "mail")
        self.sink.mode = mode
        await asyncio.sleep(self.chance.uniform(5, 8))
        self.sink.mode = FAST
        self.faults.clear(fault)

    async def clock_forward(self):
        await self.step_clock(30)

    async def clock_back(self):
        await self.step_clock(-30)

    async def clock_hour(self):
        self.hours += 1
        await self.step_clock(3600)

    async def step_clock(self, seconds):
        fault = self.faults.begin(f"clock {seconds:+d} s", "clock")
        self.server.step_clock(self.server.offset + seconds)
        self.faults.clear(fault)
