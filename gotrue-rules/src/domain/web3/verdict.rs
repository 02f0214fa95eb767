//! Whether a proven message was meant for this site and for now.

use super::chain::Chain;
use super::message::Message;
use crate::domain::error::{Error, Result};
use crate::domain::policy::Web3Policy;
use crate::domain::user::Time;

/// What a message is held against.
pub struct Surroundings<'a> {
    /// Now.
    pub now: Time,
    /// What the operator decided.
    pub policy: &'a Web3Policy,
    /// Whether browsers may be sent to an address.
    pub allows: &'a dyn Fn(&str) -> bool,
}

impl Message {
    /// Place, then time, in the recorded order: 400 `invalid_grant`.
    pub fn judge(&self, around: &Surroundings<'_>) -> Result<()> {
        match self.place(around).or_else(|| self.time(around)) {
            Some(words) => Err(Error::oauth("invalid_grant", words)),
            None => Ok(()),
        }
    }

    /// When it will be refused whatever it says of itself: what is kept about it is of no use any longer.
    pub fn is_over_at(&self, policy: &Web3Policy) -> Time {
        self.issued_at + self.chain.policy(policy).maximum_validity
    }

    fn place(&self, around: &Surroundings<'_>) -> Option<String> {
        let name = self.chain.name();
        let is_local = self.uri.hostname() == b"localhost";
        if self.uri.scheme() != "https" && !is_local {
            return Some(format!("Signed {name} message is using URI which does not use HTTPS"));
        }
        let for_another = "is using URI which is not allowed on this server, message was signed for another app";
        if !(around.allows)(&self.uri.text()) {
            return Some(format!("Signed {name} message {for_another}"));
        }
        let is_its_own = self.uri.host() == self.domain.as_bytes();
        // As recorded: with a URI of this machine any domain will do, also one whose owner had it signed.
        let fits = if is_local {
            is_its_own || !around.policy.domain_always_counts
        } else {
            is_its_own && (around.allows)(&self.site())
        };
        if !fits {
            let words = "is using a Domain that does not match the one in URI which is not allowed on this server";
            return Some(format!("Signed {name} message {words}"));
        }
        None
    }

    fn site(&self) -> String {
        format!("https://{}/", self.domain)
    }

    fn time(&self, around: &Surroundings<'_>) -> Option<String> {
        let (name, now) = (self.chain.name(), around.now);
        let most = self.chain.policy(around.policy).maximum_validity;
        if self.not_before.is_some_and(|start| now < start) {
            return Some(format!("Signed {name} message becomes valid in the future"));
        }
        // As recorded: the end of an Ethereum message only counts where its start is told as well.
        let is_bound = self.chain == Chain::Solana || self.not_before.is_some() || around.policy.end_always_counts;
        if is_bound && self.expires_at.is_some_and(|end| now > end) {
            return Some(format!("Signed {name} message is expired"));
        }
        let age = now.signed_duration_since(self.issued_at);
        let is_beyond = |span: chrono::TimeDelta| span.to_std().is_ok_and(|span| span > most);
        if is_beyond(age) {
            return Some(format!("{name} message was issued too long ago"));
        }
        is_beyond(-age).then(|| format!("{name} message was issued too far in the future"))
    }
}
