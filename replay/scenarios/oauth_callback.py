"""GET|POST /callback: the response of the provider."""

from harness.registry import scenario
from harness.upstream import Upstream


@scenario("oauth")
def a_new_person_gets_an_account_and_a_session(flow):
    github = Upstream(flow, "github")
    state = github.begin()
    back = github.finish(state)
    flow.note("what github was asked", github.calls())
    flow.get("/user", token=back.location[2]["access_token"])
    github.finish(state, label="the same state again")
    github.sign_in(label="signing in again")


@scenario("oauth")
def with_pkce_the_code_is_exchanged_once_and_brings_the_provider_tokens(flow):
    github = Upstream(flow, "github")
    verifier, challenge = flow.pkce()
    state = github.begin(f"&code_challenge={challenge}&code_challenge_method=s256&redirect_to=https%3A%2F%2Fapp.example.com%2Fcallback")
    code = github.finish(state).location[1]["code"]
    github.finish(state, label="the same state again")
    flow.post("/token?grant_type=pkce", {"auth_code": code, "code_verifier": "v" * 43}, label="wrong verifier")
    flow.post("/token?grant_type=pkce", {"auth_code": code, "code_verifier": verifier}, label="right verifier")
    flow.post("/token?grant_type=pkce", {"auth_code": code, "code_verifier": verifier}, label="the same code again")


@scenario("oauth")
def a_verified_address_joins_the_account_that_has_it(flow):
    ann = flow.new_user()
    github = Upstream(flow, "github")
    back = github.sign_in()
    flow.note("the same account", back.location[2].get("access_token") is not None)
    flow.get("/user", token=ann["token"])
    flow.post("/token?grant_type=password", {"email": ann["email"], "password": ann["password"]}, label="the password still works")


@scenario("oauth")
def later_sign_ins_refresh_what_the_provider_says(flow):
    token = Upstream(flow, "github").session()
    flow.put("/user", {"data": {"name": "chosen here", "colour": "red"}}, token=token)
    Upstream(flow, "github", name="Ann Renamed").sign_in()
    flow.get("/user", token=token)


@scenario("oauth")
def an_unverified_address_must_be_confirmed_first(flow):
    github = Upstream(flow, "github", verified=False)
    github.sign_in()
    mail = flow.mail.wait(github.email)
    flow.note("mail", {"subject": mail.subject, "links": mail.links})
    github.sign_in(label="again before confirming")
    mail = flow.mail.wait(github.email)
    flow.get(mail.links[0], label="the newest link")
    github.sign_in(label="after confirming")


@scenario("oauth")
def an_unverified_address_of_somebody_else_is_left_alone(flow):
    ann = flow.new_user()
    github = Upstream(flow, "github", verified=False)
    github.sign_in()
    flow.note("mails", flow.mail.count(ann["email"]))
    flow.get("/user", token=ann["token"])
    rows = flow.database.query(f"select u.email is null, u.email_confirmed_at is null from auth.users u join auth.identities i on i.user_id = u.id "
                               f"where i.provider = 'github' and i.provider_id = '{github.id}'")
    flow.note("the new account has no address, is not confirmed", rows)


@scenario("oauth")
def an_unconfirmed_password_account_is_taken_over_safely(flow):
    ann = flow.address("ann")
    flow.post("/signup", {"email": ann, "password": "set by an intruder", "data": {"planted": True}}, record=False)
    github = Upstream(flow, "github")
    back = github.sign_in()
    flow.post("/token?grant_type=password", {"email": ann, "password": "set by an intruder"}, label="the old password")
    flow.get("/user", token=back.location[2]["access_token"])
    flow.get(flow.mail.wait(ann).links[0], label="the old confirmation link")


@scenario("oauth")
def a_person_without_an_address(flow):
    Upstream(flow, "github", email="").sign_in(label="needs one")
    discord = Upstream(flow, "discord", email="")
    back = discord.sign_in(label="e-mail optional")
    flow.get("/user", token=back.location[2]["access_token"])
    discord.sign_in(label="again")


@scenario("oauth")
def what_the_provider_says_went_wrong_is_passed_on(flow):
    github = Upstream(flow, "github")
    target = "&redirect_to=https%3A%2F%2Fapp.example.com%2Fcallback"
    flow.get(f"/callback?state={github.begin(target, record=False)}&error=access_denied&error_description=The+user+said+no", label="access denied")
    flow.get(f"/callback?state={github.begin(target, record=False)}&error=server_error", label="without description")
    flow.get(f"/callback?state={github.begin(record=False)}&error=access_denied&code=c", label="error beats code")
    flow.get(f"/callback?state={github.begin(record=False)}", label="neither error nor code")
    _, challenge = flow.pkce()
    state = github.begin(f"{target}&code_challenge={challenge}&code_challenge_method=s256", record=False)
    flow.get(f"/callback?state={state}&error=access_denied&error_description=No", label="in a PKCE flow")
    flow.note("github was not asked", github.calls())


@scenario("oauth")
def a_token_endpoint_that_fails(flow):
    github = Upstream(flow, "github")
    path = "/login/oauth/access_token"
    for label, status, answer in (
        ("an error", 400, {"error": "bad_verification_code", "error_description": "The code has expired"}),
        ("an error with status 200", 200, {"error": "bad_verification_code"}),
        ("no access token", 200, {"token_type": "bearer"}),
        ("out of order", 503, {"message": "busy"}),
    ):
        github.at(path, answer, status)
        github.sign_in(label=label)
        flow.note("github was asked", github.calls())


@scenario("oauth")
def client_credentials_move_to_the_form_when_the_header_is_refused(flow):
    gitlab = Upstream(flow, "gitlab")
    gitlab.at("/oauth/token", lambda call: (401, {}, {"error": "invalid_client"}) if "authorization" in call["headers"] else (200, {}, gitlab.token))
    gitlab.sign_in()
    flow.note("gitlab was asked", gitlab.calls())


@scenario("oauth")
def a_profile_that_cannot_be_read(flow):
    github = Upstream(flow, "github")
    github.at("/api/v3/user", {"message": "Bad credentials"}, 401)
    github.sign_in(label="refused")
    github.at("/api/v3/user", lambda call: (200, {}, b"<html>"))
    github.sign_in(label="not JSON")
    Upstream(flow, "github").at("/api/v3/user/emails", {"message": "Not Found"}, 404)
    github.sign_in(label="no list of addresses")


@scenario("oauth")
def the_state_must_be_known_and_fresh(flow):
    github = Upstream(flow, "github")
    flow.get("/callback", label="no state")
    flow.get("/callback?state=&code=c", label="empty state")
    flow.get("/callback?state=abc&code=c", label="not a UUID")
    flow.get("/callback?state=7c1d9f64-9d3c-4f0e-8a5f-0d1b2c3d4e5f&code=c", label="unknown")
    state = github.begin("&redirect_to=https%3A%2F%2Fapp.example.com%2Fcallback", record=False)
    flow.database.query(f"update auth.flow_state set created_at = created_at - interval '301 seconds' where id = '{state}'")
    github.finish(state, label="older than five minutes")
    flow.get("/callback?error=access_denied", label="an error without state")


@scenario("oauth")
def a_form_post_works_like_a_get(flow):
    github = Upstream(flow, "github")
    flow.post("/callback", form={"state": github.begin(record=False), "code": "posted-code"})
    flow.post("/callback", form={"state": github.begin(record=False), "error": "access_denied", "error_description": "No"}, label="error")
    flow.post("/callback", form={"code": "posted-code"}, label="no state")


@scenario("oauth")
def the_result_keeps_the_query_of_the_redirect_target(flow):
    github = Upstream(flow, "github")
    target = "&redirect_to=http%3A%2F%2Fshop.example.com%2Fback%3Ffrom%3Dgithub%26n%3D1"
    github.sign_in(target, label="implicit")
    _, challenge = flow.pkce()
    github.sign_in(f"{target}&code_challenge={challenge}&code_challenge_method=s256", label="PKCE")
    state = github.begin(target, record=False)
    flow.get(f"/callback?state={state}&error=access_denied", label="error")
    github.sign_in("&redirect_to=myapp%3A%2F%2Flogin", label="custom scheme")


@scenario("oauth_no_signup")
def with_sign_up_off_only_known_people_come_in(flow):
    flow.post("/admin/users", {"email": flow.address("ann"), "email_confirm": True}, token=flow.service_role, record=False)
    Upstream(flow, "github", "bob").sign_in(label="somebody new")
    Upstream(flow, "github", "ann").sign_in(label="somebody with an account")


@scenario("oauth_autoconfirm")
def with_autoconfirm_an_unverified_address_is_taken_as_verified(flow):
    ann = flow.new_user()
    Upstream(flow, "github", "ann", verified=False).sign_in(label="joins the account")
    Upstream(flow, "github", "bob", verified=False).sign_in(label="somebody new")
    flow.get("/user", token=ann["token"])


@scenario("oauth")
def a_banned_person_is_turned_away(flow):
    github = Upstream(flow, "github")
    token = github.session()
    user = flow.get("/user", token=token, record=False)["id"]
    flow.put(f"/admin/users/{user}", {"ban_duration": "24h"}, token=flow.service_role, record=False)
    github.sign_in()


@scenario("oauth")
def an_invitation_accepted_through_a_provider(flow):
    ann = flow.address("ann")
    flow.post("/invite", {"email": ann}, token=flow.service_role, record=False)
    token = flow.mail.wait(ann).token_hash
    flow.names.learn(token, "invite token")
    Upstream(flow, "github", "bob").sign_in(f"&invite_token={token}", label="with another address")
    back = Upstream(flow, "github", "ann").sign_in(f"&invite_token={token}", label="with the invited address")
    flow.get("/user", token=back.location[2]["access_token"])
    flow.get(f"/authorize?provider=github&invite_token={token}", label="the token is used up")


@scenario("oauth")
def addresses_of_two_accounts_cannot_be_joined(flow):
    flow.new_user("ann"), flow.new_user("bob")
    github = Upstream(flow, "github", emails=[
        {"email": flow.address("ann"), "primary": True, "verified": True},
        {"email": flow.address("bob"), "primary": False, "verified": True},
    ])
    Upstream(flow, "gitlab", "ann").sign_in(label="ann has gitlab")
    github.sign_in(label="github knows both")


@scenario("oauth")
def the_verifier_of_the_servers_own_pkce_is_sent(flow):
    x = Upstream(flow, "x")
    x.sign_in()
    flow.note("x was asked", x.calls())
    state = x.begin(record=False)
    flow.database.query("delete from auth.oauth_client_states")
    x.finish(state, label="the verifier is gone")
    state = x.begin(record=False)
    flow.database.query("update auth.oauth_client_states set created_at = created_at - interval '6 minutes'")
    x.finish(state, label="the verifier is too old")
