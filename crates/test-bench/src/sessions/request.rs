//! Parses the body of a request for a session.

use std::fmt;

use foundation::time::Time;
use gotrue_rules::domain::claims;
use gotrue_rules::domain::session::{Aal, AmrClaim};
use platform::nearest::format_suggestion;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::TestApiError;

/// The largest body, in bytes.
const MAX_BODY_BYTES: usize = 64 << 10;
/// The longest lifetime of an access token in seconds, or time since its expiry: ten years.
const MAX_EXPIRES_IN: i64 = 315_360_000;
/// The largest number of methods; there are not more of them.
const MAX_METHODS: usize = METHODS.len();
/// The methods of the claim `amr`.
const METHODS: [&str; 18] = [
    "password",
    "otp",
    "oauth",
    "totp",
    "mfa/phone",
    "mfa/webauthn",
    "mfa/recovery_code",
    "anonymous",
    "sso/saml",
    "passkey",
    "web3",
    "magiclink",
    "recovery",
    "invite",
    "email/signup",
    "email_change",
    "token_refresh",
    "oauth_provider/authorization_code",
];
const MEMBERS: [&str; 8] = ["id", "email", "phone", "aal", "amr", "expires_in", "origin", "format"];
const HINT: &str = "send an object such as {\"email\": \"ann@example.com\", \"aal\": \"aal2\", \"format\": \"ssr\"}";

/// The user of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SessionOwner {
    Id(Uuid),
    Email(String),
    Phone(String),
}

impl fmt::Display for SessionOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => write!(f, "the id {id}"),
            Self::Email(email) => write!(f, "the address {email}"),
            Self::Phone(phone) => write!(f, "the number {phone}"),
        }
    }
}

/// The authentication methods of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SessionMethods {
    /// The user's usual first factor.
    OneFactor,
    /// That and a second factor.
    TwoFactors,
    /// These.
    Named { first: String, more: Vec<String> },
}

/// The form of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionFormat {
    /// The session as JSON.
    Json,
    /// Cookies as `@supabase/ssr` stores them.
    Ssr,
    /// `storageState` of Playwright with local storage.
    Playwright,
}

/// A requested session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SessionRequest {
    pub(super) owner: SessionOwner,
    pub(super) methods: SessionMethods,
    pub(super) expires_in: Option<i64>,
    pub(super) origin: Option<String>,
    pub(super) format: SessionFormat,
}

impl SessionRequest {
    pub(super) fn parse(body: &[u8]) -> Result<Self, TestApiError> {
        let invalid = |problem: String| TestApiError::bad_request(problem, HINT);
        if body.len() > MAX_BODY_BYTES {
            return Err(invalid(format!("the body is larger than {MAX_BODY_BYTES} bytes")));
        }
        let parsed =
            serde_json::from_slice(body).map_err(|error| invalid(format!("the body is no JSON object: {error}")));
        let mut members: Map<String, Value> = parsed?;
        members.retain(|_, value| !value.is_null());
        Self::from_members(&members).map_err(invalid)
    }

    fn from_members(members: &Map<String, Value>) -> Result<Self, String> {
        if let Some(unknown) = members.keys().find(|name| !MEMBERS.contains(&name.as_str())) {
            let suggestion = format_suggestion(unknown, MEMBERS);
            return Err(format!("{unknown}: no such member{suggestion}; known are {}", MEMBERS.join(", ")));
        }
        let expires_in = match members.get("expires_in").map(Value::as_i64) {
            None => None,
            Some(Some(seconds)) if (-MAX_EXPIRES_IN..=MAX_EXPIRES_IN).contains(&seconds) => Some(seconds),
            Some(_) => return Err(format!("expires_in: whole seconds up to {MAX_EXPIRES_IN} are wanted")),
        };
        let format = match text(members, "format")? {
            None | Some("json") => SessionFormat::Json,
            Some("ssr") => SessionFormat::Ssr,
            Some("playwright") => SessionFormat::Playwright,
            Some(word) => {
                let suggestion = format_suggestion(word, ["json", "ssr", "playwright"]);
                return Err(format!("format: one of json, ssr, playwright is wanted{suggestion}"));
            }
        };
        Ok(Self {
            owner: parse_owner(members)?,
            methods: parse_methods(members)?,
            expires_in,
            origin: text(members, "origin")?.map(str::to_owned),
            format,
        })
    }
}

fn text<'a>(members: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, String> {
    match members.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("{name}: a text is wanted")),
    }
}

fn parse_owner(members: &Map<String, Value>) -> Result<SessionOwner, String> {
    match [text(members, "id")?, text(members, "email")?, text(members, "phone")?] {
        [Some(id), None, None] => id.parse().map(SessionOwner::Id).map_err(|_| "id: a UUID is wanted".to_owned()),
        [None, Some(email), None] => Ok(SessionOwner::Email(email.to_owned())),
        [None, None, Some(phone)] => Ok(SessionOwner::Phone(phone.to_owned())),
        _ => Err("exactly one of id, email and phone is wanted".to_owned()),
    }
}

/// Parses `aal` and `amr`, which must not contradict each other: the level follows from the methods.
fn parse_methods(members: &Map<String, Value>) -> Result<SessionMethods, String> {
    let level = match text(members, "aal")? {
        None => None,
        Some(word) => {
            let level = Aal::parse(word);
            let is_issued = level.as_str() == word && level != Aal::Aal3;
            Some(level).filter(|_| is_issued).ok_or("aal: aal1 or aal2 is wanted")?.into()
        }
    };
    let Some(listed) = members.get("amr") else {
        return Ok(match level {
            Some(Aal::Aal2) => SessionMethods::TwoFactors,
            _ => SessionMethods::OneFactor,
        });
    };
    let wanted = || format!("amr: a list of different methods is wanted, of {}", METHODS.join(", "));
    let listed = listed.as_array().filter(|listed| listed.len() <= MAX_METHODS).ok_or_else(wanted)?;
    let mut methods: Vec<AmrClaim> = Vec::new();
    for entry in listed {
        // An entry of the claim is an object.
        let method = entry.as_str().or_else(|| entry.get("method")?.as_str()).ok_or_else(wanted)?;
        if !METHODS.contains(&method) || methods.iter().any(|other| other.method == method) {
            let is_known = METHODS.contains(&method);
            let suggestion = if is_known { String::new() } else { format_suggestion(method, METHODS) };
            return Err(format!("amr: {method:?} is unknown or repeated{suggestion}; {}", wanted()));
        }
        methods.push(AmrClaim { method: method.to_owned(), updated_at: Time::UNIX_EPOCH });
    }
    let reached = claims::aal(&methods);
    if level.is_some_and(|level| level != reached) {
        return Err(format!(
            "aal: these methods make {}; aal2 needs totp, mfa/phone, mfa/webauthn or mfa/recovery_code",
            reached.as_str()
        ));
    }
    let mut names = methods.into_iter().map(|claim| claim.method);
    let first = names.next().ok_or_else(wanted)?;
    Ok(SessionMethods::Named { first, more: names.collect() })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn parse(body: &Value) -> Result<SessionRequest, String> {
        SessionRequest::parse(body.to_string().as_bytes()).map_err(|error| error.message)
    }

    #[test]
    fn members_are_optional_but_for_the_user() {
        let request = parse(&json!({"email": "ann@example.com", "aal": null})).unwrap();
        assert_eq!(request.owner, SessionOwner::Email("ann@example.com".to_owned()));
        assert_eq!((request.methods, request.format), (SessionMethods::OneFactor, SessionFormat::Json));
        let request = parse(&json!({"phone": "1", "aal": "aal2", "expires_in": -5, "format": "ssr"})).unwrap();
        assert_eq!((request.methods, request.expires_in), (SessionMethods::TwoFactors, Some(-5)));
        let request = parse(&json!({"id": Uuid::nil(), "amr": ["otp", {"method": "totp", "timestamp": 1}]})).unwrap();
        let named = SessionMethods::Named { first: "otp".to_owned(), more: vec!["totp".to_owned()] };
        assert_eq!(request.methods, named);
    }

    #[test]
    fn invalid_bodies_are_rejected_with_a_reason() {
        for (body, expected) in [
            (json!([]), "no JSON object"),
            (json!({}), "exactly one of"),
            (json!({"id": "7"}), "a UUID"),
            (json!({"id": Uuid::nil(), "email": "a@b.co"}), "exactly one of"),
            (json!({"email": "a", "expire_in": 7}), "expire_in: no such member"),
            (json!({"email": "a", "expires_in": 1.5}), "expires_in: whole seconds"),
            (json!({"email": "a", "aal": "aal3"}), "aal: aal1 or aal2"),
            (json!({"email": "a", "amr": ["hope"]}), "\"hope\" is unknown"),
            (json!({"email": "a", "amr": ["otp", "otp"]}), "\"otp\" is unknown or repeated"),
            (json!({"email": "a", "amr": []}), "a list of different methods"),
            (json!({"email": "a", "aal": "aal2", "amr": ["otp"]}), "these methods make aal1"),
            (json!({"email": "a", "aal": "aal1", "amr": ["totp"]}), "these methods make aal2"),
            (json!({"email": "a", "format": "playwrigt"}), "did you mean playwright?"),
            (json!({"email": "a", "amr": ["pasword"]}), "did you mean password?"),
            (json!({"email": "a", "fromat": "ssr"}), "did you mean format?"),
        ] {
            let problem = parse(&body).expect_err("invalid");
            assert!(problem.contains(expected), "{body}: {problem}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed_or_rejected(body in prop::collection::vec(any::<u8>(), 0..80)) {
            drop(SessionRequest::parse(&body));
        }

        #[test]
        fn named_methods_are_known_and_unique(amr in prop::collection::vec("totp|otp|password|x", 0..5)) {
            if let Ok(request) = parse(&json!({"email": "a@b.co", "amr": amr})) {
                let SessionMethods::Named { first, more } = request.methods else { panic!("named") };
                let names: Vec<String> = std::iter::once(first).chain(more).collect();
                prop_assert_eq!(&names, &amr);
                prop_assert!(names.iter().all(|name| METHODS.contains(&name.as_str())));
            }
        }
    }
}
