"""Change of the e-mail address: PUT /user, then one or two confirmations."""

import hashlib
import json

from harness.messages import code_in_subject, email_facts, backdate, text_message
from harness.registry import scenario


def sha224(text):
    return hashlib.sha224(text.encode()).hexdigest()


# -- both addresses confirm ------------------------------------------------------------------------------


@scenario()
def new_address_confirms_first(flow):
    ann, new = flow.new_user(), flow.address("new")
    flow.put("/user", {"email": new}, token=ann["token"])
    to_new, to_current = flow.mail.wait(new), flow.mail.wait(ann["email"])
    flow.note("mails to the new and the current address", [email_facts(to_new), email_facts(to_current)])
    flow.get(to_new.links[0], label="the link to the new address")
    flow.get("/user", token=ann["token"], label="half way")
    flow.get(to_current.links[0], label="the link to the current address")
    flow.get("/user", token=ann["token"], label="changed")
    flow.post("/token?grant_type=password", {"email": ann["email"], "password": ann["password"]}, label="sign in with the old address")
    flow.post("/token?grant_type=password", {"email": new, "password": ann["password"]}, label="sign in with the new address")


@scenario()
def current_address_confirms_first(flow):
    ann, new = flow.new_user(), flow.address("new")
    flow.put("/user", {"email": new}, token=ann["token"])
    to_new, to_current = flow.mail.wait(new), flow.mail.wait(ann["email"])
    flow.post("/verify", {"type": "email_change", "token_hash": to_current.token_hash}, label="the current address's token")
    flow.post("/verify", {"type": "email_change", "token_hash": to_current.token_hash}, label="the same token again")
    flow.post("/verify", {"type": "email_change", "token_hash": to_new.token_hash}, label="the new address's token")


@scenario("otp-codes")
def codes_from_both_addresses(flow):
    ann, new = flow.new_user(), flow.address("new")
    flow.put("/user", {"email": new}, token=ann["token"], record=False)
    new_code, current_code = code_in_subject(flow.mail.wait(new)), code_in_subject(flow.mail.wait(ann["email"]))
    if new_code != current_code:
        flow.post("/verify", {"type": "email_change", "email": new, "token": current_code}, label="the codes swapped")
    flow.post("/verify", {"type": "signup", "email": ann["email"], "token": current_code}, label="as signup")
    flow.post("/verify", {"type": "email_change", "email": new, "token": new_code}, label="the new address's code")
    flow.post("/verify", {"type": "email_change", "email": ann["email"], "token": current_code}, label="the current address's code")


@scenario()
def stored_hashes(flow):
    ann, new = flow.new_user(), flow.address("new")
    flow.put("/user", {"email": new}, token=ann["token"], record=False)
    to_new, to_current = flow.mail.wait(new), flow.mail.wait(ann["email"])
    current_hash, new_hash, pending, status = flow.database.query(
        "select email_change_token_current, email_change_token_new, email_change, email_change_confirm_status "
        f"from auth.users where id = '{ann['id']}'").split("|")
    flow.note("stored", {"current is mailed to the current address": current_hash == to_current.token_hash,
                         "new is mailed to the new address": new_hash == to_new.token_hash, "pending": pending, "confirmations": status})
    flow.get(to_new.links[0], label="one confirmation")
    flow.note("stored then", flow.database.query(
        "select email_change_token_current <> '', email_change_token_new = '', email_change_confirm_status "
        f"from auth.users where id = '{ann['id']}'"))


@scenario()
def changed_my_mind(flow):
    ann, first, second = flow.new_user(), flow.address("first"), flow.address("second")
    flow.put("/user", {"email": first}, token=ann["token"], record=False)
    old_link = flow.mail.wait(first).links[0]
    flow.get(old_link, label="one confirmation of the first change")
    flow.put("/user", {"email": second}, token=ann["token"])
    flow.mail.wait(ann["email"])
    to_second, to_current = flow.mail.wait(second), flow.mail.wait(ann["email"])
    flow.get(to_second.links[0])
    flow.get(to_current.links[0])
    flow.get("/user", token=ann["token"])


@scenario()
def links_expire(flow):
    ann, new = flow.new_user(), flow.address("new")
    flow.put("/user", {"email": new}, token=ann["token"], record=False)
    to_new, to_current = flow.mail.wait(new), flow.mail.wait(ann["email"])
    flow.get(to_new.links[0], label="one confirmation in time")
    backdate(flow, "email_change_sent_at", 86401, email=ann["email"])
    flow.get(to_current.links[0], label="the other too late")
    flow.post("/verify", {"type": "email_change", "token_hash": to_current.token_hash}, label="and by its hash")


@scenario()
def addresses_that_do_not_go(flow):
    ann, bob = flow.new_user(), flow.new_user("bob")
    flow.put("/user", {"email": bob["email"]}, token=ann["token"], label="a taken address")
    flow.put("/user", {"email": bob["email"].upper()}, token=ann["token"], label="a taken address in capitals")
    flow.put("/user", {"email": "ann"}, token=ann["token"], label="a malformed address")
    flow.put("/user", {"email": ""}, token=ann["token"], label="an empty address")
    flow.put("/user", {"email": ann["email"]}, token=ann["token"], label="the current address")
    flow.put("/user", {"email": ann["email"].upper()}, token=ann["token"], label="the current address in capitals")
    flow.put("/user", {"email": 5}, token=ann["token"], label="a number")
    flow.note("mails", flow.mail.count())


@scenario()
def link_leads_where_the_client_asked(flow):
    ann, new = flow.new_user(), flow.address("new")
    flow.put("/user?redirect_to=https://app.example.com/callback", {"email": new}, token=ann["token"])
    to_new, to_current = flow.mail.wait(new), flow.mail.wait(ann["email"])
    flow.note("links", to_new.links + to_current.links)
    flow.get(to_current.links[0])
    flow.get(to_new.links[0])


# -- one address confirms ----------------------------------------------------------------------------------


@scenario("email_change-single")
def one_confirmation_is_enough(flow):
    ann, new = flow.new_user(), flow.address("new")
    flow.put("/user", {"email": new}, token=ann["token"])
    mail = flow.mail.wait(new)
    flow.note("mail", email_facts(mail))
    flow.note("mails to the current address", flow.mail.count(ann["email"]))
    flow.get(mail.links[0])
    flow.get("/user", token=ann["token"])


@scenario("email_change-single")
def one_code_is_enough(flow):
    ann, new = flow.new_user(), flow.address("new")
    flow.put("/user", {"email": new}, token=ann["token"], record=False)
    code = code_in_subject(flow.mail.wait(new))
    flow.post("/verify", {"type": "email_change", "email": ann["email"], "token": code}, label="with the current address")
    flow.post("/verify", {"type": "email_change", "email": new, "token": code}, label="with the new address")


@scenario("otp-codes")
def anonymous_user_becomes_permanent(flow):
    anonymous = flow.post("/signup", {"data": {"cart": 3}}, record=False)
    ann = flow.address("ann")
    flow.put("/user", {"email": ann}, token=anonymous["access_token"])
    mail = flow.mail.wait(ann)
    flow.note("mail", email_facts(mail))
    flow.post("/verify", {"type": "email_change", "email": ann, "token": code_in_subject(mail)})


@scenario("otp-codes")
def user_with_a_number_adds_an_address(flow):
    phone, ann = flow.phone(), flow.address("ann")
    flow.post("/otp", {"phone": phone}, record=False)
    session = flow.post("/verify", {"type": "sms", "phone": phone, "token": text_message(flow)[2]}, record=False)
    flow.put("/user", {"email": ann}, token=session["access_token"])
    mail = flow.mail.wait(ann)
    flow.note("mail", email_facts(mail))
    flow.get(mail.links[0])
    flow.get("/user", token=session["access_token"])


@scenario("otp-autoconfirm")
def where_addresses_need_no_confirmation(flow):
    ann, new = flow.new_user(), flow.address("new")
    flow.put("/user", {"email": new}, token=ann["token"])
    mail = flow.mail.wait(new)
    flow.note("mail", email_facts(mail))
    flow.get(mail.links[0], label="one link is enough")
    anonymous = flow.post("/signup", {}, record=False)
    flow.put("/user", {"email": flow.address("cleo")}, token=anonymous["access_token"], label="an anonymous user's address counts at once")


# -- by a hook -----------------------------------------------------------------------------------------------


@scenario("email_change-hook")
def hook_gets_both_codes(flow):
    ann, new = flow.address("ann"), flow.address("new")
    made = flow.post("/admin/users", {"email": ann, "email_confirm": True, "password": "correct horse"}, token=flow.service_role, record=False)
    session = flow.post("/token?grant_type=password", {"email": ann, "password": "correct horse"}, record=False)
    flow.put("/user", {"email": new}, token=session["access_token"])
    payload = json.loads(flow.hooks.wait("/mail")["body"])
    data = payload["email_data"]
    flow.note("payload", {**payload, "email_data": {**data, **{key: bool(data[key]) for key in ("token", "token_new", "token_hash", "token_hash_new")}}})
    flow.note("which hash belongs to which code", {
        "token_hash_new = hash(current address, token)": data["token_hash_new"] == sha224(ann + data["token"]),
        "token_hash = hash(new address, token_new)": data["token_hash"] == sha224(new + data["token_new"])})
    flow.post("/verify", {"type": "email_change", "email": ann, "token": data["token"]}, label="the current address's code")
    flow.post("/verify", {"type": "email_change", "token_hash": data["token_hash"]}, label="the new address's hash")
    flow.note("the user", flow.database.query(f"select email, email_change from auth.users where id = '{made['id']}'"))
