//! Records flows.
