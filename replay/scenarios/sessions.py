"""End of sessions: logout, age, inactivity, another sign-in."""

from harness.accounts import alive_sessions, claims, refresh, session_of, set_session, sign_in, token_rows, verified_factor
from harness.registry import scenario


def more_sessions(flow, user, count):
    """Return the user's first session and `count` more."""
    first = {"access_token": user["token"], "refresh_token": user["refresh"]}
    return [first] + [sign_in(flow, user, record=False) for _ in range(count)]


def alive(flow, answers):
    return alive_sessions(flow, *(a["access_token"] for a in answers))


@scenario()
def log_out_everywhere(flow):
    ann = flow.new_user()
    bob = flow.new_user("bob")
    sessions = more_sessions(flow, ann, 2)
    flow.post("/logout", token=sessions[1]["access_token"])
    flow.note("alive", alive(flow, sessions))
    flow.note("refresh tokens left", token_rows(flow, ann["token"]))
    refresh(flow, sessions[2]["refresh_token"], label="refresh")
    flow.get("/user", token=sessions[1]["access_token"])
    flow.post("/logout", token=sessions[1]["access_token"], label="log out again")
    flow.get("/user", token=bob["token"], label="somebody else")


@scenario()
def log_out_here_or_elsewhere(flow):
    ann = flow.new_user()
    sessions = more_sessions(flow, ann, 3)
    flow.post("/logout?scope=local", token=sessions[0]["access_token"])
    flow.note("alive", alive(flow, sessions))
    flow.post("/logout?scope=others", token=sessions[1]["access_token"])
    flow.note("alive", alive(flow, sessions))
    flow.get("/user", token=sessions[1]["access_token"])
    refresh(flow, sessions[1]["refresh_token"])
    flow.post("/logout?scope=global", token=sessions[1]["access_token"])
    flow.note("alive", alive(flow, sessions))


@scenario()
def log_out_with_an_unknown_scope(flow):
    ann = flow.new_user()
    for scope in ("", "everywhere", "GLOBAL", "local "):
        flow.post(f"/logout?scope={scope.replace(' ', '%20')}", token=flow.new_user(scope.strip().lower() or "none")["token"], label=f"scope {scope!r}")
    flow.post("/logout", {"scope": "local"}, token=ann["token"], label="scope in the body is not read")
    flow.note("alive", alive_sessions(flow, ann["token"]))
    flow.post("/logout", label="no token")


@scenario()
def log_out_without_a_session_in_the_token(flow):
    ann = flow.new_user()
    sessions = more_sessions(flow, ann, 1)
    bare = flow.signed({k: v for k, v in claims(ann["token"]).items() if k != "session_id"})
    flow.post("/logout?scope=others", token=bare, label="others")
    flow.note("alive", alive(flow, sessions))


@scenario("sessions-limits")
def older_than_the_timebox(flow):
    ann = flow.new_user()
    answer = refresh(flow, ann["refresh"], label="while young")
    set_session(flow, ann["token"], "created_at = now() - interval '25 hours'")
    refresh(flow, answer["refresh_token"], label="after 25 hours")
    flow.get("/user", token=ann["token"], label="the access token still serves")
    flow.note("alive", alive_sessions(flow, ann["token"]))
    sign_in(flow, ann, label="sign in anew")


@scenario("sessions-limits")
def idle_for_too_long(flow):
    ann = flow.new_user()
    answer = refresh(flow, ann["refresh"], record=False)
    set_session(flow, ann["token"], "created_at = now() - interval '10 hours', refreshed_at = (now() at time zone 'utc') - interval '1 hour'")
    answer = refresh(flow, answer["refresh_token"], label="refreshed an hour ago")
    set_session(flow, ann["token"], "refreshed_at = (now() at time zone 'utc') - interval '3 hours'")
    refresh(flow, answer["refresh_token"], label="refreshed three hours ago")
    set_session(flow, ann["token"], "created_at = now() - interval '30 hours'")
    refresh(flow, answer["refresh_token"], label="too old as well")


@scenario("sessions-limits")
def idle_since_the_sign_in(flow):
    ann = flow.new_user()
    set_session(flow, ann["token"], "created_at = now() - interval '3 hours'")
    flow.database.query(f"update auth.refresh_tokens set updated_at = now() - interval '3 hours' where session_id = '{session_of(ann['token'])}'")
    refresh(flow, ann["refresh"], label="never refreshed, three hours old")
    second = sign_in(flow, ann, record=False)
    set_session(flow, second["access_token"], "created_at = now() - interval '3 hours'")
    refresh(flow, second["refresh_token"], label="the token's row touched a moment ago")


@scenario("sessions-single")
def only_the_newest_may_refresh(flow):
    ann = flow.new_user()
    second = sign_in(flow, ann, record=False)
    refresh(flow, ann["refresh"], label="the first session")
    flow.get("/user", token=ann["token"], label="its access token still serves")
    answer = refresh(flow, second["refresh_token"], label="the second session")
    third = sign_in(flow, ann, record=False)
    refresh(flow, answer["refresh_token"], label="the second session after a third")
    refresh(flow, third["refresh_token"], label="the third session")
    flow.note("alive", alive_sessions(flow, ann["token"], second["access_token"], third["access_token"]))


@scenario("sessions-single")
def the_newer_one_has_logged_out(flow):
    ann = flow.new_user()
    second = sign_in(flow, ann, record=False)
    refresh(flow, ann["refresh"], label="the first session")
    flow.post("/logout?scope=local", token=second["access_token"])
    refresh(flow, ann["refresh"], label="the first session afterwards")


@scenario("sessions-low-aal")
def without_the_second_factor(flow):
    ann = flow.new_user()
    bob = flow.new_user("bob")
    verified_factor(flow, ann)
    set_session(flow, ann["token"], "created_at = now() - interval '4 minutes'")
    answer = refresh(flow, ann["refresh"], record=False)
    flow.note("minutes until the token expires", round((answer["expires_at"] - claims(answer["access_token"])["iat"]) / 60))
    flow.note("expires_in says so too", abs(answer["expires_in"] - 360) < 10)
    set_session(flow, ann["token"], "created_at = now() - interval '11 minutes'")
    refresh(flow, answer["refresh_token"], label="after eleven minutes")
    set_session(flow, bob["token"], "created_at = now() - interval '11 minutes'")
    refresh(flow, bob["refresh"], label="an account without a second factor")


@scenario("sessions-low-aal")
def with_the_second_factor(flow):
    ann = flow.new_user()
    verified_factor(flow, ann)
    flow.database.query(
        "insert into auth.mfa_amr_claims (id, session_id, authentication_method, created_at, updated_at)"
        f" values (gen_random_uuid(), '{session_of(ann['token'])}', 'totp', now(), now() + interval '1 minute')")
    set_session(flow, ann["token"], "aal = 'aal2', created_at = now() - interval '11 minutes'")
    refresh(flow, ann["refresh"])


@scenario()
def with_an_end_of_its_own(flow):
    ann = flow.new_user()
    set_session(flow, ann["token"], "not_after = now() + interval '1 hour'")
    answer = refresh(flow, ann["refresh"], label="before the end")
    set_session(flow, ann["token"], "not_after = now() - interval '1 second'")
    refresh(flow, answer["refresh_token"], label="after the end")
    flow.get("/user", token=ann["token"])


@scenario()
def administrators_with_a_session(flow):
    ann = flow.new_user()
    admin = flow.signed({**claims(ann["token"]), "role": "service_role"})
    flow.get(f"/admin/users/{ann['id']}", token=admin, label="a valid session")
    set_session(flow, ann["token"], "not_after = now() - interval '1 second'")
    flow.get(f"/admin/users/{ann['id']}", token=admin, label="an ended session")
    flow.get("/user", token=admin, label="as a user, ended session")
