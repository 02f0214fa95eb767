"""Sign and verify compact JWS with JWKs: HS256, RS256 and ES256, in plain Python."""

import base64
import hashlib
import hmac
import json
import secrets

# NIST P-256
P = 2**256 - 2**224 + 2**192 + 2**96 - 1
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
G = (0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
     0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5)
SHA256_INFO = bytes.fromhex("3031300d060960864801650304020105000420")


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def number(text):
    return int.from_bytes(decode(text), "big")


def parts(token):
    """(header, claims) of a compact JWS, unverified."""
    header, claims, _ = token.split(".")
    return json.loads(decode(header)), json.loads(decode(claims))


def add(a, b):
    if a is None or b is None:
        return a or b
    if a[0] == b[0]:
        if (a[1] + b[1]) % P == 0:
            return None
        slope = 3 * (a[0] * a[0] - 1) * pow(2 * a[1], -1, P)
    else:
        slope = (b[1] - a[1]) * pow(b[0] - a[0], -1, P)
    x = (slope * slope - a[0] - b[0]) % P
    return x, (slope * (a[0] - x) - a[1]) % P


def times(k, point):
    sum_ = None
    while k:
        if k & 1:
            sum_ = add(sum_, point)
        point, k = add(point, point), k >> 1
    return sum_


def padded(message, size):
    """EMSA-PKCS1-v1_5 with SHA-256, as a number."""
    info = SHA256_INFO + hashlib.sha256(message).digest()
    return int.from_bytes(b"\0\1" + b"\xff" * (size - len(info) - 3) + b"\0" + info, "big")


def signature(message, jwk):
    if jwk["kty"] == "oct":
        return hmac.new(decode(jwk["k"]), message, hashlib.sha256).digest()
    if jwk["kty"] == "RSA":
        n = number(jwk["n"])
        size = (n.bit_length() + 7) // 8
        return pow(padded(message, size), number(jwk["d"]), n).to_bytes(size, "big")
    digest = int.from_bytes(hashlib.sha256(message).digest(), "big")
    k = secrets.randbelow(N - 1) + 1
    r = times(k, G)[0] % N
    s = pow(k, -1, N) * (digest + r * number(jwk["d"])) % N
    return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def sign(claims, jwk, **header):
    """A compact JWS over `claims`; header members given as None are left out."""
    head = {"alg": jwk.get("alg", "HS256"), "typ": "JWT", "kid": jwk.get("kid"), **header}
    head = {k: v for k, v in head.items() if v is not None}
    body = ".".join(encode(json.dumps(part, separators=(",", ":")).encode()) for part in (head, claims))
    return f"{body}.{encode(signature(body.encode(), jwk))}"


def verifies(token, jwk):
    """Verify the signature with `jwk` (a public or symmetric key)."""
    body, _, text = token.rpartition(".")
    message, mac = body.encode(), decode(text)
    if jwk["kty"] == "oct":
        return hmac.compare_digest(mac, signature(message, jwk))
    if jwk["kty"] == "RSA":
        n = number(jwk["n"])
        return pow(int.from_bytes(mac, "big"), number(jwk["e"]), n) == padded(message, (n.bit_length() + 7) // 8)
    r, s = int.from_bytes(mac[:32], "big"), int.from_bytes(mac[32:], "big")
    if len(mac) != 64 or not (0 < r < N and 0 < s < N):
        return False
    digest, inverse = int.from_bytes(hashlib.sha256(message).digest(), "big"), pow(s, -1, N)
    point = add(times(digest * inverse % N, G), times(r * inverse % N, (number(jwk["x"]), number(jwk["y"]))))
    return point is not None and point[0] % N == r
