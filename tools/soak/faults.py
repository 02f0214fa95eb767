"""The periods of faults: honest clients may see failures during them, and at no other time."""

import dataclasses
import time

GRACE = 6.0
"""Seconds after a fault's end in which its failures may still be seen."""


@dataclasses.dataclass
class Fault:
    """One injected fault. `cleared` is when the server could work again; None while it cannot."""

    name: str
    group: str  # database, server, mail or clock
    began: float
    cleared: float | None = None
    ended_after: float | None = None
    """Seconds in which the server ended, where the fault is its end."""

    def excuses(self, began, ended):
        """Return whether a request at that time may be affected by this fault."""
        return ended >= self.began and (self.cleared is None or began <= self.cleared + GRACE)


class FaultLog:
    """All faults of a run, in order."""

    def __init__(self, started):
        self.started, self.faults = started, []

    def begin(self, name, group):
        fault = Fault(name, group, time.monotonic())
        self.faults.append(fault)
        print(f"    {fault.began - self.started:6.1f} s  {name}", flush=True)
        return fault

    def clear(self, fault, at=None):
        fault.cleared = time.monotonic() if at is None else at

    def met(self, began, ended, groups):
        """Return the names of the faults that may have affected a request."""
        return [fault.name for fault in self.faults if fault.group in groups and fault.excuses(began, ended)]
