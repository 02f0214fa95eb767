"""Phone factors: the code is sent by SMS."""

from harness.accounts import session_of
from harness.factors import age_challenges, audit, challenge, enrol, rows, unenrol, verify
from harness.messages import shown_text, text_message
from harness.registry import scenario


def enrolled(flow, user, number=0, name="", record=False):
    return enrol(flow, user["token"], {"factor_type": "phone", "phone": flow.phone(number), "friendly_name": name}, record=record)


def texted(flow, token, factor, **more):
    """Request a challenge. Returns it and the code of the SMS."""
    issued = challenge(flow, token, factor, {"channel": "sms"}, **more)
    return issued, text_message(flow)[2]


@scenario("mfa_phone")
def enrolled_and_verified_makes_the_session_aal2(flow):
    ann = flow.new_user()
    made = enrolled(flow, ann, name="mobile", record=True)
    issued = challenge(flow, ann["token"], made["id"], {"channel": "sms"})
    call, payload, code = text_message(flow)
    flow.note("text", shown_text(call, payload))
    done = verify(flow, ann["token"], made["id"], issued["id"], code)
    flow.note("same session as before", session_of(done["access_token"]) == session_of(ann["token"]))
    flow.get("/user", token=done["access_token"])
    unenrol(flow, done["access_token"], made["id"])


@scenario("mfa_phone")
def numbers_that_are_refused(flow):
    ann = flow.new_user()
    enrol(flow, ann["token"], {"factor_type": "phone"}, label="none")
    enrol(flow, ann["token"], {"factor_type": "phone", "phone": ""}, label="empty")
    enrol(flow, ann["token"], {"factor_type": "phone", "phone": "call me"}, label="letters")
    enrol(flow, ann["token"], {"factor_type": "phone", "phone": "+0155512345"}, label="a leading zero")
    enrol(flow, ann["token"], {"factor_type": "phone", "phone": "1234567890123456"}, label="sixteen digits")
    enrol(flow, ann["token"], {"factor_type": "phone", "phone": "+1 555 " + flow.phone()[4:], "friendly_name": "spaced"}, label="plus and spaces")
    flow.note("stored", rows(flow, f"select phone, status, secret from auth.mfa_factors where user_id = '{ann['id']}'"))


@scenario("mfa_phone")
def wrong_used_and_foreign_codes(flow):
    ann = flow.new_user()
    made = enrolled(flow, ann)
    first, first_code = texted(flow, ann["token"], made["id"], record=False)
    second, second_code = texted(flow, ann["token"], made["id"], record=False)
    verify(flow, ann["token"], made["id"], first["id"], "1")
    verify(flow, ann["token"], made["id"], first["id"], "", label="empty code")
    verify(flow, ann["token"], made["id"], first["id"], second_code, label="the code of the other challenge")
    done = verify(flow, ann["token"], made["id"], first["id"], first_code, label="its own code")
    verify(flow, done["access_token"], made["id"], first["id"], first_code, label="once more")
    verify(flow, done["access_token"], made["id"], second["id"], second_code, label="the later challenge still counts")


@scenario("mfa_phone")
def expired_challenge_and_another_address(flow):
    ann = flow.new_user()
    made = enrolled(flow, ann)
    issued, code = texted(flow, ann["token"], made["id"], record=False)
    verify(flow, ann["token"], made["id"], issued["id"], code, headers={"X-Forwarded-For": "198.51.100.9"}, label="another address")
    age_challenges(flow, made["id"])
    verify(flow, ann["token"], made["id"], issued["id"], code, label="too late")


@scenario("mfa_phone")
def the_same_number_again(flow):
    ann = flow.new_user()
    first = enrolled(flow, ann, name="first")
    second = enrolled(flow, ann, name="second", record=True)
    challenge(flow, ann["token"], first["id"], {"channel": "sms"}, label="the first was replaced")
    issued, code = texted(flow, ann["token"], second["id"], record=False)
    done = verify(flow, ann["token"], second["id"], issued["id"], code, record=False)
    ann["token"] = done["access_token"]
    enrolled(flow, ann, name="third", record=True)
    enrolled(flow, ann, number=1, name="fourth", record=True)


@scenario("mfa_phone")
def bodies_and_channels_of_a_challenge(flow):
    ann = flow.new_user()
    made = enrolled(flow, ann)
    challenge(flow, ann["token"], made["id"], label="no body")
    challenge(flow, ann["token"], made["id"], {}, label="no channel")
    flow.note("text", text_message(flow)[1]["sms"])
    challenge(flow, ann["token"], made["id"], {"channel": "pigeon"}, label="any channel is the hook's business")
    challenge(flow, ann["token"], made["id"], {"channel": 1}, label="a number")


@scenario("mfa_phone")
def test_numbers_get_no_fixed_code(flow):
    ann = flow.new_user()
    made = enrol(flow, ann["token"], {"factor_type": "phone", "phone": "15550001111"}, record=False)
    issued, code = texted(flow, ann["token"], made["id"])
    verify(flow, ann["token"], made["id"], issued["id"], "123456", label="the test code")
    verify(flow, ann["token"], made["id"], issued["id"], code, label="the texted code")


@scenario("mfa_phone")
def the_hook_fails(flow):
    ann = flow.new_user()
    made = enrolled(flow, ann)
    flow.hooks.reply("/sms", 400, {"error": {"http_code": 400, "message": "no credit"}})
    challenge(flow, ann["token"], made["id"], {"channel": "sms"})
    flow.note("challenges kept", rows(flow, f"select id from auth.mfa_challenges where factor_id = '{made['id']}'"))


@scenario("mfa_phone_gap")
def pause_between_texts(flow):
    ann = flow.new_user()
    made = enrolled(flow, ann)
    issued, code = texted(flow, ann["token"], made["id"])
    flow.note("digits", len(code))
    again = challenge(flow, ann["token"], made["id"], {"channel": "sms"}, record=False)
    flow.note("at once again", {"status": again.status, "error_code": again["error_code"], "msg": again["msg"].split(" after ")[0]})
    flow.database.query(f"update auth.mfa_factors set last_challenged_at = now() - interval '2 minutes' where id = '{made['id']}'")
    challenge(flow, ann["token"], made["id"], {"channel": "sms"}, label="two minutes later")


@scenario("mfa_phone_bare")
def nobody_to_send_the_text(flow):
    ann = flow.new_user()
    made = enrolled(flow, ann)
    challenge(flow, ann["token"], made["id"], {"channel": "sms"})
    challenge(flow, ann["token"], made["id"], {"channel": "whatsapp"}, label="WhatsApp without Twilio")


@scenario("mfa_phone")
def audit_rows(flow):
    ann = flow.new_user()
    made = enrolled(flow, ann)
    issued, code = texted(flow, ann["token"], made["id"], record=False)
    verify(flow, ann["token"], made["id"], issued["id"], code, record=False)
    flow.note("audit", audit(flow, ann["id"], "factor_in_progress", "challenge_created", "verification_attempted"))
