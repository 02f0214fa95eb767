"""Refresh tokens of version 2, built from the session's row."""

import hashlib
import hmac
import uuid

from .jws import decode, encode


def varint(number):
    """Encode as unsigned LEB128."""
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out) + bytes([number])


def token(session_id, counter, key, version=0):
    """Return the token for this counter; `key` as in sessions.refresh_token_hmac_key."""
    body = bytes([version]) + uuid.UUID(session_id).bytes + varint(counter)
    body += hmac.new(decode(key), body, hashlib.sha256).digest()[:16]
    return encode(body + hashlib.sha256(body).digest()[:4])


def stored_key(flow, session_id):
    return flow.database.query(f"select refresh_token_hmac_key from auth.sessions where id = '{session_id}'")
