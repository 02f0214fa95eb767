"""Access to the admin API, and the rows it writes."""

import time

from harness.accounts import sign_in
from harness.admin import account, create, read, update
from harness.factors import rows
from harness.registry import scenario

UNKNOWN = "9b2d4d4e-62c6-4d9c-8c3c-0d3bb1b9f6aa"


def bearer(flow, life=600, secret=None, **overrides):
    now = int(time.time())
    return flow.signed({"iat": now - 3600, "exp": now + life, **overrides}, secret)


@scenario()
def every_route_wants_an_administrator(flow):
    for method, path in (("GET", "/admin/users"), ("POST", "/admin/users"), ("GET", f"/admin/users/{UNKNOWN}"),
                         ("PUT", f"/admin/users/{UNKNOWN}"), ("DELETE", f"/admin/users/{UNKNOWN}"),
                         ("GET", f"/admin/users/{UNKNOWN}/factors"), ("GET", f"/admin/users/{UNKNOWN}/passkeys"),
                         ("GET", "/admin/audit"), ("POST", "/admin/generate_link"), ("POST", "/invite"),
                         ("GET", "/admin/sso/providers"), ("GET", "/admin/custom-providers")):
        flow.request(method, path, {} if method != "GET" else None, token=bearer(flow, role="anon"), label=f"{method} {path.replace(UNKNOWN, '…')}")


@scenario()
def tokens_for_the_administrator(flow):
    ann = account(flow)
    path = f"/admin/users/{ann['id']}"
    flow.get(path, token=bearer(flow, role="supabase_admin"), label="supabase_admin")
    flow.get(path, token=bearer(flow, life=-60, role="service_role"), label="expired")
    flow.get(path, token=bearer(flow, secret="another-secret-of-at-least-32-characters", role="service_role"), label="signed with another secret")
    flow.get(path, token=bearer(flow, role="postgres"), label="another role")
    flow.get(path, token=bearer(flow, role=""), label="empty role")
    flow.get(path, token="nonsense", label="no token at all")
    flow.get(path, headers={"apikey": flow.service_role}, label="only an apikey header")


@scenario()
def administrator_by_account_signs_out(flow):
    ann, boss = account(flow, "ann"), account(flow, "boss", role="service_role")
    got = sign_in(flow, boss, record=False)
    flow.get(f"/admin/users/{ann['id']}", token=got["access_token"], record=False)
    flow.put(f"/admin/users/{ann['id']}", {"user_metadata": {"by": "boss"}}, token=got["access_token"])
    flow.note("actor", rows(flow, "select payload->>'actor_id' as actor, payload->>'actor_username' as name, ip_address "
                            f"from auth.audit_log_entries where payload->'traits'->>'user_id' = '{ann['id']}' and payload->>'action' = 'user_modified'"))
    flow.post("/logout", token=got["access_token"], record=False)
    flow.get(f"/admin/users/{ann['id']}", token=got["access_token"], label="after signing out")


@scenario()
def rows_of_a_made_account(flow):
    made = create(flow, {"email": flow.address("ann"), "phone": flow.phone(), "password": "correct horse", "email_confirm": True,
                         "user_metadata": {"name": "Ann"}}, record=False)
    flow.note("account", rows(flow, "select instance_id, aud, role, email, phone, raw_app_meta_data, raw_user_meta_data, is_super_admin, is_sso_user, "
                              "is_anonymous, confirmation_token, recovery_token, email_change, phone_change, banned_until, deleted_at, "
                              f"email_confirmed_at is not null as email_confirmed, phone_confirmed_at from auth.users where id = '{made['id']}'"))
    flow.note("identities", rows(flow, f"select provider, provider_id, identity_data, email from auth.identities where user_id = '{made['id']}' order by provider"))


@scenario()
def a_change_clears_what_was_pending(flow):
    ann = flow.new_user()
    flow.post("/recover", {"email": ann["email"]}, record=False)
    flow.put("/user", {"email": flow.address("new")}, token=ann["token"], record=False)
    pending = f"select token_type from auth.one_time_tokens where user_id = '{ann['id']}' order by 1"
    flow.note("pending", rows(flow, pending))
    update(flow, ann["id"], {"password": "another horse"})
    flow.note("pending afterwards", rows(flow, pending))
    flow.note("sessions", rows(flow, f"select id from auth.sessions where user_id = '{ann['id']}'"))


@scenario()
def anonymous_account_becomes_a_person(flow):
    ann = account(flow)
    flow.database.query(f"delete from auth.identities where user_id = '{ann['id']}'; update auth.users set is_anonymous = true, email = null, "
                        f"encrypted_password = '', email_confirmed_at = null, raw_app_meta_data = '{{}}', raw_user_meta_data = '{{}}' where id = '{ann['id']}'")
    read(flow, ann["id"])
    update(flow, ann["id"], {"email": flow.address("anna")}, label="an address, not confirmed")
    update(flow, ann["id"], {"email": flow.address("anna"), "email_confirm": True, "password": "correct horse"}, label="confirmed, with a password")
    sign_in(flow, {"email": flow.address("anna"), "password": "correct horse"})


@scenario()
def methods_and_slashes(flow):
    ann = account(flow)
    flow.patch(f"/admin/users/{ann['id']}", {}, token=flow.service_role)
    flow.post(f"/admin/users/{ann['id']}", {}, token=flow.service_role)
    flow.get(f"/admin/users/{ann['id']}/", token=flow.service_role, label="a slash at the end of an account")
    flow.get(f"/admin/users/{ann['id'].upper()}", token=flow.service_role, label="the id in capitals")
    flow.get(f"/admin/users/{ann['id'].replace('-', '')}", token=flow.service_role, label="the id without hyphens")
    flow.get("/admin/users/{" + ann["id"] + "}", token=flow.service_role, label="the id in braces")
