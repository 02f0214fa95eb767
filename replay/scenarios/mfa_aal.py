"""Authenticator assurance levels: what raises and lowers them, and what they allow."""

import time

from harness.accounts import claims, refresh, session_of, set_session, sign_in
from harness.factors import another_session, challenge, enrol, rows, second_factor, step_up, unenrol, verify
from harness.messages import text_message
from harness.registry import scenario


def assurance(token):
    payload = claims(token)
    return {"aal": payload["aal"], "amr": [proof["method"] for proof in payload["amr"]], "life": payload["exp"] - payload["iat"]}


def stored_level(flow, token):
    row, = rows(flow, f"select aal, factor_id from auth.sessions where id = '{session_of(token)}'")
    return row


def phone_factor(flow, user):
    """Enrol and verify a phone factor, which raises the session to aal2."""
    made = enrol(flow, user["token"], {"factor_type": "phone", "phone": flow.phone(), "friendly_name": "phone"}, record=False)
    issued = challenge(flow, user["token"], made["id"], {}, record=False)
    done = verify(flow, user["token"], made["id"], issued["id"], text_message(flow)[2], record=False)
    user["token"], user["refresh"] = done["access_token"], done["refresh_token"]
    return made["id"]


@scenario("mfa_aal")
def two_kinds_of_factors_in_one_session(flow):
    ann = flow.new_user()
    factor = second_factor(flow, ann, "app")
    flow.note("after TOTP", assurance(ann["token"]))
    flow.note("stored", stored_level(flow, ann["token"]))
    phone = phone_factor(flow, ann)
    flow.note("after the phone", assurance(ann["token"]))
    flow.note("stored", stored_level(flow, ann["token"]))
    unenrol(flow, ann["token"], phone)
    back = refresh(flow, ann["refresh"], record=False)
    flow.note("without the phone", assurance(back["access_token"]))
    flow.note("stored", stored_level(flow, ann["token"]))
    unenrol(flow, back["access_token"], factor["id"], label="remove the other factor too")


@scenario("mfa_aal")
def verification_keeps_unverified_factors_of_other_types(flow):
    ann = flow.new_user()
    enrol(flow, ann["token"], {"factor_type": "phone", "phone": flow.phone(), "friendly_name": "phone"}, record=False)
    enrol(flow, ann["token"], {"factor_type": "webauthn", "friendly_name": "key"}, record=False)
    enrol(flow, ann["token"], {"friendly_name": "unused app"}, record=False)
    second_factor(flow, ann, "app")
    factors = flow.get("/user", token=ann["token"], record=False)["factors"]
    flow.note("factors", sorted(f"{f['friendly_name']}: {f['status']}" for f in factors))


@scenario("mfa_aal")
def low_sessions_of_protected_accounts_are_short(flow):
    ann = flow.new_user()
    flow.note("without factors", assurance(ann["token"]))
    second_factor(flow, ann)
    flow.note("aal2", assurance(ann["token"]))
    weak = another_session(flow, ann)
    flow.note("aal1", assurance(weak["token"]))
    set_session(flow, weak["token"], "created_at = now() - interval '16 minutes'")
    refresh(flow, weak["refresh"], label="aal1 after 16 minutes")
    set_session(flow, ann["token"], "created_at = now() - interval '16 minutes'")
    refresh(flow, ann["refresh"], label="aal2 after 16 minutes")


@scenario("mfa_aal")
def strong_session_changes_password_and_address(flow):
    ann = flow.new_user()
    second_factor(flow, ann)
    weak = another_session(flow, ann)
    flow.put("/user", {"password": "another horse"}, token=ann["token"])
    flow.get("/user", token=weak["token"], label="the weak session")
    flow.put("/user", {"email": flow.address("new")}, token=ann["token"])


@scenario("mfa_aal")
def unverified_factor_changes_nothing(flow):
    ann = flow.new_user()
    enrol(flow, ann["token"], record=False)
    flow.put("/user", {"password": "another horse"}, token=ann["token"])
    enrol(flow, ann["token"], {"friendly_name": "second"})
    flow.note("next sign-in", assurance(another_session(flow, {**ann, "password": "another horse"})["token"]))


@scenario("mfa_aal")
def mailed_sign_in_of_a_protected_account_is_aal1(flow):
    ann = flow.new_user()
    second_factor(flow, ann)
    flow.post("/recover", {"email": ann["email"]}, record=False)
    back = flow.post("/verify", {"type": "recovery", "token_hash": flow.mail.wait(ann["email"]).token_hash})
    flow.put("/user", {"password": "another horse"}, token=back["access_token"], label="a new password")


@scenario("mfa_aal")
def administrator_removes_the_factor(flow):
    ann = flow.new_user()
    factor = second_factor(flow, ann)
    flow.delete(f"/admin/users/{ann['id']}/factors/{factor['id']}", token=flow.service_role)
    flow.note("stored", stored_level(flow, ann["token"]))
    back = refresh(flow, ann["refresh"])
    flow.note("after the refresh", assurance(back["access_token"]))


@scenario("mfa_aal")
def account_without_an_address_cannot_have_totp(flow):
    phone = flow.phone(7)
    flow.post("/admin/users", {"phone": phone, "password": "correct horse", "phone_confirm": True}, token=flow.service_role, record=False)
    ann = flow.post("/token?grant_type=password", {"phone": phone, "password": "correct horse"}, record=False)
    enrol(flow, ann["access_token"])
    enrol(flow, ann["access_token"], {"factor_type": "phone", "phone": flow.phone(8)}, label="a phone factor instead")


@scenario("mfa_aal")
def tokens_without_a_session(flow):
    ann = flow.new_user()
    now = int(time.time())
    bare = flow.signed({"sub": ann["id"], "aud": "authenticated", "role": "authenticated", "iat": now, "exp": now + 600})
    enrol(flow, bare)
    enrol(flow, flow.service_role, label="service role")


@scenario("mfa_aal")
def signing_out_elsewhere_after_stepping_up(flow):
    ann = flow.new_user()
    factor = second_factor(flow, ann)
    other = another_session(flow, ann)
    step_up(flow, other, factor)
    flow.get("/user", token=ann["token"], label="both sessions are aal2")
    flow.post("/logout?scope=others", token=other["token"])
    flow.get("/user", token=ann["token"], label="the first session")
    sign_in(flow, ann, label="a new sign-in")
