"""Replace volatile values by placeholders that keep identity and form.

`<uuid1>` is the same id wherever it stands in one transcript; `<time>` an RFC 3339 time in UTC;
`<now+3600>` an epoch second that far from the request; a JWT becomes its header and claims.
"""

import base64
import json
import re
import urllib.parse

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.I)
TIME = re.compile(r"^(\d{4})-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$")
ERROR_CODE = re.compile(r"[a-z0-9]+(_[a-z0-9]+)+|unknown|conflict|[0-9A-Z]{5}|\d{3}")
JWT = re.compile(r"^ey[\w-]+\.ey[\w-]+\.[\w-]*$")
EPOCH_KEYS = {"expires_at", "iat", "exp", "nbf", "timestamp", "auth_time", "client_id_issued_at", "updated_at"}
NIL = "00000000-0000-0000-0000-000000000000"


def shape(text):
    """Return alphabet and length of an opaque secret. Twelve characters are a refresh token, even if all are hex digits."""
    for name, pattern in (("digits", r"\d+"), ("hex", r"(?!.{12}$)[0-9a-f]+"), ("base32", r"[A-Z2-7]+=*"), ("base64url", r"[\w-]+"), ("base64", r"[\w+/=-]+")):
        if re.fullmatch(pattern, text):
            return f"{name}:{len(text)}"
    return f"text:{len(text)}"


def decode_jwt(token):
    def part(text):
        return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))

    header, claims, _ = token.split(".")
    return part(header), part(claims)


class Normaliser:
    """The known literals (base URL, secrets read by the scenario) and ids of one transcript."""

    SECRETS = {"refresh_token", "hashed_token", "email_otp", "provider_token", "provider_refresh_token", "token_hash",
               "code", "auth_code", "token", "state", "flow_state", "secret", "client_secret", "challenge", "nonce", "registration_access_token", "code_challenge", "code_verifier",
               "otp", "token_new", "token_hash_new", "authorization_id",
               "clientDataJSON", "attestationObject", "authenticatorData", "signature"}

    def __init__(self, literals):
        self.literals = dict(literals)
        self.ids = {}

    def learn(self, value, name):
        """Replace `value` by `<name>` in all later steps."""
        if value:
            self.literals[value] = f"<{name}>"

    def text(self, text):
        for value, name in sorted(self.literals.items(), key=lambda item: -len(item[0])):
            text = text.replace(value, name)
            quoted = urllib.parse.quote(value, safe="")
            if quoted != value:
                text = text.replace(quoted, name)
        return UUID.sub(lambda m: self.uuid(m.group(0)), text)

    def uuid(self, value):
        if value == NIL:
            return value
        return self.ids.setdefault(value.lower(), f"<uuid{len(self.ids) + 1}>")

    def url(self, text, now):
        """A URL as its base, query and fragment, each value normalised."""
        parts = urllib.parse.urlsplit(text)
        out = {"base": self.text(urllib.parse.urlunsplit((parts.scheme, parts.netloc, parts.path, "", "")))}
        for name, raw in (("query", parts.query), ("fragment", parts.fragment)):
            if raw:
                pairs = urllib.parse.parse_qsl(raw, keep_blank_values=True)
                out[name] = {k: self.value(v, k, now) for k, v in sorted(pairs)} if pairs else self.text(raw)
        return out

    def value(self, value, key="", now=0):
        if isinstance(value, dict):
            if key == "last_webauthn_challenge_data":  # a serialised structure of one library with random keys
                return {"type": value.get("type"), "members": sorted(value)}
            return {self.text(k): self.value(v, k, now) for k, v in sorted(value.items())}
        if isinstance(value, list):
            if key == "identities" and all(isinstance(v, dict) for v in value):  # the reference reads them without an order
                value = sorted(value, key=lambda identity: str(identity.get("provider")))
            return [self.value(v, key, now) for v in value]
        if isinstance(value, bool) or value is None:
            return value
        if key == "expires_in" and str(value).isdigit() and -int(value) % 10 in (1, 2):  # a second or two passed since issuing
            return type(value)(int(value) + -int(value) % 10)
        if isinstance(value, (int, float)):
            return self.epoch(value, now) if key in EPOCH_KEYS else value
        if value in self.literals:
            return self.literals[value]
        if key in EPOCH_KEYS and value.isdigit():
            return self.epoch(int(value), now)
        match = TIME.match(value)
        if match:
            if match.group(1) == "0001":
                return "<time zero>"
            return "<time>" if match.group(3) == "Z" else "<time with offset>"
        if JWT.match(value):
            header, claims = decode_jwt(value)
            return {"jwt": {"header": self.value(header, "", now), "claims": self.value(claims, "", now)}}
        if key == "code" and ERROR_CODE.fullmatch(value):
            return value
        if key in self.SECRETS and not UUID.fullmatch(value) and value:
            return f"<{key} {shape(value)}>"
        if key in ("SAMLRequest", "SAMLResponse", "Signature"):
            return f"<{key}>"
        if key in ("qr_code",):
            return f"<{key} {value[:24]}>"
        if "://" in value and ("?" in value or "#" in value) and " " not in value:
            return self.url(value, now)
        return self.text(value)

    @staticmethod
    def epoch(value, now):
        delta = value - now
        near = round(delta / 10) * 10
        if abs(delta - near) <= 4:
            return f"<now{near:+d}>" if near else "<now>"
        return f"<now{int(delta):+d}>"
