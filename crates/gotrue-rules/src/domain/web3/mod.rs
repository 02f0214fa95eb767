//! Sign-in with a wallet: a message with domain, address and time, signed by the address.

mod chain;
mod ethereum;
mod message;
mod solana;
mod validation;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use foundation::error::{Error, ErrorCode, OAuthErrorCode, PublicText, Result};
use serde_json::{Map, Value, json};

use crate::domain::external::profile::{Claims, ProviderProfile};
use crate::domain::policy::Web3Policy;
use crate::wire::requests::Web3Grant;

pub use self::chain::Chain;
pub use self::message::{MessageError, SignInMessage};
pub use self::validation::MessageContext;

/// The provider of wallet identities, and the sign-in method of their sessions.
pub const WEB3_PROVIDER: &str = "web3";

/// Checks that at least one chain is enabled.
pub fn require_enabled(policy: &Web3Policy) -> Result<()> {
    if policy.solana.enabled || policy.ethereum.enabled {
        Ok(())
    } else {
        Err(provider_disabled("Web3 provider is disabled"))
    }
}

/// Parses the message of a request and verifies its signature. The chain must be enabled.
/// Origin and time are checked by [`SignInMessage::validate`].
pub fn verify_request(request: &Web3Grant, policy: &Web3Policy) -> Result<SignInMessage> {
    let unsupported = || Error::new(ErrorCode::Web3UnsupportedChain, "Unsupported chain");
    let chain = Chain::parse(&request.chain).ok_or_else(unsupported)?;
    if !chain.policy(policy).enabled {
        return Err(provider_disabled(format!("{} Web3 provider is disabled", chain.display_name())));
    }
    match request.message.len() {
        ..64 => return Err(Error::invalid("message is too short")),
        20_481.. => return Err(Error::invalid("message must not exceed 20KB")),
        _ => {}
    }
    let signature = chain.decode_signature(&request.signature)?;
    let message = SignInMessage::parse(chain, &request.message)
        .map_err(|malformed| Error::invalid(format!("{}: {malformed}", chain.message_format())))?;
    if message.is_signed_by_address(&signature) {
        return Ok(message);
    }
    Err(Error::oauth(OAuthErrorCode::InvalidGrant, "Signature does not match address in message"))
}

/// 400: the message has been used before.
pub fn message_already_used(chain: Chain) -> Error {
    let message = format!("Signed {} message was used before, sign a new one", chain.display_name());
    Error::oauth(OAuthErrorCode::InvalidGrant, message)
}

fn provider_disabled(message: impl Into<PublicText>) -> Error {
    Error::new(ErrorCode::Web3ProviderDisabled, message)
}

impl SignInMessage {
    /// A hash of chain and text that identifies the message, however its signature is encoded.
    pub fn fingerprint(&self) -> String {
        let chain = digest(&SHA256, self.chain.as_str().as_bytes());
        let message = digest(&SHA256, self.text.as_bytes());
        URL_SAFE_NO_PAD.encode(digest(&SHA256, &[chain.as_ref(), message.as_ref()].concat()))
    }

    /// The profile of the signer.
    pub fn profile(&self) -> ProviderProfile {
        let statement = match (self.chain, &self.statement) {
            (_, Some(statement)) => json!(statement),
            (Chain::Ethereum, None) => Value::Null,
            (Chain::Solana, None) => json!(""),
        };
        let custom = Map::from_iter([
            ("address".to_owned(), json!(self.address)),
            ("chain".to_owned(), json!(self.chain.as_str())),
            ("network".to_owned(), json!(self.chain_id)),
            ("domain".to_owned(), json!(self.domain)),
            ("statement".to_owned(), statement),
        ]);
        let claims = Claims {
            subject: format!("{WEB3_PROVIDER}:{}:{}", self.chain.as_str(), self.address),
            custom_claims: Some(custom),
            ..Claims::default()
        };
        ProviderProfile { emails: Vec::new(), claims }.with_primary_email()
    }
}

#[cfg(test)]
mod tests;
