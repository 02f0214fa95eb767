"""The HTTP client of a scenario: records each exchange and gives access to the test doubles."""

import base64
import hashlib
import hmac
import http.client
import json
import secrets
import struct
import time
import urllib.parse

from .normalise import Normaliser

RECORDED_HEADERS = ("content-type", "location", "x-total-count", "link", "x-supabase-api-version", "x-sb-error-code",
                    "retry-after", "access-control-allow-origin", "access-control-allow-methods",
                    "access-control-allow-headers", "access-control-expose-headers", "access-control-allow-credentials",
                    "www-authenticate")


class Answer:
    """A response: `.status`, `.headers` (lower case), `.json` (None where the body is not JSON), `.text`."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body
        self.text = body.decode("utf-8", "replace")
        try:
            self.json = json.loads(self.text)
        except ValueError:
            self.json = None

    def __getitem__(self, key):
        return self.json[key]

    @property
    def location(self):
        """The Location header as (base, query dict, fragment dict)."""
        parts = urllib.parse.urlsplit(self.headers.get("location", ""))
        query = dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))
        fragment = dict(urllib.parse.parse_qsl(parts.fragment, keep_blank_values=True))
        return urllib.parse.urlunsplit((parts.scheme, parts.netloc, parts.path, "", "")), query, fragment


class Flow:
    """One run of a scenario. Every HTTP exchange becomes a step of the transcript."""

    def __init__(self, name, base, env, mail, hooks, provider, database):
        self.name, self.base, self.env = name, base, env
        self.mail, self.hooks, self.provider, self.database = mail, hooks, provider, database
        self.names = Normaliser({base: "<base>", hooks.base: "<hooks>", provider.base: "<provider>"})
        self.steps = []
        mail.clear()
        hooks.clear()
        provider.clear()

    def transcript(self):
        return {"steps": self.steps}

    # -- requests ------------------------------------------------------------------------------

    def request(self, method, path, body=None, token=None, headers=None, form=None, raw=None, label=None, record=True):
        """Send one request without following redirects. `body` is sent as JSON, `form` URL-encoded, `raw` unchanged."""
        head = {"Accept": "application/json", **(headers or {})}
        data = None
        if raw is not None:
            data = raw if isinstance(raw, bytes) else raw.encode()
        elif form is not None:
            data = urllib.parse.urlencode(form).encode()
            head.setdefault("Content-Type", "application/x-www-form-urlencoded")
        elif body is not None:
            data = json.dumps(body).encode()
            head.setdefault("Content-Type", "application/json;charset=UTF-8")
        if token:
            head["Authorization"] = f"Bearer {token}"
        target = urllib.parse.urlsplit(path if path.startswith("http") else self.base + path)
        link = http.client.HTTPConnection(target.hostname, target.port, timeout=30)
        started = time.time()
        try:
            link.request(method, target.path + (f"?{target.query}" if target.query else ""), data, head)
            answer = link.getresponse()
            got = Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            link.close()
        if record:
            self.steps.append({
                "label": label or f"{method} {self.names.text(path.split('?')[0])}",
                "request": self._shown_request(method, path, body, form, raw, headers, token, started),
                "observed": self._observed(got, started),
            })
        return got

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post(self, path, body=None, **more):
        return self.request("POST", path, body, **more)

    def put(self, path, body=None, **more):
        return self.request("PUT", path, body, **more)

    def patch(self, path, body=None, **more):
        return self.request("PATCH", path, body, **more)

    def delete(self, path, body=None, **more):
        return self.request("DELETE", path, body, **more)

    def note(self, label, value):
        """Record a fact that is not an HTTP response (links of a mail, payload of a hook, a row) as a step."""
        self.steps.append({"label": label, "observed": self.names.value(value, "", time.time())})

    def _shown_request(self, method, path, body, form, raw, headers, token, now):
        shown = {"method": method, "path": self.names.url(path, now)}
        if body is not None:
            shown["json"] = self.names.value(body, "", now)
        if form is not None:
            shown["form"] = self.names.value(form, "", now)
        if raw is not None:
            shown["raw"] = self.names.text(raw if isinstance(raw, str) else raw.decode("utf-8", "replace"))[:400]
        if headers:
            shown["headers"] = self.names.value(headers, "", now)
        if token:
            shown["bearer"] = True
        return shown

    def _observed(self, got, now):
        seen = {"status": got.status}
        head = {k: v for k, v in got.headers.items() if k in RECORDED_HEADERS and v}
        if "location" in head:
            head["location"] = self.names.url(head["location"], now)
        head = {k: (self.names.text(v) if isinstance(v, str) else v) for k, v in head.items()}
        if "content-type" in head:
            head["content-type"] = head["content-type"].split(";")[0].strip()
        seen["headers"] = head
        if got.json is not None:
            seen["json"] = self.names.value(got.json, "", now)
        elif got.body:
            seen["text"] = self.names.text(got.text)[:2000] if "html" not in head.get("content-type", "") else "<html>"
        return seen

    # -- users -------------------------------------------------------------------------------

    def address(self, local_part):
        """Return an e-mail address that no other scenario uses."""
        return f"{local_part}.{self.name.replace('.', '-').replace('_', '-')}@example.com"

    def phone(self, number=0):
        """Return a phone number (digits, no plus) that no other scenario uses."""
        return "1555" + str(int(hashlib.sha256(f"{self.name}{number}".encode()).hexdigest(), 16) % 10**7).zfill(7)

    def new_user(self, local_part="ann", password="correct horse", data=None):
        """Create a confirmed user with a session by sign-up and the mailed link, outside the transcript."""
        email = self.address(local_part)
        answer = self.post("/signup", {"email": email, "password": password, "data": data or {}}, record=False)
        if answer.status != 200:
            raise AssertionError(f"sign-up of {email}: {answer.status} {answer.text}")
        if not answer.json.get("access_token"):
            answer = self.post("/verify", {"type": "signup", "token_hash": self.mail.wait(email).token_hash}, record=False)
            if answer.status != 200:
                raise AssertionError(f"confirmation of {email}: {answer.status} {answer.text}")
        return {"email": email, "password": password, "id": answer["user"]["id"],
                "token": answer["access_token"], "refresh": answer["refresh_token"]}

    # -- tokens --------------------------------------------------------------------------------

    def signed(self, claims, secret=None):
        """Sign `claims` as an HS256 token with the profile's JWT secret."""
        def part(value):
            return base64.urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).rstrip(b"=")

        body = part({"alg": "HS256", "typ": "JWT"}) + b"." + part(claims)
        key = (secret or self.env["GOTRUE_JWT_SECRET"]).encode()
        mac = base64.urlsafe_b64encode(hmac.new(key, body, hashlib.sha256).digest()).rstrip(b"=")
        return (body + b"." + mac).decode()

    @property
    def service_role(self):
        now = int(time.time())
        return self.signed({"role": "service_role", "iss": "replay", "iat": now, "exp": now + 3600})

    # -- one-time codes ------------------------------------------------------------------------

    @staticmethod
    def totp(secret, at=None, step=30, digits=6):
        """RFC 6238 code (HMAC-SHA-1) for a base32 secret."""
        key = base64.b32decode(secret + "=" * (-len(secret) % 8))
        mac = hmac.new(key, struct.pack(">Q", int((at or time.time()) // step)), hashlib.sha1).digest()
        at = mac[-1] & 15
        return str((struct.unpack(">I", mac[at:at + 4])[0] & 0x7FFFFFFF) % 10 ** digits).zfill(digits)

    @staticmethod
    def pkce():
        """Return (verifier, S256 challenge)."""
        verifier = secrets.token_urlsafe(48)
        digest = hashlib.sha256(verifier.encode()).digest()
        return verifier, base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
