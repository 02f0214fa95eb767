//! Kinds of messages, and the purposes that are stored for them.

use gotrue_rules::domain::policy::MailKind;

/// The kind of an application's mails.
pub(crate) const APPLICATION_KIND: &str = "application";
/// The kinds of messages that are no mails of the auth API.
const OTHER_KINDS: [&str; 5] = ["sms_otp", APPLICATION_KIND, "order_delivery", "order_refund", "order_notice"];
/// The stored purpose of reauthentication mails, and its kind.
const REAUTHENTICATION: (&str, &str) = ("reauthenticate", "reauthentication");

/// Lists all kinds.
pub(crate) fn list_kinds() -> Vec<&'static str> {
    MailKind::ALL.map(MailKind::as_str).into_iter().chain(OTHER_KINDS).collect()
}

/// Returns the kind of a stored purpose.
pub(crate) fn kind_of_purpose(purpose: &str) -> &str {
    if purpose == REAUTHENTICATION.0 { REAUTHENTICATION.1 } else { purpose }
}

/// Returns the stored purpose of a kind.
pub(crate) fn purpose_of_kind(kind: &str) -> &str {
    if kind == REAUTHENTICATION.1 { REAUTHENTICATION.0 } else { kind }
}
