"""Passkeys: sign-in by WebAuthn credentials."""

from harness import webauthn
from harness.factors import another_session, audit, rows, second_factor
from harness.registry import scenario

UNKNOWN = "9b2d4d4e-62c6-4d9c-8c3c-0d3bb1b9f6aa"


def registration(flow, token, **more):
    return flow.post("/passkeys/registration/options", {}, token=token, **more)


def register(flow, token, issued, credential, **more):
    return flow.post("/passkeys/registration/verify", {"challenge_id": issued["challenge_id"], "credential": credential}, token=token, **more)


def passkey(flow, user, name="credential"):
    """Register a passkey. Returns its id and its device."""
    webauthn.handle(flow, user)
    device = webauthn.device(flow, name)
    issued = registration(flow, user["token"], record=False)
    made = register(flow, user["token"], issued, device.create(issued["options"]), record=False)
    if made.status != 200:
        raise AssertionError(f"registration: {made.status} {made.text}")
    return made["id"], device


def sign_in(flow, device, label=None, record=True, **overrides):
    issued = flow.post("/passkeys/authentication/options", {}, record=False)
    body = {"challenge_id": issued["challenge_id"], "credential": device.get(issued["options"], **overrides)}
    return flow.post("/passkeys/authentication/verify", body, label=label, record=record)


def age(flow, challenge_id):
    flow.database.query(f"update auth.webauthn_challenges set expires_at = now() - interval '1 second' where id = '{challenge_id}'")


@scenario("mfa_webauthn")
def registered_and_used_to_sign_in(flow):
    ann = flow.new_user(data={"name": "Ann"})
    webauthn.handle(flow, ann)
    device = webauthn.device(flow)
    issued = registration(flow, ann["token"])
    register(flow, ann["token"], issued, device.create(issued["options"]))
    issued = flow.post("/passkeys/authentication/options", {})
    flow.post("/passkeys/authentication/verify", {"challenge_id": issued["challenge_id"], "credential": device.get(issued["options"])})
    flow.get("/passkeys", token=ann["token"])


@scenario("mfa_webauthn")
def options_need_no_body(flow):
    ann = flow.new_user()
    webauthn.handle(flow, ann)
    flow.post("/passkeys/authentication/options")
    flow.post("/passkeys/registration/options", token=ann["token"])
    flow.post("/passkeys/registration/options", label="without a token")


@scenario("mfa_webauthn")
def bodies_of_registration_that_are_refused(flow):
    ann = flow.new_user()
    webauthn.handle(flow, ann)
    device = webauthn.device(flow)
    issued = registration(flow, ann["token"], record=False)
    path, token = "/passkeys/registration/verify", ann["token"]
    flow.post(path, token=token, label="no body")
    flow.post(path, {}, token=token, label="nothing")
    flow.post(path, {"challenge_id": issued["challenge_id"]}, token=token, label="no credential")
    flow.post(path, {"challenge_id": "nonsense", "credential": {}}, token=token, label="challenge is no UUID")
    flow.post(path, {"challenge_id": UNKNOWN, "credential": {}}, token=token, label="unknown challenge")
    register(flow, token, issued, {}, label="empty credential")
    register(flow, token, issued, device.create(issued["options"]), label="the challenge is used up")


@scenario("mfa_webauthn")
def bodies_of_sign_in_that_are_refused(flow):
    path = "/passkeys/authentication/verify"
    flow.post(path, token=None, label="no body")
    flow.post(path, {"credential": {}}, label="no challenge")
    flow.post(path, {"challenge_id": UNKNOWN}, label="no credential")
    flow.post(path, {"challenge_id": "nonsense", "credential": {}}, label="challenge is no UUID")
    flow.post(path, {"challenge_id": UNKNOWN, "credential": {}}, label="unknown challenge")
    issued = flow.post("/passkeys/authentication/options", {}, record=False)
    flow.post(path, {"challenge_id": issued["challenge_id"], "credential": "text"}, label="text for a credential")


@scenario("mfa_webauthn")
def registrations_that_do_not_fit(flow):
    ann = flow.new_user()
    webauthn.handle(flow, ann)
    device = webauthn.device(flow)
    for label, overrides in {
        "foreign origin": {"origin": "https://evil.example.net"},
        "another challenge": {"challenge": "AAAA"},
        "another relying party": {"rp_id": "example.net"},
        "the ceremony of a sign-in": {"type": "webauthn.get"},
        "nobody present": {"flags": webauthn.AT},
    }.items():
        issued = registration(flow, ann["token"], record=False)
        register(flow, ann["token"], issued, device.create(issued["options"], **overrides), label=label)
    device.origin = "https://shop.example.com"
    issued = registration(flow, ann["token"], record=False)
    register(flow, ann["token"], issued, device.create(issued["options"]), label="the second allowed origin")


@scenario("mfa_webauthn")
def sign_ins_that_do_not_fit(flow):
    ann = flow.new_user()
    device = passkey(flow, ann)[1]
    sign_in(flow, device, label="foreign origin", origin="https://evil.example.net")
    sign_in(flow, device, label="another challenge", challenge="AAAA")
    sign_in(flow, device, label="another relying party", rp_id="example.net")
    sign_in(flow, device, label="bad signature", corrupt_signature=True)
    sign_in(flow, device, label="nobody present", flags=0)
    stranger = webauthn.device(flow, "other credential")
    stranger.user_handle = device.user_handle
    sign_in(flow, stranger, label="unknown credential of a known user")
    sign_in(flow, device, label="right at last")


@scenario("mfa_webauthn")
def signature_counter_that_falls_back(flow):
    ann = flow.new_user()
    key, device = passkey(flow, ann)
    sign_in(flow, device, count=5, record=False)
    flow.note("stored", rows(flow, f"select sign_count, last_used_at is not null as used from auth.webauthn_credentials where id = '{key}'"))
    sign_in(flow, device, count=3, label="a lower counter")
    flow.note("stored", rows(flow, f"select sign_count from auth.webauthn_credentials where id = '{key}'"))


@scenario("mfa_webauthn")
def challenges_expire_and_serve_once(flow):
    ann = flow.new_user()
    device = passkey(flow, ann)[1]
    issued = flow.post("/passkeys/authentication/options", {}, record=False)
    body = {"challenge_id": issued["challenge_id"], "credential": device.get(issued["options"])}
    age(flow, issued["challenge_id"])
    flow.post("/passkeys/authentication/verify", body, label="too late")
    flow.post("/passkeys/authentication/verify", body, label="once more")
    issued = flow.post("/passkeys/authentication/options", {}, record=False)
    register(flow, ann["token"], issued, {}, label="the challenge of a sign-in for a registration")


@scenario("mfa_webauthn")
def banned_account(flow):
    ann = flow.new_user()
    device = passkey(flow, ann)[1]
    flow.put(f"/admin/users/{ann['id']}", {"ban_duration": "1h"}, token=flow.service_role, record=False)
    sign_in(flow, device)


@scenario("mfa_webauthn")
def listed_renamed_and_deleted(flow):
    ann, bob = flow.new_user("ann"), flow.new_user("bob")
    first = passkey(flow, ann, "first credential")[0]
    second, device = passkey(flow, ann, "second credential")
    flow.patch(f"/passkeys/{first}", {"friendly_name": "Laptop"}, token=ann["token"])
    sign_in(flow, device, record=False)
    flow.get("/passkeys", token=ann["token"])
    flow.get("/passkeys", token=bob["token"], label="another account's list")
    flow.delete(f"/passkeys/{first}", token=bob["token"], label="another account's passkey")
    flow.delete(f"/passkeys/{first}", token=ann["token"])
    flow.delete(f"/passkeys/{first}", token=ann["token"], label="again")
    flow.get("/passkeys", token=ann["token"], label="what is left")


@scenario("mfa_webauthn")
def names_that_are_refused(flow):
    ann = flow.new_user()
    key = passkey(flow, ann)[0]
    flow.patch(f"/passkeys/{key}", {}, token=ann["token"], label="none")
    flow.patch(f"/passkeys/{key}", {"friendly_name": "x" * 121}, token=ann["token"], label="121 characters")
    flow.patch(f"/passkeys/{key}", {"friendly_name": 1}, token=ann["token"], label="a number")
    flow.patch(f"/passkeys/{UNKNOWN}", {"friendly_name": "x"}, token=ann["token"], label="unknown passkey")
    flow.patch("/passkeys/nonsense", {"friendly_name": "x"}, token=ann["token"], label="no UUID")
    flow.patch(f"/passkeys/{key}", {"friendly_name": "Schlüssel 🔑"}, token=ann["token"], label="unicode")


@scenario("passkeys_few")
def number_of_passkeys(flow):
    ann = flow.new_user()
    webauthn.handle(flow, ann)
    early = registration(flow, ann["token"], record=False)
    passkey(flow, ann, "first credential")
    registration(flow, ann["token"], label="the known credential is excluded")
    passkey(flow, ann, "second credential")
    registration(flow, ann["token"], label="one too many")
    device = webauthn.device(flow, "third credential")
    register(flow, ann["token"], early, device.create(early["options"]), label="an early challenge does not help")


@scenario("mfa_webauthn")
def one_credential_twice(flow):
    ann, bob = flow.new_user("ann"), flow.new_user("bob")
    device = passkey(flow, ann)[1]
    issued = registration(flow, bob["token"], record=False)
    flow.names.learn(device.id.hex(), "credential in hex")
    register(flow, bob["token"], issued, device.create(issued["options"]))


@scenario("mfa_webauthn")
def protected_account_manages_passkeys_at_aal2_only(flow):
    ann = flow.new_user()
    key = passkey(flow, ann)[0]
    second_factor(flow, ann)
    weak = another_session(flow, ann)
    registration(flow, weak["token"])
    flow.post("/passkeys/registration/verify", {}, token=weak["token"])
    flow.delete(f"/passkeys/{key}", token=weak["token"])
    flow.patch(f"/passkeys/{key}", {"friendly_name": "Renamed"}, token=weak["token"])
    flow.get("/passkeys", token=weak["token"])
    flow.delete(f"/passkeys/{key}", token=ann["token"], label="from aal2")


@scenario("mfa_webauthn")
def administrator_lists_and_deletes(flow):
    ann, bob = flow.new_user("ann"), flow.new_user("bob")
    key = passkey(flow, ann)[0]
    flow.get(f"/admin/users/{ann['id']}/passkeys", token=flow.service_role)
    flow.get(f"/admin/users/{bob['id']}/passkeys", token=flow.service_role, label="none")
    flow.get(f"/admin/users/{ann['id']}/passkeys", token=ann["token"], label="by the account itself")
    flow.delete(f"/admin/users/{bob['id']}/passkeys/{key}", token=flow.service_role, label="under another account")
    flow.delete(f"/admin/users/{ann['id']}/passkeys/nonsense", token=flow.service_role, label="no UUID")
    flow.delete(f"/admin/users/{ann['id']}/passkeys/{key}", token=flow.service_role)
    flow.delete(f"/admin/users/{ann['id']}/passkeys/{key}", token=flow.service_role, label="again")


@scenario()
def passkeys_are_off_by_default(flow):
    ann = flow.new_user()
    flow.post("/passkeys/authentication/options", {})
    flow.post("/passkeys/registration/options", {}, token=ann["token"])
    flow.get("/passkeys", token=ann["token"])
    flow.get(f"/admin/users/{ann['id']}/passkeys", token=flow.service_role, label="the administrator's list")


@scenario("mfa_webauthn")
def stored_credential_and_audit_rows(flow):
    ann = flow.new_user()
    key, device = passkey(flow, ann)
    sign_in(flow, device, record=False)
    flow.patch(f"/passkeys/{key}", {"friendly_name": "Laptop"}, token=ann["token"], record=False)
    row, = rows(flow, f"select * from auth.webauthn_credentials where id = '{key}'")
    opaque = ("credential_id", "public_key")
    flow.note("credential", {k: "<bytes>" if k in opaque else "<time>" if k.endswith("_at") else v for k, v in row.items()})
    flow.delete(f"/passkeys/{key}", token=ann["token"], record=False)
    flow.note("audit", audit(flow, ann["id"], "passkey_created", "passkey_updated", "passkey_deleted", "login"))
