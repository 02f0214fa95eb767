"""Hostile clients: they send a request and reset the connection at a random time during its processing."""

import asyncio
import random
import socket
import struct
import time
import uuid

from http_client import Client, NoAnswer, encode, source_address
from honest import PASSWORD
from ledger import decode_claims

LONGEST_WAIT = 0.020
RESET = struct.pack("ii", 1, 0)
OPEN_AT_ONCE = 64
ADVANCE_EVERY = 40


class Attack:
    """Sends about `rate` requests a second until the deadline."""

    def __init__(self, target, rate, until, seed):
        self.target, self.rate, self.until = target, rate, until
        self.chance = random.Random(seed)
        self.client = Client(target, seed)
        self.sent, self.unsent, self.open = 0, 0, 0
        self.session, self.is_advancing, self.sessions = None, False, set()

    async def run(self):
        """Send the requests. Refreshes a separate session now and then, so that refreshes rotate."""
        due = time.monotonic()
        tasks = set()
        for number in range(int(self.rate * 36_000)):
            if time.monotonic() >= self.until:
                break
            if self.open < OPEN_AT_ONCE:
                advances = number % ADVANCE_EVERY == 0 and not self.is_advancing
                task = asyncio.create_task(self.advance() if advances else self.one())
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            # Scheduled by time: a busy machine delays single requests, not the rate.
            due += self.chance.expovariate(self.rate)
            await asyncio.sleep(max(0.0, due - time.monotonic()))
        await asyncio.gather(*tasks, return_exceptions=True)
        self.client.close()

    async def advance(self):
        """Read a whole response: a new session first, then its next refresh token."""
        self.is_advancing = True
        body = {"refresh_token": self.session["refresh_token"]} if self.session else {}
        path = "/token?grant_type=refresh_token" if self.session else "/signup"
        try:
            answer = await self.client.ask("POST", path, body, limit=2)
            self.session = answer.json() if answer.is_ok else None
            if self.session:
                self.sessions.add(decode_claims(self.session["access_token"])["session_id"])
        except NoAnswer:
            pass
        finally:
            self.is_advancing = False

    async def one(self):
        self.open += 1
        loop = asyncio.get_running_loop()
        sock = socket.socket()
        try:
            sock.setblocking(False)
            sock.bind((source_address(self.chance), 0))
            await asyncio.wait_for(loop.sock_connect(sock, ("127.0.0.1", self.target.port)), 1)
            await asyncio.wait_for(loop.sock_sendall(sock, self.request()), 1)
            await asyncio.sleep(self.chance.uniform(0, LONGEST_WAIT))
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            self.sent += 1
        except (OSError, asyncio.TimeoutError):
            self.unsent += 1
        finally:
            sock.close()
            self.open -= 1

    def request(self):
        """Return a random request; those that hash passwords or send mail are less frequent."""
        email = f"attack-{uuid.UUID(int=self.chance.getrandbits(128))}@example.com"
        session = self.session or {"access_token": None, "refresh_token": "none"}
        choices = [
            (30, ("POST", "/signup", {})),
            (20, ("POST", "/admin/users", {"email": email, "email_confirm": True}, self.target.service_token)),
            (15, ("POST", "/token?grant_type=refresh_token", {"refresh_token": session["refresh_token"]})),
            (15, ("PUT", "/user", {"data": {"attack": self.chance.randrange(1000)}}, session["access_token"])),
            (3, ("POST", "/signup", {"email": email, "password": PASSWORD})),
            (3, ("POST", "/token?grant_type=password", {"email": email, "password": PASSWORD})),
            (3, ("POST", "/otp", {"email": email, "create_user": True})),
            (5, ("POST", "/verify", {"type": "magiclink", "email": email, "token": "123456"})),
        ]
        if self.target.mode == "serve":
            choices.append((20, ("POST", "!/functions/v1/send-submission", {"description": f"Attack {email}"[:60]})))
        weights = [weight for weight, _ in choices]
        return encode(self.target, *self.chance.choices([asked for _, asked in choices], weights)[0])
