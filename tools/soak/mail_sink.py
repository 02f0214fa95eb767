"""An SMTP server that stores no mail and counts recipients. It can be slow or stop responding."""

import asyncio
import collections
import random
import re

FAST, SLOW, SILENT = "fast", "slow", "silent"
SLOWEST = 3.0


class MailSink:
    """Counts accepted mails by recipient."""

    def __init__(self, seed):
        self.mode, self.chance = FAST, random.Random(seed)
        self.accepted, self.connections, self.tasks = collections.Counter(), 0, set()

    async def start(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]

    async def stop(self):
        self.server.close()
        for task in list(self.tasks):
            task.cancel()

    async def serve(self, reader, writer):
        self.connections += 1
        self.tasks.add(asyncio.current_task())
        try:
            await asyncio.wait_for(self.converse(reader, writer), 300)
        except (OSError, asyncio.TimeoutError, asyncio.CancelledError, asyncio.IncompleteReadError, ValueError):
            pass
        finally:
            self.tasks.discard(asyncio.current_task())
            writer.transport.abort()

    async def converse(self, reader, writer):
        recipients = []
        await self.answer(writer, "220 sink")
        while line := await reader.readline():
            word = line[:4].upper()
            if word == b"EHLO":
                await self.answer(writer, "250-sink\r\n250-8BITMIME\r\n250 SMTPUTF8")
            elif word == b"RCPT":
                recipients += re.findall(r"<([^>]*)>", line.decode(errors="replace"))
                await self.answer(writer, "250 ok")
            elif word == b"DATA":
                await self.answer(writer, "354 go on")
                await reader.readuntil(b"\r\n.\r\n")
                if self.mode == SLOW:
                    await asyncio.sleep(self.chance.uniform(0, SLOWEST))
                await self.answer(writer, "250 taken", recipients)
                recipients = []
            elif word == b"QUIT":
                await self.answer(writer, "221 bye")
                return
            else:
                await self.answer(writer, "250 ok")

    async def answer(self, writer, text, taken=()):
        """Respond, and count the accepted mails. In mode SILENT never respond."""
        for _ in range(3000):
            if self.mode != SILENT:
                break
            await asyncio.sleep(0.1)
        writer.write(text.encode() + b"\r\n")
        await writer.drain()
        self.accepted.update(address.lower() for address in taken)
