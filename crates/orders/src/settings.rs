//! The settings of `[basalt.shop.payment]`.

use std::path::PathBuf;
use std::time::Duration;

use foundation::secret::Secret;
use url::Url;

use crate::order::Provider;
use crate::webhook::certificates::PinnedCertificate;

/// Where a provider's API is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiEndpoint {
    /// Its base URL.
    pub url: Url,
    /// Roots that replace the system's, as PEM.
    pub ca_file: Option<PathBuf>,
}

/// `[basalt.shop.payment.stripe]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StripeSettings {
    /// The secret that signs events.
    pub webhook_secret: Secret,
    /// The key of the API, for refunds.
    pub api_key: Option<Secret>,
    pub api: ApiEndpoint,
}

/// `[basalt.shop.payment.paypal]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PayPalSettings {
    /// The id of the webhook, which is part of what is signed.
    pub webhook_id: String,
    /// The client id of the API.
    pub client_id: String,
    /// The client secret of the API.
    pub client_secret: Secret,
    /// The API, which also has the certificates that sign events.
    pub api: ApiEndpoint,
    /// The certificate of a simulator.
    pub pinned: Option<PinnedCertificate>,
}

/// `[basalt.shop.payment.lemon_squeezy]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LemonSqueezySettings {
    /// The secret that signs events.
    pub webhook_secret: Secret,
    /// The key of the API, for refunds.
    pub api_key: Option<Secret>,
    pub api: ApiEndpoint,
}

/// `[basalt.shop.payment]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaymentSettings {
    /// Stripe, if it is configured.
    pub stripe: Option<StripeSettings>,
    /// PayPal, if it is configured.
    pub paypal: Option<PayPalSettings>,
    /// Lemon Squeezy, if it is configured.
    pub lemon_squeezy: Option<LemonSqueezySettings>,
    /// How long a download link is valid.
    pub download_validity: Duration,
    /// How often the file of one link can be downloaded.
    pub max_downloads: u16,
    /// The folder of the products; `None` for the installed one.
    pub products: Option<PathBuf>,
    /// Whether a public shop may have links that lead nowhere.
    pub allow_placeholder_links: bool,
}

impl PaymentSettings {
    /// The validity of a link if none is configured.
    pub const DEFAULT_VALIDITY: Duration = Duration::from_hours(7 * 24);
    /// The downloads of a link if no number is configured.
    pub const DEFAULT_DOWNLOADS: u16 = 10;

    /// Returns whether a provider is configured.
    pub fn has_provider(&self) -> bool {
        Provider::ALL.into_iter().any(|provider| self.has(provider))
    }

    /// Returns whether this provider is configured.
    pub fn has(&self, provider: Provider) -> bool {
        match provider {
            Provider::Stripe => self.stripe.is_some(),
            Provider::PayPal => self.paypal.is_some(),
            Provider::LemonSqueezy => self.lemon_squeezy.is_some(),
        }
    }

    /// Returns the API of a configured provider.
    pub fn api(&self, provider: Provider) -> Option<&ApiEndpoint> {
        match provider {
            Provider::Stripe => self.stripe.as_ref().map(|stripe| &stripe.api),
            Provider::PayPal => self.paypal.as_ref().map(|paypal| &paypal.api),
            Provider::LemonSqueezy => self.lemon_squeezy.as_ref().map(|lemon_squeezy| &lemon_squeezy.api),
        }
    }
}

impl Default for PaymentSettings {
    fn default() -> Self {
        Self {
            stripe: None,
            paypal: None,
            lemon_squeezy: None,
            download_validity: Self::DEFAULT_VALIDITY,
            max_downloads: Self::DEFAULT_DOWNLOADS,
            products: None,
            allow_placeholder_links: false,
        }
    }
}
