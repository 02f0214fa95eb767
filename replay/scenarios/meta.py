"""Metadata endpoints: health, settings, keys, discovery."""

from harness.registry import scenario


@scenario()
def health(flow):
    answer = flow.get("/health", record=False)
    flow.note("answer", {"status": answer.status, "type": answer.headers["content-type"], **answer.json, "version": type(answer["version"]).__name__})
    flow.note("with a token", flow.get("/health", token="nonsense", record=False).status)


@scenario()
def settings(flow):
    flow.get("/settings")
    flow.get("/settings", token="nonsense", label="a token is not looked at")


@scenario("meta-much")
def settings_with_much_switched_on(flow):
    flow.get("/settings")


@scenario()
def key_set_without_public_keys(flow):
    answer = flow.get("/.well-known/jwks.json")
    flow.note("may be kept for", answer.headers.get("cache-control"))


@scenario()
def discovery_documents(flow):
    answer = flow.get("/.well-known/openid-configuration")
    flow.note("may be kept for", answer.headers.get("cache-control"))
    flow.get("/.well-known/oauth-authorization-server")


@scenario()
def features_that_are_off(flow):
    ann = flow.new_user()
    flow.get("/user/identities/authorize?provider=google", token=ann["token"], label="manual linking")
    flow.post("/sso", {"domain": "example.com"}, label="single sign-on")
    flow.get("/passkeys", token=ann["token"], label="passkeys")
    flow.get("/user/oauth/grants", token=ann["token"], label="OAuth grants")
    flow.post("/oauth/clients/register", {"redirect_uris": ["https://app.example.com"]}, label="client registration")
    flow.post("/token?grant_type=web3", {"chain": "solana"}, label="wallets")
