//! The auth API of Supabase as a library: [`router`] over PostgreSQL.

pub mod journal;
pub mod ports;
pub mod store;
