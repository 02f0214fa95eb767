//! Ways in without a password.

mod recover;
