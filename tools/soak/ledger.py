"""The record of the honest clients: every acknowledged write, and every answer that was not a success."""

import base64
import collections
import dataclasses
import json
import time


@dataclasses.dataclass
class Chain:
    """A session whose refresh token is rotated. `token` is the last acknowledged one."""

    session: str
    user: str
    token: str
    access_token: str
    refreshes: int = 0
    ended: str | None = None


@dataclasses.dataclass
class Metadata:
    """The writes to one user's metadata: `n` counts the attempts, member `k<n>` is set by each."""

    chain: Chain
    attempts: int = 0
    acknowledged: int = 0
    marks: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Event:
    """One answer to an honest client that was not 2xx. Status 0: no whole answer, -1: none within the limit."""

    what: str
    began: float
    ended: float
    status: int
    text: str
    sends_mail: bool


class Ledger:
    """Filled by the honest clients, read by the checks."""

    def __init__(self):
        self.users, self.sessions, self.submissions = {}, {}, {}
        self.mails, self.chains, self.metadata = {}, [], []
        self.events, self.counts, self.slowest = [], collections.Counter(), collections.defaultdict(float)

    def user(self, identifier, how):
        self.users.setdefault(identifier, (time.monotonic(), how))

    def session(self, access_token):
        """Records a session by its access token. Returns its id."""
        claims = decode_claims(access_token)
        self.sessions.setdefault(claims["session_id"], (time.monotonic(), claims["sub"]))
        return claims["session_id"]

    def opened(self, body):
        """Records the user and the session of a token response and begins a chain."""
        access_token = body["access_token"]
        claims = decode_claims(access_token)
        return Chain(self.session(access_token), claims["sub"], body["refresh_token"], access_token)

    def answered(self, what, status, seconds):
        self.counts[(what, status)] += 1
        self.slowest[what] = max(self.slowest[what], seconds)

    def acknowledged(self):
        """How many writes were acknowledged, by kind."""
        return {
            "users": len(self.users), "sessions": len(self.sessions),
            "refreshes": sum(chain.refreshes for chain in self.chains),
            "metadata": sum(len(entry.marks) for entry in self.metadata),
            "submissions": len(self.submissions), "mails": len(self.mails),
        }


def decode_claims(token):
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
