//! Bulk import of users: validates lines of a file and converts them to database rows.
//!
//! Exports of other services are converted to import lines first, so that the same validation applies.

pub mod auth0;
mod columns;
mod conversion;
pub mod firebase;
mod imported_user;
mod row;
pub mod table;

pub use columns::{ImportTable, build_row};
pub use conversion::{ConvertedRow, ProviderNames};
pub use imported_user::{ImportedUser, parse_line};
pub use row::{ImportDefaults, ImportError, ImportRow};
