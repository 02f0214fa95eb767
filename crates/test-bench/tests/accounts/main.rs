//! Users, sessions, authenticators and faults of a test environment, and the HTTP API for them, against a database.

mod calls;
mod faults;
mod passkeys;
mod sessions;
mod targets;
mod users;
