"""Clients of the OAuth provider: self-registration and administration."""

from harness import oauth_app as app
from harness.registry import scenario

REGISTER = "/oauth/clients/register"
ADMIN = "/admin/oauth/clients"


@scenario("oauth_server")
def client_registers_itself(flow):
    flow.post(REGISTER, {"redirect_uris": [app.CALLBACK]}, label="the least")
    flow.post(REGISTER, {"redirect_uris": [app.CALLBACK, "myapp://back"], "client_name": "Ünicode & Co", "client_uri": "https://app.example.com", "logo_uri": "https://app.example.com/logo.png",
                         "grant_types": ["authorization_code"], "token_endpoint_auth_method": "client_secret_post", "scope": "email", "contacts": ["a@example.com"]}, label="everything")
    flow.post(REGISTER, {"redirect_uris": ["http://localhost:3000/cb"], "token_endpoint_auth_method": "none"}, label="public by its method")
    flow.post(REGISTER, {"redirect_uris": ["http://127.0.0.1/cb"], "client_type": "public"}, label="public by its type")


@scenario("oauth_server")
def registration_checks_redirects(flow):
    flow.post(REGISTER, {}, label="none")
    flow.post(REGISTER, {"redirect_uris": []}, label="empty")
    flow.post(REGISTER, {"redirect_uris": [app.CALLBACK] * 11}, label="eleven")
    for uri in ("", "/callback", "https://", "javascript://x/alert", "http://shop.example.com/", "https://app.example.com/#top", "data:text/html,x", "ht tp://x", "https://app.example.com/cb#"):
        flow.post(REGISTER, {"redirect_uris": [uri]}, label=f"redirect {uri!r}")


@scenario("oauth_server")
def registration_checks_the_rest(flow):
    good = {"redirect_uris": [app.CALLBACK]}
    for more in ({"grant_types": ["password"]}, {"grant_types": []}, {"client_name": "x" * 1025}, {"client_uri": "nowhere"}, {"logo_uri": "://"},
                 {"client_uri": "https://e.example/" + "x" * 2040}, {"client_type": "secret"}, {"token_endpoint_auth_method": "private_key_jwt"},
                 {"client_type": "public", "token_endpoint_auth_method": "client_secret_basic"}, {"client_type": "confidential", "token_endpoint_auth_method": "none"}):
        flow.post(REGISTER, {**good, **more}, label=f"{ {k: v if len(v) < 50 else f'{len(v)} long' for k, v in more.items()} }")
    flow.post(REGISTER, {"redirect_uris": "https://app.example.com/"}, label="a string for a list")
    flow.post(REGISTER, raw="", label="nothing")


@scenario("oauth_server")
def administrator_manages_a_client(flow):
    admin = flow.service_role
    client = flow.post(ADMIN, {"redirect_uris": [app.CALLBACK], "client_name": "Desk"}, token=admin)["client_id"]
    flow.get(f"{ADMIN}/{client}", token=admin)
    flow.put(f"{ADMIN}/{client}", {"client_name": "New desk", "redirect_uris": ["https://desk.example.com/cb"]}, token=admin, label="change some")
    flow.put(f"{ADMIN}/{client}", {"client_uri": "https://desk.example.com", "logo_uri": "", "grant_types": ["authorization_code"], "token_endpoint_auth_method": "client_secret_post"}, token=admin, label="change others")
    flow.post(f"{ADMIN}/{client}/regenerate_secret", token=admin)
    flow.delete(f"{ADMIN}/{client}", token=admin)
    flow.get(f"{ADMIN}/{client}", token=admin, label="gone")
    flow.note("kept in the table", flow.database.query(f"select deleted_at is not null, registration_type from auth.oauth_clients where id = '{client}'"))


@scenario("oauth_server")
def administrator_makes_mistakes(flow):
    admin = flow.service_role
    public = app.register(flow, client_type="public")["client_id"]
    secret = app.register(flow)["client_id"]
    flow.get(f"{ADMIN}/shop", token=admin, label="id of another form")
    flow.get(f"{ADMIN}/00000000-0000-4000-8000-000000000000", token=admin, label="unknown")
    flow.put(f"{ADMIN}/{secret}", {}, token=admin, label="nothing to change")
    flow.put(f"{ADMIN}/{secret}", {"client_type": "public"}, token=admin, label="the type cannot change")
    flow.put(f"{ADMIN}/{secret}", {"redirect_uris": []}, token=admin, label="no redirects")
    flow.put(f"{ADMIN}/{secret}", {"token_endpoint_auth_method": "none"}, token=admin, label="a method for public clients")
    flow.put(f"{ADMIN}/{public}", {"token_endpoint_auth_method": "client_secret_post"}, token=admin, label="a method for confidential clients")
    flow.post(f"{ADMIN}/{public}/regenerate_secret", token=admin, label="a secret for a public client")
    flow.post(ADMIN, {"client_name": "No redirects"}, token=admin, label="made without redirects")
    flow.post(ADMIN, {"redirect_uris": [app.CALLBACK]}, token=flow.new_user()["token"], label="not an administrator")
    flow.get(ADMIN, label="nobody")


@scenario("oauth_server")
def regenerated_secret_replaces_the_old(flow):
    client = app.register(flow)
    flow.names.learn(app.basic(client)["Authorization"], "old credentials")
    latest = flow.post(f"{ADMIN}/{client['client_id']}/regenerate_secret", token=flow.service_role, record=False)
    flow.names.learn(app.basic(latest.json)["Authorization"], "new credentials")
    form = {"grant_type": "authorization_code", "code": "unknown"}
    flow.post("/oauth/token", form=form, headers=app.basic(client), label="the old secret")
    flow.post("/oauth/token", form=form, headers=app.basic(latest.json), label="the new secret")
    flow.delete(f"{ADMIN}/{client['client_id']}", token=flow.service_role, record=False)
    flow.post("/oauth/token", form=form, headers=app.basic(latest.json), label="the client is deleted")
    _, challenge = flow.pkce()
    flow.get(app.authorize_path(client, challenge), label="and cannot ask users any more")


@scenario("oauth_clients_list")
def clients_are_listed_newest_first(flow):
    admin = flow.service_role
    flow.get(ADMIN, token=admin, label="none")
    for name in ("One", "Two", "Three"):
        last = app.register(flow, client_name=name)["client_id"]
    flow.get(ADMIN, token=admin)
    flow.get(f"{ADMIN}?page=2&per_page=1", token=admin, label="pages are not known")
    flow.delete(f"{ADMIN}/{last}", token=admin, record=False)
    flow.note("after a deletion", [c["client_name"] for c in flow.get(f"{ADMIN}/", token=admin, record=False)["clients"]])
