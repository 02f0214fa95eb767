"""Verifies every acknowledged write in the database and by the API."""

import asyncio
import json
import random
import time

from http_client import Client, NoAnswer

BY_API = 400
"""Number of users read by the API; all are read from the database."""
ATTEMPTS = 20
MAIL_LIMIT = 90
SIGNED_OUT, TWO_TOKENS = "sessions without a usable refresh token", "sessions with two usable refresh tokens"
OF_TOKENS = (SIGNED_OUT, TWO_TOKENS)
# Partial writes, of any client.
PARTIAL = {
    "users with an address and without an identity":
        "SELECT id FROM auth.users u WHERE email <> '' AND NOT EXISTS (SELECT FROM auth.identities WHERE user_id = u.id)",
    "anonymous users without a session":
        "SELECT id FROM auth.users u WHERE is_anonymous AND NOT EXISTS (SELECT FROM auth.sessions WHERE user_id = u.id)",
    SIGNED_OUT:
        "SELECT id FROM auth.sessions s WHERE NOT EXISTS (SELECT FROM auth.refresh_tokens WHERE session_id = s.id AND NOT revoked)",
    TWO_TOKENS:
        "SELECT session_id FROM auth.refresh_tokens WHERE NOT revoked GROUP BY session_id HAVING count(*) > 1",
}


class Verifier:
    """Compares the ledger with the stored data."""

    def __init__(self, cluster, server, ledger, sink, attack, seed):
        self.cluster, self.server, self.ledger, self.sink, self.attack = cluster, server, ledger, sink, attack
        self.client, self.chance = Client(server, f"{seed} verify"), random.Random(f"{seed} sample")
        self.lost, self.seen_lost = {}, set()

    async def ids(self, table):
        rows = await self.cluster.rows(f"SELECT id FROM {table}", self.server.database)
        return None if rows is None else {row[0] for row in rows}

    async def interim(self):
        """Return the number of acknowledged users and submissions that are missing now, or None if unknown."""
        known = set(self.ledger.users)
        taken = set(self.ledger.submissions)
        users = await self.ids("auth.users")
        if users is None:
            return None
        missing = known - users
        if taken:
            submissions = await self.ids("basalt.submissions")
            if submissions is None:
                return None
            missing |= taken - submissions
        self.seen_lost |= missing
        return len(missing)

    async def final(self):
        """Run all checks after all requests have ended. Returns samples of lost writes by kind."""
        await self.existence()
        await self.metadata()
        await self.partial_writes()
        await self.mails()
        await self.refreshes()
        await self.users_by_api()
        return self.lost

    def note(self, kind, count, samples):
        if count:
            self.lost[kind] = (count, list(samples)[:3])

    async def all_rows(self, sql):
        """Return the rows; PostgreSQL must be available."""
        rows = await self.cluster.rows(sql, self.server.database)
        if rows is None:
            raise RuntimeError("PostgreSQL does not answer at the end")
        return rows

    async def existence(self):
        there = {row[0] for row in await self.all_rows("SELECT id FROM auth.users")}
        missing = {key: how for key, (_, how) in self.ledger.users.items() if key not in there}
        for how in sorted(set(missing.values())):
            lost = [key for key, of in missing.items() if of == how]
            self.note(f"users of {how}", len(lost), lost)
        there = {row[0] for row in await self.all_rows("SELECT id FROM auth.sessions")}
        lost = [key for key in self.ledger.sessions if key not in there]
        self.note("sessions", len(lost), lost)
        if self.ledger.submissions:
            there = {row[0] for row in await self.all_rows("SELECT id FROM basalt.submissions")}
            lost = [key for key in self.ledger.submissions if key not in there]
            self.note("submissions", len(lost), lost)

    async def metadata(self):
        rows = await self.all_rows("SELECT id, raw_user_meta_data FROM auth.users WHERE raw_user_meta_data ? 'n'")
        stored = {row[0]: json.loads(row[1]) for row in rows}
        marks, older = [], []
        for entry in self.ledger.metadata:
            there = stored.get(entry.chain.user, {})
            marks += [f"{entry.chain.user} k{n}" for n in entry.marks if there.get(f"k{n}") != n]
            if there.get("n", 0) < entry.acknowledged:
                older.append(f"{entry.chain.user}: {there.get('n')} is stored, {entry.acknowledged} was acknowledged")
        self.note("metadata writes", len(marks), marks)
        self.note("metadata values that an older one replaced", len(older), older)

    async def partial_writes(self):
        for what, sql in PARTIAL.items():
            found = [row[0] for row in await self.all_rows(sql)]
            # Hostile clients send old tokens too: inside the reuse interval each has a successor, later it ends the session.
            if what in OF_TOKENS:
                found = [session for session in found if session not in self.attack.sessions]
            self.note(f"partial writes: {what}", len(found), found)

    async def mails(self):
        """Check that every announced mail was accepted by the mail server or is in the outbox for its next attempt."""
        missing, end = set(self.ledger.mails), time.monotonic() + MAIL_LIMIT
        for _ in range(MAIL_LIMIT * 2):
            missing = {address for address in missing if not self.sink.accepted[address]}
            waiting = await self.waiting_mails() if missing and self.server.mode == "serve" else set()
            if not missing & waiting or time.monotonic() > end:
                break
            await asyncio.sleep(1)
        missing -= waiting
        self.note("mails", len(missing), sorted(missing))

    async def waiting_mails(self):
        """Recipients of the mails that the outbox still has to deliver."""
        rows = await self.all_rows("SELECT recipient FROM basalt.outbox WHERE sent_at IS NULL AND failed_at IS NULL")
        return {row[0].lower() for row in rows}

    async def ask(self, *asked):
        """Return a response of the API, which is available again; failures are retried a few times."""
        for _ in range(ATTEMPTS):
            try:
                answer = await self.client.ask(*asked)
                if answer.status not in (429, 503):
                    return answer
            except NoAnswer:
                pass
            await asyncio.sleep(0.25)
        raise RuntimeError(f"{asked[0]} {asked[1]} is not answered at the end")

    async def refreshes(self):
        """The last acknowledged refresh token of every chain still refreshes."""
        ended = [f"{chain.session} after {chain.refreshes} refreshes: {chain.ended}" for chain in self.ledger.chains if chain.ended]
        for chain in self.ledger.chains:
            if chain.ended:
                continue
            answer = await self.ask("POST", "/token?grant_type=refresh_token", {"refresh_token": chain.token})
            if not answer.is_ok:
                ended.append(f"{chain.session} after {chain.refreshes} refreshes: {answer}")
        self.note("sessions that ended", len(ended), ended)

    async def users_by_api(self):
        users = list(self.ledger.users)
        if len(users) > BY_API:
            users = self.chance.sample(users, BY_API)
        lost = []
        for user in users:
            answer = await self.ask("GET", f"/admin/users/{user}", None, self.server.service_token)
            if not answer.is_ok:
                lost.append(f"{user}: {answer}")
        self.note("users by the API", len(lost), lost)
