"""Test doubles for external services: an SMTP mailbox, an HTTP hook receiver, an OAuth/OIDC provider."""

import email
import email.policy
import html
import json
import re
import socket
import socketserver
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from . import internet


class Mail:
    """A received message: `.to`, `.sender`, `.subject`, `.headers`, `.links`, `.code` (a lone run of 6 to 10 digits)."""

    def __init__(self, to, raw):
        message = email.message_from_bytes(raw, policy=email.policy.default)
        self.to, self.sender, self.subject = to, message["From"], message["Subject"]
        self.headers = [(k.lower(), str(v)) for k, v in message.items()]
        parts = [p for p in message.walk() if p.get_content_maintype() == "text"]
        self.kinds = [p.get_content_type() for p in parts]
        self.body = "\n".join(p.get_content() for p in parts)
        self.links = [html.unescape(u) for u in re.findall(r"https?://[^\s\"'<>)]+", self.body)]
        plain = re.sub(r"<[^>]+>", " ", re.sub(r"https?://\S+", " ", self.body))
        found = re.search(r"(?<!\d)(\d{6,10})(?!\d)", plain)
        self.code = found.group(1) if found else None

    @property
    def token_hash(self):
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.links[0]).query)
        return (query.get("token") or query.get("token_hash"))[0]


class MailSink:
    """An SMTP server on loopback that stores messages."""

    def __init__(self):
        self.messages, self.lock = [], threading.Condition()
        sink = self

        class Handler(socketserver.StreamRequestHandler):
            def say(self, line):
                self.wfile.write(line.encode() + b"\r\n")

            def handle(self):
                self.say("220 replay ESMTP")
                to = []
                for raw in self.rfile:
                    line = raw.decode("utf-8", "replace").strip()
                    verb = line.upper()
                    if verb.startswith("EHLO"):
                        self.wfile.write(b"250-replay\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250 AUTH PLAIN LOGIN\r\n")
                    elif verb.startswith("AUTH PLAIN"):
                        if len(line.split()) < 3:
                            self.say("334 ")
                            self.rfile.readline()
                        self.say("235 ok")
                    elif verb.startswith("AUTH LOGIN"):
                        self.say("334 VXNlcm5hbWU6")
                        self.rfile.readline()
                        self.say("334 UGFzc3dvcmQ6")
                        self.rfile.readline()
                        self.say("235 ok")
                    elif verb.startswith("RCPT TO"):
                        to.append(re.sub(r".*<(.*)>.*", r"\1", line))
                        self.say("250 ok")
                    elif verb == "DATA":
                        self.say("354 go on")
                        lines = []
                        for data in self.rfile:
                            if data.rstrip(b"\r\n") == b".":
                                break
                            lines.append(data[1:] if data.startswith(b"..") else data)
                        with sink.lock:
                            sink.messages.extend(Mail(address, b"".join(lines)) for address in to)
                            sink.lock.notify_all()
                        to = []
                        self.say("250 kept")
                    elif verb == "QUIT":
                        self.say("221 bye")
                        return
                    else:
                        self.say("250 ok")

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = daemon_threads = True

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def wait(self, to, seconds=10):
        """Wait for and remove the oldest message to this address."""
        end = time.time() + seconds
        with self.lock:
            while True:
                for i, message in enumerate(self.messages):
                    if message.to == to:
                        return self.messages.pop(i)
                if not self.lock.wait(max(0, end - time.time())) and time.time() >= end:
                    raise AssertionError(f"no mail to {to} in {seconds} s")

    def count(self, to=None, settle=0.5):
        time.sleep(settle)
        with self.lock:
            return sum(1 for m in self.messages if to in (None, m.to))

    def clear(self):
        with self.lock:
            self.messages.clear()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class HttpSink:
    """An HTTP server on loopback that records requests and sends configured responses."""

    def __init__(self):
        self.calls, self.lock = [], threading.Condition()
        sink = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            origin = ""  # scheme and host of requests inside a CONNECT tunnel

            def log_message(self, *_):
                pass

            def any(self):
                size = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(size)
                call = {"method": self.command, "path": self.origin + self.path, "headers": {k.lower(): v for k, v in self.headers.items()}, "body": body}
                with sink.lock:
                    sink.calls.append(call)
                    sink.lock.notify_all()
                status, headers, data = sink.answer(call)
                if not isinstance(data, bytes):
                    data = json.dumps(data).encode()
                    headers = {"Content-Type": "application/json", **headers}
                self.send_response(status)
                for k, v in headers.items():
                    self.send_header(k, v)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(data)

            do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = any

            def do_CONNECT(self):
                internet.enter(self)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # ignore clients that disconnect
        self.base = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, call):
        return 404, {}, {"error": "nothing here"}

    def clear(self):
        with self.lock:
            self.calls.clear()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class HookSink(HttpSink):
    """Receives HTTP hooks. `reply(path, status, json)` sets what a hook path answers; the default is 200 {}."""

    def __init__(self):
        self.replies = {}
        super().__init__()

    def reply(self, path, status, body, headers=None):
        """`body`: JSON, or a function from the call's parsed payload to JSON."""
        self.replies[path] = (status, headers or {}, body)

    def answer(self, call):
        status, headers, body = self.replies.get(urllib.parse.urlsplit(call["path"]).path, (200, {}, {}))
        if callable(body):
            body = body(json.loads(call["body"] or b"{}"))
        return status, headers, body

    def wait(self, path, seconds=10):
        """Wait for and remove the oldest call to this path."""
        end = time.time() + seconds
        with self.lock:
            while True:
                for i, call in enumerate(self.calls):
                    if urllib.parse.urlsplit(call["path"]).path == path:
                        return self.calls.pop(i)
                if not self.lock.wait(max(0, end - time.time())) and time.time() >= end:
                    raise AssertionError(f"no hook call to {path} in {seconds} s")

    def clear(self):
        super().clear()
        self.replies.clear()


class ProviderSink(HttpSink):
    """An identity provider: `on(path, f)` sets what a path answers, `f(call) -> (status, headers, json or bytes)`.
    `static` holds the pages that the profile defines."""

    def __init__(self):
        self.routes, self.static = {}, {}
        super().__init__()

    def on(self, path, answer):
        self.routes[path] = answer

    def answer(self, call):
        path = call["path"].partition("?")[0]
        if path in self.routes:
            return self.routes[path](call)
        if path in self.static:
            return 200, {"Content-Type": "text/html"}, self.static[path].encode()
        return 404, {}, {"error": "not found"}

    def clear(self):
        super().clear()
        self.routes.clear()
