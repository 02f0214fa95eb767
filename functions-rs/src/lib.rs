//! The functions API of Supabase with functions that are part of the program: [`gateway::router`] answers
//! `/functions/v1/{name}`, [`functions`] holds what can be called.

pub mod caller;
pub mod function;
pub mod functions;
pub mod gateway;
pub mod peer;

pub use caller::{ApiKey, Caller, Credentials, Refused, User, Verifier};
pub use function::{Answer, Function, FunctionError, Invocation};
pub use gateway::{Functions, Limits, router};
pub use peer::{Peer, TrustedProxies};
