//! The registration of the auth API as a client of a provider.

use axum::http::HeaderMap;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use foundation::secret::Secret;
use gotrue_rules::domain::policy::ExternalProviderSettings;
use http::header::AUTHORIZATION;
use platform::request_info::parse_pairs;
use subtle::ConstantTimeEq;

use crate::catalog::CredentialRule;
use crate::parameters::Parameters;

/// The client registration of the auth API at a provider.
#[derive(Debug, Clone)]
pub(crate) struct ClientRegistration {
    pub client_id: String,
    /// The client secret.
    pub secret: Secret,
    /// The only allowed redirect URI.
    pub redirect_uri: String,
}

impl ClientRegistration {
    /// Returns the registration that complete settings contain.
    pub(crate) fn from_settings(settings: &ExternalProviderSettings) -> Self {
        Self {
            client_id: settings.client_ids.first().cloned().unwrap_or_default(),
            secret: settings.secret.clone(),
            redirect_uri: settings.redirect_uri.clone(),
        }
    }

    /// Authenticates the client by HTTP Basic, or by parameters of the form (RFC 6749 §2.3.1).
    pub(crate) fn is_authenticated(&self, headers: &HeaderMap, form: &Parameters, rule: CredentialRule) -> bool {
        let header = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let shown = match header {
            Some(header) if rule == CredentialRule::Any => parse_basic(header),
            _ => Some((form.get("client_id").to_owned(), form.get("client_secret").to_owned())),
        };
        shown.is_some_and(|(id, secret)| {
            let is_known = id.as_bytes().ct_eq(self.client_id.as_bytes());
            bool::from(is_known & secret.as_bytes().ct_eq(self.secret.reveal().as_bytes()))
        })
    }
}

/// Parses HTTP Basic credentials, which are form-encoded (RFC 6749 §2.3.1).
fn parse_basic(header: &str) -> Option<(String, String)> {
    let decoded = STANDARD.decode(header.strip_prefix("Basic ")?).ok()?;
    let decoded = String::from_utf8(decoded).ok()?;
    let (id, secret) = decoded.split_once(':')?;
    let unescape = |text: &str| parse_pairs(&format!("v={text}")).pop().map(|(_, value)| value);
    Some((unescape(id)?, unescape(secret)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn basic_credentials_are_form_decoded() {
        assert_eq!(parse_basic("Basic dStzOnMlM0ElMkYrdA=="), Some(("u s".to_owned(), "s:/ t".to_owned())));
        assert_eq!(parse_basic("Basic %"), None);
        assert_eq!(parse_basic("Bearer dStzOnMlM0ElMkYrdA=="), None);
    }

    proptest! {
        #[test]
        fn other_credentials_never_authenticate(header in "(Basic )?[A-Za-z0-9+/=]{0,40}", secret in ".{0,20}") {
            let registration = ClientRegistration {
                client_id: "basalt".to_owned(), secret: Secret::from("the secret"), redirect_uri: String::new()
            };
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, header.parse().expect("ASCII"));
            let form = Parameters::parse(&format!("client_id=basalt&client_secret={secret}"));
            prop_assert!(!registration.is_authenticated(&headers, &form, CredentialRule::Any));
            prop_assert!(!registration.is_authenticated(&headers, &form, CredentialRule::Form));
        }
    }
}
