"""Factors in the admin API: list, update, delete."""

from harness.accounts import session_of
from harness.admin import account, read
from harness.factors import audit, challenge, enrol, rows, second_factor
from harness.registry import scenario

UNKNOWN = "9b2d4d4e-62c6-4d9c-8c3c-0d3bb1b9f6aa"


def factors(flow, user_id, **more):
    return flow.get(f"/admin/users/{user_id}/factors", token=flow.service_role, **more)


def change(flow, user_id, factor, body, **more):
    return flow.put(f"/admin/users/{user_id}/factors/{factor}", body, token=flow.service_role, **more)


def remove(flow, user_id, factor, **more):
    return flow.delete(f"/admin/users/{user_id}/factors/{factor}", token=flow.service_role, **more)


@scenario()
def listed(flow):
    ann, bob = flow.new_user("ann"), account(flow, "bob")
    second_factor(flow, ann, "app")
    unfinished = enrol(flow, ann["token"], {"friendly_name": "unfinished"}, record=False)
    answer = factors(flow, ann["id"], record=False)
    flow.note("factors", sorted((f for f in answer.json), key=lambda f: f["friendly_name"]))
    factors(flow, bob["id"], label="none")
    factors(flow, UNKNOWN, label="unknown account")
    factors(flow, "nonsense", label="no UUID")
    challenge(flow, ann["token"], unfinished["id"], label="the unfinished one may be challenged")


@scenario()
def renamed(flow):
    ann = flow.new_user()
    factor = second_factor(flow, ann, "app")
    enrol(flow, ann["token"], {"friendly_name": "other"}, record=False)
    change(flow, ann["id"], factor["id"], {"friendly_name": "Schlüssel 🔑"})
    change(flow, ann["id"], factor["id"], {}, label="nothing")
    change(flow, ann["id"], factor["id"], {"phone": "nonsense"}, label="a phone for an app is ignored")
    change(flow, ann["id"], factor["id"], {"friendly_name": 1}, label="a number")
    change(flow, ann["id"], factor["id"], None, label="no body")


@scenario("mfa_phone")
def phone_of_a_factor_changed(flow):
    ann = flow.new_user()
    made = enrol(flow, ann["token"], {"factor_type": "phone", "phone": flow.phone(), "friendly_name": "mobile"}, record=False)
    change(flow, ann["id"], made["id"], {"phone": "+1 555 " + flow.phone(1)[4:]})
    change(flow, ann["id"], made["id"], {"phone": "nonsense", "friendly_name": "kept as it was"}, label="bad phone")
    factors(flow, ann["id"])


@scenario()
def removed(flow):
    ann = flow.new_user()
    factor = second_factor(flow, ann, "app")
    remove(flow, ann["id"], factor["id"])
    remove(flow, ann["id"], factor["id"], label="again")
    flow.note("session", rows(flow, f"select aal, factor_id from auth.sessions where id = '{session_of(ann['token'])}'"))
    read(flow, ann["id"])


@scenario()
def path_must_name_a_factor_of_the_account(flow):
    ann, bob = flow.new_user("ann"), account(flow, "bob")
    factor = second_factor(flow, ann)
    change(flow, bob["id"], factor["id"], {"friendly_name": "mine"}, label="under another account")
    remove(flow, bob["id"], factor["id"], label="under another account")
    remove(flow, ann["id"], UNKNOWN, label="unknown")
    remove(flow, ann["id"], "nonsense", label="no UUID")
    flow.delete(f"/admin/users/{ann['id']}/factors/{factor['id']}", token=ann["token"], label="by the account itself")
    flow.get(f"/admin/users/{ann['id']}/factors/{factor['id']}", token=flow.service_role, label="there is no read")


@scenario()
def audit_rows(flow):
    ann = flow.new_user()
    factor = second_factor(flow, ann, "app")
    change(flow, ann["id"], factor["id"], {"friendly_name": "renamed"}, record=False)
    remove(flow, ann["id"], factor["id"], record=False)
    flow.note("audit", audit(flow, ann["id"], "factor_updated", "factor_deleted"))
