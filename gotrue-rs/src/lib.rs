//! Auth.
