"""An OpenID Connect issuer on the provider sink, with test keys."""

import base64
import hashlib
import time

from . import jws

# A P-256 key and a 2048 bit RSA key; test keys only.
EC_D = 0x1F0A9C5E7D3B4A6880716253445362718090A1B2C3D4E5F60718293A4B5C6D7E


def ec_key(kid="replay-ec", d=EC_D):
    x, y = jws.times(d, jws.G)
    return {"kty": "EC", "crv": "P-256", "alg": "ES256", "kid": kid, "use": "sig",
            "x": jws.encode(x.to_bytes(32, "big")), "y": jws.encode(y.to_bytes(32, "big")), "d": jws.encode(d.to_bytes(32, "big"))}


def public(jwk):
    return {k: v for k, v in jwk.items() if k != "d"}


def at_hash(access_token):
    return base64.urlsafe_b64encode(hashlib.sha256(access_token.encode()).digest()[:16]).rstrip(b"=").decode()


def hashed(nonce):
    return hashlib.sha256(nonce.encode()).hexdigest()


class Issuer:
    """Serves discovery and keys at a path of the provider sink or, through the tunnel, at an https address.

    `token(**claims)` signs an id_token; `.answer` is what the token endpoint gives.
    """

    def __init__(self, flow, address="/keycloak", audience="keycloak-client"):
        self.flow, self.audience, self.address = flow, audience, address
        self.url = address if address.startswith("https:") else flow.provider.base + address
        self.key, self.answer = ec_key(), {"access_token": "issuer-access", "token_type": "Bearer"}
        self.at("/.well-known/openid-configuration", lambda call: (200, {}, self.discovery()))
        self.at("/jwks", lambda call: (200, {}, {"keys": [public(self.key)]}))
        self.at("/token", lambda call: (200, {}, self.answer))

    def at(self, path, answer, status=200):
        self.flow.provider.on(self.address + path, answer if callable(answer) else lambda call: (status, {}, answer))

    def discovery(self):
        return {"issuer": self.url, "authorization_endpoint": f"{self.url}/authorize", "token_endpoint": f"{self.url}/token",
                "userinfo_endpoint": f"{self.url}/userinfo", "jwks_uri": f"{self.url}/jwks", "response_types_supported": ["code"],
                "subject_types_supported": ["public"], "id_token_signing_alg_values_supported": ["ES256", "RS256"]}

    def token(self, key=None, header=None, **claims):
        """Return an id_token valid for five minutes; a claim given as None is omitted."""
        now = int(time.time())
        base = {"iss": self.url, "aud": self.audience, "iat": now, "exp": now + 300, **claims}
        return jws.sign({k: v for k, v in base.items() if v is not None}, key or self.key, **(header or {}))

    def user_token(self, local_part="ann", **claims):
        """Return an id_token for a user with a verified address."""
        email = self.flow.address(local_part)
        return self.token(**{"sub": f"{local_part}-{self.flow.name}", "email": email, "email_verified": True, "name": local_part.title(), **claims})
