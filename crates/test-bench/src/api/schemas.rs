//! Schemas of bodies and parameters that parsers of their own read, for the `OpenAPI` document.
//!
//! The tests compare the members with those that the parsers know and with those of answers.

#![expect(dead_code, reason = "schemas of the document")]

use std::collections::BTreeMap;

use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

/// Changes of a clock; `at` and `advance` exclude each other.
#[derive(ToSchema)]
pub(super) struct ClockChanges {
    /// A time (RFC 3339) in the years 1970 to 9999.
    #[schema(example = "2030-01-01T00:00:00Z")]
    at: Option<String>,
    /// A length of time that is added.
    #[schema(example = "61m")]
    advance: Option<String>,
    /// Whether the clock stands still.
    freeze: Option<bool>,
    /// Seconds per real second.
    #[schema(exclusive_minimum = 0.0, maximum = 1_000_000.0)]
    rate: Option<f64>,
}

/// The part of a path that names a message.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct MessagePath {
    /// The id of a message.
    message: String,
}

/// The part of a path that names an attachment.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct AttachmentPath {
    /// The number of an attachment, from 0.
    n: usize,
}

/// Selects the messages of a list.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct MessageParameters {
    /// An address or number.
    to: Option<String>,
    /// `email` or `sms`.
    channel: Option<String>,
    /// What a message is for, such as `magic_link`.
    kind: Option<String>,
    /// A part of the subject.
    subject: Option<String>,
    /// The id of a message: only later ones; `now` leaves out all that there are.
    after: Option<String>,
    /// Seconds to wait for the first message, up to 60.
    wait: Option<f64>,
    /// The largest number of messages, up to 200; 100 without it.
    limit: Option<u16>,
}

/// Selects messages to delete; without parameters all.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct DeletionParameters {
    /// An address or number.
    to: Option<String>,
    /// `email` or `sms`.
    channel: Option<String>,
    /// What a message is for, such as `magic_link`.
    kind: Option<String>,
    /// A part of the subject.
    subject: Option<String>,
    /// The id of a message: only later ones.
    after: Option<String>,
}

/// Headers by name.
#[derive(ToSchema)]
pub(super) struct MessageHeaders(BTreeMap<String, Vec<String>>);

/// A user to create: these members, or any other that an import accepts. One without `confirmed` is confirmed.
#[derive(ToSchema)]
pub(super) struct NewUser {
    /// A UUID; a new one without it.
    id: Option<String>,
    email: Option<String>,
    phone: Option<String>,
    /// A plain password, instead of `password_hash`.
    password: Option<String>,
    /// A hash that an import accepts.
    password_hash: Option<String>,
    confirmed: Option<bool>,
    #[schema(value_type = Option<Object>)]
    user_metadata: Option<Value>,
    #[schema(value_type = Option<Object>)]
    app_metadata: Option<Value>,
    /// Without members a verified TOTP factor with a new secret; `{"type": "recovery_code"}` has new codes.
    #[schema(value_type = Option<Vec<Object>>)]
    factors: Option<Value>,
    #[schema(value_type = Option<Vec<Object>>)]
    identities: Option<Value>,
    #[serde(flatten)]
    imported: BTreeMap<String, Value>,
}

/// A session to create; the user is named by `id`, `email` or `phone`.
#[derive(ToSchema)]
pub(super) struct NewSession {
    id: Option<String>,
    email: Option<String>,
    phone: Option<String>,
    /// `aal1` or `aal2`.
    aal: Option<String>,
    /// Authentication methods, such as `["password", "totp"]`.
    #[schema(value_type = Option<Vec<Object>>)]
    amr: Option<Value>,
    /// Seconds until the access token expires; negative for an expired one.
    expires_in: Option<i64>,
    /// The origin of the application, for the formats `ssr` and `playwright`.
    origin: Option<String>,
    /// `json`, `ssr` or `playwright`.
    format: Option<String>,
}

/// A session, whose members are also beside it, as in the answer to a sign-in.
#[derive(ToSchema)]
pub(super) struct CreatedSession {
    #[schema(value_type = Object)]
    session: Value,
    /// The key under which clients of the world store the session.
    storage_key: String,
    /// Cookies of `@supabase/ssr`, as Playwright takes them, with the format `ssr`.
    #[schema(value_type = Option<Vec<Object>>, nullable = false)]
    cookies: Option<Value>,
    /// The same as a header `Cookie`.
    #[schema(nullable = false)]
    cookie_header: Option<String>,
    /// `storageState` of Playwright, with the format `playwright`.
    #[schema(value_type = Option<Object>, nullable = false)]
    storage_state: Option<Value>,
    #[serde(flatten)]
    session_members: BTreeMap<String, Value>,
}

/// The secret of a TOTP factor.
#[derive(ToSchema)]
pub(super) struct TotpSecret {
    /// Base32, as the enrolment or the creation of the user returned it.
    secret: String,
}

/// A one-time password.
#[derive(ToSchema)]
pub(super) struct TotpCode {
    code: String,
    /// Seconds of the world's clock.
    valid_for: i64,
}

/// Options of WebAuthn.
#[derive(ToSchema)]
pub(super) struct PasskeyOptions {
    /// The options as the server sent them.
    #[schema(value_type = Object)]
    options: Value,
    /// That of the answer before, for an authentication.
    passkey: Option<Passkey>,
    /// The origin of the page; that of the configuration without it.
    origin: Option<String>,
    /// Whether the authenticator verified the user; without it, it did.
    user_verified: Option<bool>,
}

/// What a browser returns, and the state for the next authentication.
#[derive(ToSchema)]
pub(super) struct PasskeyAnswer {
    /// What `navigator.credentials.create()` or `.get()` returns.
    #[schema(value_type = Object)]
    credential: Value,
    passkey: Passkey,
}

/// The private state of a passkey.
#[derive(ToSchema)]
pub(super) struct Passkey {
    credential_id: String,
    private_key: String,
    rp_id: String,
    #[schema(required)]
    user_handle: Option<String>,
    sign_count: u32,
}

/// A rule by which operations fail.
#[derive(ToSchema)]
pub(super) struct NewFault {
    #[schema(rename = "match")]
    conditions: Option<FaultConditions>,
    /// `http` (without it), `smtp`, `sms`, `database`, `hook:<name>` or `provider:<name>`.
    target: Option<String>,
    #[schema(rename = "do")]
    action: FaultEffects,
    /// The largest number of affected operations.
    count: Option<u64>,
}

/// The operations that a rule affects.
#[derive(ToSchema)]
pub(super) struct FaultConditions {
    method: Option<String>,
    /// The path below the world's URL; `*` stands for any characters.
    #[schema(example = "/auth/v1/token*")]
    path: Option<String>,
    /// The number of the first affected operation.
    nth: Option<u64>,
    /// The id or address of a user.
    user: Option<String>,
    /// The share of affected operations.
    #[schema(minimum = 0.0, maximum = 1.0)]
    probability: Option<f64>,
}

/// What a rule does: a response, `drop`, `truncate` or `failure`, after a delay.
#[derive(ToSchema)]
pub(super) struct FaultEffects {
    #[schema(minimum = 200, maximum = 599)]
    status: Option<u16>,
    /// A code of the error catalogue.
    error_code: Option<String>,
    /// A text, or JSON.
    body: Option<Value>,
    /// Milliseconds.
    delay_ms: Option<u64>,
    /// Whether the connection is closed without an answer.
    drop: Option<bool>,
    /// Bytes of the body after which the connection is closed.
    truncate: Option<u64>,
    /// Seconds of the header `Retry-After`.
    retry_after: Option<u64>,
    /// A failure of the target, such as `refuse`.
    failure: Option<String>,
}

#[derive(ToSchema)]
pub(super) struct AddedFault {
    id: String,
    /// The number of affected operations.
    hits: u64,
}

#[derive(ToSchema)]
pub(super) struct FaultList {
    faults: Vec<ListedFault>,
}

/// A rule and its counters.
#[derive(ToSchema)]
pub(super) struct ListedFault {
    id: String,
    /// The number of affected operations.
    hits: u64,
    /// The number of operations that the conditions matched.
    matched: u64,
    #[schema(rename = "match", nullable = false)]
    conditions: Option<FaultConditions>,
    #[schema(nullable = false)]
    target: Option<String>,
    #[schema(rename = "do")]
    action: FaultEffects,
    #[schema(nullable = false)]
    count: Option<u64>,
}

/// The next sign-in: a user, an error of the provider, or a scenario.
#[derive(ToSchema)]
pub(super) struct NextSignIn {
    /// The id of the user at the provider.
    sub: Option<String>,
    email: Option<String>,
    email_verified: Option<bool>,
    #[schema(value_type = Option<Object>)]
    claims: Option<Value>,
    /// An error, such as `access_denied`.
    error: Option<String>,
    error_description: Option<String>,
    /// A deviation, such as `bad_signature`.
    scenario: Option<String>,
    /// Milliseconds.
    delay_ms: Option<u64>,
}

/// Selects events.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct EventParameters {
    /// The id of an event: only later ones; `now` leaves out all that there are.
    after: Option<String>,
    /// `request`, `decision`, `audit` or `message`.
    kind: Option<String>,
    /// The id of a user.
    user: Option<String>,
    /// Whole seconds to wait for the first event, up to 60.
    wait: Option<u64>,
}

#[derive(ToSchema)]
pub(super) struct EventList {
    events: Vec<Event>,
}

/// Something that happened in a world.
#[derive(ToSchema)]
pub(super) struct Event {
    /// Later events have greater ones.
    id: u64,
    /// `request`, `decision`, `audit` or `message`.
    kind: String,
    /// The time by the clock of the world (RFC 3339).
    at: String,
    request_id: String,
    #[schema(required)]
    user_id: Option<String>,
    /// The members of this kind.
    #[schema(value_type = Object)]
    data: Value,
}
