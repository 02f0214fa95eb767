"""Providers stored in the database: /admin/custom-providers, and sign-in by `custom:<name>`.

Their addresses must be public and HTTPS, so they are reached through the proxy (harness/internet), at an address reserved for examples.
"""

from harness.identity_token import Issuer, hashed
from harness.registry import scenario
from harness.upstream import provider_requests

PROVIDERS = "/admin/custom-providers"
HOST = "https://203.0.113.10"


def name(flow, suffix=""):
    return "custom:" + flow.name.split(".")[1].replace("_", "-")[:40] + suffix


def oauth2(flow, suffix="", **fields):
    """A complete description of an OAuth 2 provider; a field given as None is left out."""
    whole = {"provider_type": "oauth2", "identifier": name(flow, suffix), "name": "Acme", "client_id": "acme-client", "client_secret": "acme-secret",
             "scopes": ["profile", "email"], "authorization_url": f"{HOST}/authorize", "token_url": f"{HOST}/token", "userinfo_url": f"{HOST}/me", **fields}
    return {k: v for k, v in whole.items() if v is not None}


def oidc(flow, at, suffix="", **fields):
    """The same for OpenID Connect, `at` an Issuer."""
    whole = {"provider_type": "oidc", "identifier": name(flow, suffix), "name": "Acme ID", "client_id": at.audience, "client_secret": "acme-secret",
             "issuer": at.url, **fields}
    return {k: v for k, v in whole.items() if v is not None}


def create(flow, body, label=None, record=True):
    return flow.post(PROVIDERS, body, token=flow.service_role, label=label, record=record)


def sign_in(flow, provider, query="", label=None):
    start = flow.get(f"/authorize?provider={provider}{query}", record=False)
    return flow.get(f"/callback?state={start.location[1].get('state')}&code=c0de-from-upstream", label=label or "callback")


@scenario("custom_providers")
def a_provider_is_made_read_changed_and_taken_away(flow):
    flow.get(PROVIDERS, token=flow.service_role, label="none yet")
    one = f"{PROVIDERS}/{name(flow)}"
    create(flow, oauth2(flow))
    create(flow, oauth2(flow), "the same again")
    flow.get(PROVIDERS, token=flow.service_role)
    flow.get(PROVIDERS + "?type=oidc", token=flow.service_role, label="only oidc")
    flow.get(PROVIDERS + "?type=saml", token=flow.service_role, label="another type")
    flow.get(one, token=flow.service_role)
    flow.put(one, {"name": "Acme Inc.", "scopes": [], "pkce_enabled": False, "enabled": False, "email_optional": True, "client_secret": "new",
                   "attribute_mapping": {"name": "display"}, "authorization_params": {"audience": "api"}, "custom_claims_allowlist": ["team"],
                   "acceptable_client_ids": ["acme-ios"]}, token=flow.service_role)
    flow.put(one, {}, token=flow.service_role, label="nothing")
    flow.put(one, {"identifier": "custom:other", "provider_type": "oidc", "issuer": "https://x.example.com"}, token=flow.service_role, label="what cannot change")
    flow.delete(one, token=flow.service_role)
    flow.get(one, token=flow.service_role, label="gone")
    flow.delete(one, token=flow.service_role, label="deleted again")


@scenario("internet")
def what_a_provider_needs(flow):
    for field in ("provider_type", "identifier", "name", "client_id", "client_secret", "authorization_url", "token_url", "userinfo_url"):
        create(flow, oauth2(flow, **{field: None}), f"no {field}")
    create(flow, oauth2(flow, provider_type="saml"), "another type")
    create(flow, oauth2(flow, provider_type="oidc"), "oidc without issuer")
    create(flow, oauth2(flow, identifier="acme"), "identifier without its prefix")
    flow.post(PROVIDERS, raw="{", token=flow.service_role, label="malformed JSON")


@scenario("internet")
def what_a_provider_may_not_say(flow):
    create(flow, oauth2(flow, authorization_params={"state": "mine"}), "a reserved parameter")
    create(flow, oauth2(flow, authorization_params={"nonce": "mine"}), "nonce")
    create(flow, oauth2(flow, authorization_params={"max_age": 3600}), "a parameter that is a number")
    create(flow, oauth2(flow, attribute_mapping={"role": "job"}), "mapping a protected field")
    create(flow, oauth2(flow, attribute_mapping={"email_verified": True}), "vouching for addresses")
    create(flow, oauth2(flow, custom_claims_allowlist=["team", " "]), "an empty claim")


@scenario("internet")
def addresses_must_be_public(flow):
    for label, url in (
        ("not HTTPS", "http://203.0.113.10/authorize"),
        ("no host", "https:///authorize"),
        ("localhost", "https://localhost/authorize"),
        ("below localhost", "https://auth.localhost/authorize"),
        ("loopback", "https://127.0.0.1/authorize"),
        ("all of loopback", "https://127.8.9.10/authorize"),
        ("loopback in IPv6", "https://[::1]/authorize"),
        ("a private network", "https://10.1.2.3/authorize"),
        ("a link-local address", "https://169.254.169.254/latest"),
        ("a multicast address", "https://224.0.0.251/authorize"),
        ("no URL", "https://203.0.113.10:port/"),
    ):
        create(flow, oauth2(flow, authorization_url=url), label)
    create(flow, oauth2(flow, userinfo_url="https://192.168.0.1/me"), "the profile in a private network")
    create(flow, oauth2(flow, jwks_uri="http://203.0.113.10/keys"), "keys not HTTPS")


@scenario("internet")
def signing_in_with_oauth2(flow):
    create(flow, oauth2(flow, authorization_params={"audience": "api"}, custom_claims_allowlist=["team", "missing"],
                        attribute_mapping={"name": "nickname", "locale": "zoneinfo"}), record=False)
    flow.provider.on(f"{HOST}/token", lambda call: (200, {}, {"access_token": "acme-access", "refresh_token": "acme-refresh", "token_type": "bearer"}))
    flow.provider.on(f"{HOST}/me", lambda call: (200, {}, {"sub": "acme-7", "email": flow.address("ann"), "email_verified": True, "name": "Ann", "nickname": "Annie",
                                                           "zoneinfo": "Europe/Zurich", "team": ["chess"], "secret": "not asked for", "updated_at": 1600000000}))
    flow.get(f"/authorize?provider={name(flow)}&prompt=login")
    flow.get(f"/authorize?provider={name(flow)}&scopes=other%20more", label="other scopes")
    back = sign_in(flow, name(flow))
    flow.note("what was asked", provider_requests(flow.provider))
    flow.get("/user", token=back.location[2]["access_token"])


@scenario("internet")
def signing_in_with_openid_connect(flow):
    issuer = Issuer(flow, "https://203.0.113.11/oidc", "acme-client")
    create(flow, oidc(flow, issuer, scopes=["email"]))
    flow.note("discovery was asked for", provider_requests(flow.provider))
    flow.get(f"/authorize?provider={name(flow)}")
    issuer.answer["id_token"] = issuer.user_token(groups=["chess"], preferred_username="ann")
    back = sign_in(flow, name(flow))
    flow.get("/user", token=back.location[2]["access_token"])
    issuer.answer["id_token"] = issuer.user_token(aud="another-client")
    sign_in(flow, name(flow), label="id_token for another client")
    del issuer.answer["id_token"]
    issuer.at("/userinfo", {"sub": "from-userinfo", "email": flow.address("bob"), "email_verified": True})
    sign_in(flow, name(flow), label="without id_token the profile is asked for")


@scenario("internet")
def openid_connect_is_looked_up_when_the_provider_is_made(flow):
    issuer = Issuer(flow, "https://203.0.113.11/lookup", "acme-client")
    found = issuer.discovery()
    for label, answer, status in (
        ("another issuer", {**found, "issuer": "https://203.0.113.11/other"}, 200),
        ("no keys", {k: v for k, v in found.items() if k != "jwks_uri"}, 200),
        ("little at all", {"issuer": issuer.url}, 200),
        ("not found", {}, 404),
    ):
        issuer.at("/.well-known/openid-configuration", answer, status)
        create(flow, oidc(flow, issuer), label)
    flow.provider.on("https://203.0.113.11/elsewhere.json", lambda call: (200, {}, found))
    create(flow, oidc(flow, issuer, discovery_url="https://203.0.113.11/elsewhere.json"), "at an address of its own")
    create(flow, oidc(flow, issuer, issuer="https://127.0.0.1/oidc"), "a private issuer")


@scenario("internet")
def tokens_of_a_custom_issuer(flow):
    issuer = Issuer(flow, "https://203.0.113.11/tokens", "acme-client")
    create(flow, oidc(flow, issuer, acceptable_client_ids=["acme-ios"]), record=False)
    create(flow, oauth2(flow, "-oauth2"), record=False)

    def give(token, label, provider=name(flow), **more):
        return flow.post("/token?grant_type=id_token", {"provider": provider, "id_token": token, **more}, label=label)

    give(issuer.user_token(aud="acme-ios", nonce=hashed("n")), "another of its clients, with a nonce", nonce="n")
    give(issuer.user_token(aud="acme-tv"), "a client it does not know")
    give(issuer.user_token(nonce=hashed("n")), "nonce not given")
    give(issuer.user_token(), "unknown provider", provider="custom:nobody")
    give(issuer.user_token(), "OAuth 2 provider", provider=name(flow, "-oauth2"))
    flow.put(f"{PROVIDERS}/{name(flow)}", {"skip_nonce_check": True}, token=flow.service_role, record=False)
    give(issuer.user_token(nonce=hashed("n")), "nonce not given, not looked at")
    flow.put(f"{PROVIDERS}/{name(flow)}", {"enabled": False}, token=flow.service_role, record=False)
    give(issuer.user_token(), "switched off")


@scenario("internet")
def a_provider_that_cannot_be_used(flow):
    create(flow, oauth2(flow, enabled=False), record=False)
    flow.get(f"/authorize?provider={name(flow)}", label="switched off")
    flow.get("/authorize?provider=custom:nobody", label="unknown")
    flow.get(f"/authorize?provider={name(flow).upper()}", label="in capitals")


@scenario("custom_providers_quota")
def there_can_be_a_limit(flow):
    create(flow, oauth2(flow, "-1", pkce_enabled=False), record=False)
    flow.get(f"/authorize?provider={name(flow, '-1')}", label="callback at its own host, no challenge")
    create(flow, oauth2(flow, "-2"), record=False)
    create(flow, oauth2(flow, "-3"), "one too many")


@scenario("custom_providers_off")
def custom_providers_can_be_off(flow):
    flow.get(PROVIDERS, token=flow.service_role)
    flow.get("/authorize?provider=custom:acme")
    flow.post("/token?grant_type=id_token", {"provider": "custom:acme", "id_token": "x"})


@scenario("internet")
def only_administrators(flow):
    ann = flow.new_user()
    flow.get(PROVIDERS, label="nobody")
    flow.post(PROVIDERS, oauth2(flow), token=ann["token"], label="a person")
    flow.get(f"{PROVIDERS}/acme", token=flow.service_role, label="identifier without its prefix")
    flow.get(f"{PROVIDERS}/custom:nobody", token=flow.service_role, label="unknown")
    flow.put(f"{PROVIDERS}/custom:nobody", {"name": "x"}, token=flow.service_role, label="changing what is not there")
