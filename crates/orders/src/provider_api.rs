//! Calls of the providers' APIs: refunds, buyers, certificates.

use std::time::Duration;

use platform::http_client::{HttpClient, HttpError, HttpResponse, OutboundOptions, ResponseLimits, TrustedRoots};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::order::{Order, Provider};
use crate::settings::{ApiEndpoint, PayPalSettings, PaymentSettings};
use crate::webhook::json::{find_address, find_only_quantity, find_reference, find_text};

const LIMITS: ResponseLimits = ResponseLimits { bytes: 256 * 1024, time: Duration::from_secs(15) };
/// The longest reason of a provider that is passed on, in characters.
const MAX_REASON: usize = 300;

/// The purchases of an order at PayPal that are read, and their items.
const MAX_ITEMS: usize = 20;

/// The APIs of the configured providers.
#[derive(Debug)]
pub struct ProviderApi {
    clients: Vec<(Provider, HttpClient)>,
}

/// Why a call had no result.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The provider or its key is not configured.
    #[error("{0} has no key of its API in [basalt.shop.payment]")]
    NotConfigured(&'static str),
    /// There is no response.
    #[error("the payment provider could not be reached: {0}")]
    Unreachable(#[from] HttpError),
    /// The provider is overloaded or broken, so that another attempt can succeed.
    #[error("the payment provider cannot answer now: {0}")]
    Unavailable(String),
    /// The provider refused, with its reason.
    #[error("the payment provider refused: {0}")]
    Refused(String),
}

/// The result of a refund at the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefundResult {
    /// The money is returned.
    Refunded,
    /// The money was returned before.
    AlreadyRefunded,
}

/// What an order at PayPal says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PayPalOrder {
    /// The address of the buyer.
    pub email: Option<String>,
    /// What may identify the template: `custom_id` and `invoice_id` of the purchase, `sku` of its items.
    pub references: Vec<String>,
    pub item_names: Vec<String>,
    /// The copies of its only item.
    pub quantity: Option<u32>,
}

impl PayPalOrder {
    fn parse(body: &Value) -> Self {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let units: Vec<Value> = list(&body["purchase_units"]).into_iter().take(MAX_ITEMS).collect();
        let items: Vec<Value> = units.iter().flat_map(|unit| list(&unit["items"])).take(MAX_ITEMS).collect();
        let of_units =
            units.iter().flat_map(|unit| ["/custom_id", "/invoice_id"].map(|path| find_reference(unit, path)));
        let of_items = items.iter().map(|item| find_reference(item, "/sku"));
        Self {
            email: find_address(body, "/payer/email_address"),
            references: of_units.chain(of_items).flatten().collect(),
            quantity: find_only_quantity(&Value::Array(items.clone()), "quantity"),
            item_names: items.iter().filter_map(|item| find_text(item, "/name")).map(str::to_owned).collect(),
        }
    }
}

impl ProviderApi {
    /// Creates a client for each configured provider.
    pub fn new(settings: &PaymentSettings, outbound: &OutboundOptions) -> Self {
        let clients = Provider::ALL.into_iter().filter_map(|provider| {
            let api = settings.api(provider)?;
            let mut options = outbound.clone();
            if let Some(roots) = TrustedRoots::of_files(api.ca_file.as_deref(), None) {
                options.trusted_roots = Some(roots);
            }
            Some((provider, HttpClient::new(options)))
        });
        Self { clients: clients.collect() }
    }

    /// Returns the whole amount of an order; repeated calls return it once.
    ///
    /// A request without an amount returns what is left, so that providers refuse the second one. It has no idempotency key:
    /// with one, Stripe repeats its first response for a day, and PayPal the state of the first request, refusals included.
    /// <https://docs.stripe.com/api/idempotent_requests>, <https://developer.paypal.com/api/rest/reference/idempotency/>
    ///
    /// # Errors
    /// The provider refuses or cannot be reached.
    pub async fn refund(&self, settings: &PaymentSettings, order: &Order) -> Result<RefundResult, ApiError> {
        let response = match order.provider {
            Provider::Stripe => self.refund_stripe(settings, order).await?,
            Provider::PayPal => self.refund_paypal(settings, order).await?,
            Provider::LemonSqueezy => self.refund_lemon_squeezy(settings, order).await?,
        };
        if (200..300).contains(&response.status) {
            return Ok(RefundResult::Refunded);
        }
        let body = parse(&response);
        let is_refunded = body["error"]["code"] == "charge_already_refunded"
            || body["details"]
                .as_array()
                .is_some_and(|all| all.iter().any(|detail| detail["issue"] == "CAPTURE_FULLY_REFUNDED"));
        if is_refunded { Ok(RefundResult::AlreadyRefunded) } else { Err(refusal(&response, &body)) }
    }

    async fn refund_stripe(&self, settings: &PaymentSettings, order: &Order) -> Result<HttpResponse, ApiError> {
        let missing = ApiError::NotConfigured("stripe");
        let Some((stripe, key)) = settings.stripe.as_ref().and_then(|stripe| Some((stripe, stripe.api_key.as_ref()?)))
        else {
            return Err(missing);
        };
        let request = self.request(Provider::Stripe, Method::POST, &stripe.api, "v1/refunds")?;
        let request = request.bearer_auth(key.reveal()).form(&[("payment_intent", order.provider_reference.as_str())]);
        self.send(Provider::Stripe, request).await
    }

    async fn refund_paypal(&self, settings: &PaymentSettings, order: &Order) -> Result<HttpResponse, ApiError> {
        let paypal = settings.paypal.as_ref().ok_or(ApiError::NotConfigured("paypal"))?;
        let token = self.paypal_token(paypal).await?;
        let path = format!("v2/payments/captures/{}/refund", order.provider_reference);
        let request = self.request(Provider::PayPal, Method::POST, &paypal.api, &path)?;
        self.send(Provider::PayPal, request.bearer_auth(token).json(&json!({}))).await
    }

    async fn refund_lemon_squeezy(&self, settings: &PaymentSettings, order: &Order) -> Result<HttpResponse, ApiError> {
        let missing = ApiError::NotConfigured("lemon_squeezy");
        let Some((lemon, key)) =
            settings.lemon_squeezy.as_ref().and_then(|lemon| Some((lemon, lemon.api_key.as_ref()?)))
        else {
            return Err(missing);
        };
        let path = format!("v1/orders/{}/refund", order.provider_reference);
        let request = self.request(Provider::LemonSqueezy, Method::POST, &lemon.api, &path)?;
        let body = json!({ "data": { "type": "orders", "id": order.provider_reference, "attributes": {} } });
        let request = request
            .bearer_auth(key.reveal())
            .header("accept", "application/vnd.api+json")
            .header("content-type", "application/vnd.api+json")
            .body(body.to_string());
        self.send(Provider::LemonSqueezy, request).await
    }

    /// Returns what an order at PayPal says about its buyer and its purchase.
    ///
    /// # Errors
    /// PayPal refuses or cannot be reached.
    pub async fn find_paypal_order(&self, settings: &PayPalSettings, order: &str) -> Result<PayPalOrder, ApiError> {
        let token = self.paypal_token(settings).await?;
        let path = format!("v2/checkout/orders/{order}");
        let request = self.request(Provider::PayPal, Method::GET, &settings.api, &path)?.bearer_auth(token);
        let response = self.send(Provider::PayPal, request).await?;
        let body = parse(&response);
        if !(200..300).contains(&response.status) {
            return Err(refusal(&response, &body));
        }
        Ok(PayPalOrder::parse(&body))
    }

    /// Returns how many copies a checkout at Stripe was for, which its events do not say.
    ///
    /// <https://docs.stripe.com/api/checkout/sessions/line_items>
    ///
    /// # Errors
    /// Stripe refuses or cannot be reached, or there is no key of its API.
    pub async fn find_stripe_quantity(
        &self,
        settings: &PaymentSettings,
        session: &str,
    ) -> Result<Option<u32>, ApiError> {
        let stripe = settings.stripe.as_ref().ok_or(ApiError::NotConfigured("stripe"))?;
        let key = stripe.api_key.as_ref().ok_or(ApiError::NotConfigured("stripe"))?;
        let path = format!("v1/checkout/sessions/{session}/line_items");
        let request = self.request(Provider::Stripe, Method::GET, &stripe.api, &path)?.bearer_auth(key.reveal());
        let response = self.send(Provider::Stripe, request).await?;
        let body = parse(&response);
        if response.status != 200 {
            return Err(refusal(&response, &body));
        }
        Ok(find_only_quantity(&body["data"], "quantity"))
    }

    /// Returns a token of PayPal's API.
    async fn paypal_token(&self, settings: &PayPalSettings) -> Result<String, ApiError> {
        let request = self.request(Provider::PayPal, Method::POST, &settings.api, "v1/oauth2/token")?;
        let request = request
            .basic_auth(&settings.client_id, Some(settings.client_secret.reveal()))
            .form(&[("grant_type", "client_credentials")]);
        let response = self.send(Provider::PayPal, request).await?;
        let body = parse(&response);
        let token = body["access_token"].as_str().filter(|_| response.status == 200);
        token.map(str::to_owned).ok_or_else(|| refusal(&response, &body))
    }

    /// Reads a file of a provider's host.
    ///
    /// # Errors
    /// There is no response, or not the file.
    pub async fn fetch(&self, provider: Provider, url: &str) -> Result<Vec<u8>, ApiError> {
        let request = self.client(provider)?.get_client_without_redirects()?.get(url);
        let response = self.send(provider, request).await?;
        if response.status != 200 || response.is_truncated {
            return Err(ApiError::Refused(format!("status {}", response.status)));
        }
        Ok(response.body)
    }

    fn client(&self, provider: Provider) -> Result<&HttpClient, ApiError> {
        let found = self.clients.iter().find(|(known, _)| *known == provider);
        found.map(|(_, client)| client).ok_or(ApiError::NotConfigured(provider.name()))
    }

    fn request(
        &self,
        provider: Provider,
        method: Method,
        api: &ApiEndpoint,
        path: &str,
    ) -> Result<RequestBuilder, ApiError> {
        let url = format!("{}/{path}", api.url.as_str().trim_end_matches('/'));
        Ok(self.client(provider)?.get_client_without_redirects()?.request(method, url))
    }

    async fn send(&self, provider: Provider, request: RequestBuilder) -> Result<HttpResponse, ApiError> {
        let request = request.build().map_err(HttpError::from)?;
        Ok(self.client(provider)?.send_without_redirects(provider.name(), request, LIMITS).await?)
    }
}

fn parse(response: &HttpResponse) -> Value {
    serde_json::from_slice(&response.body).unwrap_or_default()
}

/// Returns the error of a call that failed: the status tells whether another attempt can succeed.
fn refusal(response: &HttpResponse, body: &Value) -> ApiError {
    let (status, stated) = (response.status, reason(response, body));
    match status {
        429 | 500.. if stated.starts_with("status ") => ApiError::Unavailable(stated),
        429 | 500.. => ApiError::Unavailable(format!("status {status}: {stated}")),
        _ => ApiError::Refused(stated),
    }
}

/// Returns what a provider says about a refused call, without control characters.
fn reason(response: &HttpResponse, body: &Value) -> String {
    const PLACES: [&str; 5] =
        ["/error/message", "/details/0/description", "/message", "/error_description", "/errors/0/detail"];
    let stated = PLACES.iter().find_map(|place| body.pointer(place)?.as_str());
    let text = stated.map_or_else(|| format!("status {}", response.status), str::to_owned);
    text.chars().filter(|character| !character.is_control()).take(MAX_REASON).collect()
}
