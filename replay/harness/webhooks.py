"""Receiver of HTTP hooks: verifies the Standard Webhooks signature and reads the payload."""

import base64
import hashlib
import hmac
import json


def signature(secret, message):
    """Sign a message with a secret `v1,whsec_<base64>`."""
    key = base64.b64decode(secret.removeprefix("v1,whsec_"))
    return "v1," + base64.b64encode(hmac.new(key, message, hashlib.sha256).digest()).decode()


def take(flow, path, name):
    """Take the oldest call to a hook path as facts; `name` is the one in GOTRUE_HOOK_<name>_SECRETS."""
    call = flow.hooks.wait(path)
    head = call["headers"]
    message = f"{head['webhook-id']}.{head['webhook-timestamp']}.".encode() + call["body"]
    sent = head.get("webhook-signature", "").split(", ")
    secrets = [s for s in flow.env.get(f"GOTRUE_HOOK_{name}_SECRETS", "").split("|") if s]
    return {
        "method": call["method"],
        "headers": {k: v for k, v in head.items() if k in ("content-type", "accept-encoding", "webhook-id", "authorization")},
        "timestamp": head["webhook-timestamp"],
        "signatures": [signature(s, message) == got for s, got in zip(secrets, sent)] if len(secrets) == len(sent) else sent,
        "payload": payload(call),
    }


def payload(call):
    return json.loads(call["body"])


def calls(flow, path):
    """Count the calls to a hook path that are not taken yet."""
    with flow.hooks.lock:
        return sum(1 for c in flow.hooks.calls if c["path"] == path)


def reply_in_turn(flow, path, *answers):
    """Answer calls to a path with these (status, json, headers) in turn, then repeat the last."""
    rest = list(answers)

    def turn(_):
        status, body, headers = rest[1] if len(rest) > 1 else rest[0]
        reply = rest.pop(0) if len(rest) > 1 else rest[0]
        flow.hooks.reply(path, status, turn, headers)
        return reply[1]

    status, _, headers = rest[0]
    flow.hooks.reply(path, status, turn, headers)


def sent_email_payload(flow, path="/email"):
    """Take the payload of the oldest send-email call."""
    return payload(flow.hooks.wait(path))


def new_user(flow, local_part="ann", password="correct horse", path="/email"):
    """Create a user like flow.new_user(), with mail sent to the send-email hook."""
    email = flow.address(local_part)
    flow.post("/signup", {"email": email, "password": password}, record=False)
    data = sent_email_payload(flow, path)["email_data"]
    answer = flow.post("/verify", {"type": "signup", "token_hash": data["token_hash"]}, record=False)
    if answer.status != 200:
        raise AssertionError(f"confirmation of {email}: {answer.status} {answer.text}")
    return {"email": email, "password": password, "id": answer["user"]["id"],
            "token": answer["access_token"], "refresh": answer["refresh_token"]}
