//! Simulated social providers, a SAML identity provider and wallets, for development and tests.
//!
//! A [`Simulator`] belongs to one auth API. It answers below its base URL in the wire format of each provider: the path
//! of a request is the provider's name, host and path (`/google/accounts.google.com/o/oauth2/v2/auth`). The settings
//! that [`Simulator::apply`] makes send the auth API's requests there. At its root it is a plain OpenID provider.
//!
//! Codes and tokens are kept in memory. Its user decides who may reach it: it must not be public.

mod authorize;
mod catalog;
mod keys;
mod next;
mod oauth1;
mod page;
mod parameters;
mod profile;
mod registration;
mod responses;
mod saml;
mod scenario;
mod simulator;
mod template;
mod token;
mod tokens;
mod users;
mod wallet;

pub use catalog::provider_names;
pub use next::{NextSignIn, NextSignInError};
pub use page::fill_template;
pub use scenario::Scenario;
pub use simulator::{Simulator, SimulatorOptions};
pub use users::{PresetUser, preset_users};
pub use wallet::Wallet;
