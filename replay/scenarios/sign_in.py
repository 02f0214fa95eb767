"""Password sign-in."""

import urllib.parse

from harness.accounts import server_headers, set_user, sign_in, user_row
from harness.registry import scenario

IMPORTED = {
    "bcrypt 2a": "$2a$04$g.TFDs/9zNIQ.UiHqwuMK.pJr/Nmvaw5hoeYWyim2.kyNilbcJCT6",
    "bcrypt 2b": "$2b$05$TNSS6blkQ4QZqsVLgCCIJu5hEISnADg1ZvcI8fS4qulu4CtiZytje",
    "argon2id": "$argon2id$v=19$m=4096,t=2,p=1$YmFzYWx0IHNhbHQgMTIzNA$AdpiL9s9YPVviIAJwcFkl1KJUsDwTsulqNgANEM/W9g",
    "argon2i": "$argon2i$v=19$m=4096,t=2,p=1$YmFzYWx0IHNhbHQgMTIzNA$wNkHGhVNoQzkYWepcw4cTtSuLSPEpINkEmhCeEEWiqI",
    "fbscrypt": "$fbscrypt$v=1,n=14,r=8,p=1,ss=Qnc9PQ==,sk=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw=="
                "$ZmlyZWJhc2Ugc2FsdA==$5hCufo3YSrwiHSfqmL4gtTtJa1fDo6/HLe9lzoY0FosU+QZdtEpsf1BpXSOeGO2VkroSJO8WqhP6ftvtjnCl8w==",
}


def made_by_admin(flow, local_part, **fields):
    """Create a user by the admin API, outside the transcript."""
    answer = flow.post("/admin/users", {"email": flow.address(local_part), "email_confirm": True, **fields}, token=flow.service_role, record=False)
    if answer.status != 200:
        raise AssertionError(f"making {local_part}: {answer.status} {answer.text}")
    return {"email": flow.address(local_part), "id": answer["id"], "password": "correct horse"}


@scenario()
def with_the_right_password(flow):
    ann = flow.new_user(data={"name": "Ann"})
    set_user(flow, ann, "last_sign_in_at = '2020-01-01'")
    answer = sign_in(flow, ann)
    flow.note("headers", server_headers(answer))
    flow.get("/user", token=answer["access_token"])
    flow.note("last sign-in is now", user_row(flow, ann, "last_sign_in_at > now() - interval '1 minute'"))
    sign_in(flow, {**ann, "email": ann["email"].upper()}, label="the address in capitals")


@scenario()
def wrong_password_and_unknown_address_look_alike(flow):
    ann = flow.new_user()
    bob = made_by_admin(flow, "bob")
    sign_in(flow, {**ann, "password": "wrong horse"}, label="a wrong password")
    sign_in(flow, {**ann, "password": ann["password"].upper()}, label="the password in capitals")
    sign_in(flow, {**ann, "password": ""}, label="an empty password")
    sign_in(flow, {**ann, "email": flow.address("nobody")}, label="an unknown address")
    sign_in(flow, {**ann, "email": "no address"}, label="an invalid address")
    flow.database.query(f"update auth.users set encrypted_password = null where id = '{bob['id']}'")
    sign_in(flow, bob, label="an account without a password")
    flow.post("/token?grant_type=password", {"phone": flow.phone(), "password": "correct horse"}, label="an unknown phone number")
    flow.post("/token?grant_type=password", {"phone": "call me", "password": "correct horse"}, label="an invalid phone number")


@scenario()
def fields_missing(flow):
    ann = flow.new_user()
    flow.post("/token?grant_type=password", {}, label="nothing")
    flow.post("/token?grant_type=password", {"password": ann["password"]}, label="no address")
    flow.post("/token?grant_type=password", {"email": ann["email"]}, label="no password")
    flow.post("/token?grant_type=password", {"email": ann["email"], "phone": flow.phone(), "password": ann["password"]}, label="e-mail and phone")
    flow.post("/token?grant_type=password", label="no body")


@scenario()
def grant_types(flow):
    ann = flow.new_user()
    body = {"email": ann["email"], "password": ann["password"]}
    flow.post("/token", body, label="none")
    flow.post("/token?grant_type=", body, label="empty")
    flow.post("/token?grant_type=client_credentials", body, label="unknown")
    flow.post("/token?grant_type=PASSWORD", body, label="in capitals")
    flow.post("/token", {"grant_type": "password", **body}, label="in the JSON body")
    flow.post("/token?grant_type=password&grant_type=refresh_token", body, label="twice in the query: the first counts")


@scenario()
def address_not_confirmed(flow):
    ann = {"email": flow.address("ann"), "password": "correct horse"}
    flow.post("/signup", ann, record=False)
    sign_in(flow, {**ann, "password": "wrong horse"}, label="a wrong password")
    sign_in(flow, ann, label="the right password")
    sign_in(flow, ann, label="the right password, version 2024-01-01", headers={"X-Supabase-Api-Version": "2024-01-01"})
    flow.get(flow.mail.wait(ann["email"]).links[0], record=False)
    sign_in(flow, ann, label="after confirmation")


@scenario()
def with_a_phone_number(flow):
    phone = flow.phone()
    made = {"phone": phone, "password": "correct horse"}
    user = flow.post("/admin/users", made, token=flow.service_role, record=False)
    flow.post("/token?grant_type=password", made, label="not confirmed")
    flow.post("/token?grant_type=password", {**made, "password": "wrong horse"}, label="not confirmed, a wrong password")
    flow.put(f"/admin/users/{user['id']}", {"phone_confirm": True}, token=flow.service_role, record=False)
    flow.post("/token?grant_type=password", made, label="confirmed")
    flow.post("/token?grant_type=password", {**made, "phone": f"+{phone[:3]} {phone[3:]}"}, label="written with plus and space")


@scenario()
def banned(flow):
    ann = flow.new_user()
    flow.put(f"/admin/users/{ann['id']}", {"ban_duration": "24h"}, token=flow.service_role, record=False)
    sign_in(flow, ann, label="the right password")
    sign_in(flow, {**ann, "password": "wrong horse"}, label="a wrong password")
    flow.put(f"/admin/users/{ann['id']}", {"ban_duration": "none"}, token=flow.service_role, record=False)
    sign_in(flow, ann, label="after the ban was lifted")


@scenario()
def imported_password_hashes(flow):
    for kind, stored in IMPORTED.items():
        user = made_by_admin(flow, kind.replace(" ", "-"), password_hash=stored)
        sign_in(flow, {**user, "password": "wrong horse"}, label=f"{kind}, a wrong password")
        sign_in(flow, user, label=kind)
        flow.note(f"{kind}: the stored hash stays", user_row(flow, user, f"encrypted_password = '{stored}'"))


@scenario()
def hashes_written_to_the_database(flow):
    ann = flow.new_user()
    for label, stored in {
        "argon2id": IMPORTED["argon2id"],
        "argon2d": "$argon2d$v=19$m=4096,t=2,p=1$YmFzYWx0IHNhbHQgMTIzNA$Xfo0TxLu+PBVFDJ4L0DxxJLSoOQ4CapD68ypdjkgwt4",
        "argon2id with a key id": IMPORTED["argon2id"].replace("p=1$", "p=1,keyid=abc$"),
        "plain text": "correct horse",
        "empty": "",
    }.items():
        set_user(flow, ann, f"encrypted_password = '{stored}'")
        sign_in(flow, ann, label=label)


@scenario("sign_up-strict")
def password_that_has_become_too_weak(flow):
    ann = made_by_admin(flow, "ann", password_hash=IMPORTED["bcrypt 2a"])
    sign_in(flow, {**ann, "password": "wrong horse"}, label="a wrong password")
    sign_in(flow, ann, label="the right password")
    bob = made_by_admin(flow, "bob", password="Correct horse 1!")
    sign_in(flow, {**bob, "password": "Correct horse 1!"}, label="a strong password: weak_password is null")


@scenario("sign_in-unverified")
def allowing_unverified_addresses_does_not_help_passwords(flow):
    ann = {"email": flow.address("ann"), "password": "correct horse"}
    flow.post("/signup", ann)
    sign_in(flow, ann, label="before confirmation")
    flow.get(flow.mail.wait(ann["email"]).links[0], record=False)
    sign_in(flow, ann, label="after confirmation")


@scenario()
def what_a_session_stores(flow):
    ann = flow.new_user()
    answer = sign_in(flow, ann, record=False, headers={"User-Agent": "shop/1.0 (test)", "X-Forwarded-For": "203.0.113.7, 10.0.0.1"})
    flow.note("session", flow.database.query(
        "select aal, user_agent, host(ip), tag, factor_id, not_after, refreshed_at, oauth_client_id, refresh_token_counter, scopes,"
        f" created_at is not null from auth.sessions where user_id = '{ann['id']}' order by created_at desc limit 1"))
    flow.note("methods", flow.database.query(
        "select authentication_method, c.created_at = c.updated_at from auth.mfa_amr_claims c join auth.sessions s on s.id = c.session_id"
        f" where s.user_id = '{ann['id']}' order by c.created_at"))
    flow.note("refresh token", flow.database.query(
        "select length(token), token ~ '^[a-z2-7]{12}$', parent, revoked, instance_id, user_id = '" + ann["id"] + "' from auth.refresh_tokens"
        f" where token = '{answer['refresh_token']}'"))
    flow.note("audit", flow.database.query(
        "select payload ->> 'action', payload ->> 'log_type', payload -> 'traits', ip_address from auth.audit_log_entries"
        f" where payload ->> 'actor_id' = '{ann['id']}' order by created_at desc limit 1"))


@scenario()
def grant_type_in_a_form_hides_the_json(flow):
    body = urllib.parse.urlencode({"grant_type": "password", "email": flow.address("ann"), "password": "correct horse"})
    flow.post("/token", raw=body, headers={"Content-Type": "application/x-www-form-urlencoded"})
    flow.post("/token?grant_type=refresh_token", raw=body, headers={"Content-Type": "application/x-www-form-urlencoded"}, label="another one in the query")
