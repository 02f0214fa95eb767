"""GET and PUT /user."""

from harness.accounts import alive_sessions, claims, refresh, set_session, set_user, sign_in, user_row, verified_factor
from harness.registry import scenario


def change(flow, user, body, **more):
    return flow.put("/user", body, token=user["token"], **more)


@scenario()
def account_as_it_sees_itself(flow):
    ann = flow.new_user(data={"name": "Ann"})
    flow.get("/user", token=ann["token"])
    verified_factor(flow, ann)
    set_user(flow, ann, "invited_at = now(), recovery_sent_at = now(), phone = '" + flow.phone() + "', email_change = 'new@example.com'")
    flow.get("/user", token=ann["token"], label="with a factor and more")


@scenario()
def metadata_is_merged(flow):
    ann = flow.new_user(data={"name": "Ann", "cart": {"a": 1, "b": 2}, "old": True})
    change(flow, ann, {"data": {"cart": {"c": 3}, "old": None, "new": [1, None, "x"], "never there": None}})
    change(flow, ann, {"data": {}}, label="an empty object")
    change(flow, ann, {"data": None}, label="null")
    change(flow, ann, {}, label="nothing at all")
    change(flow, ann, {"data": {"email": "mallory@example.com", "email_verified": False, "sub": "me"}}, label="keys the server writes itself")
    flow.note("identity data stays", flow.database.query(f"select identity_data from auth.identities where user_id = '{ann['id']}'"))


@scenario()
def bodies_that_are_refused(flow):
    ann = flow.new_user()
    flow.put("/user", token=ann["token"], label="no body")
    change(flow, ann, {"email": "no address"}, label="an invalid address")
    change(flow, ann, {"phone": "call me"}, label="an invalid phone number")
    change(flow, ann, {"phone": flow.phone(), "channel": "pigeon"}, label="an unknown channel")
    change(flow, ann, {"password": ""}, label="an empty password")
    change(flow, ann, {"password": "short"}, label="a short password")
    change(flow, ann, {"password": "x" * 73}, label="a long password")
    change(flow, ann, {"app_metadata": {"role": "admin"}}, label="app_metadata")
    change(flow, ann, {"app_metadata": {}}, label="an empty app_metadata")
    change(flow, ann, {"app_metadata": None, "role": "service_role", "aud": "elsewhere", "is_anonymous": True}, label="fields that are not for the account")
    change(flow, ann, {"email": flow.address("new"), "code_challenge": "a" * 43}, label="half a code challenge")


@scenario()
def password(flow):
    ann = flow.new_user()
    other = sign_in(flow, ann, record=False)
    change(flow, ann, {"password": ann["password"]}, label="the same password")
    change(flow, ann, {"password": "another horse"})
    flow.note("alive: this session, the other", alive_sessions(flow, ann["token"], other["access_token"]))
    flow.get("/user", token=other["access_token"], label="the other session")
    refresh(flow, ann["refresh"], label="this session refreshes")
    sign_in(flow, ann, label="the old password")
    sign_in(flow, {**ann, "password": "another horse"}, label="the new password")
    flow.note("audit", flow.database.query(
        f"select payload ->> 'action', payload ->> 'log_type' from auth.audit_log_entries where payload ->> 'actor_id' = '{ann['id']}'"
        " and payload ->> 'action' like 'user_%' order by created_at"))


@scenario()
def password_ends_pending_links(flow):
    ann = flow.new_user()
    flow.post("/recover", {"email": ann["email"]}, record=False)
    link = flow.mail.wait(ann["email"]).links[0]
    change(flow, ann, {"password": "another horse", "data": {"name": "Ann"}}, label="password and metadata in one request")
    flow.get(link, label="the recovery link")
    flow.note("stored", user_row(flow, ann, "recovery_token, left(encrypted_password, 7)"))


@scenario("user-reauthentication")
def password_with_reauthentication(flow):
    ann = flow.new_user()
    change(flow, ann, {"password": "second horse"}, label="a fresh session")
    set_session(flow, ann["token"], "created_at = now() - interval '25 hours'")
    change(flow, ann, {"password": "third horse"}, label="a day later, no code")
    change(flow, ann, {"password": "third horse", "nonce": "000000"}, label="a wrong code")
    change(flow, ann, {"data": {"name": "Ann"}}, label="metadata needs no code")
    flow.get("/reauthenticate", token=ann["token"])
    mail = flow.mail.wait(ann["email"])
    flow.names.learn(mail.code, "code")
    flow.note("mail", {"subject": mail.subject, "links": mail.links})
    change(flow, ann, {"password": "third horse", "nonce": mail.code}, label="the mailed code")
    change(flow, ann, {"password": "fourth horse", "nonce": mail.code}, label="the same code again")
    sign_in(flow, {**ann, "password": "third horse"}, label="sign in")


@scenario("user-current-password")
def password_with_the_current_one(flow):
    ann = flow.new_user()
    ann["token"] = sign_in(flow, ann, record=False)["access_token"]
    change(flow, ann, {"password": "another horse"}, label="without the current one")
    change(flow, ann, {"password": "another horse", "current_password": ""}, label="an empty current one")
    change(flow, ann, {"password": "another horse", "current_password": "wrong horse"}, label="a wrong current one")
    change(flow, ann, {"password": ann["password"], "current_password": ann["password"]}, label="the same password")
    change(flow, ann, {"password": "another horse", "current_password": ann["password"]}, label="the right current one")
    change(flow, ann, {"data": {"name": "Ann"}}, label="metadata needs no password")


@scenario("user-current-password")
def password_after_a_recovery_link(flow):
    ann = flow.new_user()
    flow.post("/recover", {"email": ann["email"]}, record=False)
    _, _, fragment = flow.get(flow.mail.wait(ann["email"]).links[0], record=False).location
    flow.put("/user", {"password": "another horse"}, token=fragment["access_token"])
    sign_in(flow, {**ann, "password": "another horse"}, label="sign in")


@scenario()
def address_changes_after_both_links(flow):
    ann = flow.new_user(data={"name": "Ann"})
    new = flow.address("new")
    change(flow, ann, {"email": new.upper()})
    first, second = flow.mail.wait(ann["email"]), flow.mail.wait(new)
    flow.note("mails", [{"subject": m.subject, "links": m.links} for m in (first, second)])
    flow.get(first.links[0], label="the link in the old mailbox")
    flow.get("/user", token=ann["token"], label="in between")
    flow.get(second.links[0], label="the link in the new mailbox")
    flow.get("/user", token=ann["token"], label="afterwards")


@scenario()
def address_or_number_taken(flow):
    ann = flow.new_user()
    bob = flow.new_user("bob")
    set_user(flow, bob, f"phone = '{flow.phone()}'")
    change(flow, ann, {"email": bob["email"]}, label="somebody's address")
    change(flow, ann, {"email": bob["email"].upper()}, label="somebody's address in capitals")
    change(flow, ann, {"phone": f"+{flow.phone()}"}, label="somebody's phone number")
    change(flow, ann, {"email": ann["email"]}, label="the own address")
    change(flow, ann, {"email": ann["email"].upper()}, label="the own address in capitals")
    flow.note("mails sent", flow.mail.count())


@scenario("sign_up-autoconfirm")
def number_changes_at_once(flow):
    ann = flow.new_user()
    number = flow.phone()
    change(flow, ann, {"phone": f"+{number}"})
    flow.get("/user", token=ann["token"])
    flow.post("/token?grant_type=password", {"phone": number, "password": ann["password"]}, label="sign in with the number")
    change(flow, ann, {"phone": flow.phone(1)}, label="another number")


@scenario()
def number_without_an_sms_provider(flow):
    ann = flow.new_user()
    change(flow, ann, {"phone": flow.phone(), "data": {"name": "Ann"}})
    flow.note("nothing was stored", user_row(flow, ann, "phone, phone_change, raw_user_meta_data ->> 'name'"))


@scenario()
def second_factor_not_yet_shown(flow):
    ann = flow.new_user()
    verified_factor(flow, ann)
    change(flow, ann, {"password": "another horse"}, label="password")
    change(flow, ann, {"email": flow.address("new")}, label="address")
    change(flow, ann, {"phone": flow.phone()}, label="phone number")
    change(flow, ann, {"email": ann["email"], "data": {"name": "Ann"}}, label="metadata and the own address")
    set_session(flow, ann["token"], "aal = 'aal2'")
    change(flow, ann, {"password": "another horse"}, label="password once the session is aal2")


@scenario()
def account_managed_elsewhere(flow):
    ann = flow.new_user()
    set_user(flow, ann, "is_sso_user = true")
    change(flow, ann, {"password": "another horse"}, label="password")
    change(flow, ann, {"email": flow.address("new")}, label="address")
    change(flow, ann, {"phone": flow.phone()}, label="phone number")
    change(flow, ann, {"nonce": "123456"}, label="a code")
    change(flow, ann, {"data": {"name": "Ann"}}, label="metadata")
    sign_in(flow, ann, label="sign in with the password")


@scenario("sign_up-anonymous")
def anonymous_account_takes_an_address_and_a_password(flow):
    answer = flow.post("/signup", {}, record=False)
    ann = {"id": answer["user"]["id"], "token": answer["access_token"]}
    change(flow, ann, {"email": flow.address("ann"), "password": "correct horse"})
    sign_in(flow, {"email": flow.address("ann"), "password": "correct horse"}, label="sign in before confirming")
    mail = flow.mail.wait(flow.address("ann"))
    flow.post("/verify", {"type": "email_change", "token_hash": mail.token_hash}, label="confirm")
    answer = sign_in(flow, {"email": flow.address("ann"), "password": "correct horse"}, label="sign in")
    flow.note("is_anonymous in the token", claims(answer["access_token"])["is_anonymous"])
    flow.note("session of the anonymous time", alive_sessions(flow, ann["token"]))


@scenario()
def first_password_of_an_account_without_one(flow):
    ann = flow.new_user()
    set_user(flow, ann, "encrypted_password = null")
    change(flow, ann, {"password": "correct horse"})
    sign_in(flow, ann, label="sign in")
    flow.note("identities", flow.database.query(f"select provider from auth.identities where user_id = '{ann['id']}'"))
