"""Isolated backends of the Supabase auth API for tests, with a virtual clock, messages, faults and sessions."""

from ._api import BasaltError
from ._server import Basalt, start_basalt
from ._types import ClockState, CreatedSession, CreatedUser, Event, FaultRule, Message, Session, TotpCode
from ._world import World

__all__ = [
    "Basalt",
    "BasaltError",
    "ClockState",
    "CreatedSession",
    "CreatedUser",
    "Event",
    "FaultRule",
    "Message",
    "Session",
    "TotpCode",
    "World",
    "start_basalt",
]
