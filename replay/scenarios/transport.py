"""HTTP: methods, paths, content types, encodings, forwarded headers, timeouts."""

import gzip
import json
import time

from harness.registry import scenario


def link_base(flow, label, email, **more):
    """Return the base of the link mailed by /recover for these request headers."""
    flow.post("/recover", {"email": email}, record=False, **more)
    flow.note(label, flow.mail.wait(email).links[0].split("/verify")[0])


@scenario()
def methods_that_routes_do_not_know(flow):
    for method, path in (("HEAD", "/health"), ("HEAD", "/settings"), ("PUT", "/signup"), ("DELETE", "/token"), ("PATCH", "/user"), ("TRACE", "/health"), ("GET", "/logout"), ("POST", "/settings"), ("PURGE", "/health")):
        answer = flow.request(method, path)
        flow.note(f"allow for {method} {path}", sorted(answer.headers.get("allow", "").split(", ")))


@scenario()
def options_without_a_preflight(flow):
    flow.request("OPTIONS", "/signup")
    flow.request("OPTIONS", "/signup", headers={"Origin": "https://app.example.com"}, label="with an origin")
    flow.request("OPTIONS", "/nowhere", headers={"Origin": "https://app.example.com", "Access-Control-Request-Method": "POST"}, label="preflight to an unknown path")
    flow.request("OPTIONS", "/signup", headers={"Access-Control-Request-Method": "POST"}, label="preflight without an origin")


@scenario()
def paths_written_oddly(flow):
    for path in ("/health/", "/Health", "//health", "/settings?x=%zz", "/./health", "/a/../health", "/%68ealth", "/health%2F", "/health;v=1", "/", "/auth/v1/health"):
        flow.get(path, label=f"GET {path}")


@scenario()
def json_under_other_content_types(flow):
    ann = flow.address("ann")
    body = json.dumps({"email": ann, "password": "correct horse"})
    flow.post("/signup", raw=body, label="none at all")
    for kind in ("application/json", "application/json; charset=utf-16", "text/plain", "application/vnd.api+json", "nonsense", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded"):
        flow.post("/recover", raw=body, headers={"Content-Type": kind}, label=kind)


@scenario()
def forms_in_place_of_json(flow):
    ann = flow.new_user()
    form = {"email": ann["email"], "password": ann["password"]}
    flow.post("/signup", form=form)
    flow.post("/token?grant_type=password", form=form)
    flow.post("/token", form={**form, "grant_type": "password"}, label="grant type in the form")
    flow.put("/user", form={"password": "another horse"}, token=ann["token"])
    flow.post("/logout", form={"scope": "local"}, token=ann["token"])


@scenario()
def json_written_oddly(flow):
    ann = flow.new_user()["email"]

    def send(label, raw):
        flow.post("/token?grant_type=password", raw=raw, headers={"Content-Type": "application/json"}, label=label)

    send("a key twice: the last counts", f'{{"email": "x@example.com", "email": "{ann}", "password": "wrong", "password": "correct horse"}}')
    send("spaces around", f' \n\t{{"email": "{ann}", "password": "correct horse"}}\r\n ')
    send("something after it", f'{{"email": "{ann}", "password": "correct horse"}} x')
    send("two documents", f'{{"email": "{ann}", "password": "correct horse"}}{{}}')
    send("escapes", f'{{"\\u0065mail": "{ann}", "password": "\\u0063orrect horse"}}')
    send("byte order mark", f'\ufeff{{"email": "{ann}", "password": "correct horse"}}')
    send("trailing comma", f'{{"email": "{ann}", "password": "correct horse",}}')
    send("single quotes", "{'email': 'x'}")
    send("comment", f'{{"email": "{ann}" /* me */}}')


@scenario()
def values_of_other_types(flow):
    ann = flow.new_user()
    for body in ({"email": 5, "password": "x"}, {"email": ann["email"], "password": 12345678}, {"email": ["a@example.com"], "password": "x"}, {"email": {}, "password": "x"}, {"email": True}):
        flow.post("/token?grant_type=password", body, label=f"sign-in {list(map(type, body.values()))}".replace("<class ", "").replace(">", ""))
    flow.put("/user", {"data": "text"}, token=ann["token"], label="data is text")
    flow.put("/user", {"data": [1]}, token=ann["token"], label="data is a list")
    flow.put("/user", {"data": {"n": 12345678901234567890, "f": 1e400 if False else 1.50, "s": 1e21}}, token=ann["token"], label="large and small numbers")
    flow.post("/otp", {"email": flow.address("bob"), "create_user": "yes"}, label="text for a boolean")


@scenario()
def bodies_that_are_compressed(flow):
    body = gzip.compress(json.dumps({"email": flow.address("ann"), "password": "correct horse"}).encode(), mtime=0)
    flow.post("/signup", raw=body, headers={"Content-Type": "application/json", "Content-Encoding": "gzip"}, label="a gzipped request")
    answer = flow.get("/settings", headers={"Accept-Encoding": "gzip, br"})
    flow.note("answer's encoding", answer.headers.get("content-encoding"))


@scenario("transport_hosts")
def links_follow_the_forwarded_host(flow):
    ann = flow.new_user()["email"]
    link_base(flow, "none", ann)
    for host, proto in (("shop.example.org", None), ("shop.example.org", "http"), ("localhost", None), ("localhost", "http"), ("localhost", "https"), ("api.example.net:8443", "http"), ("api.example.net", None), ("SHOP.example.org", None)):
        head = {"X-Forwarded-Host": host, **({"X-Forwarded-Proto": proto} if proto else {})}
        link_base(flow, f"{head}", ann, headers=head)
    link_base(flow, "Host header alone", ann, headers={"Host": "shop.example.org"})


@scenario()
def links_ignore_the_forwarded_host_by_default(flow):
    ann = flow.new_user()["email"]
    link_base(flow, "forwarded host", ann, headers={"X-Forwarded-Host": "evil.example.net", "X-Forwarded-Proto": "http"})
    link_base(flow, "host", ann, headers={"Host": "evil.example.net"})


@scenario("transport_hosts")
def request_id_comes_from_the_gateway(flow):
    flow.post("/admin/users", {"email": flow.address("bob"), "password_hash": "nonsense"}, token=flow.service_role, headers={"X-Request-Id": "gateway-1"}, label="an error 500")
    flow.post("/admin/users", {"email": flow.address("bob"), "password_hash": "nonsense"}, token=flow.service_role, label="without an id")
    flow.post("/admin/users", {"email": flow.address("bob"), "password_hash": "nonsense"}, token=flow.service_role, headers={"X-Request-Id": "g2", "X-Supabase-Api-Version": "2024-01-01"}, label="by API version")


@scenario()
def request_id_is_the_servers_own_by_default(flow):
    answer = flow.post("/admin/users", {"email": flow.address("bob"), "password_hash": "nonsense"}, token=flow.service_role, headers={"X-Request-Id": "gateway-1"})
    flow.note("request id in the answer's headers", {k: v for k, v in answer.headers.items() if "request" in k})


@scenario()
def callers_address_is_the_forwarded_one(flow):
    ann = flow.new_user()
    for forwarded in ("203.0.113.7", "203.0.113.7, 10.0.0.1", "10.0.0.9, 203.0.113.7", "unknown, 198.51.100.2", "2001:db8::1", "nonsense"):
        flow.post("/token?grant_type=password", {"email": ann["email"], "password": ann["password"]}, headers={"X-Forwarded-For": forwarded, "User-Agent": f"replay ({forwarded})"}, record=False)
    flow.note("sessions", flow.database.query(f"select ip, user_agent from auth.sessions where user_id = '{ann['id']}' and user_agent like 'replay (%' order by created_at").splitlines())


def patient_person(flow):
    """Create a user under a profile with a short request timeout, also on a busy machine."""
    for attempt in range(5):
        try:
            return flow.new_user(f"ann{attempt}")
        except AssertionError:
            pass
    raise AssertionError("no account in five attempts")


@scenario("transport_slow")
def request_that_runs_out_of_time(flow):
    ann = patient_person(flow)

    def late(_):
        time.sleep(2)
        return {"decision": "continue"}

    flow.hooks.reply("/password", 200, late)
    flow.post("/token?grant_type=password", {"email": ann["email"], "password": ann["password"]})
    flow.post("/token?grant_type=password", {"email": ann["email"], "password": ann["password"]}, headers={"X-Supabase-Api-Version": "2024-01-01"}, label="by API version")
    flow.hooks.reply("/email", 200, late)
    flow.post("/recover", {"email": ann["email"]}, label="a slow mail hook")
    flow.note("the token was not kept", flow.database.query(f"select recovery_sent_at is null from auth.users where id = '{ann['id']}'"))


@scenario()
def long_urls_and_headers(flow):
    flow.get("/settings?" + "x" * 60000, label="a query of 60 000")
    flow.get("/" + "y" * 60000, label="a path of 60 000")
    flow.get("/verify?token=" + "a" * 20000 + "&type=signup", label="a token of 20 000")
    flow.get("/settings", headers={"X-Long": "z" * 100000}, label="a header of 100 000")
    flow.get("/user", token="a" * 50000, label="a bearer of 50 000")
