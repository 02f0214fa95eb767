//! Isolated backends of the Supabase auth API for tests, with a virtual clock, messages, faults and sessions.
//!
//! [`Basalt::start`] finds the server of `basalt exec` or starts one, [`Basalt::world`] creates a backend for one test.

mod api;
mod error;
mod server;
mod world;

pub use error::Error;
pub use server::Basalt;
pub use world::World;
