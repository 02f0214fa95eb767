"""The load: clients that create users, refresh sessions and read their own user, and a record of what was acknowledged."""

import asyncio
import time

from http_client import Client, NoAnswer


class Target:
    """Where the requests go."""

    def __init__(self, port):
        self.port, self.prefix, self.api_key = port, "", None


class Record:
    """What the clients saw."""

    def __init__(self):
        self.created, self.acknowledged_at = [], []
        self.requests = self.failed = 0
        self.signed_out, self.wrong = [], []

    def count(self, answer):
        """Counts a response; returns whether it is a success."""
        self.requests += 1
        if answer is None or answer.status >= 500 or answer.status == 429:
            self.failed += 1
            return False
        return answer.is_ok

    def acknowledge(self):
        self.acknowledged_at.append(time.monotonic())


class Load:
    """Clients that run until `stop` is set."""

    def __init__(self, port, token, clients):
        self.target, self.token, self.clients = Target(port), token, clients
        self.record, self.stop, self.tasks = Record(), asyncio.Event(), []

    async def start(self):
        for number in range(self.clients):
            self.tasks.append(asyncio.create_task(self.create_users(number)))
            self.tasks.append(asyncio.create_task(self.use_session(number)))

    async def finish(self):
        self.stop.set()
        await asyncio.gather(*self.tasks)

    async def ask(self, client, *arguments):
        try:
            return await client.ask(*arguments, limit=8.0)
        except NoAnswer:
            return None

    async def create_users(self, number):
        client, serial = Client(self.target, number), 0
        while not self.stop.is_set():
            serial += 1
            email = f"user-{number}-{serial}@example.com"
            answer = await self.ask(client, "POST", "/admin/users", {"email": email, "email_confirm": True}, self.token)
            if self.record.count(answer):
                self.record.created.append(email)
                self.record.acknowledge()
            elif answer is not None and answer.status < 500 and answer.status != 429:
                self.record.wrong.append(f"create: {answer}")
            await asyncio.sleep(0.02)

    async def sign_up(self, client):
        while not self.stop.is_set():
            answer = await self.ask(client, "POST", "/signup", {"data": {}})
            if self.record.count(answer):
                return answer.json()
            await asyncio.sleep(0.2)
        return None

    async def use_session(self, number):
        client = Client(self.target, 1000 + number)
        session = await self.sign_up(client)
        while session and not self.stop.is_set():
            answer = await self.ask(client, "POST", "/token?grant_type=refresh_token", {"refresh_token": session["refresh_token"]})
            if self.record.count(answer):
                session["access_token"], session["refresh_token"] = (answer.json()[name] for name in ("access_token", "refresh_token"))
                self.record.acknowledge()
            elif answer is not None and answer.status < 500 and answer.status != 429:
                self.record.signed_out.append(f"refresh: {answer}")
                session = await self.sign_up(client)
                continue
            answer = await self.ask(client, "GET", "/user", None, session["access_token"])
            if self.record.count(answer):
                if answer.json().get("id") != session["user"]["id"]:
                    self.record.wrong.append(f"user: {answer}")
            elif answer is not None and answer.status < 500 and answer.status != 429:
                self.record.signed_out.append(f"user: {answer}")
            await asyncio.sleep(0.05)


def longest_gap(times, begin, end):
    """The longest time without an acknowledged write between two times."""
    inside = [begin, *sorted(at for at in times if begin <= at <= end), end]
    return max(later - earlier for earlier, later in zip(inside, inside[1:]))
