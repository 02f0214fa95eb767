//! Providers that an administrator stored: nothing about them is known beforehand but OAuth 2.0 or OpenID Connect.

use serde_json::{Map, Value};

use super::profile::{Claims, Profile, ProviderEmail};
use super::provider::{BadAnswer, Endpoints, IdTokenCheck, Known, NamedScopes, Place, Provider, Step};
use super::{claims, id_token};
use crate::domain::custom_provider::{CustomProvider, Protocol};
use crate::domain::policy::ExternalProvider;
use crate::wire::go_json::Document;

/// A stored provider, ready to be asked. Its settings are its own: those that are handed to it are not looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct Custom(pub CustomProvider);

impl Provider for Custom {
    fn name(&self) -> &str {
        let Self(stored) = self;
        &stored.identifier
    }

    fn place(&self, _: &ExternalProvider) -> Place {
        let endpoints = match &self.0.protocol {
            Protocol::OAuth2 { authorization_url, token_url, .. } => {
                Endpoints::OAuth2 { authorize: authorization_url.clone(), token: token_url.clone() }
            }
            Protocol::Oidc { issuer, .. } => {
                Endpoints::Discovered { issuer: issuer.clone(), document: self.0.protocol.document(), instead: None }
            }
        };
        let text = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
        Place {
            scopes: self.0.protocol.with_openid(self.0.scopes.clone()),
            named_scopes: NamedScopes::Instead,
            pkce: self.0.pkce_enabled,
            params: self.0.authorization_params.iter().filter_map(text).collect(),
            ..Place::at(endpoints, &[])
        }
    }

    fn next(&self, known: &Known<'_>) -> Result<Step, BadAnswer> {
        let userinfo_url = match &self.0.protocol {
            Protocol::OAuth2 { userinfo_url, .. } => userinfo_url,
            Protocol::Oidc { issuer, .. } if !known.token.id_token.is_empty() => {
                return self.next_of_token(known, issuer);
            }
            Protocol::Oidc { .. } => known.userinfo_url,
        };
        let Some(answer) = known.answers.first() else {
            if userinfo_url.is_empty() {
                return Err(BadAnswer("there is neither an ID token nor an address to ask about people".to_owned()));
            }
            return Ok(Step::fetch(userinfo_url));
        };
        let raw = answer.to_map()?;
        let claims = self.adapted(claims::read(&Document::from(raw.clone()))?, &raw);
        Ok(Step::done(ProviderEmail::only(claims.email.clone(), claims.email_verified), claims))
    }
}

impl Custom {
    /// The person of an ID token, which must be for one of our clients. Its addresses stay as the token has them.
    fn next_of_token(&self, known: &Known<'_>, issuer: &str) -> Result<Step, BadAnswer> {
        let Some(token) = known.id_token else {
            let check = IdTokenCheck { issuer: issuer.to_owned(), any_audience: true, ..IdTokenCheck::default() };
            return Ok(Step::CheckIdToken(check));
        };
        if !self.0.accepts_audience(&token.audience) {
            return Err(BadAnswer(format!("the ID token is for {:?}, none of our clients", token.audience)));
        }
        let Profile { emails, claims } = id_token::profile(token)?;
        let raw = if self.0.custom_claims_allowlist.is_empty() { Map::new() } else { token.claims.to_map()? };
        Ok(Step::done(emails, self.adapted(claims, &raw)))
    }

    /// The claims with the listed ones of the provider's own beside them, renamed as the administrator wants.
    fn adapted(&self, mut claims: Claims, raw: &Map<String, Value>) -> Claims {
        for name in &self.0.custom_claims_allowlist {
            if let Some(value) = raw.get(name) {
                claims.custom_claims.get_or_insert_default().insert(name.clone(), value.clone());
            }
        }
        claims::mapped(claims, &self.0.attribute_mapping)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::super::id_token::IdToken;
    use super::super::provider::TokenAnswer;
    use super::*;
    use crate::domain::secret::Secret;
    use crate::domain::user::Time;

    fn oauth2() -> Protocol {
        Protocol::OAuth2 {
            authorization_url: "https://acme.example/authorize".into(),
            token_url: "https://acme.example/token".into(),
            userinfo_url: "https://acme.example/me".into(),
            jwks_uri: None,
        }
    }

    fn oidc(discovery_url: Option<&str>) -> Protocol {
        Protocol::Oidc {
            issuer: "https://acme.example/".into(),
            discovery_url: discovery_url.map(str::to_owned),
            discovered: None,
        }
    }

    fn custom(protocol: Protocol) -> Custom {
        Custom(CustomProvider {
            id: Uuid::nil(),
            identifier: "custom:acme".into(),
            name: "Acme".into(),
            client_id: "web".into(),
            client_secret: Secret::new("s"),
            acceptable_client_ids: vec!["ios".into()],
            scopes: vec!["email".into()],
            pkce_enabled: true,
            attribute_mapping: json!({"name": "nickname"}).as_object().unwrap().clone(),
            custom_claims_allowlist: vec!["team".into(), "missing".into()],
            authorization_params: json!({"audience": "api"}).as_object().unwrap().clone(),
            enabled: true,
            email_optional: false,
            skip_nonce_check: false,
            protocol,
            created_at: Time::default(),
            updated_at: Time::default(),
        })
    }

    fn next(provider: &Custom, id_token: Option<&IdToken>, answers: &[Document]) -> Result<Step, BadAnswer> {
        let token =
            TokenAnswer { id_token: id_token.map(|_| "x.y.z".into()).unwrap_or_default(), ..TokenAnswer::default() };
        let id_token = id_token.filter(|token| !token.issuer.is_empty());
        let settings = ExternalProvider::default();
        provider.next(&Known {
            settings: &settings,
            token: &token,
            id_token,
            userinfo_url: "https://found/me",
            answers,
        })
    }

    #[test]
    fn openid_connect_is_always_asked_for_openid_and_where_its_document_is() {
        let place = custom(oidc(None)).place(&ExternalProvider::default());
        assert_eq!(place.scopes, ["openid", "email"]);
        let at = |place: Place| match place.endpoints {
            Endpoints::Discovered { document, .. } => document,
            _ => None,
        };
        assert_eq!(at(place).as_deref(), Some("https://acme.example/.well-known/openid-configuration"));
        let place = custom(oidc(Some("https://acme.example/x.json"))).place(&ExternalProvider::default());
        assert_eq!(at(place).as_deref(), Some("https://acme.example/x.json"));
        let place = custom(oauth2()).place(&ExternalProvider::default());
        assert_eq!((place.scopes, place.params), (vec!["email".to_owned()], vec![("audience".into(), "api".into())]));
    }

    #[test]
    fn without_an_id_token_the_profile_tells_who_it_is() {
        let person = json!({"sub": "7", "nickname": "Annie", "email": "a@x", "email_verified": true, "team": [1]});
        for (provider, url) in [(custom(oauth2()), "https://acme.example/me"), (custom(oidc(None)), "https://found/me")]
        {
            assert_eq!(next(&provider, None, &[]), Ok(Step::fetch(url)));
            let Ok(Step::Done(profile)) = next(&provider, None, &[Document::from(person.clone())]) else {
                panic!("{url}")
            };
            assert_eq!(profile.emails, [ProviderEmail { address: "a@x".into(), verified: true, primary: true }]);
            assert_eq!((profile.claims.name.as_str(), profile.claims.subject.as_str()), ("Annie", "7"));
            assert_eq!(Value::Object(profile.claims.custom_claims.unwrap()), json!({"team": [1]}));
        }
        assert!(next(&custom(oauth2()), None, &[Document::from(json!([]))]).is_err());
    }

    #[test]
    fn an_id_token_must_be_for_one_of_our_clients() {
        let token = |audience: &str| IdToken {
            issuer: "https://acme.example/".into(),
            audience: vec![audience.into()],
            claims: Document::from(json!({"sub": "7", "team": "t"})),
            ..IdToken::default()
        };
        let provider = custom(oidc(None));
        let check =
            IdTokenCheck { issuer: "https://acme.example/".into(), any_audience: true, ..IdTokenCheck::default() };
        assert_eq!(next(&provider, Some(&IdToken::default()), &[]), Ok(Step::CheckIdToken(check)));
        for ours in ["web", "ios"] {
            let Ok(Step::Done(profile)) = next(&provider, Some(&token(ours)), &[]) else { panic!("{ours}") };
            assert_eq!(Value::Object(profile.claims.custom_claims.unwrap()), json!({"team": "t"}));
        }
        assert!(next(&provider, Some(&token("android")), &[]).is_err());
    }
}
