"""Errors: routing, bodies, error shapes, bearer tokens and CORS."""

import json
import time

from harness.accounts import claims, note_refusal, session_of, set_user, sign_in
from harness.registry import scenario


def token_for(flow, user, **changes):
    """Sign the user's access token again with changed claims (None removes a claim)."""
    altered = {**claims(user["token"]), **changes}
    return flow.signed({k: v for k, v in altered.items() if v is not None})


@scenario()
def unknown_route_and_wrong_method(flow):
    flow.get("/nowhere")
    flow.get("/user/nowhere")
    flow.get("/token?grant_type=password")
    flow.post("/health")
    flow.delete("/signup")
    flow.patch("/user", {})
    flow.put("/settings", {})
    ann = flow.new_user()
    flow.get("/user/nowhere", token=ann["token"], label="an unknown route below /user, signed in")
    flow.patch("/user", {}, token=ann["token"], label="a wrong method on /user, signed in")


@scenario()
def trailing_slashes(flow):
    flow.post("/signup/", {"email": "not an address", "password": "correct horse"})
    flow.get("/user/")
    flow.get("/verify/")
    flow.post("/token/?grant_type=password", {})
    flow.get("/settings/")
    flow.get("/health/")


@scenario()
def error_body_chosen_by_api_version(flow):
    wrong = {"email": flow.address("nobody"), "password": "a wrong one"}
    for version in (None, "2024-01-01", "2025-06-30", "2023-12-31", "2024-1-1", "yesterday"):
        headers = {"X-Supabase-Api-Version": version} if version else {}
        flow.post("/token?grant_type=password", wrong, headers=headers, label=f"version {version}")


@scenario()
def answers_without_error_carry_no_version(flow):
    ann = flow.new_user()
    flow.get("/user", token=ann["token"], headers={"X-Supabase-Api-Version": "2024-01-01"})
    flow.get("/settings", headers={"X-Supabase-Api-Version": "2024-01-01"})
    flow.get("/nowhere", headers={"X-Supabase-Api-Version": "2024-01-01"})


@scenario()
def weak_password_in_both_versions(flow):
    body = {"email": flow.address("ann"), "password": "short"}
    flow.post("/signup", body)
    flow.post("/signup", body, headers={"X-Supabase-Api-Version": "2024-01-01"})


@scenario()
def bodies_that_are_no_json_object(flow):
    flow.post("/signup", label="no body")
    flow.post("/signup", raw="{", label="a body that breaks off")
    flow.post("/signup", raw="null", label="null")
    for raw in ("[]", '"text"', '{"email": 7}', '{"email": "a@example.com", "data": "text"}', '{"email": "a@example.com"} more', "\0"):
        note_refusal(flow, f"body {raw!r}", flow.post("/signup", raw=raw, record=False))


@scenario()
def content_type_does_not_matter_except_forms(flow):
    body = json.dumps({"email": flow.address("nobody"), "password": "a wrong one"})
    flow.post("/token?grant_type=password", raw=body, headers={"Content-Type": "text/plain"})
    flow.post("/token?grant_type=password", raw=body, headers={"Content-Type": "multipart/form-data; boundary=x"})
    flow.post("/token?grant_type=password", form={"email": flow.address("nobody"), "password": "a wrong one"})


@scenario()
def unknown_and_oddly_cased_fields(flow):
    ann = flow.new_user()
    flow.post("/token?grant_type=password", {"email": ann["email"], "password": ann["password"], "remember": True})
    flow.post("/token?grant_type=password", {"EMAIL": ann["email"], "Password": ann["password"]})
    flow.post("/token?grant_type=password", {"email": ann["email"], "password": None})


@scenario()
def body_over_one_mebibyte(flow):
    def body(size):
        start = '{"email": "a@example.com", "password": "correct horse", "padding": "'
        return start + "x" * (size - len(start) - 2) + '"}'

    for size in (2**20, 2**20 + 1):
        got = flow.post("/token?grant_type=password", raw=body(size), record=False)
        flow.note(f"{size} bytes", {"status": got.status, "json": got.json})


@scenario()
def bearer_header_forms(flow):
    ann = flow.new_user()
    flow.get("/user")
    for value in ("", "Bearer", "Bearer ", "Basic YW5uOmFubg==", f"Token {ann['token']}", f"Bearer {ann['token']} more",
                  f"  Bearer {ann['token']}", f"bearer {ann['token']}", f"BEARER {ann['token']}"):
        shown = value.replace(ann["token"], "(token)")
        flow.get("/user", headers={"Authorization": value}, label=f"Authorization {shown!r}")
    flow.get("/user", headers={"apikey": ann["token"]}, label="the token as apikey")


@scenario()
def access_tokens_refused(flow):
    ann = flow.new_user()
    now = int(time.time())
    good = claims(ann["token"])
    for nonsense in ("abc.def.ghi", ann["token"].split(".")[0] + ".bm90IGpzb24." + ann["token"].split(".")[2]):
        note_refusal(flow, "a part that is no JSON", flow.get("/user", token=nonsense, record=False))
    for label, token in {
        "one part": "abc",
        "two parts": "abc.def",
        "expired": token_for(flow, ann, exp=now - 60),
        "not yet valid": token_for(flow, ann, nbf=now + 600),
        "signed with another secret": flow.signed(good, secret="some other secret of thirty-two letters"),
        "signature cut short": ann["token"][:-4],
    }.items():
        flow.get("/user", headers={"Authorization": f"Bearer {token}"}, label=label)


@scenario()
def access_tokens_with_odd_claims(flow):
    ann = flow.new_user()
    for label, changes in {
        "no sub": {"sub": None},
        "empty sub": {"sub": ""},
        "sub is no uuid": {"sub": "ann"},
        "sub of nobody": {"sub": "11111111-2222-4333-8444-555555555555"},
        "session_id is no uuid": {"session_id": "first"},
        "session_id of no session": {"session_id": "11111111-2222-4333-8444-555555555555"},
        "session_id of zeros": {"session_id": "00000000-0000-0000-0000-000000000000"},
        "no session_id": {"session_id": None},
        "another issuer": {"iss": "https://elsewhere.example.com"},
        "issued in the future": {"iat": int(time.time()) + 600},
        "no exp": {"exp": None},
    }.items():
        flow.get("/user", token=token_for(flow, ann, **changes), label=label)


@scenario()
def audience_of_the_token(flow):
    ann = flow.new_user()
    flow.get("/user", token=token_for(flow, ann, aud="elsewhere"), label="another audience")
    flow.get("/user", token=token_for(flow, ann, aud=["authenticated", "elsewhere"]), label="a list of audiences")
    flow.get("/user", token=token_for(flow, ann, aud=None), label="no audience")
    flow.get("/user", token=ann["token"], headers={"X-JWT-AUD": "elsewhere"}, label="X-JWT-AUD elsewhere")
    flow.get("/user", token=ann["token"], headers={"X-JWT-AUD": "authenticated"}, label="X-JWT-AUD as the token says")


@scenario()
def session_or_account_gone(flow):
    ann = flow.new_user()
    second = sign_in(flow, ann, record=False)
    flow.database.query(f"delete from auth.sessions where id = '{session_of(ann['token'])}'")
    flow.get("/user", token=ann["token"], label="after the session's end")
    flow.post("/logout", token=ann["token"], label="log out of a session that is gone")
    flow.get("/user", token=second["access_token"], label="the other session")
    flow.database.query(f"delete from auth.users where id = '{ann['id']}'")
    flow.get("/user", token=second["access_token"], label="after the account's end")
    flow.post("/logout", token=second["access_token"])


@scenario()
def banned_account(flow):
    ann = flow.new_user()
    set_user(flow, ann, "banned_until = now() + interval '1 hour'")
    flow.get("/user", token=ann["token"])
    flow.put("/user", {"data": {"a": 1}}, token=ann["token"])
    flow.post("/logout", token=ann["token"])
    sign_in(flow, ann, label="sign in")
    flow.post("/token?grant_type=refresh_token", {"refresh_token": ann["refresh"]}, label="refresh")
    set_user(flow, ann, "banned_until = now() - interval '1 second'")
    flow.get("/user", token=ann["token"], label="once the ban is over")


@scenario()
def who_is_an_administrator(flow):
    ann = flow.new_user()
    now = int(time.time())

    def look(label, **claims):
        flow.get(f"/admin/users/{ann['id']}", token=flow.signed({"exp": now + 600, **claims}), label=label)

    flow.get(f"/admin/users/{ann['id']}", label="no token")
    flow.get(f"/admin/users/{ann['id']}", token=ann["token"], label="a user's token")
    look("service_role", role="service_role")
    look("supabase_admin", role="supabase_admin")
    look("anon", role="anon")
    look("no role")
    look("service_role, expired", role="service_role", exp=now - 60)
    look("service_role with a session that does not exist", role="service_role", sub=ann["id"],
         session_id="11111111-2222-4333-8444-555555555555")


@scenario()
def preflight_requests(flow):
    def preflight(label, method, headers=None, path="/token"):
        request_headers = {"Origin": "https://shop.example.com", "Access-Control-Request-Method": method}
        if headers:
            request_headers["Access-Control-Request-Headers"] = headers
        flow.request("OPTIONS", path, headers=request_headers, label=label)

    preflight("what a browser asks before a sign-in", "POST", "authorization,content-type,x-client-info")
    preflight("no headers", "GET", path="/user")
    preflight("all headers allowed by default", "PUT",
              "accept,authorization,content-type,x-client-info,x-client-ip,x-jwt-aud,x-supabase-api-version,x-use-cookie", path="/user")
    preflight("PATCH", "PATCH", path="/passkeys/x")
    preflight("DELETE on an unknown route", "DELETE", path="/nowhere")
    preflight("apikey is not on the list", "POST", "apikey,authorization")
    preflight("a method that is not allowed", "TRACE")
    flow.request("OPTIONS", "/token", label="OPTIONS that is no preflight")


@scenario()
def cross_origin_answers(flow):
    origin = {"Origin": "https://shop.example.com"}
    flow.get("/settings", headers=origin, label="settings")
    flow.get("/user", headers=origin, label="a refusal")
    flow.get("/nowhere", headers=origin, label="an unknown route")
    flow.note("vary", flow.get("/health", record=False).headers.get("vary"))


@scenario("errors-cors")
def preflight_with_more_headers_allowed(flow):
    for headers in ("apikey,authorization,content-type", "x-shop-trace", "x-other"):
        flow.request("OPTIONS", "/token", label=headers, headers={
            "Origin": "https://shop.example.com", "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": headers})


@scenario("errors-slow")
def request_that_takes_too_long(flow):
    ann = flow.new_user()
    flow.database.query(
        "create function public.dawdle() returns trigger language plpgsql as $$ begin perform pg_sleep(3); return new; end $$;"
        "create trigger dawdle before update on auth.users for each row execute function public.dawdle()")
    flow.put("/user", {"data": {"a": 1}}, token=ann["token"])
    flow.put("/user", {"data": {"a": 1}}, token=ann["token"], headers={"X-Supabase-Api-Version": "2024-01-01"})
    flow.database.query("drop trigger dawdle on auth.users")
    flow.note("nothing was stored", flow.database.query(f"select raw_user_meta_data ? 'a' from auth.users where id = '{ann['id']}'"))


@scenario("errors-raising")
def errors_raised_by_the_database(flow):
    ann = flow.new_user()
    flow.database.query(
        "create function public.refuse() returns trigger language plpgsql as $$ begin"
        " case new.raw_user_meta_data ->> 'wish'"
        " when 'plain' then raise exception 'no such luck';"
        " when 'hint' then raise exception 'no such luck' using hint = 'try the moon', detail = 'it is full';"
        " when 'status' then raise sqlstate 'PT402' using message = 'pay first';"
        " when 'check' then raise check_violation using message = 'out of range';"
        " when 'other' then raise sqlstate '22000' using message = 'odd data';"
        " else null; end case; return new; end $$;"
        "create trigger refuse before update on auth.users for each row execute function public.refuse()")
    for wish in ("plain", "hint", "status", "check", "other"):
        flow.put("/user", {"data": {"wish": wish}}, token=ann["token"], label=wish)
    flow.put("/user", {"data": {"wish": "plain"}}, token=ann["token"], headers={"X-Supabase-Api-Version": "2024-01-01"},
             label="plain, version 2024-01-01")
    flow.database.query("drop trigger refuse on auth.users")
