"""Redirect targets: the allow list, and errors in redirect URLs.

The scenarios use links with unknown tokens, which redirect with an error.
"""

import urllib.parse

from harness.registry import scenario

LINK = "/verify?type=signup&token=nosuchtoken"


def go(flow, target=None, label=None, **headers):
    path = LINK if target is None else f"{LINK}&redirect_to={urllib.parse.quote(target, safe='')}"
    return flow.get(path, headers={k.replace("__", "-"): v for k, v in headers.items()} or None, label=label or target or "no target")


@scenario()
def by_parameter_header_and_referer(flow):
    go(flow)
    go(flow, "https://app.example.com/callback")
    go(flow, "https://evil.example.org/")
    go(flow, redirect_to="https://app.example.com/callback", label="the header")
    go(flow, "http://shop.example.com/parameter", redirect_to="https://app.example.com/callback", label="header before parameter")
    go(flow, "https://app.example.com/callback", redirect_to="https://evil.example.org/", label="a refused header hides the parameter")
    go(flow, Referer="https://app.example.com/callback", label="the Referer")
    go(flow, "https://evil.example.org/", Referer="http://shop.example.com/cart", label="Referer after a refused parameter")
    go(flow, "http://shop.example.com/parameter", Referer="https://app.example.com/callback", label="parameter before Referer")


@scenario()
def error_in_the_fragment(flow):
    answer = flow.get(LINK, record=False)
    flow.note("fragment as sent", answer.headers["location"].split("#")[1])
    answer = go(flow, "http://shop.example.com/a?b=c#d", label="a target with query and fragment")
    flow.note("fragment as sent", answer.headers["location"].split("#")[1])
    flow.get("/verify?type=nonsense&token=nosuchtoken", label="an unknown type")
    flow.get("/verify?type=signup&token=pkce_nosuchtoken", label="a pkce_ token: query and fragment")
    flow.get("/verify?token=nosuchtoken", label="no type: no redirect")
    flow.get("/verify?type=signup", label="no token: no redirect")


@scenario("redirect_targets-globs")
def site_and_its_neighbours(flow):
    for target in ("https://shop.example.com:8443/", "https://shop.example.com:8443/any/where?x=1", "http://shop.example.com:8443/",
                   "https://shop.example.com/", "https://shop.example.com:9443/", "https://www.shop.example.com:8443/", "/relative", "not a url", "https://"):
        go(flow, target)


@scenario("redirect_targets-globs")
def patterns(flow):
    for target in ("https://exact.example.com/done", "https://exact.example.com/done/", "https://exact.example.com/done?x=1", "https://exact.example.com/done#part",
                   "https://one.example.com/a", "https://one.example.com/a/b", "https://one.example.com/a.b", "https://one.example.com/",
                   "https://all.example.com/a/b.c?d=e", "https://all.example.com"):
        go(flow, target)


@scenario("redirect_targets-globs")
def patterns_in_hosts_and_letters(flow):
    for target in ("https://a.tenants.example.com/cb", "https://a.b.tenants.example.com/cb", "https://q.example.com/abc", "https://q.example.com/a/c",
                   "https://sets.example.com/ad", "https://sets.example.com/bd", "https://sets.example.com/cd", "https://sets.example.com/a",
                   "https://query.example.com/?next=home", "https://query.example.com/?next=a.b"):
        go(flow, target)


@scenario("redirect_targets-globs")
def other_schemes(flow):
    for target in ("myapp://login", "myapp://login/more", "other-app://anything/at?all=1", "unknown-app://login", "MYAPP://login", "javascript:alert(1)", "data:text/html,hello"):
        go(flow, target)


@scenario("redirect_targets-globs")
def loopback_and_numbers(flow):
    for target in ("http://127.0.0.1:3000/cb", "http://127.9.9.9/", "http://[::1]:3000/", "http://localhost:3000/", "http://10.0.0.5/cb", "http://192.168.1.1/",
                   "http://12345/cb", "http://2130706433/", "http://[::ffff:127.0.0.1]/", "http://all.example.com_/"):
        go(flow, target)


@scenario()
def authorize_without_a_provider(flow):
    flow.get("/authorize", label="none named")
    flow.get("/authorize?provider=nonsense&redirect_to=https://app.example.com/callback", label="an unknown one")
    flow.get("/authorize?provider=google", label="one that is off")
    flow.get("/authorize?provider=google&code_challenge=short&code_challenge_method=s256", label="with a bad code challenge")


@scenario()
def target_in_mails(flow):
    for target in ("https://app.example.com/callback", "https://evil.example.org/", "http://shop.example.com/?a=b&c=d"):
        ann = flow.address(f"ann{len(flow.steps)}")
        flow.post(f"/signup?redirect_to={urllib.parse.quote(target, safe='')}", {"email": ann, "password": "correct horse"}, record=False)
        mail = flow.mail.wait(ann)
        flow.note(target, mail.links)
        answer = flow.get(mail.links[0], record=False)
        flow.note("leads to", answer.location[0])


@scenario("redirect_targets-hosts")
def links_on_the_host_asked_for(flow):
    for label, headers in {
        "none": {},
        "a listed host": {"X-Forwarded-Host": "auth.example.com"},
        "a listed host by http": {"X-Forwarded-Host": "auth.example.com", "X-Forwarded-Proto": "http"},
        "a host that is not listed": {"X-Forwarded-Host": "evil.example.org"},
        "localhost by http": {"X-Forwarded-Host": "localhost", "X-Forwarded-Proto": "http"},
        "a listed host with a port": {"X-Forwarded-Host": "auth.example.com:8443"},
    }.items():
        ann = flow.address(label.replace(" ", "-"))
        flow.post("/signup", {"email": ann, "password": "correct horse"}, headers=headers, record=False)
        flow.note(label, flow.mail.wait(ann).links)
