//! Encoding of results in redirect URLs: a session or an error in the fragment, a code in the query.

use std::fmt::Write as _;

use foundation::error::{Error, ErrorCode, ErrorKind, OAuthErrorCode};

use crate::domain::redirect::go_url::{Url, UrlError, form_encode};

/// The session members in the fragment of an implicit flow.
#[derive(Debug, Clone, Copy)]
pub struct ImplicitFlowTokens<'a> {
    pub access_token: &'a str,
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

/// Adds a session to the fragment, with the `type` of a verification, if any.
pub fn with_session(target: &str, tokens: &ImplicitFlowTokens<'_>, kind: Option<&str>) -> String {
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
    encode_location(&format!("{target}#{}", form_encode(&members)))
}

/// Adds a code to the query.
pub fn with_code(target: &str, code: &str) -> Result<String, UrlError> {
    let mut url = Url::parse(target)?;
    let query = merge_query(&url, &[member("code", code)]);
    url.set_query(query);
    Ok(encode_location(&url.to_text()))
}

/// Sets query members, replacing those of the same name; returns a URL, not a header value.
pub fn with_query(target: &str, members: &[(&str, &str)]) -> Result<String, UrlError> {
    let mut url = Url::parse(target)?;
    let members: Vec<Member> = members.iter().map(|(name, value)| member(name, value)).collect();
    let query = merge_query(&url, &members);
    url.set_query(query);
    Ok(url.to_text())
}

/// Adds an error to the fragment, with `pkce` also to the query.
/// An error that is not an HTTP error (weak password, OAuth) leaves the target unchanged; with `pkce` it gets an empty
/// code.
pub fn with_error(target: &str, error: &Error, pkce: bool) -> Result<String, UrlError> {
    let code = match &error.kind {
        ErrorKind::Http { code, .. } => code.map_or("", ErrorCode::as_str),
        // GoTrue redirects as after a success here, which hides the failure.
        ErrorKind::Postgres(_) | ErrorKind::Other => error.code().as_str(),
        ErrorKind::InternalServerError => "",
        ErrorKind::OAuth { .. } | ErrorKind::WeakPassword { .. } if pkce => return with_code(target, ""),
        ErrorKind::OAuth { .. } | ErrorKind::WeakPassword { .. } => return Ok(encode_location(target)),
    };
    // A database error has the code of its wrapping error here, whatever status it sets.
    let status = if matches!(error.kind, ErrorKind::Postgres(_)) { 500 } else { error.status() };
    let oauth_error = oauth_error_code(status).map(|code| member("error", code.as_str()));
    let members: Vec<Member> = oauth_error
        .into_iter()
        .chain([member("error_code", code), member("error_description", error.message())])
        .collect();
    let mut url = Url::parse(target)?;
    if pkce {
        let query = merge_query(&url, &members);
        url.set_query(query);
    }
    Ok(with_marked_fragment(url, members))
}

/// Adds the error of a callback with an unknown flow state to the query of the site URL.
pub fn site_with_callback_error(site: &str, error: &Error) -> Result<String, UrlError> {
    let mut url = Url::parse(site)?;
    let query = merge_query(&url, &callback_error_members(error));
    url.set_query(query);
    Ok(encode_location(&url.to_text()))
}

/// Adds the error of a callback to the query, and its non-empty members to the fragment.
pub fn with_callback_error(target: &str, error: &Error) -> Result<String, UrlError> {
    let members = callback_error_members(error);
    let mut url = Url::parse(target)?;
    let query = merge_query(&url, &members);
    url.set_query(query);
    Ok(with_marked_fragment(url, members.into_iter().filter(|(_, value)| !value.is_empty()).collect()))
}

/// Codes that become `access_denied`, independent of their status.
const ACCESS_DENIED_CODES: [ErrorCode; 3] =
    [ErrorCode::SignupDisabled, ErrorCode::UserBanned, ErrorCode::ProviderEmailNeedsVerification];

/// Returns the error members; an OAuth error is unchanged, others get the OAuth code of their status.
fn callback_error_members(error: &Error) -> Vec<Member> {
    let word = |status| oauth_error_code(status).unwrap_or(OAuthErrorCode::ServerError).as_str();
    match &error.kind {
        ErrorKind::OAuth { error, description } => {
            vec![member("error", error), member("error_description", description)]
        }
        ErrorKind::Http { status, code, message } => {
            let is_denied = code.is_some_and(|code| ACCESS_DENIED_CODES.contains(&code));
            let word = if is_denied { OAuthErrorCode::AccessDenied.as_str() } else { word(*status) };
            let code = code.map_or("", ErrorCode::as_str);
            vec![member("error", word), member("error_code", code), member("error_description", message)]
        }
        ErrorKind::Postgres(raised) => {
            vec![member("error", word(raised.status)), member("error_description", &raised.message)]
        }
        ErrorKind::WeakPassword { .. } | ErrorKind::InternalServerError | ErrorKind::Other => {
            vec![member("error", OAuthErrorCode::ServerError.as_str()), member("error_description", error.message())]
        }
    }
}

/// Adds a message to the fragment, with `pkce` also to the query.
pub fn with_message(target: &str, message: &str, pkce: bool) -> Result<String, UrlError> {
    let mut url = Url::parse(target)?;
    let members = vec![member("message", message)];
    let query = merge_query(&url, if pkce { &members } else { &[] });
    url.set_query(query);
    Ok(with_marked_fragment(url, members))
}

/// Escapes a URL for a header value: all but visible ASCII.
pub fn encode_location(url: &str) -> String {
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

/// Returns the OAuth error code of a status, if there is one.
fn oauth_error_code(status: u16) -> Option<OAuthErrorCode> {
    match status {
        400 => Some(OAuthErrorCode::InvalidRequest),
        401 => Some(OAuthErrorCode::UnauthorizedClient),
        403 => Some(OAuthErrorCode::AccessDenied),
        500 => Some(OAuthErrorCode::ServerError),
        503 => Some(OAuthErrorCode::TemporarilyUnavailable),
        _ => None,
    }
}

/// Returns the query of the URL with these members, replacing those of the same name.
fn merge_query(url: &Url, members: &[Member]) -> String {
    let mut query = url.query();
    query.retain(|(name, _)| members.iter().all(|(other, _)| other != name));
    query.extend_from_slice(members);
    form_encode(&query)
}

/// Sets the fragment, double-encoded as in GoTrue, with the `sb` marker.
fn with_marked_fragment(mut url: Url, mut members: Vec<Member>) -> String {
    members.push(member("sb", ""));
    url.set_fragment(&form_encode(&members));
    encode_location(&url.to_text())
}

#[cfg(test)]
mod tests {
    use foundation::error::DatabaseError;

    use super::*;

    const TARGET: &str = "http://shop.example.com/a?b=c#d";

    fn expired() -> Error {
        Error::new(ErrorCode::OtpExpired, "Email link is invalid or has expired")
    }

    #[test]
    fn session_is_added_to_fragment() {
        let mut tokens = ImplicitFlowTokens {
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
    fn code_is_added_to_query() {
        assert_eq!(with_code("http://x", "c1").unwrap(), "http://x?code=c1");
        assert_eq!(with_code(TARGET, "c1").unwrap(), "http://shop.example.com/a?b=c&code=c1#d");
        assert_eq!(with_code("http://x/?code=old&z=1&a=2&a=1", "c 1").unwrap(), "http://x/?a=2&a=1&code=c+1&z=1");
        assert_eq!(with_code("myapp://login", "c").unwrap(), "myapp://login?code=c");
    }

    #[test]
    fn error_is_in_fragment_and_with_pkce_in_query() {
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
    fn fragment_is_double_encoded() {
        let error = Error::http(422, ErrorCode::FlowStateNotFound, "422: none");
        assert_eq!(
            with_error("http://x", &error, false).unwrap(),
            "http://x#error_code=flow_state_not_found&error_description=422%253A+none&sb="
        );
    }

    #[test]
    fn only_some_statuses_have_oauth_error_code() {
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
            let url = with_error("http://x", &Error::http(status, ErrorCode::Conflict, "m"), false).unwrap();
            assert_eq!(url.contains(&format!("#error={word}&")), !word.is_empty(), "{url}");
        }
    }

    #[test]
    fn non_http_errors_leave_target_unchanged() {
        let weak = Error::from_kind(ErrorKind::WeakPassword { message: "no".to_owned(), reasons: Vec::new() });
        assert_eq!(with_error(TARGET, &weak, false).unwrap(), TARGET);
        assert_eq!(with_error(TARGET, &weak, true).unwrap(), "http://shop.example.com/a?b=c&code=#d");
    }

    #[test]
    fn internal_failure_is_reported() {
        for pkce in [false, true] {
            let url = with_error(TARGET, &Error::other("boom"), pkce).unwrap();
            assert!(url.contains("error=server_error&error_code=unexpected_failure"), "{url}");
            assert!(!url.contains("boom"), "{url}");
        }
    }

    #[test]
    fn message_is_in_fragment_and_with_pkce_in_query() {
        assert_eq!(with_message("http://x/?q=1", "Done. Go", false).unwrap(), "http://x/?q=1#message=Done.+Go&sb=");
        assert_eq!(with_message("http://x/?q=1", "Done", true).unwrap(), "http://x/?message=Done&q=1#message=Done&sb=");
    }

    #[test]
    fn callback_error_is_in_query_and_fragment() {
        let hook = Error::from_kind(ErrorKind::Http { status: 403, code: None, message: "Not you".into() });
        for (error, query, fragment) in [
            (
                Error::new(ErrorCode::BadOAuthCallback, "no: code"),
                "error=invalid_request&error_code=bad_oauth_callback&error_description=no%3A+code",
                "error=invalid_request&error_code=bad_oauth_callback&error_description=no%253A+code&sb=",
            ),
            (
                Error::new(ErrorCode::OAuthClientStateExpired, "old"),
                "error=server_error&error_code=oauth_client_state_expired&error_description=old",
                "error=server_error&error_code=oauth_client_state_expired&error_description=old&sb=",
            ),
            (
                Error::new(ErrorCode::SignupDisabled, "no"),
                "error=access_denied&error_code=signup_disabled&error_description=no",
                "error=access_denied&error_code=signup_disabled&error_description=no&sb=",
            ),
            (
                hook,
                "error=access_denied&error_code=&error_description=Not+you",
                "error=access_denied&error_description=Not+you&sb=",
            ),
            (
                Error::oauth_from_provider("login_required", ""),
                "error=login_required&error_description=",
                "error=login_required&sb=",
            ),
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
    fn database_error_is_reported_with_its_message() {
        let database_error = DatabaseError {
            status: 403,
            sqlstate: "PT403".into(),
            message: "too many".into(),
            hint: None,
            detail: None,
            wrapped: "Database error saving new user".into(),
        };
        let url =
            site_with_callback_error("http://x", &Error::from_kind(ErrorKind::Postgres(Box::new(database_error))))
                .unwrap();
        assert_eq!(url, "http://x?error=access_denied&error_description=too+many");
    }

    #[test]
    fn location_is_visible_ascii() {
        assert_eq!(encode_location("http://x/é#\r\n\t\u{7f}y"), "http://x/%c3%a9#%0d%0a%09%7fy");
    }
}
