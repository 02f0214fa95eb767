//! Sign-in with a wallet: a message that names site, address and time, signed by the address (`endpoints.md` §6.5).

mod chain;
mod ethereum;
mod message;
mod solana;
mod verdict;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};

use crate::domain::error::{Error, Result, Text};
use crate::domain::external::profile::{Claims, Profile};
use crate::domain::policy::Web3Policy;
use crate::wire::requests::Web3Grant;

pub use self::chain::Chain;
pub use self::message::{Malformed, Message};
pub use self::verdict::Surroundings;

/// The provider of identities that are wallets, and how their sessions began.
pub const PROVIDER: &str = "web3";

/// Neither chain may be used, whatever the body says.
pub fn check_enabled(policy: &Web3Policy) -> Result<()> {
    if policy.solana.enabled || policy.ethereum.enabled { Ok(()) } else { Err(disabled("Web3 provider is disabled")) }
}

/// The message of a request whose chain may be used and whose signature is its address's. What it says of place and
/// time is judged by [`Message::judge`].
pub fn proven(request: &Web3Grant, policy: &Web3Policy) -> Result<Message> {
    let unsupported = || Error::bad_request("web3_unsupported_chain", "Unsupported chain");
    let chain = Chain::from_word(&request.chain).ok_or_else(unsupported)?;
    if !chain.policy(policy).enabled {
        return Err(disabled(format!("{} Web3 provider is disabled", chain.name())));
    }
    match request.message.len() {
        ..64 => return Err(Error::invalid("message is too short")),
        20_481.. => return Err(Error::invalid("message must not exceed 20KB")),
        _ => {}
    }
    let signature = chain.signature(&request.signature)?;
    let message = Message::parse(chain, &request.message)
        .map_err(|malformed| Error::invalid(format!("{}: {malformed}", chain.grammar())))?;
    if message.is_signed_by_address(&signature) {
        return Ok(message);
    }
    Err(Error::oauth("invalid_grant", "Signature does not match address in message"))
}

/// Somebody has come with this message before: 400.
pub fn used(chain: Chain) -> Error {
    let words = format!("Signed {} message was used before, sign a new one", chain.name());
    Error::oauth("invalid_grant", words)
}

fn disabled(words: impl Into<Text>) -> Error {
    Error::unprocessable("web3_provider_disabled", words)
}

impl Message {
    /// What two messages have in common only if they are the same, however their signatures are written.
    pub fn fingerprint(&self) -> String {
        let chain = digest(&SHA256, self.chain.word().as_bytes());
        let message = digest(&SHA256, self.text.as_bytes());
        URL_SAFE_NO_PAD.encode(digest(&SHA256, &[chain.as_ref(), message.as_ref()].concat()))
    }

    /// Who signed it, as a provider would say it.
    pub fn profile(&self) -> Profile {
        let statement = match (self.chain, &self.statement) {
            (_, Some(statement)) => json!(statement),
            (Chain::Ethereum, None) => Value::Null,
            (Chain::Solana, None) => json!(""),
        };
        let custom = Map::from_iter([
            ("address".to_owned(), json!(self.address)),
            ("chain".to_owned(), json!(self.chain.word())),
            ("network".to_owned(), json!(self.network)),
            ("domain".to_owned(), json!(self.domain)),
            ("statement".to_owned(), statement),
        ]);
        let claims = Claims {
            subject: format!("{PROVIDER}:{}:{}", self.chain.word(), self.address),
            custom_claims: Some(custom),
            ..Claims::default()
        };
        Profile { emails: Vec::new(), claims }.settled()
    }
}

#[cfg(test)]
mod tests;
