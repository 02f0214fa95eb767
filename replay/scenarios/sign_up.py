"""Sign-up with e-mail address or phone number, and anonymous sign-up."""

from harness.accounts import server_headers, set_user, sign_in
from harness.registry import scenario


@scenario()
def email_confirmed_by_link(flow):
    ann = flow.address("ann")
    flow.post("/signup", {"email": ann, "password": "correct horse", "data": {"name": "Ann"}})
    mail = flow.mail.wait(ann)
    flow.note("mail", {"subject": mail.subject, "links": mail.links, "kinds": mail.kinds, "code": bool(mail.code)})
    flow.get(mail.links[0])
    flow.get(mail.links[0], label="the same link again")
    flow.post("/token?grant_type=password", {"email": ann, "password": "correct horse"})


@scenario()
def address_that_is_taken_gets_a_stand_in(flow):
    ann = flow.new_user(data={"name": "Ann"})
    answer = flow.post("/signup", {"email": ann["email"], "password": "another horse", "data": {"name": "Mallory"}})
    flow.note("id of the stand-in differs", answer["id"] != ann["id"])
    flow.post("/signup", {"email": ann["email"].upper(), "password": "another horse"}, label="in capitals, without data")
    flow.note("mails sent", flow.mail.count())
    sign_in(flow, ann, label="the old password")
    sign_in(flow, {**ann, "password": "another horse"}, label="the other password")


@scenario()
def sign_up_again_before_confirming(flow):
    ann = flow.address("ann")
    flow.post("/signup", {"email": ann, "password": "correct horse", "data": {"name": "Ann"}})
    first = flow.mail.wait(ann)
    flow.post("/signup", {"email": ann, "password": "another horse", "data": {"name": "Anna"}})
    second = flow.mail.wait(ann)
    flow.get(first.links[0], label="the first link")
    flow.get(second.links[0], label="the second link")
    sign_in(flow, {"email": ann, "password": "another horse"}, label="the second password")
    sign_in(flow, {"email": ann, "password": "correct horse"}, label="the first password")


@scenario()
def fields_missing_or_invalid(flow):
    ann = flow.address("ann")
    flow.post("/signup", {}, label="nothing")
    flow.post("/signup", {"password": "correct horse"}, label="a password alone")
    flow.post("/signup", {"email": ann}, label="no password")
    flow.post("/signup", {"email": ann, "password": ""}, label="an empty password")
    flow.post("/signup", {"email": ann, "phone": flow.phone(), "password": "correct horse"}, label="e-mail and phone")
    for email in ("ann", "ann@", "@example.com", "ann example@example.com", "ann@exa mple.com", "ann@example..com", "a" * 250 + "@example.com"):
        flow.post("/signup", {"email": email, "password": "correct horse"}, label=email[:40])


@scenario()
def passwords_by_length(flow):
    flow.post("/signup", {"email": flow.address("five"), "password": "12345"}, label="5 bytes")
    flow.post("/signup", {"email": flow.address("six"), "password": "123456"}, label="6 bytes")
    flow.post("/signup", {"email": flow.address("two"), "password": "日本"}, label="2 letters in 6 bytes")
    flow.post("/signup", {"email": flow.address("long"), "password": "x" * 72}, label="72 bytes")
    flow.post("/signup", {"email": flow.address("longer"), "password": "x" * 73}, label="73 bytes")
    flow.post("/signup", {"email": flow.address("wide"), "password": "é" * 37}, label="37 letters in 74 bytes")


@scenario()
def addresses_in_capitals_and_other_scripts(flow):
    ann = flow.address("Ann.Upper").replace("example", "EXAMPLE")
    flow.post("/signup", {"email": ann, "password": "correct horse"}, label="capitals")
    mail = flow.mail.wait(ann.lower())
    flow.get(mail.links[0])
    sign_in(flow, {"email": ann, "password": "correct horse"}, label="sign in in capitals")
    flow.post("/signup", {"email": "jürgen@example.com", "password": "correct horse"}, label="a letter outside ASCII")
    flow.post("/signup", {"email": "ann@exämple.com", "password": "correct horse"}, label="a domain outside ASCII")
    flow.post("/signup", {"email": f" {flow.address('space')} ", "password": "correct horse"}, label="spaces around")
    flow.post("/signup", {"email": "ann+list.o'hara@localhost", "password": "correct horse"}, label="plus, apostrophe, no dot in the domain")


@scenario()
def metadata_given_at_sign_up(flow):
    data = {"name": "Ann", "nested": {"a": [1, 2.5, None, {"b": True}]}, "gone": None, "emoji": "🐎 <b>&amp;",
            "email": "mallory@example.com", "sub": "me", "email_verified": True, "phone_verified": True, "role": "admin"}
    ann = flow.new_user(data=data)
    flow.get("/user", token=ann["token"])
    flow.post("/signup", {"email": flow.address("bob"), "password": "correct horse", "app_metadata": {"role": "admin"},
                          "role": "service_role", "aud": "elsewhere", "id": "11111111-2222-4333-8444-555555555555"}, label="fields that are not for sign-up")


@scenario()
def what_is_stored(flow):
    ann = flow.new_user(data={"name": "Ann"})
    flow.note("users", flow.database.query(
        "select aud, role, email_confirmed_at is not null as confirmed, confirmation_token, recovery_token, email_change, email_change_token_new,"
        " email_change_token_current, email_change_confirm_status, phone, phone_change, reauthentication_token, is_super_admin, is_sso_user,"
        " is_anonymous, banned_until, deleted_at, instance_id, invited_at, left(encrypted_password, 7), raw_app_meta_data, raw_user_meta_data,"
        f" last_sign_in_at is not null as signed_in from auth.users where id = '{ann['id']}'"))
    flow.note("identities", flow.database.query(
        f"select provider, provider_id = user_id::text, email, identity_data, last_sign_in_at is not null from auth.identities where user_id = '{ann['id']}'"))
    flow.note("one-time tokens left", flow.database.query(f"select count(*) from auth.one_time_tokens where user_id = '{ann['id']}'"))
    flow.note("audit", flow.database.query(
        "select payload ->> 'action', payload ->> 'log_type', payload ->> 'actor_username', payload -> 'traits' from auth.audit_log_entries"
        f" where payload ->> 'actor_id' = '{ann['id']}' order by created_at"))


@scenario()
def what_is_stored_before_confirmation(flow):
    ann = flow.address("ann")
    answer = flow.post("/signup", {"email": ann, "password": "correct horse"})
    flow.note("users", flow.database.query(
        "select length(confirmation_token), email_confirmed_at, confirmed_at, last_sign_in_at, confirmation_sent_at is not null, raw_app_meta_data"
        f" from auth.users where id = '{answer['id']}'"))
    flow.note("one-time tokens", flow.database.query(
        "select t.token_type, t.relates_to, t.token_hash = u.confirmation_token from auth.one_time_tokens t join auth.users u on u.id = t.user_id"
        f" where u.id = '{answer['id']}'"))
    flow.note("the mailed hash is the stored one", flow.mail.wait(ann).token_hash == flow.database.query(
        f"select confirmation_token from auth.users where id = '{answer['id']}'"))


@scenario()
def with_a_code_challenge(flow):
    ann = flow.address("ann")
    verifier, challenge = flow.pkce()
    flow.post("/signup", {"email": ann, "password": "correct horse", "code_challenge": challenge, "code_challenge_method": "s256"})
    mail = flow.mail.wait(ann)
    flow.note("the link's token starts with", mail.token_hash[:5])
    _, query, _ = flow.get(mail.links[0]).location
    flow.post("/token?grant_type=pkce", {"auth_code": query["code"], "code_verifier": verifier})
    flow.post("/token?grant_type=pkce", {"auth_code": query["code"], "code_verifier": verifier}, label="the same code again")


@scenario()
def code_challenges_that_are_invalid(flow):
    ann = flow.address("ann")
    for label, pair in {
        "no method": {"code_challenge": "a" * 43},
        "no challenge": {"code_challenge_method": "s256"},
        "42 characters": {"code_challenge": "a" * 42, "code_challenge_method": "s256"},
        "129 characters": {"code_challenge": "a" * 129, "code_challenge_method": "plain"},
        "characters that are not allowed": {"code_challenge": "a" * 42 + "+", "code_challenge_method": "s256"},
        "an unknown method": {"code_challenge": "a" * 43, "code_challenge_method": "sha1"},
    }.items():
        flow.post("/signup", {"email": ann, "password": "correct horse", **pair}, label=label)
    flow.post("/signup", {"phone": flow.phone(), "password": "correct horse", "code_challenge": "a" * 43, "code_challenge_method": "s256"},
              label="with a phone number")


@scenario()
def phone_numbers_without_an_sms_provider(flow):
    for phone in ("+1 555 01", "15550100", "0155501000", "call me", "1" * 16, "+", "++15550100"):
        flow.post("/signup", {"phone": phone, "password": "correct horse"}, label=phone)
    flow.post("/signup", {"phone": flow.phone(), "password": "correct horse", "channel": "whatsapp"}, label="channel whatsapp")
    flow.post("/signup", {"phone": flow.phone(), "password": "correct horse", "channel": "pigeon"}, label="an unknown channel")


@scenario()
def audience_from_a_header(flow):
    ann = flow.address("ann")
    flow.post("/signup", {"email": ann, "password": "correct horse"}, headers={"X-JWT-AUD": "shop"})
    flow.get(flow.mail.wait(ann).links[0], label="the link")
    flow.post("/signup", {"email": ann, "password": "another horse"}, label="the same address in the default audience")
    flow.post("/token?grant_type=password", {"email": ann, "password": "correct horse"}, headers={"X-JWT-AUD": "shop"}, label="sign in, X-JWT-AUD shop")
    flow.post("/token?grant_type=password", {"email": ann, "password": "correct horse"}, label="sign in without the header")


@scenario()
def anonymous_when_it_is_off(flow):
    flow.post("/signup", {})
    flow.post("/signup", {"data": {"name": "Ann"}})
    flow.post("/signup", {}, headers={"X-Supabase-Api-Version": "2024-01-01"})


@scenario("sign_up-autoconfirm")
def confirmed_at_once(flow):
    ann = flow.address("ann")
    answer = flow.post("/signup", {"email": ann, "password": "correct horse", "data": {"name": "Ann"}})
    flow.note("headers", server_headers(answer))
    flow.get("/user", token=answer["access_token"])
    flow.post("/signup", {"email": ann, "password": "another horse"}, label="the same address")
    flow.post("/signup", {"email": ann.upper(), "password": "another horse"}, label="the same address in capitals")
    flow.note("mails sent", flow.mail.count())


@scenario("sign_up-autoconfirm")
def phone_confirmed_at_once(flow):
    phone = flow.phone()
    flow.post("/signup", {"phone": f"+{phone[:4]} {phone[4:]}", "password": "correct horse", "data": {"name": "Ann"}})
    flow.post("/signup", {"phone": phone, "password": "another horse"}, label="the same number")
    flow.post("/token?grant_type=password", {"phone": f"+{phone}", "password": "correct horse"}, label="sign in")


@scenario("sign_up-autoconfirm")
def unconfirmed_account_signs_up_under_autoconfirm(flow):
    ann = flow.new_user()
    set_user(flow, ann, "email_confirmed_at = null")
    flow.post("/signup", {"email": ann["email"], "password": "another horse", "data": {"name": "Ann"}})
    sign_in(flow, ann, label="the first password")
    sign_in(flow, {**ann, "password": "another horse"}, label="the second password")


@scenario("sign_up-closed")
def sign_ups_are_off(flow):
    flow.post("/signup", {"email": flow.address("ann"), "password": "correct horse"})
    flow.post("/signup", {"email": "no address"}, label="an invalid address")
    flow.post("/signup", {"phone": flow.phone(), "password": "correct horse"}, label="phone")
    flow.post("/signup", {}, label="anonymous")
    flow.post("/otp", {"email": flow.address("ann")}, label="one-time code to a new address")
    made = {"email": flow.address("bob"), "password": "correct horse"}
    flow.post("/admin/users", {**made, "email_confirm": True}, token=flow.service_role, record=False)
    sign_in(flow, made, label="an account made by an administrator signs in")


@scenario("sign_up-no-providers")
def email_and_phone_are_off(flow):
    flow.post("/signup", {"email": flow.address("ann"), "password": "correct horse"})
    flow.post("/signup", {"phone": flow.phone(), "password": "correct horse"})
    flow.post("/token?grant_type=password", {"email": flow.address("ann"), "password": "correct horse"})
    flow.post("/token?grant_type=password", {"phone": flow.phone(), "password": "correct horse"})
    flow.post("/token?grant_type=password", {"password": "correct horse"})


@scenario("sign_up-anonymous")
def anonymous_account(flow):
    answer = flow.post("/signup", {"data": {"cart": [1, 2]}})
    flow.get("/user", token=answer["access_token"])
    flow.note("stored", flow.database.query(
        "select aud, role, email, phone, is_anonymous, encrypted_password, raw_app_meta_data, raw_user_meta_data, confirmed_at"
        f" from auth.users where id = '{answer['user']['id']}'"))
    flow.post("/token?grant_type=refresh_token", {"refresh_token": answer["refresh_token"]})
    flow.post("/factors", {"factor_type": "totp"}, token=answer["access_token"], label="enroll a factor")
    flow.post("/logout", token=answer["access_token"])


@scenario("sign_up-anonymous")
def anonymous_account_becomes_permanent(flow):
    ann = flow.address("ann")
    answer = flow.post("/signup", {})
    flow.put("/user", {"password": "correct horse"}, token=answer["access_token"], label="a password without an address")
    flow.put("/user", {"email": ann, "data": {"name": "Ann"}}, token=answer["access_token"], label="an address")
    mail = flow.mail.wait(ann)
    flow.note("mail", {"subject": mail.subject, "links": mail.links})
    _, _, fragment = flow.get(mail.links[0]).location
    flow.put("/user", {"password": "correct horse"}, token=fragment["access_token"], label="a password now")
    sign_in(flow, {"email": ann, "password": "correct horse"}, label="sign in")


@scenario("sign_up-strict")
def password_rules(flow):
    for password in ("abc", "abcdefghij", "ABCDEFGHIJ", "Abcdefghij", "Abcdefghi1", "Abcdefg1", "Abcdefgh1:", "Abcdefgh1!"):
        flow.post("/signup", {"email": flow.address("ann"), "password": password}, label=password)
    flow.post("/signup", {"email": flow.address("bob"), "password": "abcdef"}, headers={"X-Supabase-Api-Version": "2024-01-01"}, label="version 2024-01-01")
