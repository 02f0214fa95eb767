//! Parses sign-in messages of both chains (EIP-4361 and Sign-In with Solana).
//! Parsing is line by line and as strict as the reference.

use chrono::Datelike;
use foundation::time::Time;

use super::chain::Chain;
use super::{ethereum, solana};
use crate::domain::redirect::go_url::Url;
use crate::wire::go_quote::go_quote;
use crate::wire::time::parse_time;

/// A well-formed message, whose signature is not verified yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInMessage {
    /// The whole text, which is signed.
    pub text: String,
    pub chain: Chain,
    /// The domain that requests the sign-in.
    pub domain: String,
    /// The signing address, as written.
    pub address: String,
    /// The statement shown to the user.
    pub statement: Option<String>,
    /// `URI`: the URI that requests the sign-in.
    pub uri: Url,
    /// `Chain ID`; empty if absent.
    pub chain_id: String,
    pub issued_at: Time,
    /// `Expiration Time`.
    pub expires_at: Option<Time>,
    pub not_before: Option<Time>,
}

/// Why a message is malformed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// There are too few lines.
    #[error("message needs at least 6 lines")]
    TooShort,
    /// The first line is malformed; contains the chain's name.
    #[error("message first line does not end in \" wants you to sign in with your {0} account:\"")]
    Header(&'static str),
    /// The domain is invalid.
    #[error("domain in first line of message is not valid")]
    Domain,
    /// The Ethereum address is invalid.
    #[error("wallet address is not a valid Ethereum address")]
    EthereumAddress,
    /// The Solana address is invalid.
    #[error("wallet address is not in base58 format")]
    SolanaAddress,
    /// The third line is not empty.
    #[error("third line must be empty")]
    ThirdLine,
    /// A line without a field, by its index.
    #[error("encountered unparsable line at index {0}")]
    Line(usize),
    /// A resource is not a URI, by its index.
    #[error("Resource at position {0} has invalid URI")]
    Resource(usize),
    /// `URI` is invalid.
    #[error("URI is not valid")]
    Uri,
    /// `Chain ID` is invalid.
    #[error("Chain ID is not valid")]
    ChainId,
    /// The timestamp of that field is invalid.
    #[error("{0} is not a valid ISO8601 timestamp")]
    Timestamp(&'static str),
    /// The version is not supported; contains it, quoted.
    #[error("Version value is not supported, expected 1 got {0}")]
    Version(String),
    /// A required field is missing.
    #[error("{0} is not specified")]
    Missing(&'static str),
    /// The timestamp of that field is after `Expiration Time`.
    #[error("{0} is after Expiration Time")]
    AfterExpiration(&'static str),
}

const ISSUED_AT: &str = "Issued At";
const EXPIRES_AT: &str = "Expiration Time";
const NOT_BEFORE: &str = "Not Before";

impl SignInMessage {
    /// Parses a message.
    pub fn parse(chain: Chain, text: &str) -> Result<Self, MessageError> {
        let lines: Vec<&str> = text.split('\n').collect();
        let [first, second, third, fourth, fifth, _, ..] = lines[..] else { return Err(MessageError::TooShort) };
        let suffix = format!(" wants you to sign in with your {} account:", chain.display_name());
        let domain = first.strip_suffix(&suffix).ok_or(MessageError::Header(chain.display_name()))?.trim();
        if !is_domain(domain) {
            return Err(MessageError::Domain);
        }
        let address = parse_address(chain, second.trim())?;
        if !third.is_empty() {
            return Err(MessageError::ThirdLine);
        }
        let statement = Some(fourth).filter(|_| !fourth.is_empty() && fifth.is_empty());
        let fields = Fields::parse(chain, &lines, if statement.is_some() { 5 } else { 3 })?;
        if fields.version != "1" {
            return Err(MessageError::Version(go_quote(fields.version)));
        }
        let message = Self {
            text: text.to_owned(),
            chain,
            domain: domain.to_owned(),
            address: address.to_owned(),
            statement: statement.map(str::to_owned),
            issued_at: fields.issued_at.ok_or(MessageError::Missing(ISSUED_AT))?,
            uri: fields.uri.ok_or(MessageError::Missing("URI"))?,
            chain_id: fields.chain_id.to_owned(),
            expires_at: fields.expires_at,
            not_before: fields.not_before,
        };
        let is_late = |moment: Time| message.expires_at.is_some_and(|end| moment > end);
        if is_late(message.issued_at) {
            return Err(MessageError::AfterExpiration(ISSUED_AT));
        }
        if message.not_before.is_some_and(is_late) {
            return Err(MessageError::AfterExpiration(NOT_BEFORE));
        }
        Ok(message)
    }

    /// Verifies the signature of the message's address.
    pub fn is_signed_by_address(&self, signature: &[u8]) -> bool {
        match self.chain {
            Chain::Ethereum => ethereum::is_signed(&self.address, &self.text, signature),
            Chain::Solana => solana::is_signed(&self.address, &self.domain, &self.text, signature),
        }
    }
}

/// The fields after the statement; of a repeated field the last one counts.
#[derive(Default)]
struct Fields<'a> {
    uri: Option<Url>,
    version: &'a str,
    chain_id: &'a str,
    issued_at: Option<Time>,
    expires_at: Option<Time>,
    not_before: Option<Time>,
}

impl<'a> Fields<'a> {
    fn parse(chain: Chain, lines: &[&'a str], start: usize) -> Result<Self, MessageError> {
        let mut fields = Self::default();
        let mut resources = None;
        let mut number = 0;
        for (index, line) in lines.iter().enumerate().skip(start) {
            let line = line.trim();
            match (resources, line.strip_prefix("- ")) {
                (Some(()), Some(resource)) => {
                    Url::parse_request(resource.trim()).map_err(|_| MessageError::Resource(number))?;
                    number += 1;
                    continue;
                }
                _ => resources = (line == "Resources:").then_some(()),
            }
            if resources.is_none() && !line.is_empty() {
                let (name, value) = line.split_once(':').ok_or(MessageError::Line(index))?;
                fields.set_field(chain, name, value.trim())?;
            }
        }
        Ok(fields)
    }

    /// Sets a field.
    /// Others are ignored: `Nonce` was not issued by this server, and `Request ID` has no meaning to it.
    fn set_field(&mut self, chain: Chain, name: &str, value: &'a str) -> Result<(), MessageError> {
        match name {
            "URI" => self.uri = Some(Url::parse_request(value).map_err(|_| MessageError::Uri)?),
            "Version" => self.version = value,
            "Chain ID" if is_chain_id(chain, value) => self.chain_id = value,
            "Chain ID" => return Err(MessageError::ChainId),
            ISSUED_AT => self.issued_at = parse_timestamp(ISSUED_AT, value)?.filter(|time| !is_go_zero_time(*time)),
            EXPIRES_AT => self.expires_at = parse_timestamp(EXPIRES_AT, value)?,
            NOT_BEFORE => self.not_before = parse_timestamp(NOT_BEFORE, value)?,
            _ => {}
        }
        Ok(())
    }
}

/// Whether this is `localhost` or a domain name with an alphabetic last label, with an optional port.
fn is_domain(text: &str) -> bool {
    let (host, port) = text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)));
    let is_port = |port: &str| (1..=5).contains(&port.len()) && port.bytes().all(|byte| byte.is_ascii_digit());
    let is_label = |label: &str| {
        let inside = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        (1..=63).contains(&label.len()) && label.bytes().all(inside) && !label.starts_with('-') && !label.ends_with('-')
    };
    let is_top = |label: &str| label.len() >= 2 && label.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_name = || host.rsplit_once('.').is_some_and(|(rest, top)| is_top(top) && rest.split('.').all(is_label));
    port.is_none_or(is_port) && (host == "localhost" || is_name())
}

fn parse_address(chain: Chain, text: &str) -> Result<&str, MessageError> {
    match chain {
        Chain::Ethereum => {
            let is_hex = |digits: &str| digits.len() == 40 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            text.strip_prefix("0x").filter(|digits| is_hex(digits)).map(|_| text).ok_or(MessageError::EthereumAddress)
        }
        // The reference fails internally for an address of the right form that is not a key.
        Chain::Solana => solana::decode_address(text).map(|_| text).ok_or(MessageError::SolanaAddress),
    }
}

fn is_chain_id(chain: Chain, text: &str) -> bool {
    match chain {
        Chain::Ethereum => text.parse::<i64>().is_ok_and(|number| number > 0),
        Chain::Solana => {
            matches!(text, "" | "solana:mainnet" | "solana:devnet" | "solana:testnet" | "solana:localnet")
        }
    }
}

fn parse_timestamp(field: &'static str, text: &str) -> Result<Option<Time>, MessageError> {
    parse_time(text).map(Some).ok_or(MessageError::Timestamp(field))
}

/// Whether this is Go's zero time, which counts as absent.
fn is_go_zero_time(time: Time) -> bool {
    time.year() == 1 && time.timestamp() == -62_135_596_800
}
