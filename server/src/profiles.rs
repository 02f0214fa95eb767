//! In what `basalt serve` and `basalt gotrue` differ, as values: everything below them reads a policy and knows neither.

use gotrue_rs::config::Config;
use gotrue_rules::domain::policy::{ExternalProvider, Policy};
use gotrue_rules::domain::redirect::is_loopback_url;
use gotrue_rules::domain::secret::Secret;

use crate::config_file::Basalt;
use crate::dev::provider::Registration;

/// Settings of `basalt serve`: [`Policy::hardened`] with the operator's proxies and limits.
pub fn serve(policy: &mut Policy, basalt: &Basalt) {
    *policy = std::mem::take(policy).hardened(basalt.trusted_proxies.clone(), basalt.limits);
}

/// Whether callers on this machine get the development pages: as the operator says, else where nothing in the configuration
/// is meant for other machines (site and server on loopback, no mail server).
pub fn has_development_pages(config: &Config, basalt: &Basalt) -> bool {
    let site = &config.policy.site;
    let is_development =
        is_loopback_url(&site.site_url) && is_loopback_url(&site.external_url) && config.smtp.is_none();
    basalt.development_pages.unwrap_or(is_development)
}

/// The development provider in the place of these.
pub fn stand_in(policy: &mut Policy, names: &[String], registration: &Registration) {
    let settings = ExternalProvider {
        enabled: true,
        client_ids: vec![registration.client_id.clone()],
        secret: Secret::from(registration.client_secret.as_str()),
        redirect_uri: registration.callback.clone(),
        url: registration.issuer.clone(),
        email_optional: true,
        ..ExternalProvider::default()
    };
    for name in names {
        policy.external.providers.insert(name.clone(), settings.clone());
    }
    policy.external.stood_in_for = names.to_vec();
}

/// The development page at `url` asks for consent where the operator has named none; whether it does.
pub fn ask_for_consent_at(policy: &mut Policy, url: &str) -> bool {
    let is_wanted = policy.oauth_server.enabled && policy.oauth_server.authorization_path.is_empty();
    if is_wanted {
        url.clone_into(&mut policy.oauth_server.consent_page);
    }
    is_wanted
}

/// `gotrue`: as the reference was recorded, but for what its operator sets. Its defaults are the policy's own.
pub fn gotrue(policy: &mut Policy) {
    policy.password.rehash_after_sign_in = false;
    policy.hooks.first_audience_is_list = true;
}
