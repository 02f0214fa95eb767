//! Tests of sign-in messages: valid ones, and ones with every part changed.

mod properties;

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::TimeDelta;
use foundation::time::Time;
use k256::ecdsa::SigningKey;
use sha3::{Digest, Keccak256};

use super::*;
use crate::domain::policy::Web3ChainPolicy;
use crate::domain::redirect::AllowList;

fn policy() -> Web3Policy {
    let on = || Web3ChainPolicy { enabled: true, ..Web3ChainPolicy::default() };
    Web3Policy { solana: on(), ethereum: on(), ..Web3Policy::default() }
}

fn now() -> Time {
    "2026-06-01T12:00:00Z".parse().unwrap()
}

fn at(seconds: i64) -> String {
    (now() + TimeDelta::seconds(seconds)).format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn key(chain: Chain) -> String {
    match chain {
        Chain::Ethereum => {
            let point = ethereum_key().verifying_key().to_sec1_point(false);
            let hash = Keccak256::digest(&point.as_bytes()[1..]);
            hash[12..].iter().fold("0x".to_owned(), |text, byte| format!("{text}{byte:02X}"))
        }
        Chain::Solana => bs58::encode(solana_key().public_key()).into_string(),
    }
}

fn ethereum_key() -> SigningKey {
    SigningKey::from_slice(&[7; 32]).unwrap()
}

fn solana_key() -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap()
}

fn sign(chain: Chain, text: &str) -> String {
    if chain == Chain::Solana {
        return STANDARD.encode(solana_key().sign(text.as_bytes()));
    }
    let start = format!("\x19Ethereum Signed Message:\n{}", text.len());
    let digest = Keccak256::new().chain_update(start).chain_update(text).finalize();
    let (signature, id) = ethereum_key().sign_prehash_recoverable(&digest);
    ethereum_signature_text(&signature.to_bytes(), 27 + id.to_byte())
}

fn ethereum_signature_text(r_and_s: &[u8], v: u8) -> String {
    r_and_s.iter().chain([&v]).fold("0x".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

/// Builds a message with changed fields; an empty value removes a field.
fn message(chain: Chain, domain: &str, fields: &[(&str, &str)]) -> String {
    let network = if chain == Chain::Ethereum { "1" } else { "solana:mainnet" };
    let uri = format!("https://{domain}/");
    let issued = at(0);
    let mut lines = vec![
        ("URI", uri.as_str()),
        ("Version", "1"),
        ("Chain ID", network),
        ("Nonce", "12345678"),
        ("Issued At", &issued),
    ];
    for field in fields {
        match lines.iter_mut().find(|line| line.0 == field.0) {
            Some(line) => line.1 = field.1,
            None => lines.push(*field),
        }
    }
    let fields = lines.iter().filter(|line| !line.1.is_empty()).map(|(name, value)| format!("\n{name}: {value}"));
    let head =
        format!("{domain} wants you to sign in with your {} account:\n{}\n\nHello\n", chain.display_name(), key(chain));
    head + &fields.collect::<String>()
}

fn request(chain: Chain, text: &str, signature: &str) -> Web3Grant {
    Web3Grant { chain: chain.as_str().into(), message: text.into(), signature: signature.into() }
}

/// The error message for a signed message; empty if it is accepted.
fn sign_in_error(chain: Chain, text: &str) -> String {
    error_text(
        verify_request(&request(chain, text, &sign(chain, text)), &policy())
            .and_then(|message| validate(&message, &policy())),
    )
}

fn validate(message: &SignInMessage, policy: &Web3Policy) -> Result<()> {
    let patterns = ["https://shop.example.com/**", "https://half.example.com/app", "http://localhost:3000/**"];
    let list = AllowList::compile("https://site.example.com", &patterns.map(str::to_owned)).unwrap();
    message.validate(&MessageContext { now: now(), policy, is_redirect_allowed: &|target| list.allows(target) })
}

fn error_text(outcome: Result<()>) -> String {
    outcome.map_or_else(|error| error.message().to_owned(), |()| String::new())
}

const BOTH: [Chain; 2] = [Chain::Ethereum, Chain::Solana];

#[test]
fn signed_message_yields_profile() {
    for chain in BOTH {
        let text = message(chain, "shop.example.com", &[]);
        assert_eq!(sign_in_error(chain, &text), "", "{text}");
        let message = verify_request(&request(chain, &text, &sign(chain, &text)), &policy()).unwrap();
        let claims = message.profile().claims;
        assert_eq!(claims.subject, format!("web3:{}:{}", chain.as_str(), key(chain)));
        assert_eq!(
            claims.custom_claims.map(Value::Object),
            Some(json!({"address": key(chain), "chain": chain.as_str(), "network": message.chain_id,
                        "domain": "shop.example.com", "statement": "Hello"}))
        );
        let bare = text.replace("Hello\n\n", "");
        let bare = verify_request(&request(chain, &bare, &sign(chain, &bare)), &policy()).unwrap();
        let statement = bare.profile().claims.custom_claims.unwrap()["statement"].clone();
        assert_eq!(statement, if chain == Chain::Ethereum { Value::Null } else { json!("") });
    }
}

#[test]
fn request_is_validated_in_order() {
    let text = message(Chain::Ethereum, "shop.example.com", &[]);
    let signature = sign(Chain::Ethereum, &text);
    let long = "x".repeat(20_481);
    let with = |chain: &str, message: &str, signature: &str| {
        let request = Web3Grant { chain: chain.into(), message: message.into(), signature: signature.into() };
        error_text(verify_request(&request, &policy()).map(|_| ()))
    };
    let hex = "signature must be 65 bytes long, encoded as a 130 character-long hexadecimal string";
    let base64 = "signature must be 64 bytes encoded as base64 with or without padding";
    let another = "Signature does not match address in message";
    for (case, got, expected) in [
        ("chain", with("Ethereum", "", ""), "Unsupported chain"),
        ("short", with("ethereum", &text[..63], ""), "message is too short"),
        ("long", with("ethereum", &long, ""), "message must not exceed 20KB"),
        ("hex", with("ethereum", &text, "0x12"), hex),
        ("131 digits", with("ethereum", &text, &format!("0x{}", "1".repeat(131))), hex),
        ("no digits", with("ethereum", &text, &format!("0x{}", "x".repeat(130))), another),
        ("without 0x", with("ethereum", &text, &signature[2..]), another),
        ("base64", with("solana", &text, "abcd"), base64),
        ("letters", with("solana", &text, &"!".repeat(88)), "signature does not contain valid base64 characters"),
        (
            "padding",
            with("solana", &text, &"=".repeat(88)),
            "siws: message first line does not end in \" wants you to sign in with your Solana account:\"",
        ),
    ] {
        assert_eq!(got, expected, "{case}");
    }
}

#[test]
fn disabled_chains_are_refused() {
    let mut policy = policy();
    policy.ethereum.enabled = false;
    require_enabled(&policy).unwrap();
    let outcome = verify_request(&request(Chain::Ethereum, "", ""), &policy);
    assert_eq!(error_text(outcome.map(|_| ())), "Ethereum Web3 provider is disabled");
    policy.solana.enabled = false;
    assert_eq!(error_text(require_enabled(&policy)), "Web3 provider is disabled");
}

#[test]
fn malformed_messages_are_rejected_with_reason() {
    let good = message(Chain::Ethereum, "shop.example.com", &[]);
    let with = |fields: &[(&str, &str)]| message(Chain::Ethereum, "shop.example.com", fields);
    let address = key(Chain::Ethereum);
    for (text, expected) in [
        (good.replace('\n', " "), "message needs at least 6 lines"),
        (
            good.replacen('\n', "\r\n", 1),
            "message first line does not end in \" wants you to sign in with your Ethereum account:\"",
        ),
        (good.replace("shop.example.com wants", "shop wants"), "domain in first line of message is not valid"),
        (
            good.replace("shop.example.com wants", "shop.example.c wants"),
            "domain in first line of message is not valid",
        ),
        (
            good.replace("shop.example.com wants", "-a.example.com wants"),
            "domain in first line of message is not valid",
        ),
        (good.replace("shop.example.com wants", "a.com:123456 wants"), "domain in first line of message is not valid"),
        (good.replace(&address, &address[1..]), "wallet address is not a valid Ethereum address"),
        (good.replace(&address, &format!("{address}\nx")), "third line must be empty"),
        (with(&[("URI", "shop")]), "URI is not valid"),
        (with(&[("URI", "")]), "URI is not specified"),
        (with(&[("Version", "2")]), "Version value is not supported, expected 1 got \"2\""),
        (with(&[("Version", "")]), "Version value is not supported, expected 1 got \"\""),
        (with(&[("Chain ID", "0")]), "Chain ID is not valid"),
        (good.clone() + "\nChain ID:", "Chain ID is not valid"),
        (with(&[("Issued At", "")]), "Issued At is not specified"),
        (with(&[("Issued At", "0001-01-01T00:00:00Z")]), "Issued At is not specified"),
        (with(&[("Issued At", "today")]), "Issued At is not a valid ISO8601 timestamp"),
        (with(&[("Issued At", "2026-06-01 12:00:00Z")]), "Issued At is not a valid ISO8601 timestamp"),
        (with(&[("Issued At", "2026-06-01T12:00:60Z")]), "Issued At is not a valid ISO8601 timestamp"),
        (with(&[("Not Before", "x")]), "Not Before is not a valid ISO8601 timestamp"),
        (with(&[("Expiration Time", "x")]), "Expiration Time is not a valid ISO8601 timestamp"),
        (with(&[("Expiration Time", &at(-60))]), "Issued At is after Expiration Time"),
        (with(&[("Not Before", &at(120)), ("Expiration Time", &at(60))]), "Not Before is after Expiration Time"),
        (good.clone() + "\nhello", "encountered unparsable line at index 10"),
        (good.clone() + "\nResources:\n- https://a.example\n- terms", "Resource at position 1 has invalid URI"),
        (good.clone() + "\nResources:\n- https://a.example\nx", "encountered unparsable line at index 12"),
    ] {
        assert_eq!(sign_in_error(Chain::Ethereum, &text), format!("siwe: {expected}"), "{text}");
    }
    let good = message(Chain::Solana, "shop.example.com", &[]);
    for (text, expected) in [
        (good.replace(&key(Chain::Solana), &"0".repeat(44)), "wallet address is not in base58 format"),
        (good.replace(&key(Chain::Solana), &"1".repeat(40)), "wallet address is not in base58 format"),
        (good.replace("solana:mainnet", "mainnet"), "Chain ID is not valid"),
    ] {
        assert_eq!(sign_in_error(Chain::Solana, &text), format!("siws: {expected}"), "{text}");
    }
}

#[test]
fn message_time_is_validated() {
    for chain in BOTH {
        let with = |fields: &[(&str, &str)]| sign_in_error(chain, &message(chain, "shop.example.com", fields));
        let name = chain.display_name();
        let over = [("Issued At", at(-120)), ("Expiration Time", at(-60))];
        let over = over.each_ref().map(|(name, value)| (*name, value.as_str()));
        let expired = format!("Signed {name} message is expired");
        assert_eq!(with(&[("Not Before", &at(60))]), format!("Signed {name} message becomes valid in the future"));
        assert_eq!(with(&over), if chain == Chain::Solana { expired.as_str() } else { "" });
        assert_eq!(with(&[over[0], over[1], ("Not Before", &at(-120))]), expired);
        assert_eq!(with(&[("Issued At", &at(-601))]), format!("{name} message was issued too long ago"));
        assert_eq!(with(&[("Issued At", &at(601))]), format!("{name} message was issued too far in the future"));
        for fine in [-600, 600] {
            assert_eq!(with(&[("Issued At", &at(fine))]), "");
        }
        let text = message(chain, "shop.example.com", &over);
        let strict = Web3Policy { is_expiry_always_enforced: true, ..policy() };
        assert_eq!(error_text(validate(&SignInMessage::parse(chain, &text).unwrap(), &strict)), expired);
    }
}

#[test]
fn message_origin_is_validated() {
    for chain in BOTH {
        let with = |domain: &str, uri: &str| sign_in_error(chain, &message(chain, domain, &[("URI", uri)]));
        let name = chain.display_name();
        let elsewhere = format!(
            "Signed {name} message is using URI which is not allowed on this server, message was signed for another app"
        );
        let differs = format!(
            "Signed {name} message is using a Domain that does not match the one in URI which is not allowed on this server"
        );
        let plain = format!("Signed {name} message is using URI which does not use HTTPS");
        for (domain, uri, expected) in [
            ("evil.example.com", "https://evil.example.com/", &elsewhere),
            ("shop.example.com", "http://shop.example.com/", &plain),
            ("shop.example.com", "//shop.example.com/", &plain),
            ("shop.example.com", "https:shop.example.com", &elsewhere),
            ("evil.example.com", "https://shop.example.com/", &differs),
            ("shop.example.com", "https://shop.example.com@evil.example.com/", &elsewhere),
            ("half.example.com", "https://half.example.com/app", &differs),
            ("localhost:3000", "http://localhost:3000/", &String::new()),
            ("evil.example.com", "http://localhost:3000/", &String::new()),
        ] {
            assert_eq!(with(domain, uri), *expected, "{domain} {uri}");
        }
        let strict = Web3Policy { is_domain_always_enforced: true, ..policy() };
        for (domain, expected) in [("localhost:3000", &String::new()), ("evil.example.com", &differs)] {
            let text = message(chain, domain, &[("URI", "http://localhost:3000/")]);
            assert_eq!(
                error_text(validate(&SignInMessage::parse(chain, &text).unwrap(), &strict)),
                *expected,
                "{domain}"
            );
        }
    }
}

#[test]
fn signature_encodings_are_accepted() {
    let text = message(Chain::Solana, "shop.example.com", &[]);
    let signature = sign(Chain::Solana, &text);
    let url = signature.replace('+', "-").replace('/', "_");
    for signature in [signature.trim_end_matches('='), &url] {
        verify_request(&request(Chain::Solana, &text, signature), &policy()).unwrap();
    }
    let text = message(Chain::Ethereum, "shop.example.com", &[]);
    let signature = sign(Chain::Ethereum, &text);
    let v = u8::from_str_radix(&signature[130..], 16).unwrap() - 27;
    verify_request(&request(Chain::Ethereum, &text, &format!("{}{v:02x}", &signature[..130])), &policy()).unwrap();
    verify_request(&request(Chain::Ethereum, &text, &format!("0x{}", signature[2..].to_uppercase())), &policy())
        .unwrap();
    let small = text.replace(&key(Chain::Ethereum), &key(Chain::Ethereum).to_lowercase());
    verify_request(&request(Chain::Ethereum, &small, &sign(Chain::Ethereum, &small)), &policy()).unwrap();
}

#[test]
fn high_s_signature_is_accepted() {
    let text = message(Chain::Ethereum, "shop.example.com", &[]);
    let start = format!("\x19Ethereum Signed Message:\n{}", text.len());
    let digest = Keccak256::new().chain_update(start).chain_update(&text).finalize();
    let (signature, id) = ethereum_key().sign_prehash_recoverable(&digest);
    let (r, s) = signature.split_scalars();
    let high = k256::ecdsa::Signature::from_scalars(r.to_bytes(), (-*s).to_bytes()).unwrap();
    let flipped = ethereum_signature_text(&high.to_bytes(), 27 + (id.to_byte() ^ 1));
    verify_request(&request(Chain::Ethereum, &text, &flipped), &policy()).unwrap();
}

#[test]
fn ledger_signature_is_bound_to_domain() {
    let text = message(Chain::Solana, "shop.example.com", &[]);
    let signed_for = |domain: &str| {
        let mut envelope = b"\xffsolana offchain\0".to_vec();
        envelope.extend(domain.bytes().chain(std::iter::repeat(0)).take(32));
        envelope.extend([0, 1]);
        envelope.extend(solana_key().public_key().as_ref());
        envelope.extend(u16::try_from(text.len()).unwrap().to_le_bytes());
        envelope.extend(text.bytes());
        verify_request(&request(Chain::Solana, &text, &STANDARD.encode(solana_key().sign(&envelope))), &policy())
    };
    signed_for("shop.example.com").unwrap();
    assert!(signed_for("wallet.example.com").is_err());
}
