"""Invitations and generated links: POST /invite and POST /admin/generate_link."""

from harness.messages import email_facts
from harness.registry import scenario


def link(flow, kind, email, label=None, **more):
    return flow.post("/admin/generate_link", {"type": kind, "email": email, **more}, token=flow.service_role, label=label or f"{kind} link")


# -- invitations -------------------------------------------------------------------------------------------


@scenario()
def invited_person_sets_a_password(flow):
    ann = flow.address("ann")
    flow.post("/invite", {"email": ann, "data": {"team": "red"}}, token=flow.service_role)
    mail = flow.mail.wait(ann)
    flow.note("mail", email_facts(mail))
    session = flow.get(mail.links[0]).location[2]
    flow.put("/user", {"password": "battery staple"}, token=session["access_token"])
    flow.post("/token?grant_type=password", {"email": ann, "password": "battery staple"})
    flow.get(mail.links[0], label="the link again")


@scenario()
def invited_twice(flow):
    ann = flow.address("ann")
    flow.post("/invite", {"email": ann, "data": {"team": "red"}}, token=flow.service_role)
    first = flow.mail.wait(ann)
    flow.post("/invite", {"email": ann.upper(), "data": {"team": "blue"}}, token=flow.service_role)
    second = flow.mail.wait(ann)
    flow.get(first.links[0], label="the first link")
    flow.post("/verify", {"type": "invite", "token_hash": second.token_hash})
    flow.post("/invite", {"email": ann}, token=flow.service_role, label="invite someone who is there")


@scenario()
def who_may_invite_whom(flow):
    ann = flow.new_user()
    flow.post("/invite", {"email": flow.address("bob")}, label="nobody invites")
    flow.post("/invite", {"email": flow.address("bob")}, token=ann["token"], label="a user invites")
    flow.post("/invite", {"email": flow.address("bob")}, token=flow.signed({"role": "anon"}), label="the anonymous key invites")
    flow.post("/invite", {"email": ann["email"]}, token=flow.service_role, label="a confirmed address")
    flow.post("/invite", {"email": "bob"}, token=flow.service_role, label="a malformed address")
    flow.post("/invite", {}, token=flow.service_role, label="no address")
    flow.post("/invite", raw="", token=flow.service_role, label="no body")
    flow.post("/invite", {"email": flow.address("bob"), "data": "red"}, token=flow.service_role, label="data that is no object")


@scenario()
def invitation_gets_a_password_of_its_own(flow):
    ann = flow.address("ann")
    flow.post("/invite?redirect_to=https://app.example.com/callback", {"email": ann}, token=flow.service_role, record=False)
    mail = flow.mail.wait(ann)
    flow.note("link", mail.links)
    state = f"select coalesce(encrypted_password, '') <> '', invited_at is not null, email_confirmed_at is not null from auth.users where email = '{ann}'"
    flow.note("password, invited, confirmed", flow.database.query(state))
    flow.get(mail.links[0])
    flow.note("password, invited, confirmed afterwards", flow.database.query(state))


@scenario()
def invited_person_signs_up_instead(flow):
    ann = flow.address("ann")
    flow.post("/invite", {"email": ann, "data": {"team": "red"}}, token=flow.service_role, record=False)
    invitation = flow.mail.wait(ann)
    flow.post("/signup", {"email": ann, "password": "correct horse", "data": {"team": "blue"}})
    confirmation = flow.mail.wait(ann)
    flow.note("mail", email_facts(confirmation))
    flow.get(invitation.links[0], label="the invitation")
    flow.get(confirmation.links[0], label="the confirmation")
    flow.post("/token?grant_type=password", {"email": ann, "password": "correct horse"}, label="the password of the sign-up")


# -- links -------------------------------------------------------------------------------------------------


@scenario()
def sign_up_link(flow):
    ann = flow.address("ann")
    made = link(flow, "signup", ann, password="correct horse", data={"name": "Ann"})
    flow.note("mails", flow.mail.count(ann))
    flow.note("the link carries the hash", f"token={made['hashed_token']}&type=signup&redirect_to=" in made["action_link"])
    flow.get(made["action_link"], label="the link")
    flow.post("/token?grant_type=password", {"email": ann, "password": "correct horse"})
    link(flow, "signup", ann, "for someone who is there", password="correct horse")


@scenario()
def invitation_link(flow):
    ann = flow.address("ann")
    first = link(flow, "invite", ann, data={"team": "red"})
    second = link(flow, "invite", ann, "once more", data={"team": "blue"})
    flow.get(first["action_link"], label="the first link")
    flow.post("/verify", {"type": "invite", "email": ann, "token": second["email_otp"]}, label="the second code")
    link(flow, "invite", ann, "for someone who is there")


@scenario()
def sign_in_and_recovery_links(flow):
    ann = flow.new_user()
    made = link(flow, "magiclink", ann["email"], data={"ignored": True})
    recovery = link(flow, "recovery", ann["email"])
    flow.get(made["action_link"], label="the sign-in link, replaced by the recovery link")
    flow.post("/verify", {"type": "recovery", "token_hash": recovery["hashed_token"]})
    made = link(flow, "magiclink", ann["email"])
    flow.post("/verify", {"type": "email", "email": ann["email"], "token": made["email_otp"]}, label="the code")


@scenario()
def links_for_nobody(flow):
    ann = flow.address("ann")
    for kind in ("recovery", "email_change_current", "email_change_new"):
        link(flow, kind, ann, new_email=flow.address("new"))
    made = link(flow, "magiclink", ann, data={"name": "Ann"})
    flow.get(made["action_link"], label="the sign-in link signs up")


@scenario()
def email_change_links(flow):
    ann, new = flow.new_user(), flow.address("new")
    current = link(flow, "email_change_current", ann["email"], new_email=new)
    latest = link(flow, "email_change_new", ann["email"], new_email=new)
    flow.note("the link carries the hash", [f"token={made['hashed_token']}&" in made["action_link"] for made in (current, latest)])
    flow.get(current["action_link"], label="the current address's link")
    flow.post("/verify", {"type": "email_change", "token_hash": latest["hashed_token"]}, label="the new address's hash as answered")
    flow.post("/verify", {"type": "email_change", "email": new, "token": latest["email_otp"]}, label="the new address's code")


@scenario("email_change-single")
def email_change_links_without_the_current_address(flow):
    ann, new = flow.new_user(), flow.address("new")
    link(flow, "email_change_current", ann["email"], new_email=new)
    made = link(flow, "email_change_new", ann["email"], new_email=new)
    flow.get(made["action_link"], label="the link")
    flow.get("/user", token=ann["token"])


@scenario()
def wrong_requests(flow):
    ann, bob = flow.new_user(), flow.new_user("bob")
    flow.post("/admin/generate_link", {"type": "signup", "email": flow.address("cleo")}, label="nobody asks")
    flow.post("/admin/generate_link", {"type": "signup", "email": flow.address("cleo")}, token=ann["token"], label="a user asks")
    link(flow, "signup", flow.address("cleo"), "no password")
    link(flow, "signup", flow.address("cleo"), "a weak password", password="short")
    link(flow, "signup", "cleo", "a malformed address", password="correct horse")
    link(flow, "sms", ann["email"], "a type without links")
    link(flow, "", flow.address("cleo"), "no type")
    link(flow, "email_change_new", ann["email"], "no new address")
    link(flow, "email_change_new", ann["email"], "a malformed new address", new_email="new")
    link(flow, "email_change_new", ann["email"], "a taken new address", new_email=bob["email"])
    flow.post("/admin/generate_link", {}, token=flow.service_role, label="nothing")
    flow.post("/admin/generate_link", raw="{]", token=flow.service_role, label="not JSON")


@scenario()
def targets(flow):
    ann = flow.new_user()
    for target in ("https://app.example.com/callback", "myapp://x", "http://shop.example.com/a?b=c#d", "http://127.0.0.1:5173/cb",
                   "https://app.example.com/other", "javascript:alert(1)", ""):
        made = link(flow, "magiclink", ann["email"], f"redirect_to {target}", redirect_to=target)
        flow.note("as written", made["action_link"].split("redirect_to=")[1])
    flow.post("/admin/generate_link?redirect_to=https://app.example.com/callback", {"type": "magiclink", "email": ann["email"]},
              token=flow.service_role, label="the target in the query")
    flow.post("/admin/generate_link", {"type": "magiclink", "email": ann["email"]}, token=flow.service_role,
              headers={"redirect_to": "myapp://from-header"}, label="the target in a header")
