"""Resending an e-mail or SMS: POST /resend."""

from harness.messages import email_facts, text_message
from harness.registry import scenario


@scenario()
def confirmation_mail(flow):
    ann = flow.address("ann")
    flow.post("/signup", {"email": ann, "password": "correct horse"}, record=False)
    first = flow.mail.wait(ann)
    flow.post("/resend", {"type": "signup", "email": ann})
    second = flow.mail.wait(ann)
    flow.note("second mail", email_facts(second))
    flow.note("a new token", first.token_hash != second.token_hash)
    flow.get(first.links[0], label="the first link")
    flow.get(second.links[0], label="the second link")
    flow.post("/resend", {"type": "signup", "email": ann}, label="resend to a confirmed address")
    flow.note("mails", flow.mail.count(ann))


@scenario()
def nobody_there(flow):
    ann = flow.new_user()
    for kind in ("signup", "email_change"):
        flow.post("/resend", {"type": kind, "email": flow.address("nobody")}, label=f"{kind} for an unknown address")
        flow.post("/resend", {"type": kind, "email": ann["email"]}, label=f"{kind} with nothing pending")
    for kind in ("sms", "phone_change"):
        flow.post("/resend", {"type": kind, "phone": flow.phone()}, label=f"{kind} for an unknown number")
    flow.note("mails", flow.mail.count())


@scenario()
def wrong_requests(flow):
    ann = flow.address("ann")
    flow.post("/resend", {})
    flow.post("/resend", {"type": "recovery", "email": ann}, label="a type that is not resent")
    flow.post("/resend", {"type": "signup"}, label="signup without an address")
    flow.post("/resend", {"type": "signup", "phone": flow.phone()}, label="signup with a number")
    flow.post("/resend", {"type": "sms", "email": ann}, label="sms with an address")
    flow.post("/resend", {"type": "email_change"}, label="email_change with neither")
    flow.post("/resend", {"type": "phone_change"}, label="phone_change with neither")
    flow.post("/resend", {"type": "signup", "email": ann, "phone": flow.phone()}, label="both")
    flow.post("/resend", {"type": "signup", "email": "ann"}, label="a malformed address")
    flow.post("/resend", {"type": "sms", "phone": "12-34"}, label="a malformed number")
    flow.post("/resend", raw="nothing", label="not JSON")


@scenario()
def email_change_goes_to_both_addresses(flow):
    ann, new = flow.new_user(), flow.address("new")
    flow.put("/user", {"email": new}, token=ann["token"])
    first = flow.mail.wait(new), flow.mail.wait(ann["email"])
    flow.post("/resend", {"type": "email_change", "email": new}, label="resend by the new address")
    flow.note("mails", flow.mail.count())
    flow.post("/resend", {"type": "email_change", "email": ann["email"]}, label="resend by the current address")
    second = flow.mail.wait(new), flow.mail.wait(ann["email"])
    flow.note("mails to the new and the current address", [email_facts(m) for m in second])
    flow.get(first[0].links[0], label="the first link to the new address")
    flow.get(second[0].links[0], label="the second link to the new address")
    flow.get(second[1].links[0], label="the second link to the current address")


@scenario("otp-codes")
def text_message_again(flow):
    phone = flow.phone()
    flow.post("/signup", {"phone": phone, "password": "correct horse"})
    first = text_message(flow)[2]
    flow.post("/resend", {"type": "sms", "phone": phone})
    message, _, second = text_message(flow)
    flow.note("second message", message)
    if first != second:
        flow.post("/verify", {"type": "sms", "phone": phone, "token": first}, label="the first code")
    flow.post("/verify", {"type": "sms", "phone": phone, "token": second}, label="the second code")
    flow.post("/resend", {"type": "sms", "phone": phone}, label="resend to a confirmed number")
    flow.note("more messages", len(flow.hooks.calls))


@scenario("otp-codes")
def test_number_again(flow):
    flow.post("/signup", {"phone": "15550100002", "password": "correct horse"})
    flow.post("/resend", {"type": "sms", "phone": "15550100002"})
    flow.post("/verify", {"type": "sms", "phone": "15550100002", "token": "654321"})


@scenario("otp-off")
def providers_off(flow):
    flow.post("/resend", {"type": "signup", "email": flow.address("ann")})
    flow.post("/resend", {"type": "sms", "phone": flow.phone()})
