//! Recorded behaviour of GoTrue that the checks would otherwise reject.
//!
//! It consists of internal errors caused by a body alone and of refusals that write rows. Other cases are defects.

use gotrue_rs::routes::RouteSummary;
use platform::testing::Answer;

use super::sent::RequestBody;

const USERS: &str = "/admin/users";
const PROVIDERS: &str = "/admin/sso/providers";
const PROVIDER: &str = "/admin/sso/providers/{idp_id}";
const USER: &str = "/admin/users/{user_id}";

/// Method, path, message, and what body or query must hold to deserve it.
const FAILURES: &[(&str, &str, &str, &str)] = &[
    // An unknown method of a code challenge is found out when the flow is stored.
    ("POST", "/signup", "Unexpected failure, please check server logs for more information", "code_challenge"),
    ("POST", "/otp", "Unexpected failure, please check server logs for more information", "code_challenge"),
    ("POST", "/magiclink", "Unexpected failure, please check server logs for more information", "code_challenge"),
    ("POST", "/recover", "Unexpected failure, please check server logs for more information", "code_challenge"),
    ("POST", "/resend", "Unexpected failure, please check server logs for more information", "code_challenge"),
    ("PUT", "/user", "Unexpected failure, please check server logs for more information", "code_challenge"),
    // Hashes of no known form; an account with neither address nor number.
    ("POST", USERS, "Error creating user", "password_hash"),
    ("POST", USERS, "Internal Server Error", ""),
    // Metadata that is not SAML at all; names of a provider that only the database finds taken or empty.
    ("POST", PROVIDERS, "Unexpected failure, please check server logs for more information", "metadata_xml"),
    ("PUT", PROVIDER, "Unexpected failure, please check server logs for more information", "metadata_xml"),
    // A page size of zero.
    ("GET", USERS, "Internal Server Error", "per_page=0"),
    ("GET", "/admin/audit", "Internal Server Error", "per_page=0"),
    // A taken id; an e-mail or phone that is taken in another audience or not looked up before the insert.
    ("POST", USERS, "duplicate key value violates unique constraint \"users_pkey\"", "\"id\""),
    ("POST", USERS, "duplicate key value violates unique constraint \"users_email_partial_key\"", "\"aud\""),
    ("POST", USERS, "duplicate key value violates unique constraint \"users_phone_key\"", "\"aud\""),
    ("PUT", USER, "duplicate key value violates unique constraint \"users_email_partial_key\"", "\"email\""),
    ("PUT", USER, "duplicate key value violates unique constraint \"users_phone_key\"", "\"phone\""),
];

/// Routes that create users or change their e-mail or phone.
///
/// If `X-JWT-AUD` names another audience, only the database detects an e-mail or phone that is taken.
const ACROSS_AUDIENCES: &[&str] = &["/signup", "/otp", "/magiclink", "/invite", "/user", "/admin/generate_link", USERS];

/// Whether the reference fails like that, too.
pub(super) fn is_failure(line: &RouteSummary, sent: &RequestBody, answer: &Answer) -> bool {
    let reported = if answer.str("msg").is_empty() { answer.str("message") } else { answer.str("msg") };
    let names_audience = sent.headers.iter().any(|(name, _)| name == "x-jwt-aud");
    if names_audience && ACROSS_AUDIENCES.contains(&&*line.path) {
        let constraint = reported.strip_prefix("duplicate key value violates unique constraint ");
        return matches!(constraint, Some("\"users_email_partial_key\"" | "\"users_phone_key\""));
    }
    let held = format!("{} {}", String::from_utf8_lossy(&sent.body).to_lowercase(), sent.query);
    FAILURES.iter().any(|(method, path, message, holds)| {
        line.method == *method && line.path == *path && reported == *message && held.contains(holds)
    })
}

/// Whether a mailed link was prefetched; the response differs from GoTrue.
pub(super) fn is_prefetch(line: &RouteSummary, sent: &RequestBody, answer: &Answer) -> bool {
    let is_ahead = sent.headers.iter().any(|(name, value)| name == "sec-purpose" && value == "prefetch");
    line.path == "/verify" && is_ahead && answer.status == 503
}

/// Method, path, error code and table.
const WRITES: &[(&str, &str, &str, &str)] = &[
    // The flow state is written before the mail is requested.
    ("POST", "/magiclink", "over_email_send_rate_limit", "flow_state"),
    ("POST", "/recover", "over_email_send_rate_limit", "flow_state"),
    // Enrolling first takes away what was never verified in time, whatever becomes of the new one.
    ("POST", "/factors", "mfa_factor_name_conflict", "mfa_factors"),
    ("POST", "/factors", "too_many_enrolled_mfa_factors", "mfa_factors"),
];

/// Whether the reference leaves something in that table, too.
pub(super) fn may_write(line: &RouteSummary, answer: &Answer, table: &str) -> bool {
    WRITES.iter().any(|(method, path, code, written)| {
        line.method == *method && line.path == *path && answer.str("error_code") == *code && *written == table
    })
}
