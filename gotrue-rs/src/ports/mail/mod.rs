//! The texts and addresses of the mails of auth.
//!
//! [`template`] renders the text, [`link`] builds the link. Flows check quota, interval and address before.

pub mod addresses;
pub mod branded;
pub mod link;
pub mod template;

use gotrue_rules::domain::policy::MailKind;

/// Returns the value of `$messageType` in configured headers.
pub fn message_type(kind: MailKind) -> &'static str {
    match kind {
        MailKind::Reauthentication => "reauthenticate",
        _ => kind.as_str(),
    }
}
