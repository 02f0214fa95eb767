//! The auth API of Supabase as a library: [`router`] over `PostgreSQL`.

pub mod app;
pub mod cx;
pub mod http;
pub mod journal;
pub mod ports;
pub mod services;
pub mod store;
