"""Captcha tokens on the public routes, checked with hCaptcha or Turnstile."""

import time
import urllib.parse

from harness.registry import scenario

HCAPTCHA = "https://hcaptcha.com/siteverify"
TURNSTILE = "https://challenges.cloudflare.com/turnstile/v0/siteverify"
MET = {"gotrue_meta_security": {"captcha_token": "a-token"}}


def verifier(flow, answer, address=HCAPTCHA):
    flow.provider.on(address, lambda _: (200, {}, answer))


def verifier_requests(flow):
    """Return and clear the requests to the verifier."""
    with flow.provider.lock:
        calls = [c for c in flow.provider.calls if c["method"] == "POST"]
        flow.provider.calls.clear()
    return [{"address": c["path"], "type": c["headers"].get("content-type"), "form": dict(urllib.parse.parse_qsl(c["body"].decode()))} for c in calls]


def create_user(flow):
    """Create a user by the admin API, which needs no captcha."""
    ann = {"email": flow.address("ann"), "password": "correct horse"}
    flow.post("/admin/users", {**ann, "email_confirm": True}, token=flow.service_role, record=False)
    return ann


@scenario("captcha_hcaptcha")
def token_is_put_to_hcaptcha(flow):
    verifier(flow, {"success": True, "challenge_ts": "2024-01-01T00:00:00Z", "hostname": "shop.example.com"})
    flow.post("/signup", {"email": flow.address("ann"), "password": "correct horse", **MET}, headers={"X-Forwarded-For": "203.0.113.5"})
    flow.note("asked", verifier_requests(flow))
    flow.post("/signup", {"email": flow.address("bob"), "password": "correct horse", "gotrue_meta_security": {"captcha_token": "  spaced  "}})
    flow.note("asked", verifier_requests(flow))


@scenario("captcha_turnstile")
def token_is_put_to_turnstile(flow):
    verifier(flow, {"success": True}, TURNSTILE)
    flow.post("/signup", {"email": flow.address("ann"), "password": "correct horse", **MET})
    flow.note("asked", verifier_requests(flow))
    verifier(flow, {"success": False, "error-codes": ["timeout-or-duplicate"]}, TURNSTILE)
    flow.post("/signup", {"email": flow.address("bob"), "password": "correct horse", **MET})


@scenario("captcha_hcaptcha")
def routes_that_want_a_token(flow):
    ann = create_user(flow)
    flow.post("/signup", ann)
    flow.post("/signup", {}, label="anonymous")
    flow.post("/token?grant_type=password", ann)
    flow.post("/token?grant_type=web3", {"chain": "solana", "message": "x", "signature": "y"})
    flow.post("/token?grant_type=unknown", {})
    flow.post("/otp", {"email": ann["email"]})
    flow.post("/magiclink", {"email": ann["email"]})
    flow.post("/recover", {"email": ann["email"]})
    flow.post("/resend", {"type": "signup", "email": ann["email"]})
    flow.post("/sso", {"domain": "example.com"}, label="SSO is off: that comes first")
    flow.note("asked", verifier_requests(flow))


@scenario("captcha_hcaptcha")
def routes_that_want_none(flow):
    ann = create_user(flow)
    verifier(flow, {"success": True})
    session = flow.post("/token?grant_type=password", {**ann, **MET}, record=False)
    verifier_requests(flow)
    flow.post("/token?grant_type=refresh_token", {"refresh_token": session["refresh_token"]})
    flow.post("/token?grant_type=pkce", {"auth_code": "x", "code_verifier": "y"})
    flow.post("/token?grant_type=id_token", {"provider": "google", "id_token": "x"})
    flow.post("/verify", {"type": "signup", "token_hash": "x"})
    flow.get("/user", token=session["access_token"], record=False)
    flow.post("/invite", {"email": flow.address("bob")}, token=flow.service_role, record=False)
    flow.post("/recover", {"email": ann["email"]}, token=flow.service_role, label="an administrator recovers")
    flow.post("/token?grant_type=password", ann, token=flow.service_role, label="an administrator signs someone in")
    flow.post("/recover", {"email": ann["email"]}, token=session["access_token"], label="a user's token does not help")
    flow.note("asked", verifier_requests(flow))


@scenario("captcha_hcaptcha")
def verifier_says_no(flow):
    ann = create_user(flow)
    for answer in ({"success": False, "error-codes": ["invalid-input-response"]}, {"success": False, "error-codes": ["missing-input-secret", "sitekey-secret-mismatch"]},
                   {"success": False}, {}, {"success": False, "error-codes": []}):
        verifier(flow, answer)
        flow.post("/token?grant_type=password", {**ann, **MET}, label=f"verifier says {answer}")


@scenario("captcha_hcaptcha")
def token_missing_or_misshapen(flow):
    ann = create_user(flow)
    for meta in ({}, None, {"captcha_token": ""}, {"captcha_token": "   "}, {"captcha_token": None}, {"token": "x"}, {"captcha_token": 5}, "a-token", []):
        flow.post("/otp", {"email": ann["email"], "gotrue_meta_security": meta}, label=f"gotrue_meta_security: {meta!r}")
    flow.post("/otp", {"email": ann["email"], "captcha_token": "a-token"}, label="in the wrong place")
    flow.post("/otp", raw="{", label="not JSON")


@scenario("captcha_hcaptcha")
def verifier_answers_oddly(flow):
    ann = {**create_user(flow), **MET}
    flow.provider.on(HCAPTCHA, lambda _: (500, {}, {"success": True}))
    flow.post("/token?grant_type=password", ann, label="500, yet a success")
    flow.provider.on(HCAPTCHA, lambda _: (200, {"Content-Type": "text/html"}, b"<html>"))
    flow.post("/token?grant_type=password", ann, label="not JSON")
    verifier(flow, {"success": "true"})
    flow.post("/token?grant_type=password", ann, label="success as text")

    def late(_):
        time.sleep(1.3)
        return 200, {}, {"success": True}

    flow.provider.on(HCAPTCHA, late)
    flow.post("/token?grant_type=password", ann, label="too late")


@scenario("captcha_unreachable")
def verifier_cannot_be_reached(flow):
    ann = {**create_user(flow), **MET}
    flow.post("/token?grant_type=password", ann)
    flow.post("/signup", {"email": flow.address("bob"), "password": "correct horse", **MET}, headers={"X-Supabase-Api-Version": "2024-01-01"})
    flow.post("/recover", {"email": ann["email"]}, label="no token: not asked")
    flow.post("/token?grant_type=password", ann, token=flow.service_role, label="an administrator")
