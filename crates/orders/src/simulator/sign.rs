//! Signatures of simulated events.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use foundation::time::{Time, format_seconds};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue};
use platform::entropy::Entropy;
use rustls_pki_types::PrivatePkcs8KeyDer;
use rustls_pki_types::pem::PemObject;

use crate::order::Provider;
use crate::settings::{PayPalSettings, PaymentSettings};
use crate::webhook::{lemon_squeezy, paypal, stripe};

/// The public key pair of the simulator.
const KEY: &str = include_str!("key.pem");

/// Returns the headers of an event that is signed at a time.
pub(super) fn sign(
    settings: &PaymentSettings,
    provider: Provider,
    body: &[u8],
    at: Time,
    entropy: &Entropy,
) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut insert = |name: &'static str, value: String| {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    };
    match (provider, &settings.stripe, &settings.paypal, &settings.lemon_squeezy) {
        (Provider::Stripe, Some(account), _, _) => {
            insert(stripe::SIGNATURE, stripe::sign(body, &account.webhook_secret, at));
        }
        (Provider::LemonSqueezy, _, _, Some(account)) => {
            insert(lemon_squeezy::SIGNATURE, lemon_squeezy::sign(body, &account.webhook_secret));
        }
        (Provider::PayPal, _, Some(account), _) => {
            for (name, value) in paypal_headers(account, body, at, entropy) {
                insert(name, value);
            }
        }
        _ => {}
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers
}

fn paypal_headers(settings: &PayPalSettings, body: &[u8], at: Time, entropy: &Entropy) -> [(&'static str, String); 5] {
    let (id, time) = (entropy.uuid().to_string(), format_seconds(at));
    let message = paypal::format_message(&id, &time, &settings.webhook_id, body);
    let signature = sign_rsa(message.as_bytes()).unwrap_or_default();
    let url = settings.pinned.as_ref().map(|pinned| pinned.url.clone()).unwrap_or_default();
    [
        (paypal::TRANSMISSION_ID, id),
        (paypal::TRANSMISSION_TIME, time),
        (paypal::TRANSMISSION_SIGNATURE, STANDARD.encode(signature)),
        (paypal::CERTIFICATE_URL, url),
        (paypal::ALGORITHM, paypal::RSA_SHA256.to_owned()),
    ]
}

fn sign_rsa(message: &[u8]) -> Option<Vec<u8>> {
    let key = PrivatePkcs8KeyDer::from_pem_slice(KEY.as_bytes()).ok()?;
    let key = RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()).ok()?;
    let mut signature = vec![0; key.public_modulus_len()];
    key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature).ok()?;
    Some(signature)
}
