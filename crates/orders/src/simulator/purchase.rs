//! What is bought at a simulated provider.

use crate::decision::Product;
use crate::order::Provider;

/// A purchase at a simulated provider.
#[derive(Debug, Clone, Copy)]
pub struct Purchase<'a> {
    pub provider: Provider,
    /// What is bought.
    pub product: &'a Product,
    /// How many copies.
    pub quantity: u16,
    /// The buyer's address.
    pub email: &'a str,
    /// The language of the checkout.
    pub locale: &'a str,
}
