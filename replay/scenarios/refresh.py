"""Refresh tokens: stored ones (version 1) and self-contained ones (version 2)."""

import base64
import concurrent.futures

from harness import refresh_v2
from harness.accounts import refresh, rename, server_headers, session_of, set_session, set_user, sign_in, token_rows
from harness.registry import scenario


def chain(flow, first, names):
    """Refresh repeatedly without recording. Returns the new tokens by name."""
    tokens = {"first": first}
    rename(flow, first=first)
    for name in names:
        answer = refresh(flow, list(tokens.values())[-1], record=False)
        if answer.status != 200:
            raise AssertionError(f"{name}: {answer.status} {answer.text}")
        tokens[name] = answer["refresh_token"]
        rename(flow, **{name: tokens[name]})
    return tokens


def age_tokens(flow, token, interval="1 hour"):
    """Move `updated_at` of the session's refresh tokens into the past."""
    flow.database.query(f"update auth.refresh_tokens set updated_at = updated_at - interval '{interval}' where session_id = '{session_of(token)}'")


@scenario()
def token_is_exchanged_for_the_next(flow):
    ann = flow.new_user(data={"name": "Ann"})
    rename(flow, first=ann["refresh"])
    answer = refresh(flow, ann["refresh"])
    rename(flow, second=answer["refresh_token"])
    flow.note("headers", server_headers(answer))
    flow.get("/user", token=answer["access_token"])
    flow.get("/user", token=ann["token"], label="the first access token still serves")
    flow.note("stored", token_rows(flow, ann["token"]))
    answer = refresh(flow, answer["refresh_token"], label="the second token")
    rename(flow, third=answer["refresh_token"])
    flow.note("stored", token_rows(flow, ann["token"]))


@scenario()
def tokens_that_are_no_tokens(flow):
    for token in ("", "abc", "abcdefghijk", "ABCDEFGHIJKL", "abcdefghijk!", "a-unknowntok", "abcdefghijkl", "a" * 13, "a" * 60):
        refresh(flow, token, label=token or "empty")
    flow.post("/token?grant_type=refresh_token", {}, label="none")
    flow.post("/token?grant_type=refresh_token", {"refresh_token": None}, label="null")
    flow.post("/token?grant_type=refresh_token", label="no body")


@scenario()
def parent_may_be_used_again(flow):
    ann = flow.new_user()
    tokens = chain(flow, ann["refresh"], ["second"])
    age_tokens(flow, ann["token"], "10 days")
    answer = refresh(flow, tokens["first"], label="the parent again, days later")
    flow.note("headers", server_headers(answer))
    refresh(flow, tokens["first"], label="and again")
    flow.note("stored", token_rows(flow, ann["token"]))


@scenario("refresh-no-interval")
def grandparent_ends_the_family(flow):
    ann = flow.new_user()
    tokens = chain(flow, ann["refresh"], ["second", "third"])
    age_tokens(flow, ann["token"])
    refresh(flow, tokens["first"], label="the grandparent")
    flow.note("stored", token_rows(flow, ann["token"]))
    refresh(flow, tokens["third"], label="the newest")
    flow.get("/user", token=ann["token"], label="the session is still there")
    sign_in(flow, ann, label="sign in anew")


@scenario()
def grandparent_within_the_interval(flow):
    ann = flow.new_user()
    tokens = chain(flow, ann["refresh"], ["second", "third"])
    answer = refresh(flow, tokens["first"], label="the grandparent at once")
    rename(flow, fourth=answer["refresh_token"])
    flow.note("stored", token_rows(flow, ann["token"]))
    answer = refresh(flow, answer["refresh_token"], label="the token from it")
    rename(flow, fifth=answer["refresh_token"])
    refresh(flow, tokens["third"], label="the one that was newest before")
    flow.note("how many rows", len(token_rows(flow, ann["token"])))


@scenario("refresh-no-rotation")
def reuse_without_rotation_leaves_the_family(flow):
    ann = flow.new_user()
    tokens = chain(flow, ann["refresh"], ["second", "third"])
    age_tokens(flow, ann["token"])
    refresh(flow, tokens["first"], label="the grandparent")
    flow.note("stored", token_rows(flow, ann["token"]))
    answer = refresh(flow, tokens["third"], label="the newest")
    rename(flow, fourth=answer["refresh_token"])
    flow.note("stored afterwards", token_rows(flow, ann["token"]))


@scenario()
def many_at_once_get_one_token(flow):
    ann = flow.new_user()
    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        answers = list(pool.map(lambda _: refresh(flow, ann["refresh"], record=False), range(5)))
    flow.note("statuses", sorted(a.status for a in answers))
    flow.note("different refresh tokens", len({a["refresh_token"] for a in answers}))
    flow.note("sessions", len({session_of(a["access_token"]) for a in answers}))
    flow.note("rows", len(token_rows(flow, ann["token"])))


@scenario()
def revoked_by_hand(flow):
    ann = flow.new_user()
    rename(flow, first=ann["refresh"])
    flow.database.query(f"update auth.refresh_tokens set revoked = true, updated_at = now() - interval '1 minute' where token = '{ann['refresh']}'")
    refresh(flow, ann["refresh"])
    flow.note("stored", token_rows(flow, ann["token"]))


@scenario()
def session_user_or_row_gone(flow):
    ann = flow.new_user()
    second = sign_in(flow, ann, record=False)
    third = sign_in(flow, ann, record=False)
    flow.database.query(f"delete from auth.refresh_tokens where token = '{ann['refresh']}'")
    refresh(flow, ann["refresh"], label="the row is gone")
    flow.database.query(f"update auth.refresh_tokens set session_id = null where token = '{second['refresh_token']}'")
    refresh(flow, second["refresh_token"], label="a row without a session")
    refresh(flow, second["refresh_token"], label="the same again")
    flow.database.query(f"delete from auth.users where id = '{ann['id']}'")
    refresh(flow, third["refresh_token"], label="the account is gone")


@scenario()
def what_a_refresh_writes(flow):
    ann = flow.new_user(data={"name": "Ann"})
    set_user(flow, ann, "last_sign_in_at = '2020-01-01'")
    set_session(flow, ann["token"], "user_agent = 'before', ip = '192.0.2.1'")
    refresh(flow, ann["refresh"], record=False, headers={"User-Agent": "shop/2.0", "X-Forwarded-For": "203.0.113.9"})
    flow.note("session", flow.database.query(
        "select user_agent, host(ip), refreshed_at between (now() at time zone 'utc') - interval '1 minute' and (now() at time zone 'utc') + interval '1 minute'"
        f" from auth.sessions where id = '{session_of(ann['token'])}'"))
    flow.note("last sign-in untouched", flow.database.query(f"select last_sign_in_at from auth.users where id = '{ann['id']}'"))
    flow.note("audit", flow.database.query(
        "select payload ->> 'action', payload ->> 'log_type' from auth.audit_log_entries"
        f" where payload ->> 'actor_id' = '{ann['id']}' and payload ->> 'action' like 'token%' order by 1"))


@scenario()
def changes_to_the_account_reach_the_next_token(flow):
    ann = flow.new_user(data={"name": "Ann"})
    flow.put("/user", {"data": {"name": "Anna", "cart": 3}}, token=ann["token"], record=False)
    flow.put(f"/admin/users/{ann['id']}", {"app_metadata": {"tier": "gold"}, "role": "shopkeeper"}, token=flow.service_role, record=False)
    refresh(flow, ann["refresh"])


@scenario("refresh-v2")
def second_version(flow):
    ann = flow.new_user()
    rename(flow, first=ann["refresh"])
    flow.note("first token", {"length": len(ann["refresh"]), "starts with a zero byte": base64.urlsafe_b64decode(ann["refresh"] + "==")[0] == 0})
    answer = refresh(flow, ann["refresh"])
    rename(flow, second=answer["refresh_token"])
    flow.note("headers", server_headers(answer))
    flow.note("session", flow.database.query(
        f"select refresh_token_counter, length(refresh_token_hmac_key) from auth.sessions where id = '{session_of(ann['token'])}'"))
    flow.note("rows in refresh_tokens", token_rows(flow, ann["token"]))
    answer = refresh(flow, ann["refresh"], label="the first again")
    flow.note("headers of the reuse", server_headers(answer))
    answer = refresh(flow, answer["refresh_token"], label="the second")
    flow.note("headers of the second", server_headers(answer))


@scenario("refresh-v2")
def second_version_old_token_ends_the_session(flow):
    ann = flow.new_user()
    tokens = chain(flow, ann["refresh"], ["second", "third"])
    set_session(flow, ann["token"], "refreshed_at = refreshed_at - interval '1 hour'")
    answer = refresh(flow, tokens["first"], label="the grandparent, an hour later")
    flow.note("headers", server_headers(answer))
    refresh(flow, tokens["third"], label="the newest")
    flow.get("/user", token=ann["token"], label="the access token")


@scenario("refresh-v2")
def second_version_old_token_within_the_interval(flow):
    ann = flow.new_user()
    tokens = chain(flow, ann["refresh"], ["second", "third", "fourth"])
    answer = refresh(flow, tokens["first"], label="the first, at once")
    flow.note("headers", server_headers(answer))
    refresh(flow, tokens["fourth"], label="the newest")


@scenario("refresh-v2")
def second_version_tampered(flow):
    ann = flow.new_user()
    good = ann["refresh"]
    flow.names.learn(good, "good")
    refresh(flow, good[:30] + ("A" if good[30] != "A" else "B") + good[31:], label="a character changed")
    refresh(flow, good[:-4], label="cut short")
    refresh(flow, good + "==", label="padded")
    refresh(flow, "abcdefghijkl", label="a token of the first version that does not exist")
    flow.database.query(f"update auth.sessions set refresh_token_counter = 5 where id = '{session_of(ann['token'])}'")
    set_session(flow, ann["token"], "refresh_token_hmac_key = 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'")
    refresh(flow, good, label="the session's key has changed")
    set_session(flow, ann["token"], "refresh_token_hmac_key = null")
    refresh(flow, good, label="the session has no key")


@scenario("refresh-v2")
def second_version_built_by_hand(flow):
    ann = flow.new_user()
    session = session_of(ann["token"])
    key = refresh_v2.stored_key(flow, session)
    flow.note("the server's own token", ann["refresh"] == refresh_v2.token(session, 0, key))
    for counter in range(3):
        rename(flow, **{f"counter {counter}": refresh_v2.token(session, counter, key)})
    refresh(flow, refresh_v2.token(session, 0, key), label="counter 0")
    refresh(flow, refresh_v2.token(session, 1, key), label="counter 1")
    refresh(flow, refresh_v2.token(session, 3, key), label="a counter that was never issued")
    refresh(flow, refresh_v2.token(session, 2, key[::-1]), label="another key")
    refresh(flow, refresh_v2.token("11111111-2222-4333-8444-555555555555", 2, key), label="an unknown session")
    refresh(flow, refresh_v2.token(session, 2, key, version=1), label="another format version")


@scenario("refresh-v2")
def second_version_takes_tokens_of_the_first(flow):
    ann = flow.new_user()
    flow.database.query(
        "insert into auth.refresh_tokens (token, user_id, session_id, revoked, instance_id, created_at, updated_at)"
        f" values ('oldkind77777', '{ann['id']}', '{session_of(ann['token'])}', false, '00000000-0000-0000-0000-000000000000', now(), now())")
    set_session(flow, ann["token"], "refresh_token_hmac_key = null, refresh_token_counter = null")
    answer = refresh(flow, "oldkind77777")
    flow.note("the new token is", "of the second version" if len(answer["refresh_token"]) > 12 else "of the first version")
    flow.note("stored", flow.database.query(
        f"select refresh_token_counter, refresh_token_hmac_key is not null from auth.sessions where id = '{session_of(ann['token'])}'"))


@scenario("refresh-v2")
def second_version_many_at_once(flow):
    ann = flow.new_user()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: refresh(flow, ann["refresh"], record=False), range(4)))
    flow.note("statuses", sorted(a.status for a in answers))
    flow.note("different refresh tokens", len({a["refresh_token"] for a in answers}))
    flow.note("counter", flow.database.query(f"select refresh_token_counter from auth.sessions where id = '{session_of(ann['token'])}'"))
