//! Whatever strangers write: no parser panics, what one writes it reads again, and what it lets pass is what it promises.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::DateTime;
use gotrue_rules::domain::admin_user::ban;
use gotrue_rules::domain::contact::{Channel, Email, Phone};
use gotrue_rules::domain::hook::{self, claims};
use gotrue_rules::domain::links::LinkType;
use gotrue_rules::domain::mail_address::{is_listed, judge};
use gotrue_rules::domain::mfa::key_uri::key_uri;
use gotrue_rules::domain::mfa::totp;
use gotrue_rules::domain::pkce::{Challenge, check_pair};
use gotrue_rules::domain::policy::SmsPolicy;
use gotrue_rules::domain::refresh::{Presented, SessionKey};
use gotrue_rules::domain::saml::acceptance::Expected;
use gotrue_rules::domain::saml::certificate::Certificate;
use gotrue_rules::domain::saml::response::{Check, accepted, claimed_issuer};
use gotrue_rules::domain::saml::signature::Signers;
use gotrue_rules::wire::page::{Cursor, CursorPage, Order, Page};
use gotrue_rules::wire::requests::AdminUser;
use proptest::prelude::*;
use uuid::Uuid;

/// Numbers, nearly numbers, and anything.
fn nearly_numbers() -> impl Strategy<Value = String> {
    prop_oneof!["[0-9]{0,22}", "[-+]?[0-9]{0,4}[.e x_]?[0-9]{0,3}", any::<String>()]
}

fn sha256(text: &str) -> Vec<u8> {
    aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, text.as_bytes()).as_ref().to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pages_stay_within_what_the_database_counts(
        number in nearly_numbers(),
        size in nearly_numbers(),
        total in any::<u64>(),
    ) {
        if let Ok(page) = Page::parse(&number, &size) {
            prop_assert!(page.offset() >= 0 && page.limit() > 0);
            let links = page.links(total, "/admin/users", &[(size.clone(), number.clone())]);
            prop_assert!(links.ends_with("rel=\"last\"") && links.is_ascii(), "{links}");
        }
    }

    #[test]
    fn cursors_come_back_and_no_other_text_is_passed_over(
        micros in -210_866_803_200_000_000..8_000_000_000_000_000_i64,
        before in i64::MIN..-210_866_803_200_000_000,
        id in any::<u128>(),
        text in any::<String>(),
        bytes in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let created_at = DateTime::from_timestamp_micros(micros).expect("a moment");
        let cursor = Cursor { created_at, id: Uuid::from_u128(id) };
        prop_assert_eq!(CursorPage::parse("7", &cursor.text()).map(|page| page.after).ok(), Some(Some(cursor)));
        let too_early = URL_SAFE_NO_PAD.encode(format!("{before}.{}", cursor.id));
        prop_assert!(CursorPage::parse("7", &too_early).is_err(), "PostgreSQL knows no {before}");
        for text in [text, URL_SAFE_NO_PAD.encode(bytes)] {
            let read = CursorPage::parse("", &text).map(|page| page.after);
            prop_assert!(text.is_empty() || !matches!(read, Ok(None)), "{}", text);
        }
    }

    #[test]
    fn pages_by_cursor_are_bounded(limit in nearly_numbers()) {
        if let Ok(page) = CursorPage::parse(&limit, "") {
            prop_assert!((1..=1000).contains(&page.limit));
        }
    }

    #[test]
    fn only_the_time_of_creation_is_sorted_by(
        sort in "(created_at|email|id)?[ ,;]{0,2}(asc|desc|ASC|x)?|\\PC{0,20}",
    ) {
        let field = sort.split(' ').next().unwrap_or_default();
        prop_assert!(Order::parse(std::iter::once(&*sort)).is_err() || field == "created_at", "{}", sort);
    }

    #[test]
    fn a_verifier_fits_its_own_challenge_alone(
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
    fn challenges_have_a_length_and_few_characters(
        challenge in "[A-Za-z0-9._~-]{0,140}|\\PC{0,140}",
        method in "|s256|\\PC{0,6}",
    ) {
        if check_pair(&challenge, &method).is_ok() {
            prop_assert_eq!(challenge.is_empty(), method.is_empty());
            prop_assert!(challenge.is_empty() || (43..=128).contains(&challenge.len()));
            prop_assert!(challenge.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._~-".contains(&byte)));
        }
        let is_known = ["s256", "plain"].iter().any(|known| known.eq_ignore_ascii_case(&method));
        prop_assert!(challenge.is_empty() || Challenge::new(&challenge, &method).is_ok() == is_known);
    }

    #[test]
    fn addresses_that_pass_can_be_stored_and_mailed(
        text in any::<String>(),
        nearly in "[a-zA-Z0-9.+_-]{1,12}[@ \"<>,;:\\\\]?@[a-zA-Z0-9.-]{1,20}(\\.com)?",
    ) {
        for address in [&text, &nearly] {
            let _ = judge(address);
            if let Ok(email) = Email::parse(address) {
                let email = email.as_str();
                prop_assert!(email.is_ascii() && email.len() <= 255 && email.contains('@'), "{email}");
                prop_assert!(!email.contains(|letter: char| letter.is_control() || " <>,".contains(letter)), "{email}");
                prop_assert!(!is_listed(email, &[]), "{email}");
            }
        }
    }

    #[test]
    fn numbers_that_pass_are_digits(text in any::<String>(), nearly in "\\+?[0-9 ()-]{0,20}") {
        for number in [&text, &nearly] {
            if let Ok(phone) = Phone::parse(number) {
                prop_assert!(phone.as_str().bytes().all(|digit| digit.is_ascii_digit()), "{number}");
                prop_assert!((2..=15).contains(&phone.as_str().len()), "{number}");
            }
        }
    }

    #[test]
    fn words_of_lists_are_taken_as_they_are_or_not_at_all(
        word in "signup|invite|recovery|magiclink|email_change_(new|current)|sms|whatsapp|\\PC{0,12}",
    ) {
        if let Ok(kind) = LinkType::parse(&word) {
            prop_assert_eq!(kind.as_str(), &*word);
        }
        if Channel::parse(&word, &SmsPolicy::default(), false).is_ok() {
            prop_assert!(matches!(&*word, "" | "sms" | "whatsapp"), "{}", word);
        }
    }

    #[test]
    fn refresh_tokens_have_one_of_two_forms(
        token in "[a-z0-9]{10,14}|[A-Za-z0-9_-]{13,80}|\\PC{0,40}",
        key in any::<String>(),
    ) {
        if let Ok(Presented::Row(row)) = Presented::parse(&token) {
            prop_assert!(row.len() == 12 && row.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()));
        }
        let _ = SessionKey::from_stored(&key);
    }

    #[test]
    fn bans_end_within_what_the_database_counts(
        text in "[-+]?[0-9]{1,20}(ns|us|ms|s|m|h)|none|\\PC{0,12}",
        now in 0..4_000_000_000_i64,
    ) {
        let request = AdminUser { ban_duration: text.clone(), ..AdminUser::default() };
        let now = DateTime::from_timestamp(now, 0).expect("a moment");
        if let Ok(Some(ban)) = ban(&request, now) {
            let days = ban.until().map_or(0, |until| (until - now).num_days().abs());
            prop_assert!(days < 300 * 365, "{}", text);
        }
    }

    #[test]
    fn no_answer_of_a_hook_makes_us_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        nearly in r#"\{"(error|decision|claims|http_code|message)":[\[\]{}:,"a-z0-9]{0,40}\}"#,
    ) {
        for output in [&bytes[..], nearly.as_bytes()] {
            let _ = hook::refusal(output).map(|error| error.to_string());
            let _ = hook::check_empty(output).is_ok();
            let _ = claims::read(Some(output)).map(|claims| claims.len());
        }
    }

    #[test]
    fn one_time_codes_are_of_their_secret_and_their_time(
        secret in "[A-Z2-7]{16,32}|\\PC{0,40}",
        at in 60..4_000_000_000_i64,
        guess in "[0-9]{6}|\\PC{0,8}",
    ) {
        let now = DateTime::from_timestamp(at, 0).expect("a moment");
        let guessed = totp::matching_step(&secret, &guess, now);
        prop_assert!(guessed.is_none_or(|step| (at / 30 - 1..=at / 30 + 1).contains(&step)), "{}", guess);
        match totp::code(&secret, now) {
            None => prop_assert_eq!(guessed, None),
            Some(code) => {
                prop_assert!(code.len() == 6 && code.bytes().all(|digit| digit.is_ascii_digit()));
                prop_assert!(totp::matching_step(&secret, &code, now).is_some());
            }
        }
    }

    #[test]
    fn no_name_breaks_out_of_the_address_of_a_key(
        issuer in any::<String>(),
        account in any::<String>(),
        secret in "[A-Z2-7]{32}",
    ) {
        if let Ok(uri) = key_uri(&issuer, &account, &secret) {
            prop_assert!(uri.starts_with("otpauth://totp/") && uri.is_ascii(), "{uri}");
            let read = url::Url::parse(&uri).expect("a URL");
            let secrets: Vec<_> = read.query_pairs().filter(|(name, _)| name == "secret").collect();
            prop_assert!(secrets.len() == 1 && secrets[0].1 == secret, "{uri}");
            prop_assert!(read.fragment().is_none(), "{uri}");
        }
    }
    #[test]
    fn no_response_makes_the_readers_of_assertions_panic(
        noise in any::<String>(),
        order in prop::collection::vec(0..XML.len(), 0..40),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let nearly: String = order.into_iter().map(|at| XML[at]).collect();
        let expected =
            Expected { issuer: "i", recipient: "r", audience: "a", request: None, strict: false, now: DateTime::UNIX_EPOCH };
        let signers = Signers { certificates: &[], sha1: true, now: DateTime::UNIX_EPOCH };
        for text in [&noise, &nearly, &format!("{RESPONSE}{nearly}</p:Response>"), &format!("{RESPONSE}{noise}")] {
            let _ = claimed_issuer(text).is_ok();
            prop_assert!(accepted(text, &Check { expected, signers, keys: &[] }).is_err(), "nobody signs: {text}");
        }
        let _ = Certificate::of_der(bytes);
    }
}

const RESPONSE: &str = "<p:Response xmlns:p='urn:oasis:names:tc:SAML:2.0:protocol' xmlns='urn:oasis:names:tc:SAML:2.0:assertion' \
                        xmlns:d='http://www.w3.org/2000/09/xmldsig#' ID='r' IssueInstant='1970-01-01T00:00:00Z'>";

/// What responses are made of, well placed or not.
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
