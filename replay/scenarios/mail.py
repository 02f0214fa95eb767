"""E-mail: senders, headers, subjects, templates, links, allowed recipients and send failures."""

import re

from harness.messages import email_facts, text_message
from harness.registry import scenario


def body(mail):
    """Return a mail rendered from a custom template, with normalised line ends and codes."""
    text = mail.body.replace("\r\n", "\n").rstrip("\n")
    text = re.sub(r"(pkce_)?[0-9a-f]{56}", lambda m: f"<{m.group(1) or ''}hash>", text)
    return re.sub(r"(?<![\d@:])\d{6}(?!\d)", "<code>", text)


def sent(flow, address):
    mail = flow.mail.wait(address)
    return {"subject": re.sub(r"\d{6}", "<code>", mail.subject), "kinds": mail.kinds, "body": body(mail)}


# -- headers -------------------------------------------------------------------------------------------------


@scenario()
def plain_headers(flow):
    ann = flow.address("ann")
    flow.post("/otp", {"email": ann})
    headers = dict(flow.mail.wait(ann).headers)
    flow.note("headers", {k: headers[k] for k in sorted(headers) if k not in ("date", "message-id")})
    flow.note("dated", "date" in headers)


@scenario("mail-headers")
def headers_of_our_own(flow):
    ann = flow.address("ann")
    flow.post("/otp", {"email": ann}, record=False)
    flow.post("/recover", {"email": ann}, record=False)
    flow.post("/invite", {"email": flow.address("bob")}, token=flow.service_role, record=False)
    for local_part, what in (("ann", "confirmation"), ("ann", "recovery"), ("bob", "invitation")):
        headers = flow.mail.wait(flow.address(local_part)).headers
        flow.note(what, [f"{name}: {value}" for name, value in sorted(headers) if name in ("from", "reply-to", "x-kind", "x-many")])


@scenario("mail-headers")
def kinds_in_a_header(flow):
    ann, new = flow.new_user(), flow.address("new")
    flow.post("/otp", {"email": ann["email"]}, record=False)
    flow.note("sign-in", dict(flow.mail.wait(ann["email"]).headers)["x-kind"])
    flow.get("/reauthenticate", token=ann["token"], record=False)
    flow.note("reauthentication", dict(flow.mail.wait(ann["email"]).headers)["x-kind"])
    flow.put("/user", {"email": new}, token=ann["token"], record=False)
    flow.note("change", dict(flow.mail.wait(new).headers)["x-kind"])


# -- templates -------------------------------------------------------------------------------------------------


@scenario("mail-templates")
def confirmation_with_every_variable(flow):
    ann = flow.address("ann")
    flow.post("/signup?redirect_to=https://app.example.com/callback", {"email": ann, "password": "correct horse", "data": {"name": "Ann <b>& Co</b>"}}, record=False)
    flow.note("mail", sent(flow, ann))
    flow.post("/signup?redirect_to=http://shop.example.com/a%3Fx%3D1%26y%3D2", {"email": ann, "password": "correct horse"}, record=False)
    flow.note("mail, a target with a query", sent(flow, ann))
    flow.note("page fetched", len([c for c in flow.provider.calls if c["path"] == "/confirmation.html"]) <= 1)


@scenario("mail-templates")
def recovery_with_conditions_and_loops(flow):
    ann = flow.new_user(data={"name": "O'Neill \"<x>\"", "pets": ["cat", "dog & bone"], "age": 41, "link": "javascript:alert(1)", "nested": {"a": [1, None]}})
    flow.post("/recover", {"email": ann["email"]}, record=False)
    flow.note("mail", sent(flow, ann["email"]))
    bob = flow.new_user("bob", data={"link": "http://example.com/?q=ä b&c=\"d\"", "name": None})
    flow.post("/recover", {"email": bob["email"]}, record=False)
    flow.note("mail, little data", sent(flow, bob["email"]))


@scenario("mail-templates")
def change_of_address(flow):
    ann, new = flow.new_user(), flow.address("new")
    flow.put("/user?redirect_to=https://app.example.com/callback", {"email": new}, token=ann["token"], record=False)
    flow.note("mail to the new address", sent(flow, new))
    flow.note("mail to the current address", sent(flow, ann["email"]))


@scenario("mail-templates")
def missing_and_broken_pages(flow):
    ann, bob = flow.new_user(), flow.address("bob")
    flow.post("/invite", {"email": bob, "data": {"team": "red"}}, token=flow.service_role)
    flow.note("missing page: subject and body are the built-in ones", email_facts(flow.mail.wait(bob)))
    flow.get("/reauthenticate", token=ann["token"])
    flow.note("broken page", email_facts(flow.mail.wait(ann["email"])))
    flow.post("/otp", {"email": ann["email"]})
    flow.note("broken subject", email_facts(flow.mail.wait(ann["email"])))


# -- notifications ---------------------------------------------------------------------------------------------------


@scenario("mail-notifications")
def changes_of_password_and_address(flow):
    ann, new = flow.new_user(data={"name": "Ann"}), flow.address("new")
    flow.put("/user", {"password": "battery staple"}, token=ann["token"], record=False)
    flow.note("password", sent(flow, ann["email"]))
    flow.put("/user", {"email": new}, token=ann["token"], record=False)
    for address in (new, ann["email"]):
        flow.get(flow.mail.wait(address).links[0], record=False)
    flow.note("address, told to the old one", sent(flow, ann["email"]))
    flow.note("nothing to the new one", flow.mail.count(new))
    flow.put("/user", {"data": {"name": "Anna"}}, token=ann["token"], record=False)
    flow.note("nothing about data", flow.mail.count(new))


@scenario("mail-notifications")
def a_number_is_added_changed_and_removed(flow):
    ann, phone, other = flow.new_user(data={"name": "Ann"}), flow.phone(), flow.phone(1)
    flow.put("/user", {"phone": phone}, token=ann["token"], record=False)
    flow.post("/verify", {"type": "phone_change", "phone": phone, "token": text_message(flow)[2]}, record=False)
    flow.note("identity linked", sent(flow, ann["email"]))
    flow.put("/user", {"phone": other}, token=ann["token"], record=False)
    flow.post("/verify", {"type": "phone_change", "phone": other, "token": text_message(flow)[2]}, record=False)
    flow.note("number changed", sent(flow, ann["email"]))
    identities = flow.get("/user", token=ann["token"], record=False)["identities"]
    number = next(i for i in identities if i["provider"] == "phone")
    flow.delete(f"/user/identities/{number['identity_id']}", token=ann["token"])
    flow.note("identity unlinked", sent(flow, ann["email"]))


@scenario("mail-notifications")
def factors(flow):
    ann = flow.new_user()
    factor = flow.post("/factors", {"factor_type": "totp", "friendly_name": "phone"}, token=ann["token"], record=False)
    flow.note("enrolled, not verified: no mail", flow.mail.count(ann["email"]))
    challenge = flow.post(f"/factors/{factor['id']}/challenge", {}, token=ann["token"], record=False)
    session = flow.post(f"/factors/{factor['id']}/verify", {"challenge_id": challenge["id"], "code": flow.totp(factor["totp"]["secret"])}, token=ann["token"], record=False)
    flow.note("verified", sent(flow, ann["email"]))
    flow.delete(f"/factors/{factor['id']}", token=session["access_token"], record=False)
    flow.note("removed", sent(flow, ann["email"]))


@scenario()
def no_notifications_unless_asked_for(flow):
    ann = flow.new_user()
    flow.put("/user", {"password": "battery staple"}, token=ann["token"])
    flow.note("mails", flow.mail.count())


# -- link targets ----------------------------------------------------------------------------------------------------


@scenario("mail-paths")
def paths_of_our_own(flow):
    ann = flow.address("ann")
    flow.post("/invite", {"email": ann}, token=flow.service_role, record=False)
    flow.note("invitation", flow.mail.wait(ann).links)
    flow.post("/signup", {"email": ann, "password": "correct horse"}, record=False)
    flow.note("confirmation", flow.mail.wait(ann).links)
    flow.post("/recover", {"email": ann}, record=False)
    flow.note("recovery", flow.mail.wait(ann).links)


@scenario("mail-paths")
def host_the_client_came_by(flow):
    ann = flow.address("ann")
    for host, scheme in (("shop.example.com", "https"), ("shop.example.com", "http"), ("localhost", "http"), ("evil.example.org", "https"), ("localhost", "https")):
        flow.post("/invite", {"email": ann}, token=flow.service_role, headers={"X-Forwarded-Host": host, "X-Forwarded-Proto": scheme}, record=False)
        flow.note(f"forwarded by {scheme}://{host}", [link.split("?")[0] for link in flow.mail.wait(ann).links])


# -- recipients -----------------------------------------------------------------------------------------------------


@scenario("mail-authorized")
def listed_addresses(flow):
    ann = flow.address("ann")
    flow.post("/otp", {"email": ann})
    flow.post("/otp", {"email": ann.replace("@", "+news@")}, label="with a label")
    flow.post("/otp", {"email": flow.address("bob")}, label="not listed")
    flow.post("/signup", {"email": flow.address("bob"), "password": "correct horse"}, label="sign-up, not listed")
    flow.post("/invite", {"email": flow.address("bob")}, token=flow.service_role, label="invitation, not listed")
    flow.note("accounts", flow.database.query("select string_agg(split_part(email, '@', 1), ' ' order by email collate \"C\") from auth.users"))


@scenario("mail-authorized")
def change_to_an_address_that_is_not_listed(flow):
    bob = flow.address("bob")
    flow.post("/admin/users", {"email": bob, "password": "correct horse", "email_confirm": True}, token=flow.service_role, record=False)
    session = flow.post("/token?grant_type=password", {"email": bob, "password": "correct horse"}, record=False)
    flow.put("/user", {"email": flow.address("new")}, token=session["access_token"])
    flow.put("/user", {"email": "dora.mail-listed-addresses@example.com"}, token=session["access_token"], label="a listed address, the current one is not")
    flow.get("/reauthenticate", token=session["access_token"])
    flow.post("/recover", {"email": bob})


@scenario("mail-validated")
def service_that_checks_addresses(flow):
    ann = flow.address("ann")
    flow.provider.on("/check", lambda call: (200, {}, {"valid": False}))
    flow.post("/otp", {"email": ann}, label="said to be invalid")
    call = flow.provider.calls[-1]
    flow.note("asked", {"method": call["method"], "body": call["body"].decode(), "apikey": call["headers"].get("apikey"), "content-type": call["headers"].get("content-type")})
    flow.provider.on("/check", lambda call: (200, {}, {"valid": True}))
    flow.post("/otp", {"email": ann}, label="said to be valid")
    flow.provider.on("/check", lambda call: (500, {}, {"valid": False}))
    flow.post("/otp", {"email": flow.address("bob")}, label="the service fails")
    flow.provider.on("/check", lambda call: (200, {}, {"opinion": "none"}))
    flow.post("/otp", {"email": flow.address("cleo")}, label="the service has no opinion")
    flow.provider.on("/check", lambda call: (200, {}, b"no JSON"))
    flow.post("/otp", {"email": flow.address("dora")}, label="the service speaks no JSON")


# -- send failures --------------------------------------------------------------------------------------------------------


@scenario("mail-unreachable")
def nobody_takes_the_mail(flow):
    ann = flow.address("ann")
    flow.post("/signup", {"email": ann, "password": "correct horse"})
    flow.post("/otp", {"email": ann})
    flow.post("/invite", {"email": ann}, token=flow.service_role)
    flow.note("accounts", flow.database.query("select count(*) from auth.users"))
    flow.post("/admin/users", {"email": ann, "password": "correct horse", "email_confirm": True}, token=flow.service_role, record=False)
    session = flow.post("/token?grant_type=password", {"email": ann, "password": "correct horse"}, record=False)
    flow.post("/recover", {"email": ann})
    flow.post("/otp", {"email": ann}, label="a sign-in link")
    flow.put("/user", {"email": flow.address("new"), "data": {"name": "Ann"}}, token=session["access_token"])
    flow.get("/reauthenticate", token=session["access_token"])
    flow.get("/user", token=session["access_token"], label="nothing was changed")


@scenario("mail-none")
def no_mail_server(flow):
    ann = flow.address("ann")
    flow.post("/signup", {"email": ann, "password": "correct horse"})
    flow.post("/recover", {"email": ann})
    flow.note("mails", flow.mail.count())
