"""Helpers for scenarios about MFA factors and database rows."""

import json

from .accounts import sign_in


def enrol(flow, token, body=None, **more):
    return flow.post("/factors", {"factor_type": "totp", **(body or {})}, token=token, **more)


def challenge(flow, token, factor, body=None, **more):
    """Request a challenge. First moves the existing `amr` rows of the user's sessions one, two, ... minutes into the
    past, so that the order in `amr` is deterministic."""
    flow.database.query(f"""
        update auth.mfa_amr_claims c set updated_at = now() - interval '1 minute' * place from (
            select p.id, row_number() over (partition by session_id order by p.updated_at desc) as place
            from auth.mfa_amr_claims p join auth.sessions s on s.id = session_id
            join auth.mfa_factors f on f.user_id = s.user_id where f.id::text = '{factor}') proof
        where c.id = proof.id""")
    return flow.post(f"/factors/{factor}/challenge", body, token=token, **more)


def verify(flow, token, factor, challenge_id, code, **more):
    return flow.post(f"/factors/{factor}/verify", {"challenge_id": challenge_id, "code": code}, token=token, **more)


def unenrol(flow, token, factor, **more):
    return flow.delete(f"/factors/{factor}", token=token, **more)


def wrong_code(flow, secret):
    """Return a well-formed TOTP code of the year 2001."""
    return flow.totp(secret, at=1_000_000_000)


def second_factor(flow, user, name="", record=False):
    """Enrol and verify a TOTP factor, which raises the session to aal2. Returns the factor's id and secret."""
    made = enrol(flow, user["token"], {"friendly_name": name}, record=record)
    if made.status != 200:
        raise AssertionError(f"enrolment: {made.status} {made.text}")
    factor = {"id": made["id"], "secret": made["totp"]["secret"]}
    step_up(flow, user, factor, record=record)
    return factor


def step_up(flow, user, factor, record=False):
    """Verify the TOTP factor in the user's session and store the new tokens in `user`."""
    issued = challenge(flow, user["token"], factor["id"], record=record)
    done = verify(flow, user["token"], factor["id"], issued["id"], flow.totp(factor["secret"]), record=record)
    if done.status != 200:
        raise AssertionError(f"verification: {done.status} {done.text}")
    user["token"], user["refresh"] = done["access_token"], done["refresh_token"]
    return done


def another_session(flow, user):
    """Sign in again by password. Returns the user with the new tokens."""
    got = sign_in(flow, user, record=False)
    return {**user, "token": got["access_token"], "refresh": got["refresh_token"]}


def age_challenges(flow, factor, interval="1 hour"):
    flow.database.query(f"update auth.mfa_challenges set created_at = created_at - interval '{interval}' where factor_id = '{factor}'")


def rows(flow, sql):
    """Return the rows of a query as dictionaries."""
    return json.loads(flow.database.query(f"select coalesce(json_agg(row), '[]') from ({sql}) row"))


def audit(flow, user_id, *actions):
    """Return payload and address of the audit rows with the user as actor or subject, oldest first."""
    found = rows(flow, "select payload, ip_address from auth.audit_log_entries "
                 f"where payload->>'actor_id' = '{user_id}' or payload->'traits'->>'user_id' = '{user_id}' order by created_at")
    return [row for row in found if not actions or row["payload"]["action"] in actions]
