//! What stands in for services that a server calls: started before the server, named in its settings.

mod arguments;
mod calls;
mod computed;
pub(crate) mod database;
mod evaluate;
mod http;
mod mail;
mod message;
mod saml;
mod saml_response;
mod saml_signature;
mod services;
mod stand_in;
mod texts;
mod tls;
mod tokens;
mod wallets;
mod webauthn;
mod xml;

pub use self::services::RecordedServices;
pub use self::stand_in::{StandInFuture, StandIns, StartedStandIns};

/// Returns all stand-ins.
pub fn all() -> Vec<Box<dyn StandIns>> {
    Vec::new()
}
