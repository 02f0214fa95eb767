"""A WebAuthn authenticator in software: one P-256 credential, attestation "none"."""

import hashlib
import json
import secrets

from . import jws

UP, UV, BE, BS, AT = 0x01, 0x04, 0x08, 0x10, 0x40


def cbor(value):
    """Encode integers, byte and text strings and maps (in the given order) as CBOR."""
    def head(major, n):
        if n < 24:
            return bytes([major << 5 | n])
        size = 1 if n < 0x100 else 2 if n < 0x10000 else 4
        return bytes([major << 5 | 24 + size.bit_length() - 1]) + n.to_bytes(size, "big")

    if isinstance(value, int):
        return head(0, value) if value >= 0 else head(1, -1 - value)
    if isinstance(value, bytes):
        return head(2, len(value)) + value
    if isinstance(value, str):
        return head(3, len(value.encode())) + value.encode()
    return head(5, len(value)) + b"".join(cbor(k) + cbor(v) for k, v in value.items())


def der(signature):
    """ASN.1 form of a raw r||s signature."""
    def integer(data):
        data = data.lstrip(b"\0")
        data = b"\0" + data if not data or data[0] & 0x80 else data
        return bytes([2, len(data)]) + data

    body = integer(signature[:32]) + integer(signature[32:])
    return bytes([0x30, len(body)]) + body


class Authenticator:
    """Answers `create` and `get` as a browser would. Keyword arguments replace single values:
    `origin`, `challenge`, `rp_id`, `type`, `flags`, `count`, `user_handle`, `corrupt_signature` (an invalid signature)."""

    def __init__(self, rp_id="example.com", origin="https://app.example.com", aaguid=bytes(16)):
        self.rp_id, self.origin, self.aaguid = rp_id, origin, aaguid
        self.id = secrets.token_bytes(20)
        self.key = secrets.randbelow(jws.N - 1) + 1
        self.count = 0
        self.user_handle = None

    @property
    def name(self):
        """Return the credential id as base64url."""
        return jws.encode(self.id)

    def client_data(self, kind, options, origin=None, challenge=None, type=None):
        return json.dumps({"type": type or kind, "challenge": challenge or options["challenge"],
                           "origin": origin or self.origin, "crossOrigin": False}).encode()

    def authenticator_data(self, flags, count, rp_id, credential=b""):
        digest = hashlib.sha256((rp_id or self.rp_id).encode()).digest()
        return digest + bytes([flags]) + count.to_bytes(4, "big") + credential

    def answer(self, **response):
        response = {k: jws.encode(v) if isinstance(v, bytes) else v for k, v in response.items()}
        return {"id": self.name, "rawId": self.name, "type": "public-key", "authenticatorAttachment": "platform",
                "clientExtensionResults": {}, "response": response}

    def create(self, options, flags=UP | UV | AT, count=0, rp_id=None, **overrides):
        """Registration: what navigator.credentials.create() resolves to."""
        x, y = (n.to_bytes(32, "big") for n in jws.times(self.key, jws.G))
        public = cbor({1: 2, 3: -7, -1: 1, -2: x, -3: y})
        credential = self.aaguid + len(self.id).to_bytes(2, "big") + self.id + public
        data = self.authenticator_data(flags, count, rp_id, credential)
        self.user_handle = options["user"]["id"]
        return self.answer(
            clientDataJSON=self.client_data("webauthn.create", options, **overrides),
            attestationObject=cbor({"fmt": "none", "attStmt": {}, "authData": data}),
            transports=["internal"],
        )

    def get(self, options, flags=UP | UV, count=None, rp_id=None, user_handle=None, corrupt_signature=False, **overrides):
        """Sign-in: what navigator.credentials.get() resolves to."""
        self.count = self.count + 1 if count is None else count
        data = self.authenticator_data(flags, self.count, rp_id)
        client = self.client_data("webauthn.get", options, **overrides)
        key = {"kty": "EC", "d": jws.encode(self.key.to_bytes(32, "big"))}
        signed = data + hashlib.sha256(client).digest() + (b"!" if corrupt_signature else b"")
        return self.answer(
            clientDataJSON=client, authenticatorData=data, signature=der(jws.signature(signed, key)),
            userHandle=user_handle or self.user_handle,
        )


def device(flow, name="credential", **more):
    """Create an authenticator whose credential id is shown as `<name>` in the transcript."""
    made = Authenticator(**more)
    flow.names.learn(made.name, name)
    return made


def handle(flow, user):
    """Show the user's WebAuthn user handle as `<user handle>`."""
    text = jws.encode(user["id"].encode())
    flow.names.learn(text, "user handle")
    return text
