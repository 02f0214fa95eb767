"""Sign-in links by POST /magiclink, the predecessor of POST /otp."""

from harness.messages import email_facts
from harness.registry import scenario


@scenario()
def known_address_signs_in_by_the_link(flow):
    ann = flow.new_user()
    flow.post("/magiclink", {"email": ann["email"]})
    mail = flow.mail.wait(ann["email"])
    flow.note("mail", email_facts(mail))
    flow.post("/verify", {"type": "magiclink", "token_hash": mail.token_hash})
    flow.get(mail.links[0], label="the link after its hash was used")


@scenario()
def unknown_address_signs_up(flow):
    ann = flow.address("ann")
    flow.post("/magiclink", {"email": ann, "data": {"plan": "free"}})
    mail = flow.mail.wait(ann)
    flow.note("mail", email_facts(mail))
    flow.post("/verify", {"type": "signup", "token_hash": mail.token_hash})


@scenario()
def wrong_requests(flow):
    flow.post("/magiclink", {})
    flow.post("/magiclink", raw="", label="no body")
    flow.post("/magiclink", raw="{\"email\":", label="cut off")
    flow.post("/magiclink", {"email": "ann"}, label="a malformed address")
    flow.post("/magiclink", {"email": flow.address("ann"), "code_challenge": "x" * 43}, label="a challenge without its method")
    flow.get("/magiclink", label="GET")


@scenario()
def link_leads_where_the_client_asked(flow):
    ann = flow.new_user()
    for target in ("https://app.example.com/callback", "myapp://signed-in", "http://shop.example.com/cart?item=1&n=2", "https://evil.example.org/"):
        flow.post("/magiclink?redirect_to=" + target.replace("&", "%26"), {"email": ann["email"]}, label=f"redirect_to {target}")
        mail = flow.mail.wait(ann["email"])
        flow.note("link", mail.links)
    flow.get(mail.links[0])


@scenario("magic_link-off")
def magic_links_off(flow):
    ann = flow.new_user()
    flow.post("/magiclink", {"email": ann["email"]})
    flow.post("/otp", {"email": ann["email"]})
    flow.post("/otp", {"email": flow.address("bob")}, label="an unknown address")
    flow.post("/recover", {"email": ann["email"]})
    flow.note("mail", email_facts(flow.mail.wait(ann["email"])))


@scenario("otp-off")
def email_off(flow):
    flow.post("/magiclink", {"email": flow.address("ann")})
    flow.post("/magiclink", raw="{", label="a broken body")
