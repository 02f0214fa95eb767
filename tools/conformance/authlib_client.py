#!/usr/bin/env python3
"""Sign a user in with authlib as an OAuth client and validate every response.

    tools/conformance/run.sh target/debug/basalt     installs authlib and runs this script
"""

import contextlib
import json
import os
import secrets
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

# The server under test has no TLS.
os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"

import requests
from authlib.integrations.base_client import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc7591 import ClientMetadataClaims
from authlib.oidc.core import CodeIDToken
from authlib.oidc.discovery import OpenIDProviderMetadata, get_well_known_url
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet

CALLBACK = "http://localhost:3000/callback"
CONFIG = """
[auth]
signing_keys_path = "keys.json"
[auth.email]
enable_confirmations = false
[auth.oauth_server]
enabled = true
allow_dynamic_registration = true
"""


@contextlib.contextmanager
def server(binary: str):
    """Run `basalt serve` with an asymmetric signing key. Yields its announcement."""
    with tempfile.TemporaryDirectory() as folder:
        key = ECKey.generate_key("P-256", {"alg": "ES256", "kid": "conformance"}, private=True)
        keys = [key.as_dict(private=True) | {"key_ops": ["sign", "verify"]}]
        Path(folder, "keys.json").write_text(json.dumps(keys))
        Path(folder, "config.toml").write_text(CONFIG)
        command = [binary, "serve", "--config", "config.toml", "--port", "0", "--ephemeral", "--json"]
        log = Path(folder, "log").open("w+")
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            line = process.stdout.readline()
            if not line:
                log.seek(0)
                sys.exit(f"{binary} ended before it served:\n{log.read()}")
            yield json.loads(line)
        finally:
            process.terminate()
            process.wait()


class User:
    """A user whose browser approves every consent."""

    def __init__(self, it: dict):
        self.api = it["url"] + "/auth/v1"
        self.email = "authlib@example.com"
        self.http = requests.Session()
        self.http.headers["apikey"] = it["publishable_key"]
        body = {"email": self.email, "password": secrets.token_hex(), "data": {"name": "Ada"}}
        session = self.ask("POST", "/signup", json=body).json()
        self.http.headers["Authorization"] = f"Bearer {session['access_token']}"

    def ask(self, method: str, path: str, **more) -> requests.Response:
        answer = self.http.request(method, self.api + path, **more)
        assert answer.ok, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer

    def approve(self, url: str) -> str:
        page = requests.get(url, allow_redirects=False).headers["Location"]
        path = f"/oauth/authorizations/{parse_qs(urlsplit(page).query)['authorization_id'][0]}"
        asked = self.ask("GET", path).json()
        if "redirect_url" not in asked:
            asked = self.ask("POST", f"{path}/consent", json={"action": "approve"}).json()
        return asked["redirect_url"]

    def revoke(self, client_id: str) -> None:
        self.ask("DELETE", "/user/oauth/grants", params={"client_id": client_id})


def discovered(issuer: str) -> OpenIDProviderMetadata:
    answer = requests.get(get_well_known_url(issuer, external=True))
    metadata = OpenIDProviderMetadata(answer.json())
    metadata.validate()
    assert metadata["issuer"] == issuer, metadata["issuer"]
    assert "revocation_endpoint" not in metadata
    return metadata


def registered(metadata: OpenIDProviderMetadata, method: str) -> dict:
    body = {
        "client_name": f"An app with {method}",
        "redirect_uris": [CALLBACK],
        "token_endpoint_auth_method": method,
    }
    answer = requests.post(metadata["registration_endpoint"], json=body)
    assert answer.status_code == 201, answer.text
    client = answer.json()
    ClientMetadataClaims(client, {}).validate()
    return client


def signed_in(
    app: OAuth2Session, metadata: OpenIDProviderMetadata, user: User, replays_code: bool = False
) -> dict:
    """Return the claims of an ID token after validation of signature, issuer, audience, times and nonce.

    A replayed code is refused and ends the session that it opened (RFC 6749, section 4.1.2).
    """
    verifier, nonce = secrets.token_urlsafe(48), secrets.token_urlsafe()
    url, _ = app.create_authorization_url(
        metadata["authorization_endpoint"], code_verifier=verifier, nonce=nonce
    )
    back = user.approve(url)
    token = app.fetch_token(
        metadata["token_endpoint"], authorization_response=back, code_verifier=verifier
    )
    keys = KeySet.import_key_set(requests.get(metadata["jwks_uri"]).json())
    decoded = jwt.decode(token["id_token"], keys, algorithms=["ES256"])
    wanted = {"iss": {"value": metadata["issuer"]}, "aud": {"value": app.client_id}}
    claims = CodeIDToken(decoded.claims, decoded.header, wanted, {"nonce": nonce})
    claims.validate(leeway=5)
    assert claims["nonce"] == nonce and claims["email"] == user.email, claims
    if replays_code:
        issued = dict(app.token)
        refused(lambda: app.fetch_token(
            metadata["token_endpoint"], authorization_response=back, code_verifier=verifier
        ), "invalid_grant")
        app.token = issued
        assert app.get(metadata["userinfo_endpoint"]).status_code in (401, 403)
    return claims


def refused(ask, error: str) -> None:
    try:
        ask()
    except OAuthError as refusal:
        assert refusal.error == error, refusal
    else:
        raise AssertionError(f"should have been refused: {error}")


def walk(method: str, metadata: OpenIDProviderMetadata, user: User) -> None:
    client = registered(metadata, method)
    app = OAuth2Session(
        client["client_id"],
        client.get("client_secret"),
        token_endpoint_auth_method=method,
        scope="openid email profile offline_access",
        redirect_uri=CALLBACK,
        code_challenge_method="S256",
    )
    signed_in(app, metadata, user, replays_code=True)
    claims = signed_in(app, metadata, user)
    info = app.get(metadata["userinfo_endpoint"]).json()
    assert (info["sub"], info["name"]) == (claims["sub"], "Ada"), info

    before = dict(app.token)
    after = app.refresh_token(metadata["token_endpoint"])
    assert after["refresh_token"] != before["refresh_token"]
    assert app.get(metadata["userinfo_endpoint"]).ok

    user.revoke(client["client_id"])
    assert app.get(metadata["userinfo_endpoint"]).status_code in (401, 403)
    try:
        app.refresh_token(metadata["token_endpoint"])
    except (OAuthError, requests.HTTPError) as refusal:
        print(f"  after the grant was taken back: {refusal}")
    else:
        raise AssertionError("a refresh token outlives the grant")


def main() -> None:
    with server(sys.argv[1]) as it:
        metadata = discovered(it["url"] + "/auth/v1")
        user = User(it)
        for method in ("client_secret_basic", "client_secret_post", "none"):
            print(f"authlib, {method}")
            walk(method, metadata, user)
    print("authlib: discovery, registration, code with PKCE, ID token, userinfo, refresh and revocation are as it wants them")


if __name__ == "__main__":
    main()
