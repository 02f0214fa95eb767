//! Users, sessions, authenticators and faults of a test environment, against a database.

mod faults;
mod passkeys;
mod sessions;
mod targets;
mod users;
