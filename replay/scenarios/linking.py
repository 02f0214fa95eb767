"""Automatic account linking: the user that a sign-in by a provider leads to."""

from harness.registry import scenario
from harness.upstream import Upstream


def user_names(flow, back):
    """Return address and identities of the user of a callback."""
    user = flow.get("/user", token=back.location[2]["access_token"], record=False)
    return {"id": user["id"], "email": user["email"], "identities": sorted(i["provider"] for i in user["identities"]),
            "app_metadata": user["app_metadata"]}


@scenario("oauth")
def providers_with_one_verified_address_are_one_account(flow):
    for provider in ("github", "gitlab", "keycloak"):
        flow.note(provider, user_names(flow, Upstream(flow, provider).sign_in(record=False)))


@scenario("oauth")
def letters_of_an_address_do_not_matter(flow):
    ann = flow.new_user()
    shout = flow.address("ann").upper()
    flow.note("github", user_names(flow, Upstream(flow, "github", email=shout).sign_in(record=False)))
    flow.get("/user", token=ann["token"])


@scenario("oauth")
def a_secondary_verified_address_links_too(flow):
    flow.new_user("ann")
    github = Upstream(flow, "github", "new", emails=[
        {"email": flow.address("new"), "primary": True, "verified": True},
        {"email": flow.address("ann"), "primary": False, "verified": True},
    ])
    flow.note("github", user_names(flow, github.sign_in(record=False)))


@scenario("oauth")
def an_unverified_secondary_address_does_not(flow):
    flow.new_user("ann")
    gitlab = Upstream(flow, "gitlab", "new", extra=[flow.address("ann")])
    flow.note("gitlab", user_names(flow, gitlab.sign_in(record=False)))


@scenario("oauth")
def an_account_made_by_an_administrator_is_joined(flow):
    flow.post("/admin/users", {"email": flow.address("ann"), "email_confirm": True, "user_metadata": {"name": "from HR", "desk": 7},
                               "app_metadata": {"team": "chess"}}, token=flow.service_role, record=False)
    back = Upstream(flow, "github").sign_in(record=False)
    flow.get("/user", token=back.location[2]["access_token"])


@scenario("oauth")
def an_identity_follows_its_number_not_its_address(flow):
    github = Upstream(flow, "github")
    github.sign_in(record=False)
    moved = Upstream(flow, "github", email=flow.address("moved"))
    flow.note("after the address changed at github", user_names(flow, moved.sign_in(record=False)))
    flow.get("/user", token=moved.session())


@scenario("oauth_unverified_allowed")
def where_unverified_addresses_may_sign_in(flow):
    github = Upstream(flow, "github", verified=False)
    back = github.sign_in()
    mail = flow.mail.wait(github.email)
    flow.note("mail", mail.subject)
    flow.get("/user", token=back.location[2]["access_token"])
    flow.get(mail.links[0], label="the confirmation link")


@scenario("oauth_linking_domains")
def providers_of_another_linking_domain_stay_apart(flow):
    ann = flow.new_user()
    flow.note("github, in the default domain", user_names(flow, Upstream(flow, "github").sign_in(record=False)))
    flow.note("gitlab, in the domain work", user_names(flow, Upstream(flow, "gitlab").sign_in(record=False)))
    flow.note("keycloak, in the domain work", user_names(flow, Upstream(flow, "keycloak").sign_in(record=False)))
    flow.note("accounts with the address", flow.database.query(
        f"select is_sso_user, count(*) from auth.users where email = '{ann['email']}' group by 1 order by 1").splitlines())
