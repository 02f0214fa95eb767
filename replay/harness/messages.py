"""Helpers for scenarios about codes sent by e-mail and SMS: views of messages, backdating of codes."""

import re

from . import webhooks


def email_facts(mail):
    """Return the facts of a mail without its prose."""
    return {"subject": re.sub(r"\d{6,10}", lambda m: f"<{len(m.group(0))} digits>", mail.subject),
            "links": mail.links, "kinds": mail.kinds, "code": bool(mail.code)}


def code_in_subject(mail):
    """Return the code in the subject (profile `otp-codes`)."""
    return re.search(r"\d{6,10}", mail.subject).group(0)


def text_message(flow):
    """Take the next call of the send-SMS hook. Returns the call as facts, its payload and its code."""
    message = webhooks.take(flow, "/sms", "SEND_SMS")
    return message, message["payload"], message["payload"]["sms"]["otp"]


def shown_text(message, _):
    return message


def backdate(flow, column, seconds, email=None, phone=None):
    """Move a timestamp of a user into the past."""
    where = f"email = '{email}'" if email else f"phone = '{phone}'"
    flow.database.query(f"update auth.users set {column} = now() - interval '{seconds} seconds' where {where}")


def note_send_interval(flow, label, answer, seconds):
    """Record a refusal inside the send interval; the seconds it names may be up to 8 lower than `seconds`."""
    body = answer.json
    text = body.get("msg") or body.get("message")
    left = int(re.search(r"\d+", text).group(0))
    flow.note(label, {"status": answer.status, "error_code": body.get("error_code") or body["code"],
                      "text": text.replace(str(left), "<n>"), "n is right": 0 <= seconds - left <= 8})
