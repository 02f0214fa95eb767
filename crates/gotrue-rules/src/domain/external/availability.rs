//! Checks whether a provider's settings allow its use.

use super::provider::Provider;
use crate::domain::policy::ExternalProviderSettings;

/// Why a provider cannot be used. Clients receive the text after `Unsupported provider: `.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderUnavailable {
    /// The provider does not exist; the name is in lower case.
    #[error("Provider {0} could not be found")]
    Unknown(String),
    /// The provider is disabled.
    #[error("provider is not enabled")]
    Disabled,
    #[error("missing OAuth client ID")]
    MissingClientId,
    /// The client secret is missing.
    #[error("missing OAuth secret")]
    MissingSecret,
    #[error("missing redirect URI")]
    MissingRedirectUri,
    /// Another missing setting, with its error text.
    #[error("{0}")]
    Other(String),
}

/// Checks that the settings of a built-in provider are complete.
pub fn validate_settings(
    provider: &dyn Provider,
    settings: &ExternalProviderSettings,
) -> Result<(), ProviderUnavailable> {
    if !settings.enabled {
        return Err(ProviderUnavailable::Disabled);
    }
    if settings.client_ids.is_empty() {
        return Err(ProviderUnavailable::MissingClientId);
    }
    if settings.secret.is_empty() {
        return Err(ProviderUnavailable::MissingSecret);
    }
    if settings.redirect_uri.is_empty() {
        return Err(ProviderUnavailable::MissingRedirectUri);
    }
    provider.missing_setting(settings).map_or(Ok(()), |text| Err(ProviderUnavailable::Other(text.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::super::providers::find;
    use super::*;
    use foundation::secret::Secret;

    #[test]
    fn missing_settings_are_reported_in_order() {
        let github = find("GitHub").unwrap();
        let mut settings = ExternalProviderSettings::default();
        assert_eq!(validate_settings(github, &settings), Err(ProviderUnavailable::Disabled));
        settings.enabled = true;
        assert_eq!(validate_settings(github, &settings), Err(ProviderUnavailable::MissingClientId));
        settings.client_ids = vec!["us".into()];
        assert_eq!(validate_settings(github, &settings), Err(ProviderUnavailable::MissingSecret));
        settings.secret = Secret::new("s");
        assert_eq!(validate_settings(github, &settings), Err(ProviderUnavailable::MissingRedirectUri));
        settings.redirect_uri = "https://o/callback".into();
        assert_eq!(validate_settings(github, &settings), Ok(()));
    }
}
