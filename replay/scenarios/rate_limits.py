"""Rate limits: per client, per process for sent messages, per user between two messages; and the captcha."""

from harness.messages import backdate, note_send_interval
from harness.registry import scenario


def spend(flow, times, method, path, body, client):
    """Exhaust a bucket. Returns how often each status came."""
    seen = {}
    for _ in range(times):
        status = flow.request(method, path, body, headers={"X-Client": client}, record=False).status
        seen[str(status)] = seen.get(str(status), 0) + 1
    return seen


# -- per client ----------------------------------------------------------------------------------------------


@scenario("rate_limits-client")
def thirty_requests_and_no_more(flow):
    flow.note("thirty times", spend(flow, 30, "POST", "/otp", {}, "ann"))
    flow.post("/otp", {}, headers={"X-Client": "ann"}, label="one more")
    flow.post("/otp", {}, headers={"X-Client": "ann", "X-Supabase-Api-Version": "2024-01-01"}, label="one more, by the newer API version")
    flow.post("/otp", {}, headers={"X-Client": "bob"}, label="another client")
    flow.post("/otp", {}, headers={"X-Client": " ann , proxy"}, label="the first of a list")
    flow.post("/otp", {}, label="no such header")
    flow.post("/magiclink", {}, headers={"X-Client": "ann"}, label="another endpoint")


@scenario("rate_limits-client")
def each_endpoint_has_its_bucket(flow):
    for method, path, body in (
        ("POST", "/magiclink", {}), ("POST", "/recover", {}), ("POST", "/resend", {}), ("POST", "/signup", {"email": "x", "password": "y"}),
        ("POST", "/verify", {}), ("GET", "/verify", None), ("POST", "/token?grant_type=password", {}),
    ):
        client = f"cleo {method} {path}"
        flow.note(f"{method} {path}", spend(flow, 31, method, path, body, client))
        flow.request(method, path, body, headers={"X-Client": client}, label=f"{method} {path} once more")


@scenario("rate_limits-client")
def verify_has_one_bucket_for_both_methods(flow):
    flow.note("by GET", spend(flow, 15, "GET", "/verify", None, "dora"))
    flow.note("by POST", spend(flow, 15, "POST", "/verify", {}, "dora"))
    flow.get("/verify", headers={"X-Client": "dora"})


@scenario("rate_limits-client")
def all_grants_but_web3_share_a_bucket(flow):
    flow.note("password", spend(flow, 10, "POST", "/token?grant_type=password", {}, "eve"))
    flow.note("refresh_token", spend(flow, 10, "POST", "/token?grant_type=refresh_token", {}, "eve"))
    flow.note("unknown, not counted", spend(flow, 5, "POST", "/token?grant_type=unknown", {}, "eve"))
    flow.note("pkce", spend(flow, 10, "POST", "/token?grant_type=pkce", {}, "eve"))
    flow.post("/token?grant_type=id_token", {}, headers={"X-Client": "eve"}, label="the next grant")
    flow.post("/token?grant_type=unknown", {}, headers={"X-Client": "eve"}, label="an unknown grant")
    flow.post("/token?grant_type=web3", {}, headers={"X-Client": "eve"}, label="the web3 grant")


@scenario("rate_limits-client")
def anonymous_sign_ups_have_a_smaller_bucket(flow):
    flow.note("three anonymous users", spend(flow, 3, "POST", "/signup", {}, "fay"))
    flow.post("/signup", {}, headers={"X-Client": "fay"}, label="the fourth")
    flow.post("/signup", {"email": flow.address("fay"), "password": "correct horse"}, headers={"X-Client": "fay"}, label="a sign-up with an address")


@scenario("rate_limits-client")
def user_updates(flow):
    ann = flow.new_user()
    seen = {}
    for _ in range(31):
        status = flow.put("/user", {}, token=ann["token"], headers={"X-Client": "gus"}, record=False).status
        seen[str(status)] = seen.get(str(status), 0) + 1
    flow.note("PUT /user", seen)
    flow.put("/user", {}, token=ann["token"], headers={"X-Client": "gus"})
    flow.get("/user", token=ann["token"], headers={"X-Client": "gus"}, label="reading is not limited")


# -- per process -----------------------------------------------------------------------------------------------


@scenario("rate_limits-quota")
def three_mails_an_hour(flow):
    for local_part in ("ann", "bob"):
        flow.post("/otp", {"email": flow.address(local_part)}, label=f"a mail to {local_part}")
    flow.post("/invite", {"email": flow.address("cleo")}, token=flow.service_role, label="an invitation")
    flow.post("/otp", {"email": flow.address("dora")}, label="the fourth mail")
    flow.post("/recover", {"email": flow.address("ann")}, label="the fifth")
    flow.post("/recover", {"email": flow.address("nobody")}, label="no mail at all")
    flow.post("/invite", {"email": flow.address("eve")}, token=flow.service_role, label="an invitation too many")
    flow.note("accounts", flow.database.query("select string_agg(split_part(email, '.', 1), ' ' order by email) from auth.users where email <> ''"))


@scenario("rate_limits-quota")
def two_text_messages_an_hour(flow):
    for number in (0, 1):
        flow.post("/otp", {"phone": flow.phone(number)}, label=f"message {number + 1}")
    flow.post("/otp", {"phone": flow.phone(2)}, label="message 3")
    flow.post("/signup", {"phone": flow.phone(3), "password": "correct horse"}, label="a sign-up")
    flow.post("/otp", {"phone": "15550100004"}, label="a test number needs no message")


@scenario("rate_limits-nothing")
def nothing_may_be_sent(flow):
    ann = flow.address("ann")
    flow.post("/otp", {"email": ann})
    flow.post("/otp", {"phone": flow.phone()})
    flow.post("/signup", {"email": ann, "password": "correct horse"})
    flow.post("/invite", {"email": ann}, token=flow.service_role)
    made = flow.post("/admin/generate_link", {"type": "signup", "email": ann, "password": "correct horse"}, token=flow.service_role, record=False)
    session = flow.post("/verify", {"type": "signup", "token_hash": made["hashed_token"]}, record=False)
    flow.put("/user", {"email": flow.address("new")}, token=session["access_token"])
    flow.get("/reauthenticate", token=session["access_token"])


# -- between two messages to one user --------------------------------------------------------------------------------


@scenario("rate_limits-gap")
def a_minute_between_confirmations(flow):
    ann = flow.address("ann")
    flow.post("/signup", {"email": ann, "password": "correct horse"}, record=False)
    for path, body in (("/resend", {"type": "signup", "email": ann}), ("/signup", {"email": ann, "password": "correct horse"}), ("/otp", {"email": ann})):
        backdate(flow, "confirmation_sent_at", 10, email=ann)
        note_send_interval(flow, f"{path} soon after", flow.post(path, body, record=False), 49)
    flow.post("/recover", {"email": ann}, label="another kind of mail")
    backdate(flow, "confirmation_sent_at", 61, email=ann)
    flow.post("/resend", {"type": "signup", "email": ann}, label="a minute later")


@scenario("rate_limits-gap")
def recovery_and_sign_in_share_their_gap(flow):
    ann = flow.new_user()
    flow.post("/recover", {"email": ann["email"]})
    for path in ("/otp", "/magiclink", "/recover"):
        backdate(flow, "recovery_sent_at", 20, email=ann["email"])
        note_send_interval(flow, f"{path} soon after", flow.post(path, {"email": ann["email"]}, record=False), 39)
    flow.get("/reauthenticate", token=ann["token"])
    note_send_interval(flow, "reauthenticate soon after", flow.get("/reauthenticate", token=ann["token"], record=False), 59)


@scenario("rate_limits-gap")
def a_minute_between_address_changes(flow):
    ann = flow.new_user()
    flow.put("/user", {"email": flow.address("new")}, token=ann["token"])
    backdate(flow, "email_change_sent_at", 20, email=ann["email"])
    answer = flow.put("/user", {"email": flow.address("newer"), "data": {"name": "Ann"}}, token=ann["token"], record=False)
    note_send_interval(flow, "another address soon after", answer, 39)
    backdate(flow, "email_change_sent_at", 30, email=ann["email"])
    note_send_interval(flow, "the same address again", flow.put("/user", {"email": flow.address("new")}, token=ann["token"], record=False), 29)
    backdate(flow, "email_change_sent_at", 40, email=ann["email"])
    note_send_interval(flow, "resend", flow.post("/resend", {"type": "email_change", "email": ann["email"]}, record=False), 19)
    flow.get("/user", token=ann["token"])


@scenario("rate_limits-gap")
def half_a_minute_between_text_messages(flow):
    phone, test = flow.phone(), "15550100005"
    for number in (phone, test):
        flow.post("/otp", {"phone": number}, label=f"{'a' if number == phone else 'a test'} number")
        for path, body in (("/otp", {}), ("/resend", {"type": "sms"})):
            backdate(flow, "confirmation_sent_at", 9, phone=number)
            note_send_interval(flow, f"{path} soon after", flow.post(path, {"phone": number, **body}, record=False), 20)


@scenario("rate_limits-gap")
def invitations_have_no_gap(flow):
    ann = flow.address("ann")
    flow.post("/invite", {"email": ann}, token=flow.service_role, record=False)
    flow.post("/invite", {"email": ann}, token=flow.service_role)
    backdate(flow, "confirmation_sent_at", 15, email=ann)
    note_send_interval(flow, "but a confirmation after one has", flow.post("/resend", {"type": "signup", "email": ann}, record=False), 44)


# -- captcha -------------------------------------------------------------------------------------------------------


@scenario("rate_limits-captcha")
def captcha_is_asked_for(flow):
    for path in ("/signup", "/otp", "/magiclink", "/recover", "/resend", "/token?grant_type=password", "/sso"):
        flow.post(path, {"email": flow.address("ann")}, label=f"{path} without a captcha")
    flow.post("/otp", {"email": flow.address("ann"), "gotrue_meta_security": {"captcha_token": "  "}}, label="a blank captcha")
    flow.post("/otp", {"email": flow.address("ann"), "gotrue_meta_security": {"captcha_token": 5}}, label="a number as the captcha")
    flow.post("/otp", raw="{", label="a broken body")


@scenario("rate_limits-captcha")
def captcha_is_not_asked_for(flow):
    flow.post("/token?grant_type=refresh_token", {"refresh_token": "abcdefghijkl"}, label="a refresh")
    flow.post("/token?grant_type=pkce", {"auth_code": "a", "code_verifier": "b"}, label="a PKCE exchange")
    flow.post("/token?grant_type=id_token", {}, label="an id token")
    flow.post("/verify", {}, label="verify")
    flow.post("/otp", {"email": flow.address("ann")}, token=flow.service_role, label="an administrator")
    flow.post("/otp", {"email": flow.address("ann")}, token=flow.signed({"role": "anon"}), label="the anonymous key")


@scenario("rate_limits-captcha")
def captcha_provider_out_of_reach(flow):
    flow.post("/otp", {"email": flow.address("ann"), "gotrue_meta_security": {"captcha_token": "token"}})
    flow.note("accounts", flow.database.query(f"select count(*) from auth.users where email = '{flow.address('ann')}'"))
