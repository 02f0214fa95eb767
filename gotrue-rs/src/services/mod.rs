//! Operations that several flows share. A service takes the request context and a connection.

pub mod attempt;
pub mod audit;
pub mod authorization_codes;
pub mod cleanup;
pub mod contact_change;
pub mod custom_providers;
pub mod equal_work;
pub mod explanations;
pub mod external;
pub mod hooks;
pub mod id_tokens;
pub mod limits;
pub mod linking;
pub mod links;
pub mod messages;
pub mod notices;
pub mod oauth_server;
pub mod passwordless;
pub mod passwords;
pub mod pkce;
pub mod saml;
pub mod sealing;
pub mod sessions;
pub mod sign_up;
pub mod verification;
pub mod webauthn;
