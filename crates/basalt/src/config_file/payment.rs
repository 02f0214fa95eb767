//! `[basalt.shop.payment]`: payment providers, download links, products.

use std::time::Duration;

use foundation::secret::Secret;
use gotrue_rules::domain::redirect::is_loopback_url;
use gotrue_rules::wire::go_duration::GoDuration;
use orders::settings::{ApiEndpoint, LemonSqueezySettings, PayPalSettings, PaymentSettings, StripeSettings};
use url::Url;

use super::chosen_secrets::{MIN_SECRET_LENGTH, SHORT_SECRET};
use super::read::Values;

const TABLE: &str = "basalt.shop.payment";
/// The addresses of the providers' APIs.
const STRIPE_API: &str = "https://api.stripe.com/";
const PAYPAL_API: &str = "https://api-m.paypal.com/";
const LEMON_SQUEEZY_API: &str = "https://api.lemonsqueezy.com/";
/// The highest number of downloads of a link.
const MAX_DOWNLOADS: u16 = 1000;

/// Parses the table; a faulty value is refused and left out.
pub(super) fn parse_payment(values: &Values, refuse: &mut dyn FnMut(&str, &str)) -> PaymentSettings {
    let mut settings = PaymentSettings::default();
    let text = |name: &str| find(values, name);
    if let Some(given) = text("download_validity") {
        let valid = Duration::from_mins(1)..=Duration::from_hours(365 * 24);
        match GoDuration::parse(&given).map(GoDuration::to_std).filter(|given| valid.contains(given)) {
            Some(given) => settings.download_validity = given,
            None => {
                refuse(&format!("{TABLE}.download_validity"), "must be a length of time from \"1m\" to \"8760h\"");
            }
        }
    }
    if let Some(given) = text("max_downloads") {
        match given.parse().ok().filter(|count| (1..=MAX_DOWNLOADS).contains(count)) {
            Some(count) => settings.max_downloads = count,
            None => {
                refuse(&format!("{TABLE}.max_downloads"), "must be how often a file can be downloaded, from 1 to 1000");
            }
        }
    }
    settings.products = text("products").map(Into::into);
    settings.allow_placeholder_links = text("allow_placeholder_links").is_some_and(|given| given == "true");
    settings.stripe = parse_stripe(values, refuse);
    settings.paypal = parse_paypal(values, refuse);
    settings.lemon_squeezy = parse_lemon_squeezy(values, refuse);
    settings
}

fn find(values: &Values, name: &str) -> Option<String> {
    values.text(&format!("{TABLE}.{name}")).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Returns a value that the provider's table must have.
fn require(values: &Values, name: &str, refuse: &mut dyn FnMut(&str, &str), what: &str) -> Option<String> {
    let found = find(values, name);
    // An unset variable is a problem already.
    let is_unset = values.unset.iter().any(|unset| unset.path.join(".") == format!("{TABLE}.{name}"));
    if found.is_none() && !is_unset {
        refuse(&format!("{TABLE}.{name}"), &format!("is missing: {what}"));
    }
    found
}

fn parse_api(values: &Values, provider: &str, usual: &str, refuse: &mut dyn FnMut(&str, &str)) -> Option<ApiEndpoint> {
    let ca_file = find(values, &format!("{provider}.ca_file")).map(Into::into);
    let name = format!("{provider}.api_url");
    let given = find(values, &name);
    let url = Url::parse(given.as_deref().unwrap_or(usual)).ok();
    let is_allowed = |url: &Url| {
        url.has_host()
            && url.query().is_none()
            && (url.scheme() == "https" || (url.scheme() == "http" && is_loopback_url(url.as_str())))
    };
    let Some(url) = url.filter(is_allowed) else {
        refuse(
            &format!("{TABLE}.{name}"),
            &format!("must be an https URL, such as \"{}\"", usual.trim_end_matches('/')),
        );
        return None;
    };
    Some(ApiEndpoint { url, ca_file })
}

/// Returns the secret that signs the events of a provider, which make orders paid.
fn require_secret(values: &Values, key: &str, refuse: &mut dyn FnMut(&str, &str), what: &str) -> Option<String> {
    let secret = require(values, key, refuse, what)?;
    if secret.len() < MIN_SECRET_LENGTH {
        refuse(&format!("{TABLE}.{key}"), SHORT_SECRET);
        return None;
    }
    Some(secret)
}

fn parse_stripe(values: &Values, refuse: &mut dyn FnMut(&str, &str)) -> Option<StripeSettings> {
    if !values.has_table(&format!("{TABLE}.stripe")) {
        return None;
    }
    let what = "the signing secret of the webhook, \"whsec_…\"";
    let webhook_secret = require_secret(values, "stripe.webhook_secret", refuse, what);
    let api = parse_api(values, "stripe", STRIPE_API, refuse);
    Some(StripeSettings {
        webhook_secret: Secret::new(webhook_secret?),
        api_key: find(values, "stripe.api_key").map(Secret::new),
        api: api?,
    })
}

fn parse_paypal(values: &Values, refuse: &mut dyn FnMut(&str, &str)) -> Option<PayPalSettings> {
    if !values.has_table(&format!("{TABLE}.paypal")) {
        return None;
    }
    let webhook_id = require(values, "paypal.webhook_id", refuse, "the id that PayPal shows for the webhook");
    let client_id = require(values, "paypal.client_id", refuse, "the client id of the REST app");
    let client_secret = require(values, "paypal.client_secret", refuse, "the secret of the REST app");
    let api = parse_api(values, "paypal", PAYPAL_API, refuse);
    Some(PayPalSettings {
        webhook_id: webhook_id?,
        client_id: client_id?,
        client_secret: Secret::new(client_secret?),
        api: api?,
        pinned: None,
    })
}

fn parse_lemon_squeezy(values: &Values, refuse: &mut dyn FnMut(&str, &str)) -> Option<LemonSqueezySettings> {
    if !values.has_table(&format!("{TABLE}.lemon_squeezy")) {
        return None;
    }
    let what = "the signing secret of the webhook";
    let webhook_secret = require_secret(values, "lemon_squeezy.webhook_secret", refuse, what);
    let api = parse_api(values, "lemon_squeezy", LEMON_SQUEEZY_API, refuse);
    Some(LemonSqueezySettings {
        webhook_secret: Secret::new(webhook_secret?),
        api_key: find(values, "lemon_squeezy.api_key").map(Secret::new),
        api: api?,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::ConfigFile;
    use super::*;

    fn read(text: &str) -> Result<PaymentSettings, Vec<String>> {
        let environment = |name: &str| Ok((name == "SECRET").then(|| "from the environment".to_owned()));
        ConfigFile::read(Path::new("config.toml"), text, &environment)
            .map(|file| file.basalt.payment)
            .map_err(|problems| problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn providers_are_read_with_their_defaults() {
        let text = "[basalt.shop.payment]\ndownload_validity = \"48h\"\nmax_downloads = 3\n\
                    [basalt.shop.payment.stripe]\nwebhook_secret = \"env(SECRET)\"\n\
                    [basalt.shop.payment.paypal]\nwebhook_id = \"1\"\nclient_id = \"2\"\nclient_secret = \"3\"\n\
                    api_url = \"https://api-m.sandbox.paypal.com\"\nca_file = \"ca.pem\"\n";
        let settings = read(text).expect("no problem");
        let stripe = settings.stripe.as_ref().expect("Stripe");
        assert_eq!(stripe.webhook_secret.reveal(), "from the environment");
        assert_eq!((stripe.api.url.as_str(), &stripe.api_key), (STRIPE_API, &None));
        let paypal = settings.paypal.as_ref().expect("PayPal");
        assert_eq!(paypal.api.url.host_str(), Some("api-m.sandbox.paypal.com"));
        assert_eq!(paypal.api.ca_file.as_deref(), Some(Path::new("ca.pem")));
        assert_eq!((settings.download_validity, settings.max_downloads), (Duration::from_hours(48), 3));
        assert!(settings.lemon_squeezy.is_none() && settings.has_provider());
        assert_eq!(read("[basalt.shop]").expect("no problem"), PaymentSettings::default());
    }

    #[test]
    fn problems_name_the_key_and_what_to_do() {
        for (text, expected) in [
            ("[basalt.shop.payment]\nmax_downloads = 0", "max_downloads must be how often"),
            ("[basalt.shop.payment]\ndownload_validity = \"soon\"", "download_validity must be a length of time"),
            ("[basalt.shop.payment.stripe]\napi_key = \"sk_1\"", "stripe.webhook_secret is missing"),
            ("[basalt.shop.payment.stripe]\nwebhook_secret = \"env(MISSING)\"", "the environment variable MISSING"),
            (
                "[basalt.shop.payment.stripe]\nwebhook_secret = \"a-secret-of-tests\"\napi_url = \"http://stripe.example\"",
                "stripe.api_url must be an https URL",
            ),
            (
                "[basalt.shop.payment.stripe]\nwebhook_secret = \"whsec_123456789\"",
                "stripe.webhook_secret has less than 16",
            ),
            ("[basalt.shop.payment.lemon_squeezy]\nwebhook_secret = \"secret\"", "webhook_secret has less than 16"),
            ("[basalt.inbox]\ntoken = \"123456789012345\"", "basalt.inbox.token has less than 16"),
            ("[basalt.shop.payment.paypal]\nwebhook_id = \"1\"", "paypal.client_secret is missing"),
            (
                "[basalt.shop.payment.lemon_squeezy]\nsecret = \"1\"",
                "basalt.shop.payment.lemon_squeezy.secret is not known",
            ),
        ] {
            let problems = read(text).expect_err("a problem");
            assert!(problems.iter().any(|problem| problem.contains(expected)), "{text}: {problems:?}");
        }
    }
}
