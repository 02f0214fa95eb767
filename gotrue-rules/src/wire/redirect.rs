//! How an outcome is written into the URL a browser is sent to (`endpoints.md` §7.6): a session or an error in the
//! fragment, a code in the query.

use std::fmt::Write as _;

use crate::domain::error::{Error, Kind};
use crate::domain::redirect::go_url::{Malformed, Url, form_encode};

/// The parts of a new session that an implicit flow carries in the fragment.
#[derive(Debug, Clone, Copy)]
pub struct Tokens<'a> {
    /// `access_token`.
    pub access_token: &'a str,
    /// `refresh_token`.
    pub refresh_token: &'a str,
    /// `expires_in`, seconds.
    pub expires_in: i64,
    /// `expires_at`, seconds since the epoch.
    pub expires_at: i64,
    /// `provider_token`, after an external sign-in.
    pub provider_token: Option<&'a str>,
    /// `provider_refresh_token`, after an external sign-in.
    pub provider_refresh_token: Option<&'a str>,
}

/// The target with a session in its fragment, and the `type` of what was verified, if anything was.
pub fn with_session(target: &str, tokens: &Tokens<'_>, kind: Option<&str>) -> String {
    let mut members = vec![
        member("access_token", tokens.access_token),
        member("token_type", "bearer"),
        member("expires_in", &tokens.expires_in.to_string()),
        member("expires_at", &tokens.expires_at.to_string()),
        member("refresh_token", tokens.refresh_token),
        member("sb", ""),
    ];
    let more = [
        ("type", kind),
        ("provider_token", tokens.provider_token),
        ("provider_refresh_token", tokens.provider_refresh_token),
    ];
    members.extend(more.into_iter().filter_map(|(name, value)| Some(member(name, value?))));
    location(&format!("{target}#{}", form_encode(&members)))
}

/// The target with a code in its query, beside what is there.
pub fn with_code(target: &str, code: &str) -> Result<String, Malformed> {
    let mut url = Url::parse(target)?;
    let query = merged(&url, &[member("code", code)]);
    url.set_query(query);
    Ok(location(&url.text()))
}

/// The target with these members in its query, in place of any of the same name. As text, not yet as a header's value.
pub fn with_members(target: &str, members: &[(&str, &str)]) -> Result<String, Malformed> {
    let mut url = Url::parse(target)?;
    let members: Vec<Member> = members.iter().map(|(name, value)| member(name, value)).collect();
    let query = merged(&url, &members);
    url.set_query(query);
    Ok(url.text())
}

/// The target with an error in its fragment, with `pkce` also in its query. An error without an HTTP form of its own
/// (weak password, OAuth, anything unexpected) leaves the target as it is, with `pkce` with an empty code.
pub fn with_error(target: &str, error: &Error, pkce: bool) -> Result<String, Malformed> {
    let code = match &error.kind {
        Kind::Http { code, .. } => code.unwrap_or_default(),
        // After an unexpected failure the reference sends the browser on as after a success: nobody would learn of it.
        Kind::Postgres(_) | Kind::Other => error.code(),
        Kind::Broken => "",
        Kind::OAuth { .. } | Kind::WeakPassword { .. } if pkce => return with_code(target, ""),
        Kind::OAuth { .. } | Kind::WeakPassword { .. } => return Ok(location(target)),
    };
    // What the database raised counts here as the failure that it is wrapped in, whatever status it asks for.
    let status = if matches!(error.kind, Kind::Postgres(_)) { 500 } else { error.status() };
    let word = oauth_word(status).map(|word| member("error", word));
    let members: Vec<Member> =
        word.into_iter().chain([member("error_code", code), member("error_description", error.message())]).collect();
    let mut url = Url::parse(target)?;
    if pkce {
        let query = merged(&url, &members);
        url.set_query(query);
    }
    Ok(marked(url, members))
}

/// The site with the error of a callback whose flow is not known: in the query.
pub fn site_with_callback_error(site: &str, error: &Error) -> Result<String, Malformed> {
    let mut url = Url::parse(site)?;
    let query = merged(&url, &callback_members(error));
    url.set_query(query);
    Ok(location(&url.text()))
}

/// The target with the error of a callback: in the query, and what is not empty of it in the fragment too.
pub fn with_callback_error(target: &str, error: &Error) -> Result<String, Malformed> {
    let members = callback_members(error);
    let mut url = Url::parse(target)?;
    let query = merged(&url, &members);
    url.set_query(query);
    Ok(marked(url, members.into_iter().filter(|(_, value)| !value.is_empty()).collect()))
}

/// Codes that stand for a refusal of the person, whatever their status.
const DENIED: [&str; 3] = ["signup_disabled", "user_banned", "provider_email_needs_verification"];

/// An OAuth error is passed on as it is; any other gets the word of its status.
fn callback_members(error: &Error) -> Vec<Member> {
    let word = |status| oauth_word(status).unwrap_or("server_error");
    match &error.kind {
        Kind::OAuth { error, description } => vec![member("error", error), member("error_description", description)],
        Kind::Http { status, code, message } => {
            let code = code.unwrap_or_default();
            let word = if DENIED.contains(&code) { "access_denied" } else { word(*status) };
            vec![member("error", word), member("error_code", code), member("error_description", message)]
        }
        Kind::Postgres(said) => {
            vec![member("error", word(said.status)), member("error_description", &said.message)]
        }
        Kind::WeakPassword { .. } | Kind::Broken | Kind::Other => {
            vec![member("error", "server_error"), member("error_description", error.message())]
        }
    }
}

/// The target with a message in its fragment, with `pkce` also in its query.
pub fn with_message(target: &str, message: &str, pkce: bool) -> Result<String, Malformed> {
    let mut url = Url::parse(target)?;
    let members = vec![member("message", message)];
    let query = merged(&url, if pkce { &members } else { &[] });
    url.set_query(query);
    Ok(marked(url, members))
}

/// A URL as the value of a header: what is not visible ASCII is escaped.
pub fn location(url: &str) -> String {
    let mut text = String::with_capacity(url.len());
    for byte in url.bytes() {
        if byte.is_ascii_graphic() || byte == b' ' {
            text.push(char::from(byte));
        } else {
            let _written = write!(text, "%{byte:02x}");
        }
    }
    text
}

type Member = (Vec<u8>, Vec<u8>);

fn member(name: &str, value: &str) -> Member {
    (name.into(), value.into())
}

/// The OAuth word for a status; only these have one.
fn oauth_word(status: u16) -> Option<&'static str> {
    match status {
        400 => Some("invalid_request"),
        401 => Some("unauthorized_client"),
        403 => Some("access_denied"),
        500 => Some("server_error"),
        503 => Some("temporarily_unavailable"),
        _ => None,
    }
}

/// The query of the URL with these members in place of any of the same name.
fn merged(url: &Url, members: &[Member]) -> String {
    let mut query = url.query();
    query.retain(|(name, _)| members.iter().all(|(other, _)| other != name));
    query.extend_from_slice(members);
    form_encode(&query)
}

/// The URL with these members as its fragment, encoded twice as the reference does, and the mark of an answer of ours.
fn marked(mut url: Url, mut members: Vec<Member>) -> String {
    members.push(member("sb", ""));
    url.set_fragment(&form_encode(&members));
    location(&url.text())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::error::DatabaseError;

    const TARGET: &str = "http://shop.example.com/a?b=c#d";

    fn expired() -> Error {
        Error::forbidden("otp_expired", "Email link is invalid or has expired")
    }

    #[test]
    fn a_session_is_appended_as_a_fragment() {
        let mut tokens = Tokens {
            access_token: "a.b-c_d",
            refresh_token: "r/1",
            expires_in: 3600,
            expires_at: 7200,
            provider_token: None,
            provider_refresh_token: None,
        };
        assert_eq!(
            with_session("http://shop.example.com", &tokens, Some("signup")),
            "http://shop.example.com#access_token=a.b-c_d&expires_at=7200&expires_in=3600&refresh_token=r%2F1&sb=\
             &token_type=bearer&type=signup"
        );
        tokens.provider_token = Some("p q");
        assert_eq!(
            with_session(TARGET, &tokens, None),
            "http://shop.example.com/a?b=c#d#access_token=a.b-c_d&expires_at=7200&expires_in=3600&provider_token=p+q\
             &refresh_token=r%2F1&sb=&token_type=bearer"
        );
    }

    #[test]
    fn a_code_joins_the_query() {
        assert_eq!(with_code("http://x", "c1").unwrap(), "http://x?code=c1");
        assert_eq!(with_code(TARGET, "c1").unwrap(), "http://shop.example.com/a?b=c&code=c1#d");
        assert_eq!(with_code("http://x/?code=old&z=1&a=2&a=1", "c 1").unwrap(), "http://x/?a=2&a=1&code=c+1&z=1");
        assert_eq!(with_code("myapp://login", "c").unwrap(), "myapp://login?code=c");
    }

    #[test]
    fn an_error_stands_in_the_fragment_and_with_pkce_in_the_query_too() {
        let fragment = "error=access_denied&error_code=otp_expired&error_description=Email+link+is+invalid+or+has+\
                        expired&sb=";
        assert_eq!(with_error(TARGET, &expired(), false).unwrap(), format!("http://shop.example.com/a?b=c#{fragment}"));
        assert_eq!(
            with_error(TARGET, &expired(), true).unwrap(),
            format!(
                "http://shop.example.com/a?b=c&error=access_denied&error_code=otp_expired&error_description=Email+link\
                 +is+invalid+or+has+expired#{fragment}"
            )
        );
    }

    #[test]
    fn a_fragment_is_encoded_twice() {
        let error = Error::unprocessable("flow_state_not_found", "422: none");
        assert_eq!(
            with_error("http://x", &error, false).unwrap(),
            "http://x#error_code=flow_state_not_found&error_description=422%253A+none&sb="
        );
    }

    #[test]
    fn only_some_statuses_have_an_oauth_word() {
        for (status, word) in [
            (400, "invalid_request"),
            (401, "unauthorized_client"),
            (403, "access_denied"),
            (404, ""),
            (422, ""),
            (429, ""),
            (500, "server_error"),
            (503, "temporarily_unavailable"),
        ] {
            let url = with_error("http://x", &Error::http(status, "c", "m"), false).unwrap();
            assert_eq!(url.contains(&format!("#error={word}&")), !word.is_empty(), "{url}");
        }
    }

    #[test]
    fn errors_without_a_form_of_their_own_leave_the_target() {
        let weak = Error::new(Kind::WeakPassword { message: "no".to_owned(), reasons: Vec::new() });
        assert_eq!(with_error(TARGET, &weak, false).unwrap(), TARGET);
        assert_eq!(with_error(TARGET, &weak, true).unwrap(), "http://shop.example.com/a?b=c&code=#d");
    }

    #[test]
    fn an_internal_failure_is_told_as_one() {
        for pkce in [false, true] {
            let url = with_error(TARGET, &Error::other("boom"), pkce).unwrap();
            assert!(url.contains("error=server_error&error_code=unexpected_failure"), "{url}");
            assert!(!url.contains("boom"), "{url}");
        }
    }

    #[test]
    fn a_message_stands_in_the_fragment_and_with_pkce_in_the_query_too() {
        assert_eq!(with_message("http://x/?q=1", "Done. Go", false).unwrap(), "http://x/?q=1#message=Done.+Go&sb=");
        assert_eq!(with_message("http://x/?q=1", "Done", true).unwrap(), "http://x/?message=Done&q=1#message=Done&sb=");
    }

    #[test]
    fn an_error_of_a_callback_stands_in_the_query_and_the_fragment() {
        let hook = Error::new(Kind::Http { status: 403, code: None, message: "Not you".into() });
        for (error, query, fragment) in [
            (
                Error::bad_request("bad_oauth_callback", "no: code"),
                "error=invalid_request&error_code=bad_oauth_callback&error_description=no%3A+code",
                "error=invalid_request&error_code=bad_oauth_callback&error_description=no%253A+code&sb=",
            ),
            (
                Error::unprocessable("oauth_client_state_expired", "old"),
                "error=server_error&error_code=oauth_client_state_expired&error_description=old",
                "error=server_error&error_code=oauth_client_state_expired&error_description=old&sb=",
            ),
            (
                Error::unprocessable("signup_disabled", "no"),
                "error=access_denied&error_code=signup_disabled&error_description=no",
                "error=access_denied&error_code=signup_disabled&error_description=no&sb=",
            ),
            (
                hook,
                "error=access_denied&error_code=&error_description=Not+you",
                "error=access_denied&error_description=Not+you&sb=",
            ),
            (Error::oauth("login_required", ""), "error=login_required&error_description=", "error=login_required&sb="),
            (
                Error::other("secret"),
                "error=server_error&error_description=Unexpected+failure%2C+please+check+server+logs+for+more+\
                 information",
                "error=server_error&error_description=Unexpected+failure%252C+please+check+server+logs+for+more+\
                 information&sb=",
            ),
        ] {
            let url = with_callback_error("http://x/?error=old#d", &error).unwrap();
            assert_eq!(url, format!("http://x/?{query}#{fragment}"));
            assert_eq!(site_with_callback_error("http://x", &error).unwrap(), format!("http://x?{query}"));
        }
    }

    #[test]
    fn an_error_of_the_database_is_told_in_its_own_words() {
        let said = DatabaseError {
            status: 403,
            sqlstate: "PT403".into(),
            message: "too many".into(),
            hint: None,
            detail: None,
            wrapped: "Database error saving new user".into(),
        };
        let url = site_with_callback_error("http://x", &Error::new(Kind::Postgres(Box::new(said)))).unwrap();
        assert_eq!(url, "http://x?error=access_denied&error_description=too+many");
    }

    #[test]
    fn a_header_holds_visible_ascii_only() {
        assert_eq!(location("http://x/é#\r\n\t\u{7f}y"), "http://x/%c3%a9#%0d%0a%09%7fy");
    }
}
