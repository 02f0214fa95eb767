"""Identity providers on the provider sink: responses of GitHub, GitLab, Keycloak and others, and the requests they received.

The profile sets GOTRUE_EXTERNAL_<NAME>_URL to {provider}/<name>, so each provider lives under its own path.
"""

import base64
import hashlib
import json
import urllib.parse

AVATAR = "https://img.example.com/ann.png"


def github(p):
    return "/login/oauth/access_token", {
        "/api/v3/user": {"id": p["id"], "login": "ann-on-github", "email": "public@example.com", "name": p["name"], "avatar_url": AVATAR},
        "/api/v3/user/emails": p["emails"],
    }


def gitlab(p):
    return "/oauth/token", {
        "/api/v4/user": {"id": p["id"], "email": p["email"], "name": p["name"], "avatar_url": AVATAR,
                         "confirmed_at": "2020-01-02T03:04:05Z" if p["verified"] else ""},
        "/api/v4/user/emails": [{"id": 1, "email": e} for e in p.get("extra", [])],
    }


def keycloak(p):
    return "/protocol/openid-connect/token", {
        "/protocol/openid-connect/userinfo": {"sub": f"kc-{p['id']}", "name": p["name"], "email": p["email"], "email_verified": p["verified"],
                                              **p.get("claims", {})},
    }


def azure(p):
    return "/oauth2/v2.0/token", {}


def bitbucket(p):
    return "/site/oauth2/access_token", {
        "/2.0/user": {"uuid": f"{{bb-{p['id']}}}", "display_name": p["name"], "avatar": {"href": AVATAR}},
        "/2.0/user/emails": {"values": [{"email": p["email"], "is_primary": True, "is_confirmed": p["verified"]}]},
    }


def discord(p):
    return "/api/oauth2/token", {
        "/api/users/@me": {"id": f"dc{p['id']}", "username": p["name"], "discriminator": "1234", "global_name": "Ann G.",
                           "avatar": p.get("avatar", "a_1f2e"), "email": p["email"], "verified": p["verified"]},
    }


def facebook(p):
    return "/oauth/access_token", {
        "/me": {"id": f"fb{p['id']}", "email": p["email"], "first_name": "Ann", "last_name": "Example", "name": "Annie",
                "picture": {"data": {"url": AVATAR}}},
    }


def figma(p):
    return "/v1/oauth/token", {"/v1/me": {"id": f"fg{p['id']}", "email": p["email"], "handle": p["name"], "img_url": AVATAR}}


def fly(p):
    return "/oauth/token", {
        "/oauth/token/info": {"resource_owner_id": "owner-1", "user_id": f"fly{p['id']}", "user_name": p["name"], "email": p["email"],
                              "organizations": [{"id": "org-1", "role": "member"}], "scope": ["read"],
                              "application": {"uid": "app-1"}, "expires_in": 7200, "created_at": 1600000000},
    }


def kakao(p):
    return "/oauth/token", {
        "/v2/user/me": {"id": p["id"], "kakao_account": {
            "email": p["email"], "is_email_valid": True, "is_email_verified": p["verified"],
            "profile": {"nickname": p["name"], "profile_image_url": AVATAR}}},
    }


def linkedin(p):
    def localized(text):
        return {"localized": {"en_US": text}, "preferredLocale": {"country": "US", "language": "en"}}

    return "/oauth/v2/accessToken", {
        "/v2/me": {"id": f"li{p['id']}", "firstName": localized("Ann"), "lastName": localized("Example"),
                   "profilePicture": {"displayImage~": {"elements": [{"identifiers": [{"identifier": AVATAR}]}]}}},
        "/v2/emailAddress": {"elements": [{"handle": "urn:li:emailAddress:1", "handle~": {"emailAddress": p["email"]}}]},
    }


def notion(p):
    return "/v1/oauth/token", {
        "/v1/users/me": {"bot": {"owner": {"user": {"id": f"no{p['id']}", "name": p["name"], "avatar_url": AVATAR, "person": {"email": p["email"]}}}}},
    }


def slack(p, token="/api/oauth.access"):
    return token, {
        "/api/openid.connect.userInfo": {"https://slack.com/user_id": f"sl{p['id']}", "https://slack.com/team_id": "T1", "email": p["email"],
                                         "email_verified": p["verified"], "name": p["name"], "picture": AVATAR},
    }


def slack_oidc(p):
    return slack(p, "/api/openid.connect.token")


def snapchat(p):
    return "/accounts/oauth2/token", {
        "/v1/me": {"data": {"me": {"externalId": f"sn{p['id']}", "displayName": p["name"], "bitmoji": {"avatar": AVATAR}, "email": p["email"]}}},
    }


def spotify(p):
    return "/api/token", {
        "/me": {"id": f"sp{p['id']}", "display_name": p["name"], "email": p["email"],
                "images": [{"url": AVATAR + "?small", "height": 64, "width": 64}, {"url": AVATAR, "height": 300, "width": 300}]},
    }


def twitch(p):
    return "/oauth2/token", {
        "/helix/users": {"data": [{
            "id": f"tw{p['id']}", "login": "ann_live", "display_name": p["name"], "type": "", "broadcaster_type": "affiliate",
            "description": "plays chess", "profile_image_url": AVATAR, "offline_image_url": AVATAR + "?off", "view_count": 12,
            "email": p["email"], "created_at": "2016-12-14T20:32:28Z"}]},
    }


def x(p):
    return "/2/oauth2/token", {
        "/2/users/me": {"data": {"id": f"x{p['id']}", "name": p["name"], "username": "ann_x", "confirmed_email": p["email"],
                                 "profile_image_url": AVATAR, "url": "https://ann.example.com", "created_at": "2013-12-14T04:35:55Z"}},
    }


def workos(p):
    return "/sso/token", {}


def zoom(p):
    return "/oauth/token", {
        "/v2/users/me": {"id": f"zm{p['id']}", "first_name": "Ann", "last_name": "Example", "email": p["email"],
                         "verified": int(p["verified"]), "login_type": p.get("login_type", "100"), "pic_url": AVATAR},
    }


class Upstream:
    """The responses of one provider. `.token` is its token response; `calls()` returns the requests since the last call."""

    def __init__(self, flow, provider, local_part="ann", email=None, verified=True, **more):
        self.flow, self.name = flow, provider
        self.email = flow.address(local_part) if email is None else email
        self.id = int(hashlib.sha256(f"{flow.name}{provider}{local_part}".encode()).hexdigest(), 16) % 10**8 + 10**8
        profile = {"id": self.id, "email": self.email, "verified": verified, "name": "Ann Example", **more}
        profile.setdefault("emails", [{"email": self.email, "primary": True, "verified": verified}] if self.email else [])
        token_path, pages = globals()[provider](profile)
        self.token = {"access_token": f"{provider}-access", "refresh_token": f"{provider}-refresh", "token_type": "bearer", "expires_in": 3600}
        self.at(token_path, lambda call: (200, {}, self.token))
        for path, page in pages.items():
            self.at(path, page)

    def at(self, path, answer, status=200):
        """Set the response of `path` below this provider: JSON, or a function of the call."""
        self.flow.provider.on(f"/{self.name}{path}", answer if callable(answer) else lambda call: (status, {}, answer))

    def begin(self, query="", record=True, **more):
        """Send GET /authorize. Returns the state passed to the provider."""
        answer = self.flow.get(f"/authorize?provider={self.name}{query}", record=record, **more)
        return answer.location[1].get("state")

    def finish(self, state, code="c0de-from-upstream", record=True, **more):
        """Send the callback with a code."""
        return self.flow.get(f"/callback?state={state}&code={code}", record=record, **more)

    def sign_in(self, query="", record=True, label=None):
        """Run the whole flow; only the callback is a step."""
        return self.finish(self.begin(query, record=False), record=record, label=label or f"callback from {self.name}")

    def session(self, query=""):
        """Return the access token of an unrecorded implicit sign-in."""
        return self.sign_in(query, record=False).location[2]["access_token"]

    def calls(self):
        seen = provider_requests(self.flow.provider)
        return [c for c in seen if c["path"].startswith(f"/{self.name}/")]


def provider_requests(sink):
    """Return and clear the recorded requests of a sink, with decoded credentials."""
    with sink.lock:
        calls, sink.calls[:] = list(sink.calls), []
    return [shown(call) for call in calls]


def shown(call):
    parts = urllib.parse.urlsplit(call["path"])
    out = {"method": call["method"], "path": parts.path}
    if parts.netloc:
        out["host"] = parts.netloc
    if parts.query:
        out["query"] = dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))
    kind, _, rest = call["headers"].get("authorization", "").partition(" ")
    if kind == "Basic":
        out["authorization"] = "Basic " + base64.b64decode(rest).decode()
    elif kind == "OAuth":
        out["authorization"] = {"OAuth": oauth1(rest)}
    elif kind:
        out["authorization"] = f"{kind} {rest}"
    for name in ("notion-version", "client-id"):
        if name in call["headers"]:
            out[name] = call["headers"][name]
    if call["body"]:
        text = call["body"].decode("utf-8", "replace")
        if "json" in call["headers"].get("content-type", ""):
            out["json"] = json.loads(text)
        else:
            out["form"] = dict(urllib.parse.parse_qsl(text, keep_blank_values=True))
    return out


def oauth1(header):
    """OAuth 1.0a parameters, with the volatile ones shown by name only."""
    pairs = (part.strip().split("=", 1) for part in header.split(","))
    volatile = {"oauth_nonce", "oauth_timestamp", "oauth_signature"}
    return {k: "<set>" if k in volatile else urllib.parse.unquote(v.strip('"')) for k, v in pairs}
