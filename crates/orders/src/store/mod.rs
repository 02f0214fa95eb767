//! The SQL statements of orders.
//!
//! Statements about one payment run after [`lock_payment`] in the same transaction, so that a refund that arrives before
//! or together with its payment is not missed.
//!
//! `('unknown_template', 'wrong_amount', 'no_buyer')` are the outcomes that are not final, those of
//! [`WebhookOutcome::needs_owner`](crate::webhook::WebhookOutcome::needs_owner).

mod reading;
mod writing;

use platform::store::Statement;
use platform::store::binding::statements;

pub use reading::{
    EventEntry, HeldPayment, MailEntry, OrderFilter, count_by_state, count_mails, find_order, find_order_of_checkout,
    find_order_of_payment, has_buyers, has_final_event, list_events, list_held, list_mails, list_orders,
    list_orders_of_buyer, read_chunk,
};
pub use writing::{
    EventRecord, IssuedLink, NUMBER_PLACEHOLDER, NewOrder, RecordedPayment, RecordedRefund, add_mail, dismiss_held,
    find_or_insert_key, issue_link, lock_payment, record_download, record_event, record_payment, record_refund,
};

statements! {
    modules: reading, writing;
}

/// Returns all statements, for the test that prepares them.
pub fn list_statements() -> Vec<&'static Statement> {
    STATEMENTS.list()
}
