"""The access token: its claims, its signature, and which keys the server accepts."""

import json
import time

from harness import jws
from harness.accounts import claims, note_refusal, refresh, session_of, sign_in
from harness.registry import scenario


def keys(flow):
    """The profile's JWKs by key id."""
    return {key["kid"]: key for key in json.loads(flow.env["GOTRUE_JWT_KEYS"])}


def secret_key(flow, **more):
    """The profile's JWT secret as a JWK."""
    return {"kty": "oct", "alg": "HS256", "k": jws.encode(flow.env["GOTRUE_JWT_SECRET"].encode()), **more}


def published_key(flow, kid):
    return next(k for k in flow.get("/.well-known/jwks.json", record=False)["keys"] if k["kid"] == kid)


@scenario()
def claims_and_signature(flow):
    ann = flow.new_user(data={"name": "Ann"})
    answer = sign_in(flow, ann)
    token = answer["access_token"]
    flow.note("signed with the JWT secret", jws.verifies(token, secret_key(flow)))
    flow.note("types", {name: type(value).__name__ for name, value in sorted(claims(token).items())})
    flow.note("exp", {"exp - iat": claims(token)["exp"] - claims(token)["iat"], "expires_at is exp": answer["expires_at"] == claims(token)["exp"]})


@scenario()
def claims_follow_the_account(flow):
    ann = flow.new_user()
    flow.put(f"/admin/users/{ann['id']}", {"role": "shopkeeper", "phone": flow.phone(), "phone_confirm": True, "user_metadata": {"name": "Ann"},
                                           "app_metadata": {"tier": "gold", "roles": ["a", "b"]}}, token=flow.service_role, record=False)
    sign_in(flow, ann)
    flow.database.query(f"update auth.users set raw_app_meta_data = null, raw_user_meta_data = null where id = '{ann['id']}'")
    sign_in(flow, ann, label="with metadata emptied in the database")


@scenario()
def methods_newest_first(flow):
    ann = flow.new_user()
    flow.database.query(
        "insert into auth.mfa_amr_claims (id, session_id, authentication_method, created_at, updated_at) select gen_random_uuid(), "
        f"'{session_of(ann['token'])}', m, now() + d, now() + d from (values ('totp', interval '60 s'), ('magiclink', interval '-60 s')) as v (m, d)")
    answer = refresh(flow, ann["refresh"], label="totp makes it aal2")
    flow.database.query(f"delete from auth.mfa_amr_claims where session_id = '{session_of(ann['token'])}' and authentication_method = 'totp'")
    answer = refresh(flow, answer["refresh_token"], label="aal1 once totp is gone")
    flow.database.query(f"delete from auth.mfa_amr_claims where session_id = '{session_of(ann['token'])}'")
    refresh(flow, answer["refresh_token"], label="no method at all")


@scenario("access_token-bare")
def hardly_configured(flow):
    ann = flow.new_user()
    answer = sign_in(flow, ann)
    flow.get("/user", token=answer["access_token"])
    flow.get("/user", token=answer["access_token"], headers={"X-JWT-AUD": "authenticated"}, label="with an audience asked for")
    flow.note("signed with the JWT secret", jws.verifies(answer["access_token"], secret_key(flow)))
    flow.get("/.well-known/jwks.json")
    now = int(time.time())
    mine = {**claims(answer["access_token"]), "exp": now + 60}
    flow.get("/user", token=jws.sign(mine, secret_key(flow)), label="no key id")
    flow.get("/user", token=jws.sign(mine, secret_key(flow, kid="elsewhere")), label="another key id")


@scenario("access_token-es256")
def signed_with_an_elliptic_curve(flow):
    ann = flow.new_user()
    answer = sign_in(flow, ann)
    flow.note("verifies with the published key", jws.verifies(answer["access_token"], published_key(flow, "shop-2026")))
    flow.get("/user", token=answer["access_token"])
    refresh(flow, answer["refresh_token"])


@scenario("access_token-es256")
def published_keys(flow):
    answer = flow.get("/.well-known/jwks.json", record=False)
    flow.note("keys", sorted(answer["keys"], key=lambda key: key["kid"]))
    flow.note("headers", {name: answer.headers.get(name) for name in ("content-type", "cache-control")})


@scenario("access_token-es256")
def keys_that_only_verify(flow):
    ann = flow.new_user()
    mine = claims(ann["token"])
    for kid, key in keys(flow).items():
        flow.get("/user", token=jws.sign(mine, key), label=kid)
    flow.get("/user", token=jws.sign(mine, secret_key(flow)), label="the JWT secret")
    flow.get("/user", token=jws.sign(mine, secret_key(flow, kid="anything")), label="the JWT secret under an unknown key id")
    flow.get(f"/admin/users/{ann['id']}", token=flow.service_role, label="a service_role token under the JWT secret")


@scenario("access_token-es256")
def keys_that_do_not_fit(flow):
    ann = flow.new_user()
    mine, key = claims(ann["token"]), keys(flow)
    for label, token in {
        "the id of another key": jws.sign(mine, key["shop-2026"], kid="shop-2025"),
        "the id of a key of another kind": jws.sign(mine, key["shop-2026"], kid="rsa-2025"),
        "HS256 under the id of a public key": jws.sign(mine, secret_key(flow, kid="shop-2026")),
    }.items():
        note_refusal(flow, label, flow.get("/user", token=token, record=False))
    for label, token in {
        "unknown key id": jws.sign(mine, key["shop-2026"], kid="shop-1999"),
        "no key id": jws.sign(mine, key["shop-2026"], kid=None),
        "a method that is not accepted": jws.sign(mine, secret_key(flow), alg="HS384"),
        "no signature": jws.sign(mine, secret_key(flow), alg="none").rsplit(".", 1)[0] + ".",
    }.items():
        flow.get("/user", token=token, label=label)


@scenario("access_token-rs256")
def signed_with_rsa_and_nothing_else_accepted(flow):
    ann = flow.new_user()
    answer = sign_in(flow, ann)
    flow.note("verifies with the published key", jws.verifies(answer["access_token"], published_key(flow, "rsa-2026")))
    flow.get("/user", token=answer["access_token"])
    flow.get("/user", token=flow.signed(claims(answer["access_token"])), label="the same claims under the JWT secret")
    flow.get(f"/admin/users/{ann['id']}", token=flow.service_role, label="a service_role token under the JWT secret")
    admin = jws.sign({"role": "service_role", "exp": int(time.time()) + 60}, keys(flow)["rsa-2026"])
    flow.get(f"/admin/users/{ann['id']}", token=admin, label="a service_role token under the RSA key")
    flow.get("/.well-known/jwks.json")
