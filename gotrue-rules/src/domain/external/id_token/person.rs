//! What an ID token says of a person: each issuer in its own words (`endpoints.md` §6.3).

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{BadToken, IdToken};
use crate::domain::external::answer::BadAnswer;
use crate::domain::external::profile::{Claims, Profile, ProviderEmail};
use crate::domain::external::{claims, issuers};
use crate::wire::go_json::{Document, as_go_writes};

/// The person, as the token's issuer describes people. Any other issuer is read as the standard describes them.
pub fn profile(token: &IdToken) -> Result<Profile, BadAnswer> {
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
    let said = Said(&token.claims);
    read(token, said).map_err(|error| BadAnswer(error.to_string()))
}

type Read = Result<Profile, BadToken>;

/// What a token says, each claim of the type that its issuer gives it.
#[derive(Clone, Copy)]
struct Said<'a>(&'a Document);

impl Said<'_> {
    fn claim<T: DeserializeOwned + Default>(self, name: &str) -> Result<T, BadToken> {
        self.0.member(name).map_err(|error| BadToken::Type(format!("{name}: {error}")))
    }

    /// A text; empty if absent.
    fn text(self, name: &str) -> Result<String, BadToken> {
        self.claim(name)
    }

    /// A truth value; false if absent.
    fn flag(self, name: &str) -> Result<bool, BadToken> {
        self.claim(name)
    }

    /// Any value, unless it is `null`.
    fn get(self, name: &str) -> Result<Option<Value>, BadToken> {
        self.claim(name)
    }
}

fn google(token: &IdToken, said: Said<'_>) -> Read {
    let is_verified = said.flag("verified_email")? | said.flag("email_verified")?;
    let (name, picture, hosted_domain) = (said.text("name")?, said.text("picture")?, said.text("hd")?);
    said.text("id")?;
    let claims = Claims {
        picture: picture.clone(),
        avatar_url: picture,
        full_name: name.clone(),
        name,
        custom_claims: kept([("hd", (!hosted_domain.is_empty()).then(|| json!(hosted_domain)))]),
        ..person(token)
    };
    Ok(Profile { emails: ProviderEmail::only(said.text("email")?, is_verified), claims })
}

fn linkedin(token: &IdToken, said: Said<'_>) -> Read {
    registered(said)?;
    let is_verified = truth(&said.text("email_verified")?).ok_or_else(|| no_truth("email_verified"))?;
    let (given_name, family_name) = (said.text("given_name")?, said.text("family_name")?);
    let claims = Claims {
        name: format!("{given_name} {family_name}").trim().to_owned(),
        given_name,
        family_name,
        locale: said.text("locale")?,
        picture: said.text("picture")?,
        ..person(token)
    };
    Ok(Profile { emails: ProviderEmail::only(said.text("email")?, is_verified), claims })
}

fn kakao(token: &IdToken, said: Said<'_>) -> Read {
    registered(said)?;
    let nickname = said.text("nickname")?;
    let claims = Claims {
        name: nickname.clone(),
        preferred_username: nickname,
        picture: said.text("picture")?,
        ..person(token)
    };
    Ok(Profile { emails: ProviderEmail::only(said.text("email")?, is_assumed(token)), claims })
}

fn vercel_marketplace(token: &IdToken, said: Said<'_>) -> Read {
    registered(said)?;
    let subject = match said.text("global_user_id")?.as_str() {
        "" => token.subject.clone(),
        id => format!("global_user_id:{id}"),
    };
    let claims = Claims {
        provider_id: subject.clone(),
        subject,
        name: said.text("user_name")?,
        picture: said.text("user_avatar_url")?,
        ..person(token)
    };
    Ok(Profile { emails: vec![vouched(said.text("user_email")?)], claims })
}

/// Tokens of its limited login: addresses in them are always confirmed ones.
fn facebook(token: &IdToken, said: Said<'_>) -> Read {
    registered(said)?;
    let claims = Claims { name: said.text("name")?, picture: said.text("picture")?, ..person(token) };
    Ok(Profile { emails: ProviderEmail::only(said.text("email")?, true), claims })
}

fn snapchat(token: &IdToken) -> Result<Profile, BadAnswer> {
    let claims = claims::read(&token.claims)?;
    Ok(Profile { emails: ProviderEmail::only(claims.email.clone(), is_assumed(token)), claims })
}

/// Claims of Microsoft's that are not kept as they are.
const NOT_KEPT: [&str; 16] = [
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

/// A tenant can give its people any address. `xms_edov` says whether the address's domain is the tenant's; where the
/// operator's application does not ask for that claim, the reference takes every address for verified.
fn azure(token: &IdToken, said: Said<'_>) -> Read {
    registered(said)?;
    let is_verified = match said.get("xms_edov")? {
        None => !token.assumes_nothing,
        Some(Value::Bool(is_owned)) => is_owned,
        Some(owned) => matches!(owned.as_str(), Some("1" | "true")),
    };
    let mut custom_claims = token.claims.to_map().map_err(|error| BadToken::Type(error.to_string()))?;
    custom_claims.retain(|name, _| !NOT_KEPT.contains(&name.as_str()));
    let claims = Claims {
        preferred_username: said.text("preferred_username")?,
        full_name: said.text("name")?,
        custom_claims: Some(custom_claims),
        ..person(token)
    };
    Ok(Profile { emails: ProviderEmail::only(said.text("email")?, is_verified), claims })
}

fn apple(token: &IdToken, said: Said<'_>) -> Read {
    registered(said)?;
    let is_private = match said.get("is_private_email")? {
        None => None,
        Some(Value::Bool(is_private)) => Some(is_private),
        Some(text) => Some(text.as_str().and_then(truth).ok_or_else(|| no_truth("is_private_email"))?),
    };
    let transfer = said.text("transfer_sub")?;
    let auth_time: Option<f64> = said.claim("auth_time")?;
    let custom_claims = kept([
        ("is_private_email", is_private.map(Value::Bool)),
        ("auth_time", auth_time.and_then(as_go_writes).map(Value::Number)),
        ("transfer_sub", (!transfer.is_empty()).then(|| json!(transfer))),
    ]);
    let claims = Claims { custom_claims, ..person(token) };
    Ok(Profile { emails: vec![vouched(said.text("email")?)], claims })
}

fn standard(token: &IdToken) -> Result<Profile, BadAnswer> {
    let claims = claims::read(&token.claims)?;
    Ok(Profile { emails: ProviderEmail::only(claims.email.clone(), claims.email_verified), claims })
}

/// What every token says of a person.
fn person(token: &IdToken) -> Claims {
    Claims {
        issuer: token.issuer.clone(),
        subject: token.subject.clone(),
        provider_id: token.subject.clone(),
        ..Claims::default()
    }
}

/// The claims that every JSON Web Token may have, of the right type.
fn registered(said: Said<'_>) -> Result<(), BadToken> {
    said.text("jti")?;
    match said.get("aud")? {
        Some(Value::Array(all)) if all.iter().any(Value::is_null) => {
            Err(BadToken::Type("aud: null is no string".to_owned()))
        }
        _ => Ok(()),
    }
}

fn no_truth(name: &str) -> BadToken {
    BadToken::Type(format!("{name}: a truth value is wanted"))
}

/// An issuer that never says whether an address is verified is believed that it is, where that is allowed.
fn is_assumed(token: &IdToken) -> bool {
    !token.assumes_nothing || Said(&token.claims).flag("email_verified").unwrap_or_default()
}

/// An address that the issuer vouches for, though it may be empty.
fn vouched(address: String) -> ProviderEmail {
    ProviderEmail { address, verified: true, primary: true }
}

/// Claims of the issuer's own, where there are any.
fn kept<const N: usize>(claims: [(&str, Option<Value>); N]) -> Option<Map<String, Value>> {
    let kept: Map<_, _> = claims.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    (!kept.is_empty()).then_some(kept)
}

/// A truth value written as a text, in the spellings that the reference reads.
fn truth(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
