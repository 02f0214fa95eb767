//! Functions.
