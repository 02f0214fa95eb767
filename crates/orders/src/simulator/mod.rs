//! A simulator of the payment providers, for development and tests.
//!
//! It signs events as the providers do and answers their APIs.
//!
//! Its key for PayPal's format is public. Only a service whose settings [`simulate`] completed trusts it.

mod api;
mod events;
mod purchase;
mod sign;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::TimeDelta;
use foundation::secret::Secret;
use http::HeaderMap;
use platform::entropy::Entropy;
use url::Url;

use crate::decision::Product;
use crate::order::{Order, Provider};
use crate::service::OrderService;
use crate::settings::{ApiEndpoint, LemonSqueezySettings, PayPalSettings, PaymentSettings, StripeSettings};
use crate::webhook::certificates::PinnedCertificate;
use crate::webhook::{WebhookOutcome, WebhookRejection};

pub use purchase::Purchase;

/// The path of the payment simulator.
pub const SIMULATOR_PATH: &str = "/_dev/payment";
/// The certificate of events in PayPal's format.
pub const CERTIFICATE: &str = include_str!("certificate.pem");
/// The path of the certificate below the simulated API.
const CERTIFICATE_PATH: &str = "v1/notifications/certs/simulated";
/// The maximum number of checkouts that the simulated APIs know.
const MAX_CHECKOUTS: usize = 1000;

/// Completes settings by simulated providers in place of those that are not configured.
///
/// `api` is the base URL of [`Simulator::answer_api`].
pub fn simulate(settings: PaymentSettings, api: &Url, entropy: &Entropy) -> PaymentSettings {
    let endpoint = || ApiEndpoint { url: api.clone(), ca_file: None };
    let secret = || Secret::new(entropy.base32(32));
    let certificate_url = format!("{}/{CERTIFICATE_PATH}", api.as_str().trim_end_matches('/'));
    PaymentSettings {
        stripe: settings
            .stripe
            .or_else(|| Some(StripeSettings { webhook_secret: secret(), api_key: Some(secret()), api: endpoint() })),
        paypal: settings.paypal.or_else(|| {
            Some(PayPalSettings {
                webhook_id: entropy.base32(17),
                client_id: "simulated".to_owned(),
                client_secret: secret(),
                api: endpoint(),
                pinned: Some(PinnedCertificate { url: certificate_url, pem: CERTIFICATE }),
            })
        }),
        lemon_squeezy: settings.lemon_squeezy.or_else(|| {
            Some(LemonSqueezySettings { webhook_secret: secret(), api_key: Some(secret()), api: endpoint() })
        }),
        ..settings
    }
}

/// How an event is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryMode {
    Once,
    /// Twice, with the same content.
    Repeated,
    /// With a signature of last week.
    Stale,
    /// With a signature by another key.
    Forged,
}

impl DeliveryMode {
    pub const ALL: [Self; 4] = [Self::Once, Self::Repeated, Self::Stale, Self::Forged];

    /// Returns the name in forms.
    pub fn name(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Repeated => "repeated",
            Self::Stale => "stale",
            Self::Forged => "forged",
        }
    }

    /// Returns the mode of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// Returns how long ago events are signed.
    fn age(self) -> TimeDelta {
        if self == Self::Stale { TimeDelta::days(7) } else { TimeDelta::zero() }
    }
}

/// An event with its headers.
#[derive(Debug, Clone)]
pub struct SignedEvent {
    /// The headers of the signature.
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

/// The simulated providers of a service.
pub struct Simulator {
    service: Arc<OrderService>,
    entropy: Entropy,
    /// Orders at PayPal and sessions at Stripe, by their ids.
    checkouts: Mutex<BTreeMap<String, Checkout>>,
}

/// What the APIs tell about a checkout.
#[derive(Debug, Clone)]
struct Checkout {
    email: String,
    quantity: u16,
}

/// What a service answered to an event.
pub type Answer = Result<WebhookOutcome, WebhookRejection>;

impl Simulator {
    /// Creates the simulator of a service.
    pub fn new(service: Arc<OrderService>, entropy: Entropy) -> Self {
        Self { service, entropy, checkouts: Mutex::default() }
    }

    /// Returns the service.
    pub fn service(&self) -> &OrderService {
        &self.service
    }

    /// Returns the providers whose events can be signed.
    pub fn list_providers(&self) -> impl Iterator<Item = Provider> + '_ {
        let can_sign = |provider: &Provider| match provider {
            Provider::PayPal => self.service.settings.paypal.as_ref().is_some_and(|paypal| paypal.pinned.is_some()),
            other => self.service.settings.has(*other),
        };
        Provider::ALL.into_iter().filter(can_sign)
    }

    /// Returns the templates on sale.
    pub fn list_products(&self) -> Vec<Product> {
        (self.service.list_products)()
    }

    /// Pays, and delivers the event to the service; returns its answers, and the query with which the buyer is sent back.
    pub async fn pay(&self, purchase: Purchase<'_>, mode: DeliveryMode) -> (Vec<Answer>, String) {
        let id = self.entropy.base32(16);
        let known_as = match purchase.provider {
            Provider::PayPal => Some(events::paypal_order(&id)),
            other => events::checkout(other, &id),
        };
        if let Some(known_as) = known_as {
            self.insert_checkout(known_as, purchase);
        }
        let answers = self.deliver(purchase.provider, &events::payment(purchase, &id), mode).await;
        (answers, events::return_query(purchase, &id))
    }

    /// Refunds an order, and delivers the event to the service; returns its answers.
    pub async fn refund(&self, order: &Order, mode: DeliveryMode) -> Vec<Answer> {
        let event = events::refund(order, &self.entropy.base32(16));
        self.deliver(order.provider, &event, mode).await
    }

    /// Signs an event at this moment or earlier.
    pub fn sign(&self, provider: Provider, body: &[u8], mode: DeliveryMode) -> SignedEvent {
        let at = self.service.clock.now() - mode.age();
        let other = [body, b" "].concat();
        // The signature of a forged event is that of another body.
        let signed = if mode == DeliveryMode::Forged { &other } else { body };
        let headers = sign::sign(&self.service.settings, provider, signed, at, &self.entropy);
        SignedEvent { headers, body: body.to_owned() }
    }

    async fn deliver(&self, provider: Provider, body: &[u8], mode: DeliveryMode) -> Vec<Answer> {
        let event = self.sign(provider, body, mode);
        let times = if mode == DeliveryMode::Repeated { 2 } else { 1 };
        let mut answers = Vec::new();
        for _ in 0..times {
            answers.push(self.service.receive(provider, &event.headers, &event.body).await);
        }
        answers
    }

    fn insert_checkout(&self, id: String, purchase: Purchase<'_>) {
        let mut checkouts = self.checkouts.lock().unwrap_or_else(PoisonError::into_inner);
        if checkouts.len() >= MAX_CHECKOUTS {
            checkouts.pop_first();
        }
        checkouts.insert(id, Checkout { email: purchase.email.to_owned(), quantity: purchase.quantity });
    }

    fn find_checkout(&self, id: &str) -> Option<Checkout> {
        self.checkouts.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }
}
