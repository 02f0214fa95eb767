"""A time-based one-time password as second factor: enrol, challenge, verify, unenrol."""

import json
import urllib.parse

from harness.accounts import claims, refresh, session_of, sign_in
from harness.factors import (age_challenges, another_session, audit, challenge, enrol, rows, second_factor, step_up,
                             unenrol, verify, wrong_code)
from harness.registry import scenario


@scenario()
def enrolled_and_verified_makes_the_session_aal2(flow):
    ann = flow.new_user()
    made = enrol(flow, ann["token"], {"friendly_name": "my phone"})
    issued = challenge(flow, ann["token"], made["id"])
    done = verify(flow, ann["token"], made["id"], issued["id"], flow.totp(made["totp"]["secret"]))
    flow.note("same session as before", session_of(done["access_token"]) == session_of(ann["token"]))
    flow.get("/user", token=done["access_token"])
    refresh(flow, done["refresh_token"])
    refresh(flow, ann["refresh"], label="the refresh token from before the second factor")


@scenario()
def key_uri_and_qr_code(flow):
    ann = flow.new_user()
    made = enrol(flow, ann["token"], record=False)
    uri = urllib.parse.urlsplit(made["totp"]["uri"])
    flow.note("key URI", {"scheme": uri.scheme, "host": uri.netloc, "path": urllib.parse.unquote(uri.path),
                          "query": dict(urllib.parse.parse_qsl(uri.query)), "secret is that of the answer": made["totp"]["secret"] in uri.query})
    picture = made["totp"]["qr_code"]
    flow.note("picture", {"starts": picture[:5], "svg": "<svg" in picture, "free of # and %": not set("#%") & set(picture)})
    enrol(flow, ann["token"], {"friendly_name": "shop", "issuer": "My Shop"})


@scenario()
def wrong_code_leaves_the_challenge_usable(flow):
    ann = flow.new_user()
    made = enrol(flow, ann["token"], record=False)
    secret = made["totp"]["secret"]
    issued = challenge(flow, ann["token"], made["id"], record=False)
    verify(flow, ann["token"], made["id"], issued["id"], wrong_code(flow, secret))
    verify(flow, ann["token"], made["id"], issued["id"], "12345", label="too short")
    verify(flow, ann["token"], made["id"], issued["id"], "abcdef", label="letters")
    verify(flow, ann["token"], made["id"], issued["id"], flow.totp(secret), label="right at last")


@scenario()
def a_challenge_serves_once_a_code_twice(flow):
    ann = flow.new_user()
    made = enrol(flow, ann["token"], record=False)
    secret = made["totp"]["secret"]
    first = challenge(flow, ann["token"], made["id"], record=False)
    second = challenge(flow, ann["token"], made["id"], record=False)
    code = flow.totp(secret)
    done = verify(flow, ann["token"], made["id"], first["id"], code)
    verify(flow, done["access_token"], made["id"], first["id"], code, label="the same challenge again")
    verify(flow, done["access_token"], made["id"], second["id"], code, label="the same code for the other challenge")


@scenario()
def expired_challenge_is_removed(flow):
    ann = flow.new_user()
    made = enrol(flow, ann["token"], record=False)
    issued = challenge(flow, ann["token"], made["id"], record=False)
    age_challenges(flow, made["id"])
    code = flow.totp(made["totp"]["secret"])
    verify(flow, ann["token"], made["id"], issued["id"], code)
    verify(flow, ann["token"], made["id"], issued["id"], code, label="once more")


@scenario()
def challenge_belongs_to_an_address(flow):
    ann = flow.new_user()
    made = enrol(flow, ann["token"], record=False)
    issued = challenge(flow, ann["token"], made["id"], headers={"X-Forwarded-For": "203.0.113.7"}, record=False)
    code = flow.totp(made["totp"]["secret"])
    verify(flow, ann["token"], made["id"], issued["id"], code, label="without the header")
    verify(flow, ann["token"], made["id"], issued["id"], code, headers={"X-Forwarded-For": "203.0.113.8"}, label="another address")
    verify(flow, ann["token"], made["id"], issued["id"], code, headers={"X-Forwarded-For": "203.0.113.7, 10.0.0.1"}, label="the same address through a proxy")


@scenario()
def odd_bodies_for_enrolment(flow):
    ann = flow.new_user()
    enrol(flow, ann["token"], {"factor_type": "sms"}, label="unknown type")
    flow.post("/factors", {}, token=ann["token"], label="no type")
    flow.post("/factors", token=ann["token"], label="no body")
    flow.post("/factors", raw="{", token=ann["token"], headers={"Content-Type": "application/json"}, label="malformed JSON")
    flow.post("/factors", {"factor_type": 1}, token=ann["token"], label="a number for the type")
    flow.post("/factors", {"factor_type": "TOTP"}, token=ann["token"], label="upper case")
    enrol(flow, ann["token"], {"friendly_name": "Schlüssel 🔑", "unknown": True}, label="unicode name and an unknown field")


@scenario()
def odd_bodies_for_verification(flow):
    ann = flow.new_user()
    made = enrol(flow, ann["token"], record=False)
    path = f"/factors/{made['id']}/verify"
    issued = challenge(flow, ann["token"], made["id"], record=False)
    flow.post(path, {"challenge_id": issued["id"]}, token=ann["token"], label="no code")
    flow.post(path, {"code": "123456"}, token=ann["token"], label="no challenge")
    flow.post(path, {"challenge_id": "nonsense", "code": "123456"}, token=ann["token"], label="challenge is no UUID")
    flow.post(path, {"challenge_id": "9b2d4d4e-62c6-4d9c-8c3c-0d3bb1b9f6aa", "code": "123456"}, token=ann["token"], label="unknown challenge")
    flow.post(path, token=ann["token"], label="no body")
    flow.post(path, {"challenge_id": issued["id"], "code": 123456}, token=ann["token"], label="a number for the code")


@scenario()
def factor_of_the_path_must_be_ones_own(flow):
    ann, bob = flow.new_user("ann"), flow.new_user("bob")
    made = enrol(flow, ann["token"], record=False)
    issued = challenge(flow, ann["token"], made["id"], record=False)
    challenge(flow, bob["token"], made["id"], label="another's factor")
    verify(flow, bob["token"], made["id"], issued["id"], flow.totp(made["totp"]["secret"]), label="another's factor")
    unenrol(flow, bob["token"], made["id"], label="another's factor")
    challenge(flow, ann["token"], "nonsense", label="no UUID")
    challenge(flow, ann["token"], "9b2d4d4e-62c6-4d9c-8c3c-0d3bb1b9f6aa", label="unknown factor")
    challenge(flow, None, made["id"], label="no token")
    flow.get("/factors", token=ann["token"], label="there is no list")


@scenario()
def names_are_unique_per_account(flow):
    ann, bob = flow.new_user("ann"), flow.new_user("bob")
    enrol(flow, ann["token"], {"friendly_name": "home"})
    enrol(flow, ann["token"], {"friendly_name": "home"}, label="the same name")
    enrol(flow, ann["token"], {"friendly_name": "Home"}, label="another case")
    enrol(flow, bob["token"], {"friendly_name": "home"}, label="another account")
    enrol(flow, ann["token"], label="no name")
    enrol(flow, ann["token"], label="no name, the second time")


@scenario()
def verification_clears_the_way(flow):
    """Ends sessions below aal2 and deletes unverified factors of the same type."""
    ann = flow.new_user()
    other = another_session(flow, ann)
    enrol(flow, ann["token"], {"friendly_name": "never finished"}, record=False)
    made = enrol(flow, ann["token"], {"friendly_name": "kept"}, record=False)
    issued = challenge(flow, ann["token"], made["id"], record=False)
    done = verify(flow, ann["token"], made["id"], issued["id"], flow.totp(made["totp"]["secret"]), record=False)
    factors = flow.get("/user", token=done["access_token"], record=False)["factors"]
    flow.note("factors", [f["friendly_name"] for f in factors])
    flow.get("/user", token=other["token"], label="another session")
    refresh(flow, other["refresh"], label="its refresh token")
    sign_in(flow, ann)


@scenario()
def unenrolment(flow):
    ann = flow.new_user()
    factor = second_factor(flow, ann)
    weak = another_session(flow, ann)
    unenrol(flow, weak["token"], factor["id"], label="from an aal1 session")
    unenrol(flow, ann["token"], factor["id"], label="from an aal2 session")
    unenrol(flow, ann["token"], factor["id"], label="again")
    flow.get("/user", token=ann["token"], label="the access token of the aal2 session")
    back = refresh(flow, ann["refresh"], label="its refresh")
    flow.note("assurance afterwards", {k: claims(back["access_token"])[k] for k in ("aal", "amr")})


@scenario()
def unverified_factor_goes_without_aal2(flow):
    ann = flow.new_user()
    made = enrol(flow, ann["token"], record=False)
    unenrol(flow, ann["token"], made["id"])
    flow.get("/user", token=ann["token"])


@scenario()
def aal1_session_of_a_protected_account(flow):
    ann = flow.new_user()
    factor = second_factor(flow, ann, "first")
    weak = another_session(flow, ann)
    enrol(flow, weak["token"], {"friendly_name": "second"}, label="enrol from aal1")
    flow.put("/user", {"password": "another horse"}, token=weak["token"], label="password from aal1")
    flow.put("/user", {"email": flow.address("new")}, token=weak["token"], label="e-mail from aal1")
    flow.put("/user", {"phone": flow.phone()}, token=weak["token"], label="phone from aal1")
    flow.put("/user", {"data": {"colour": "red"}}, token=weak["token"], label="metadata from aal1")
    enrol(flow, ann["token"], {"friendly_name": "second"}, label="enrol from aal2")
    issued = challenge(flow, weak["token"], factor["id"], label="challenge from aal1")
    verify(flow, weak["token"], factor["id"], issued["id"], flow.totp(factor["secret"]), label="the weak session steps up")


@scenario("mfa_totp_limits")
def number_of_factors(flow):
    ann = flow.new_user()
    for name in ("one", "two", "three"):
        enrol(flow, ann["token"], {"friendly_name": name}, record=False)
    enrol(flow, ann["token"], {"friendly_name": "four"}, label="a fourth")
    enrol(flow, ann["token"], {"friendly_name": "one"}, label="a name in use")


@scenario("mfa_totp_limits")
def number_of_verified_factors(flow):
    ann = flow.new_user()
    second_factor(flow, ann, "one")
    second_factor(flow, ann, "two")
    enrol(flow, ann["token"], {"friendly_name": "three"}, label="a third from aal2")
    enrol(flow, another_session(flow, ann)["token"], {"friendly_name": "three"}, label="a third from aal1")


@scenario()
def old_unverified_factors_are_dropped_by_the_next_enrolment(flow):
    ann = flow.new_user()
    made = enrol(flow, ann["token"], {"friendly_name": "stale"}, record=False)
    kept = enrol(flow, ann["token"], {"friendly_name": "challenged"}, record=False)
    challenge(flow, ann["token"], kept["id"], record=False)
    flow.database.query(f"update auth.mfa_factors set created_at = created_at - interval '1 hour' where user_id = '{ann['id']}'")
    enrol(flow, ann["token"], {"friendly_name": "stale"}, label="the name is free again")
    flow.get("/user", token=ann["token"])
    challenge(flow, ann["token"], made["id"], label="the dropped factor")


@scenario("mfa_totp_off")
def factor_types_that_are_off(flow):
    ann = flow.new_user()
    enrol(flow, ann["token"])
    enrol(flow, ann["token"], {"factor_type": "webauthn"}, label="WebAuthn")
    made = enrol(flow, ann["token"], {"factor_type": "phone", "phone": flow.phone()}, label="a phone")
    challenge(flow, ann["token"], made["id"], {"channel": "sms"}, label="challenge the phone")
    verify(flow, ann["token"], made["id"], "9b2d4d4e-62c6-4d9c-8c3c-0d3bb1b9f6aa", "123456", label="verify the phone")
    flow.database.query("insert into auth.mfa_factors (id, user_id, friendly_name, factor_type, status, secret, created_at, updated_at) values "
                        f"('11111111-2222-4333-8444-555555555555', '{ann['id']}', 'old', 'totp', 'verified', 'JBSWY3DPEHPK3PXP', now(), now())")
    challenge(flow, ann["token"], "11111111-2222-4333-8444-555555555555", label="challenge a TOTP factor of earlier days")
    verify(flow, ann["token"], "11111111-2222-4333-8444-555555555555", "9b2d4d4e-62c6-4d9c-8c3c-0d3bb1b9f6aa", "123456", label="verify it")


@scenario("mfa_totp_off")
def anonymous_accounts_have_no_factors(flow):
    guest = flow.post("/signup", {}, record=False)
    enrol(flow, guest["access_token"])
    flow.post("/factors", {}, label="no token")


@scenario("mfa_totp_hook")
def attempt_goes_through_the_hook(flow):
    flow.hooks.reply("/mfa", 200, {"decision": "continue"})
    ann = flow.new_user()
    made = enrol(flow, ann["token"], record=False)
    issued = challenge(flow, ann["token"], made["id"], record=False)
    verify(flow, ann["token"], made["id"], issued["id"], wrong_code(flow, made["totp"]["secret"]))
    flow.note("payload", hook_payload(flow))
    done = verify(flow, ann["token"], made["id"], issued["id"], flow.totp(made["totp"]["secret"]))
    flow.note("payload", hook_payload(flow))
    mail = flow.mail.wait(ann["email"])
    flow.note("mail", {"subject": mail.subject, "links": mail.links})
    unenrol(flow, done["access_token"], made["id"])
    flow.note("mail", {"subject": flow.mail.wait(ann["email"]).subject})


@scenario("mfa_totp_hook")
def hook_rejects_the_attempt(flow):
    flow.hooks.reply("/mfa", 200, {"decision": "reject", "message": "Too many attempts, call us"})
    ann = flow.new_user()
    made = enrol(flow, ann["token"], record=False)
    issued = challenge(flow, ann["token"], made["id"], record=False)
    verify(flow, ann["token"], made["id"], issued["id"], flow.totp(made["totp"]["secret"]), label="even the right code")
    flow.get("/user", token=ann["token"], label="signed out by the rejection")
    again = another_session(flow, ann)
    flow.hooks.reply("/mfa", 200, {"decision": "reject"})
    issued = challenge(flow, again["token"], made["id"], record=False)
    verify(flow, again["token"], made["id"], issued["id"], "123456", label="rejected without a message")


@scenario()
def audit_rows_of_a_factors_life(flow):
    ann = flow.new_user()
    factor = second_factor(flow, ann)
    unenrol(flow, ann["token"], factor["id"], record=False)
    flow.note("audit", audit(flow, ann["id"], "factor_in_progress", "challenge_created", "verification_attempted", "factor_unenrolled"))


@scenario()
def stored_factor_and_challenge(flow):
    ann = flow.new_user()
    made = enrol(flow, ann["token"], {"friendly_name": "stored"}, record=False)
    challenge(flow, ann["token"], made["id"], headers={"X-Forwarded-For": "203.0.113.7"}, record=False)
    factor, = rows(flow, f"select friendly_name, factor_type, status, secret, phone, last_challenged_at is not null as challenged from auth.mfa_factors where id = '{made['id']}'")
    flow.note("factor", {**factor, "secret": factor["secret"] == made["totp"]["secret"]})
    flow.note("challenge", rows(flow, f"select ip_address, verified_at, otp_code, web_authn_session_data from auth.mfa_challenges where factor_id = '{made['id']}'"))


@scenario("mfa_totp_encrypted")
def secret_is_kept_encrypted(flow):
    ann = flow.new_user()
    factor = second_factor(flow, ann)
    stored = json.loads(flow.database.query(f"select secret from auth.mfa_factors where id = '{factor['id']}'"))
    flow.note("stored secret", {"members": sorted(stored), "key_id": stored["key_id"], "alg": stored["alg"]})
    step_up(flow, another_session(flow, ann), factor, record=True)


def hook_payload(flow):
    return json.loads(flow.hooks.wait("/mfa")["body"])
