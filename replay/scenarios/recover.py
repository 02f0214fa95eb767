"""Password recovery: POST /recover, the link, a new password."""

from harness.messages import code_in_subject, email_facts, backdate
from harness.registry import scenario


@scenario()
def link_signs_in_and_the_password_is_set_anew(flow):
    ann = flow.new_user()
    flow.post("/recover", {"email": ann["email"]})
    mail = flow.mail.wait(ann["email"])
    flow.note("mail", email_facts(mail))
    fragment = flow.get(mail.links[0]).location[2]
    flow.put("/user", {"password": "battery staple"}, token=fragment["access_token"])
    flow.post("/token?grant_type=password", {"email": ann["email"], "password": "correct horse"}, label="the old password")
    flow.post("/token?grant_type=password", {"email": ann["email"], "password": "battery staple"}, label="the new password")
    flow.get("/user", token=ann["token"], label="the session from before")


@scenario()
def unknown_address_is_not_told(flow):
    ann = flow.address("ann")
    flow.post("/recover", {"email": ann})
    flow.note("mails", flow.mail.count(ann))


@scenario("otp-codes")
def mailed_code_recovers(flow):
    ann = flow.new_user()
    flow.post("/recover", {"email": ann["email"].upper()}, label="recover, in capitals")
    mail = flow.mail.wait(ann["email"])
    flow.note("mail", email_facts(mail))
    flow.post("/verify", {"type": "recovery", "email": ann["email"].upper(), "token": code_in_subject(mail)})


@scenario()
def wrong_requests(flow):
    flow.post("/recover", {})
    flow.post("/recover", {"email": ""}, label="an empty address")
    flow.post("/recover", {"email": "ann at home"}, label="a malformed address")
    flow.post("/recover", {"email": None}, label="null")
    flow.post("/recover", {"email": ["ann@example.com"]}, label="an array")
    flow.post("/recover", raw="", label="no body")
    flow.post("/recover", {"email": flow.address("ann"), "code_challenge_method": "s256"}, label="a method without a challenge")


@scenario()
def link_expires(flow):
    ann = flow.new_user()
    flow.post("/recover", {"email": ann["email"]})
    mail = flow.mail.wait(ann["email"])
    backdate(flow, "recovery_sent_at", 86401, email=ann["email"])
    flow.get(mail.links[0])
    flow.post("/verify", {"type": "recovery", "token_hash": mail.token_hash})
    backdate(flow, "recovery_sent_at", 86390, email=ann["email"])
    flow.post("/verify", {"type": "recovery", "token_hash": mail.token_hash}, label="ten seconds before it ends")


@scenario()
def recovery_confirms_an_address(flow):
    ann = flow.address("ann")
    flow.post("/signup", {"email": ann, "password": "correct horse"})
    confirmation = flow.mail.wait(ann)
    flow.post("/recover", {"email": ann})
    mail = flow.mail.wait(ann)
    flow.note("mail", email_facts(mail))
    flow.get(mail.links[0])
    flow.get(confirmation.links[0], label="the confirmation link died with it")
    flow.post("/token?grant_type=password", {"email": ann, "password": "correct horse"})


@scenario("otp-off")
def email_off(flow):
    flow.post("/recover", {"email": flow.address("ann")})
    flow.post("/recover", {}, label="the switch is looked at first")
