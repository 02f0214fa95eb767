//! From a request to a stored event.

use foundation::error_chain::ErrorChain;
use foundation::language::Language;
use foundation::time::Time;
use http::HeaderMap;
use platform::store::{Connection, outbox};

use super::descriptions::{
    HELD_PAYMENT_TITLE, describe_dispute, describe_no_buyer, describe_partial_reversal, describe_refused_lookup,
    describe_refused_order, describe_reversal, describe_unknown, describe_wrong_amount,
};
use super::{Delivery, WebhookOutcome, WebhookRejection};
use crate::decision::{PaymentDecision, Product, decide_payment, find_unnamed};
use crate::event::{Buyer, DisputeReport, DisputeStage, EventContent, Payment, PaymentEvent, RefundReport};
use crate::mails::{OwnerNotice, RefundPart};
use crate::order::{Order, OrderState, Provider};
use crate::provider_api::{ApiError, PayPalOrder};
use crate::receipt::Receipt;
use crate::refund;
use crate::service::{LinkOf, OrderService};
use crate::store::{
    EventRecord, NUMBER_PLACEHOLDER, NewOrder, RecordedPayment, RecordedRefund, find_order, find_order_of_payment,
    has_final_event, lock_payment, record_event, record_payment, record_refund,
};

impl OrderService {
    /// Verifies an event of a provider and stores what follows from it.
    ///
    /// # Errors
    /// The event is not accepted.
    pub async fn receive(
        &self,
        provider: Provider,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<WebhookOutcome, WebhookRejection> {
        self.receive_delivery(provider, Delivery { headers, body, network: "" }).await
    }

    /// Verifies an event of a network and stores what follows from it.
    ///
    /// # Errors
    /// The event is not accepted.
    pub async fn receive_delivery(
        &self,
        provider: Provider,
        delivery: Delivery<'_>,
    ) -> Result<WebhookOutcome, WebhookRejection> {
        let now = self.clock.now();
        let event = self.verify(provider, delivery, now).await?;
        // A repeated event needs neither the provider nor the catalogue.
        if has_final_event(&mut self.connection(), provider, &event.id).await? {
            return Ok(WebhookOutcome::Repeated);
        }
        match &event.content {
            EventContent::Payment(payment) => self.store_payment(&event, payment).await,
            EventContent::Refund(refund) => self.store_refund(&event, refund, now).await,
            EventContent::Dispute(dispute) => self.store_dispute(&event, dispute, now).await,
            EventContent::Other(kind) => {
                let (record, outcome) = (record_of(&event, kind, now), WebhookOutcome::Ignored.name());
                let is_new = record_event(&mut self.connection(), record, outcome, None, &[]).await?;
                Ok(if is_new { WebhookOutcome::Ignored } else { WebhookOutcome::Repeated })
            }
        }
    }

    async fn store_payment(&self, event: &PaymentEvent, payment: &Payment) -> Result<WebhookOutcome, WebhookRejection> {
        let products = (self.list_products)();
        let decision = decide_payment(payment, &products);
        match decision {
            PaymentDecision::UnknownTemplate => {
                if let Some(outcome) = self.deliver_unnamed(event, payment, &products).await? {
                    return Ok(outcome);
                }
                let lines = describe_unknown(event, payment);
                self.store_for_owner(event, payment, WebhookOutcome::UnknownTemplate, &lines).await
            }
            PaymentDecision::WrongAmount(product) => {
                let lines = describe_wrong_amount(event, payment, product);
                self.store_for_owner(event, payment, WebhookOutcome::WrongAmount, &lines).await
            }
            PaymentDecision::Deliver(product) => self.deliver_to_buyer(event, payment, product).await,
        }
    }

    /// Delivers a payment at PayPal whose template only its order names, or only its amount; `None` if neither does.
    async fn deliver_unnamed(
        &self,
        event: &PaymentEvent,
        payment: &Payment,
        products: &[Product],
    ) -> Result<Option<WebhookOutcome>, WebhookRejection> {
        if event.provider != Provider::PayPal {
            return Ok(None);
        }
        let order = match self.find_paypal_order(payment).await {
            Ok(Some(order)) => order,
            // What was bought is not known: that a template has this price says nothing, and the owner decides.
            Ok(None) | Err(ApiError::NotConfigured(_)) => return Ok(None),
            Err(ApiError::Refused(reason)) => {
                // It may be for good: the owner is notified before PayPal stops sending the event again.
                let lines = describe_refused_order(event, payment, &reason);
                self.store_for_owner(event, payment, WebhookOutcome::UnknownTemplate, &lines).await?;
                return Err(WebhookRejection::ProviderUnavailable(reason));
            }
            Err(error) => return Err(WebhookRejection::ProviderUnavailable(error.to_string())),
        };
        let mut named = payment.clone();
        named.template_references.extend(order.references);
        named.quantity = order.quantity;
        named.buyer = order.email.map_or(named.buyer, Buyer::Email);
        let decision = decide_payment(&named, products);
        let found = match decision {
            PaymentDecision::Deliver(product) => Some(product),
            PaymentDecision::WrongAmount(product) => {
                let lines = describe_wrong_amount(event, &named, product);
                return self.store_for_owner(event, &named, WebhookOutcome::WrongAmount, &lines).await.map(Some);
            }
            PaymentDecision::UnknownTemplate => find_unnamed(&named, &order.item_names, products),
        };
        match found {
            Some(product) => self.deliver_to_buyer(event, &named, product).await.map(Some),
            None => Ok(None),
        }
    }

    /// Returns the order at PayPal of a payment whose event names it.
    async fn find_paypal_order(&self, payment: &Payment) -> Result<Option<PayPalOrder>, ApiError> {
        match (&payment.buyer, &self.settings.paypal) {
            (Buyer::PayPalOrder(order), Some(settings)) => self.api.find_paypal_order(settings, order).await.map(Some),
            _ => Ok(None),
        }
    }

    /// Stores the order of a payment for its buyer; without one, what the owner has to do.
    async fn deliver_to_buyer(
        &self,
        event: &PaymentEvent,
        payment: &Payment,
        product: &Product,
    ) -> Result<WebhookOutcome, WebhookRejection> {
        match self.find_buyer(payment).await {
            Ok(Some(buyer)) => self.store_order(event, payment, product, &buyer).await,
            Ok(None) => {
                let lines = describe_no_buyer(event, payment, product);
                self.store_for_owner(event, payment, WebhookOutcome::NoBuyer, &lines).await
            }
            Err(error) => {
                // A refusal may be for good: the owner is notified before PayPal stops sending the event again.
                if let ApiError::Refused(reason) = &error {
                    let lines = describe_refused_lookup(event, payment, product, reason);
                    self.store_for_owner(event, payment, WebhookOutcome::NoBuyer, &lines).await?;
                }
                Err(WebhookRejection::ProviderUnavailable(error.to_string()))
            }
        }
    }

    /// Returns the buyer's address, which PayPal has in the order only.
    pub(crate) async fn find_buyer(&self, payment: &Payment) -> Result<Option<String>, ApiError> {
        match &payment.buyer {
            Buyer::Email(email) => Ok(Some(email.clone())),
            _ => Ok(self.find_paypal_order(payment).await?.and_then(|order| order.email)),
        }
    }

    /// Returns how many copies a payment is for: what its event says, else the provider if it can be several.
    ///
    /// An order is not kept back for what only its receipt says: a failed call is logged.
    async fn find_quantity(&self, provider: Provider, payment: &Payment, product: &Product) -> Option<i32> {
        let paid = payment.list_minor.unwrap_or(payment.amount_minor);
        let is_several = product.price_minor.checked_mul(2).is_some_and(|double| paid >= double && double > 0);
        let found = match (payment.quantity, provider) {
            (None, Provider::Stripe) if is_several => match payment.checkout.as_deref() {
                Some(session) => self.api.find_stripe_quantity(&self.settings, session).await,
                None => Ok(None),
            },
            (None, Provider::PayPal) if is_several => {
                self.find_paypal_order(payment).await.map(|order| order.and_then(|order| order.quantity))
            }
            (known, _) => Ok(known),
        };
        let quantity = found.unwrap_or_else(|error| {
            tracing::info!(%provider, error = %ErrorChain(&error), "a receipt does not say how many copies were bought");
            None
        });
        quantity.and_then(|quantity| i32::try_from(quantity).ok())
    }

    /// Stores the order of a payment with the mail to its buyer.
    pub(crate) async fn store_order(
        &self,
        event: &PaymentEvent,
        payment: &Payment,
        product: &Product,
        buyer: &str,
    ) -> Result<WebhookOutcome, WebhookRejection> {
        let key = self.read_download_key().await?;
        let (id, now) = (self.entropy.uuid(), self.clock.now());
        let language = payment.locale.as_deref().and_then(Language::from_tag).unwrap_or_default();
        let quantity = self.find_quantity(event.provider, payment, product).await;
        let unit_minor = payment.list_minor.zip(quantity).and_then(|(list, quantity)| split_evenly(list, quantity));
        let receipt = Receipt {
            number: NUMBER_PLACEHOLDER,
            paid_at: now,
            buyer,
            provider: event.provider,
            title: &product.title,
            amount_minor: payment.amount_minor,
            tax_minor: Some(payment.tax_minor),
            discount_minor: Some(payment.discount_minor),
            quantity,
            unit_minor,
            returned_minor: 0,
            currency: &payment.currency,
            is_test: payment.is_test,
        };
        let link = LinkOf {
            order: id,
            generation: 1,
            buyer,
            title: &product.title,
            language,
            now,
            ends_at: self.link_end(now),
            downloads: self.settings.max_downloads,
            receipt,
        };
        let new = NewOrder {
            id,
            template: product.template,
            title: &product.title,
            buyer,
            amount_minor: payment.amount_minor,
            tax_minor: payment.tax_minor,
            discount_minor: payment.discount_minor,
            quantity,
            unit_minor,
            checkout: payment.checkout.as_deref(),
            currency: &payment.currency,
            is_test: payment.is_test,
            language,
            downloads: self.settings.max_downloads,
            expires_at: self.link_end(now),
            mail: self.build_delivery(&key, link),
        };
        let mut record = record_of(event, "payment", now);
        record.reference = Some(&payment.reference);
        let mut db = self.begin().await?;
        lock_payment(&mut db, event.provider, &payment.reference).await?;
        let recorded = record_payment(&mut db, record, &new).await?;
        self.outbox.notify_after_commit(&mut db);
        db.commit().await?;
        Ok(match recorded {
            RecordedPayment::Ordered => WebhookOutcome::Ordered(id),
            RecordedPayment::OrderedAsRefunded => WebhookOutcome::OrderedAsRefunded(id),
            RecordedPayment::KnownPayment => WebhookOutcome::KnownPayment,
            RecordedPayment::Repeated => WebhookOutcome::Repeated,
        })
    }

    /// Stores an event that delivers nothing, with a mail to the owner.
    async fn store_for_owner(
        &self,
        event: &PaymentEvent,
        payment: &Payment,
        outcome: WebhookOutcome,
        lines: &[String],
    ) -> Result<WebhookOutcome, WebhookRejection> {
        let now = self.clock.now();
        let notice = OwnerNotice { id: self.entropy.uuid(), title: HELD_PAYMENT_TITLE, lines };
        let mails = self.build_notice(now, &notice);
        if mails.is_empty() {
            tracing::warn!("a payment needs attention, and no mail reports it: set [basalt.shop] owner");
        }
        let detail = lines.first().map(String::as_str);
        let mut record = EventRecord { detail, ..record_of(event, "payment", now) };
        record.reference = Some(&payment.reference);
        record.amount_minor = Some(payment.amount_minor);
        let held = serde_json::to_string(payment).ok();
        let mut db = self.connection();
        let is_new = record_event(&mut db, record, outcome.name(), held.as_deref(), &mails).await?;
        self.outbox.notify_after_commit(&mut db);
        Ok(if is_new { outcome } else { WebhookOutcome::Repeated })
    }

    async fn store_refund(
        &self,
        event: &PaymentEvent,
        refund: &RefundReport,
        now: Time,
    ) -> Result<WebhookOutcome, WebhookRejection> {
        let mut record = record_of(event, "refund", now);
        record.reference = Some(&refund.reference);
        record.amount_minor = Some(refund.amount_minor);
        let mut db = self.begin().await?;
        lock_payment(&mut db, event.provider, &refund.reference).await?;
        let RecordedRefund { is_new, refunded, returned_before } = record_refund(&mut db, record).await?;
        match refunded {
            Some(id) if refund.is_reversal => {
                if let Some(order) = find_order(&mut db, id).await? {
                    let lines = describe_reversal(event, refund, order.number);
                    self.notify_owner(&mut db, "A payment was taken back", &lines, now).await?;
                }
            }
            Some(order) => refund::enqueue_mail(self, &mut db, order, now).await?,
            None if is_new => {
                let order = find_order_of_payment(&mut db, event.provider, &refund.reference).await?;
                let order = order.filter(|order| order.state != OrderState::Refunded);
                match order {
                    Some(order) if refund.is_reversal => {
                        let lines = describe_partial_reversal(event, refund, &order);
                        self.notify_owner(&mut db, "A part of a payment was taken back", &lines, now).await?;
                    }
                    Some(order) => {
                        let part = RefundPart { returned_minor: refund.amount_minor, before_minor: returned_before };
                        refund::enqueue_partial_mail(self, &mut db, &order, part, now).await?;
                    }
                    None => {}
                }
            }
            None => {}
        }
        db.commit().await?;
        Ok(match (is_new, refunded) {
            (false, _) => WebhookOutcome::Repeated,
            (true, Some(order)) => WebhookOutcome::Refunded(order),
            (true, None) => WebhookOutcome::RefundStored,
        })
    }
}

impl OrderService {
    /// Stores a dispute, with a mail to the owner if the payment has an order: the account at the provider may sell other things.
    async fn store_dispute(
        &self,
        event: &PaymentEvent,
        dispute: &DisputeReport,
        now: Time,
    ) -> Result<WebhookOutcome, WebhookRejection> {
        let mut db = self.begin().await?;
        lock_payment(&mut db, event.provider, &dispute.reference).await?;
        let order = find_order_of_payment(&mut db, event.provider, &dispute.reference).await?;
        let (kind, title) = match dispute.stage {
            DisputeStage::Opened(_) => ("dispute_opened", "A payment is disputed"),
            DisputeStage::Won => ("dispute_closed", "A dispute has ended"),
        };
        let mails = order.map(|order: Order| {
            let lines = describe_dispute(event, dispute, &order);
            self.build_notice(now, &OwnerNotice { id: self.entropy.uuid(), title, lines: &lines })
        });
        let mut record = EventRecord { detail: dispute.reason.as_deref(), ..record_of(event, kind, now) };
        record.reference = Some(&dispute.reference);
        record.amount_minor = Some(dispute.amount_minor);
        let outcome = WebhookOutcome::DisputeStored;
        let is_new = record_event(&mut db, record, outcome.name(), None, &mails.unwrap_or_default()).await?;
        self.outbox.notify_after_commit(&mut db);
        db.commit().await?;
        Ok(if is_new { outcome } else { WebhookOutcome::Repeated })
    }

    /// Queues a mail to the owner in a transaction.
    async fn notify_owner(
        &self,
        db: &mut Connection,
        title: &str,
        lines: &[String],
        now: Time,
    ) -> Result<(), WebhookRejection> {
        let mails = self.build_notice(now, &OwnerNotice { id: self.entropy.uuid(), title, lines });
        outbox::insert(db, &mails).await?;
        self.outbox.notify_after_commit(db);
        Ok(())
    }
}

/// Returns an amount for each of several copies, if they have the same.
fn split_evenly(amount_minor: i64, quantity: i32) -> Option<i64> {
    let quantity = i64::from(quantity);
    (quantity > 0 && amount_minor % quantity == 0).then(|| amount_minor / quantity)
}

fn record_of<'a>(event: &'a PaymentEvent, kind: &'a str, now: Time) -> EventRecord<'a> {
    EventRecord {
        provider: event.provider,
        event_id: &event.id,
        kind,
        reference: None,
        amount_minor: None,
        detail: None,
        now,
    }
}
