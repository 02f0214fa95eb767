"""PKCE with e-mail links: the link gives a code; code and verifier give a session."""

import secrets

from harness.messages import code_in_subject, email_facts, backdate
from harness.registry import scenario


def challenge(flow):
    """Return a verifier and the request members of its challenge."""
    verifier, hashed = flow.pkce()
    return verifier, {"code_challenge": hashed, "code_challenge_method": "s256"}


def exchange(flow, code, verifier, label=None):
    return flow.post("/token?grant_type=pkce", {"auth_code": code, "code_verifier": verifier}, label=label)


@scenario()
def sign_up(flow):
    ann = flow.address("ann")
    verifier, pair = challenge(flow)
    flow.post("/signup", {"email": ann, "password": "correct horse", **pair})
    mail = flow.mail.wait(ann)
    flow.note("mail", email_facts(mail))
    code = flow.get(mail.links[0]).location[1]["code"]
    exchange(flow, code, verifier + "x", "a wrong verifier")
    exchange(flow, code, verifier)
    exchange(flow, code, verifier, "the code again")


@scenario()
def sign_in_link_with_a_plain_challenge(flow):
    ann = flow.new_user()
    verifier = secrets.token_urlsafe(40)
    flow.post("/otp", {"email": ann["email"], "code_challenge": verifier, "code_challenge_method": "plain"})
    mail = flow.mail.wait(ann["email"])
    flow.note("mail", email_facts(mail))
    code = flow.get(mail.links[0]).location[1]["code"]
    exchange(flow, code, verifier[:-1], "a wrong verifier")
    exchange(flow, code, verifier)


@scenario()
def new_user_by_otp(flow):
    ann = flow.address("ann")
    verifier, pair = challenge(flow)
    flow.post("/otp", {"email": ann, **pair})
    code = flow.get(flow.mail.wait(ann).links[0]).location[1]["code"]
    exchange(flow, code, verifier)


@scenario()
def recovery_to_a_target_with_a_query(flow):
    ann = flow.new_user()
    verifier, pair = challenge(flow)
    flow.post("/recover?redirect_to=http://shop.example.com/reset%3Fstep%3D1%23top", {"email": ann["email"], **pair})
    mail = flow.mail.wait(ann["email"])
    flow.note("mail", email_facts(mail))
    code = flow.get(mail.links[0]).location[1]["code"]
    exchange(flow, code, verifier)
    flow.get(mail.links[0], label="the link again")


@scenario()
def email_change(flow):
    ann, new = flow.new_user(), flow.address("new")
    verifier, pair = challenge(flow)
    flow.put("/user", {"email": new, **pair}, token=ann["token"])
    to_new, to_current = flow.mail.wait(new), flow.mail.wait(ann["email"])
    flow.note("links", to_new.links + to_current.links)
    flow.get(to_new.links[0], label="one confirmation")
    code = flow.get(to_current.links[0], label="both").location[1]["code"]
    exchange(flow, code, verifier)


@scenario()
def code_expires(flow):
    ann = flow.new_user()
    verifier, pair = challenge(flow)
    flow.post("/otp", {"email": ann["email"], **pair}, record=False)
    code = flow.get(flow.mail.wait(ann["email"]).links[0], record=False).location[1]["code"]
    flow.database.query(f"update auth.flow_state set auth_code_issued_at = auth_code_issued_at - interval '301 seconds', created_at = created_at - interval '301 seconds' where auth_code = '{code}'")
    exchange(flow, code, verifier)
    exchange(flow, code, verifier, "again")


@scenario()
def link_expires(flow):
    ann = flow.new_user()
    _, pair = challenge(flow)
    flow.post("/recover", {"email": ann["email"], **pair}, record=False)
    mail = flow.mail.wait(ann["email"])
    backdate(flow, "recovery_sent_at", 86401, email=ann["email"])
    flow.get(mail.links[0])


@scenario()
def wrong_challenges(flow):
    ann = flow.address("ann")
    for label, pair in {
        "a challenge alone": {"code_challenge": "x" * 43},
        "a method alone": {"code_challenge_method": "s256"},
        "42 characters": {"code_challenge": "x" * 42, "code_challenge_method": "s256"},
        "129 characters": {"code_challenge": "x" * 129, "code_challenge_method": "s256"},
        "a plus": {"code_challenge": "+" + "x" * 43, "code_challenge_method": "plain"},
        "an unknown method": {"code_challenge": "x" * 43, "code_challenge_method": "s512"},
        "the method in capitals": {"code_challenge": "x" * 43, "code_challenge_method": "S256"},
    }.items():
        flow.post("/otp", {"email": ann, **pair}, label=label)


@scenario()
def wrong_exchanges(flow):
    exchange(flow, "", "x" * 43, "no code")
    exchange(flow, "abc", "", "no verifier")
    flow.post("/token?grant_type=pkce", {}, label="neither")
    flow.post("/token?grant_type=pkce", raw="", label="no body")
    exchange(flow, "abc", "x" * 43, "an unknown code")
    exchange(flow, "2c5d1a3e-0000-4000-8000-000000000000", "x" * 43, "an unknown code of the right form")
    flow.post("/token?grant_type=pkce", {"auth_code": 7, "code_verifier": "x" * 43}, label="a number")


@scenario()
def hash_by_post_needs_no_code(flow):
    ann = flow.new_user()
    _, pair = challenge(flow)
    flow.post("/magiclink", {"email": ann["email"], **pair})
    token = flow.mail.wait(ann["email"]).token_hash
    flow.post("/verify", {"type": "magiclink", "token_hash": token.removeprefix("pkce_")}, label="without the prefix")
    flow.post("/verify", {"type": "magiclink", "token_hash": token})


@scenario("otp-codes")
def mailed_code_works_beside_pkce(flow):
    ann = flow.address("ann")
    _, pair = challenge(flow)
    flow.post("/signup", {"email": ann, "password": "correct horse", **pair}, record=False)
    mail = flow.mail.wait(ann)
    flow.post("/verify", {"type": "signup", "email": ann, "token": code_in_subject(mail)})
    flow.get(mail.links[0], label="the link afterwards")


@scenario()
def newest_challenge_counts(flow):
    ann = flow.new_user()
    first, pair = challenge(flow)
    flow.post("/recover", {"email": ann["email"], **pair}, record=False)
    second, pair = challenge(flow)
    flow.post("/recover", {"email": ann["email"], **pair}, record=False)
    flow.get(flow.mail.wait(ann["email"]).links[0], label="the first link")
    code = flow.get(flow.mail.wait(ann["email"]).links[0], label="the second link").location[1]["code"]
    exchange(flow, code, first, "the first verifier")
    exchange(flow, code, second, "the second verifier")


@scenario()
def link_whose_flow_is_gone(flow):
    ann = flow.new_user()
    _, pair = challenge(flow)
    flow.post("/recover", {"email": ann["email"], **pair}, record=False)
    flow.database.query(f"delete from auth.flow_state where user_id = '{ann['id']}'")
    link = flow.mail.wait(ann["email"]).links[0]
    flow.get(link)
    flow.get(link, label="again")


@scenario()
def resent_with_and_without_a_challenge(flow):
    ann = flow.address("ann")
    verifier, pair = challenge(flow)
    flow.post("/signup", {"email": ann, "password": "correct horse", **pair}, record=False)
    flow.mail.wait(ann)
    flow.post("/resend", {"type": "signup", "email": ann})
    flow.note("link without", flow.mail.wait(ann).links)
    verifier, pair = challenge(flow)
    flow.post("/resend", {"type": "signup", "email": ann, **pair})
    link = flow.mail.wait(ann).links[0]
    flow.note("link with", [link])
    exchange(flow, flow.get(link).location[1]["code"], verifier)
