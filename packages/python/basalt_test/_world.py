"""A world and its parts."""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import time
import urllib.parse
from datetime import datetime, timedelta
from typing import Any

from ._api import BasaltError, TestApi
from ._types import ClockState, CreatedSession, CreatedUser, Event, FaultRule, Message, TotpCode

# The longest wait of one request, in seconds.
MAX_WAIT = 30
# How long a wait takes without a time-out, in seconds: as in every language, below the time-outs of test runners.
DEFAULT_TIMEOUT = 3.0
# The largest number of events of a report: the last ones.
MAX_REPORTED_EVENTS = 100
_numbers = itertools.count(1)


class Clock:
    """The virtual clock of a world: tokens, codes, limits and background jobs follow it."""

    def __init__(self, api: TestApi):
        self._api = api

    def now(self) -> datetime:
        """Return the time of the world."""
        return _parse_time(self.state()["now"])

    def state(self) -> ClockState:
        """Return `{now, rate, frozen}`."""
        return self._api.call("GET", "/clock")

    def advance(self, length: str | timedelta | float) -> ClockState:
        """Add to the time: `"61m"`, a `timedelta`, or milliseconds, as in every language."""
        if isinstance(length, timedelta):
            length = length / timedelta(milliseconds=1)
        return self._change(advance=length if isinstance(length, str) else f"{length:f}ms")

    def set(self, at: datetime | str) -> ClockState:
        """Set the time."""
        return self._change(at=_format_time(at))

    def freeze(self, at: datetime | str | None = None) -> ClockState:
        """Stop the clock, at a time if one is given."""
        return self._change(freeze=True, **({} if at is None else {"at": _format_time(at)}))

    def unfreeze(self) -> ClockState:
        """Let a stopped clock go on."""
        return self._change(freeze=False)

    def rate(self, rate: float) -> ClockState:
        """Set how many seconds pass per real second."""
        return self._change(rate=rate)

    def reset(self) -> ClockState:
        """Return to real time."""
        return self._api.call("DELETE", "/clock")

    def _change(self, **change: Any) -> ClockState:
        return self._api.call("POST", "/clock", change)


class Messages:
    """E-mails and SMS that the server would have sent."""

    def __init__(self, api: TestApi):
        self._api = api
        self._returned: set[str] = set()

    def list(self, **query: Any) -> list[Message]:
        """Return messages, oldest first: `to`, `channel`, `kind`, `subject`, `after`, `limit`."""
        return self._api.call("GET", "/messages", query=query)["messages"]

    def wait(self, to: str | None = None, timeout: float = DEFAULT_TIMEOUT, **query: Any) -> Message:
        """Return the oldest message that `wait` has not returned before, and wait for one."""
        end = time.monotonic() + timeout
        after = None
        while True:
            wait = f"{min(max(0.0, end - time.monotonic()), MAX_WAIT):.3f}"
            page = self.list(to=to, after=after, wait=wait, limit=200, **query)
            for message in page:
                if message["id"] not in self._returned:
                    self._returned.add(message["id"])
                    return message
            if page:
                after = page[-1]["id"]
            elif time.monotonic() >= end:
                seen = "; ".join(f"{it['kind']} to {it['to']}" for it in self.list())
                hint = f"its messages: {seen}" if seen else "the world has no messages at all"
                raise BasaltError("message_timeout", f"no new message to {to} {query} within {timeout} s", hint)

    def get(self, message_id: str) -> Message:
        """Return a message with the list of its attachments."""
        return self._api.call("GET", f"/messages/{_quote(message_id)}")

    def raw(self, message_id: str) -> bytes:
        """Return a message as it is sent (RFC 5322)."""
        return self._api.read("GET", f"/messages/{_quote(message_id)}/raw")

    def delete(self, **query: Any) -> None:
        """Delete the messages, all of them without a filter."""
        self._api.call("DELETE", "/messages", query=query)


class Users:
    """Creates users without sign-up."""

    def __init__(self, api: TestApi):
        self._api = api

    def create(self, **user: Any) -> CreatedUser:
        """Create a user; without `email` and `phone` it gets an address of its own."""
        if "email" not in user and "phone" not in user:
            user["email"] = f"user{next(_numbers)}-{os.getpid()}@example.com"
        return self.create_all([user])[0]

    def create_all(self, users: list[dict[str, Any]]) -> list[CreatedUser]:
        """Create all users of a list; an invalid entry creates none."""
        return self._api.call("POST", "/users", users)


class Sessions:
    """Creates sessions without a sign-in."""

    def __init__(self, api: TestApi):
        self._api = api

    def create(self, user: str | CreatedUser | dict[str, Any], **options: Any) -> CreatedSession:
        """Create a session of a user (id, address or user): `aal`, `amr`, `expires_in`, `origin`, `format`."""
        owner = user["id"] if isinstance(user, dict) else user
        name = "email" if "@" in owner else "id"
        return self._api.call("POST", "/sessions", {name: owner, **options})


class Passkeys:
    """A software authenticator with passkeys, which this object keeps."""

    def __init__(self, api: TestApi):
        self._api = api
        self._known: dict[str, dict[str, Any]] = {}

    def create(self, options: dict[str, Any], **how: Any) -> dict[str, Any]:
        """Create a passkey for the options of a registration; returns the credential. `origin`, `user_verified`."""
        return self._answer({"options": options, **how})

    def get(self, options: dict[str, Any], **how: Any) -> dict[str, Any]:
        """Sign for the options of an authentication, with the newest passkey that fits."""
        wanted = options.get("publicKey", options)
        allowed = [it["id"] for it in wanted.get("allowCredentials") or []]
        usable = [
            it
            for it in self._known.values()
            if wanted.get("rpId") in (None, it["rp_id"]) and (not allowed or it["credential_id"] in allowed)
        ]
        if not usable:
            raise BasaltError("passkey_missing", "no passkey fits these options", "create one first")
        return self._answer({"options": options, "passkey": usable[-1], **how})

    def _answer(self, body: dict[str, Any]) -> dict[str, Any]:
        answer = self._api.call("POST", "/authenticators/passkeys", body)
        self._known[answer["passkey"]["credential_id"]] = answer["passkey"]
        return answer["credential"]


class Faults:
    """The faults of a world."""

    def __init__(self, api: TestApi):
        self._api = api

    def add(self, do: dict[str, Any], **rule: Any) -> FaultRule:
        """Add a rule: `match`, `target`, `do`, `count`; returns its id and hits."""
        return self._api.call("POST", "/faults", {"do": do, **rule})

    def list(self) -> list[FaultRule]:
        """Return the rules with their hits."""
        return self._api.call("GET", "/faults")["faults"]

    def clear(self, fault_id: str | None = None) -> None:
        """Remove a rule, or all of them."""
        self._api.call("DELETE", "/faults" if fault_id is None else f"/faults/{_quote(fault_id)}")


class World:
    """An isolated backend. As a context manager it is deleted at the end of the block."""

    def __init__(self, root: TestApi, description: dict[str, Any]):
        self._root = root
        self.description = description
        self.id: str = description["id"]
        self.url: str = description["url"]
        self.publishable_key: str = description["publishable_key"]
        self.secret_key: str = description["secret_key"]
        self.anon_key: str = description["anon_key"]
        self.service_role_key: str = description["service_role_key"]
        self.jwt_secret: str = description["jwt_secret"]
        self.database_url: str = description["database_url"]
        self.database_url_tcp: str = description["database_url_tcp"]
        self.storage_key: str = description["storage_key"]
        self._api = api = root.below(f"/worlds/{_quote(self.id)}")
        self.clock = Clock(api)
        self.messages = Messages(api)
        self.users = Users(api)
        self.sessions = Sessions(api)
        self.passkeys = Passkeys(api)
        self.faults = Faults(api)

    def totp(self, secret: str) -> TotpCode:
        """Return `{code, valid_for}` as an authenticator application shows it."""
        return self._api.call("POST", "/authenticators/totp", {"secret": secret})

    def config(self, change: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the settings in the shape of `config.toml`, after a change (RFC 7396) if one is given."""
        return self._api.call("GET", "/config") if change is None else self._api.call("PATCH", "/config", change)

    def events(self, wait: float | None = None, **query: Any) -> list[Event]:
        """Return requests, decisions, audit entries and messages: `after`, `kind`, `user`."""
        seconds = None if wait is None else math.ceil(wait)
        return self._api.call("GET", "/events", query={"wait": seconds, **query})["events"]

    def next_sign_in(self, provider: str, **sign_in: Any) -> None:
        """Determine the next sign-in at a provider: `sub`, `email` …, `error` or `scenario`."""
        self._api.call("POST", f"/providers/{_quote(provider)}/next", sign_in)

    def report(self) -> str:
        """Return what happened: the id, the last events and the messages, for the output of a failed test."""
        events = [f"  {it['at']} {it['kind']} {json.dumps(it['data'])}" for it in self.events()]
        mails = [f"  {it['at']} {it['kind']} to {it['to']} ({it['subject']})" for it in self.messages.list()]
        lines = ["events:", *(events[-MAX_REPORTED_EVENTS:] or ["  none"]), "messages:", *(mails or ["  none"])]
        return "\n".join([f"world {self.id} ({self.url})", *lines])

    def reset(self) -> None:
        """Return to the state after the creation."""
        self._api.call("POST", "/reset")

    def fork(self, name: str | None = None) -> World:
        """Create a world with the complete state of this one."""
        return World(self._root, self._api.call("POST", "/fork", {} if name is None else {"name": name}))

    def snapshot(self, name: str) -> None:
        """Store the state under a name, for `restore` and `basalt.world(from_=name)`."""
        self._api.call("POST", f"/snapshots/{_quote(name)}")

    def restore(self, name: str) -> None:
        """Return to a stored state."""
        self._api.call("POST", f"/snapshots/{_quote(name)}/restore")

    def delete_snapshot(self, name: str) -> None:
        """Delete a stored state."""
        self._api.call("DELETE", f"/snapshots/{_quote(name)}")

    def delete(self) -> None:
        """Delete the world."""
        try:
            self._api.call("DELETE")
        except BasaltError as error:
            if error.status != 404:
                raise

    def __enter__(self) -> World:
        return self

    def __exit__(self, *_: object) -> None:
        self.delete()


def _quote(text: str) -> str:
    return urllib.parse.quote(text, safe="")


def _format_time(at: datetime | str) -> str:
    if isinstance(at, str):
        return at
    if at.tzinfo is None:
        hint = "give one with a time zone, such as datetime(2030, 1, 1, tzinfo=timezone.utc)"
        raise BasaltError("invalid_time", f"{at} has no time zone", hint)
    return at.isoformat()


def _parse_time(text: str) -> datetime:
    return datetime.fromisoformat(re.sub("Z$", "+00:00", text))
