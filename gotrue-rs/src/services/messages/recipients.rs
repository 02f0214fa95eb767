//! Whom mail may go to: the operator's list, before a mail is counted; and addresses that somebody reads, before it is
//! sent.

use futures::future::join_all;
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::user::Account;

use crate::cx::Cx;
use crate::journal::Step;
use crate::ports::mail::addresses::Verdict;

/// Refuses the first address that is not on the operator's list, where there is one. No address at all is none to
/// refuse.
pub fn require_authorized<'a>(cx: &Cx, addresses: impl IntoIterator<Item = &'a str>) -> Result<()> {
    let policy = &cx.app.policy.mail;
    match addresses.into_iter().find(|address| !address.is_empty() && !policy.may_write_to(address)) {
        None => Ok(()),
        Some(address) => {
            let message = format!("Email address {address:?} cannot be used as it is not authorized");
            Err(Error::bad_request("email_address_not_authorized", message))
        }
    }
}

/// Why a mail is not even tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// Nobody reads mail there.
    #[error("nobody reads mail at the address")]
    Invalid,
    /// The operator does not deliver there.
    #[error("the mail server of the address is on the list of those that are not delivered to")]
    Blocked,
}

/// Nobody reads mail at one of the addresses: what is told names the account's own, as recorded.
pub fn invalid(account: &Account) -> Error {
    let own = account.email.as_deref().unwrap_or_default();
    Error::bad_request("email_address_invalid", format!("Email address {own:?} is invalid"))
}

/// Asks whether somebody reads mail at all these addresses, side by side.
pub async fn check<'a>(cx: &Cx, addresses: impl IntoIterator<Item = &'a str>) -> Result<(), Unreadable> {
    if !cx.app.addresses.is_on() {
        return Ok(());
    }
    let checks = addresses.into_iter().map(|address| {
        cx.journal.note(Step::Call("mail.address"));
        cx.app.addresses.check(address)
    });
    let refused = join_all(checks).await.into_iter().find_map(|verdict| match verdict {
        Verdict::Good => None,
        Verdict::Invalid => Some(Unreadable::Invalid),
        Verdict::Blocked => Some(Unreadable::Blocked),
    });
    refused.map_or(Ok(()), Err)
}
