"""GET /authorize: the redirect to the provider."""

import json

from harness.registry import scenario
from harness.upstream import provider_requests


@scenario("oauth_public_hosts")
def each_provider_has_its_own_address_and_default_scopes(flow):
    for name in ("azure", "bitbucket", "discord", "facebook", "github", "gitlab", "kakao", "linkedin", "notion", "slack_oidc"):
        flow.get(f"/authorize?provider={name}", label=name)


@scenario("oauth_public_hosts")
def asked_scopes_follow_the_default_ones(flow):
    flow.get("/authorize?provider=github&scopes=repo")
    flow.get("/authorize?provider=github&scopes=repo,gist", label="comma separated")
    flow.get("/authorize?provider=gitlab&scopes=api%20read_api", label="space separated")
    flow.get("/authorize?provider=notion&scopes=anything", label="a provider without scopes")
    flow.get("/authorize?provider=discord&scopes=", label="empty")


@scenario("oauth_public_hosts")
def a_provider_that_cannot_be_used_is_refused(flow):
    flow.get("/authorize", label="no provider")
    flow.get("/authorize?provider=", label="empty provider")
    flow.get("/authorize?provider=myspace", label="unknown provider")
    flow.get("/authorize?provider=figma", label="switched off")
    flow.get("/authorize?provider=spotify", label="no secret configured")
    flow.get("/authorize?provider=zoom", label="no client id configured")
    flow.get("/authorize?provider=keycloak", label="no URL configured")
    flow.get("/authorize?provider=email", label="not an OAuth provider")
    flow.post("/authorize?provider=github", {}, label="POST")


@scenario("oauth")
def other_query_parameters_reach_the_provider(flow):
    flow.get("/authorize?provider=github&prompt=consent&login_hint=ann%40example.com")
    flow.get("/authorize?provider=github&redirect_to=http%3A%2F%2Fshop.example.com%2Fwelcome", label="redirect_to too")
    flow.get("/authorize?provider=github&client_id=mine&client_secret=s&redirect_uri=http%3A%2F%2Fevil.example.com&response_type=token"
             "&state=mine&code_verifier=v", label="what the server sets itself cannot be replaced")
    flow.get("/authorize?provider=github&Client_ID=mine&STATE=mine&nonce=n0nce", label="nor in other letters; nonce passes")
    flow.get("/authorize?provider=workos&workos_provider=GoogleOAuth&organization=org_1", label="workos_provider becomes provider")
    flow.get("/authorize?provider=github&prompt=none&prompt=login", label="given twice")


@scenario("oauth")
def the_flow_is_kept_in_the_database(flow):
    verifier, challenge = flow.pkce()
    flow.names.learn(challenge, "challenge")
    columns = "provider_type, authentication_method, referrer, code_challenge_method, code_challenge, user_id is null as no_user, email_optional"
    started = [
        flow.get("/authorize?provider=discord&redirect_to=https%3A%2F%2Fapp.example.com%2Fcallback", label="implicit"),
        flow.get(f"/authorize?provider=GitHub&code_challenge={challenge}&code_challenge_method=s256", label="PKCE; provider in other letters"),
        flow.get("/authorize?provider=github&redirect_to=http%3A%2F%2Fevil.example.com", label="redirect target not allowed"),
    ]
    for answer in started:
        state = answer.location[1]["state"]
        row = flow.database.query(f"select row_to_json(f) from (select {columns}, auth_code is null as no_code from auth.flow_state where id = '{state}') f")
        flow.note("flow_state", json.loads(row))


@scenario("oauth")
def a_pkce_pair_must_be_whole_and_well_formed(flow):
    _, challenge = flow.pkce()
    flow.get(f"/authorize?provider=github&code_challenge={challenge}", label="no method")
    flow.get("/authorize?provider=github&code_challenge_method=s256", label="no challenge")
    flow.get("/authorize?provider=github&code_challenge=short&code_challenge_method=s256", label="challenge too short")
    flow.get(f"/authorize?provider=github&code_challenge={challenge}&code_challenge_method=md5", label="unknown method")
    flow.get(f"/authorize?provider=github&code_challenge={'a' * 129}&code_challenge_method=plain", label="challenge too long")
    flow.get(f"/authorize?provider=github&code_challenge={challenge}&code_challenge_method=S256", label="method in capitals")
    flow.get(f"/authorize?provider=github&code_challenge={challenge}&code_challenge_method=plain", label="plain")


@scenario("oauth")
def x_gets_a_challenge_of_the_servers_own(flow):
    answer = flow.get("/authorize?provider=x")
    flow.note("challenge method", answer.location[1]["code_challenge_method"])
    verifier, challenge = flow.pkce()
    answer = flow.get(f"/authorize?provider=x&code_challenge={challenge}&code_challenge_method=s256", label="client uses PKCE too")
    flow.note("the client's challenge is not passed on", answer.location[1]["code_challenge"] != challenge)
    rows = flow.database.query("select count(*), bool_and(provider_type = 'x'), bool_and(length(code_verifier) = 43) from auth.oauth_client_states")
    flow.note("oauth_client_states has rows of x with 43 character verifiers", rows.split("|")[1:])


@scenario("oauth")
def twitter_is_asked_for_a_request_token(flow):
    flow.provider.on("/twitter/oauth/request_token", lambda call: (
        200, {"Content-Type": "text/plain"}, b"oauth_token=req-token&oauth_token_secret=req-secret&oauth_callback_confirmed=true"))
    flow.get("/authorize?provider=twitter")
    flow.note("what twitter was asked", provider_requests(flow.provider))
    flow.provider.on("/twitter/oauth/request_token", lambda call: (401, {}, {"errors": [{"code": 32}]}))
    flow.get("/authorize?provider=twitter", label="twitter says no")


@scenario("oauth")
def an_unknown_invite_token_is_refused(flow):
    flow.get("/authorize?provider=github&invite_token=nobody-has-this")
