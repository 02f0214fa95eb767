"""/user/identities: manual linking and unlinking."""

from harness.registry import scenario
from harness.upstream import Upstream

AUTHORIZE = "/user/identities/authorize?provider="


def link(flow, user, upstream, query="", **more):
    """Link an identity; only the callback is a step."""
    url = flow.get(f"{AUTHORIZE}{upstream.name}{query}", token=user["token"], record=False).location[1]
    return upstream.finish(url["state"], **more)


def identity(flow, user, provider):
    """Return the identity_id of the user's identity at a provider."""
    response = flow.get("/user", token=user["token"], record=False)
    return next(i["identity_id"] for i in response["identities"] if i["provider"] == provider)


@scenario("oauth")
def linking_starts_with_a_redirect_or_an_address(flow):
    ann = flow.new_user()
    flow.get(f"{AUTHORIZE}github", token=ann["token"])
    flow.get(f"{AUTHORIZE}github&skip_http_redirect=true", token=ann["token"], label="as JSON")
    flow.get(f"{AUTHORIZE}github&skip_http_redirect=1&scopes=repo&prompt=consent", token=ann["token"], label="only the word true counts")
    flow.get(f"{AUTHORIZE}myspace&skip_http_redirect=true", token=ann["token"], label="unknown provider")
    flow.get(f"{AUTHORIZE}github", label="not signed in")


@scenario("oauth")
def a_linked_identity_keeps_the_account_as_it_was(flow):
    ann = flow.new_user(data={"name": "Ann here"})
    github = Upstream(flow, "github", "ann.work")
    link(flow, ann, github, "&redirect_to=https%3A%2F%2Fapp.example.com%2Fcallback")
    flow.get("/user", token=ann["token"])
    github.sign_in(label="signing in with it")
    flow.note("audit", flow.database.query("select payload->>'action', payload->'traits'->>'provider' from auth.audit_log_entries "
                                           f"where payload->>'actor_id' = '{ann['id']}' and payload->>'action' like 'identity%'"))


@scenario("oauth")
def linking_with_pkce_gives_a_code(flow):
    ann, github = flow.new_user(), Upstream(flow, "github", "ann.work")
    verifier, challenge = flow.pkce()
    code = link(flow, ann, github, f"&code_challenge={challenge}&code_challenge_method=s256").location[1]["code"]
    flow.post("/token?grant_type=pkce", {"auth_code": code, "code_verifier": verifier})


@scenario("oauth")
def an_identity_belongs_to_one_account(flow):
    ann, bob, github = flow.new_user("ann"), flow.new_user("bob"), Upstream(flow, "github", "work")
    link(flow, ann, github, record=False)
    link(flow, ann, github, label="again")
    link(flow, bob, github, label="somebody else")


@scenario("oauth")
def the_account_may_be_gone_when_the_browser_comes_back(flow):
    ann, github = flow.new_user(), Upstream(flow, "github", "work")
    state = flow.get(f"{AUTHORIZE}github", token=ann["token"], record=False).location[1]["state"]
    flow.delete(f"/admin/users/{ann['id']}", token=flow.service_role, record=False)
    github.finish(state)


@scenario("oauth")
def an_anonymous_person_becomes_a_known_one(flow):
    anonymous = flow.post("/signup", {}, record=False)
    user = {"token": anonymous["access_token"]}
    link(flow, user, Upstream(flow, "github", "ann"))
    flow.get("/user", token=user["token"])
    other = {"token": flow.post("/signup", {}, record=False)["access_token"]}
    link(flow, other, Upstream(flow, "gitlab", "bob", verified=False), label="with an unverified address")
    mail = flow.mail.wait(flow.address("bob"))
    flow.get("/user", token=other["token"], label="until the mail is followed")
    flow.get(mail.links[0])
    third = {"token": flow.post("/signup", {}, record=False)["access_token"]}
    link(flow, third, Upstream(flow, "gitlab", "ann"), label="with the address of an account")


@scenario("oauth")
def unlinking(flow):
    ann, github = flow.new_user(), Upstream(flow, "github", "ann.work")
    link(flow, ann, github, record=False)
    flow.delete(f"/user/identities/{identity(flow, ann, 'github')}", label="not signed in")
    flow.delete("/user/identities/first", token=ann["token"], label="not a UUID")
    flow.delete(f"/user/identities/{ann['id']}", token=ann["token"], label="not an identity")
    flow.delete(f"/user/identities/{identity(flow, ann, 'github')}", token=ann["token"])
    flow.get("/user", token=ann["token"])
    flow.delete(f"/user/identities/{identity(flow, ann, 'email')}", token=ann["token"], label="the last one")


@scenario("oauth")
def without_its_first_identity_the_account_takes_the_address_of_another(flow):
    ann, github = flow.new_user(), Upstream(flow, "github", "ann.work")
    link(flow, ann, github, record=False)
    flow.delete(f"/user/identities/{identity(flow, ann, 'email')}", token=ann["token"])
    flow.get("/user", token=ann["token"])
    flow.post("/token?grant_type=password", {"email": ann["email"], "password": ann["password"]}, label="the old address and password")
    flow.post("/token?grant_type=password", {"email": flow.address("ann.work"), "password": ann["password"]}, label="the new address")


@scenario("oauth")
def an_identity_of_somebody_else_cannot_be_unlinked(flow):
    ann, bob = flow.new_user("ann"), flow.new_user("bob")
    link(flow, ann, Upstream(flow, "github", "work"), record=False)
    link(flow, bob, Upstream(flow, "github", "play"), record=False)
    flow.delete(f"/user/identities/{identity(flow, bob, 'github')}", token=ann["token"])


@scenario()
def linking_by_hand_is_off_by_default(flow):
    ann = flow.new_user()
    flow.get(f"{AUTHORIZE}github", token=ann["token"])
    flow.delete(f"/user/identities/{ann['id']}", token=ann["token"])
    flow.get(f"{AUTHORIZE}github", label="not signed in")
