"""Helpers for scenarios about the admin API."""


def create(flow, body, **more):
    return flow.post("/admin/users", body, token=flow.service_role, **more)


def update(flow, user_id, body, **more):
    return flow.put(f"/admin/users/{user_id}", body, token=flow.service_role, **more)


def read(flow, user_id, **more):
    return flow.get(f"/admin/users/{user_id}", token=flow.service_role, **more)


def remove(flow, user_id, body=None, **more):
    return flow.delete(f"/admin/users/{user_id}", body, token=flow.service_role, **more)


def list_users(flow, query="", **more):
    return flow.get(f"/admin/users{query}", token=flow.service_role, **more)


def account(flow, local_part="ann", password="correct horse", **fields):
    """Create a confirmed user by the admin API, outside the transcript. Returns address, password and id."""
    body = {"email": flow.address(local_part), "password": password, "email_confirm": True, **fields}
    made = create(flow, body, record=False)
    if made.status != 200:
        raise AssertionError(f"account {local_part}: {made.status} {made.text}")
    return {"email": body["email"], "password": password, "id": made["id"]}


def replace_users(flow, *users):
    """Delete all users, then create these, one per day from 2024-01-01 on.
    Each is a name or (name, fields of POST /admin/users)."""
    flow.database.query("delete from auth.users")
    for day, user in enumerate(users, 1):
        local_part, fields = (user, {}) if isinstance(user, str) else user
        made = account(flow, local_part, **fields)
        flow.database.query(f"update auth.users set created_at = '2024-01-{day:02} 00:00:00Z' where id = '{made['id']}'")


def user_names(answer):
    """Return the names of the listed users (the first part of the address), in order."""
    return [user["email"].split(".")[0] for user in answer["users"]]
