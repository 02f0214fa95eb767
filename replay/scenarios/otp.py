"""One-time codes by e-mail and SMS: POST /otp."""

from harness.messages import code_in_subject, email_facts, backdate, text_message
from harness.registry import scenario


# -- e-mail ----------------------------------------------------------------------------------------


@scenario()
def new_address_gets_a_confirmation_mail(flow):
    ann = flow.address("ann")
    flow.post("/otp", {"email": ann, "data": {"name": "Ann", "shoe": 38}})
    mail = flow.mail.wait(ann)
    flow.note("mail", email_facts(mail))
    flow.get(mail.links[0])


@scenario()
def known_address_gets_a_sign_in_link(flow):
    ann = flow.new_user(data={"name": "Ann"})
    flow.post("/otp", {"email": ann["email"], "data": {"name": "Someone else"}})
    mail = flow.mail.wait(ann["email"])
    flow.note("mail", email_facts(mail))
    flow.get(mail.links[0])
    flow.get(mail.links[0], label="the same link again")


@scenario("otp-codes")
def mailed_code_signs_in_once(flow):
    ann = flow.address("ann")
    flow.post("/otp", {"email": ann})
    mail = flow.mail.wait(ann)
    flow.note("mail", email_facts(mail))
    code = code_in_subject(mail)
    flow.post("/verify", {"type": "email", "email": ann, "token": code})
    flow.post("/verify", {"type": "email", "email": ann, "token": code}, label="the same code again")


@scenario("otp-codes")
def mailed_code_of_a_known_user_signs_in(flow):
    ann = flow.new_user()
    flow.post("/otp", {"email": ann["email"]})
    code = code_in_subject(flow.mail.wait(ann["email"]))
    flow.post("/verify", {"type": "email", "email": ann["email"], "token": "000000" if code != "000000" else "000001"}, label="a wrong code")
    flow.post("/verify", {"type": "email", "email": ann["email"], "token": code})


@scenario()
def unconfirmed_user_gets_the_confirmation_again(flow):
    ann = flow.address("ann")
    flow.post("/signup", {"email": ann, "password": "correct horse"})
    first = flow.mail.wait(ann)
    flow.post("/otp", {"email": ann})
    second = flow.mail.wait(ann)
    flow.note("second mail", email_facts(second))
    flow.get(first.links[0], label="the first link")
    flow.get(second.links[0], label="the second link")
    flow.post("/token?grant_type=password", {"email": ann, "password": "correct horse"})


@scenario()
def no_account_is_made_when_told_not_to(flow):
    ann = flow.new_user()
    bob = flow.address("bob")
    flow.post("/otp", {"email": bob, "create_user": False})
    flow.post("/otp", {"email": "no address", "create_user": False}, label="a malformed address")
    flow.post("/otp", {"phone": flow.phone(), "create_user": False}, label="an unknown number")
    flow.post("/otp", {"phone": "abc", "create_user": False}, label="a malformed number")
    flow.note("accounts of bob", flow.database.query(f"select count(*) from auth.users where email = '{bob}'"))
    flow.post("/otp", {"email": ann["email"], "create_user": False}, label="a known address")
    flow.note("mail", email_facts(flow.mail.wait(ann["email"])))


@scenario()
def exactly_one_recipient_is_needed(flow):
    ann = flow.address("ann")
    flow.post("/otp", {"email": ann, "phone": flow.phone()})
    flow.post("/otp", {})
    flow.post("/otp", {"email": "", "phone": ""}, label="empty strings")
    flow.post("/otp", {"create_user": False}, label="neither, and no new account")
    flow.post("/otp", {"email": ann, "channel": "sms"}, label="a channel with an address")


@scenario()
def malformed_addresses(flow):
    for email in ("plain", "a@b c", "@example.com", "ann@", "ann@exa_mple.com", "ann@-example.com", "a" * 250 + "@example.com", "änn@example.com"):
        flow.post("/otp", {"email": email}, label=f"otp for {email[:24]}")


@scenario()
def odd_bodies(flow):
    flow.post("/otp", raw="")
    flow.post("/otp", raw="{", label="cut off")
    flow.post("/otp", raw="[]", label="an array")
    flow.post("/otp", {"email": 7}, label="a number as the address")
    flow.post("/otp", {"email": flow.address("ann"), "create_user": "no"}, label="a word as create_user")
    flow.post("/otp", {"email": flow.address("ann"), "data": "no object"}, label="a word as data")
    flow.post("/otp", form={"email": flow.address("ann")}, label="a form")
    flow.post("/otp", {"email": flow.address("ann"), "extra": [1], "data": None}, label="an unknown field, null data")


# -- phone -----------------------------------------------------------------------------------------


@scenario("otp-codes")
def new_number_gets_a_text_message(flow):
    phone = flow.phone()
    flow.post("/otp", {"phone": "+" + phone, "data": {"name": "Ann"}})
    message, _, code = text_message(flow)
    flow.note("text message", message)
    flow.post("/verify", {"type": "sms", "phone": phone, "token": code})
    flow.post("/verify", {"type": "sms", "phone": phone, "token": code}, label="the same code again")


@scenario("otp-codes")
def known_number_signs_in_again(flow):
    phone = flow.phone()
    flow.post("/otp", {"phone": phone}, record=False)
    flow.post("/verify", {"type": "sms", "phone": phone, "token": text_message(flow)[2]}, record=False)
    flow.post("/otp", {"phone": phone})
    message, _, code = text_message(flow)
    flow.note("text message", message)
    flow.post("/verify", {"type": "sms", "phone": f"+{phone[:4]} {phone[4:]}", "token": code}, label="verify, the number with plus and space")


@scenario("otp-codes")
def texted_code_expires(flow):
    phone = flow.phone()
    flow.post("/otp", {"phone": phone})
    code = text_message(flow)[2]
    backdate(flow, "confirmation_sent_at", 61, phone=phone)
    flow.post("/verify", {"type": "sms", "phone": phone, "token": code})


@scenario("otp-codes")
def hook_that_refuses_keeps_the_account_away(flow):
    phone = flow.phone()
    flow.hooks.reply("/sms", 200, {"error": {"http_code": 402, "message": "no credit left"}})
    flow.post("/otp", {"phone": phone})
    flow.note("accounts", flow.database.query(f"select count(*) from auth.users where phone = '{phone}'"))
    flow.hooks.reply("/sms", 500, {})
    flow.post("/otp", {"phone": phone}, label="the hook fails")
    flow.hooks.reply("/sms", 200, {})
    flow.post("/otp", {"phone": phone, "channel": "carrier-pigeon"}, label="any channel passes with a hook")


@scenario("otp-codes")
def test_number_has_a_fixed_code(flow):
    phone = "15550100001"
    flow.post("/otp", {"phone": phone})
    flow.post("/verify", {"type": "sms", "phone": phone, "token": "999999"}, label="a wrong code")
    flow.post("/verify", {"type": "sms", "phone": phone, "token": "123456"})
    flow.post("/otp", {"phone": phone}, label="the number is known now")
    backdate(flow, "confirmation_sent_at", 3600, phone=phone)
    flow.post("/verify", {"type": "sms", "phone": phone, "token": "123456"}, label="a fixed code does not expire")
    flow.post("/verify", {"type": "sms", "phone": phone, "token": "123456"}, label="and is never used up")
    flow.note("text messages", len(flow.hooks.calls))


@scenario()
def number_without_a_sender(flow):
    phone = flow.phone()
    flow.post("/otp", {"phone": phone})
    flow.note("accounts", flow.database.query(f"select count(*) from auth.users where phone = '{phone}'"))
    flow.post("/otp", {"phone": phone, "channel": "whatsapp"}, label="whatsapp")
    flow.post("/otp", {"phone": phone, "channel": "carrier-pigeon"}, label="an unknown channel")
    flow.post("/otp", {"phone": phone, "channel": 5}, label="a number as the channel")


@scenario()
def malformed_numbers(flow):
    for phone in ("abc", "+0155501", "1", "1555010000112345", "++15550100", "1-555-0100", "15550100\t1", "+"):
        flow.post("/otp", {"phone": phone}, label=f"otp for {phone!r}")
    flow.post("/otp", {"phone": 15550100}, label="a number that is no string")


@scenario("otp-twilio")
def twilio_without_credentials(flow):
    phone = flow.phone()
    flow.post("/otp", {"phone": phone})
    flow.post("/otp", {"phone": phone, "channel": "whatsapp"}, label="whatsapp is a known channel now")
    flow.post("/otp", {"phone": phone, "channel": "fax"}, label="an unknown channel")
    flow.note("accounts", flow.database.query(f"select count(*) from auth.users where phone = '{phone}'"))


# -- switched off ------------------------------------------------------------------------------------


@scenario("otp-off")
def both_providers_off(flow):
    flow.post("/otp", {"email": flow.address("ann")})
    flow.post("/otp", {"phone": flow.phone()})
    flow.post("/otp", {"email": flow.address("ann"), "create_user": False}, label="an unknown address, no new account")
    flow.post("/signup", {"email": flow.address("ann"), "password": "correct horse"})
    flow.post("/signup", {"phone": flow.phone(), "password": "correct horse"})
    flow.post("/token?grant_type=password", {"email": flow.address("ann"), "password": "correct horse"})
    flow.post("/token?grant_type=password", {"phone": flow.phone(), "password": "correct horse"})


@scenario("otp-closed")
def no_new_accounts(flow):
    flow.post("/otp", {"email": flow.address("ann")})
    flow.post("/otp", {"phone": flow.phone()})
    bob = flow.address("bob")
    flow.post("/admin/users", {"email": bob, "email_confirm": True}, token=flow.service_role, record=False)
    flow.post("/otp", {"email": bob}, label="a known address")
    flow.note("mail", email_facts(flow.mail.wait(bob)))
    cleo = flow.address("cleo")
    flow.post("/admin/users", {"email": cleo}, token=flow.service_role, record=False)
    flow.post("/otp", {"email": cleo}, label="a known address, not confirmed")


# -- confirmed at once --------------------------------------------------------------------------------


@scenario("otp-autoconfirm")
def new_address_where_addresses_need_no_confirmation(flow):
    ann = flow.address("ann")
    flow.post("/otp", {"email": ann})
    mail = flow.mail.wait(ann)
    flow.note("mail", email_facts(mail))
    flow.note("stored", flow.database.query(f"select email_confirmed_at is not null, recovery_token <> '', (select count(*) from auth.sessions s where s.user_id = u.id) from auth.users u where email = '{ann}'"))
    flow.post("/verify", {"type": "magiclink", "email": ann, "token": code_in_subject(mail)})


@scenario("otp-autoconfirm")
def new_number_where_numbers_need_no_confirmation(flow):
    phone = flow.phone()
    flow.post("/otp", {"phone": phone})
    message, _, code = text_message(flow)
    flow.note("text message", message)
    flow.post("/verify", {"type": "sms", "phone": phone, "token": code})
