//! Messages are built, signed, read and judged; then everything about them is changed.

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::TimeDelta;
use k256::ecdsa::SigningKey;
use proptest::prelude::*;
use sha3::{Digest, Keccak256};

use super::*;
use crate::domain::policy::Web3ChainPolicy;
use crate::domain::redirect::AllowList;
use crate::domain::user::Time;

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
    ethereum_text(&signature.to_bytes(), 27 + id.to_byte())
}

fn ethereum_text(r_and_s: &[u8], v: u8) -> String {
    r_and_s.iter().chain([&v]).fold("0x".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

/// Fields as they differ from the usual ones; an empty value takes a field away.
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
    let head = format!("{domain} wants you to sign in with your {} account:\n{}\n\nHello\n", chain.name(), key(chain));
    head + &fields.collect::<String>()
}

fn request(chain: Chain, text: &str, signature: &str) -> Web3Grant {
    Web3Grant { chain: chain.word().into(), message: text.into(), signature: signature.into() }
}

/// What a signed message is answered with: nothing if it is good.
fn answer(chain: Chain, text: &str) -> String {
    said(proven(&request(chain, text, &sign(chain, text)), &policy()).and_then(|message| judge(&message, &policy())))
}

fn judge(message: &Message, policy: &Web3Policy) -> Result<()> {
    let patterns = ["https://shop.example.com/**", "https://half.example.com/app", "http://localhost:3000/**"];
    let list = AllowList::compile("https://site.example.com", &patterns.map(str::to_owned)).unwrap();
    message.judge(&Surroundings { now: now(), policy, allows: &|target| list.allows(target) })
}

fn said(outcome: Result<()>) -> String {
    outcome.map_or_else(|error| error.message().to_owned(), |()| String::new())
}

const BOTH: [Chain; 2] = [Chain::Ethereum, Chain::Solana];

#[test]
fn a_message_of_its_address_is_good_and_tells_who_signed_it() {
    for chain in BOTH {
        let text = message(chain, "shop.example.com", &[]);
        assert_eq!(answer(chain, &text), "", "{text}");
        let message = proven(&request(chain, &text, &sign(chain, &text)), &policy()).unwrap();
        let claims = message.profile().claims;
        assert_eq!(claims.subject, format!("web3:{}:{}", chain.word(), key(chain)));
        assert_eq!(
            claims.custom_claims.map(Value::Object),
            Some(json!({"address": key(chain), "chain": chain.word(), "network": message.network,
                        "domain": "shop.example.com", "statement": "Hello"}))
        );
        let bare = text.replace("Hello\n\n", "");
        let bare = proven(&request(chain, &bare, &sign(chain, &bare)), &policy()).unwrap();
        let statement = bare.profile().claims.custom_claims.unwrap()["statement"].clone();
        assert_eq!(statement, if chain == Chain::Ethereum { Value::Null } else { json!("") });
    }
}

#[test]
fn what_must_be_given_is_asked_for_in_order() {
    let text = message(Chain::Ethereum, "shop.example.com", &[]);
    let signature = sign(Chain::Ethereum, &text);
    let long = "x".repeat(20_481);
    let with = |chain: &str, message: &str, signature: &str| {
        let request = Web3Grant { chain: chain.into(), message: message.into(), signature: signature.into() };
        said(proven(&request, &policy()).map(|_| ()))
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
fn what_is_off_is_off() {
    let mut policy = policy();
    policy.ethereum.enabled = false;
    check_enabled(&policy).unwrap();
    let outcome = proven(&request(Chain::Ethereum, "", ""), &policy);
    assert_eq!(said(outcome.map(|_| ())), "Ethereum Web3 provider is disabled");
    policy.solana.enabled = false;
    assert_eq!(said(check_enabled(&policy)), "Web3 provider is disabled");
}

#[test]
fn messages_that_do_not_follow_the_grammar_are_told_why() {
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
        assert_eq!(answer(Chain::Ethereum, &text), format!("siwe: {expected}"), "{text}");
    }
    let good = message(Chain::Solana, "shop.example.com", &[]);
    for (text, expected) in [
        (good.replace(&key(Chain::Solana), &"0".repeat(44)), "wallet address is not in base58 format"),
        (good.replace(&key(Chain::Solana), &"1".repeat(40)), "wallet address is not in base58 format"),
        (good.replace("solana:mainnet", "mainnet"), "Chain ID is not valid"),
    ] {
        assert_eq!(answer(Chain::Solana, &text), format!("siws: {expected}"), "{text}");
    }
}

#[test]
fn a_message_has_its_time() {
    for chain in BOTH {
        let with = |fields: &[(&str, &str)]| answer(chain, &message(chain, "shop.example.com", fields));
        let name = chain.name();
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
        let strict = Web3Policy { end_always_counts: true, ..policy() };
        assert_eq!(said(judge(&Message::parse(chain, &text).unwrap(), &strict)), expired);
    }
}

#[test]
fn a_message_has_its_place() {
    for chain in BOTH {
        let with = |domain: &str, uri: &str| answer(chain, &message(chain, domain, &[("URI", uri)]));
        let name = chain.name();
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
        let strict = Web3Policy { domain_always_counts: true, ..policy() };
        for (domain, expected) in [("localhost:3000", &String::new()), ("evil.example.com", &differs)] {
            let text = message(chain, domain, &[("URI", "http://localhost:3000/")]);
            assert_eq!(said(judge(&Message::parse(chain, &text).unwrap(), &strict)), *expected, "{domain}");
        }
    }
}

#[test]
fn signatures_may_be_written_in_several_ways() {
    let text = message(Chain::Solana, "shop.example.com", &[]);
    let signature = sign(Chain::Solana, &text);
    let url = signature.replace('+', "-").replace('/', "_");
    for signature in [signature.trim_end_matches('='), &url] {
        proven(&request(Chain::Solana, &text, signature), &policy()).unwrap();
    }
    let text = message(Chain::Ethereum, "shop.example.com", &[]);
    let signature = sign(Chain::Ethereum, &text);
    let v = u8::from_str_radix(&signature[130..], 16).unwrap() - 27;
    proven(&request(Chain::Ethereum, &text, &format!("{}{v:02x}", &signature[..130])), &policy()).unwrap();
    proven(&request(Chain::Ethereum, &text, &format!("0x{}", signature[2..].to_uppercase())), &policy()).unwrap();
    let small = text.replace(&key(Chain::Ethereum), &key(Chain::Ethereum).to_lowercase());
    proven(&request(Chain::Ethereum, &small, &sign(Chain::Ethereum, &small)), &policy()).unwrap();
}

#[test]
fn the_other_form_of_a_signature_is_the_same_key_s() {
    let text = message(Chain::Ethereum, "shop.example.com", &[]);
    let start = format!("\x19Ethereum Signed Message:\n{}", text.len());
    let digest = Keccak256::new().chain_update(start).chain_update(&text).finalize();
    let (signature, id) = ethereum_key().sign_prehash_recoverable(&digest);
    let (r, s) = signature.split_scalars();
    let high = k256::ecdsa::Signature::from_scalars(r.to_bytes(), (-*s).to_bytes()).unwrap();
    let flipped = ethereum_text(&high.to_bytes(), 27 + (id.to_byte() ^ 1));
    proven(&request(Chain::Ethereum, &text, &flipped), &policy()).unwrap();
}

#[test]
fn a_ledger_signs_its_envelope_for_the_domain() {
    let text = message(Chain::Solana, "shop.example.com", &[]);
    let signed_for = |domain: &str| {
        let mut envelope = b"\xffsolana offchain\0".to_vec();
        envelope.extend(domain.bytes().chain(std::iter::repeat(0)).take(32));
        envelope.extend([0, 1]);
        envelope.extend(solana_key().public_key().as_ref());
        envelope.extend(u16::try_from(text.len()).unwrap().to_le_bytes());
        envelope.extend(text.bytes());
        proven(&request(Chain::Solana, &text, &STANDARD.encode(solana_key().sign(&envelope))), &policy())
    };
    signed_for("shop.example.com").unwrap();
    assert!(signed_for("wallet.example.com").is_err());
}

fn any_message() -> impl Strategy<Value = (Chain, String)> {
    let domain = r"(localhost|([a-z0-9]{1,8}\.){1,3}[a-z]{2,6})(:[0-9]{1,5})?";
    let statement = proptest::option::of("[ -~]{1,60}");
    let resources = proptest::collection::vec("https://[a-z]{1,9}\\.example/[a-z]{0,9}", 0..3);
    (prop::sample::select(BOTH.to_vec()), domain, statement, -500i64..500, resources).prop_map(
        |(chain, domain, statement, issued, resources)| {
            let uri = "https://shop.example.com/";
            let mut text = message(chain, &domain, &[("URI", uri), ("Issued At", &at(issued))]);
            if let Some(statement) = statement {
                text = text.replace("\nHello\n", &format!("\n{statement}\n"));
            }
            if !resources.is_empty() {
                text += "\nResources:";
            }
            (chain, resources.iter().fold(text, |text, resource| format!("{text}\n- {resource}")))
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_is_read(domain in "([a-z0-9]{1,8}\\.){1,3}[a-z]{2,6}", issued in -500i64..500, statement in "[!-~][ -~]{0,60}") {
        for chain in BOTH {
            let text = message(chain, &domain, &[("Issued At", &at(issued))]).replace("Hello", &statement);
            let read = Message::parse(chain, &text).unwrap();
            prop_assert_eq!(read.statement.as_deref(), Some(statement.as_str()));
            prop_assert_eq!(read.uri.text(), format!("https://{domain}/"));
            prop_assert_eq!((read.domain, read.address), (domain.clone(), key(chain)));
            prop_assert_eq!(read.issued_at, now() + TimeDelta::seconds(issued));
            prop_assert_eq!(read.text, text);
        }
    }

    #[test]
    fn no_changed_byte_of_a_message_is_accepted((chain, text) in any_message(), place in any::<prop::sample::Index>(), bit in 0u8..7) {
        let signature = sign(chain, &text);
        prop_assert!(proven(&request(chain, &text, &signature), &policy()).is_ok(), "{}", text);
        let mut bytes = text.into_bytes();
        let at = place.index(bytes.len());
        bytes[at] ^= 1 << bit;
        let changed = String::from_utf8(bytes).unwrap();
        // Letters of an Ethereum address may be of either case, but they are signed like everything else.
        prop_assert!(proven(&request(chain, &changed, &signature), &policy()).is_err(), "{}", changed);
    }

    #[test]
    fn no_changed_byte_of_a_signature_is_accepted(chain in prop::sample::select(BOTH.to_vec()), place in 0usize..64, bit in 0u8..8) {
        let text = message(chain, "shop.example.com", &[]);
        let message = Message::parse(chain, &text).unwrap();
        let mut signature = chain.signature(&sign(chain, &text)).unwrap();
        prop_assert!(message.is_signed_by_address(&signature));
        signature[place] ^= 1 << bit;
        prop_assert!(!message.is_signed_by_address(&signature));
    }

    #[test]
    fn no_text_makes_it_panic(text in r"[ -~\n:]{0,200}", lines in proptest::collection::vec("\\PC{0,30}", 0..12), signature in proptest::collection::vec(any::<u8>(), 0..70)) {
        for chain in BOTH {
            let start = message(chain, "shop.example.com", &[]);
            for text in [text.clone(), lines.join("\n"), format!("{start}\n{text}"), format!("{start}\n{}", lines.join("\n"))] {
                if let Ok(message) = Message::parse(chain, &text) {
                    prop_assert!(!message.is_signed_by_address(&signature));
                    let _ = judge(&message, &policy());
                }
            }
        }
    }

    #[test]
    fn no_signature_makes_it_panic(text in "(0x)?[0-9a-fA-F]{128,132}|[A-Za-z0-9+/_=-]{84,90}|\\PC{0,140}") {
        for chain in BOTH {
            let _ = chain.signature(&text);
        }
    }
}
