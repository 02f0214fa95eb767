"""An OAuth client of the server's OAuth 2.1 provider; its requests are outside the transcript."""

import base64
import urllib.parse

CALLBACK = "https://app.example.com/callback"


def register(flow, **more):
    """Register a client by the admin API, confidential by default."""
    answer = flow.post("/admin/oauth/clients", {"client_name": "Shop app", "redirect_uris": [CALLBACK], **more}, token=flow.service_role, record=False)
    if answer.status != 201:
        raise AssertionError(f"client: {answer.status} {answer.text}")
    return answer.json


def authorize_path(client, challenge, **more):
    """Return the path of an authorization request; None omits a parameter."""
    query = {"response_type": "code", "client_id": client["client_id"], "redirect_uri": CALLBACK,
             "code_challenge": challenge, "code_challenge_method": "S256", **more}
    return "/oauth/authorize?" + urllib.parse.urlencode({k: v for k, v in query.items() if v is not None})


def authorization_path(flow, answer):
    """Return the path of the authorization that a response redirects to; its id is shown as <authorization>."""
    found = answer.location[1]["authorization_id"]
    flow.names.learn(found, "authorization")
    return f"/oauth/authorizations/{found}"


def start_authorization(flow, client, challenge, **more):
    """Make an authorization request. Returns the path of the authorization."""
    return authorization_path(flow, flow.get(authorize_path(client, challenge, **more), record=False))


def redirect_query(answer):
    """Return the query of the redirect_url in a response."""
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(answer["redirect_url"]).query))


def approve_authorization(flow, client, user, **more):
    """Approve an authorization request. Returns (code, verifier)."""
    verifier, challenge = flow.pkce()
    path = start_authorization(flow, client, challenge, **more)
    answer = flow.get(path, token=user["token"], record=False)
    if "redirect_url" not in answer.json:
        answer = flow.post(path + "/consent", {"action": "approve"}, token=user["token"], record=False)
    return redirect_query(answer)["code"], verifier


def basic(client, secret=None):
    pair = f"{client['client_id']}:{secret or client['client_secret']}"
    return {"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}


def exchange(flow, client, code, verifier, record=False, redirect_uri=CALLBACK, **more):
    """Send the token request of a client, authenticated by Basic or, without a secret, by its id."""
    form = {"grant_type": "authorization_code", "code": code, "code_verifier": verifier, "redirect_uri": redirect_uri}
    if "client_secret" in client:
        flow.names.learn(basic(client)["Authorization"], "basic credentials")
        return flow.post("/oauth/token", form=form, headers=basic(client), record=record, **more)
    return flow.post("/oauth/token", form={**form, "client_id": client["client_id"]}, record=record, **more)
