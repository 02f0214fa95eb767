//! The settings of a backend: those of the project, of the profile and of the development pages.

use std::sync::Arc;

use anyhow::bail;
use gotrue_rs::config::Config;
use gotrue_rules::domain::redirect::is_loopback_url;
use platform::clock::SharedClock;
use platform::entropy::Entropy;
use provider_simulator::Simulator;
use serde_json::{Map, Value};

use super::payment_checks::check_payments;
use super::test_profile;
use crate::api_keys::ApiKeys;
use crate::dev::consent;
use crate::dev::provider::simulator_options;
use crate::profiles;
use crate::project::Project;

/// Where a backend is reached.
#[derive(Debug, Clone)]
pub(super) struct Addresses {
    /// The URL for clients.
    pub url: String,
    /// The URL for this machine itself.
    pub origin: String,
}

/// The settings of a backend.
pub(super) struct Configured {
    /// The settings of the auth API.
    pub config: Config,
    /// The provider simulator, if it is enabled.
    pub provider: Option<Arc<Simulator>>,
    /// The built-in consent page, if the operator configures none.
    pub consent: Option<consent::ConsentPage>,
}

/// What the settings of a backend are made of.
#[derive(Clone, Copy)]
pub(super) struct BackendInputs<'a> {
    pub project: &'a Project,
    /// Where the backend is reached.
    pub addresses: &'a Addresses,
    pub keys: &'a ApiKeys,
    /// Generates secrets.
    pub entropy: &'a Entropy,
    pub clock: &'a SharedClock,
    /// For test servers: the signing key of access tokens.
    pub test_signing_key: Option<&'a Map<String, Value>>,
}

/// Returns the settings of a backend with the profile of `basalt serve`.
pub(super) fn configure(inputs: BackendInputs<'_>) -> anyhow::Result<Configured> {
    let BackendInputs { project, addresses, keys, test_signing_key, .. } = inputs;
    let mut config = project.settings(&addresses.url, keys)?;
    profiles::apply_serve_profile(&mut config, &project.file.basalt, &project.display_name());
    if let Some(signing_key) = test_signing_key {
        test_profile::apply_to_settings(&mut config, &project.file, &addresses.url, signing_key);
    }
    check_development_pages(project, &config)?;
    if test_signing_key.is_none() {
        check_payments(project, &config)?;
    }
    let provider = start_simulator(&mut config, &inputs)?;
    let consent_url = format!("{}{}", addresses.url, consent::PATH);
    let consent = profiles::use_consent_page(&mut config.policy, &consent_url).then(|| {
        tracing::info!(
            consent_url,
            "using the built-in consent page; auth.oauth_server.authorization_url_path names another one"
        );
        consent::ConsentPage::new(&addresses.url, &keys.publishable_key)
    });
    Ok(Configured { config, provider, consent })
}

/// Simulates the providers of `[basalt.provider] stands_in_for`, in a test run all enabled ones.
fn start_simulator(config: &mut Config, inputs: &BackendInputs<'_>) -> anyhow::Result<Option<Arc<Simulator>>> {
    let names = &inputs.project.file.basalt.stands_in_for;
    let is_test = inputs.test_signing_key.is_some();
    if names.is_empty() && !is_test {
        return Ok(None);
    }
    let options = simulator_options(&inputs.addresses.origin, &config.policy.site.external_url);
    let simulator = Simulator::new(options, Arc::clone(inputs.clock), inputs.entropy.fork())?;
    if is_test {
        simulator.apply_to_enabled(&mut config.policy);
    }
    simulator.apply(&mut config.policy, names.iter().map(String::as_str));
    Ok(Some(Arc::new(simulator)))
}

/// Rejects a provider simulator that is unreachable, and warns about mail that is discarded.
fn check_development_pages(project: &Project, config: &Config) -> anyhow::Result<()> {
    let basalt = &project.file.basalt;
    if profiles::has_development_pages(config, basalt) {
        return Ok(());
    }
    if !basalt.stands_in_for.is_empty() {
        bail!(
            "[basalt.provider] stands_in_for needs the development pages, which are off where site_url or external_url is no \
             address of this machine or mail goes to a mail server: leave it out, or set development_pages = true under [basalt]"
        );
    }
    if let Some(reason) = describe_discarded_mail(project, config) {
        tracing::warn!(reason, "no mail is delivered");
    }
    Ok(())
}

/// Returns why mail reaches neither a mail server nor an inbox, and what changes that.
pub(crate) fn describe_discarded_mail(project: &Project, config: &Config) -> Option<String> {
    let basalt = &project.file.basalt;
    if profiles::has_development_pages(config, basalt) || config.smtp.is_some() || basalt.inbox_token.is_some() {
        return None;
    }
    let site = &config.policy.site;
    let public = [("auth.site_url", &site.site_url), ("api.external_url", &site.external_url)];
    let cause = public.into_iter().find(|(_, url)| basalt.development_pages.is_none() && !is_loopback_url(url));
    let remedy = "set [auth.email.smtp], or development_pages or an inbox token under [basalt]";
    Some(match cause {
        None => format!("mail is discarded: {remedy}"),
        Some((key, url)) => format!(
            "mail is discarded because {key} is {url}, no address of this machine: {remedy}; for development set {key} to an \
             address of this machine, such as http://127.0.0.1:3000"
        ),
    })
}
