//! The signatures of events, and the certificates that PayPal signs with.

use std::sync::Arc;

use foundation::time::Time;

use super::certificates::{Chain, is_certificate_url, parse_chain, verify_pinned};
use super::paypal::Transmission;
use super::{Delivery, WebhookRejection, lemon_squeezy, paypal, stripe};
use crate::event::PaymentEvent;
use crate::order::Provider;
use crate::service::OrderService;
use crate::settings::PayPalSettings;

impl OrderService {
    /// Verifies the signature of an event and parses it.
    pub(super) async fn verify(
        &self,
        provider: Provider,
        delivery: Delivery<'_>,
        now: Time,
    ) -> Result<PaymentEvent, WebhookRejection> {
        let missing = || WebhookRejection::NotConfigured(provider);
        let Delivery { headers, body, .. } = delivery;
        match provider {
            Provider::Stripe => {
                let settings = self.settings.stripe.as_ref().ok_or_else(missing)?;
                stripe::verify(headers, body, &settings.webhook_secret, now)?;
                stripe::parse(body)
            }
            Provider::LemonSqueezy => {
                let settings = self.settings.lemon_squeezy.as_ref().ok_or_else(missing)?;
                lemon_squeezy::verify(headers, body, &settings.webhook_secret)?;
                lemon_squeezy::parse(body)
            }
            Provider::PayPal => {
                let settings = self.settings.paypal.as_ref().ok_or_else(missing)?;
                self.verify_paypal(settings, delivery, now).await?;
                let host = settings.api.url.host_str().unwrap_or_default();
                paypal::parse(body, settings.pinned.is_some() || host.contains("sandbox"))
            }
        }
    }

    async fn verify_paypal(
        &self,
        settings: &PayPalSettings,
        delivery: Delivery<'_>,
        now: Time,
    ) -> Result<(), WebhookRejection> {
        let transmission = Transmission::read(delivery.headers)?;
        transmission.check_age(now)?;
        let message = transmission.message(&settings.webhook_id, delivery.body);
        let (url, message, signature) = (&transmission.certificate_url, message.as_bytes(), &transmission.signature);
        if let Some(pinned) = settings.pinned.as_ref().filter(|pinned| pinned.url == *url) {
            return verify_pinned(pinned.pem, message, signature, now);
        }
        if !is_certificate_url(url, &settings.api.url) {
            return Err(WebhookRejection::Forged);
        }
        if let Some(chain) = self.certificates.find(url) {
            let verified = self.certificates.verify(&chain, message, signature, now).await;
            if matches!(verified, Err(WebhookRejection::Certificate(_))) {
                self.certificates.evict(url);
            }
            return verified;
        }
        let _permit = self.certificates.begin_reading(delivery.network, now)?;
        let chain = self.read_certificate(url).await?;
        let verified = self.certificates.verify(&chain, message, signature, now).await;
        // The chain of a forged event may be a valid one, which need not be read again.
        if !matches!(verified, Err(WebhookRejection::Certificate(_))) {
            self.certificates.keep(url, chain, delivery.network);
        }
        verified
    }

    async fn read_certificate(&self, url: &str) -> Result<Chain, WebhookRejection> {
        let read = self.api.fetch(Provider::PayPal, url).await;
        let pem = read.map_err(|error| WebhookRejection::Certificate(error.to_string()))?;
        Ok(Arc::new(parse_chain(&pem)?))
    }
}
