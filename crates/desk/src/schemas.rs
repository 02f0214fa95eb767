//! Schemas of bodies and parameters, which handlers read member by member, for the `OpenAPI` document.

#![expect(dead_code, reason = "schemas of the document")]

use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

/// The first owner.
#[derive(ToSchema)]
pub(crate) struct FirstOwner {
    /// That of the link which the server has printed.
    token: String,
    email: String,
    password: String,
}

/// The first step of a sign-in.
#[derive(ToSchema)]
pub(crate) struct Credentials {
    email: String,
    password: String,
}

/// A code of an authenticator application, or a recovery code.
#[derive(ToSchema)]
pub(crate) struct TicketCode {
    /// That of the step before.
    ticket: String,
    code: String,
}

/// A new password by a link of `basalt desk reset`, or of another owner.
#[derive(ToSchema)]
pub(crate) struct PasswordReset {
    /// That of the link.
    token: String,
    password: String,
}

/// What the browser has returned for the options.
#[derive(ToSchema)]
pub(crate) struct PasskeyCredential {
    /// That of the options.
    ticket: String,
    #[schema(value_type = Object)]
    credential: Value,
}

/// What the browser has returned for the options, and a name.
#[derive(ToSchema)]
pub(crate) struct NewPasskey {
    /// That of the options.
    ticket: String,
    #[schema(value_type = Object)]
    credential: Value,
    name: String,
}

/// The present password.
#[derive(ToSchema)]
pub(crate) struct CurrentPassword {
    current_password: String,
}

/// A new password.
#[derive(ToSchema)]
pub(crate) struct PasswordChange {
    password: String,
    current_password: String,
}

/// An address: a new one of the owner, or that of another owner.
#[derive(ToSchema)]
pub(crate) struct EmailAddress {
    email: String,
    current_password: String,
}

/// Which recovery codes the owner has kept.
#[derive(ToSchema)]
pub(crate) struct KeptCodes {
    /// The time with which the codes came.
    made_at: String,
}

/// Which events are listed.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ActivityParameters {
    /// The id of the last event of the page before.
    before: Option<i64>,
}

/// The values of a new template.
#[derive(ToSchema)]
pub(crate) struct NewTemplate {
    /// By their keys in `catalogue.toml`.
    #[schema(value_type = Object)]
    values: Map<String, Value>,
}

/// Changed values of a template.
#[derive(ToSchema)]
pub(crate) struct ChangedTemplate {
    /// By their keys in `catalogue.toml`.
    #[schema(value_type = Object)]
    values: Map<String, Value>,
    /// The revision that the owner has seen.
    revision: i32,
}

/// An earlier revision of a template.
#[derive(ToSchema)]
pub(crate) struct RestoredTemplate {
    /// The revision; 0 for the values of the files.
    to: i32,
    /// The revision that the owner has seen.
    revision: i32,
}

/// The name of an uploaded file.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct UploadParameters {
    /// The name that buyers see.
    name: Option<String>,
}

/// The days of the figures.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct FigureParameters {
    /// The first day, such as `2026-01-31`.
    from: Option<String>,
    /// The last day; today without it.
    to: Option<String>,
    /// `included`, or absent.
    tests: Option<String>,
}

/// Which orders are listed.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct OrderParameters {
    /// A part of the address or of the title, or a reference, number or id.
    search: Option<String>,
    /// `paid`, `delivered` or `refunded`.
    state: Option<String>,
    /// The id of a template.
    template: Option<i32>,
    /// The first day of the payment, such as `2026-01-31`.
    from: Option<String>,
    /// The last day of the payment.
    to: Option<String>,
    /// `next` of the page before.
    before: Option<i64>,
    /// The largest number of orders, up to 200.
    limit: Option<i64>,
}

/// A payment that waits for the owner.
#[derive(ToSchema)]
pub(crate) struct HeldPayment {
    /// `stripe`, `paypal` or `lemon_squeezy`.
    provider: String,
    event_id: String,
}

/// How a payment that waits is delivered.
#[derive(ToSchema)]
pub(crate) struct HeldDelivery {
    /// `stripe`, `paypal` or `lemon_squeezy`.
    provider: String,
    event_id: String,
    /// The id of the template.
    template: u16,
    /// The address of the buyer, if the provider does not name it.
    email: Option<String>,
}

/// Where a new link is sent.
#[derive(ToSchema)]
pub(crate) struct LinkRecipient {
    /// Another address of the buyer.
    email: Option<String>,
    /// The address that the owner has seen.
    previous_email: Option<String>,
}

/// Which submissions are listed.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SubmissionParameters {
    /// Words of the submission, or their beginnings.
    search: Option<String>,
    /// `new`, `answered`, `closed` or `spam`.
    status: Option<String>,
    /// The id of a template.
    template: Option<u16>,
    /// The first day or time.
    from: Option<String>,
    /// The last day, or the time before which submissions came.
    to: Option<String>,
    /// `next` of the page before.
    before: Option<String>,
    /// The largest number of submissions, up to 200.
    limit: Option<u16>,
}

/// The format of an export, beside the parameters of the list.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ExportParameters {
    /// `csv` or `json`; `csv` without it.
    format: Option<String>,
}

/// Submissions to delete.
#[derive(ToSchema)]
pub(crate) struct SubmissionIds {
    ids: Vec<Uuid>,
}

/// What was done about a submission.
#[derive(ToSchema)]
pub(crate) struct SubmissionState {
    /// `new`, `answered`, `closed` or `spam`.
    status: String,
}

/// A note of the owner.
#[derive(ToSchema)]
pub(crate) struct NewNote {
    text: String,
}

/// A reply by e-mail.
#[derive(ToSchema)]
pub(crate) struct Reply {
    /// An address that the submission names.
    to: String,
    subject: String,
    text: String,
}
