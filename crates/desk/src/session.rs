//! The session of a signed-in owner: its cookie, its token against forged requests, and what ends it.

use chrono::TimeDelta;
use foundation::time::Time;
use gotrue_rules::domain::session::Session;
use gotrue_rules::domain::session_rules::{SessionContext, SessionValidity};
use gotrue_rules::domain::user::User;
use http::header::{COOKIE, SET_COOKIE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::auth_session::AuthSession;
use crate::cookies::{DEVICE, SECURE_DEVICE, find_cookies, list_pairs, name_of};
use crate::http::error::DeskError;
use crate::ownership::is_admitted;
use crate::settings::{DeskSettings, PasskeyOffer};
use crate::store::sessions::{self, DeskSessionRow, NewDeskSession};
use crate::token::{Token, derive_csrf_token, hash_presented, is_equal};
use crate::visit::Visit;

/// The cookie; by HTTPS with the prefix of cookies that no other host, not even a subdomain, can set (RFC 6265bis §4.1.3.2).
/// Such a cookie has the path `/`: [`remove_cookies`] keeps it from the other services.
pub(crate) const COOKIE_NAME: &str = "basalt_desk";
const SECURE_COOKIE_NAME: &str = "__Host-basalt_desk";
/// The header of the token against forged requests.
pub(crate) const CSRF_HEADER: HeaderName = HeaderName::from_static("x-desk-csrf");
/// A session ends after this time without a request.
const IDLE_LIMIT: TimeDelta = TimeDelta::hours(12);
/// A session ends after this time.
const LIFETIME: TimeDelta = TimeDelta::days(7);

/// How the owner signed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignInMethod {
    /// Password and code: the session of the auth API is at `aal2`.
    Code,
    /// A passkey that verified the user.
    Passkey,
}

impl SignInMethod {
    fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Passkey => "passkey",
        }
    }
}

/// The session of a signed-in owner.
#[derive(Debug)]
pub(crate) struct DeskSession {
    pub id: Uuid,
    /// The owner.
    pub user: User,
    /// The session of the auth API.
    session_id: Uuid,
    expires_at: Time,
    csrf_token: String,
}

impl DeskSession {
    /// Finds the valid session of a request's cookie.
    ///
    /// One statement reads everything that can have ended it: the session of the auth API, a ban, a withdrawn role.
    pub(crate) async fn find(visit: &Visit, headers: &HeaderMap, is_https: bool) -> Result<Option<Self>, DeskError> {
        for token in find_tokens(headers, is_https) {
            let found = Self::find_by_token(visit, token).await?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Finds the valid session of a token; that of a user who may not use the desk any more ends.
    pub(crate) async fn find_by_token(visit: &Visit, token: &str) -> Result<Option<Self>, DeskError> {
        let Some(hash) = hash_presented(token) else { return Ok(None) };
        let found = sessions::find(&mut visit.db(), &hash, visit.now, visit.now - IDLE_LIMIT).await?;
        let Some(row) = found else { return Ok(None) };
        if !is_admitted(&row.found.user, visit.now) {
            sessions::end(&mut visit.db(), row.id).await?;
            return Ok(None);
        }
        Ok(Self::from_row(row, token, visit))
    }

    #[cfg(test)]
    pub(crate) fn of_user(user: User) -> Self {
        let (id, session_id, csrf_token) = Default::default();
        Self { id, user, session_id, expires_at: Time::default(), csrf_token }
    }

    fn from_row(row: DeskSessionRow, token: &str, visit: &Visit) -> Option<Self> {
        let DeskSessionRow { id, method, expires_at, found } = row;
        let session = found.session?;
        let is_valid = is_in_force(&found.user, &session, visit)
            && (method == SignInMethod::Passkey.as_str() || session.is_elevated());
        let csrf_token = derive_csrf_token(token);
        is_valid.then_some(Self { id, user: found.user, session_id: session.id, expires_at, csrf_token })
    }

    /// Returns the session of the auth API.
    pub(crate) fn auth_session(&self) -> AuthSession {
        AuthSession { user_id: self.user.id, session_id: self.session_id }
    }

    /// Requires the token of this session in the header.
    ///
    /// # Errors
    /// 403 `desk_csrf`.
    pub(crate) fn require_csrf_token(&self, headers: &HeaderMap) -> Result<(), DeskError> {
        let presented = headers.get(&CSRF_HEADER).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if is_equal(presented, &self.csrf_token) {
            return Ok(());
        }
        Err(DeskError::new(StatusCode::FORBIDDEN, "desk_csrf", "The header X-Desk-CSRF is missing or wrong.")
            .hint("Send csrf_token of GET /_desk/api/session in this header."))
    }

    /// Returns the session as `GET /session` shows it.
    pub(crate) fn to_json(&self, settings: &DeskSettings, visit: &Visit) -> Value {
        let offer = PasskeyOffer::of(settings, visit);
        let factors: Vec<Value> = (self.user.factors.iter().filter(|factor| factor.is_verified()))
            .map(|factor| json!({ "id": factor.id, "type": factor.factor_type, "name": factor.friendly_name }))
            .collect();
        json!({
            "user": { "id": self.user.id, "email": self.user.email },
            "csrf_token": self.csrf_token,
            "expires_at": self.expires_at,
            "shop_name": settings.shop_name,
            "factors": factors,
            "passkeys": offer.is_enabled,
            "passkey_origins": offer.origins,
            "passkey_url": offer.url,
        })
    }
}

/// Whether the session of the auth API has not ended by its own rules.
fn is_in_force(user: &User, session: &Session, visit: &Visit) -> bool {
    let policy = &visit.app.policy.sessions;
    let context = SessionContext { session, user, policy, token_time: None, now: visit.now };
    context.decide_validity() == SessionValidity::Valid
}

/// What a sign-in has proved.
#[derive(Debug)]
pub(crate) struct ProvedOwner<'a> {
    /// The session of the auth API, and the owner.
    pub session: AuthSession,
    /// How.
    pub method: SignInMethod,
    /// The digest of the ticket, which the session replaces.
    pub ticket_hash: &'a [u8],
}

/// Starts a session and returns its token; `None` if a concurrent request has used the ticket.
pub(crate) async fn start(visit: &Visit, proved: ProvedOwner<'_>) -> Result<Option<String>, DeskError> {
    let entropy = visit.app.entropy.fork();
    let token = Token::generate(&entropy);
    let new = NewDeskSession {
        id: entropy.uuid(),
        token_hash: &token.hash,
        ticket_hash: proved.ticket_hash,
        user_id: proved.session.user_id,
        session_id: proved.session.session_id,
        method: proved.method.as_str(),
        now: visit.now,
        expires_at: visit.now + LIFETIME,
    };
    let mut db = visit.begin().await?;
    if !sessions::insert(&mut db, new).await? {
        return Ok(None);
    }
    visit.record_within(&mut db, proved.session.user_id, "sign_in", Some(proved.method.as_str())).await?;
    db.commit().await?;
    Ok(Some(token.text))
}

/// Returns the header that stores a session's token in the browser.
pub(crate) fn build_cookie(token: &str, is_https: bool) -> (HeaderName, HeaderValue) {
    let cookie = if is_https {
        format!("{SECURE_COOKIE_NAME}={token}; Path=/; HttpOnly; Secure; SameSite=Strict")
    } else {
        format!("{COOKIE_NAME}={token}; Path=/_desk; HttpOnly; SameSite=Strict")
    };
    (SET_COOKIE, HeaderValue::try_from(cookie).unwrap_or_else(|_| HeaderValue::from_static("")))
}

/// Returns the headers that delete the token from the browser.
pub(crate) fn build_removal() -> [(HeaderName, HeaderValue); 2] {
    let secure = "__Host-basalt_desk=; Path=/; HttpOnly; Secure; SameSite=Strict; Max-Age=0";
    let plain = "basalt_desk=; Path=/_desk; HttpOnly; SameSite=Strict; Max-Age=0";
    [secure, plain].map(|cookie| (SET_COOKIE, HeaderValue::from_static(cookie)))
}

/// Removes the cookies of the desk from a request to another service.
pub fn remove_cookies(headers: &mut HeaderMap) {
    let names = [SECURE_COOKIE_NAME, COOKIE_NAME, SECURE_DEVICE, DEVICE];
    let is_own = |pair: &&[u8]| names.iter().any(|name| name_of(pair) == name.as_bytes());
    if !list_pairs(headers).any(|pair| is_own(&pair)) {
        return;
    }
    let kept: Vec<&[u8]> = list_pairs(headers).filter(|pair| !is_own(pair)).collect();
    let kept = HeaderValue::from_bytes(&kept.join(&b"; "[..])).ok().filter(|value| !value.is_empty());
    headers.remove(COOKIE);
    if let Some(kept) = kept {
        headers.insert(COOKIE, kept);
    }
}

/// Finds the tokens of a session. On a site of HTTPS only a cookie with the prefix counts.
fn find_tokens(headers: &HeaderMap, is_https: bool) -> Vec<&str> {
    find_cookies(headers, [SECURE_COOKIE_NAME, COOKIE_NAME], is_https)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn headers(cookie: &str) -> HeaderMap {
        HeaderValue::from_str(cookie).map(|value| HeaderMap::from_iter([(COOKIE, value)])).unwrap_or_default()
    }

    #[test]
    fn cookie_of_plain_http_does_not_count_on_https() {
        let both = headers("a=b; basalt_desk=plain; __Host-basalt_desk=secure");
        assert_eq!((find_tokens(&both, true), find_tokens(&both, false)), (vec!["secure"], vec!["secure", "plain"]));
        let plain = headers("xbasalt_desk=no;basalt_desk=plain");
        assert_eq!((find_tokens(&plain, true), find_tokens(&plain, false)), (vec![], vec!["plain"]));
    }

    #[test]
    fn cookies_of_neighbours_hide_none_of_the_desk() {
        let mut request = headers("basalt_desk=junk; basalt_desk=token");
        assert_eq!(find_tokens(&request, false), ["junk", "token"]);
        let bytes = HeaderValue::from_bytes("x=ü; basalt_desk=token; basalt_desk=ü; y=1".as_bytes()).expect("a value");
        request.insert(COOKIE, bytes);
        assert_eq!(find_tokens(&request, false), ["token", "ü"]);
        remove_cookies(&mut request);
        assert_eq!(request[COOKIE].as_bytes(), "x=ü; y=1".as_bytes());
        let many = vec!["basalt_desk=x"; 100].join("; ");
        assert!(find_tokens(&headers(&many), false).len() < 10, "each value is looked up");
    }

    #[test]
    fn cookies_of_the_desk_are_removed_and_others_kept() {
        for (before, after) in [
            ("a=b; __Host-basalt_desk=x; c=d", Some("a=b; c=d")),
            ("basalt_desk=x;__Host-basalt_desk=y", None),
            ("basalt_desk_device=x; a=b; __Host-basalt_desk_device=y", Some("a=b")),
            ("my_basalt_desk=x", Some("my_basalt_desk=x")),
            ("a=basalt_desk", Some("a=basalt_desk")),
        ] {
            let mut request = headers(before);
            remove_cookies(&mut request);
            assert_eq!(request.get(COOKIE).map(|value| value.to_str().expect("text")), after, "{before}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_cookies_do_not_panic(text in "[ -~]{0,80}") {
            let mut request = headers(&text);
            remove_cookies(&mut request);
            assert_eq!(find_tokens(&request, false), Vec::<&str>::new());
            let _ = find_tokens(&headers(&text), false);
        }
    }
}
