"""Helpers for scenarios about users, sessions and tokens."""

from . import jws


def claims(token):
    return jws.parts(token)[1]


def session_of(token):
    return claims(token)["session_id"]


def sign_in(flow, user, record=True, **more):
    body = {"email": user["email"], "password": user["password"]}
    return flow.post("/token?grant_type=password", body, record=record, **more)


def refresh(flow, token, **more):
    return flow.post("/token?grant_type=refresh_token", {"refresh_token": token}, **more)


def rename(flow, **named):
    """Replace each token by its name in the transcript."""
    for name, token in named.items():
        flow.names.learn(token, name)


def user_row(flow, user, columns="*"):
    """Return columns of the user's row as one line, separated by `|`."""
    return flow.database.query(f"select {columns} from auth.users where id = '{user['id']}'")


def set_user(flow, user, assignments):
    flow.database.query(f"update auth.users set {assignments} where id = '{user['id']}'")


def set_session(flow, token, assignments):
    flow.database.query(f"update auth.sessions set {assignments} where id = '{session_of(token)}'")


def token_rows(flow, token):
    """Return the refresh token rows of the session, oldest first."""
    rows = flow.database.query(
        "select token || ' <- ' || coalesce(parent, 'none') || case when revoked then ' revoked' else ' active' end "
        f"from auth.refresh_tokens where session_id = '{session_of(token)}' order by id")
    return rows.splitlines()


def server_headers(answer):
    """Return the sb-auth-* headers of a response; opaque values are replaced by their length."""
    head = {k: v for k, v in answer.headers.items() if k.startswith("sb-auth-")}
    if "sb-auth-refresh-token-prefix" in head:
        head["sb-auth-refresh-token-prefix"] = f"{len(head['sb-auth-refresh-token-prefix'])} characters"
    return head


def note_refusal(flow, label, answer):
    """Record an error and drop parser-specific text: everything after the first colon or comma."""
    text = answer["msg"]
    kept = text[:min((text.find(c) for c in ":," if c in text), default=len(text))]
    flow.note(label, {"status": answer.status, "error_code": answer["error_code"], "msg": kept + " (…)"})


def alive_sessions(flow, *tokens):
    """Report for each access token whether its session row exists."""
    return [flow.database.query(f"select count(*) from auth.sessions where id = '{session_of(token)}'") == "1" for token in tokens]


def verified_factor(flow, user):
    """Insert a verified TOTP factor for the user directly in the database."""
    flow.database.query(
        "insert into auth.mfa_factors (id, user_id, friendly_name, factor_type, status, created_at, updated_at, secret)"
        f" values (gen_random_uuid(), '{user['id']}', 'phone app', 'totp', 'verified', now(), now(), 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP')")
