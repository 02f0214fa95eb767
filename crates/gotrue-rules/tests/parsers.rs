//! Property tests of parsers: no input panics, values round-trip, accepted values are valid.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::DateTime;
use foundation::email::Email;
use gotrue_rules::domain::admin_user::parse_ban;
use gotrue_rules::domain::contact::{Phone, SmsChannel};
use gotrue_rules::domain::hook::{self, claims};
use gotrue_rules::domain::links::LinkType;
use gotrue_rules::domain::mail_address::{classify_address, is_listed};
use gotrue_rules::domain::mfa::key_uri::format_key_uri;
use gotrue_rules::domain::mfa::totp;
use gotrue_rules::domain::pkce::{Challenge, validate_challenge_pair};
use gotrue_rules::domain::policy::SmsPolicy;
use gotrue_rules::domain::refresh::{PresentedRefreshToken, RefreshTokenKey};
use gotrue_rules::domain::saml::certificate::Certificate;
use gotrue_rules::domain::saml::response::{ResponseCheck, find_valid_assertion, unverified_issuer};
use gotrue_rules::domain::saml::signature::TrustedSigners;
use gotrue_rules::domain::saml::validation::SamlExpectations;
use gotrue_rules::wire::page::{Cursor, CursorPage, Page, SortOrder};
use gotrue_rules::wire::requests::AdminUserRequest;
use proptest::prelude::*;
use uuid::Uuid;

/// Numbers, nearly valid numbers, and any text.
fn numeric_texts() -> impl Strategy<Value = String> {
    prop_oneof!["[0-9]{0,22}", "[-+]?[0-9]{0,4}[.e x_]?[0-9]{0,3}", any::<String>()]
}

fn sha256(text: &str) -> Vec<u8> {
    aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, text.as_bytes()).as_ref().to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn page_offset_and_limit_are_valid(
        number in numeric_texts(),
        size in numeric_texts(),
        total in any::<u64>(),
    ) {
        if let Ok(page) = Page::parse(&number, &size) {
            prop_assert!(page.offset() >= 0 && page.limit() > 0);
            let links = page.link_header(total, "/admin/users", &[(size.clone(), number.clone())]);
            prop_assert!(links.ends_with("rel=\"last\"") && links.is_ascii(), "{links}");
        }
    }

    #[test]
    fn cursors_round_trip_and_other_texts_are_rejected(
        micros in -210_866_803_200_000_000..8_000_000_000_000_000_i64,
        before in i64::MIN..-210_866_803_200_000_000,
        id in any::<u128>(),
        text in any::<String>(),
        bytes in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let created_at = DateTime::from_timestamp_micros(micros).expect("a moment");
        let cursor = Cursor { created_at, id: Uuid::from_u128(id) };
        prop_assert_eq!(CursorPage::parse("7", &cursor.encode()).map(|page| page.after).ok(), Some(Some(cursor)));
        let too_early = URL_SAFE_NO_PAD.encode(format!("{before}.{}", cursor.id));
        prop_assert!(CursorPage::parse("7", &too_early).is_err(), "PostgreSQL knows no {before}");
        for text in [text, URL_SAFE_NO_PAD.encode(bytes)] {
            let read = CursorPage::parse("", &text).map(|page| page.after);
            prop_assert!(text.is_empty() || !matches!(read, Ok(None)), "{}", text);
        }
    }

    #[test]
    fn cursor_page_size_is_limited(limit in numeric_texts()) {
        if let Ok(page) = CursorPage::parse(&limit, "") {
            prop_assert!((1..=1000).contains(&page.limit));
        }
    }

    #[test]
    fn only_created_at_is_sortable(
        sort in "(created_at|email|id)?[ ,;]{0,2}(asc|desc|ASC|x)?|\\PC{0,20}",
    ) {
        let field = sort.split(' ').next().unwrap_or_default();
        prop_assert!(SortOrder::parse(std::iter::once(&*sort)).is_err() || field == "created_at", "{}", sort);
    }

    #[test]
    fn verifier_matches_only_its_own_challenge(
        verifier in any::<String>(),
        other in any::<String>(),
        method in "[sS]256|[pP]lai[nN]",
    ) {
        let is_plain = method.eq_ignore_ascii_case("plain");
        let text = if is_plain { verifier.clone() } else { URL_SAFE_NO_PAD.encode(sha256(&verifier)) };
        if let Some(challenge) = Challenge::new(&text, &method).expect("a known method") {
            prop_assert!(challenge.verify(&verifier).is_ok());
            prop_assert_eq!(challenge.verify(&other).is_ok(), other == verifier);
            prop_assert!(is_plain || challenge.verify(&text).is_err(), "the challenge is not its own verifier");
        }
    }

    #[test]
    fn accepted_challenges_have_valid_length_and_characters(
        challenge in "[A-Za-z0-9._~-]{0,140}|\\PC{0,140}",
        method in "|s256|\\PC{0,6}",
    ) {
        if validate_challenge_pair(&challenge, &method).is_ok() {
            prop_assert_eq!(challenge.is_empty(), method.is_empty());
            prop_assert!(challenge.is_empty() || (43..=128).contains(&challenge.len()));
            prop_assert!(challenge.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._~-".contains(&byte)));
        }
        let is_known = ["s256", "plain"].iter().any(|known| known.eq_ignore_ascii_case(&method));
        prop_assert!(challenge.is_empty() || Challenge::new(&challenge, &method).is_ok() == is_known);
    }

    #[test]
    fn accepted_emails_are_valid_addresses(
        text in any::<String>(),
        nearly in "[a-zA-Z0-9.+_-]{1,12}[@ \"<>,;:\\\\]?@[a-zA-Z0-9.-]{1,20}(\\.com)?",
    ) {
        for address in [&text, &nearly] {
            let _ = classify_address(address);
            if let Ok(email) = Email::parse(address) {
                let email = email.as_str();
                prop_assert!(email.is_ascii() && email.len() <= 255 && email.contains('@'), "{email}");
                prop_assert!(!email.contains(|character: char| character.is_control() || " <>,".contains(character)), "{email}");
                prop_assert!(!is_listed(email, &[]), "{email}");
            }
        }
    }

    #[test]
    fn accepted_phones_are_digits(text in any::<String>(), nearly in "\\+?[0-9 ()-]{0,20}") {
        for number in [&text, &nearly] {
            if let Ok(phone) = Phone::parse(number) {
                prop_assert!(phone.as_str().bytes().all(|digit| digit.is_ascii_digit()), "{number}");
                prop_assert!((2..=15).contains(&phone.as_str().len()), "{number}");
            }
        }
    }

    #[test]
    fn link_types_and_channels_parse_exactly(
        word in "signup|invite|recovery|magiclink|email_change_(new|current)|sms|whatsapp|\\PC{0,12}",
    ) {
        if let Ok(kind) = LinkType::parse(&word) {
            prop_assert_eq!(kind.as_str(), &*word);
        }
        if SmsChannel::parse(&word, &SmsPolicy::default(), false).is_ok() {
            prop_assert!(matches!(&*word, "" | "sms" | "whatsapp"), "{}", word);
        }
    }

    #[test]
    fn refresh_tokens_have_one_of_two_formats(
        token in "[a-z0-9]{10,14}|[A-Za-z0-9_-]{13,80}|\\PC{0,40}",
        key in any::<String>(),
    ) {
        if let Ok(PresentedRefreshToken::Stored(row)) = PresentedRefreshToken::parse(&token) {
            prop_assert!(row.len() == 12 && row.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()));
        }
        let _ = RefreshTokenKey::from_stored(&key);
    }

    #[test]
    fn ban_end_is_storable(
        text in "[-+]?[0-9]{1,20}(ns|us|ms|s|m|h)|none|\\PC{0,12}",
        now in 0..4_000_000_000_i64,
    ) {
        let request = AdminUserRequest { ban_duration: text.clone(), ..AdminUserRequest::default() };
        let now = DateTime::from_timestamp(now, 0).expect("a moment");
        if let Ok(Some(ban)) = parse_ban(&request, now) {
            let days = ban.banned_until().map_or(0, |until| (until - now).num_days().abs());
            prop_assert!(days < 300 * 365, "{}", text);
        }
    }

    #[test]
    fn any_hook_output_parses_without_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        nearly in r#"\{"(error|decision|claims|http_code|message)":[\[\]{}:,"a-z0-9]{0,40}\}"#,
    ) {
        for output in [&bytes[..], nearly.as_bytes()] {
            let _ = hook::parse_hook_error(output).map(|error| error.to_string());
            let _ = hook::validate_empty(output).is_ok();
            let _ = claims::parse_claims(Some(output)).map(|claims| claims.len());
        }
    }

    #[test]
    fn totp_codes_match_secret_and_time(
        secret in "[A-Z2-7]{16,32}|\\PC{0,40}",
        at in 60..4_000_000_000_i64,
        guess in "[0-9]{6}|\\PC{0,8}",
    ) {
        let now = DateTime::from_timestamp(at, 0).expect("a moment");
        let guessed = totp::find_matching_step(&secret, &guess, now);
        prop_assert!(guessed.is_none_or(|step| (at / 30 - 1..=at / 30 + 1).contains(&step)), "{}", guess);
        match totp::generate_code(&secret, now) {
            None => prop_assert_eq!(guessed, None),
            Some(code) => {
                prop_assert!(code.len() == 6 && code.bytes().all(|digit| digit.is_ascii_digit()));
                prop_assert!(totp::find_matching_step(&secret, &code, now).is_some());
            }
        }
    }

    #[test]
    fn key_uri_escapes_names(
        issuer in any::<String>(),
        account in any::<String>(),
        secret in "[A-Z2-7]{32}",
    ) {
        if let Ok(uri) = format_key_uri(&issuer, &account, &secret) {
            prop_assert!(uri.starts_with("otpauth://totp/") && uri.is_ascii(), "{uri}");
            let read = url::Url::parse(&uri).expect("a URL");
            let secrets: Vec<_> = read.query_pairs().filter(|(name, _)| name == "secret").collect();
            prop_assert!(secrets.len() == 1 && secrets[0].1 == secret, "{uri}");
            prop_assert!(read.fragment().is_none(), "{uri}");
        }
    }
    #[test]
    fn unsigned_saml_responses_are_rejected_without_panic(
        noise in any::<String>(),
        order in prop::collection::vec(0..XML.len(), 0..40),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let nearly: String = order.into_iter().map(|at| XML[at]).collect();
        let expected =
            SamlExpectations { issuer: "i", recipient: "r", audience: "a", request_id: None, strict: false, now: DateTime::UNIX_EPOCH };
        let signers = TrustedSigners { certificates: &[], allows_sha1: true, now: DateTime::UNIX_EPOCH };
        for text in [&noise, &nearly, &format!("{RESPONSE}{nearly}</p:Response>"), &format!("{RESPONSE}{noise}")] {
            let _ = unverified_issuer(text).is_ok();
            prop_assert!(find_valid_assertion(text, &ResponseCheck { expected, signers, keys: &[] }).is_err(), "no signature: {text}");
        }
        let _ = Certificate::from_der(bytes);
    }
}

const RESPONSE: &str = "<p:Response xmlns:p='urn:oasis:names:tc:SAML:2.0:protocol' xmlns='urn:oasis:names:tc:SAML:2.0:assertion' \
                        xmlns:d='http://www.w3.org/2000/09/xmldsig#' ID='r' IssueInstant='1970-01-01T00:00:00Z'>";

/// Fragments of SAML responses, in valid and invalid order.
const XML: [&str; 26] = [
    "<Assertion ID='r'>",
    "<Assertion ID='a' IssueInstant='1970-01-01T00:00:00Z'>",
    "</Assertion>",
    "<Issuer>i</Issuer>",
    "<Subject>",
    "</Subject>",
    "<NameID>",
    "</NameID>",
    "<SubjectConfirmation/>",
    "<Conditions/>",
    "<AttributeStatement>",
    "</AttributeStatement>",
    "<EncryptedAssertion/>",
    "<p:Status><p:StatusCode/></p:Status>",
    "<p:Status><p:StatusCode Value='urn:oasis:names:tc:SAML:2.0:status:Success'/></p:Status>",
    "<d:Signature>",
    "</d:Signature>",
    "<d:SignedInfo>",
    "</d:SignedInfo>",
    "<d:SignatureValue>AA==</d:SignatureValue>",
    "<d:CanonicalizationMethod Algorithm='http://www.w3.org/2001/10/xml-exc-c14n#'/>",
    "<!-- c -->",
    "<![CDATA[x]]>",
    "<?p i?>",
    "<!DOCTYPE x>",
    "&amp;",
];
