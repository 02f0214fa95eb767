//! Whether a provider may be used, as far as its settings tell.

use super::provider::Provider;
use crate::domain::policy::ExternalProvider;

/// Why a provider cannot be used, in the words that `Unsupported provider: …` quotes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotUsable {
    /// There is no provider of that name, here in lower case.
    #[error("Provider {0} could not be found")]
    Unknown(String),
    /// It is switched off.
    #[error("provider is not enabled")]
    Off,
    /// The operator set no id of ours.
    #[error("missing OAuth client ID")]
    NoClientId,
    /// The operator set no secret of ours.
    #[error("missing OAuth secret")]
    NoSecret,
    /// The operator set no callback.
    #[error("missing redirect URI")]
    NoRedirectUri,
    /// Something else, in words of its own.
    #[error("{0}")]
    Other(String),
}

/// Whether the settings of a built-in provider suffice.
pub fn check(provider: &dyn Provider, settings: &ExternalProvider) -> Result<(), NotUsable> {
    if !settings.enabled {
        return Err(NotUsable::Off);
    }
    if settings.client_ids.is_empty() {
        return Err(NotUsable::NoClientId);
    }
    if settings.secret.is_empty() {
        return Err(NotUsable::NoSecret);
    }
    if settings.redirect_uri.is_empty() {
        return Err(NotUsable::NoRedirectUri);
    }
    provider.lacks(settings).map_or(Ok(()), |text| Err(NotUsable::Other(text.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::super::providers::find;
    use super::*;
    use crate::domain::secret::Secret;

    #[test]
    fn what_is_missing_is_told_one_after_the_other() {
        let github = find("GitHub").unwrap();
        let mut settings = ExternalProvider::default();
        assert_eq!(check(github, &settings), Err(NotUsable::Off));
        settings.enabled = true;
        assert_eq!(check(github, &settings), Err(NotUsable::NoClientId));
        settings.client_ids = vec!["us".into()];
        assert_eq!(check(github, &settings), Err(NotUsable::NoSecret));
        settings.secret = Secret::new("s");
        assert_eq!(check(github, &settings), Err(NotUsable::NoRedirectUri));
        settings.redirect_uri = "https://o/callback".into();
        assert_eq!(check(github, &settings), Ok(()));
    }
}
