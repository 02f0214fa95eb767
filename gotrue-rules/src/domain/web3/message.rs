//! The grammar of messages. It is line by line; what a line may hold is as strict as the reference is, and where both
//! chains differ is said.

use chrono::{DateTime, Datelike};

use super::chain::Chain;
use super::{ethereum, solana};
use crate::domain::redirect::go_url::Url;
use crate::domain::user::Time;

/// A message that follows the grammar. Nothing is known yet of who signed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The whole text: what is signed.
    pub text: String,
    /// The chain.
    pub chain: Chain,
    /// The domain that asks.
    pub domain: String,
    /// The address that signs, as written.
    pub address: String,
    /// What the person was told.
    pub statement: Option<String>,
    /// `URI`: what asks.
    pub uri: Url,
    /// `Chain ID`; empty if it is not given.
    pub network: String,
    /// `Issued At`.
    pub issued_at: Time,
    /// `Expiration Time`.
    pub expires_at: Option<Time>,
    /// `Not Before`.
    pub not_before: Option<Time>,
}

/// What is wrong with a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Fewer lines than any message has.
    #[error("message needs at least 6 lines")]
    TooShort,
    /// The first line, with the chain's name.
    #[error("message first line does not end in \" wants you to sign in with your {0} account:\"")]
    Header(&'static str),
    /// The domain.
    #[error("domain in first line of message is not valid")]
    Domain,
    /// The address of an Ethereum wallet.
    #[error("wallet address is not a valid Ethereum address")]
    EthereumAddress,
    /// The address of a Solana wallet.
    #[error("wallet address is not in base58 format")]
    SolanaAddress,
    /// The third line.
    #[error("third line must be empty")]
    ThirdLine,
    /// A line that is no field, by its index.
    #[error("encountered unparsable line at index {0}")]
    Line(usize),
    /// A resource, by its index.
    #[error("Resource at position {0} has invalid URI")]
    Resource(usize),
    /// The `URI`.
    #[error("URI is not valid")]
    Uri,
    /// The `Chain ID`.
    #[error("Chain ID is not valid")]
    Network,
    /// The moment of that field.
    #[error("{0} is not a valid ISO8601 timestamp")]
    Moment(&'static str),
    /// The version, which was given like this, quoted.
    #[error("Version value is not supported, expected 1 got {0}")]
    Version(String),
    /// A field that must be there.
    #[error("{0} is not specified")]
    Missing(&'static str),
    /// A moment after the end.
    #[error("{0} is after Expiration Time")]
    AfterEnd(&'static str),
}

const ISSUED_AT: &str = "Issued At";
const EXPIRES_AT: &str = "Expiration Time";
const NOT_BEFORE: &str = "Not Before";

impl Message {
    /// Reads a message.
    pub fn parse(chain: Chain, text: &str) -> Result<Self, Malformed> {
        let lines: Vec<&str> = text.split('\n').collect();
        let [first, second, third, fourth, fifth, _, ..] = lines[..] else { return Err(Malformed::TooShort) };
        let suffix = format!(" wants you to sign in with your {} account:", chain.name());
        let domain = first.strip_suffix(&suffix).ok_or(Malformed::Header(chain.name()))?.trim();
        if !is_domain(domain) {
            return Err(Malformed::Domain);
        }
        let address = address(chain, second.trim())?;
        if !third.is_empty() {
            return Err(Malformed::ThirdLine);
        }
        let statement = Some(fourth).filter(|_| !fourth.is_empty() && fifth.is_empty());
        let fields = Fields::read(chain, &lines, if statement.is_some() { 5 } else { 3 })?;
        if fields.version != "1" {
            return Err(Malformed::Version(quoted(fields.version)));
        }
        let message = Self {
            text: text.to_owned(),
            chain,
            domain: domain.to_owned(),
            address: address.to_owned(),
            statement: statement.map(str::to_owned),
            issued_at: fields.issued_at.ok_or(Malformed::Missing(ISSUED_AT))?,
            uri: fields.uri.ok_or(Malformed::Missing("URI"))?,
            network: fields.network.to_owned(),
            expires_at: fields.expires_at,
            not_before: fields.not_before,
        };
        let is_late = |moment: Time| message.expires_at.is_some_and(|end| moment > end);
        if is_late(message.issued_at) {
            return Err(Malformed::AfterEnd(ISSUED_AT));
        }
        if message.not_before.is_some_and(is_late) {
            return Err(Malformed::AfterEnd(NOT_BEFORE));
        }
        Ok(message)
    }

    /// Whether its address signed it.
    pub fn is_signed_by_address(&self, signature: &[u8]) -> bool {
        match self.chain {
            Chain::Ethereum => ethereum::is_signed(&self.address, &self.text, signature),
            Chain::Solana => solana::is_signed(&self.address, &self.domain, &self.text, signature),
        }
    }
}

/// What the lines after the statement say; of a field given twice the last counts.
#[derive(Default)]
struct Fields<'a> {
    uri: Option<Url>,
    version: &'a str,
    network: &'a str,
    issued_at: Option<Time>,
    expires_at: Option<Time>,
    not_before: Option<Time>,
}

impl<'a> Fields<'a> {
    fn read(chain: Chain, lines: &[&'a str], start: usize) -> Result<Self, Malformed> {
        let mut fields = Self::default();
        let mut resources = None;
        let mut number = 0;
        for (index, line) in lines.iter().enumerate().skip(start) {
            let line = line.trim();
            match (resources, line.strip_prefix("- ")) {
                (Some(()), Some(resource)) => {
                    Url::parse_request(resource.trim()).map_err(|_| Malformed::Resource(number))?;
                    number += 1;
                    continue;
                }
                _ => resources = (line == "Resources:").then_some(()),
            }
            if resources.is_none() && !line.is_empty() {
                let (name, value) = line.split_once(':').ok_or(Malformed::Line(index))?;
                fields.take(chain, name, value.trim())?;
            }
        }
        Ok(fields)
    }

    /// Fields without meaning here are passed over: a nonce is nobody's, and what a request is called is its own affair.
    fn take(&mut self, chain: Chain, name: &str, value: &'a str) -> Result<(), Malformed> {
        match name {
            "URI" => self.uri = Some(Url::parse_request(value).map_err(|_| Malformed::Uri)?),
            "Version" => self.version = value,
            "Chain ID" if is_network(chain, value) => self.network = value,
            "Chain ID" => return Err(Malformed::Network),
            ISSUED_AT => self.issued_at = moment(ISSUED_AT, value)?.filter(|time| !is_zero(*time)),
            EXPIRES_AT => self.expires_at = moment(EXPIRES_AT, value)?,
            NOT_BEFORE => self.not_before = moment(NOT_BEFORE, value)?,
            _ => {}
        }
        Ok(())
    }
}

/// `localhost`, or labels of letters, digits and inner hyphens and a last one of letters; perhaps a port.
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

fn address(chain: Chain, text: &str) -> Result<&str, Malformed> {
    match chain {
        Chain::Ethereum => {
            let is_hex = |digits: &str| digits.len() == 40 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            text.strip_prefix("0x").filter(|digits| is_hex(digits)).map(|_| text).ok_or(Malformed::EthereumAddress)
        }
        // What has the letters and the length of an address but is no key breaks the reference down.
        Chain::Solana => solana::key(text).map(|_| text).ok_or(Malformed::SolanaAddress),
    }
}

fn is_network(chain: Chain, text: &str) -> bool {
    match chain {
        Chain::Ethereum => text.parse::<i64>().is_ok_and(|number| number > 0),
        Chain::Solana => {
            matches!(text, "" | "solana:mainnet" | "solana:devnet" | "solana:testnet" | "solana:localnet")
        }
    }
}

/// RFC 3339 to the letter: `T` and `Z` in capitals, no leap second.
fn moment(field: &'static str, text: &str) -> Result<Option<Time>, Malformed> {
    let is_exact = text.as_bytes().get(10) == Some(&b'T') && !text.contains('z') && text.get(17..19) != Some("60");
    let time = DateTime::parse_from_rfc3339(text).ok().filter(|_| is_exact);
    time.map(|time| Some(time.to_utc())).ok_or(Malformed::Moment(field))
}

/// The moment that stands for none.
fn is_zero(time: Time) -> bool {
    time.year() == 1 && time.timestamp() == -62_135_596_800
}

/// A text in quotation marks, on one line.
fn quoted(text: &str) -> String {
    format!("{text:?}")
}
