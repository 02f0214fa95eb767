"""Hooks that are database functions: profiles whose "sql" has public.answer() keep calls and answers in two tables."""

import json


def literal(value):
    return "null" if value is None else "'" + str(value).replace("'", "''") + "'"


def answer(flow, hook, value=None, raising=None, state=None, seconds=None):
    """Set what the hook does: return `value`, raise, or sleep first."""
    row = ", ".join((literal(hook), literal(None if value is None else json.dumps(value)), literal(raising), literal(state), literal(seconds)))
    flow.database.query(f"delete from public.answers where hook = {literal(hook)}")
    flow.database.query(f"insert into public.answers values ({row})")


def calls(flow, hook):
    """Return and delete the committed events that the hook was called with."""
    rows = flow.database.query(f"select event from public.calls where hook = {literal(hook)} order by n")
    flow.database.query(f"delete from public.calls where hook = {literal(hook)}")
    return [json.loads(line) for line in rows.splitlines()]


def reset(flow):
    """Delete calls and answers of earlier scenarios."""
    flow.database.query("truncate public.calls, public.answers")
