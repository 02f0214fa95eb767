//! Custom providers: OAuth 2.0 or OpenID Connect providers that an administrator stored.

use serde_json::{Map, Value};

use super::claims;
use super::id_token::issuer_profiles::profile_from_id_token;
use super::profile::{Claims, ProviderEmail, ProviderProfile};
use super::provider::{
    ClientScopes, IdTokenCheck, ProfileContext, ProfileStep, Provider, ProviderConfig, ProviderEndpoints,
    ProviderResponseError,
};
use crate::domain::custom_provider::{CustomProvider, Protocol};
use crate::domain::policy::ExternalProviderSettings;
use crate::wire::go_json::Document;

/// A stored provider. It uses its own settings and ignores the ones passed to it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredProvider(pub CustomProvider);

impl Provider for StoredProvider {
    fn name(&self) -> &str {
        let Self(stored) = self;
        &stored.identifier
    }

    fn config(&self, _: &ExternalProviderSettings) -> ProviderConfig {
        let endpoints = match &self.0.protocol {
            Protocol::OAuth2 { authorization_url, token_url, .. } => {
                ProviderEndpoints::OAuth2 { authorize: authorization_url.clone(), token: token_url.clone() }
            }
            Protocol::Oidc { issuer, .. } => ProviderEndpoints::Discovered {
                issuer: issuer.clone(),
                discovery_url: self.0.protocol.effective_discovery_url(),
                endpoint_overrides: None,
            },
        };
        let text = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
        ProviderConfig {
            scopes: self.0.protocol.with_openid(self.0.scopes.clone()),
            client_scopes: ClientScopes::Replace,
            uses_pkce: self.0.pkce_enabled,
            params: self.0.authorization_params.iter().filter_map(text).collect(),
            ..ProviderConfig::new(endpoints, &[])
        }
    }

    fn next_step(&self, known: &ProfileContext<'_>) -> Result<ProfileStep, ProviderResponseError> {
        let userinfo_url = match &self.0.protocol {
            Protocol::OAuth2 { userinfo_url, .. } => userinfo_url,
            Protocol::Oidc { issuer, .. } if !known.token.id_token.is_empty() => {
                return self.next_step_with_id_token(known, issuer);
            }
            Protocol::Oidc { .. } => known.userinfo_url,
        };
        let Some(answer) = known.responses.first() else {
            if userinfo_url.is_empty() {
                return Err(ProviderResponseError(
                    "the response has no ID token and the provider has no userinfo URL".to_owned(),
                ));
            }
            return Ok(ProfileStep::fetch(userinfo_url));
        };
        let raw = answer.to_map()?;
        let claims = self.map_claims(claims::parse(&Document::from(raw.clone()))?, &raw);
        Ok(ProfileStep::done(ProviderEmail::single(claims.email.clone(), claims.email_verified), claims))
    }
}

impl StoredProvider {
    /// Builds the profile from an ID token issued to one of the provider's client ids.
    /// Email addresses are kept as the token has them.
    fn next_step_with_id_token(
        &self,
        known: &ProfileContext<'_>,
        issuer: &str,
    ) -> Result<ProfileStep, ProviderResponseError> {
        let Some(token) = known.id_token else {
            let check =
                IdTokenCheck { issuer: issuer.to_owned(), allows_any_audience: true, ..IdTokenCheck::default() };
            return Ok(ProfileStep::CheckIdToken(check));
        };
        if !self.0.accepts_audience(&token.audience) {
            return Err(ProviderResponseError(format!(
                "the ID token's audience {:?} is none of the provider's client ids",
                token.audience
            )));
        }
        let ProviderProfile { emails, claims } = profile_from_id_token(token)?;
        let raw = if self.0.custom_claims_allowlist.is_empty() { Map::new() } else { token.claims.to_map()? };
        Ok(ProfileStep::done(emails, self.map_claims(claims, &raw)))
    }

    /// Adds the allowed custom claims to the claims and applies the administrator's mapping.
    fn map_claims(&self, mut claims: Claims, raw: &Map<String, Value>) -> Claims {
        for name in &self.0.custom_claims_allowlist {
            if let Some(value) = raw.get(name) {
                claims.custom_claims.get_or_insert_default().insert(name.clone(), value.clone());
            }
        }
        claims::apply_mapping(claims, &self.0.attribute_mapping)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::super::id_token::ExternalIdToken;
    use super::super::provider::ProviderTokenResponse;
    use super::*;
    use foundation::secret::Secret;
    use foundation::time::Time;

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

    fn custom(protocol: Protocol) -> StoredProvider {
        StoredProvider(CustomProvider {
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

    fn next(
        provider: &StoredProvider,
        id_token: Option<&ExternalIdToken>,
        answers: &[Document],
    ) -> Result<ProfileStep, ProviderResponseError> {
        let token = ProviderTokenResponse {
            id_token: id_token.map(|_| "x.y.z".into()).unwrap_or_default(),
            ..ProviderTokenResponse::default()
        };
        let id_token = id_token.filter(|token| !token.issuer.is_empty());
        let settings = ExternalProviderSettings::default();
        provider.next_step(&ProfileContext {
            settings: &settings,
            token: &token,
            id_token,
            userinfo_url: "https://found/me",
            responses: answers,
        })
    }

    #[test]
    fn oidc_config_has_openid_scope_and_discovery_url() {
        let place = custom(oidc(None)).config(&ExternalProviderSettings::default());
        assert_eq!(place.scopes, ["openid", "email"]);
        let at = |place: ProviderConfig| match place.endpoints {
            ProviderEndpoints::Discovered { discovery_url: document, .. } => document,
            _ => None,
        };
        assert_eq!(at(place).as_deref(), Some("https://acme.example/.well-known/openid-configuration"));
        let place = custom(oidc(Some("https://acme.example/x.json"))).config(&ExternalProviderSettings::default());
        assert_eq!(at(place).as_deref(), Some("https://acme.example/x.json"));
        let place = custom(oauth2()).config(&ExternalProviderSettings::default());
        assert_eq!((place.scopes, place.params), (vec!["email".to_owned()], vec![("audience".into(), "api".into())]));
    }

    #[test]
    fn profile_comes_from_userinfo_without_id_token() {
        let user = json!({"sub": "7", "nickname": "Annie", "email": "a@x", "email_verified": true, "team": [1]});
        for (provider, url) in [(custom(oauth2()), "https://acme.example/me"), (custom(oidc(None)), "https://found/me")]
        {
            assert_eq!(next(&provider, None, &[]), Ok(ProfileStep::fetch(url)));
            let Ok(ProfileStep::Done(profile)) = next(&provider, None, &[Document::from(user.clone())]) else {
                panic!("{url}")
            };
            assert_eq!(profile.emails, [ProviderEmail { address: "a@x".into(), verified: true, primary: true }]);
            assert_eq!((profile.claims.name.as_str(), profile.claims.subject.as_str()), ("Annie", "7"));
            assert_eq!(Value::Object(profile.claims.custom_claims.unwrap()), json!({"team": [1]}));
        }
        assert!(next(&custom(oauth2()), None, &[Document::from(json!([]))]).is_err());
    }

    #[test]
    fn id_token_audience_must_be_accepted_client() {
        let token = |audience: &str| ExternalIdToken {
            issuer: "https://acme.example/".into(),
            audience: vec![audience.into()],
            claims: Document::from(json!({"sub": "7", "team": "t"})),
            ..ExternalIdToken::default()
        };
        let provider = custom(oidc(None));
        let check = IdTokenCheck {
            issuer: "https://acme.example/".into(),
            allows_any_audience: true,
            ..IdTokenCheck::default()
        };
        assert_eq!(next(&provider, Some(&ExternalIdToken::default()), &[]), Ok(ProfileStep::CheckIdToken(check)));
        for client_id in ["web", "ios"] {
            let Ok(ProfileStep::Done(profile)) = next(&provider, Some(&token(client_id)), &[]) else {
                panic!("{client_id}")
            };
            assert_eq!(Value::Object(profile.claims.custom_claims.unwrap()), json!({"team": "t"}));
        }
        assert!(next(&provider, Some(&token("android")), &[]).is_err());
    }
}
