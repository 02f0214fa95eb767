//! Builds a profile from an ID token. Each issuer has its own claims.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{ExternalIdToken, IdTokenError};
use crate::domain::external::profile::{Claims, ProviderEmail, ProviderProfile};
use crate::domain::external::response::ProviderResponseError;
use crate::domain::external::{claims, issuers};
use crate::wire::go_json::{Document, go_number};

/// Builds the profile by the rules of the token's issuer.
/// An unknown issuer is read by OpenID Connect's standard claims.
pub fn profile_from_id_token(token: &ExternalIdToken) -> Result<ProviderProfile, ProviderResponseError> {
    let read = match token.issuer.as_str() {
        issuers::GOOGLE => google,
        issuers::LINKEDIN => linkedin,
        issuers::KAKAO => kakao,
        issuers::VERCEL_MARKETPLACE => vercel_marketplace,
        issuers::FACEBOOK => facebook,
        issuers::SNAPCHAT => return snapchat(token),
        issuer if issuers::is_azure(issuer) => azure,
        issuer if issuers::is_apple(issuer) => apple,
        _ => return standard(token),
    };
    let raw = TokenClaims(&token.claims);
    read(token, raw).map_err(|error| ProviderResponseError(error.to_string()))
}

type ProfileResult = Result<ProviderProfile, IdTokenError>;

/// Typed access to a token's claims.
#[derive(Clone, Copy)]
struct TokenClaims<'a>(&'a Document);

impl TokenClaims<'_> {
    fn claim<T: DeserializeOwned + Default>(self, name: &str) -> Result<T, IdTokenError> {
        self.0.member(name).map_err(|error| IdTokenError::ClaimType(format!("{name}: {error}")))
    }

    /// A string claim; empty if absent.
    fn text(self, name: &str) -> Result<String, IdTokenError> {
        self.claim(name)
    }

    /// A boolean claim; false if absent.
    fn flag(self, name: &str) -> Result<bool, IdTokenError> {
        self.claim(name)
    }

    /// A claim of any type; `None` if absent or `null`.
    fn get(self, name: &str) -> Result<Option<Value>, IdTokenError> {
        self.claim(name)
    }
}

fn google(token: &ExternalIdToken, raw: TokenClaims<'_>) -> ProfileResult {
    let is_verified = raw.flag("verified_email")? | raw.flag("email_verified")?;
    let (name, picture, hosted_domain) = (raw.text("name")?, raw.text("picture")?, raw.text("hd")?);
    raw.text("id")?;
    let claims = Claims {
        picture: picture.clone(),
        avatar_url: picture,
        full_name: name.clone(),
        name,
        custom_claims: build_custom_claims([("hd", (!hosted_domain.is_empty()).then(|| json!(hosted_domain)))]),
        ..base_claims(token)
    };
    Ok(ProviderProfile { emails: ProviderEmail::single(raw.text("email")?, is_verified), claims })
}

fn linkedin(token: &ExternalIdToken, raw: TokenClaims<'_>) -> ProfileResult {
    validate_registered_claims(raw)?;
    let is_verified = parse_bool(&raw.text("email_verified")?).ok_or_else(|| not_a_boolean("email_verified"))?;
    let (given_name, family_name) = (raw.text("given_name")?, raw.text("family_name")?);
    let claims = Claims {
        name: format!("{given_name} {family_name}").trim().to_owned(),
        given_name,
        family_name,
        locale: raw.text("locale")?,
        picture: raw.text("picture")?,
        ..base_claims(token)
    };
    Ok(ProviderProfile { emails: ProviderEmail::single(raw.text("email")?, is_verified), claims })
}

fn kakao(token: &ExternalIdToken, raw: TokenClaims<'_>) -> ProfileResult {
    validate_registered_claims(raw)?;
    let nickname = raw.text("nickname")?;
    let claims = Claims {
        name: nickname.clone(),
        preferred_username: nickname,
        picture: raw.text("picture")?,
        ..base_claims(token)
    };
    Ok(ProviderProfile { emails: ProviderEmail::single(raw.text("email")?, is_email_assumed_verified(token)), claims })
}

fn vercel_marketplace(token: &ExternalIdToken, raw: TokenClaims<'_>) -> ProfileResult {
    validate_registered_claims(raw)?;
    let subject = match raw.text("global_user_id")?.as_str() {
        "" => token.subject.clone(),
        id => format!("global_user_id:{id}"),
    };
    let claims = Claims {
        provider_id: subject.clone(),
        subject,
        name: raw.text("user_name")?,
        picture: raw.text("user_avatar_url")?,
        ..base_claims(token)
    };
    Ok(ProviderProfile { emails: vec![verified_email(raw.text("user_email")?)], claims })
}

/// Tokens of Facebook's limited login contain confirmed addresses only.
fn facebook(token: &ExternalIdToken, raw: TokenClaims<'_>) -> ProfileResult {
    validate_registered_claims(raw)?;
    let claims = Claims { name: raw.text("name")?, picture: raw.text("picture")?, ..base_claims(token) };
    Ok(ProviderProfile { emails: ProviderEmail::single(raw.text("email")?, true), claims })
}

fn snapchat(token: &ExternalIdToken) -> Result<ProviderProfile, ProviderResponseError> {
    let claims = claims::parse(&token.claims)?;
    Ok(ProviderProfile {
        emails: ProviderEmail::single(claims.email.clone(), is_email_assumed_verified(token)),
        claims,
    })
}

/// Microsoft's claims that are not copied into the custom claims.
const OMITTED_AZURE_CLAIMS: [&str; 16] = [
    "aud",
    "iss",
    "iat",
    "nbf",
    "exp",
    "c_hash",
    "at_hash",
    "aio",
    "nonce",
    "rh",
    "uti",
    "jti",
    "ver",
    "sub",
    "name",
    "preferred_username",
];

/// Reads a Microsoft Entra token.
/// A tenant can assign any email address. `xms_edov` tells whether the tenant owns the address's domain; without that
/// claim the reference takes every address as verified.
fn azure(token: &ExternalIdToken, raw: TokenClaims<'_>) -> ProfileResult {
    validate_registered_claims(raw)?;
    let is_verified = match raw.get("xms_edov")? {
        None => !token.requires_email_verified_claim,
        Some(Value::Bool(is_owned)) => is_owned,
        Some(owned) => matches!(owned.as_str(), Some("1" | "true")),
    };
    let mut custom_claims = token.claims.to_map().map_err(|error| IdTokenError::ClaimType(error.to_string()))?;
    custom_claims.retain(|name, _| !OMITTED_AZURE_CLAIMS.contains(&name.as_str()));
    let claims = Claims {
        preferred_username: raw.text("preferred_username")?,
        full_name: raw.text("name")?,
        custom_claims: Some(custom_claims),
        ..base_claims(token)
    };
    Ok(ProviderProfile { emails: ProviderEmail::single(raw.text("email")?, is_verified), claims })
}

fn apple(token: &ExternalIdToken, raw: TokenClaims<'_>) -> ProfileResult {
    validate_registered_claims(raw)?;
    let is_private = match raw.get("is_private_email")? {
        None => None,
        Some(Value::Bool(is_private)) => Some(is_private),
        Some(text) => Some(text.as_str().and_then(parse_bool).ok_or_else(|| not_a_boolean("is_private_email"))?),
    };
    let transfer = raw.text("transfer_sub")?;
    let auth_time: Option<f64> = raw.claim("auth_time")?;
    let custom_claims = build_custom_claims([
        ("is_private_email", is_private.map(Value::Bool)),
        ("auth_time", auth_time.and_then(go_number).map(Value::Number)),
        ("transfer_sub", (!transfer.is_empty()).then(|| json!(transfer))),
    ]);
    let claims = Claims { custom_claims, ..base_claims(token) };
    Ok(ProviderProfile { emails: vec![verified_email(raw.text("email")?)], claims })
}

fn standard(token: &ExternalIdToken) -> Result<ProviderProfile, ProviderResponseError> {
    let claims = claims::parse(&token.claims)?;
    Ok(ProviderProfile { emails: ProviderEmail::single(claims.email.clone(), claims.email_verified), claims })
}

/// The claims that every profile contains.
fn base_claims(token: &ExternalIdToken) -> Claims {
    Claims {
        issuer: token.issuer.clone(),
        subject: token.subject.clone(),
        provider_id: token.subject.clone(),
        ..Claims::default()
    }
}

/// Checks the types of registered JWT claims.
fn validate_registered_claims(raw: TokenClaims<'_>) -> Result<(), IdTokenError> {
    raw.text("jti")?;
    match raw.get("aud")? {
        Some(Value::Array(all)) if all.iter().any(Value::is_null) => {
            Err(IdTokenError::ClaimType("aud: null is not a string".to_owned()))
        }
        _ => Ok(()),
    }
}

fn not_a_boolean(name: &str) -> IdTokenError {
    IdTokenError::ClaimType(format!("{name}: expected a boolean"))
}

/// Whether the address of an issuer without `email_verified` is taken as verified.
fn is_email_assumed_verified(token: &ExternalIdToken) -> bool {
    !token.requires_email_verified_claim || TokenClaims(&token.claims).flag("email_verified").unwrap_or_default()
}

/// A verified address; it may be empty.
fn verified_email(address: String) -> ProviderEmail {
    ProviderEmail { address, verified: true, primary: true }
}

/// The issuer's own claims; `None` if there are none.
fn build_custom_claims<const N: usize>(claims: [(&str, Option<Value>); N]) -> Option<Map<String, Value>> {
    let kept: Map<_, _> = claims.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    (!kept.is_empty()).then_some(kept)
}

/// Parses a boolean string in the spellings of Go's `strconv.ParseBool`.
fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
