"""What the test API takes and returns."""

from __future__ import annotations

from typing import Any, Literal, TypedDict


class ClockState(TypedDict):
    """The state of a world's clock."""

    now: str
    rate: float
    frozen: bool


MessageKind = Literal[
    "application",
    "confirmation",
    "email_change",
    "email_changed_notification",
    "identity_linked_notification",
    "identity_unlinked_notification",
    "invite",
    "magic_link",
    "mfa_factor_enrolled_notification",
    "mfa_factor_unenrolled_notification",
    "order_delivery",
    "order_notice",
    "order_refund",
    "password_changed_notification",
    "phone_changed_notification",
    "reauthentication",
    "recovery",
    "sms_otp",
]


class Message(TypedDict):
    """An e-mail or an SMS that the server would have sent."""

    id: str
    channel: Literal["email", "sms"]
    at: str
    to: str
    subject: str
    kind: MessageKind
    text: str
    html: str
    code: str | None
    token_hash: str | None
    link: str | None
    links: list[str]


class Event(TypedDict):
    """What happened in a world."""

    id: int
    kind: Literal["request", "decision", "audit", "message"]
    at: str
    request_id: str
    user_id: str | None
    data: dict[str, Any]


class TotpCode(TypedDict):
    """A code as an authenticator application shows it, and the seconds for which it is valid."""

    code: str
    valid_for: int


class FaultRule(TypedDict, total=False):
    """A fault and how often it occurred."""

    id: str
    match: dict[str, Any]
    do: dict[str, Any]
    count: int
    hits: int


class CreatedFactor(TypedDict, total=False):
    """A factor of a created user: `secret` is the base32 secret of a TOTP factor, `codes` are recovery codes."""

    id: str
    factor_type: str
    status: str
    secret: str
    codes: list[str]


class CreatedUser(TypedDict, total=False):
    """A created user as the admin API describes it."""

    id: str
    email: str
    phone: str
    user_metadata: dict[str, Any]
    app_metadata: dict[str, Any]
    factors: list[CreatedFactor]


class Session(TypedDict):
    """A session as the token endpoint returns it."""

    access_token: str
    refresh_token: str
    token_type: str
    expires_in: int
    expires_at: int
    user: dict[str, Any]


class CreatedSession(TypedDict, total=False):
    """A session and where clients store it."""

    session: Session
    storage_key: str
    cookies: list[dict[str, Any]]
    cookie_header: str
    storage_state: dict[str, Any]
