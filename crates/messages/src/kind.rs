//! Kinds of messages, and the purposes that are stored for them.

/// The kind of an application's mails.
pub(crate) const APPLICATION_KIND: &str = "application";
/// The stored purpose of reauthentication mails, and its kind.
const REAUTHENTICATION: (&str, &str) = ("reauthenticate", "reauthentication");

/// Returns the kind of a stored purpose.
pub(crate) fn kind_of_purpose(purpose: &str) -> &str {
    if purpose == REAUTHENTICATION.0 { REAUTHENTICATION.1 } else { purpose }
}

/// Returns the stored purpose of a kind.
pub(crate) fn purpose_of_kind(kind: &str) -> &str {
    if kind == REAUTHENTICATION.1 { REAUTHENTICATION.0 } else { kind }
}
