//! The service of orders: settings and ports, and what several requests share.

use std::sync::{Arc, Mutex, PoisonError};

use chrono::TimeDelta;
use foundation::language::Language;
use foundation::time::Time;
use platform::clock::SharedClock;
use platform::entropy::Entropy;
use platform::http_client::OutboundOptions;
use platform::mail::EmailMessage;
use platform::mail::outbox::Outbox;
use platform::store::outbox::NewMail;
use platform::store::{Connection, Pool, Result};
use uuid::Uuid;

use crate::decision::Product;
use crate::link_requests::LinkRequests;
use crate::mails::{self, DeliveryMail, MailContext};
use crate::order::Order;
use crate::paths::{DOWNLOADS, RECEIPTS};
use crate::products::{ProductFolder, ProductSummary, UploadedProduct, list_without_file};
use crate::provider_api::ProviderApi;
use crate::receipt::Receipt;
use crate::settings::PaymentSettings;
use crate::shop_facts::ShopFacts;
use crate::store;
use crate::token::{DownloadGrant, DownloadKey};
use crate::webhook::certificates::Certificates;

/// How long the key of download links is used until it is read again.
///
/// Deleting its row ends all links after that time.
const KEY_KEPT: TimeDelta = TimeDelta::minutes(1);

/// Returns the templates on sale, as the catalogue has them now.
pub type ListProducts = Arc<dyn Fn() -> Vec<Product> + Send + Sync>;

/// Returns the file that an owner has uploaded for buyers of a template.
pub type FindUploaded = Arc<dyn Fn(u16) -> Option<UploadedProduct> + Send + Sync>;

/// What the service uses.
pub struct ServicePorts {
    /// The database.
    pub pool: Pool,
    /// The queue of mails.
    pub outbox: Arc<Outbox>,
    pub clock: SharedClock,
    /// Randomness.
    pub entropy: Entropy,
    /// Proxies and roots of outgoing requests.
    pub outbound: OutboundOptions,
    /// The templates on sale.
    pub products: ListProducts,
}

/// What webhooks, downloads, refunds and the command line share: connections, settings, products and mails.
pub struct OrderService {
    pub(crate) pool: Pool,
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) clock: SharedClock,
    pub(crate) entropy: Entropy,
    pub(crate) list_products: ListProducts,
    pub(crate) settings: PaymentSettings,
    pub(crate) facts: ShopFacts,
    pub(crate) folder: ProductFolder,
    pub(crate) find_uploaded: FindUploaded,
    pub(crate) api: ProviderApi,
    pub(crate) certificates: Certificates,
    /// Requests for lost links.
    pub(crate) link_requests: LinkRequests,
    /// The key of download links, and when it was read.
    key: Mutex<Option<(DownloadKey, Time)>>,
}

impl OrderService {
    /// Creates the service; nothing is read or connected yet.
    pub fn new(settings: PaymentSettings, facts: ShopFacts, folder: ProductFolder, ports: ServicePorts) -> Self {
        let ServicePorts { pool, outbox, clock, entropy, outbound, products } = ports;
        let api = ProviderApi::new(&settings, &outbound);
        let ca_file = settings.paypal.as_ref().and_then(|paypal| paypal.api.ca_file.clone());
        let certificates = Certificates::new(ca_file, clock.now());
        Self {
            pool,
            outbox,
            clock,
            entropy,
            list_products: products,
            settings,
            facts,
            folder,
            find_uploaded: Arc::new(|_| None),
            api,
            certificates,
            link_requests: LinkRequests::default(),
            key: Mutex::default(),
        }
    }

    /// Delivers the files that owners have uploaded in place of those of the folder.
    #[must_use]
    pub fn with_uploads(self, find_uploaded: FindUploaded) -> Self {
        Self { find_uploaded, ..self }
    }

    /// Returns the settings.
    pub fn settings(&self) -> &PaymentSettings {
        &self.settings
    }

    /// Returns what buyers of a template get: the uploaded file, else that of the folder.
    pub fn find_file(&self, template: u16) -> Option<ProductSummary> {
        if let Some(UploadedProduct { name, size, .. }) = (self.find_uploaded)(template) {
            return Some(ProductSummary { name, size, is_uploaded: true });
        }
        let file = self.folder.find(template)?;
        Some(ProductSummary { name: file.name.clone(), size: file.size, is_uploaded: false })
    }

    /// Returns whether buyers of a template get a file without an upload.
    pub fn has_folder_file(&self, template: u16) -> bool {
        self.folder.find(template).is_some()
    }

    /// Returns the titles of those products whose buyers would get no file.
    pub fn list_missing_files(&self, products: &[Product]) -> Vec<String> {
        list_without_file(products, |template| self.find_file(template).is_some())
    }

    /// Returns a connection for single statements.
    pub(crate) fn connection(&self) -> Connection {
        Connection::pooled(self.pool.clone(), Arc::default())
    }

    /// Begins a transaction.
    pub(crate) async fn begin(&self) -> Result<Connection> {
        Connection::begin(&self.pool, Arc::default()).await
    }

    /// Reads the key of download links, to sign with it; the first server stores one.
    pub(crate) async fn read_download_key(&self) -> Result<DownloadKey> {
        let (new, now) = (hex::encode(self.entropy.bytes::<32>()), self.clock.now());
        let key = store::find_or_insert_key(&mut self.connection(), &new, now).await?;
        *self.key.lock().unwrap_or_else(PoisonError::into_inner) = Some((key.clone(), now));
        Ok(key)
    }

    /// Returns the key of download links as it was at most a minute ago, to verify them.
    pub(crate) async fn download_key(&self) -> Result<DownloadKey> {
        let kept = self.key.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let now = self.clock.now();
        match kept.filter(|(_, read)| (now - *read).abs() < KEY_KEPT) {
            Some((key, _)) => Ok(key),
            None => self.read_download_key().await,
        }
    }

    /// Returns the end of a link that is issued now.
    pub(crate) fn link_end(&self, now: Time) -> Time {
        now + TimeDelta::from_std(self.settings.download_validity).unwrap_or(TimeDelta::days(7))
    }

    /// Builds the mail with the link of an order.
    pub(crate) fn build_delivery(&self, key: &DownloadKey, link: LinkOf<'_>) -> NewMail {
        let token = key.sign(DownloadGrant { order: link.order, generation: link.generation });
        let url = format!("{}{DOWNLOADS}{token}", self.facts.url);
        let receipt_url = format!("{}{RECEIPTS}{token}", self.facts.url);
        let mail = DeliveryMail {
            order: link.order,
            generation: link.generation,
            to: link.buyer,
            title: link.title,
            url: &url,
            expires_at: link.ends_at,
            downloads: link.downloads,
            receipt: link.receipt,
            receipt_url: &receipt_url,
        };
        self.to_row(&mails::build_delivery(self.mail_context(link.now), link.language, mail))
    }

    /// Builds the mail to the buyer of a refunded order.
    pub(crate) fn build_refund_mail(&self, order: &Order, now: Time) -> NewMail {
        let number = order.number.to_string();
        let mail = mails::RefundMail { order: order.id, to: &order.buyer_email, receipt: order.receipt(&number) };
        self.to_row(&mails::build_refund(self.mail_context(now), order.language, mail))
    }

    /// Builds the mail to the buyer of an order of which a part was refunded.
    pub(crate) fn build_partial_refund_mail(&self, order: &Order, part: mails::RefundPart, now: Time) -> NewMail {
        let number = order.number.to_string();
        let mail = mails::RefundMail { order: order.id, to: &order.buyer_email, receipt: order.receipt(&number) };
        self.to_row(&mails::build_partial_refund(self.mail_context(now), order.language, mail, part))
    }

    /// Returns the mail about an event that needs the owner; none without an owner.
    pub(crate) fn build_notice(&self, now: Time, notice: &mails::OwnerNotice<'_>) -> Vec<NewMail> {
        let Some(owner) = &self.facts.owner else { return Vec::new() };
        vec![self.to_row(&mails::build_notice(self.mail_context(now), owner, notice))]
    }

    pub(crate) fn mail_context(&self, now: Time) -> MailContext<'_> {
        MailContext { now, facts: &self.facts }
    }

    fn to_row(&self, message: &EmailMessage) -> NewMail {
        self.outbox.to_row(message)
    }
}

/// The order that a link belongs to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LinkOf<'a> {
    pub order: Uuid,
    /// The number of the link.
    pub generation: i32,
    /// The buyer's address.
    pub buyer: &'a str,
    /// The template's title.
    pub title: &'a str,
    /// The language of the mail.
    pub language: Language,
    /// The time of the mail.
    pub now: Time,
    /// The end of the link.
    pub ends_at: Time,
    /// The downloads that it allows.
    pub downloads: u16,
    pub receipt: Receipt<'a>,
}
