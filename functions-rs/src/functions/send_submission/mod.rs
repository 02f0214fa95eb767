//! `send-submission`: the shop's form.

pub mod text;
