"""The load: clients that create users, sign in, refresh sessions and read their own user, and what they saw."""

import asyncio
import collections
import time

from http_client import Client, NoAnswer, TimedOut

LIMIT = 8.0
"""Longest wait of a client for a response, in seconds."""
PASSWORD = "correct horse battery staple"


class Target:
    """Where the requests go."""

    def __init__(self, port):
        self.port, self.prefix, self.api_key = port, "", None


class Record:
    """What the clients saw."""

    def __init__(self):
        self.created, self.acknowledged = [], []
        self.requests = self.refused = 0
        self.errors, self.signed_out, self.wrong = collections.Counter(), [], []

    def count(self, what, answer):
        """Counts a response; returns whether it is a success."""
        self.requests += 1
        if isinstance(answer, str):
            self.errors[answer] += 1
            return False
        if answer.status == 503 and "retry-after" in answer.headers:
            self.refused += 1
            return False
        if answer.status >= 500:
            self.errors[str(answer.status)] += 1
            return False
        if not answer.is_ok:
            self.wrong.append(f"{what}: {answer}")
        return answer.is_ok

    def acknowledge(self, answer):
        """Records an acknowledged write and the replica that acknowledged it."""
        self.acknowledged.append((time.monotonic(), answer.headers.get("x-replica")))

    def totals(self):
        return [self.requests, self.refused, self.errors.total(), len(self.wrong), len(self.signed_out)]


class Load:
    """Clients that run until `stop` is set."""

    def __init__(self, port, token, clients, rate):
        self.target, self.token, self.clients = Target(port), token, clients
        self.pause = 2 * clients / rate
        self.record, self.stop, self.tasks = Record(), asyncio.Event(), []

    async def start(self):
        for number in range(self.clients):
            self.tasks.append(asyncio.create_task(self.create_users(number)))
            self.tasks.append(asyncio.create_task(self.use_session(number)))

    async def finish(self):
        self.stop.set()
        await asyncio.gather(*self.tasks)

    async def ask(self, client, method, path, body=None, token=None):
        """Sends a request after a pause; returns the response, or the name of the failure."""
        await asyncio.sleep(self.pause)
        header = f"x-client: 10.0.{client.number // 250}.{client.number % 250}"
        try:
            return await client.ask(method, path, body, token, (header,), LIMIT)
        except TimedOut:
            return "time-out"
        except NoAnswer:
            return "connection lost"

    def client(self, number):
        client = Client(self.target, number)
        client.number = number
        return client

    async def create_users(self, number):
        client, serial = self.client(number), 0
        while not self.stop.is_set():
            serial += 1
            account = {"email": f"user-{number}-{serial}@example.com", "password": PASSWORD}
            answer = await self.ask(client, "POST", "/admin/users", account | {"email_confirm": True}, self.token)
            if not self.record.count("create", answer):
                continue
            self.record.created.append(account["email"])
            self.record.acknowledge(answer)
            answer = await self.ask(client, "POST", "/token?grant_type=password", account)
            if self.record.count("sign in", answer):
                self.record.acknowledge(answer)

    async def sign_up(self, client):
        while not self.stop.is_set():
            answer = await self.ask(client, "POST", "/signup", {"data": {}})
            if self.record.count("sign up", answer):
                return answer.json()
        return None

    async def use_session(self, number):
        client = self.client(1000 + number)
        session = await self.sign_up(client)
        while session and not self.stop.is_set():
            token = {"refresh_token": session["refresh_token"]}
            answer = await self.ask(client, "POST", "/token?grant_type=refresh_token", token)
            if self.record.count("refresh", answer):
                session |= {name: answer.json()[name] for name in ("access_token", "refresh_token")}
                self.record.acknowledge(answer)
            elif self.is_refusal(answer):
                self.record.signed_out.append(self.record.wrong.pop())
                session = await self.sign_up(client)
                continue
            answer = await self.ask(client, "GET", "/user", None, session["access_token"])
            if self.record.count("user", answer):
                if answer.json().get("id") != session["user"]["id"]:
                    self.record.wrong.append(f"user: {answer}")
            elif self.is_refusal(answer):
                self.record.signed_out.append(self.record.wrong.pop())

    @staticmethod
    def is_refusal(answer):
        return not isinstance(answer, str) and 400 <= answer.status < 500 and answer.status != 429
