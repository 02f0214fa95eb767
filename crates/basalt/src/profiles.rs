//! The differences between `basalt serve` and `basalt gotrue`, as policy values.
//! Everything below the binary reads a policy and knows neither profile.

use gotrue_rs::config::Config;
use gotrue_rules::domain::policy::{PasswordHash, Policy};
use gotrue_rules::domain::redirect::is_loopback_url;

use url::{Host, Url};

use crate::config_file::BasaltSettings;

/// Applies the profile of `basalt serve`: [`Policy::hardened`] with the operator's settings.
///
/// Mails name `project`, unless the host of its site is a name that readers know. It is the name of a mail server's sender
/// that has none.
pub(crate) fn apply_serve_profile(config: &mut Config, basalt: &BasaltSettings, project: &str) {
    if let Some(smtp) = config.smtp.as_mut().filter(|smtp| smtp.sender_name.is_empty()) {
        project.clone_into(&mut smtp.sender_name);
    }
    let policy = &mut config.policy;
    *policy = std::mem::take(policy).hardened(basalt.trusted_proxies.clone(), basalt.limits);
    if basalt.keeps_bcrypt {
        policy.password.hash = PasswordHash::default();
        policy.password.should_rehash_after_sign_in = false;
    }
    policy.api.shows_own_version = true;
    let mut brand = basalt.mail_brand.clone();
    let site = Url::parse(&policy.site.site_url).ok();
    let is_named =
        site.is_some_and(|url| matches!(url.host(), Some(Host::Domain(_))) && !is_loopback_url(url.as_str()));
    if brand.name.is_none() && !is_named {
        brand.name = Some(project.to_owned());
    }
    policy.mail.brand = Some(brand);
}

/// Returns whether callers on this machine may use the development pages.
/// The operator's setting decides; without one they are on if nothing in the configuration is for other machines (site
/// and server on loopback, no mail server).
pub(crate) fn has_development_pages(config: &Config, basalt: &BasaltSettings) -> bool {
    let site = &config.policy.site;
    let is_development =
        is_loopback_url(&site.site_url) && is_loopback_url(&site.external_url) && config.smtp.is_none();
    basalt.development_pages.unwrap_or(is_development)
}

/// Sets the development consent page at `url` if the operator configures none; returns whether it did.
pub(crate) fn use_consent_page(policy: &mut Policy, url: &str) -> bool {
    let is_wanted = wants_consent_page(policy);
    if is_wanted {
        url.clone_into(&mut policy.oauth_server.consent_page);
    }
    is_wanted
}

/// Returns whether users decide about OAuth clients and the operator configures no page for it.
pub(crate) fn wants_consent_page(policy: &Policy) -> bool {
    policy.oauth_server.enabled && policy.oauth_server.authorization_path.is_empty()
}

/// Applies the profile of `basalt gotrue`: GoTrue's recorded behaviour with the operator's settings.
/// GoTrue's defaults are those of the policy.
pub(crate) fn apply_gotrue_profile(policy: &mut Policy) {
    policy.password.should_rehash_after_sign_in = false;
    policy.hooks.is_first_audience_list = true;
}
