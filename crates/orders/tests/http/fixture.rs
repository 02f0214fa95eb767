//! A shop with simulated providers on a test database.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::Request;
use axum::response::Response;
use foundation::mail_brand::MailBrand;
use orders::decision::Product;
use orders::products::ProductFolder;
use orders::settings::PaymentSettings;
use orders::simulator::{DeliveryMode, Simulator, simulate};
use orders::webhook::{WebhookOutcome, WebhookRejection};
use orders::{OrderService, Provider, SellerDocument, SellerIdentity, ServicePorts, ShopFacts, ShopFonts};
use platform::entropy::Entropy;
use platform::http_client::OutboundOptions;
use platform::mail::outbox::{MailDestination, Outbox};
use platform::store::Pool;
use platform::store::outbox::OutboxTable;
use platform::testing::FakeClock;
use platform::testing::TestDatabase;
use serde_json::{Value, json};
use tower::ServiceExt;
use url::Url;

pub(crate) struct TestShop {
    pub database: Arc<TestDatabase>,
    pub pool: Pool,
    pub clock: FakeClock,
    pub service: Arc<OrderService>,
    pub simulator: Simulator,
    /// The templates on sale.
    pub products: Arc<Mutex<Vec<Product>>>,
}

impl TestShop {
    pub(crate) async fn start() -> Self {
        let database = Arc::new(TestDatabase::clone_basalt().await);
        let clock = FakeClock::at("2026-11-21T12:00:00Z".parse().expect("a time"));
        // Nothing listens there, so that a call of the API fails.
        let api = Url::parse("http://127.0.0.1:9/api/").expect("a URL");
        let settings = PaymentSettings { download_validity: Duration::from_hours(48), ..PaymentSettings::default() };
        Self::on(database, clock, simulate(settings, &api, &Entropy::from_seed(7)))
    }

    /// Starts another shop on the same database, with changed settings.
    pub(crate) fn with_settings(&self, change: impl FnOnce(&mut PaymentSettings)) -> Self {
        let mut settings = self.service.settings().clone();
        change(&mut settings);
        Self::on(Arc::clone(&self.database), self.clock.clone(), settings)
    }

    fn on(database: Arc<TestDatabase>, clock: FakeClock, settings: PaymentSettings) -> Self {
        let (pool, entropy) = (database.auth_pool(), Entropy::from_system());
        let table = OutboxTable::new(pool.clone());
        let outbox = Outbox::new(table, Arc::new(clock.clone()), entropy.fork(), MailDestination::Server);
        let products = Arc::new(Mutex::new(vec![Product {
            template: 1,
            title: "Professional Newsletter".to_owned(),
            price_minor: 2800,
            references: vec!["plink_1".to_owned()],
            link: Some("https://www.paypal.com/ncp/payment/PLB-ABC123XYZ".to_owned()),
        }]));
        let on_sale = Arc::clone(&products);
        let facts = ShopFacts {
            name: "Paper & Post".to_owned(),
            brand: MailBrand::default(),
            owner: Some("owner@example.com".to_owned()),
            seller: SellerIdentity {
                name: "Paper & Post".to_owned(),
                address: None,
                email: None,
                documents: vec![SellerDocument::Terms, SellerDocument::Refunds],
            },
            mail_host: "shop.example".to_owned(),
            url: "https://shop.example".to_owned(),
            fonts: ShopFonts { besley: Some("/assets/besley-1.woff2".to_owned()), libre_franklin: None },
        };
        let folder =
            ProductFolder::read(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/products"))).expect("products");
        let ports = ServicePorts {
            pool: pool.clone(),
            outbox: Arc::new(outbox),
            clock: Arc::new(clock.clone()),
            entropy: entropy.fork(),
            outbound: OutboundOptions::default(),
            products: Arc::new(move || on_sale.lock().expect("a list").clone()),
        };
        let service = Arc::new(OrderService::new(settings, facts, folder, ports));
        let simulator = Simulator::new(Arc::clone(&service), entropy);
        Self { database, pool, clock, service, simulator, products }
    }

    /// Answers a request as the server does.
    pub(crate) async fn answer(&self, request: Request) -> Response {
        let Ok(response) = orders::http::router(Arc::clone(&self.service)).oneshot(request).await;
        response
    }

    /// Delivers a signed event.
    pub(crate) async fn deliver(&self, provider: Provider, event: &Value) -> Result<WebhookOutcome, WebhookRejection> {
        let signed = self.simulator.sign(provider, event.to_string().as_bytes(), DeliveryMode::Once);
        self.service.receive(provider, &signed.headers, &signed.body).await
    }

    /// Delivers an event and returns the name of its outcome.
    pub(crate) async fn outcome(&self, provider: Provider, event: &Value) -> &'static str {
        self.deliver(provider, event).await.map_or_else(|rejection| rejection.name(), WebhookOutcome::name)
    }

    /// Returns purpose and recipient of all mails, in the order of writing.
    pub(crate) async fn mails(&self) -> Vec<String> {
        self.database.query("SELECT purpose || ' ' || recipient FROM basalt.outbox ORDER BY number").await
    }

    /// Returns payment and state of all orders, in the order of writing.
    pub(crate) async fn orders(&self) -> Vec<String> {
        self.database.query("SELECT provider_reference || ' ' || state FROM basalt.orders ORDER BY number").await
    }
}

/// A completed checkout session of Stripe.
pub(crate) fn session(event: &str, payment: &str, amount: i64, link: &str) -> Value {
    json!({
        "id": event,
        "type": "checkout.session.completed",
        "livemode": true,
        "data": { "object": {
            "id": format!("cs_{payment}"),
            "payment_intent": payment,
            "payment_status": "paid",
            "amount_total": amount,
            "currency": "usd",
            "customer_details": { "email": "ada@example.com" },
            "payment_link": link,
            "locale": "de-AT",
        } },
    })
}

/// A completed capture of PayPal, whose buyer only its order names; without an order nothing names one.
pub(crate) fn capture(order: Option<&str>) -> Value {
    json!({
        "id": "WH-1",
        "event_type": "PAYMENT.CAPTURE.COMPLETED",
        "resource": {
            "id": "CAP1",
            "amount": { "value": "28.00", "currency_code": "USD" },
            "custom_id": "template-1",
            "supplementary_data": order.map_or(json!({}), |id| json!({ "related_ids": { "order_id": id } })),
        },
    })
}

/// A refund of Stripe.
pub(crate) fn refund(event: &str, payment: &str, refunded: i64) -> Value {
    json!({
        "id": event,
        "type": "charge.refunded",
        "data": { "object": { "id": "ch_1", "payment_intent": payment, "amount_refunded": refunded } },
    })
}
