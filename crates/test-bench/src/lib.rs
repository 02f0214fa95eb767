//! The test API of `basalt serve --test`.
//!
//! It manages isolated backends ("worlds") with clock, users, sessions and faults. A world is one instance of the auth
//! API, the functions and the development pages, on a database of its own, below its own URL. [`worlds`] creates,
//! copies and removes them; [`api`] is the HTTP API for tests. The server builds the backends: it implements
//! [`backend::BackendBuilder`].

pub mod api;
pub mod authenticators;
pub mod backend;
pub mod clock;
mod error;
pub mod faults;
pub mod router;
pub mod sessions;
pub mod users;
pub mod worlds;

pub use error::TestApiError;
