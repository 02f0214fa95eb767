"""A TCP relay in front of PostgreSQL that can delay, reset and freeze connections.

A frozen connection stays open without responses: data of the client is read and dropped. The side of PostgreSQL is reset
after a while, so that locks of an interrupted transaction end, as with a pooler. New connections work unless they are
frozen too.
"""

import asyncio
import random
import socket
import struct

CHUNK = 65536
JITTER = 0.002
"""Longest usual delay of an answer, in seconds: commits and BEGIN take some time, as over a network."""
UPSTREAM_KEPT = 4.0
"""How long PostgreSQL's side of a frozen connection stays open, in seconds."""


class Link:
    """One connection of the server and its counterpart at PostgreSQL."""

    def __init__(self, down, up):
        self.down, self.up = down, up
        self.frozen = False
        self.port = up[1].get_extra_info("sockname")[1] if up else None

    def reset(self):
        for side in (self.down, self.up):
            if side:
                reset(side[1])

    def drop_upstream(self):
        if self.up:
            reset(self.up[1])


def reset(writer):
    """Closes with RST instead of FIN."""
    raw = writer.get_extra_info("socket")
    if raw is not None and raw.fileno() >= 0:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


class Relay:
    """Listens on a loopback port and forwards to PostgreSQL."""

    def __init__(self, target_port, seed):
        self.target_port, self.chance = target_port, random.Random(seed)
        self.links, self.delay, self.freezes_new, self.server = set(), 0.0, False, None
        self.frozen_ports, self.accepted, self.tasks = set(), 0, set()

    async def start(self):
        self.server = await asyncio.start_server(self.accept, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]

    async def stop(self):
        self.server.close()
        for link in list(self.links):
            link.reset()
        for task in list(self.tasks):
            task.cancel()

    async def accept(self, reader, writer):
        self.accepted += 1
        self.tasks.add(asyncio.current_task())
        link = None
        try:
            up = None if self.freezes_new else await asyncio.open_connection("127.0.0.1", self.target_port)
            link = Link((reader, writer), up)
            link.frozen = up is None
            self.links.add(link)
            await self.forward_both(link)
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self.tasks.discard(asyncio.current_task())
            if link:
                self.links.discard(link)
                link.drop_upstream()
            writer.transport.abort()

    async def forward_both(self, link):
        """Forwards until one side ends. A frozen link ends when the server closes it."""
        downward = None
        if link.up:
            downward = asyncio.ensure_future(self.pump(link, link.up[0], link.down[1], is_answer=True))
        try:
            await self.pump(link, link.down[0], link.up[1] if link.up else None, is_answer=False)
        finally:
            if downward:
                downward.cancel()

    async def pump(self, link, reader, writer, is_answer):
        try:
            while data := await reader.read(CHUNK):
                pause = self.delay * self.chance.uniform(0.5, 1.0) if self.delay else 0.0
                if is_answer:
                    pause += self.chance.uniform(0, JITTER)
                if pause > 0.0005:
                    await asyncio.sleep(pause)
                if not link.frozen:
                    writer.write(data)
                    await writer.drain()
        except OSError:
            pass
        # PostgreSQL closed: forward that to the server, unless the link is frozen.
        if is_answer and not link.frozen:
            link.down[1].close()

    def reset_all(self):
        """Resets every connection on both sides. Returns how many there were."""
        links = list(self.links)
        for link in links:
            link.reset()
        return len(links)

    def freeze(self):
        """Freezes every connection that exists now. Returns how many."""
        links = [link for link in self.links if not link.frozen]
        for link in links:
            link.frozen = True
            self.frozen_ports.add(link.port)
        self.tasks.add(asyncio.ensure_future(self.drop_later(links)))
        return len(links)

    async def drop_later(self, links):
        await asyncio.sleep(UPSTREAM_KEPT)
        for link in links:
            link.drop_upstream()
        await asyncio.sleep(3)  # until PostgreSQL has seen it
        self.frozen_ports.difference_update(link.port for link in links)
