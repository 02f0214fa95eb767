"""The audit log: its entries and GET /admin/audit."""

from harness.accounts import refresh, sign_in
from harness.admin import account, remove, update
from harness.factors import audit, rows
from harness.registry import scenario


def log(flow, query="", **more):
    return flow.get(f"/admin/audit{query}", token=flow.service_role, **more)


def afresh(flow):
    flow.database.query("delete from auth.audit_log_entries")


def actions(answer):
    return [entry["payload"]["action"] for entry in answer.json]


@scenario("admin_pages")
def entries_of_a_first_day(flow):
    afresh(flow)
    ann = flow.new_user(data={"full_name": "Ann Example"})
    sign_in(flow, ann, record=False, headers={"X-Forwarded-For": "203.0.113.7"})
    log(flow)
    log(flow, "?page=1&per_page=2", label="two a page")
    log(flow, "?page=2&per_page=2", label="the second page")


@scenario("admin_pages")
def searched(flow):
    afresh(flow)
    ann, bob = flow.new_user("ann", data={"full_name": "Ann Example"}), flow.new_user("bob")
    sign_in(flow, bob, record=False)
    flow.post("/logout", token=bob["token"], record=False)
    for query in ("author:ann.", "author:Example", "author:EXAMPLE", "action:login", "action:LOG", "type:account", "type:team", "author:nobody", "action:"):
        flow.note(query, actions(log(flow, f"?query={query}", record=False)))
    log(flow, "?query=action:logout", label="one entry")
    log(flow, "?query=action:login&per_page=1", label="the search in the links")


@scenario("admin_pages")
def searches_that_are_refused(flow):
    log(flow, "?query=login", label="no column")
    log(flow, "?query=colour:red", label="unknown column")
    log(flow, "?query=:", label="empty column")
    log(flow, "?page=x", label="page x")
    log(flow, "?per_page=-1", label="per_page -1")


@scenario()
def only_administrators_read(flow):
    ann = flow.new_user()
    flow.get("/admin/audit")
    flow.get("/admin/audit", token=ann["token"])


@scenario()
def what_an_account_does(flow):
    ann = flow.new_user()
    first = sign_in(flow, ann, record=False)
    refresh(flow, first["refresh_token"], record=False)
    flow.put("/user", {"data": {"colour": "red"}}, token=first["access_token"], record=False)
    flow.put("/user", {"password": "another horse"}, token=first["access_token"], record=False)
    flow.post("/recover", {"email": ann["email"]}, record=False)
    flow.get("/reauthenticate", token=first["access_token"], record=False)
    flow.post("/signup", {"email": ann["email"], "password": "correct horse"}, record=False)
    flow.post("/logout", token=first["access_token"], record=False)
    flow.note("audit", audit(flow, ann["id"]))


@scenario()
def what_the_administrator_does(flow):
    ann = account(flow, user_metadata={"full_name": "Ann Example"}, phone=flow.phone())
    update(flow, ann["id"], {"user_metadata": {"colour": "red"}}, record=False)
    remove(flow, ann["id"], record=False)
    flow.note("audit", audit(flow, ann["id"]))
    email = flow.address("guest")
    flow.post("/invite", {"email": email}, token=flow.service_role, record=False)
    flow.post("/admin/generate_link", {"type": "magiclink", "email": email}, token=flow.service_role, record=False)
    flow.note("invitation", rows(flow, f"select payload, ip_address from auth.audit_log_entries where payload::text like '%{email}%' order by created_at"))
