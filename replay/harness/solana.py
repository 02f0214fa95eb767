"""A Solana wallet in plain Python: Ed25519 (RFC 8032) and base58."""

import base64
import hashlib

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
BASE = (15112221349535400772501151409588531511454012693041857206046113283949847762202,
        46316835694926478169428394003475163141307993866256225615783033603165251855960)
ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def add(a, b):
    (x1, y1), (x2, y2) = a, b
    t = D * x1 * x2 * y1 * y2
    return ((x1 * y2 + x2 * y1) * pow(1 + t, -1, P) % P, (y1 * y2 + x1 * x2) * pow(1 - t, -1, P) % P)


def times(k, point):
    total = (0, 1)
    while k:
        if k & 1:
            total = add(total, point)
        point, k = add(point, point), k >> 1
    return total


def packed(point):
    return (point[1] | (point[0] & 1) << 255).to_bytes(32, "little")


def base58(data):
    number, text = int.from_bytes(data, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = ALPHABET[digit] + text
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + text


class Wallet:
    """Derive a key from a name; the same name gives the same key."""

    suffix = " wants you to sign in with your Solana account:"
    chain, network = "solana", "solana:mainnet"

    def __init__(self, name):
        digest = hashlib.sha512(hashlib.sha256(name.encode()).digest()).digest()
        self.scalar = int.from_bytes(digest[:32], "little") & (2**254 - 8) | 2**254
        self.prefix = digest[32:]
        self.public = packed(times(self.scalar, BASE))
        self.address = base58(self.public)

    def raw(self, data):
        r = int.from_bytes(hashlib.sha512(self.prefix + data).digest(), "little") % L
        point = packed(times(r, BASE))
        h = int.from_bytes(hashlib.sha512(point + self.public + data).digest(), "little") % L
        return point + ((r + h * self.scalar) % L).to_bytes(32, "little")

    def sign(self, message):
        return base64.b64encode(self.raw(message.encode())).decode()

    def ledger_sign(self, message, domain="shop.example.com"):
        """Sign the off-chain message envelope, as a Ledger does."""
        text = message.encode()
        envelope = (b"\xffsolana offchain\0" + domain.encode().ljust(32, b"\0") + b"\0\1" + self.public
                    + len(text).to_bytes(2, "little") + text)
        return base64.b64encode(self.raw(envelope)).decode()
