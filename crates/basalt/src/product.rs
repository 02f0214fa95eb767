//! The name of the shop without one of its own.

/// The shop's product name; `frontend/src/shared/product.ts` holds the same value.
pub(crate) const PRODUCT: &str = "Email Templates";
