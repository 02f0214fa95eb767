"""Reauthentication: GET /reauthenticate and the nonce in PUT /user."""

from harness.messages import email_facts, backdate, text_message
from harness.registry import scenario


def an_old_session(flow, user):
    flow.database.query(f"update auth.sessions set created_at = now() - interval '25 hours' where user_id = '{user['id']}'")


@scenario("reauthenticate-required")
def old_session_needs_the_mailed_nonce(flow):
    ann = flow.new_user()
    an_old_session(flow, ann)
    flow.put("/user", {"password": "battery staple"}, token=ann["token"])
    flow.put("/user", {"password": "battery staple", "nonce": "123456"}, token=ann["token"], label="a nonce nobody sent")
    flow.get("/reauthenticate", token=ann["token"])
    mail = flow.mail.wait(ann["email"])
    flow.note("mail", email_facts(mail))
    flow.put("/user", {"password": "battery staple", "nonce": "0" + mail.code}, token=ann["token"], label="a wrong nonce")
    flow.put("/user", {"password": "battery staple", "nonce": mail.code}, token=ann["token"])
    flow.put("/user", {"password": "third time", "nonce": mail.code}, token=ann["token"], label="the nonce again")
    flow.post("/token?grant_type=password", {"email": ann["email"], "password": "battery staple"})


@scenario("reauthenticate-required")
def young_session_needs_no_nonce(flow):
    ann = flow.new_user()
    flow.put("/user", {"password": "battery staple"}, token=ann["token"])
    flow.put("/user", {"password": "third time", "nonce": "999999"}, token=ann["token"], label="a nonce nobody asked for")


@scenario("reauthenticate-required")
def nonce_expires(flow):
    ann = flow.new_user()
    an_old_session(flow, ann)
    flow.get("/reauthenticate", token=ann["token"])
    nonce = flow.mail.wait(ann["email"]).code
    backdate(flow, "reauthentication_sent_at", 86401, email=ann["email"])
    flow.put("/user", {"password": "battery staple", "nonce": nonce}, token=ann["token"])


@scenario("reauthenticate-required")
def number_gets_the_nonce_by_text(flow):
    phone = flow.phone()
    flow.post("/signup", {"phone": phone, "password": "correct horse"}, record=False)
    session = flow.post("/verify", {"type": "sms", "phone": phone, "token": text_message(flow)[2]}, record=False)
    ann = {"id": session["user"]["id"], "token": session["access_token"]}
    an_old_session(flow, ann)
    flow.get("/reauthenticate", token=ann["token"])
    message, _, nonce = text_message(flow)
    flow.note("text message", message)
    flow.put("/user", {"password": "battery staple", "nonce": nonce}, token=ann["token"])


@scenario()
def who_may_not(flow):
    flow.get("/reauthenticate")
    flow.get("/reauthenticate", token=flow.service_role, label="a token without a user")
    flow.post("/reauthenticate", {}, label="POST")


@scenario("otp-codes")
def anonymous_user_has_no_way(flow):
    anonymous = flow.post("/signup", {}, record=False)
    flow.get("/reauthenticate", token=anonymous["access_token"])


@scenario()
def unconfirmed_address(flow):
    ann = flow.new_user()
    flow.database.query(f"update auth.users set email_confirmed_at = null where id = '{ann['id']}'")
    flow.get("/reauthenticate", token=ann["token"])
