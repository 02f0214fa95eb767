"""Users in the admin API: create, read, update, ban, delete."""

from harness.accounts import refresh, sign_in
from harness.admin import account, create, list_users, replace_users, read, remove, update, user_names
from harness.factors import another_session, rows
from harness.registry import scenario

UNKNOWN = "9b2d4d4e-62c6-4d9c-8c3c-0d3bb1b9f6aa"


@scenario()
def made_with_every_field(flow):
    ann = flow.address("ann")
    made = create(flow, {
        "id": "6f0f4a9e-3c1b-4d53-9a51-2f7f0a6a7c11", "email": ann.upper(), "phone": "+1 555 " + flow.phone()[4:],
        "password": "correct horse", "email_confirm": True, "phone_confirm": True, "role": "editor", "ban_duration": "none",
        "user_metadata": {"name": "Ann", "empty": None}, "app_metadata": {"plan": "gold", "provider": "mine"}})
    flow.note("id as asked for", made["id"] == "6f0f4a9e-3c1b-4d53-9a51-2f7f0a6a7c11")
    read(flow, made["id"])
    sign_in(flow, {"email": ann, "password": "correct horse"})


@scenario()
def made_with_little(flow):
    made = create(flow, {"email": flow.address("ann")}, label="only an address")
    create(flow, {"phone": flow.phone()}, label="only a phone")
    flow.note("password and mail", {
        "hash": rows(flow, f"select left(encrypted_password, 7) as hash from auth.users where id = '{made['id']}'"),
        "mails": flow.mail.count(flow.address("ann"))})
    sign_in(flow, {"email": flow.address("ann"), "password": ""}, label="no password")


@scenario()
def unconfirmed_account_cannot_sign_in_until_confirmed(flow):
    body = {"email": flow.address("ann"), "password": "correct horse"}
    made = create(flow, body, record=False)
    sign_in(flow, body)
    update(flow, made["id"], {"email_confirm": False}, record=False)
    sign_in(flow, body, label="email_confirm false does nothing")
    update(flow, made["id"], {"email_confirm": True})
    sign_in(flow, body, label="confirmed")


@scenario()
def bodies_of_creation_that_are_refused(flow):
    ann = {"email": flow.address("ann")}
    create(flow, None, label="no body")
    create(flow, {}, label="neither address nor phone")
    create(flow, {"email": "nonsense"}, label="bad address")
    create(flow, {"phone": "nonsense"}, label="bad phone")
    create(flow, {**ann, "id": "nonsense"}, label="id is no UUID")
    create(flow, {**ann, "id": "00000000-0000-0000-0000-000000000000"}, label="the nil UUID")
    create(flow, {**ann, "ban_duration": "forever"}, label="bad ban")
    create(flow, {**ann, "password": "a", "password_hash": "b"}, label="password and hash")
    create(flow, {**ann, "password_hash": "nonsense"}, label="bad hash")
    create(flow, {**ann, "user_metadata": "text"}, label="text for metadata")
    create(flow, {**ann, "password": "x" * 73}, label="73 bytes of password")
    create(flow, {**ann, "password": "a"}, label="a weak password is taken")


@scenario()
def addresses_and_phones_in_use(flow):
    phone = flow.phone()
    made = create(flow, {"email": flow.address("ann"), "phone": phone}, record=False)
    create(flow, {"email": flow.address("ann").upper()}, label="the address in capitals")
    create(flow, {"phone": "+" + phone}, label="the phone")
    create(flow, {"email": flow.address("bob"), "id": made["id"]}, label="the id")
    bob = account(flow, "carl")
    update(flow, bob["id"], {"email": flow.address("ann")}, label="change to the address")
    update(flow, bob["id"], {"phone": phone}, label="change to the phone")


@scenario()
def hashed_password(flow):
    stored = "$argon2id$v=19$m=1024,t=2,p=1$cmVwbGF5IHNhbHQgMTIzNA$zEn6abfO+kcIBcDYyXhsUvNdgeOZQ6Z1pyVMR0zXu8c"
    create(flow, {"email": flow.address("ann"), "password_hash": stored, "email_confirm": True})
    sign_in(flow, {"email": flow.address("ann"), "password": "correct horse"})
    create(flow, {"email": flow.address("bob"), "password_hash": stored.replace("v=19", "v=16")}, label="version 16")


@scenario()
def path_must_name_an_account(flow):
    for user_id, what in ((UNKNOWN, "unknown"), ("nonsense", "no UUID")):
        read(flow, user_id, label=f"read, {what}")
        update(flow, user_id, {}, label=f"update, {what}")
        remove(flow, user_id, label=f"delete, {what}")


@scenario()
def metadata_is_merged_and_null_removes(flow):
    ann = account(flow, user_metadata={"name": "Ann", "colour": "red"}, app_metadata={"plan": "gold"})
    update(flow, ann["id"], {"user_metadata": {"colour": None, "town": "Basel"}, "app_metadata": {"plan": None, "roles": ["a"]}})
    update(flow, ann["id"], {}, label="nothing")
    update(flow, ann["id"], {"user_metadata": {}, "app_metadata": {}}, label="empty objects")
    update(flow, ann["id"], {"app_metadata": []}, label="a list")


@scenario()
def address_and_phone_change_at_once(flow):
    ann = account(flow)
    update(flow, ann["id"], {"email": flow.address("Anna")}, label="address, not confirmed")
    update(flow, ann["id"], {"email": flow.address("anne"), "email_confirm": True}, label="address, confirmed")
    update(flow, ann["id"], {"phone": "+" + flow.phone()}, label="phone, not confirmed")
    both = update(flow, ann["id"], {"phone": flow.phone(), "phone_confirm": True}, record=False)
    flow.note("phone, confirmed", {"confirmed": "phone_confirmed_at" in both.json, "app_metadata": both["app_metadata"],
                                   "identities": sorted((i["identity_data"] for i in both["identities"]), key=lambda data: "phone" in data)})
    flow.note("mails", flow.mail.count(flow.address("anne")))
    sign_in(flow, {"email": flow.address("anne"), "password": "correct horse"})


@scenario()
def password_change_ends_every_session(flow):
    ann = flow.new_user()
    other = another_session(flow, ann)
    update(flow, ann["id"], {"password": "another horse"})
    flow.get("/user", token=ann["token"])
    refresh(flow, other["refresh"])
    sign_in(flow, ann, label="the old password")
    sign_in(flow, {**ann, "password": "another horse"}, label="the new password")
    update(flow, ann["id"], {"password": "abc"}, label="weak")
    update(flow, ann["id"], {"password": "x" * 73}, label="73 bytes")


@scenario()
def role_goes_into_the_token(flow):
    ann = account(flow)
    update(flow, ann["id"], {"role": "editor"})
    got = sign_in(flow, ann)
    update(flow, ann["id"], {"role": "supabase_admin"}, record=False)
    boss = sign_in(flow, ann, record=False)
    flow.get(f"/admin/users/{ann['id']}", token=got["access_token"], label="an editor reads")
    flow.get(f"/admin/users/{ann['id']}", token=boss["access_token"], label="an administrator by role reads")


@scenario()
def audience_of_another_shop(flow):
    body = {"email": flow.address("ann"), "password": "correct horse", "email_confirm": True}
    create(flow, {**body, "aud": "shop"})
    create(flow, body, label="the same address in the default audience")
    create(flow, body, headers={"X-JWT-AUD": "shop"}, label="once more, audience by header")
    sign_in(flow, body, headers={"X-JWT-AUD": "shop"})


@scenario()
def ban_and_its_end(flow):
    ann = flow.new_user()
    update(flow, ann["id"], {"ban_duration": "24h"})
    sign_in(flow, ann)
    refresh(flow, ann["refresh"])
    flow.get("/user", token=ann["token"])
    update(flow, ann["id"], {"ban_duration": "none"}, label="lifted")
    sign_in(flow, ann, label="back again")


@scenario()
def forms_of_a_ban(flow):
    ann = account(flow)
    for text in ("1h30m", "1.5h", "100us", "0", "-1h", "+5m", "876000h"):
        answer = update(flow, ann["id"], {"ban_duration": text}, record=False)
        left = flow.database.query(f"select round(extract(epoch from banned_until - now()) / 10) * 10 from auth.users where id = '{ann['id']}'")
        flow.note(f"ban of {text}", {"status": answer.status, "shown": "banned_until" in answer.json, "seconds": left})
    for text in ("5", "1d", "h", "none ", "1h 30m"):
        update(flow, ann["id"], {"ban_duration": text}, label=f"ban of '{text}'")


@scenario()
def deleted(flow):
    ann = flow.new_user()
    remove(flow, ann["id"])
    read(flow, ann["id"])
    flow.get("/user", token=ann["token"])
    sign_in(flow, ann)
    flow.post("/signup", {"email": ann["email"], "password": "correct horse"}, label="the address is free")


@scenario()
def softly_deleted(flow):
    ann = flow.new_user(data={"name": "Ann"})
    update(flow, ann["id"], {"phone": flow.phone(), "app_metadata": {"plan": "gold"}}, record=False)
    remove(flow, ann["id"], {"should_soft_delete": True})
    row, = rows(flow, "select email, phone, encrypted_password, raw_user_meta_data, raw_app_meta_data, deleted_at is not null as deleted, "
                f"email_confirmed_at is not null as confirmed from auth.users where id = '{ann['id']}'")
    flow.note("row", {**row, "email": len(row["email"]), "phone": len(row["phone"])})
    flow.note("identities", [{**i, "provider_id": len(i["provider_id"])} for i in rows(
        flow, f"select provider, provider_id, identity_data, email from auth.identities where user_id = '{ann['id']}' order by provider")])
    remove(flow, ann["id"], {"should_soft_delete": True}, label="again")
    flow.get("/user", token=ann["token"], label="the session")
    sign_in(flow, ann)
    shown = read(flow, ann["id"], record=False)
    flow.note("as the administrator reads it", {"status": shown.status, "deleted": "deleted_at" in shown.json, "metadata": shown["user_metadata"]})
    remove(flow, ann["id"], label="for good")
    read(flow, ann["id"], label="gone")


@scenario()
def odd_bodies_of_deletion(flow):
    ann = account(flow)
    remove(flow, ann["id"], {"should_soft_delete": "yes"}, label="text for a truth")
    flow.delete(f"/admin/users/{ann['id']}", token=flow.service_role, raw="{", label="malformed")
    remove(flow, ann["id"], {}, label="an empty object")


@scenario("admin_pages")
def pages(flow):
    replace_users(flow, "ann", "bob", "carl", "dora", "emil")
    first = list_users(flow, "?page=1&per_page=2")
    flow.note("newest first", user_names(first))
    flow.note("second page", user_names(list_users(flow, "?page=2&per_page=2")))
    flow.note("last page", user_names(list_users(flow, "?page=3&per_page=2")))
    list_users(flow, "?page=4&per_page=2", label="behind the last")
    flow.note("all", user_names(list_users(flow)))


@scenario("admin_pages")
def page_numbers_that_are_refused(flow):
    replace_users(flow, "ann")
    list_users(flow, "?page=x", label="a letter")
    list_users(flow, "?page=-1", label="negative")
    list_users(flow, "?per_page=1.5", label="a fraction")
    list_users(flow, "?page=&per_page=", label="empty means default")
    list_users(flow, "?page=0", label="page zero")


@scenario("admin_pages")
def filtered_and_sorted(flow):
    replace_users(flow, ("ann", {"user_metadata": {"full_name": "Ann Example"}}), "bob", ("carl", {"user_metadata": {"full_name": "bobby"}}))
    for query in ("?filter=bob", "?filter=BOB", "?filter=example.com", "?filter=Ann%20E", "?filter=nobody",
                  "?sort=created_at", "?sort=created_at%20asc", "?sort=created_at%20DESC"):
        flow.note(query, user_names(list_users(flow, query, record=False)))
    list_users(flow, "?filter=bob&per_page=1", label="filter in the links")
    list_users(flow, "?sort=email", label="another field")
    list_users(flow, "?sort=created_at%20up", label="another direction")


@scenario("admin_pages_cursor")
def cursor(flow):
    replace_users(flow, "ann", "bob", "carl", "dora", "emil")

    def page(query, name):
        there = list_users(flow, query, record=False)
        flow.names.learn(there["pagination"].get("next_cursor"), name)
        return list_users(flow, query)["pagination"].get("next_cursor")

    second = page("?limit=2", "first cursor")
    third = page(f"?limit=2&cursor={second}", "second cursor")
    page(f"?limit=2&cursor={third}", "no cursor")
    flow.note("oldest first", user_names(list_users(flow, "?limit=3&sort=created_at%20asc", record=False)))
    list_users(flow, "?limit=0", label="limit zero")
    list_users(flow, "?limit=x", label="limit x")
    list_users(flow, "?page=1&per_page=1", label="page numbers still work")
    refused = list_users(flow, "?cursor=nonsense", record=False)
    flow.note("bad cursor", {"status": refused.status, "error_code": refused["error_code"], "msg": refused["msg"].split(":")[0]})
