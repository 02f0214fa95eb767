//! The functions API of Supabase, with built-in functions.
//! [`gateway::router`] serves `/functions/v1/{name}`; [`functions`] contains the functions,
//! [`submissions`] what the owner does with what visitors sent.

pub mod caller;
pub mod function;
pub mod functions;
pub mod gateway;
mod periodic_job;
pub mod submissions;

pub use caller::{AuthenticationError, Caller, CredentialVerifier, User, Verifier};
pub use function::{Answer, Function, FunctionError, Invocation};
pub use gateway::{CallLimits, Functions, router};
