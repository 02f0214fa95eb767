//! The S3 protocol.

mod chunked;
mod digests;
mod policy;
pub(crate) mod signature;
mod xml;

#[cfg(test)]
mod tests;
