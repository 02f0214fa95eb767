//! Ways in without a password: a mailed or texted secret.

pub mod recover;
