"""The server as an OAuth 2.1 provider: authorize, consent, token, userinfo, grants."""

from harness import oauth_app as app
from harness.registry import scenario


@scenario("oauth_server")
def confidential_client_signs_a_user_in(flow):
    ann = flow.new_user()
    client = app.register(flow)
    flow.names.learn(app.basic(client)["Authorization"], "basic credentials")
    verifier, challenge = flow.pkce()
    answer = flow.get(app.authorize_path(client, challenge, scope="email profile", state="from the shop/1"))
    path = app.authorization_path(flow, answer)
    flow.get(path, token=ann["token"], label="what is asked")
    answer = flow.post(path + "/consent", {"action": "approve"}, token=ann["token"], label="consent")
    back = app.redirect_query(answer)
    flow.note("state comes back", back["state"] == "from the shop/1")
    tokens = app.exchange(flow, client, back["code"], verifier, record=True)
    flow.get("/oauth/userinfo", token=tokens["access_token"])
    flow.get("/user", token=tokens["access_token"])
    flow.post("/oauth/token", form={"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}, headers=app.basic(client), label="refresh")
    flow.note("session", flow.database.query(f"select scopes, oauth_client_id = '{client['client_id']}', aal from auth.sessions where scopes is not null and user_id = '{ann['id']}'"))


@scenario("oauth_server")
def public_client_signs_a_user_in(flow):
    ann = flow.new_user()
    client = app.register(flow, client_type="public")
    verifier, challenge = flow.pkce()
    path = app.authorization_path(flow, flow.get(app.authorize_path(client, verifier, code_challenge_method="plain")))
    flow.get(path, token=ann["token"])
    answer = flow.post(path + "/consent", {"action": "approve"}, token=ann["token"])
    code = app.redirect_query(answer)["code"]
    tokens = flow.post("/oauth/token", form={"grant_type": "authorization_code", "code": code, "code_verifier": verifier, "client_id": client["client_id"]})
    flow.post("/oauth/token", form={"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"], "client_id": client["client_id"]})


@scenario("oauth_server")
def client_sends_its_secret_in_the_body(flow):
    ann = flow.new_user()
    client = app.register(flow, token_endpoint_auth_method="client_secret_post")
    code, verifier = app.approve_authorization(flow, client, ann)
    me = {"client_id": client["client_id"], "client_secret": client["client_secret"]}
    tokens = flow.post("/oauth/token", {**me, "grant_type": "authorization_code", "code": code, "code_verifier": verifier}, label="as JSON")
    flow.post("/oauth/token", form={**me, "grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}, label="as a form")


@scenario("oauth_server")
def openid_scope_brings_an_id_token(flow):
    ann = flow.new_user(data={"name": "Ann Example", "picture": "https://img.example.com/ann.png", "preferred_username": "ann"})
    client = app.register(flow)
    code, verifier = app.approve_authorization(flow, client, ann, scope="openid email profile phone", nonce="n-0S6_WzA2Mj")
    tokens = app.exchange(flow, client, code, verifier, record=True)
    flow.get("/oauth/userinfo", token=tokens["access_token"])
    code, verifier = app.approve_authorization(flow, client, ann, scope="openid")
    app.exchange(flow, client, code, verifier, record=True, label="openid alone")


@scenario("oauth_server")
def userinfo_follows_the_scopes(flow):
    ann = flow.new_user(data={"username": "ann", "avatar_url": "https://img.example.com/a.png"})
    client = app.register(flow)
    for scope in ("email", "profile", "phone", "offline_access", "openid phone email"):
        code, verifier = app.approve_authorization(flow, client, ann, scope=scope)
        tokens = app.exchange(flow, client, code, verifier)
        flow.get("/oauth/userinfo", token=tokens["access_token"], label=f"scope {scope}")
    flow.get("/oauth/userinfo", token=ann["token"], label="a session that is no client's")
    flow.get("/oauth/userinfo", label="no token")


@scenario("oauth_server")
def authorization_request_that_cannot_be_answered_by_redirect(flow):
    client = app.register(flow)
    _, challenge = flow.pkce()
    flow.get("/oauth/authorize", label="nothing")
    flow.get(app.authorize_path(client, challenge, client_id=None), label="no client")
    flow.get(app.authorize_path(client, challenge, redirect_uri=None), label="no redirect")
    flow.get(app.authorize_path(client, challenge, client_id="shop"), label="client id of another form")
    flow.get(app.authorize_path(client, challenge, client_id="00000000-0000-4000-8000-000000000000"), label="unknown client")
    for uri in (app.CALLBACK + "/", app.CALLBACK + "?a=1", "https://evil.example.com/", "callback"):
        flow.get(app.authorize_path(client, challenge, redirect_uri=uri), label=f"redirect to {uri}")


@scenario("oauth_server")
def authorization_request_refused_by_redirect(flow):
    client = app.register(flow)
    _, challenge = flow.pkce()
    for more in ({"response_type": "token"}, {"scope": "email admin"}, {"scope": " "}, {"code_challenge": None}, {"code_challenge_method": None},
                 {"code_challenge_method": "S512"}, {"code_challenge": "short"}, {"resource": "shop"}, {"resource": "https://shop.example.com/#x"}):
        flow.get(app.authorize_path(client, challenge, state="s1", **more), label=f"{more}")


@scenario("oauth_server")
def consent_is_remembered(flow):
    ann = flow.new_user()
    client = app.register(flow)
    app.approve_authorization(flow, client, ann, scope="email profile")
    _, challenge = flow.pkce()
    path = app.start_authorization(flow, client, challenge, scope="email", state="again")
    answer = flow.get(path, token=ann["token"], label="fewer scopes: straight back")
    flow.note("returned", sorted(app.redirect_query(answer)))
    flow.get(path, token=ann["token"], label="the same once more")
    path = app.start_authorization(flow, client, challenge, scope="email phone")
    flow.get(path, token=ann["token"], label="a new scope: asked again")
    bob = flow.new_user("bob")
    path = app.start_authorization(flow, client, challenge, scope="email")
    flow.get(path, token=bob["token"], label="another user: asked")


@scenario("oauth_server")
def user_denies(flow):
    ann = flow.new_user()
    client = app.register(flow)
    _, challenge = flow.pkce()
    path = app.start_authorization(flow, client, challenge, state="abc")
    flow.get(path, token=ann["token"], record=False)
    flow.post(path + "/consent", {"action": "deny"}, token=ann["token"])
    flow.post(path + "/consent", {"action": "approve"}, token=ann["token"], label="too late")
    flow.get(path, token=ann["token"], label="closed")
    flow.get("/user/oauth/grants", token=ann["token"], label="no grant")


@scenario("oauth_server")
def consent_that_cannot_be_given(flow):
    ann, bob = flow.new_user(), flow.new_user("bob")
    client = app.register(flow)
    _, challenge = flow.pkce()
    path = app.start_authorization(flow, client, challenge)
    flow.post(path + "/consent", {"action": "approve"}, token=ann["token"], label="not looked at yet")
    flow.get(path, token=ann["token"], record=False)
    flow.post(path + "/consent", {"action": "approve"}, token=bob["token"], label="another user")
    flow.get(path, token=bob["token"], label="another user looks")
    flow.post(path + "/consent", {"action": "yes"}, token=ann["token"], label="unknown action")
    flow.post(path + "/consent", raw="{", token=ann["token"], headers={"Content-Type": "application/json"}, label="not JSON")
    flow.post(path + "/consent", {"action": "approve"}, label="nobody")
    flow.get(path, token=ann["token"], headers={"Origin": "https://evil.example.org"}, label="another origin looks")
    flow.post(path + "/consent", {"action": "approve"}, token=ann["token"], headers={"Origin": "http://shop.example.com"}, label="the site's own origin")
    flow.get("/oauth/authorizations/unknown", token=ann["token"], label="unknown")


@scenario("oauth_server")
def authorization_that_expired(flow):
    ann = flow.new_user()
    client = app.register(flow)
    verifier, challenge = flow.pkce()
    past = "update auth.oauth_authorizations set created_at = now() - interval '1 hour', expires_at = now() - interval '1 second'"
    path = app.start_authorization(flow, client, challenge)
    flow.database.query(past)
    flow.get(path, token=ann["token"], label="looked at too late")
    flow.note("status", flow.database.query(f"select status from auth.oauth_authorizations where client_id = '{client['client_id']}'"))
    path = app.start_authorization(flow, client, challenge)
    flow.get(path, token=ann["token"], record=False)
    flow.database.query(past)
    flow.post(path + "/consent", {"action": "approve"}, token=ann["token"], label="agreed too late")
    code, verifier = app.approve_authorization(flow, client, ann)
    flow.database.query(past)
    app.exchange(flow, client, code, verifier, record=True, label="exchanged too late")


@scenario("oauth_server")
def code_that_is_not_good(flow):
    ann = flow.new_user()
    client, other = app.register(flow), app.register(flow, client_name="Other")
    me = app.basic(client)
    flow.names.learn(me["Authorization"], "basic credentials")
    code, verifier = app.approve_authorization(flow, client, ann)
    form = {"grant_type": "authorization_code", "code": code, "code_verifier": verifier}
    flow.post("/oauth/token", form={**form, "code": "unknown"}, headers=me, label="unknown code")
    flow.post("/oauth/token", form={**form, "code_verifier": "x" * 43}, headers=me, label="wrong verifier")
    flow.post("/oauth/token", form={**form, "code_verifier": ""}, headers=me, label="no verifier")
    flow.post("/oauth/token", form={**form, "redirect_uri": "https://evil.example.com/"}, headers=me, label="another redirect")
    app.exchange(flow, other, code, verifier, label="another client")
    flow.post("/oauth/token", form={"grant_type": "authorization_code"}, headers=me, label="no code")
    flow.post("/oauth/token", form=form, headers=me, label="good after all")
    flow.post("/oauth/token", form=form, headers=me, label="and only once")


@scenario("oauth_server")
def client_that_does_not_prove_itself(flow):
    basic, post, public = app.register(flow), app.register(flow, token_endpoint_auth_method="client_secret_post"), app.register(flow, client_type="public")
    flow.names.learn(app.basic(basic)["Authorization"], "basic credentials")
    flow.names.learn(app.basic(basic, "wrong")["Authorization"], "wrong credentials")
    form = {"grant_type": "refresh_token", "refresh_token": "abcdefghijkl"}
    flow.post("/oauth/token", form=form, label="no client")
    flow.post("/oauth/token", form=form, headers={"Authorization": "Basic %%%"}, label="not base64")
    flow.post("/oauth/token", form=form, headers={"Authorization": "Basic YWJj"}, label="no colon")
    flow.post("/oauth/token", form={**form, "client_id": "shop"}, label="client id of another form")
    flow.post("/oauth/token", form={**form, "client_id": "00000000-0000-4000-8000-000000000000"}, label="unknown client")
    flow.post("/oauth/token", form=form, headers=app.basic(basic, "wrong"), label="wrong secret")
    flow.post("/oauth/token", form={**form, "client_id": post["client_id"], "client_secret": "wrong"}, label="wrong secret in the body")
    flow.post("/oauth/token", form={**form, "client_id": basic["client_id"], "client_secret": basic["client_secret"]}, label="in the body instead of Basic")
    flow.post("/oauth/token", form={**form, "client_id": basic["client_id"]}, label="no secret")
    flow.post("/oauth/token", form={**form, "client_id": public["client_id"], "client_secret": "any"}, label="public client with a secret")
    flow.post("/oauth/token", {**form, "client_id": public["client_id"]}, label="public client, an unknown token as JSON")


@scenario("oauth_server")
def token_request_that_makes_no_sense(flow):
    client = app.register(flow, grant_types=["authorization_code"])
    me = app.basic(client)
    flow.names.learn(me["Authorization"], "basic credentials")
    flow.post("/oauth/token", form={}, headers=me, label="no grant type")
    flow.post("/oauth/token", form={"grant_type": "refresh_token", "refresh_token": "x"}, headers=me, label="grant type the client may not use")
    flow.post("/oauth/token", form={"grant_type": "password"}, headers=me, label="unknown grant type")
    flow.post("/oauth/token", raw="{", headers={**me, "Content-Type": "application/json"}, label="not JSON")
    flow.post("/oauth/token", raw="{", headers={"Content-Type": "application/json"}, label="not JSON and no client")
    flow.get("/oauth/token", label="GET")


@scenario("oauth_server")
def refresh_tokens_belong_to_their_client(flow):
    ann = flow.new_user()
    client, other = app.register(flow), app.register(flow, client_type="public")
    code, verifier = app.approve_authorization(flow, client, ann)
    tokens = app.exchange(flow, client, code, verifier).json
    refresh = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    flow.post("/oauth/token", form={**refresh, "client_id": other["client_id"]}, label="another client")
    flow.post("/token?grant_type=refresh_token", {"refresh_token": tokens["refresh_token"]}, label="without a client")
    flow.post("/oauth/token", form={"grant_type": "refresh_token", "refresh_token": ann["refresh"], "client_id": other["client_id"]}, label="a token that is no client's")
    flow.post("/oauth/token", form={"grant_type": "refresh_token", "client_id": other["client_id"]}, label="no token")
    flow.post("/logout", token=tokens["access_token"], label="the client signs out")
    flow.get("/user", token=ann["token"], label="the user's own session")


@scenario("oauth_server")
def user_lists_and_revokes_grants(flow):
    ann = flow.new_user()
    client = app.register(flow, client_uri="https://app.example.com", logo_uri="https://app.example.com/logo.png")
    other = app.register(flow, client_name="Second app")
    code, verifier = app.approve_authorization(flow, client, ann, scope="email profile")
    tokens = app.exchange(flow, client, code, verifier).json
    app.approve_authorization(flow, other, ann)
    flow.get("/user/oauth/grants", token=ann["token"])
    flow.delete("/user/oauth/grants", token=ann["token"], label="which one?")
    flow.delete("/user/oauth/grants?client_id=shop", token=ann["token"], label="id of another form")
    flow.delete("/user/oauth/grants?client_id=00000000-0000-4000-8000-000000000000", token=ann["token"], label="unknown client")
    flow.delete(f"/user/oauth/grants?client_id={client['client_id']}", token=ann["token"])
    flow.delete(f"/user/oauth/grants?client_id={client['client_id']}", token=ann["token"], label="again")
    flow.get("/user", token=tokens["access_token"], label="the client's session is gone")
    flow.get("/user/oauth/grants/", token=ann["token"], label="what is left")
    _, challenge = flow.pkce()
    flow.get(app.start_authorization(flow, client, challenge), token=ann["token"], label="asked again")


@scenario("oauth_server")
def metadata_documents(flow):
    for path in ("/.well-known/openid-configuration", "/.well-known/oauth-authorization-server", "/.well-known/jwks.json"):
        answer = flow.get(path)
        flow.note("cache", answer.headers.get("cache-control"))


@scenario("oauth_server_hs256")
def shared_secret_and_no_consent_page(flow):
    ann = flow.new_user()
    client = app.register(flow)
    _, challenge = flow.pkce()
    flow.get(app.authorize_path(client, challenge, state="s"), label="no consent page")
    flow.post("/oauth/clients/register", {"redirect_uris": [app.CALLBACK]}, label="no self-registration")
    flow.get("/.well-known/oauth-authorization-server")
    flow.get("/oauth/userinfo", token=ann["token"])


@scenario()
def server_is_no_provider_by_default(flow):
    ann = flow.new_user()
    flow.get("/oauth/authorize")
    flow.post("/oauth/token", form={"grant_type": "authorization_code"})
    flow.get("/oauth/userinfo", token=ann["token"])
    flow.post("/oauth/clients/register", {})
    flow.get("/oauth/authorizations/abc", token=ann["token"])
    flow.get("/user/oauth/grants", token=ann["token"])
    flow.get("/admin/oauth/clients", token=flow.service_role)
    flow.get("/.well-known/oauth-authorization-server")
    flow.get("/.well-known/openid-configuration")
