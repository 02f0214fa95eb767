"""HTTP hooks: their payloads, and the effect of their responses."""

import time

from harness import webhooks
from harness.registry import scenario


def unchanged(call):
    return {"claims": call["claims"]}


def sign_in(flow, ann, **more):
    return flow.post("/token?grant_type=password", {"email": ann["email"], "password": ann["password"]}, **more)


def with_token_hook(flow, local_part="ann"):
    """Create a user while the token hook changes nothing; drops the hook's calls so far."""
    flow.hooks.reply("/token", 200, unchanged)
    ann = flow.new_user(local_part)
    flow.hooks.wait("/token")
    return ann


# -- custom access token ---------------------------------------------------------------------------


@scenario("hooks_http_token")
def access_token_hook_sees_the_claims_and_adds_one(flow):
    ann = with_token_hook(flow)
    flow.hooks.reply("/token", 200, lambda call: {"claims": {**call["claims"], "plan": "pro", "seats": 3}})
    session = sign_in(flow, ann)
    flow.note("hook call at sign-in", webhooks.take(flow, "/token", "CUSTOM_ACCESS_TOKEN"))
    flow.post("/token?grant_type=refresh_token", {"refresh_token": session["refresh_token"]})
    flow.note("hook call at refresh", webhooks.take(flow, "/token", "CUSTOM_ACCESS_TOKEN"))
    flow.get("/user", token=session["access_token"])


@scenario("hooks_http_token")
def access_token_hook_may_replace_standard_claims(flow):
    ann = with_token_hook(flow)

    def changed(call):
        kept = {k: v for k, v in call["claims"].items() if k not in ("app_metadata", "user_metadata", "amr", "iss")}
        return {"claims": {**kept, "role": "editor", "aud": ["shop", "desk"], "exp": kept["iat"] + 60, "email": "", "nested": {"a": [1, None]}}}

    flow.hooks.reply("/token", 200, changed)
    session = sign_in(flow, ann)
    flow.get("/user", token=session["access_token"])


@scenario("hooks_http_token")
def access_token_hook_must_keep_the_required_claims(flow):
    ann = with_token_hook(flow)
    for claim in ("sub", "exp", "role", "session_id", "is_anonymous"):
        flow.hooks.reply("/token", 200, lambda call: {"claims": {k: v for k, v in call["claims"].items() if k != claim}})
        sign_in(flow, ann, label=f"without {claim}")
    flow.hooks.reply("/token", 200, {"claims": {}})
    sign_in(flow, ann, label="no claims at all")


@scenario("hooks_http_token")
def access_token_hook_must_keep_the_types_of_claims(flow):
    ann = with_token_hook(flow)
    for claim, value in (("exp", "soon"), ("aud", 1), ("role", None), ("email", 5), ("app_metadata", []), ("amr", "pwd"), ("amr", [1])):
        flow.hooks.reply("/token", 200, lambda call: {"claims": {**call["claims"], claim: value}})
        sign_in(flow, ann, label=f"{claim} = {value!r}")


@scenario("hooks_http_token")
def access_token_hook_must_answer_with_claims(flow):
    ann = with_token_hook(flow)
    for answer in ({}, {"claims": None}, {"claims": "all"}, {"claims": []}, [], "claims", None, 7):
        flow.hooks.reply("/token", 200, answer)
        sign_in(flow, ann, label=f"hook answers {answer!r}")


@scenario("hooks_http_token")
def access_token_hook_refuses_with_an_error(flow):
    ann = with_token_hook(flow)
    flow.hooks.reply("/token", 200, {"error": {"http_code": 403, "message": "Not from here"}})
    sign_in(flow, ann, label="403 with a message")
    sign_in(flow, ann, label="the same by API version", headers={"X-Supabase-Api-Version": "2024-01-01"})
    flow.hooks.reply("/token", 200, {"error": {"message": "Some trouble"}})
    sign_in(flow, ann, label="no code")
    flow.hooks.reply("/token", 200, {"error": {"http_code": 409}})
    sign_in(flow, ann, label="no message")
    flow.hooks.reply("/token", 200, lambda call: {"claims": call["claims"], "error": {"http_code": 418, "message": "Teapot"}})
    sign_in(flow, ann, label="claims and an error")
    flow.hooks.reply("/token", 200, lambda call: {"claims": call["claims"], "error": None})
    sign_in(flow, ann, label="claims and a null error")


@scenario("hooks_http_token")
def hook_answers_with_other_statuses(flow):
    ann = with_token_hook(flow)
    for status in (201, 202, 400, 401, 403, 404, 429, 500, 503):
        flow.hooks.reply("/token", status, unchanged)
        sign_in(flow, ann, label=f"hook answers {status}")


@scenario("hooks_http_token")
def hook_answers_with_odd_content(flow):
    ann = with_token_hook(flow)
    json_type = {"Content-Type": "application/json"}
    flow.hooks.reply("/token", 200, b"{claims", json_type)
    sign_in(flow, ann, label="not JSON")
    flow.hooks.reply("/token", 200, b"", json_type)
    sign_in(flow, ann, label="empty")
    flow.hooks.reply("/token", 200, b"{}", {})
    sign_in(flow, ann, label="no content type")
    flow.hooks.reply("/token", 200, b"{}", {"Content-Type": "text/html"})
    sign_in(flow, ann, label="text/html")
    flow.hooks.reply("/token", 200, unchanged, {"Content-Type": "application/json; charset=utf-8"})
    sign_in(flow, ann, label="with a charset")
    flow.hooks.reply("/token", 204, b"", {})
    sign_in(flow, ann, label="204")


@scenario("hooks_http_token")
def hook_answer_may_be_200_kib_and_no_more(flow):
    ann = with_token_hook(flow)
    flow.hooks.reply("/token", 200, b" " * (200 * 1024 + 1), {"Content-Type": "application/json"})
    sign_in(flow, ann, label="one byte over")
    flow.hooks.reply("/token", 200, b" " * (200 * 1024 - 2) + b"{}", {"Content-Type": "application/json"})
    sign_in(flow, ann, label="just within, but no claims")


@scenario("hooks_http_token")
def hook_that_asks_to_wait_is_called_three_times(flow):
    ann = with_token_hook(flow)
    for status in (429, 503):
        flow.hooks.reply("/token", status, {}, {"Retry-After": "1"})
        sign_in(flow, ann, label=f"hook always answers {status} with retry-after")
        seen = [webhooks.take(flow, "/token", "CUSTOM_ACCESS_TOKEN") for _ in range(webhooks.calls(flow, "/token"))]
        flow.note("calls, message ids, payload ids", {
            "calls": len(seen), "signed": [s["signatures"] for s in seen],
            "message ids": len({s["headers"]["webhook-id"] for s in seen}),
            "payload ids": len({s["payload"]["metadata"]["uuid"] for s in seen}),
        })


@scenario("hooks_http_token")
def hook_that_never_answers_is_given_up_after_five_seconds(flow):
    ann = with_token_hook(flow)

    def late(call):
        time.sleep(5.4)
        return unchanged(call)

    flow.hooks.reply("/token", 200, late)
    sign_in(flow, ann)
    flow.note("calls", webhooks.calls(flow, "/token"))


# -- attempts --------------------------------------------------------------------------------------


@scenario("hooks_http_attempts")
def password_hook_hears_of_right_and_wrong_passwords(flow):
    ann = flow.new_user()
    sign_in(flow, ann)
    flow.note("hook call", webhooks.take(flow, "/password", "PASSWORD_VERIFICATION_ATTEMPT"))
    sign_in(flow, {**ann, "password": "wrong horse"}, label="wrong password")
    flow.note("hook call", webhooks.take(flow, "/password", "PASSWORD_VERIFICATION_ATTEMPT"))
    sign_in(flow, {**ann, "email": flow.address("nobody")}, label="unknown address")
    flow.note("hook calls", webhooks.calls(flow, "/password"))


@scenario("hooks_http_attempts")
def password_hook_refuses_an_attempt(flow):
    ann = flow.new_user()
    flow.hooks.reply("/password", 200, {"decision": "reject"})
    sign_in(flow, ann, label="no message")
    flow.hooks.reply("/password", 200, {"decision": "reject", "message": "Too many tries"})
    sign_in(flow, ann, label="with a message")
    sign_in(flow, {**ann, "password": "wrong horse"}, label="wrong password")
    flow.get("/user", token=ann["token"], label="the session lives on")
    flow.hooks.reply("/password", 200, {"decision": "reject", "message": "Signed out", "should_logout_user": True})
    sign_in(flow, ann, label="and sign out")
    flow.get("/user", token=ann["token"], label="the session is gone")
    flow.hooks.reply("/password", 200, {"decision": "continue", "message": "Fine"})
    sign_in(flow, ann, label="continue")


@scenario("hooks_http_attempts")
def password_hook_answers_oddly(flow):
    ann = flow.new_user()
    for answer in ({}, {"decision": "maybe"}, {"decision": 5}, {"decision": "continue", "should_logout_user": "yes"}, [],
                   {"error": {"http_code": 429, "message": "Slow down"}}, {"error": "plain text"}):
        flow.hooks.reply("/password", 200, answer)
        sign_in(flow, ann, label=f"hook answers {answer!r}")


@scenario("hooks_http_attempts")
def mfa_hook_hears_of_right_and_wrong_codes(flow):
    ann = flow.new_user()
    factor = flow.post("/factors", {"factor_type": "totp", "friendly_name": "phone app"}, token=ann["token"], record=False)
    path = f"/factors/{factor['id']}"
    challenge = flow.post(f"{path}/challenge", {}, token=ann["token"], record=False)["id"]
    right = flow.totp(factor["totp"]["secret"])
    wrong = str((int(right) + 1) % 10**6).zfill(6)
    flow.names.learn(right, "right code")
    flow.names.learn(wrong, "wrong code")
    flow.post(f"{path}/verify", {"challenge_id": challenge, "code": wrong}, token=ann["token"], label="wrong code")
    flow.note("hook call", webhooks.take(flow, "/mfa", "MFA_VERIFICATION_ATTEMPT"))
    time.sleep(1.1)  # makes the order of the session's methods deterministic
    flow.post(f"{path}/verify", {"challenge_id": challenge, "code": right}, token=ann["token"], label="right code")
    flow.note("hook call", webhooks.take(flow, "/mfa", "MFA_VERIFICATION_ATTEMPT"))


@scenario("hooks_http_attempts")
def mfa_hook_refuses_and_signs_out(flow):
    ann = flow.new_user()
    factor = flow.post("/factors", {"factor_type": "totp"}, token=ann["token"], record=False)
    path = f"/factors/{factor['id']}"
    challenge = flow.post(f"{path}/challenge", {}, token=ann["token"], record=False)["id"]
    code = flow.totp(factor["totp"]["secret"])
    flow.names.learn(code, "code")
    flow.hooks.reply("/mfa", 200, {"error": {"http_code": 403, "message": "Not now"}})
    flow.post(f"{path}/verify", {"challenge_id": challenge, "code": code}, token=ann["token"], label="an error")
    flow.hooks.reply("/mfa", 200, {"decision": "reject", "message": "Call the help desk"})
    flow.post(f"{path}/verify", {"challenge_id": challenge, "code": code}, token=ann["token"], label="reject")
    flow.get("/user", token=ann["token"], label="the session is gone")


# -- users -----------------------------------------------------------------------------------------


@scenario("hooks_http_created")
def hooks_hear_of_a_sign_up_before_and_after(flow):
    ann = flow.address("ann")
    flow.post("/signup", {"email": ann, "password": "correct horse", "data": {"name": "Ann", "age": 30}})
    flow.note("before", webhooks.take(flow, "/before", "BEFORE_USER_CREATED"))
    flow.note("after", webhooks.take(flow, "/after", "AFTER_USER_CREATED"))
    flow.post("/signup", {"email": ann, "password": "correct horse"}, label="the same address again")
    flow.note("further calls", {p: webhooks.calls(flow, p) for p in ("/before", "/after")})


@scenario("hooks_http_created")
def before_hook_turns_a_sign_up_away(flow):
    ann = flow.address("ann")
    flow.hooks.reply("/before", 200, {"error": {"http_code": 422, "message": "Only company addresses"}})
    flow.post("/signup", {"email": ann, "password": "correct horse"})
    flow.post("/signup", {"email": ann, "password": "correct horse"}, headers={"X-Supabase-Api-Version": "2024-01-01"})
    flow.note("after is not called, nothing is stored, nothing is mailed", {
        "after": webhooks.calls(flow, "/after"), "mails": flow.mail.count(ann, settle=0.1),
        "users": flow.database.query(f"select count(*) from auth.users where email = '{ann}'"),
    })
    flow.hooks.reply("/before", 200, {"error": {"message": "Something else"}})
    flow.post("/signup", {"email": ann, "password": "correct horse"}, label="no code")
    flow.hooks.reply("/before", 500, {})
    flow.post("/signup", {"email": ann, "password": "correct horse"}, label="the hook fails")
    flow.hooks.reply("/before", 200, {})
    flow.post("/signup", {"email": ann, "password": "correct horse"}, label="now let in")


@scenario("hooks_http_created")
def after_hook_fails_when_the_user_is_stored(flow):
    ann = flow.address("ann")
    flow.hooks.reply("/after", 200, {"error": {"http_code": 409, "message": "Too late"}})
    flow.post("/signup", {"email": ann, "password": "correct horse"})
    flow.note("users", flow.database.query(f"select count(*) from auth.users where email = '{ann}'"))
    flow.post("/signup", {}, label="anonymous")


@scenario("hooks_http_created")
def every_way_to_a_new_account_is_announced(flow):
    def announced(label):
        with flow.hooks.lock:
            paths = sorted(c["path"] for c in flow.hooks.calls if c["path"] != "/sms")
            flow.hooks.calls.clear()
        flow.note(f"calls: {label}", paths)

    flow.post("/signup", {"data": {"guest": True}}, record=False)
    announced("anonymous")
    flow.post("/signup", {"phone": flow.phone(), "password": "correct horse"}, record=False)
    announced("phone sign-up")
    flow.post("/otp", {"email": flow.address("bea")}, record=False)
    announced("one-time password by mail")
    flow.post("/otp", {"phone": flow.phone(1)}, record=False)
    announced("one-time password by text")
    flow.post("/magiclink", {"email": flow.address("cid")}, record=False)
    announced("magic link")
    flow.post("/invite", {"email": flow.address("dee")}, token=flow.service_role, record=False)
    announced("invitation")
    flow.post("/admin/generate_link", {"type": "signup", "email": flow.address("eve"), "password": "correct horse"}, token=flow.service_role, record=False)
    announced("generated sign-up link")
    flow.post("/admin/generate_link", {"type": "magiclink", "email": flow.address("fay")}, token=flow.service_role, record=False)
    announced("generated magic link")
    flow.post("/admin/generate_link", {"type": "invite", "email": flow.address("gil")}, token=flow.service_role, record=False)
    announced("generated invitation")
    flow.post("/admin/users", {"email": flow.address("hal")}, token=flow.service_role, record=False)
    announced("made by an administrator")


# -- mail ------------------------------------------------------------------------------------------


@scenario("hooks_http_mail")
def mail_hook_confirms_a_sign_up(flow):
    ann = flow.address("ann")
    flow.post("/signup?redirect_to=https://app.example.com/callback", {"email": ann, "password": "correct horse", "data": {"lang": "de"}})
    seen = webhooks.take(flow, "/email", "SEND_EMAIL")
    flow.note("hook call", seen)
    flow.note("no mail goes by SMTP", flow.mail.count(settle=0.1))
    data = seen["payload"]["email_data"]
    flow.post("/verify", {"type": "signup", "email": ann, "token": data["token"]})
    flow.post("/verify", {"type": "signup", "token_hash": data["token_hash"]}, label="the hash is spent too")


@scenario("hooks_http_mail")
def mail_hook_recovers_and_signs_in(flow):
    ann = webhooks.new_user(flow)
    flow.post("/recover", {"email": ann["email"]})
    recovery = webhooks.take(flow, "/email", "SEND_EMAIL")
    flow.note("recovery", recovery)
    flow.post("/verify", {"type": "recovery", "token_hash": recovery["payload"]["email_data"]["token_hash"]})
    flow.post("/otp", {"email": ann["email"], "create_user": False}, headers={"redirect_to": "myapp://back"})
    link = webhooks.take(flow, "/email", "SEND_EMAIL")
    flow.note("magic link", link["payload"]["email_data"])
    flow.post("/verify", {"type": "email", "email": ann["email"], "token": link["payload"]["email_data"]["token"]})


@scenario("hooks_http_mail")
def mail_hook_invites(flow):
    flow.post("/invite", {"email": flow.address("bob"), "data": {"team": "red"}}, token=flow.service_role)
    seen = webhooks.take(flow, "/email", "SEND_EMAIL")
    flow.note("hook call", seen["payload"])
    flow.post("/verify", {"type": "invite", "token_hash": seen["payload"]["email_data"]["token_hash"]})


@scenario("hooks_http_mail")
def mail_hook_changes_an_address_with_both_confirmations(flow):
    ann = webhooks.new_user(flow)
    new = flow.address("ann.new")
    flow.put("/user", {"email": new}, token=ann["token"])
    seen = webhooks.take(flow, "/email", "SEND_EMAIL")["payload"]
    flow.note("hook call", seen)
    flow.note("one call for both addresses", webhooks.calls(flow, "/email"))
    data = seen["email_data"]
    flow.post("/verify", {"type": "email_change", "email": ann["email"], "token": data["token"]}, label="the present address")
    flow.post("/verify", {"type": "email_change", "token_hash": data["token_hash"]}, label="the new address")
    flow.note("notification", webhooks.take(flow, "/email", "SEND_EMAIL")["payload"]["email_data"])


@scenario("hooks_http_mail")
def mail_hook_asks_who_is_there(flow):
    ann = webhooks.new_user(flow)
    flow.get("/reauthenticate", token=ann["token"])
    flow.note("hook call", webhooks.take(flow, "/email", "SEND_EMAIL")["payload"]["email_data"])


@scenario("hooks_http_mail")
def mail_hook_tells_of_changes_to_an_account(flow):
    ann = webhooks.new_user(flow)
    flow.put("/user", {"password": "another horse"}, token=ann["token"], record=False)
    flow.note("password", webhooks.take(flow, "/email", "SEND_EMAIL")["payload"])
    factor = flow.post("/factors", {"factor_type": "totp"}, token=ann["token"], record=False)
    challenge = flow.post(f"/factors/{factor['id']}/challenge", {}, token=ann["token"], record=False)["id"]
    code = flow.totp(factor["totp"]["secret"])
    session = flow.post(f"/factors/{factor['id']}/verify", {"challenge_id": challenge, "code": code}, token=ann["token"], record=False)
    flow.note("factor on", webhooks.sent_email_payload(flow)["email_data"])
    flow.delete(f"/factors/{factor['id']}", token=session["access_token"], record=False)
    flow.note("factor off", webhooks.sent_email_payload(flow)["email_data"])
    flow.put(f"/admin/users/{ann['id']}", {"email": flow.address("ann.moved")}, token=flow.service_role, record=False)
    flow.note("changes by an administrator", webhooks.calls(flow, "/email"))


@scenario("hooks_http_mail")
def mail_hook_failure_undoes_the_sign_up(flow):
    ann = flow.address("ann")
    flow.hooks.reply("/email", 500, {})
    flow.post("/signup", {"email": ann, "password": "correct horse"}, label="500")
    flow.hooks.reply("/email", 200, {"error": {"http_code": 403, "message": "Blocked domain"}})
    flow.post("/signup", {"email": ann, "password": "correct horse"}, label="an error")
    flow.note("users", flow.database.query(f"select count(*) from auth.users where email = '{ann}'"))
    flow.hooks.reply("/email", 204, b"", {})
    flow.post("/signup", {"email": ann, "password": "correct horse"}, label="204 is enough")
    flow.hooks.reply("/email", 200, {"error": {"http_code": 403, "message": "Blocked domain"}})
    flow.post("/recover", {"email": ann}, label="recovery refused")
    flow.post("/otp", {"email": ann}, label="sign-in link refused")


# -- SMS --------------------------------------------------------------------------------------------


@scenario("hooks_http_mail")
def text_hook_confirms_a_sign_up(flow):
    phone = flow.phone()
    flow.post("/signup", {"phone": f"+{phone}", "password": "correct horse"})
    seen = webhooks.take(flow, "/sms", "SEND_SMS")
    flow.note("hook call", seen)
    flow.post("/verify", {"type": "sms", "phone": phone, "token": seen["payload"]["sms"]["otp"]})


@scenario("hooks_http_mail")
def text_hook_changes_a_number(flow):
    ann = webhooks.new_user(flow)
    phone = flow.phone()
    flow.put("/user", {"phone": phone}, token=ann["token"])
    seen = webhooks.take(flow, "/sms", "SEND_SMS")["payload"]
    flow.note("hook call", seen)
    session = flow.post("/verify", {"type": "phone_change", "phone": phone, "token": seen["sms"]["otp"]}, record=False)
    flow.note("changed", {"phone": session["user"]["phone"], "identities": sorted(i["provider"] for i in session["user"]["identities"])})
    flow.note("notifications", webhooks.calls(flow, "/email"))


@scenario("hooks_http_mail")
def text_hook_carries_a_factor_code(flow):
    ann = webhooks.new_user(flow)
    factor = flow.post("/factors", {"factor_type": "phone", "phone": flow.phone(), "friendly_name": "mobile"}, token=ann["token"])["id"]
    challenge = flow.post(f"/factors/{factor}/challenge", {"channel": "whatsapp"}, token=ann["token"])["id"]
    seen = webhooks.take(flow, "/sms", "SEND_SMS")["payload"]
    flow.note("hook call", seen["sms"])
    time.sleep(1.1)  # makes the order of the session's methods deterministic
    flow.post(f"/factors/{factor}/verify", {"challenge_id": challenge, "code": seen["sms"]["otp"]}, token=ann["token"])
    flow.hooks.reply("/sms", 200, {"error": {"http_code": 403, "message": "No roaming"}})
    flow.post(f"/factors/{factor}/challenge", {}, token=ann["token"], label="the hook refuses")


@scenario("hooks_http_mail")
def text_hook_refuses_a_sign_up(flow):
    phone = flow.phone()
    flow.hooks.reply("/sms", 200, {"error": {"http_code": 406, "message": "No such country"}})
    flow.post("/signup", {"phone": phone, "password": "correct horse"})
    flow.post("/otp", {"phone": phone}, label="one-time password")
    flow.hooks.reply("/sms", 500, {})
    flow.post("/otp", {"phone": phone}, label="the hook fails")
    flow.note("users", flow.database.query(f"select count(*) from auth.users where phone = '{phone}'"))
