"""An Ethereum wallet in plain Python: Keccak-256, secp256k1, EIP-191 personal_sign and an EIP-4361 message."""

import hashlib
import hmac
import time

P = 2**256 - 2**32 - 977
N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
G = (0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
     0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8)
ROTATIONS = ((0, 36, 3, 41, 18), (1, 44, 10, 45, 2), (62, 6, 43, 15, 61), (28, 55, 25, 21, 56), (27, 20, 39, 8, 14))
MASK = 2**64 - 1


def round_constants():
    state = 1
    for _ in range(24):
        constant = 0
        for j in range(7):
            if state & 1:
                constant ^= 1 << (2**j - 1)
            state = (state << 1) ^ ((state >> 7) * 0x171)
        yield constant


def permute(a):
    for constant in round_constants():
        c = [a[x][0] ^ a[x][1] ^ a[x][2] ^ a[x][3] ^ a[x][4] for x in range(5)]
        d = [c[x - 1] ^ rotate(c[(x + 1) % 5], 1) for x in range(5)]
        b = [[0] * 5 for _ in range(5)]
        for x in range(5):
            for y in range(5):
                b[y][(2 * x + 3 * y) % 5] = rotate(a[x][y] ^ d[x], ROTATIONS[x][y])
        a = [[b[x][y] ^ (~b[(x + 1) % 5][y] & b[(x + 2) % 5][y]) & MASK for y in range(5)] for x in range(5)]
        a[0][0] ^= constant
    return a


def rotate(word, n):
    return ((word << n) | (word >> (64 - n))) & MASK if n else word


def keccak256(data):
    rate = 136
    gap = rate - len(data) % rate
    data += b"\x81" if gap == 1 else b"\x01" + bytes(gap - 2) + b"\x80"
    state = [[0] * 5 for _ in range(5)]
    for start in range(0, len(data), rate):
        for i in range(rate // 8):
            state[i % 5][i // 5] ^= int.from_bytes(data[start + 8 * i:start + 8 * i + 8], "little")
        state = permute(state)
    return b"".join(state[i % 5][i // 5].to_bytes(8, "little") for i in range(4))


def add(a, b):
    if a is None or b is None:
        return a or b
    if a[0] == b[0]:
        if (a[1] + b[1]) % P == 0:
            return None
        slope = 3 * a[0] * a[0] * pow(2 * a[1], -1, P)
    else:
        slope = (b[1] - a[1]) * pow(b[0] - a[0], -1, P)
    x = (slope * slope - a[0] - b[0]) % P
    return x, (slope * (a[0] - x) - a[1]) % P


def times(k, point):
    total = None
    while k:
        if k & 1:
            total = add(total, point)
        point, k = add(point, point), k >> 1
    return total


class Wallet:
    """Derive a key from a name; the same name gives the same key."""

    suffix = " wants you to sign in with your Ethereum account:"
    chain, network = "ethereum", "1"

    def __init__(self, name):
        self.key = int.from_bytes(hashlib.sha256(name.encode()).digest(), "big") % N
        x, y = times(self.key, G)
        self.address = checksummed(keccak256(x.to_bytes(32, "big") + y.to_bytes(32, "big"))[-20:].hex())

    def sign(self, message, v=27):
        """personal_sign: 0x, then r, s and v in hexadecimal."""
        text = message.encode()
        digest = keccak256(b"\x19Ethereum Signed Message:\n" + str(len(text)).encode() + text)
        z = int.from_bytes(digest, "big")
        k = int.from_bytes(hmac.new(self.key.to_bytes(32, "big"), digest, hashlib.sha256).digest(), "big") % N
        x, y = times(k, G)
        s = pow(k, -1, N) * (z + x * self.key) % N
        parity = y & 1
        if s > N // 2:
            s, parity = N - s, 1 - parity
        return f"0x{x:064x}{s:064x}{v + parity:02x}"


def checksummed(address):
    """Apply the EIP-55 checksum capitalisation."""
    digest = keccak256(address.encode()).hex()
    return "0x" + "".join(c.upper() if int(d, 16) > 7 else c for c, d in zip(address, digest))


def at(seconds):
    """Return the time at this offset from now, in ISO 8601."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


def message(wallet, domain="shop.example.com", statement="Sign in to the shop", **fields):
    """Return the message to sign. Fields replace the default lines; None removes a line."""
    lines = {"URI": f"https://{domain}/", "Version": "1", "Chain ID": wallet.network, "Nonce": "12345678", "Issued At": at(0), **fields}
    head = [domain + wallet.suffix, wallet.address, ""]
    if statement is not None:
        head += [statement, ""]
    return "\n".join(head + [f"{k}: {v}" for k, v in lines.items() if v is not None])
