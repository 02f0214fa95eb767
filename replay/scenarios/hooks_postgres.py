"""Hooks that are functions in the database."""

from harness import pghooks
from harness.registry import scenario


def sign_in(flow, ann, **more):
    return flow.post("/token?grant_type=password", {"email": ann["email"], "password": ann["password"]}, **more)


def create_user(flow, local_part="ann"):
    pghooks.reset(flow)
    ann = flow.new_user(local_part)
    pghooks.reset(flow)
    return ann


@scenario("hooks_postgres")
def token_function_sees_the_claims_and_adds_one(flow):
    ann = create_user(flow)
    pghooks.answer(flow, "token", {"add": {"plan": "pro", "role": "editor"}})
    session = sign_in(flow, ann)
    flow.note("called with", pghooks.calls(flow, "token"))
    flow.post("/token?grant_type=refresh_token", {"refresh_token": session["refresh_token"]})
    flow.note("authentication method", [c["authentication_method"] for c in pghooks.calls(flow, "token")])


@scenario("hooks_postgres")
def token_function_answers_badly(flow):
    ann = create_user(flow)
    for value in ({}, {"claims": None}, {"claims": {}}, [], "claims", 3, {"error": {"http_code": 403, "message": "Not here"}}, {"error": {"message": "Trouble"}}):
        pghooks.answer(flow, "token", value)
        sign_in(flow, ann, label=f"returns {value!r}")


@scenario("hooks_postgres")
def token_function_raises(flow):
    ann = create_user(flow)
    for state in ("P0001", "23505", "42501", "PT402", "22012", "XX000"):
        pghooks.answer(flow, "token", raising="No more licences", state=state)
        sign_in(flow, ann, label=f"raises {state}")
    sign_in(flow, ann, label="by API version", headers={"X-Supabase-Api-Version": "2024-01-01"})
    flow.note("calls that were committed", len(pghooks.calls(flow, "token")))


@scenario("hooks_postgres")
def token_function_is_stopped_after_two_seconds(flow):
    ann = create_user(flow)
    pghooks.answer(flow, "token", seconds=2.6)
    sign_in(flow, ann, label="too slow")
    pghooks.answer(flow, "token", seconds=0.3)
    flow.note("slow", sign_in(flow, ann, record=False).status)


@scenario("hooks_postgres")
def password_function_hears_and_refuses(flow):
    ann = create_user(flow)
    sign_in(flow, {**ann, "password": "wrong horse"}, label="wrong password")
    flow.note("called with", pghooks.calls(flow, "password"))
    pghooks.answer(flow, "password", {"decision": "reject", "message": "Locked", "should_logout_user": True})
    sign_in(flow, ann)
    flow.get("/user", token=ann["token"], label="the session is gone")
    pghooks.answer(flow, "password", raising="Broken")
    sign_in(flow, ann, label="raises")
    pghooks.answer(flow, "password", {"decision": "continue"})
    sign_in(flow, ann, label="continue")


@scenario("hooks_postgres")
def mfa_function_hears_and_refuses(flow):
    ann = create_user(flow)
    factor = flow.post("/factors", {"factor_type": "totp"}, token=ann["token"], record=False)
    challenge = flow.post(f"/factors/{factor['id']}/challenge", {}, token=ann["token"], record=False)["id"]
    attempt = {"challenge_id": challenge, "code": "000000"}
    flow.post(f"/factors/{factor['id']}/verify", attempt, token=ann["token"])
    flow.note("called with", pghooks.calls(flow, "mfa"))
    pghooks.answer(flow, "mfa", raising="Broken", state="P0001")
    flow.post(f"/factors/{factor['id']}/verify", attempt, token=ann["token"], label="raises")
    pghooks.answer(flow, "mfa", {"decision": "reject"})
    flow.post(f"/factors/{factor['id']}/verify", attempt, token=ann["token"], label="rejects")
    flow.get("/user", token=ann["token"], label="the session is gone")


@scenario("hooks_postgres")
def user_functions_hear_of_a_sign_up(flow):
    pghooks.reset(flow)
    flow.post("/signup", {"email": flow.address("ann"), "password": "correct horse", "data": {"name": "Ann"}})
    flow.note("before", pghooks.calls(flow, "before"))
    flow.note("after a confirmed sign-up", pghooks.calls(flow, "after"))
    flow.post("/otp", {"email": flow.address("bob")}, record=False)
    flow.note("after a first sign-in link", pghooks.calls(flow, "after"))


@scenario("hooks_postgres")
def before_function_turns_a_sign_up_away(flow):
    pghooks.reset(flow)
    ann = {"email": flow.address("ann"), "password": "correct horse"}
    pghooks.answer(flow, "before", {"error": {"http_code": 400, "message": "Members only"}})
    flow.post("/signup", ann)
    pghooks.answer(flow, "before", raising="Members only")
    flow.post("/signup", ann, label="raises")
    pghooks.answer(flow, "before", seconds=2.6)
    flow.post("/signup", ann, label="too slow")
    pghooks.answer(flow, "before", {"anything": "else"})
    flow.post("/signup", ann, label="anything else passes")


@scenario("hooks_postgres_send")
def mail_function_takes_the_place_of_smtp(flow):
    pghooks.reset(flow)
    ann = flow.address("ann")
    flow.post("/signup", {"email": ann, "password": "correct horse"})
    event = pghooks.calls(flow, "email")[0]
    flow.note("called with", event)
    flow.post("/verify", {"type": "signup", "email": ann, "token": event["email_data"]["token"]})
    flow.note("mails by SMTP", flow.mail.count(settle=0.1))


@scenario("hooks_postgres_send")
def mail_function_fails_within_the_transaction(flow):
    pghooks.reset(flow)
    ann = {"email": flow.address("ann"), "password": "correct horse"}
    pghooks.answer(flow, "email", raising="Mailbox on fire")
    flow.post("/signup", ann, label="raises")
    pghooks.answer(flow, "email", {"error": {"http_code": 403, "message": "Blocked"}})
    flow.post("/signup", ann, label="an error")
    pghooks.answer(flow, "email", seconds=2.6)
    flow.post("/signup", ann, label="too slow")
    flow.note("calls and users that stayed", flow.database.query(
        f"select (select count(*) from public.calls), (select count(*) from auth.users where email = '{ann['email']}')"))


@scenario("hooks_postgres_send")
def text_function_takes_the_place_of_the_provider(flow):
    pghooks.reset(flow)
    phone = flow.phone()
    flow.post("/signup", {"phone": phone, "password": "correct horse"})
    event = pghooks.calls(flow, "sms")[0]
    flow.note("called with", event)
    flow.post("/verify", {"type": "sms", "phone": phone, "token": event["sms"]["otp"]})
    pghooks.answer(flow, "sms", raising="No network", state="P0001")
    flow.post("/otp", {"phone": flow.phone(1)}, label="raises")


@scenario("hooks_postgres_odd")
def functions_of_odd_kinds(flow):
    flow.post("/signup", {"email": flow.address("ann"), "password": "correct horse"}, label="before: returns nothing")
    ann = {"email": flow.address("bob"), "password": "correct horse"}
    flow.post("/admin/users", {**ann, "email_confirm": True}, token=flow.service_role, record=False)
    sign_in(flow, ann, label="password: no such function")
    link = flow.post("/admin/generate_link", {"type": "magiclink", "email": ann["email"]}, token=flow.service_role, record=False)
    session = flow.post("/verify", {"type": "magiclink", "token_hash": link["hashed_token"]}, label="token: json in, json out")
    factor = flow.post("/factors", {"factor_type": "totp"}, token=session["access_token"], record=False)["id"]
    challenge = flow.post(f"/factors/{factor}/challenge", {}, token=session["access_token"], record=False)["id"]
    flow.post(f"/factors/{factor}/verify", {"challenge_id": challenge, "code": "000000"}, token=session["access_token"], label="mfa: returns null")
