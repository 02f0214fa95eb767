"""POST /token?grant_type=id_token: sign-in with an ID token of an OpenID Connect issuer."""

from harness.identity_token import Issuer, at_hash, ec_key, hashed
from harness.registry import scenario

GRANT = "/token?grant_type=id_token"


def give(flow, token, label=None, bearer=None, provider="keycloak", **more):
    return flow.post(GRANT, {"provider": provider, "id_token": token, **more}, token=bearer, label=label)


@scenario("id_token")
def a_new_person_gets_an_account_and_a_session(flow):
    issuer = Issuer(flow)
    session = give(flow, issuer.user_token(picture="https://img.example.com/ann.png", locale="en", groups=["chess"]))
    flow.get("/user", token=session["access_token"])
    give(flow, issuer.user_token(name="Ann Renamed"), "again, with another name")
    flow.post("/token?grant_type=refresh_token", {"refresh_token": session["refresh_token"]}, label="the session can be refreshed")


@scenario("id_token")
def what_must_be_given(flow):
    token = Issuer(flow).user_token()
    flow.post(GRANT, {}, label="nothing")
    flow.post(GRANT, raw="", label="empty body")
    flow.post(GRANT, {"provider": "keycloak"}, label="no token")
    flow.post(GRANT, {"id_token": token}, label="no provider")
    flow.post(GRANT, {"id_token": token, "client_id": "keycloak-client"}, label="client id without issuer")
    flow.post(GRANT, {"id_token": token, "issuer": "https://issuer.example.com"}, label="issuer without client id")
    flow.post(GRANT, {"id_token": token, "provider": "github"}, label="a provider without id_tokens")
    flow.post(GRANT, {"id_token": token, "provider": "google"}, label="a provider that is off")
    flow.post(GRANT, {"id_token": token, "provider": "Keycloak"}, label="provider in other letters")


@scenario("id_token")
def the_audience_must_be_one_of_the_clients(flow):
    issuer = Issuer(flow)
    give(flow, issuer.user_token(aud="somebody-else"), "another client")
    give(flow, issuer.user_token(aud=["one", "two"]), "two other clients")
    give(flow, issuer.user_token(aud=None), "none")
    give(flow, issuer.user_token(aud=["one", "keycloak-mobile"]), "the second configured client among others")


@scenario("id_token")
def a_nonce_is_given_by_both_or_by_none(flow):
    issuer = Issuer(flow)
    give(flow, issuer.user_token(nonce=hashed("n-1")), "only in the token")
    give(flow, issuer.user_token(), "only in the request", nonce="n-1")
    give(flow, issuer.user_token(nonce=hashed("n-1")), "another one", nonce="n-2")
    give(flow, issuer.user_token(nonce="n-1"), "not hashed in the token", nonce="n-1")
    give(flow, issuer.user_token(nonce=hashed("n-1").upper()), "hashed in capitals", nonce="n-1")
    give(flow, issuer.user_token(nonce=hashed("n-1")), "hashed in the token", nonce="n-1")


@scenario("id_token")
def a_token_that_does_not_hold(flow):
    issuer = Issuer(flow)
    give(flow, "not-a-token", "not a token")
    give(flow, issuer.user_token(exp=1600000000), "expired")
    give(flow, issuer.user_token(exp=None), "no expiry")
    give(flow, issuer.user_token(iss="https://issuer.example.com"), "another issuer")
    give(flow, issuer.user_token(sub=None), "no subject")
    give(flow, issuer.token(ec_key(d=12345), sub="x", email=flow.address("ann")), "signed by another key of that name")
    give(flow, issuer.token({"kty": "oct", "k": "c2VjcmV0", "alg": "HS256"}, sub="x"), "signed with a secret")
    give(flow, issuer.token(header={"alg": "none"}, sub="x"), "algorithm none")
    body, _, _ = issuer.user_token().rpartition(".")
    give(flow, body + ".", "no signature")


@scenario("id_token")
def the_access_token_belongs_to_the_id_token(flow):
    issuer = Issuer(flow)
    give(flow, issuer.user_token(at_hash=at_hash("provider-access")), "another access token", access_token="stolen")
    give(flow, issuer.user_token(at_hash=at_hash("provider-access")), "the right one", access_token="provider-access")
    give(flow, issuer.user_token(at_hash=at_hash("provider-access")), "none given")
    give(flow, issuer.user_token(), "no hash in the token", access_token="provider-access")


@scenario("id_token")
def an_unverified_address_must_be_confirmed_first(flow):
    issuer = Issuer(flow)
    give(flow, issuer.user_token(email_verified=False))
    mail = flow.mail.wait(flow.address("ann"))
    flow.note("mail", {"subject": mail.subject, "links": mail.links})
    flow.note("the account is kept", flow.database.query(f"select count(*) from auth.users where email = '{flow.address('ann')}'"))
    flow.get(mail.links[0], label="the link in the mail")
    give(flow, issuer.user_token(email_verified=False), "after confirming")
    give(flow, issuer.user_token("bob", email=None), "no address at all")


@scenario("id_token")
def a_verified_address_joins_the_account_that_has_it(flow):
    ann = flow.new_user()
    session = give(flow, Issuer(flow).user_token())
    flow.note("same account", session["user"]["id"] == ann["id"])


@scenario("id_token")
def link_identity_adds_to_the_signed_in_account(flow):
    ann, issuer = flow.new_user(), Issuer(flow)
    token = issuer.user_token("work", name="Ann at work")
    give(flow, token, "nobody signed in", link_identity=True)
    give(flow, token, "with a bad bearer", bearer="abc", link_identity=True)
    give(flow, token, "signed in", bearer=ann["token"], link_identity=True)
    give(flow, token, "again", bearer=ann["token"], link_identity=True)
    bob = flow.new_user("bob")
    give(flow, token, "somebody else", bearer=bob["token"], link_identity=True)
    give(flow, token, "signing in with it")


@scenario("id_token")
def an_issuer_by_its_address(flow):
    issuer = Issuer(flow, "/issuer", audience="app-7")
    flow.post(GRANT, {"id_token": issuer.user_token(), "issuer": issuer.url, "client_id": "app-7"}, label="allowed")
    flow.post(GRANT, {"id_token": issuer.user_token(), "issuer": issuer.url, "client_id": "app-8"}, label="another client")
    flow.post(GRANT, {"id_token": issuer.user_token(), "issuer": "https://issuer.example.com", "client_id": "app-7"}, label="not allowed")
    flow.post(GRANT, {"id_token": issuer.user_token(), "provider": "mine", "issuer": issuer.url, "client_id": "app-7"}, label="provider name unknown, issuer allowed")


@scenario("id_token")
def an_issuer_that_does_not_answer_well(flow):
    silent = Issuer(flow, "/silent", audience="app-7")
    flow.provider.on("/silent/.well-known/openid-configuration", lambda call: (500, {}, {}))
    flow.post(GRANT, {"id_token": silent.user_token(), "issuer": silent.url, "client_id": "app-7"}, label="discovery fails")
    mistaken = Issuer(flow, "/mistaken", audience="app-7")
    flow.provider.on("/mistaken/.well-known/openid-configuration", lambda call: (200, {}, {**mistaken.discovery(), "issuer": "https://issuer.example.com"}))
    flow.post(GRANT, {"id_token": mistaken.user_token(), "issuer": mistaken.url, "client_id": "app-7"}, label="discovery names another issuer")


# Issuers at their own addresses, reached through the proxy (harness/internet).

@scenario("internet")
def google_tokens(flow):
    google = Issuer(flow, "https://accounts.google.com", "google-ios")
    give(flow, google.user_token(hd="example.com", picture="https://img.example.com/ann.png"), provider="google")
    give(flow, google.user_token(aud="google-android"), "client not configured", provider="google")
    flow.post(GRANT, {"id_token": google.user_token(), "issuer": "https://accounts.google.com", "client_id": "google-ios"}, label="by issuer and client id")
    give(flow, google.user_token(email_verified=False, sub="unverified", email=flow.address("bob")), "unverified address", provider="google")


@scenario("internet")
def apple_tokens(flow):
    apple = Issuer(flow, "https://appleid.apple.com", "com.example.shop")
    give(flow, apple.user_token(is_private_email="true", name=None), "for the app's bundle", provider="apple")
    other = Issuer(flow, "https://account.apple.com", "apple-client")
    give(flow, other.user_token(sub="other"), "from the other issuer", provider="apple")
    give(flow, apple.token(iss="https://accounts.google.com", sub="x"), "of another issuer", provider="apple")
    flow.post(GRANT, {"id_token": apple.user_token(), "provider": "apple", "issuer": "https://account.apple.com"}, label="issuer differs from the token's")
    give(flow, "a.b", "not a token", provider="apple")
    give(flow, "a.b.c", "parts are no JSON", provider="apple")


@scenario("internet")
def azure_tokens(flow):
    azure = Issuer(flow, "https://login.microsoftonline.com/tenant-1/v2.0", "azure-client")
    give(flow, azure.user_token(email_verified=None, preferred_username="ann@contoso.example.com", tid="tenant-1"), provider="azure")
    give(flow, azure.user_token("bob", xms_edov=False), "the domain's owner is not verified", provider="azure")
    give(flow, azure.token(iss="https://accounts.google.com", sub="x"), "of another issuer", provider="azure")
    flow.post(GRANT, {"id_token": azure.user_token(), "issuer": azure.url, "client_id": "azure-client"}, label="by issuer")


@scenario("internet")
def facebook_kakao_and_vercel_tokens(flow):
    facebook = Issuer(flow, "https://www.facebook.com", "facebook-client")
    give(flow, facebook.user_token("fay", nonce="whatever", picture="https://img.example.com/ann.png"), "facebook, whose nonce is not looked at", provider="facebook")
    kakao = Issuer(flow, "https://kauth.kakao.com", "kakao-client")
    give(flow, kakao.user_token("kay", nickname="Kay"), "kakao", provider="kakao")
    vercel = Issuer(flow, "https://marketplace.vercel.com", "vercel_marketplace-client")
    give(flow, vercel.user_token("vic", user_email=flow.address("vic"), user_name="Vic", global_user_id="g-1", email=None), "vercel", provider="vercel_marketplace")
