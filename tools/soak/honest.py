"""Honest clients: they write, read every response completely, repeat unacknowledged writes, and record acknowledged ones."""

import asyncio
import random
import time
import uuid

from http_client import Client, NoAnswer, TimedOut
from ledger import Event, Metadata

RETRIES = 400
MARKS = 25
"""Metadata writes to one user before the next user's turn: metadata stays small."""
ENDED = (400, 401, 403, 404)
PASSWORD = "a-fine-pass-phrase-42"


class Honest:
    """Base of all honest clients: a client, a deadline, a ledger."""

    def __init__(self, target, ledger, until, seed):
        self.target, self.ledger, self.until = target, ledger, until
        self.chance = random.Random(seed)
        self.client = Client(target, self.chance.random())

    def has_time(self):
        return time.monotonic() < self.until

    async def rest(self, longest):
        await asyncio.sleep(self.chance.uniform(0, longest))

    async def ask(self, what, method, path, body=None, token=None, headers=(), sends_mail=False):
        """Make one attempt. Returns the response, or None if the outcome is unknown. Records every failure."""
        began = time.monotonic()
        try:
            answer = await self.client.ask(method, path, body, token, headers)
            status, text = answer.status, str(answer)
        except TimedOut as error:
            answer, status, text = None, -1, str(error)
        except NoAnswer as error:
            answer, status, text = None, 0, str(error)
        ended = time.monotonic()
        self.ledger.answered(what, status, ended - began)
        if answer is None or not answer.is_ok:
            self.ledger.events.append(Event(what, began, ended, status, text, sends_mail))
        return answer

    async def insist(self, what, method, path, body=None, token=None, headers=(), sends_mail=False):
        """Repeat a request until it succeeds or is refused permanently; None at the deadline."""
        for _ in range(RETRIES):
            answer = await self.ask(what, method, path, body, token, headers, sends_mail)
            if answer is not None and (answer.is_ok or answer.status in ENDED):
                return answer
            if not self.has_time():
                return None
            await self.rest(0.5)
        return None

    async def run(self, pause):
        """Works until the deadline. At most 20 steps a second."""
        await self.rest(4.0)
        for _ in range(10_000_000):
            if not self.has_time():
                break
            await self.step()
            await self.rest(max(2 * pause, 0.05))
        self.client.close()

    async def open_anonymous(self):
        """A new anonymous user with a session; None where that failed."""
        answer = await self.insist("anonymous sign-up", "POST", "/signup", {})
        if answer is None or not answer.is_ok:
            return None
        chain = self.ledger.opened(answer.json())
        self.ledger.user(chain.user, "anonymous sign-up")
        return chain


class SignUps(Honest):
    """Anonymous users."""

    async def step(self):
        await self.open_anonymous()


class AdminCreates(Honest):
    """Users of the operator's server. Some have a password; these sign in."""

    async def step(self):
        email = f"admin-{uuid.UUID(int=self.chance.getrandbits(128))}@example.com"
        has_password = self.chance.random() < 0.15
        body = {"email": email, "email_confirm": True} | ({"password": PASSWORD} if has_password else {})
        answer = await self.ask("admin create", "POST", "/admin/users", body, self.target.service_token)
        if answer is None or not answer.is_ok:
            return
        self.ledger.user(answer.json()["id"], "admin create")
        if has_password:
            answer = await self.insist("password", "POST", "/token?grant_type=password", {"email": email, "password": PASSWORD})
            if answer is not None and answer.is_ok:
                self.ledger.chains.append(self.ledger.opened(answer.json()))


class Refreshes(Honest):
    """One chain of refresh tokens. An unacknowledged refresh is repeated with the same token."""

    chain = None

    async def step(self):
        if self.chain is None or self.chain.ended:
            self.chain = await self.open_anonymous()
            if self.chain is None:
                return
            self.ledger.chains.append(self.chain)
        if self.chance.random() < 0.2:
            await self.look()
        answer = await self.insist("refresh", "POST", "/token?grant_type=refresh_token", {"refresh_token": self.chain.token})
        if answer is None:
            return
        if not answer.is_ok:
            self.chain.ended = str(answer)
            return
        body = answer.json()
        self.chain.token, self.chain.access_token = body["refresh_token"], body["access_token"]
        self.chain.refreshes += 1

    async def look(self):
        answer = await self.ask("user", "GET", "/user", token=self.chain.access_token)
        if answer is not None and answer.status in ENDED:
            self.chain.ended = str(answer)


class MetadataWrites(Honest):
    """Increments a counter in one user's metadata."""

    entry = None

    async def step(self):
        if self.entry is None or len(self.entry.marks) >= MARKS or self.entry.chain.ended:
            chain = await self.open_anonymous()
            if chain is None:
                return
            self.entry = Metadata(chain)
            self.ledger.chains.append(chain)
            self.ledger.metadata.append(self.entry)
        entry = self.entry
        entry.attempts += 1
        n = entry.attempts
        answer = await self.ask("metadata", "PUT", "/user", {"data": {"n": n, f"k{n}": n}}, entry.chain.access_token)
        if answer is not None and answer.is_ok:
            entry.acknowledged = n
            entry.marks.append(n)
        elif answer is not None and answer.status in ENDED:
            entry.chain.ended = str(answer)


class Mails(Honest):
    """Sign-ups whose response announces a mail."""

    async def step(self):
        email = f"mail-{uuid.UUID(int=self.chance.getrandbits(128))}@example.com"
        if self.chance.random() < 0.5:
            answer = await self.ask("e-mail sign-up", "POST", "/signup", {"email": email, "password": PASSWORD}, sends_mail=True)
            if answer is not None and answer.is_ok and answer.json().get("id"):
                self.ledger.user(answer.json()["id"], "e-mail sign-up")
        else:
            answer = await self.ask("otp", "POST", "/otp", {"email": email, "create_user": True}, sends_mail=True)
        if answer is not None and answer.is_ok:
            self.ledger.mails[email] = time.monotonic()


class Submissions(Honest):
    """Submissions of the shop with an idempotency key."""

    async def step(self):
        # Each from another address, because an address may send twenty an hour.
        self.client.close()
        key = str(uuid.UUID(int=self.chance.getrandbits(128)))
        answer = await self.insist("submission", "POST", "!/functions/v1/send-submission",
                                   {"description": f"A design please, {key}"}, headers=(f"Idempotency-Key: {key}",))
        if answer is not None and answer.is_ok:
            body = answer.json()
            self.ledger.submissions[body.get("data", body)["id"]] = (time.monotonic(), key)


# How many of each, and the mean pause between two steps in seconds.
CREW = {SignUps: (4, 0.5), AdminCreates: (4, 0.5), Refreshes: (24, 1.0), MetadataWrites: (12, 0.8), Mails: (3, 0.8)}
SUBMITTERS = (4, 0.5)


def crew(target, ledger, until, seed):
    """The tasks of all honest clients."""
    kinds = dict(CREW) | ({Submissions: SUBMITTERS} if target.mode == "serve" else {})
    clients = [(kind(target, ledger, until, f"{seed} {kind.__name__} {number}"), pause)
               for kind, (count, pause) in kinds.items() for number in range(count)]
    return [asyncio.create_task(client.run(pause)) for client, pause in clients]
