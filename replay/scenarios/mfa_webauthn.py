"""A WebAuthn credential as second factor."""

from harness import webauthn
from harness.factors import age_challenges, another_session, challenge, enrol, unenrol
from harness.registry import scenario

RP = {"rpId": "example.com", "rpOrigins": ["https://app.example.com"]}


def enrolled(flow, user, name="", record=False):
    webauthn.handle(flow, user)
    return enrol(flow, user["token"], {"factor_type": "webauthn", "friendly_name": name}, record=record)


def options(issued):
    return issued["webauthn"]["credential_options"]["publicKey"]


def prove(flow, token, factor, issued, kind, credential, **more):
    body = {"challenge_id": issued["id"], "webauthn": {**RP, "type": kind, "credential_response": credential}}
    return flow.post(f"/factors/{factor}/verify", body, token=token, **more)


def key_factor(flow, user, name=""):
    """Enrol and verify a WebAuthn factor, which raises the session to aal2. Returns factor and device."""
    made, device = enrolled(flow, user, name), webauthn.device(flow)
    issued = challenge(flow, user["token"], made["id"], {"webauthn": RP}, record=False)
    done = prove(flow, user["token"], made["id"], issued, "create", device.create(options(issued)), record=False)
    if done.status != 200:
        raise AssertionError(f"verification: {done.status} {done.text}")
    user["token"] = done["access_token"]
    return made["id"], device


@scenario("mfa_webauthn")
def credential_is_made_and_then_asked_for(flow):
    ann = flow.new_user(data={"name": "Ann"})
    device = webauthn.device(flow)
    made = enrolled(flow, ann, "key", record=True)
    issued = challenge(flow, ann["token"], made["id"], {"webauthn": RP}, label="challenge of the unverified factor")
    done = prove(flow, ann["token"], made["id"], issued, "create", device.create(options(issued)))
    weak = another_session(flow, ann)
    issued = challenge(flow, weak["token"], made["id"], {"webauthn": RP}, label="challenge of the verified factor")
    prove(flow, weak["token"], made["id"], issued, "request", device.get(options(issued)))
    unenrol(flow, done["access_token"], made["id"])


@scenario("mfa_webauthn")
def bodies_that_are_refused(flow):
    ann = flow.new_user()
    made, device = enrolled(flow, ann), webauthn.device(flow)
    path = f"/factors/{made['id']}/verify"
    challenge(flow, ann["token"], made["id"], label="challenge without a body")
    issued = challenge(flow, ann["token"], made["id"], {}, record=False)
    credential = device.create(options(issued))
    flow.post(path, {"challenge_id": issued["id"]}, token=ann["token"], label="nothing")
    flow.post(path, {"challenge_id": issued["id"], "webauthn": {"credential_response": credential}}, token=ann["token"], label="no type")
    flow.post(path, {"challenge_id": issued["id"], "webauthn": {"type": "create"}}, token=ann["token"], label="no credential")
    prove(flow, ann["token"], made["id"], {"id": "9b2d4d4e-62c6-4d9c-8c3c-0d3bb1b9f6aa"}, "create", credential, label="unknown challenge")
    prove(flow, ann["token"], made["id"], issued, "create", {"id": "x"}, label="half a credential")
    prove(flow, ann["token"], made["id"], issued, "create", "text", label="text for a credential")
    prove(flow, ann["token"], made["id"], issued, "create", credential, label="a whole one")


@scenario("mfa_webauthn")
def registrations_that_do_not_fit(flow):
    ann = flow.new_user()
    made, device = enrolled(flow, ann), webauthn.device(flow)
    issued = challenge(flow, ann["token"], made["id"], {}, record=False)
    ask = options(issued)
    prove(flow, ann["token"], made["id"], issued, "create", device.create(ask, origin="https://evil.example.net"), label="foreign origin")
    prove(flow, ann["token"], made["id"], issued, "create", device.create(ask, challenge="AAAA"), label="another challenge")
    prove(flow, ann["token"], made["id"], issued, "create", device.create(ask, rp_id="example.net"), label="another relying party")
    prove(flow, ann["token"], made["id"], issued, "create", device.create(ask), label="right at last")


@scenario("mfa_webauthn")
def assertions_that_do_not_fit(flow):
    ann = flow.new_user()
    factor, device = key_factor(flow, ann)
    weak = another_session(flow, ann)
    issued = challenge(flow, weak["token"], factor, {}, record=False)
    ask = options(issued)
    prove(flow, weak["token"], factor, issued, "request", device.get(ask, corrupt_signature=True), label="bad signature")
    prove(flow, weak["token"], factor, issued, "request", device.get(ask, origin="https://evil.example.net"), label="foreign origin")
    stranger = webauthn.device(flow, "other credential")
    stranger.user_handle = device.user_handle
    prove(flow, weak["token"], factor, issued, "request", stranger.get(ask), label="unknown credential")
    prove(flow, weak["token"], factor, issued, "request", device.get(ask), label="right at last")
    prove(flow, weak["token"], factor, issued, "request", device.get(ask), label="the challenge is used up")


@scenario("mfa_webauthn")
def expired_and_foreign_challenges(flow):
    ann = flow.new_user()
    made, device = enrolled(flow, ann), webauthn.device(flow)
    issued = challenge(flow, ann["token"], made["id"], {}, headers={"X-Forwarded-For": "203.0.113.7"}, record=False)
    prove(flow, ann["token"], made["id"], issued, "create", device.create(options(issued)), label="another address")
    age_challenges(flow, made["id"])
    prove(flow, ann["token"], made["id"], issued, "create", device.create(options(issued)),
          headers={"X-Forwarded-For": "203.0.113.7"}, label="too late")


@scenario("mfa_webauthn")
def factor_as_the_account_shows_it(flow):
    ann = flow.new_user()
    key_factor(flow, ann, "key")
    factor, = flow.get("/user", token=ann["token"], record=False)["factors"]
    last = factor.pop("last_webauthn_challenge_data")
    flow.note("factor", factor)
    flow.note("last challenge", {"type": last["type"], "challenge": sorted(last["challenge"]), "credential": last["credential_response"]["rawId"] != ""})
    flow.get("/passkeys", token=ann["token"], label="it is no passkey")


@scenario("passkeys_no_relying_party")
def relying_party_is_not_configured(flow):
    ann = flow.new_user()
    made = enrolled(flow, ann, record=True)
    challenge(flow, ann["token"], made["id"], {})
    flow.post("/passkeys/authentication/options", {})
    flow.post("/passkeys/registration/options", {}, token=ann["token"])
