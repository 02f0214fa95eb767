//! Orders of the shop: webhooks of payment providers, download links, refunds.
//!
//! A webhook is answered after the transaction that stores its event, the order and the mail with the download link.

pub mod admin;
pub mod amount;
pub mod decision;
pub mod event;
pub mod export;
pub mod held;
pub mod http;
mod link_requests;
pub mod mails;
pub mod order;
mod paths;
pub mod products;
pub mod provider_api;
pub mod receipt;
pub mod refund;
pub mod sample_mails;
pub mod service;
pub mod settings;
pub mod shop_facts;
pub mod simulator;
pub mod store;
pub mod token;
pub mod webhook;

pub use order::{Order, OrderState, Provider};
pub use service::{OrderService, ServicePorts};
pub use shop_facts::{SellerDocument, SellerIdentity, ShopFacts, ShopFonts};
