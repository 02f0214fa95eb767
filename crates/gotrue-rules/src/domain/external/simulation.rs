//! Sends the requests of an external provider to a simulator, for development and tests.
//!
//! Only URLs change: a provider keeps its endpoints, parameters, issuer and response formats.

use super::provider::ProviderConfig;
use crate::domain::policy::ExternalProviderSettings;
use crate::domain::redirect::go_url::form_encode;

/// Parameters of a client that name the user of a simulated sign-in, also where the provider has none.
const HINTS: [&str; 2] = ["login_hint", "prompt"];

impl ExternalProviderSettings {
    /// Whether the provider is simulated.
    pub fn is_simulated(&self) -> bool {
        !self.simulator_url.is_empty()
    }

    /// Returns the URL that stands for a URL of the provider: below the simulator's, its host and path.
    /// Without a simulator, and for a URL of the simulator, it is the same URL.
    pub fn request_url(&self, url: &str) -> String {
        let is_simulators = url.strip_prefix(&self.simulator_url).is_some_and(|rest| rest.starts_with('/'));
        match url.split_once("://") {
            Some((_, rest)) if self.is_simulated() && !is_simulators => format!("{}/{rest}", self.simulator_url),
            _ => url.to_owned(),
        }
    }

    /// Returns the URL of the simulated discovery document of an issuer; `None` without a simulator.
    pub fn simulated_discovery_url(&self, issuer: &str) -> Option<String> {
        let base = issuer.strip_suffix('/').unwrap_or(issuer);
        self.is_simulated().then(|| self.request_url(&format!("{base}/.well-known/openid-configuration")))
    }
}

impl ProviderConfig {
    /// Forwards the client's parameters if the provider is simulated, so that they can name the user.
    #[must_use]
    pub fn for_settings(self, settings: &ExternalProviderSettings) -> Self {
        Self { forwards_client_params: self.forwards_client_params || settings.is_simulated(), ..self }
    }
}

/// Returns the query pairs, each after `&`, that name the user of a simulated OAuth 1.0a sign-in.
pub fn format_hints(client_params: &[(String, String)]) -> String {
    let members: Vec<_> = HINTS
        .iter()
        .filter_map(|hint| client_params.iter().find(|(name, _)| name == hint))
        .map(|(name, value)| (name.clone().into_bytes(), value.clone().into_bytes()))
        .collect();
    if members.is_empty() { String::new() } else { format!("&{}", form_encode(&members)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn simulated() -> ExternalProviderSettings {
        ExternalProviderSettings { simulator_url: "http://127.0.0.1:1/p/google".into(), ..Default::default() }
    }

    #[test]
    fn url_of_provider_is_below_simulator_with_host_and_path() {
        let table = [
            ("https://accounts.google.com", "http://127.0.0.1:1/p/google/accounts.google.com"),
            ("https://a.example.com:444/b?c=d", "http://127.0.0.1:1/p/google/a.example.com:444/b?c=d"),
            ("http://127.0.0.1:1/p/google/x/y", "http://127.0.0.1:1/p/google/x/y"),
            ("http://127.0.0.1:1/p/googlemail", "http://127.0.0.1:1/p/google/127.0.0.1:1/p/googlemail"),
            ("no URL", "no URL"),
        ];
        for (url, expected) in table {
            assert_eq!(simulated().request_url(url), expected);
            assert_eq!(ExternalProviderSettings::default().request_url(url), url);
        }
    }

    #[test]
    fn discovery_document_is_below_simulator_or_unchanged() {
        let expected = "http://127.0.0.1:1/p/google/a.example.com/t/.well-known/openid-configuration";
        assert_eq!(simulated().simulated_discovery_url("https://a.example.com/t/").as_deref(), Some(expected));
        assert_eq!(ExternalProviderSettings::default().simulated_discovery_url("https://a.example.com"), None);
    }

    #[test]
    fn hints_are_taken_from_client_parameters() {
        let pairs = [("prompt", "none"), ("state", "x"), ("login_hint", "a&b")];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(format_hints(&pairs), "&login_hint=a%26b&prompt=none");
        assert_eq!(format_hints(&[]), "");
    }
}
