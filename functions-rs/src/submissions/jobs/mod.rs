//! Background jobs of submissions: daily digest, deletion of old ones, calls of the owner's webhook.

mod daily_digest;
pub mod store;
mod upkeep;
mod webhook;

pub use self::upkeep::{Retention, SubmissionUpkeep};
pub use self::webhook::{DeliverEvent, WebhookWorker};
