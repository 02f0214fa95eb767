//! Tokens: signature, claims and the role of a request.

mod claims;
pub mod keys;

use std::sync::{Arc, Mutex};

use hashlink::LruCache;
use serde_json::{Map, Value};

use crate::config::Config;
use crate::error::Error;
use crate::error::token::TokenError;
use claims::Claims;
use keys::KeySet;

/// The difference of clocks that is allowed, in seconds.
const ALLOWED_SKEW: i64 = 30;

/// The longest token that is cached, in bytes.
const MAXIMUM_CACHED_TOKEN: usize = 8 * 1024;

/// What `SET ROLE` takes in place of a role's name: it means the login role, whose rights no request has.
const NO_ROLE: &str = "none";

/// Who sends a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Identity {
    /// The role of the database that the request runs as.
    pub role: String,
    /// The claims as JSON with sorted keys, the role included: the setting `request.jwt.claims`.
    pub claims: String,
}

/// Claims of tokens whose signatures were verified.
#[derive(Debug, Default)]
pub struct TokenCache {
    verified: Mutex<Option<Verified>>,
    figures: Mutex<TokenFigures>,
}

/// How often a [`TokenCache`] was asked, since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TokenFigures {
    /// Tokens that were looked up.
    pub requests: u64,
    /// Tokens that were found.
    pub hits: u64,
    /// Tokens that others displaced.
    pub evictions: u64,
}

#[derive(Debug)]
struct Verified {
    keys: KeySet,
    claims: LruCache<String, Arc<Claims>>,
}

/// The token of an `Authorization` header, `None` for other schemes than Bearer.
pub fn find_bearer(header: &str) -> Option<&str> {
    let end = header.find(char::is_whitespace).unwrap_or(header.len());
    let (scheme, token) = header.split_at(end);
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim_start())
}

impl TokenCache {
    /// Verifies the token of a request, `None` when it has none, and finds its role. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// `PGRST3xx`; 22023 for a name that no role can have.
    pub fn authenticate(&self, config: &Config, token: Option<&str>, now: i64) -> Result<Identity, Error> {
        let claims = match token {
            Some(token) => self.verify(config, token)?,
            None => Arc::default(),
        };
        check_claims(&claims.values, config.jwt_aud.as_deref(), now).map_err(Error::token)?;
        let role = config.jwt_role_claim_key.find(&claims.values).or_else(|| config.db_anon_role.clone());
        let role = role.ok_or_else(Error::token_required)?;
        if role == NO_ROLE {
            return Err(Error::unknown_role(&role));
        }
        let claims = claims.format(&role);
        Ok(Identity { role, claims })
    }

    /// The claims of a token whose signature is right.
    fn verify(&self, config: &Config, token: &str) -> Result<Arc<Claims>, Error> {
        let Some(keys) = &config.jwt_keys else { return Err(Error::no_token_secret()) };
        if token.is_empty() {
            return Err(Error::token(TokenError::Empty));
        }
        let is_cacheable = config.jwt_cache_max_entries > 0 && token.len() <= MAXIMUM_CACHED_TOKEN;
        if is_cacheable && let Some(claims) = self.find(keys, token) {
            return Ok(claims);
        }
        let payload = keys.verify(token).map_err(Error::token)?;
        let claims = Arc::new(Claims::parse(&payload).map_err(|_| Error::token(TokenError::Claims))?);
        if is_cacheable {
            self.insert(keys, token, &claims, config.jwt_cache_max_entries);
        }
        Ok(claims)
    }

    fn find(&self, keys: &KeySet, token: &str) -> Option<Arc<Claims>> {
        let mut verified = self.verified.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let known = verified.as_mut().filter(|cache| cache.keys == *keys);
        let found = known.and_then(|cache| cache.claims.get(token).cloned());
        drop(verified);
        self.count(|figures| {
            figures.requests += 1;
            figures.hits += u64::from(found.is_some());
        });
        found
    }

    /// How often it was asked.
    pub fn figures(&self) -> TokenFigures {
        *self.figures.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn count(&self, change: impl FnOnce(&mut TokenFigures)) {
        change(&mut self.figures.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    }

    /// Keeps the claims. Other keys than before empty the cache.
    fn insert(&self, keys: &KeySet, token: &str, claims: &Arc<Claims>, capacity: usize) {
        let mut guard = self.verified.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let verified = match guard.take().filter(|cache| cache.keys == *keys) {
            Some(verified) => guard.insert(verified),
            None => guard.insert(Verified { keys: keys.clone(), claims: LruCache::new(capacity) }),
        };
        let before = verified.claims.len();
        verified.claims.set_capacity(capacity);
        let is_new = verified.claims.insert(token.to_owned(), Arc::clone(claims)).is_none();
        let displaced = (before + usize::from(is_new)).saturating_sub(verified.claims.len());
        drop(guard);
        self.count(|figures| figures.evictions += displaced as u64);
    }
}

/// Checks times and audience (RFC 7519 §4.1).
fn check_claims(claims: &Map<String, Value>, audience: Option<&str>, now: i64) -> Result<(), TokenError> {
    let time = |name: &str, error: TokenError| match claims.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Number(number)) => Ok(Some(whole_number(number))),
        Some(_) => Err(error),
    };
    if time("exp", TokenError::ExpirationType)?.is_some_and(|exp| now.saturating_sub(ALLOWED_SKEW) > exp) {
        return Err(TokenError::Expired);
    }
    if time("nbf", TokenError::NotBeforeType)?.is_some_and(|nbf| now.saturating_add(ALLOWED_SKEW) < nbf) {
        return Err(TokenError::NotYetValid);
    }
    if time("iat", TokenError::IssuedAtType)?.is_some_and(|iat| now.saturating_add(ALLOWED_SKEW) < iat) {
        return Err(TokenError::IssuedAtFuture);
    }
    let matches = |text: &str| audience.is_none_or(|audience| audience == text);
    let is_meant = match claims.get("aud") {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => matches(text),
        Some(Value::Array(all)) => {
            let texts: Option<Vec<_>> = all.iter().map(Value::as_str).collect();
            let texts = texts.ok_or(TokenError::AudienceType)?;
            texts.is_empty() || texts.into_iter().any(matches)
        }
        Some(_) => return Err(TokenError::AudienceType),
    };
    if is_meant { Ok(()) } else { Err(TokenError::Audience) }
}

/// A number of seconds; one with a fraction or beyond 64 bits counts as 0.
fn whole_number(number: &serde_json::Number) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    let from_float = |float: f64| (float.fract() == 0.0 && float.abs() < 9e18).then_some(float as i64);
    number.as_i64().or_else(|| number.as_f64().and_then(from_float)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use jsonwebtoken::{EncodingKey, encode};
    use serde_json::json;

    use super::*;
    use crate::config::Sources;

    const SECRET: &str = "secret-of-the-tests-with-32-characters-or-more";

    fn config(settings: &[(&str, &str)]) -> Config {
        let mut sources = Sources::default();
        sources.file.insert("jwt-secret".to_owned(), SECRET.to_owned());
        sources.file.insert("db-anon-role".to_owned(), "anon".to_owned());
        for (name, value) in settings {
            sources.file.insert((*name).to_owned(), (*value).to_owned());
        }
        Config::build(&sources).unwrap()
    }

    fn sign(claims: &Value) -> String {
        encode(&jsonwebtoken::Header::default(), claims, &EncodingKey::from_secret(SECRET.as_bytes())).unwrap()
    }

    #[test]
    fn bearer_is_found_in_any_case() {
        assert_eq!(find_bearer("bearer  a.b.c"), Some("a.b.c"));
        assert_eq!(find_bearer("Bearer"), Some(""));
        assert_eq!(find_bearer("Basic a"), None);
    }

    #[test]
    fn role_and_claims_come_from_the_token() {
        let cache = TokenCache::default();
        let token = sign(&json!({"role": "writer", "b": {"d": 1, "c": 2}, "a": "x"}));
        for _ in 0..2 {
            let identity = cache.authenticate(&config(&[]), Some(&token), 1000).unwrap();
            assert_eq!(identity.role, "writer");
            assert_eq!(identity.claims, r#"{"a":"x","b":{"c":2,"d":1},"role":"writer"}"#);
        }
        let anonymous = cache.authenticate(&config(&[]), None, 1000).unwrap();
        assert_eq!((anonymous.role.as_str(), anonymous.claims.as_str()), ("anon", r#"{"role":"anon"}"#));
    }

    #[test]
    fn cached_token_is_refused_after_a_change_of_keys() {
        let cache = TokenCache::default();
        let token = sign(&json!({"role": "writer"}));
        cache.authenticate(&config(&[]), Some(&token), 1000).unwrap();
        let other = config(&[("jwt-secret", "another-secret-with-32-characters-or-more")]);
        let error = cache.authenticate(&other, Some(&token), 1000).unwrap_err();
        assert_eq!(error.details.as_ref().unwrap(), "None of the keys was able to decode the JWT");
    }

    #[test]
    fn cached_token_expires() {
        let claims = json!({"exp": 1000}).as_object().unwrap().clone();
        assert_eq!(check_claims(&claims, None, 1030), Ok(()));
        assert_eq!(check_claims(&claims, None, 1031), Err(TokenError::Expired));
    }

    #[test]
    fn claims_are_checked_in_order() {
        let cases = [
            (json!({"exp": "x", "nbf": "x"}), TokenError::ExpirationType),
            (json!({"exp": 1.5}), TokenError::Expired),
            (json!({"nbf": 1031}), TokenError::NotYetValid),
            (json!({"iat": 1031}), TokenError::IssuedAtFuture),
            (json!({"aud": 1}), TokenError::AudienceType),
            (json!({"aud": ["a", 1]}), TokenError::AudienceType),
            (json!({"aud": ["a", "b"]}), TokenError::Audience),
        ];
        for (claims, error) in cases {
            assert_eq!(check_claims(claims.as_object().unwrap(), Some("desk"), 1000), Err(error), "{claims}");
        }
        let claims = json!({"aud": [], "exp": null, "nbf": 1030});
        assert_eq!(check_claims(claims.as_object().unwrap(), Some("desk"), 1000), Ok(()));
    }

    #[test]
    fn malformed_tokens_are_refused() {
        let cache = TokenCache::default();
        let cases = [
            ("", TokenError::Empty),
            ("a.b", TokenError::Parts(2)),
            ("a.b.c.d", TokenError::Parts(4)),
            ("..", TokenError::Malformed),
            ("eyJhbGciOiJub25lIn0.e30.", TokenError::Algorithm),
            ("eyJhbGciOiJSUzI1NiJ9.e30.", TokenError::NoSuitableKey),
            ("eyJhbGciOiJIUzI1NiJ9.e30.AAAA", TokenError::Signature),
        ];
        for (token, error) in cases {
            assert_eq!(cache.authenticate(&config(&[]), Some(token), 1000), Err(Error::token(error)), "{token}");
        }
    }
}
