"""Verification of tokens sent by e-mail or SMS: GET and POST /verify."""

from harness.messages import code_in_subject, backdate, text_message
from harness.registry import scenario


# -- GET: a link in a browser ------------------------------------------------------------------------


@scenario()
def link_that_is_no_good(flow):
    flow.get("/verify")
    flow.get("/verify?type=signup", label="no token")
    flow.get("/verify?token=abc", label="no type")
    flow.get("/verify?token=abc&type=signup", label="an unknown token")
    flow.get("/verify?token=abc&type=wonder", label="an unknown type")
    flow.get("/verify?token=123456&type=sms", label="sms by a link")
    flow.get("/verify?token=pkce_abc&type=signup", label="an unknown PKCE token")
    flow.get("/verify?token=abc&type=recovery&redirect_to=https://app.example.com/callback%3Fa%3D1", label="an unknown token, own target not listed")
    flow.get("/verify?token=abc&type=recovery&redirect_to=http://shop.example.com/in%3Fa%3D1", label="an unknown token, own target with a query")
    flow.get("/verify?token=pkce_abc&type=recovery&redirect_to=http://shop.example.com/in%3Fa%3D1", label="an unknown PKCE token, own target with a query")


@scenario()
def link_keeps_its_target(flow):
    ann = flow.address("ann")
    flow.post("/signup?redirect_to=http://shop.example.com/welcome%3Fcolour%3Dred%26size%3D7", {"email": ann, "password": "correct horse"})
    mail = flow.mail.wait(ann)
    flow.note("link", mail.links)
    flow.get(mail.links[0])


@scenario()
def link_with_the_wrong_type(flow):
    ann = flow.address("ann")
    flow.post("/signup", {"email": ann, "password": "correct horse"}, record=False)
    token = flow.mail.wait(ann).token_hash
    for kind in ("recovery", "magiclink", "email_change", "phone_change", "reauthentication"):
        flow.get(f"/verify?token={token}&type={kind}", label=f"as {kind}")
    flow.get(f"/verify?token={token}&type=invite", label="as invite: the same kind of token")


@scenario()
def link_of_type_email(flow):
    ann = flow.address("ann")
    flow.post("/signup", {"email": ann, "password": "correct horse"}, record=False)
    flow.get(f"/verify?token={flow.mail.wait(ann).token_hash}&type=email", label="confirmation token as email")
    flow.post("/otp", {"email": ann}, record=False)
    flow.get(f"/verify?token={flow.mail.wait(ann).token_hash}&type=email", label="sign-in token as email")


@scenario()
def confirmation_link_expires(flow):
    ann = flow.address("ann")
    flow.post("/signup", {"email": ann, "password": "correct horse"}, record=False)
    mail = flow.mail.wait(ann)
    backdate(flow, "confirmation_sent_at", 86401, email=ann)
    flow.get(mail.links[0])
    flow.post("/verify", {"type": "signup", "token_hash": mail.token_hash})
    flow.post("/verify", {"type": "email", "token_hash": mail.token_hash}, label="as email")


@scenario()
def banned_user(flow):
    ann = flow.new_user()
    flow.post("/otp", {"email": ann["email"]}, record=False)
    mail = flow.mail.wait(ann["email"])
    flow.put(f"/admin/users/{ann['id']}", {"ban_duration": "1h"}, token=flow.service_role, record=False)
    flow.get(mail.links[0])
    flow.post("/verify", {"type": "magiclink", "token_hash": mail.token_hash})


# -- POST: by a client ---------------------------------------------------------------------------------


@scenario()
def hash_of_each_type(flow):
    ann = flow.address("ann")
    flow.post("/signup", {"email": ann, "password": "correct horse"}, record=False)
    token = flow.mail.wait(ann).token_hash
    flow.post("/verify", {"type": "magiclink", "token_hash": token}, label="confirmation token as magiclink")
    flow.post("/verify", {"type": "sms", "token_hash": token}, label="confirmation token as sms")
    flow.post("/verify", {"type": "wonder", "token_hash": token}, label="an unknown type")
    flow.post("/verify", {"type": "signup", "token_hash": token.upper()}, label="in capitals")
    flow.post("/verify", {"type": "signup", "token_hash": token}, label="confirmation token as signup")
    flow.post("/verify", {"type": "signup", "token_hash": token}, label="again")


@scenario("otp-codes")
def code_of_each_type(flow):
    ann = flow.address("ann")
    flow.post("/signup", {"email": ann, "password": "correct horse"}, record=False)
    code = code_in_subject(flow.mail.wait(ann))
    flow.post("/verify", {"type": "magiclink", "email": ann, "token": code}, label="confirmation code as magiclink")
    flow.post("/verify", {"type": "recovery", "email": ann, "token": code}, label="confirmation code as recovery")
    flow.post("/verify", {"type": "email_change", "email": ann, "token": code}, label="confirmation code as email_change")
    flow.post("/verify", {"type": "sms", "email": ann, "token": code}, label="confirmation code as sms")
    flow.post("/verify", {"type": "wonder", "email": ann, "token": code}, label="an unknown type")
    flow.post("/verify", {"type": "signup", "email": "other." + ann, "token": code}, label="another address")
    flow.post("/verify", {"type": "signup", "email": ann, "token": " " + code}, label="with a blank")
    flow.post("/verify", {"type": "signup", "email": ann, "token": code}, label="confirmation code as signup")


@scenario()
def wrong_requests(flow):
    ann, phone = flow.address("ann"), flow.phone()
    flow.post("/verify", {})
    flow.post("/verify", {"type": "signup"}, label="a type alone")
    flow.post("/verify", {"type": "signup", "token": "123456"}, label="a token without a recipient")
    flow.post("/verify", {"type": "signup", "token": "123456", "token_hash": "abc", "email": ann}, label="token and hash")
    flow.post("/verify", {"type": "signup", "token": "123456", "email": ann, "phone": phone}, label="address and number")
    flow.post("/verify", {"type": "signup", "token_hash": "abc", "email": ann}, label="hash and address")
    flow.post("/verify", {"type": "signup", "token_hash": "abc", "redirect_to": "http://shop.example.com"}, label="hash and target")
    flow.post("/verify", {"type": "signup", "token": "123456", "email": "ann"}, label="a malformed address")
    flow.post("/verify", {"type": "sms", "token": "123456", "phone": "12-34"}, label="a malformed number")
    flow.post("/verify", {"type": "signup", "token": 123456, "email": ann}, label="the code as a number")
    flow.post("/verify", raw="", label="no body")
    flow.post("/verify", {"type": "signup", "token": "123456", "email": ann}, label="an unknown address")
    flow.post("/verify", {"type": "sms", "token": "123456", "phone": phone}, label="an unknown number")
    flow.post("/verify", {"type": "phone_change", "token": "123456", "phone": phone}, label="no pending number")


@scenario("otp-codes")
def code_dies_with_the_link(flow):
    ann = flow.address("ann")
    flow.post("/signup", {"email": ann, "password": "correct horse"}, record=False)
    mail = flow.mail.wait(ann)
    flow.get(mail.links[0])
    flow.post("/verify", {"type": "signup", "email": ann, "token": code_in_subject(mail)})
    flow.post("/verify", {"type": "signup", "token_hash": mail.token_hash})


@scenario("otp-codes")
def one_login_consumes_every_token(flow):
    ann = flow.new_user()
    flow.post("/recover", {"email": ann["email"]}, record=False)
    recovery = flow.mail.wait(ann["email"])
    flow.put("/user", {"email": flow.address("new")}, token=ann["token"], record=False)
    change = flow.mail.wait(flow.address("new"))
    flow.note("tokens", flow.database.query(f"select token_type, left(relates_to, 4) from auth.one_time_tokens where user_id = '{ann['id']}' order by 1"))
    flow.post("/verify", {"type": "recovery", "email": ann["email"], "token": code_in_subject(recovery)})
    flow.note("tokens left", flow.database.query(f"select token_type from auth.one_time_tokens where user_id = '{ann['id']}' order by 1"))
    flow.get(change.links[0], label="the link to the new address")


@scenario("otp-codes")
def code_and_hash_as_stored(flow):
    ann = flow.new_user()
    flow.post("/recover", {"email": ann["email"]}, record=False)
    mail = flow.mail.wait(ann["email"])
    code = code_in_subject(mail)
    row = flow.database.query("select recovery_token, encode(extensions_sha224, 'hex') from (select recovery_token, sha224(convert_to(email || '"
                              f"{code}', 'utf8')) as extensions_sha224 from auth.users where email = '{ann['email']}') x")
    stored, computed = row.split("|")
    flow.note("stored = hex(sha224(address and code)) = mailed", [stored == computed, stored == mail.token_hash])


@scenario("otp-codes")
def phone_code_confirms_a_sign_up(flow):
    phone = flow.phone()
    flow.post("/signup", {"phone": phone, "password": "correct horse", "data": {"name": "Ann"}})
    code = text_message(flow)[2]
    flow.post("/token?grant_type=password", {"phone": phone, "password": "correct horse"}, label="not confirmed yet")
    flow.post("/verify", {"type": "phone_change", "phone": phone, "token": code}, label="as phone_change")
    flow.post("/verify", {"type": "sms", "phone": phone, "token": code})
    flow.post("/token?grant_type=password", {"phone": phone, "password": "correct horse"})


@scenario("otp-closed")
def sign_up_link_works_where_sign_up_is_closed(flow):
    ann = flow.address("ann")
    made = flow.post("/admin/generate_link", {"type": "signup", "email": ann, "password": "correct horse"}, token=flow.service_role)
    flow.post("/verify", {"type": "signup", "email": ann, "token": made["email_otp"]})
