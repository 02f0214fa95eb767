//! Validates origin and time of a message whose signature is verified.

use foundation::error::{Error, OAuthErrorCode, Result};
use foundation::time::Time;

use super::chain::Chain;
use super::message::SignInMessage;
use crate::domain::policy::Web3Policy;

/// What a message is validated against.
pub struct MessageContext<'a> {
    /// The current time.
    pub now: Time,
    /// The settings.
    pub policy: &'a Web3Policy,
    /// Whether a URL is an allowed redirect target.
    pub is_redirect_allowed: &'a dyn Fn(&str) -> bool,
}

impl SignInMessage {
    /// Validates origin, then time, in the reference's order: 400 `invalid_grant`.
    pub fn validate(&self, context: &MessageContext<'_>) -> Result<()> {
        match self.check_origin(context).or_else(|| self.check_time(context)) {
            Some(message) => Err(Error::oauth(OAuthErrorCode::InvalidGrant, message)),
            None => Ok(()),
        }
    }

    /// The end of the maximum validity, after which data stored about the message is not needed.
    pub fn validity_end(&self, policy: &Web3Policy) -> Time {
        self.issued_at + self.chain.policy(policy).maximum_validity
    }

    fn check_origin(&self, context: &MessageContext<'_>) -> Option<String> {
        let name = self.chain.display_name();
        let is_local = self.uri.hostname() == b"localhost";
        if self.uri.scheme() != "https" && !is_local {
            return Some(format!("Signed {name} message is using URI which does not use HTTPS"));
        }
        let for_another = "is using URI which is not allowed on this server, message was signed for another app";
        if !(context.is_redirect_allowed)(&self.uri.to_text()) {
            return Some(format!("Signed {name} message {for_another}"));
        }
        let is_its_own = self.uri.host() == self.domain.as_bytes();
        // As in the reference, any domain is accepted with a localhost URI, unless `domain_always_counts`.
        let fits = if is_local {
            is_its_own || !context.policy.is_domain_always_enforced
        } else {
            is_its_own && (context.is_redirect_allowed)(&self.domain_url())
        };
        if !fits {
            let reason = "is using a Domain that does not match the one in URI which is not allowed on this server";
            return Some(format!("Signed {name} message {reason}"));
        }
        None
    }

    fn domain_url(&self) -> String {
        format!("https://{}/", self.domain)
    }

    fn check_time(&self, context: &MessageContext<'_>) -> Option<String> {
        let (name, now) = (self.chain.display_name(), context.now);
        let max_validity = self.chain.policy(context.policy).maximum_validity;
        if self.not_before.is_some_and(|start| now < start) {
            return Some(format!("Signed {name} message becomes valid in the future"));
        }
        // As in the reference, `Expiration Time` of Ethereum only counts with `Not Before`, unless `end_always_counts`.
        let is_bound =
            self.chain == Chain::Solana || self.not_before.is_some() || context.policy.is_expiry_always_enforced;
        if is_bound && self.expires_at.is_some_and(|end| now > end) {
            return Some(format!("Signed {name} message is expired"));
        }
        let age = now.signed_duration_since(self.issued_at);
        let is_beyond = |span: chrono::TimeDelta| span.to_std().is_ok_and(|span| span > max_validity);
        if is_beyond(age) {
            return Some(format!("{name} message was issued too long ago"));
        }
        is_beyond(-age).then(|| format!("{name} message was issued too far in the future"))
    }
}
