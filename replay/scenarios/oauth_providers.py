"""Built-in providers: the requests after the callback, and the identity made from the responses."""

import time

from harness.identity_token import Issuer, at_hash
from harness.registry import scenario
from harness.upstream import Upstream, provider_requests


def round_trip(flow, provider, **profile):
    """Sign in, then record the requests to the provider and the resulting user."""
    upstream = Upstream(flow, provider, **profile)
    back = upstream.sign_in()
    flow.note(f"what {provider} was asked", upstream.calls())
    if "access_token" in back.location[2]:
        flow.get("/user", token=back.location[2]["access_token"])
    return upstream


@scenario("oauth")
def github(flow):
    round_trip(flow, "github")


@scenario("oauth")
def github_with_several_addresses(flow):
    round_trip(flow, "github", emails=[
        {"email": flow.address("other"), "primary": False, "verified": True},
        {"email": flow.address("Main"), "primary": True, "verified": True},
        {"email": "", "primary": False, "verified": False},
    ])


@scenario("oauth")
def gitlab(flow):
    round_trip(flow, "gitlab", extra=[flow.address("extra")])


@scenario("oauth")
def keycloak(flow):
    round_trip(flow, "keycloak", claims={"preferred_username": "ann", "groups": ["staff", "chess"], "realm_access": {"roles": ["user"]}})


@scenario("oauth")
def discord(flow):
    round_trip(flow, "discord")
    Upstream(flow, "discord", "bob", avatar="").sign_in(label="no avatar")


@scenario("oauth")
def facebook(flow):
    round_trip(flow, "facebook")


@scenario("oauth")
def bitbucket(flow):
    round_trip(flow, "bitbucket")


@scenario("oauth")
def kakao(flow):
    round_trip(flow, "kakao")


@scenario("oauth")
def notion(flow):
    round_trip(flow, "notion")


@scenario("oauth")
def slack_oidc(flow):
    round_trip(flow, "slack_oidc")


@scenario("oauth")
def spotify_never_vouches_for_an_address(flow):
    spotify = round_trip(flow, "spotify")
    flow.get(flow.mail.wait(spotify.email).links[0], record=False)
    spotify.sign_in(label="after confirming")


@scenario("oauth")
def twitch(flow):
    round_trip(flow, "twitch")


@scenario("oauth")
def workos_puts_the_profile_into_the_token_answer(flow):
    workos = Upstream(flow, "workos")
    workos.token["profile"] = {"id": f"prof_{workos.id}", "connection_id": "conn_1", "organization_id": "org_1", "connection_type": "OktaSAML",
                               "email": workos.email, "first_name": "Ann", "last_name": "Example", "object": "profile", "idp_id": "1",
                               "raw_attributes": {"department": "chess"}}
    back = workos.sign_in("&connection=conn_1")
    flow.note("what workos was asked", workos.calls())
    flow.get("/user", token=back.location[2]["access_token"])


@scenario("oauth")
def twitter_speaks_oauth_1(flow):
    text = {"Content-Type": "text/plain"}
    flow.provider.on("/twitter/oauth/request_token", lambda call: (200, text, b"oauth_token=req-token&oauth_token_secret=req-secret&oauth_callback_confirmed=true"))
    flow.provider.on("/twitter/oauth/access_token", lambda call: (200, text, b"oauth_token=acc-token&oauth_token_secret=acc-secret&user_id=7&screen_name=ann"))
    flow.provider.on("/twitter/1.1/account/verify_credentials.json", lambda call: (200, {}, {
        "id_str": "70071", "screen_name": "ann", "name": "Ann Example", "email": flow.address("ann"), "profile_image_url_https": "https://img.example.com/ann.png"}))
    flow.get("/authorize?provider=twitter", record=False)
    callback = provider_requests(flow.provider)[0]["authorization"]["OAuth"]["oauth_callback"]
    back = flow.get(f"{callback}&oauth_token=req-token&oauth_verifier=verifier")
    flow.note("what twitter was asked", provider_requests(flow.provider))
    flow.get("/user", token=back.location[2]["access_token"])


@scenario("oauth")
def the_name_is_kept_as_it_was_written(flow):
    """The provider name is case-insensitive; the identity carries the name as given."""
    github = Upstream(flow, "github")
    state = flow.get("/authorize?provider=GitHub").location[1]["state"]
    back = github.finish(state)
    flow.get("/user", token=back.location[2]["access_token"])


@scenario("oauth")
def a_token_answer_may_be_form_encoded(flow):
    github = Upstream(flow, "github")
    github.at("/login/oauth/access_token", lambda call: (
        200, {"Content-Type": "application/x-www-form-urlencoded"}, b"access_token=form-access&scope=user%3Aemail&token_type=bearer"))
    github.sign_in()
    flow.note("what github was asked", github.calls())


# Providers whose hosts cannot be configured, reached through the proxy (harness/internet).

def oidc_round_trip(flow, provider, issuer, query=""):
    """As round_trip, with an id_token in the issuer's token answer."""
    start = flow.get(f"/authorize?provider={provider}{query}")
    back = flow.get(f"/callback?state={start.location[1]['state']}&code=c0de-from-upstream")
    flow.note("what was asked", [c for c in provider_requests(flow.provider) if c["method"] == "POST" or "user" in c["path"]])
    if "access_token" in back.location[2]:
        flow.get("/user", token=back.location[2]["access_token"])
    return back


@scenario("internet")
def google_by_id_token(flow):
    google = Issuer(flow, "https://accounts.google.com", "google-client")
    google.answer["id_token"] = google.user_token(hd="example.com", picture="https://img.example.com/ann.png", at_hash=at_hash("issuer-access"))
    oidc_round_trip(flow, "google", google, "&access_type=offline&prompt=consent&scopes=https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fcalendar")


@scenario("internet")
def google_without_id_token(flow):
    google = Issuer(flow, "https://accounts.google.com", "google-client")
    flow.provider.on("https://www.googleapis.com/userinfo/v2/me", lambda call: (200, {}, {
        "id": "1170", "email": flow.address("ann"), "verified_email": True, "name": "Ann Example", "picture": "https://img.example.com/ann.png"}))
    oidc_round_trip(flow, "google", google)


@scenario("internet")
def apple_posts_the_name_once(flow):
    apple = Issuer(flow, "https://appleid.apple.com", "apple-client")
    apple.answer["id_token"] = apple.user_token(is_private_email="true", auth_time=int(time.time()) - 100, name=None)
    start = flow.get("/authorize?provider=apple&scopes=more&prompt=consent")
    user = '{"name":{"firstName":"Ann","lastName":"Example"},"email":"ignored@example.com"}'
    back = flow.post("/callback", form={"state": start.location[1]["state"], "code": "apple-code", "user": user})
    flow.note("what was asked", [c for c in provider_requests(flow.provider) if c["method"] == "POST"])
    flow.get("/user", token=back.location[2]["access_token"])


@scenario("internet")
def azure_by_id_token(flow):
    azure = Issuer(flow, "https://login.microsoftonline.com/tenant-1/v2.0", "azure-client")
    flow.provider.on("https://login.microsoftonline.com/common/oauth2/v2.0/token", lambda call: (200, {}, azure.answer))
    azure.answer["id_token"] = azure.user_token(preferred_username="ann@contoso.example.com", tid="tenant-1", oid="o-1", ver="2.0", xms_edov="1",
                                            email_verified=None, roles=["reader"])
    oidc_round_trip(flow, "azure", azure, "&scopes=email")


@scenario("internet")
def linkedin_oidc_by_id_token(flow):
    linkedin = Issuer(flow, "https://www.linkedin.com/oauth", "linkedin_oidc-client")
    flow.provider.on("https://api.linkedin.com/oauth/v2/accessToken", lambda call: (200, {}, linkedin.answer))
    linkedin.answer["id_token"] = linkedin.user_token(email_verified="true", given_name="Ann", family_name="Example", locale="en_US")
    oidc_round_trip(flow, "linkedin_oidc", linkedin)


@scenario("internet")
def github_at_its_own_hosts(flow):
    flow.provider.on("https://github.com/login/oauth/access_token", lambda call: (200, {}, {"access_token": "gh", "token_type": "bearer", "scope": "user:email"}))
    flow.provider.on("https://api.github.com/user", lambda call: (200, {}, {"id": 5150, "login": "ann", "name": None, "avatar_url": None, "email": None}))
    flow.provider.on("https://api.github.com/user/emails", lambda call: (200, {}, [{"email": flow.address("ann"), "primary": True, "verified": True}]))
    oidc_round_trip(flow, "github", None)
