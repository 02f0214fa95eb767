//! Checks of e-mail recipients.
//!
//! The operator's list is checked before an e-mail is counted, deliverability before it is sent.

use foundation::error::{Error, ErrorCode, Result};
use futures::future::join_all;
use gotrue_rules::domain::user::User;
use gotrue_rules::wire::go_quote::go_quote;
use platform::journal::Step;

use crate::ports::mail::addresses::AddressVerdict;
use crate::request_context::RequestContext;

/// Refuses the first address that is not on the operator's list, if there is one.
///
/// Empty addresses are ignored.
pub fn require_authorized<'a>(cx: &RequestContext, addresses: impl IntoIterator<Item = &'a str>) -> Result<()> {
    let policy = &cx.app.policy.mail;
    match addresses.into_iter().find(|address| !address.is_empty() && !policy.is_recipient_allowed(address)) {
        None => Ok(()),
        Some(address) => {
            let message = format!("Email address {} cannot be used as it is not authorized", go_quote(address));
            Err(Error::new(ErrorCode::EmailAddressNotAuthorized, message))
        }
    }
}

/// Why an e-mail is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UndeliverableAddress {
    /// The address cannot receive e-mails.
    #[error("the address cannot receive e-mails")]
    Invalid,
    /// The operator blocks the mail server of the address.
    #[error("the mail server of the address is on the block list")]
    Blocked,
}

/// The error of an undeliverable address. As in GoTrue it names the user's current address.
pub fn invalid_address_error(user: &User) -> Error {
    let own = user.email.as_deref().unwrap_or_default();
    Error::new(ErrorCode::EmailAddressInvalid, format!("Email address {} is invalid", go_quote(own)))
}

/// Checks concurrently that all these addresses can receive e-mails.
pub async fn check_deliverable<'a>(
    cx: &RequestContext,
    addresses: impl IntoIterator<Item = &'a str>,
) -> Result<(), UndeliverableAddress> {
    if !cx.app.address_checks.is_enabled() {
        return Ok(());
    }
    let checks = addresses.into_iter().map(|address| {
        cx.journal.record(Step::Call("mail.address"));
        cx.app.address_checks.check(address)
    });
    let refused = join_all(checks).await.into_iter().find_map(|verdict| match verdict {
        AddressVerdict::Accepted => None,
        AddressVerdict::Invalid => Some(UndeliverableAddress::Invalid),
        AddressVerdict::Blocked => Some(UndeliverableAddress::Blocked),
    });
    refused.map_or(Ok(()), Err)
}
